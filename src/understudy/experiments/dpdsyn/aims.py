"""What the figures were to be, and what they are."""

from collections.abc import Iterator, Mapping, Sequence

from understudy.curator.models import Learner
from understudy.experiments.dpdsyn.arms import BOTH, BY_LOGISTIC, PAIRED, WITH_MST, Arm, Draw
from understudy.experiments.dpdsyn.found import Found, log_loss
from understudy.experiments.dpdsyn.printed import printed
from understudy.experiments.dpdsyn.tables import TABLES, Table
from understudy.experiments.dpdsyn.twelve import twelve_aims
from understudy.experiments.markdown import shown
from understudy.experiments.reproduced import Aim

_TRIED: Mapping[str, Mapping[Learner, Arm]] = {
    "DPDSyn": PAIRED,
    "with MST features": dict.fromkeys(BOTH, WITH_MST),
}
_ENOUGH = 5
"""Of fewer repetitions nothing is decided."""


def aims(found: Found, epsilons: Sequence[float]) -> list[Aim]:
    """The printed accuracy with features that are private too, and labels that tell chances."""
    return [
        *(
            _accuracy(found, table, epsilon, learner, name)
            for epsilon in epsilons
            for table in TABLES
            for learner in BOTH
            for name in _TRIED
        ),
        *_log_loss(found, epsilons),
        *twelve_aims(found.twelve),
    ]


def _accuracy(found: Found, table: Table, epsilon: float, learner: Learner, name: str) -> Aim:
    paper, _ = printed(table.name, "DPDSyn", learner)
    mean = found.mean(table.name, _TRIED[name][learner], epsilon, learner)
    what = f"{table.name}, ε = {epsilon:g}: accuracy of {learner.upper()}, {name}"
    if mean is None:
        return Aim(what, paper, f"≥ {paper}", None, None, "", None)
    met = mean.value >= float(paper) if mean.repetitions >= _ENOUGH else None
    return Aim(what, paper, f"≥ {paper}", mean.value, mean.half, shown(mean, 4), met)


def _log_loss(found: Found, epsilons: Sequence[float]) -> Iterator[Aim]:
    for epsilon in epsilons:
        pairs = [
            [
                found.mean(table.name, BY_LOGISTIC, epsilon, Learner.MLP, log_loss, draw)
                for draw in (Draw.ONCE, Draw.HARD)
            ]
            for table in TABLES
        ]
        known = [(drawn, hard) for drawn, hard in pairs if drawn and hard]
        lower = sum(drawn.value < hard.value for drawn, hard in known)
        enough = known and min(drawn.repetitions for drawn, _ in known) >= _ENOUGH
        what = f"ε = {epsilon:g}: tables on which drawn labels have a lower log loss than hard ones"
        told = f"{lower} of {len(known)}"
        met = lower == len(known) if enough else None
        yield Aim(what, "", "all", float(lower), None, told, met)
