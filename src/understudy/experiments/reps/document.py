"""The results as text: Tables 1 to 4, ours beside the print, and what we add."""

from collections.abc import Sequence
from importlib.resources import files

from understudy.experiments.figures import Figures
from understudy.experiments.markdown import figure_section, shown, table
from understudy.experiments.reps.aims import aims
from understudy.experiments.reps.arms import (
    ARMS,
    EXACT,
    NOBODY,
    PRINTED,
    RANDOM,
    RELEASED,
    REMOVAL,
    REPS,
    SPLIT,
    UNIFORM,
    Arm,
)
from understudy.experiments.reps.found import Found, Metric
from understudy.experiments.reps.metrics import (
    correlation,
    injected,
    loss,
    matched_overall,
    matched_top,
    overall,
    rare_utility,
    recall,
    top,
    top_to_median,
    utility,
)
from understudy.experiments.reps.printed import printed
from understudy.experiments.reps.split import MOST_WATCHED
from understudy.experiments.reps.tables import BANDS, PUSH, PUSH_LABELS, SIM, Table

_METRICS: tuple[tuple[str, Metric], ...] = (
    ("TSTR ↑", utility),
    ("MIA Adv", overall),
    ("Top-10% Adv", top),
    ("Top/Med", top_to_median),
)
_PROTECTING = (UNIFORM, RELEASED, REMOVAL)
_BOUNDS = ("most_to_median", "gini", "lighter", "top_lighter", "top_epsilon")


def document(  # noqa: PLR0913 - the last four by name
    found: Found,
    tables: Sequence[Table],
    *,
    command: str,
    seeds: int,
    epsilons: Sequence[float],
    figures: Figures,
) -> str:
    """The whole text, in Markdown."""
    text = (files(__package__) / "templates" / "reps.md").read_text("utf-8")
    return (
        text.format(
            command=command,
            seeds=seeds,
            few=_FEW if seeds < _ENOUGH else "",
            epsilons=", ".join(f"{epsilon:g}" for epsilon in epsilons),
            aims=table(["", "paper", "aim", "ours", ""], [a.row() for a in aims(found, tables)]),
            printed="\n".join(_printed(found, one, epsilons) for one in tables),
            gammas=_gammas(found, tables, epsilons),
            matched=_matched(found, tables, epsilons),
            scorer=_scorer(found, tables, epsilons),
            bounds=_bounds(found, tables, epsilons),
            injected=_injected(found, epsilons),
            rarest=_rarest(found, tables, epsilons),
            rarest_less=_rarest_less(found, tables),
            targeting=_targeting(found, tables),
            watched=f"{MOST_WATCHED:,}",
            push=", ".join(f"{by:g}" for by in PUSH),
            push_labels="; ".join(_pushed(name) for name in PUSH_LABELS),
            bands="; ".join(
                f"{name} at {', '.join(f'{edge:g}' for edge in edges)}"
                for name, edges in BANDS.items()
            ),
            bins="\n".join(_facts(one) for one in tables),
            figures=figure_section("reps", figures),
        ).rstrip()
        + "\n"
    )


_ENOUGH = 5
_FEW = "\nThis is a quick run: intervals of two repetitions are wide, and decide little.\n"


def _printed(found: Found, one: Table, epsilons: Sequence[float]) -> str:
    rows = []
    for epsilon in epsilons:
        for arm in (*PRINTED, RELEASED):
            line = None if arm.printed is None else printed(one.name, epsilon, arm.printed)
            told = (
                ("", "", "", "", "")
                if line is None
                else (line.gamma, line.tstr, line.overall, line.top, line.inequality)
            )
            row = [f"{epsilon:g}", arm.name, told[0], _gamma(found, one, arm, epsilon)]
            for place, (_, metric) in enumerate(_METRICS, start=1):
                row += [told[place], shown(found.mean(one.name, arm, epsilon, metric))]
            rows.append(row)
        ours = [shown(found.mean(one.name, NOBODY, epsilon, metric)) for _, metric in _METRICS]
        rows.append(
            [f"{epsilon:g}", NOBODY.name, "", "", *(word for own in ours for word in ("", own))]
        )
    head = ["ε", "method", "print: γ", "ours"]
    for name, _ in _METRICS:
        head += [f"print: {name}", "ours"]
    return f"### Table {one.number}: {one.name}\n\n{table(head, rows)}"


def _gamma(found: Found, one: Table, arm: Arm, epsilon: float) -> str:
    if arm is RELEASED:
        return "1"
    if arm.weighed:
        return f"{found.tuned.get((one.name, epsilon), 0):g}"
    return "" if arm is EXACT else "0"


def _gammas(found: Found, tables: Sequence[Table], epsilons: Sequence[float]) -> str:
    rows = [
        [
            one.name,
            *(f"{found.tuned.get((one.name, epsilon), 0):g}" for epsilon in epsilons),
        ]
        for one in tables
    ]
    return table(["table", *(f"ε = {epsilon:g}" for epsilon in epsilons)], rows)


def _matched(found: Found, tables: Sequence[Table], epsilons: Sequence[float]) -> str:
    rows = []
    for one in tables:
        for arm in ARMS:
            swept = epsilons if arm.noisy else epsilons[:1]
            for epsilon in swept:
                told = [
                    shown(found.mean(one.name, arm, epsilon, metric))
                    for metric in (matched_overall, matched_top)
                ]
                rows.append([one.name, arm.name, f"{epsilon:g}" if arm.noisy else "", *told])
    return table(["table", "method", "ε", "all members", "top decile"], rows)


def _scorer(found: Found, tables: Sequence[Table], epsilons: Sequence[float]) -> str:
    rows = [
        [
            one.name,
            arm.name,
            f"{epsilon:g}",
            *(
                shown(found.mean(one.name, arm, epsilon, metric))
                for metric in (correlation, recall)
            ),
        ]
        for one in tables
        for arm in (REPS, RELEASED)
        for epsilon in epsilons
    ]
    return table(["table", "method", "ε", "Spearman ↑", "recall of the top tenth ↑"], rows)


def _bounds(found: Found, tables: Sequence[Table], epsilons: Sequence[float]) -> str:
    rows = [
        [
            one.name,
            f"{epsilon:g}",
            arm.name,
            *(shown(found.mean(one.name, arm, epsilon, loss(name))) for name in _BOUNDS),
        ]
        for one in tables
        for epsilon in epsilons
        for arm in (UNIFORM, SPLIT, REPS, RELEASED, RANDOM, REMOVAL)
    ]
    head = ["max/median", "Gini", "w < 1: all", "w < 1: true top decile", "ε of that decile ↓"]
    return table(["table", "ε", "method", *head], rows)


def _injected(found: Found, epsilons: Sequence[float]) -> str:
    rows = [
        [arm.name, *(shown(found.mean(SIM.name, arm, epsilon, injected)) for epsilon in epsilons)]
        for arm in (REPS, RELEASED, RANDOM, REMOVAL)
    ]
    return table(["method", *(f"ε = {epsilon:g}" for epsilon in epsilons)], rows)


def _rarest(found: Found, tables: Sequence[Table], epsilons: Sequence[float]) -> str:
    rows = [
        [
            one.name,
            f"{epsilon:g}",
            *(
                _shown_rare(found, one, arm, epsilon, metric)
                for arm in _PROTECTING
                for metric in (utility, rare_utility)
            ),
        ]
        for one in tables
        for epsilon in epsilons
    ]
    head = [f"{arm.short}: {which}" for arm in _PROTECTING for which in ("all", "rarest tenth")]
    return table(["table", "ε", *head], rows)


def _shown_rare(found: Found, one: Table, arm: Arm, epsilon: float, metric: Metric) -> str:
    """A mean, and of how many repetitions where some have one class only."""
    there = found.mean(one.name, arm, epsilon, utility)
    mean = found.mean(one.name, arm, epsilon, metric)
    if there is None:
        return ""
    if mean is None:
        return "one class only"
    few = f" ({mean.repetitions} of {there.repetitions})"
    return shown(mean) + (few if mean.repetitions < there.repetitions else "")


def _rarest_less(found: Found, tables: Sequence[Table]) -> str:
    rows = [
        [
            one.name,
            f"{arm.short} − {UNIFORM.short}",
            *(
                shown(found.difference(one.name, arm, UNIFORM, metric))
                for metric in (utility, rare_utility)
            ),
        ]
        for one in tables
        for arm in _PROTECTING[1:]
    ]
    return table(["table", "", "TSTR, all", "TSTR, rarest tenth"], rows)


def _targeting(found: Found, tables: Sequence[Table]) -> str:
    metrics = (utility, top, matched_top, loss("top_epsilon"))
    rows = [
        [
            one.name,
            f"REPS − {other.short}",
            *(shown(found.difference(one.name, REPS, other, metric)) for metric in metrics),
        ]
        for one in tables
        for other in (UNIFORM, SPLIT, RANDOM, REMOVAL)
    ]
    head = ["TSTR", "paper's top-10%", "matched top decile", "bound ε of the true top decile"]
    return table(["table", "", *head], rows)


def _pushed(name: str) -> str:
    return f"{name}: " + ", ".join(f"{label} {by:g}" for label, by in PUSH_LABELS[name].items())


def _facts(one: Table) -> str:
    cells = []
    for column in one.schema:
        if column.kind.numeric:
            assert column.bounds is not None  # noqa: S101 - numbers have them
            low, high = column.bounds
            atoms = f", {column.atoms[0]} by itself" if column.atoms else ""
            told = f"{low:g} to {high:g}, {column.bins} bins{atoms}"
        else:
            told = f"{len(column.categories or ())} labels"
        cells.append([column.name, told])
    return f"### {one.name}\n\n{table(['column', ''], cells)}"
