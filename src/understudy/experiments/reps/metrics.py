"""The figures of an outcome."""

from understudy.experiments.reps.found import Metric
from understudy.experiments.reps.records import Losses
from understudy.experiments.reps.trial import Outcome


def utility(outcome: Outcome) -> float:
    """AUROC of logistic regression."""
    return outcome.tstr


def rare_utility(outcome: Outcome) -> float:
    """The same on the rarest tenth of the test rows."""
    return outcome.rare_tstr


def overall(outcome: Outcome) -> float:
    """The paper's MIA Adv: by distance, of all members."""
    return outcome.distance.overall


def top(outcome: Outcome) -> float:
    """The paper's Top-10% Adv: by the ratio of distances."""
    return outcome.domias.top_decile


def top_to_median(outcome: Outcome) -> float:
    """The paper's Top/Med."""
    return outcome.domias.inequality


def matched_overall(outcome: Outcome) -> float:
    """Members and non-members alike, signed, with a reference of its own."""
    return outcome.matched.overall


def matched_top(outcome: Outcome) -> float:
    """The same, in the decile that stands out most."""
    return outcome.matched.top


def matched_in(decile: int) -> Metric:
    """The same, in a decile from 1 to 10."""
    return lambda outcome: outcome.matched.deciles[decile - 1]


def correlation(outcome: Outcome) -> float | None:
    """Spearman's, of noisy scores with how far members stand out."""
    return None if outcome.scorer is None else outcome.scorer.correlation


def recall(outcome: Outcome) -> float | None:
    """Of the tenth that stands out most, what is in the scores' top tenth."""
    return None if outcome.scorer is None else outcome.scorer.recall


def injected(outcome: Outcome) -> float | None:
    """Of outliers that were put in on purpose, the share that counts less."""
    return outcome.injected


def loss(name: str) -> Metric:
    """A figure of the bounds by record."""
    assert name in Losses.__dataclass_fields__  # noqa: S101 - ours

    def of(outcome: Outcome) -> float | None:
        return None if outcome.losses is None else float(getattr(outcome.losses, name))

    return of
