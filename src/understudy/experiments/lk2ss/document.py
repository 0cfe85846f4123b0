"""The results as text: ours beside the print, and what we add."""

from importlib.resources import files

from understudy.curator.coded_task import Mean
from understudy.experiments.figures import Figures
from understudy.experiments.lk2ss import marketing, nonlinear, printed, simulated
from understudy.experiments.lk2ss.aims import aims, percent
from understudy.experiments.lk2ss.extent import EPSILONS, Extent
from understudy.experiments.lk2ss.found import ENOUGH, Found
from understudy.experiments.lk2ss.publics import DEPTHS, MODELS, SEEN, TREES
from understudy.experiments.lk2ss.tables import BINS, TABLES, Table
from understudy.experiments.markdown import figure_section, shown, table

_FEW = "\nThis is a quick run: too few repetitions for any interval to decide.\n"
_LEFT_OUT = "The tables were not read: `--data` names their folder.\n"


def document(found: Found, *, command: str, extent: Extent, figures: Figures) -> str:
    """The whole text, in Markdown."""
    text = (files(__package__) / "templates" / "lk2ss.md").read_text("utf-8")
    fewest = min(extent.simulation, extent.prices, extent.real)
    return (
        text.format(
            command=command,
            extent=extent,
            few=_FEW if fewest < ENOUGH else "",
            aims=table(["", "paper", "aim", "ours", ""], [one.row() for one in aims(found)]),
            nonlinear=nonlinear,
            marketing=marketing,
            limit=f"{printed.MSE:g}",
            faster=printed.FASTER,
            traded=simulated.traded(found),
            stages=simulated.stages(found),
            moments=simulated.moments(found),
            responses=simulated.responses(found),
            mismatch=simulated.mismatch(found),
            seconds=simulated.seconds(found),
            together=simulated.together(found),
            prices=simulated.prices(found),
            deviations=simulated.deviations(found),
            real=_real(found),
            seen=SEEN,
            trees=TREES,
            depths=", ".join(map(str, DEPTHS)),
            bins=BINS,
            columns="\n".join(_facts(one) for one in TABLES),
            figures=figure_section("lk2ss", figures),
        ).rstrip()
        + "\n"
    )


def _real(found: Found) -> str:
    """Everything on the five tables; a sentence where they were not read."""
    if found.mean("lid", TABLES[0].name, "input") is None:
        return _LEFT_OUT
    text = (files(__package__) / "templates" / "real.md").read_text("utf-8")
    return text.format(
        told=_told(found),
        gained=_gained(found),
        alone=_alone(found),
        private_gain=_private_gain(found),
        private_alone=_private_alone(found),
        bins=BINS,
    )


def _told(found: Found) -> str:
    rows = []
    for one in TABLES:
        cells = []
        for side, limit in (("input", one.input_limit), ("output", one.output_limit)):
            mean = found.mean("lid", one.name, side)
            by_deviation = found.mean("lid by deviation", one.name, side)
            cells += [f"≤ {100 * limit:g} %", percent(mean, 1), percent(by_deviation, 1)]
        rows.append([one.name, *cells])
    head = []
    for side in ("inputs", "output"):
        head += [f"limit: {side}", "ours, η of the range", "η of the deviation"]
    return table(["", *head], rows)


def _gained(found: Found) -> str:
    rows = []
    for one in TABLES:
        means = (found.mean("gone", one.name, "lid", model) for model in MODELS)
        cells = (_wished(mean, one.wish) for mean in means)
        rows.append([one.name, f"≥ {100 * one.wish:g} %", *cells])
    return table(["", "wish", *(f"ΔMSE of {model} ↑" for model in MODELS)], rows)


def _wished(mean: Mean | None, wish: float) -> str:
    met = mean is not None and mean.value >= wish
    return f"{percent(mean, 1)}, {'met' if met else 'not met'}"


def _alone(found: Found) -> str:
    rows = []
    for one in TABLES:
        cells = []
        for model in MODELS:
            real, made = (found.mean("alone", one.name, way, model) for way in ("real", "lid"))
            cells += [shown(real, 5), shown(made, 5)]
        rows.append([one.name, *cells])
    head = [word for model in MODELS for word in (f"{model}: D", "D*")]
    return table(["MSE ↓", *head], rows)


def _private_gain(found: Found) -> str:
    rows = []
    for one in TABLES:
        for way, told in _ways().items():
            means = (found.mean("gone", one.name, way, model) for model in MODELS)
            rows.append([one.name, told, *(percent(mean, 0) for mean in means)])
    return table(["", "", *(f"ΔMSE of {model} ↑" for model in MODELS)], rows)


def _private_alone(found: Found) -> str:
    rows = []
    for one in TABLES:
        guess = shown(found.mean("alone", one.name, "mean"), 5)
        rows.append([one.name, "who says the mean of D", *[guess] * len(MODELS)])
        for way, told in {"real": "D", **_ways()}.items():
            means = (found.mean("alone", one.name, way, model) for model in MODELS)
            rows.append([one.name, told, *(shown(mean, 5) for mean in means)])
    return table(["MSE ↓", "", *MODELS], rows)


def _ways() -> dict[str, str]:
    """How D* was made, by key."""
    private = {f"{epsilon:g}": f"mode dp, ε = {epsilon:g}" for epsilon in EPSILONS}
    return {"lid": "mode lid, **not private**", **private}


def _facts(one: Table) -> str:
    cells = []
    for column in one.columns:
        if column.bounds is None:
            cells.append([column.name, f"{len(column.categories or ())} labels"])
        else:
            low, high = column.bounds
            cells.append([column.name, f"{low:,.0f} to {high:,.0f}"])
    rows = f"{one.private:,} rows in D, {one.public} in D', {one.test} for the test; {one.alone}"
    return f"### {one.name}\n\n{rows} where there is no D'.\n\n{table(['column', ''], cells)}"
