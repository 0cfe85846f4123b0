"""What the figures were to be, and what they are."""

from collections.abc import Iterator

from understudy.curator.coded_task import Mean
from understudy.experiments.lk2ss import marketing, nonlinear, printed
from understudy.experiments.lk2ss.found import Found, decided
from understudy.experiments.lk2ss.nonlinear import COMPARED, LATIN, MEANS, RANDOM, STAGES
from understudy.experiments.lk2ss.publics import KRR, MODELS
from understudy.experiments.lk2ss.tables import TABLES
from understudy.experiments.markdown import shown
from understudy.experiments.reproduced import Aim


def aims(found: Found) -> list[Aim]:
    """What the text says of its simulation, what it prints of prices, and what Table 7 wishes."""
    return [*_simulated(found), *_sold(found), *_wished(found)]


def below_limit(found: Found, stage: str) -> list[float]:
    """The α at which the error of #KRR on D* alone is below the paper's limit, in the mean."""
    means = {alpha: found.mean("alone", stage, alpha) for alpha in nonlinear.FINE}
    return [alpha for alpha, mean in means.items() if mean and mean.value < printed.MSE]


def swing(found: Found, stage: str, model: str) -> float | None:
    """How much ΔMSE moves with α, from its least to its greatest mean."""
    means = [found.mean("gone", stage, alpha, model) for alpha in nonlinear.ALPHAS]
    values = [mean.value for mean in means if mean is not None]
    return max(values) - min(values) if values else None


def _counted(what: str, aim: str, of: list[bool], *, enough: bool) -> Aim:
    """How many of some cases are as the text says; all of them have to be."""
    if not of:
        return Aim(what, "all", aim, None, None, "", None)
    met = all(of) if enough else None
    return Aim(what, "all", aim, float(sum(of)), None, f"{sum(of)} of {len(of)}", met)


def _simulated(found: Found) -> Iterator[Aim]:
    enough = decided(found.mean("before", KRR))
    gone = [
        mean
        for alpha in nonlinear.ALPHAS
        for model in MODELS
        if (mean := found.mean("gone", LATIN, alpha, model)) is not None
    ]
    what = "simulation: cases of α and public model in which LK-2SS improves the prediction"
    yield _counted(what, "ΔMSE > 0", [mean.value > 0 for mean in gone], enough=enough)
    pairs = [[swing(found, stage, model) for stage in COMPARED] for model in MODELS]
    known = [latin < random for latin, random in pairs if latin is not None and random is not None]
    what = "simulation: public models whose ΔMSE moves less with α under LK-2SS than Random-KRR"
    yield _counted(what, "less", known, enough=enough)
    widths = {stage: len(below_limit(found, stage)) for stage in STAGES}
    what = f"simulation: α of {len(nonlinear.FINE)} with MSE below {printed.MSE:g}, LK-2SS"
    told = f"{widths[LATIN]}; Random-KRR {widths[RANDOM]}"
    most = max(widths[stage] for stage in STAGES if stage != LATIN)
    met = widths[LATIN] > most if enough else None
    yield Aim(what, "", "more than of any other", float(widths[LATIN]), None, told, met)
    best = []
    for model in MODELS:
        means = {name: found.mean("response", name, model) for name in MODELS}
        values = {name: mean.value for name, mean in means.items() if mean is not None}
        best += [max(values, key=values.__getitem__) == KRR] if values else []
    what = "simulation: public models that gain most where KRR answers in stage 2"
    yield _counted(what, "most", best, enough=enough)
    off = [found.mean("mismatch", model, mean) for model in MODELS for mean in MEANS]
    still = [mean.value > 0 for mean in off if mean is not None]
    what = "simulation: cases of mismatch and public model in which ΔMSE stays above 0"
    yield _counted(what, "ΔMSE > 0", still, enough=enough)


def _sold(found: Found) -> Iterator[Aim]:
    for arm in (marketing.BOTH, *map(marketing.made_name, marketing.ALPHAS)):
        paper = f"{printed.MAPD[arm]} %"
        yield _at_most(f"prices: MAPD of {arm}", paper, found.mean("mapd", arm), 100)
    for alpha, lid in printed.LID.items():
        mean = found.mean("market lid", alpha)
        yield _at_most(f"prices: LID at α = {alpha:g}", f"{lid} %", mean, 100)


def _at_most(what: str, paper: str, mean: Mean | None, times: float) -> Aim:
    return _limited(what, paper, f"≤ {paper}", mean, float(paper.split(maxsplit=1)[0]) / times)


def _limited(what: str, paper: str, aim: str, mean: Mean | None, limit: float) -> Aim:
    if mean is None:
        return Aim(what, paper, aim, None, None, "", None)
    met = mean.value <= limit if decided(mean) else None
    return Aim(what, paper, aim, mean.value, mean.half, percent(mean), met)


def _wished(found: Found) -> Iterator[Aim]:
    for table in TABLES:
        for side, limit in (("input", table.input_limit), ("output", table.output_limit)):
            mean = found.mean("lid", table.name, side)
            told = f"≤ {100 * limit:g} %"
            yield _limited(f"{table.name}: LID of {side}s", told, told, mean, limit)
        for model in MODELS:
            mean = found.mean("gone", table.name, "lid", model)
            told = f"≥ {100 * table.wish:g} %"
            what = f"{table.name}: ΔMSE of {model}"
            if mean is None:
                yield Aim(what, told, told, None, None, "", None)
                continue
            met = mean.value >= table.wish if decided(mean) else None
            yield Aim(what, told, told, mean.value, mean.half, percent(mean), met)


def percent(mean: Mean | None, places: int = 2) -> str:
    """A mean with its interval, in %."""
    if mean is None:
        return ""
    return shown(Mean(100 * mean.value, 100 * mean.half, mean.repetitions), places) + " %"
