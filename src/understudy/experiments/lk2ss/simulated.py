"""The sections on what was made up: the simulation, and prices."""

from understudy.experiments.lk2ss import marketing, printed
from understudy.experiments.lk2ss.aims import below_limit, percent, swing
from understudy.experiments.lk2ss.found import Found
from understudy.experiments.lk2ss.nonlinear import (
    AGAIN,
    ALPHAS,
    COMPARED,
    LATIN,
    MEANS,
    STAGES,
)
from understudy.experiments.lk2ss.publics import MODELS
from understudy.experiments.markdown import shown, table

_SMALL = 5
"""Digits of errors that are a thousandth and less."""
_MANY = 100
"""Times as large: no digits after the point."""


def traded(found: Found) -> str:
    """ΔMSE and LID by α."""
    rows = []
    for stage in COMPARED:
        for alpha in ALPHAS:
            gone = (percent(found.mean("gone", stage, alpha, model), 1) for model in MODELS)
            told = percent(found.mean("lid", stage, alpha), 1)
            rows.append([stage, f"{alpha:g}", *gone, told])
        swings = (swing(found, stage, model) for model in MODELS)
        moved = ["" if one is None else f"{100 * one:.1f} points" for one in swings]
        rows.append([stage, "greatest less least", *moved, ""])
    before = [shown(found.mean("before", model), _SMALL) for model in MODELS]
    rows.append(["MSE with D' alone", "", *before, ""])
    return table(["", "α", *(f"ΔMSE of {model} ↑" for model in MODELS), "LID ↓"], rows)


def stages(found: Found) -> str:
    """TV norm, the α that are good enough, and errors by α."""
    rows = []
    for stage in STAGES:
        errors = (shown(found.mean("alone", stage, alpha), _SMALL) for alpha in ALPHAS)
        good = ", ".join(f"{alpha:g}" for alpha in below_limit(found, stage)) or "none"
        rows.append([stage, shown(found.mean("tv", stage)), good, *errors])
    rows.append([AGAIN, shown(found.mean("tv", AGAIN)), *[""] * (1 + len(ALPHAS))])
    head = ["TV norm ↓", f"α with MSE below {printed.MSE:g}"]
    return table(["", *head, *(f"MSE, α = {alpha:g}" for alpha in ALPHAS)], rows)


def moments(found: Found) -> str:
    """Δμ, Δσ and Δc."""
    kinds = {"mean": "Δμ ↓", "variance": "Δσ ↓", "covariance": "Δc ↓"}
    rows = []
    for stage in (*STAGES, AGAIN):
        means = [found.mean("moments", stage, kind) for kind in kinds]
        rows.append(
            [stage, *(shown(mean, 0 if mean and mean.value > _MANY else 3) for mean in means)]
        )
    return table(["", *kinds.values()], rows)


def responses(found: Found) -> str:
    """ΔMSE by what answers in stage 2."""
    rows = [
        [name, *(percent(found.mean("response", name, model), 1) for model in MODELS)]
        for name in MODELS
    ]
    return table(["stage 2", *(f"ΔMSE of {model} ↑" for model in MODELS)], rows)


def mismatch(found: Found) -> str:
    """ΔMSE where test rows have another law."""
    rows = []
    for mean in MEANS:
        gone = (percent(found.mean("mismatch", model, mean), 1) for model in MODELS)
        rows.append([f"{mean:g}", shown(found.mean("mismatch", "tv", mean)), *gone])
    return table(["μ", "TV norm", *(f"ΔMSE of {model} ↑" for model in MODELS)], rows)


def seconds(found: Found) -> str:
    """How long both stages take."""
    parts = ("stage", "matching")
    rows = [
        [f"stage 1: {stage}", *(shown(found.mean("seconds", part, stage), 4) for part in parts)]
        for stage in STAGES
    ]
    rows += [
        [f"stage 2: {name}", shown(found.mean("seconds", "response", name), 4), ""]
        for name in MODELS
    ]
    return table(["", "seconds", "of the matching after it"], rows)


def together(found: Found) -> str:
    """The whole of LK-2SS in seconds, as said in a sentence."""
    parts = [
        found.mean("seconds", "stage", LATIN),
        found.mean("seconds", "matching", LATIN),
        found.mean("seconds", "response", MODELS[0]),
    ]
    return f"{sum(mean.value for mean in parts if mean is not None):.1f}"


def prices(found: Found) -> str:
    """Tables 4 and 8: by rows, OMU and OPR of each brand."""
    brands = range(1, len(marketing.BETAS) + 1)
    rows = []
    for metric, name in (("omu", "OMU"), ("opr", "OPR")):
        for arm in (printed.TRUE, *marketing.ARMS):
            cells = []
            for brand in brands:
                told = printed.printed(metric, arm, brand)
                cells += [told, percent(found.mean(metric, arm, brand)).removesuffix(" %")]
            rows.append([name, arm, *cells])
    head = [word for brand in brands for word in (f"print: brand {brand}", "ours")]
    return table(["%", "", *head], rows)


def deviations(found: Found) -> str:
    """MAPD, and LID by α."""
    rows = []
    for arm in marketing.ARMS:
        alphas = {marketing.made_name(alpha): alpha for alpha in marketing.ALPHAS}
        alpha = alphas.get(arm, marketing.SHARED if arm == marketing.BOTH else None)
        lid = ["", "", ""]
        if alpha is not None:
            one, all_ = (found.mean("market lid", *key, alpha) for key in ((), ("all",)))
            paper = printed.LID.get(alpha)
            lid = ["" if paper is None else f"{paper} %", percent(one), percent(all_)]
        rows.append([arm, f"{printed.MAPD[arm]} %", percent(found.mean("mapd", arm), 3), *lid])
    head = ["print: LID", "ours, of a brand", "ours, of five brands at once"]
    return table(["", "print: MAPD", "ours ↓", *head], rows)
