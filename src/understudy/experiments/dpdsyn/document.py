"""The results as text: Tables 2 to 6, ours beside the print, and what we add."""

from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files

from understudy.column import Column
from understudy.curator.label_task import HIDDEN, ROWS_PER_STEP, STEPS
from understudy.curator.models import Learner
from understudy.experiments.dpdsyn.aims import aims
from understudy.experiments.dpdsyn.arms import (
    AIM,
    BOTH,
    BY_LOGISTIC,
    BY_MLP,
    MST,
    MWEM,
    NOISY,
    PAIRED,
    REAL,
    RIVALS,
    TIMES,
    WITH_MST,
    Arm,
    Draw,
)
from understudy.experiments.dpdsyn.found import METRICS, Found, log_loss
from understudy.experiments.dpdsyn.printed import SPEEDUPS, printed, printed_scaled
from understudy.experiments.dpdsyn.tables import TABLES, Table
from understudy.experiments.dpdsyn.twelve import twelve_table
from understudy.experiments.figures import Figures
from understudy.experiments.markdown import figure_section, shown, table

_Line = Mapping[Learner, Arm]
"""A line of a table: by downstream model, the arm that it shows."""
_OURS = "DPDSyn, labels by the downstream model's kind"
_LINES: Mapping[str, _Line] = {
    _OURS: PAIRED,
    **{arm.name: dict.fromkeys(BOTH, arm) for arm in (BY_LOGISTIC, WITH_MST, AIM, MST, MWEM)},
}
_ENOUGH = 5
_FEW = "\nThis is a quick run: too few repetitions for any interval to decide.\n"


def document(
    found: Found, *, command: str, seeds: int, epsilons: Sequence[float], figures: Figures
) -> str:
    """The whole text, in Markdown."""
    text = (files(__package__) / "templates" / "dpdsyn.md").read_text("utf-8")
    reached = [one.row() for one in aims(found, epsilons)]
    return (
        text.format(
            command=command,
            seeds=seeds,
            few=_FEW if seeds < _ENOUGH else "",
            epsilons=" and ".join(f"{epsilon:g}" for epsilon in epsilons),
            first=f"{epsilons[0]:g}",
            aims=table(["", "paper", "aim", "ours", ""], reached),
            printed="\n".join(_utility(found, one, epsilons) for one in TABLES),
            shift=_shift(found, epsilons),
            twelve=twelve_table(found.twelve),
            log_loss=_log_loss(found, epsilons),
            shuffled=_shuffled(found, epsilons),
            seconds=_seconds(found, epsilons),
            ratios=_ratios(found, epsilons),
            speedups=", ".join(f"{times}x ({name})" for name, times in SPEEDUPS.items()),
            scaled=_scaled(found, epsilons[0]),
            hidden=HIDDEN,
            steps=f"{STEPS:,}",
            batch=ROWS_PER_STEP,
            columns="\n".join(_facts(one) for one in TABLES),
            figures=figure_section("dpdsyn", figures),
        ).rstrip()
        + "\n"
    )


def _utility(found: Found, one: Table, epsilons: Sequence[float]) -> str:
    real = dict.fromkeys(BOTH, REAL)
    guess = ["", shown(found.majority(one.name)), "", "", "", "0.500"]
    rows = [
        ["", "always the more common class", *(guess * len(BOTH))],
        ["", REAL.name, *_line(found, one, real, epsilons[0])],
    ]
    rows += [
        [f"{epsilon:g}", name, *_line(found, one, arms, epsilon)]
        for epsilon in epsilons
        for name, arms in _LINES.items()
    ]
    head = ["ε", "method"]
    for learner in BOTH:
        for name in METRICS:
            kept = f"{learner.upper()} {name} ↑"
            head += [f"print: {kept}", "ours"] if name in {"accuracy", "F1"} else [kept]
    return f"### Table {one.number}: {one.name}\n\n{table(head, rows)}"


def _line(found: Found, one: Table, arms: _Line, epsilon: float) -> Iterator[str]:
    for learner, arm in arms.items():
        told = ("", "")
        if arm.printed is not None:
            told = printed(one.name, arm.printed, learner)
        for place, metric in enumerate(METRICS.values()):
            if place < len(told):
                yield told[place]
            yield shown(found.mean(one.name, arm, epsilon, learner, metric))


def _compared(
    found: Found, epsilons: Sequence[float], draws: Sequence[Draw]
) -> Iterator[list[str]]:
    """Accuracy of the paper's pairs, by what was drawn."""
    for one in TABLES:
        for epsilon in epsilons:
            cells = [
                shown(found.mean(one.name, arm, epsilon, learner, draw=draw))
                for learner, arm in PAIRED.items()
                for draw in draws
            ]
            yield [one.name, f"{epsilon:g}", *cells]


def _shift(found: Found, epsilons: Sequence[float]) -> str:
    draws = {Draw.ONCE: "as released", Draw.UNMOVED: "not moved"}
    head = [f"{learner.upper()}: {name}" for learner in BOTH for name in draws.values()]
    return table(["table", "ε", *head], _compared(found, epsilons, [*draws]))


def _shuffled(found: Found, epsilons: Sequence[float]) -> str:
    draws = {Draw.ONCE: "DPDSyn, private", Draw.SHUFFLED: "shuffle, **not private**"}
    head = [f"{learner.upper()}: {name}" for learner in BOTH for name in draws.values()]
    return table(["table", "ε", *head], _compared(found, epsilons, [*draws]))


def _log_loss(found: Found, epsilons: Sequence[float]) -> str:
    rows = []
    for one in TABLES:
        real = found.mean(one.name, REAL, epsilons[0], Learner.MLP, log_loss)
        share = shown(found.truly_positive(one.name))
        rows.append([one.name, "", "real rows", shown(real), "", share, ""])
        for epsilon in epsilons:
            for arm in (BY_LOGISTIC, BY_MLP):
                draws = (Draw.ONCE, Draw.HARD)
                losses = [
                    shown(found.mean(one.name, arm, epsilon, Learner.MLP, log_loss, draw))
                    for draw in draws
                ]
                shares = [shown(found.positive(one.name, arm, epsilon, draw)) for draw in draws]
                rows.append([one.name, f"{epsilon:g}", arm.name, *losses, *shares])
    head = ["log loss, drawn ↓", "log loss, hard ↓", "positive, drawn", "positive, hard"]
    return table(["table", "ε", "", *head], rows)


def _seconds(found: Found, epsilons: Sequence[float]) -> str:
    rows = [
        [
            one.name,
            f"{epsilon:g}",
            *(shown(found.seconds(one.name, arm, epsilon), 1) for arm in NOISY),
        ]
        for one in TABLES
        for epsilon in epsilons
    ]
    return table(["table", "ε", *(arm.name for arm in NOISY)], rows)


def _ratios(found: Found, epsilons: Sequence[float]) -> str:
    pairs = [(rival, arm) for arm in (*PAIRED.values(), BY_LOGISTIC) for rival in RIVALS]
    rows = []
    for one in TABLES:
        for epsilon in epsilons:
            found_times = (found.times(one.name, rival, arm, epsilon) for rival, arm in pairs)
            told = ("" if times is None else f"{times:.2f}" for times in found_times)
            rows.append([one.name, f"{epsilon:g}", *told])
    head = [f"{rival.name} / {arm.short}" for rival, arm in pairs]
    return table(["table", "ε", *head], rows)


def _scaled(found: Found, epsilon: float) -> str:
    lines = {REAL.name: dict.fromkeys(BOTH, REAL), _OURS: PAIRED}
    lines |= {arm.name: dict.fromkeys(BOTH, arm) for arm in RIVALS}
    rows = []
    for name, arms in lines.items():
        cells = []
        for learner, arm in arms.items():
            told = ("", *printed_scaled(str(arm.printed), learner))
            for paper, draw in zip(told, TIMES, strict=True):
                ours = shown(found.over_tables(arm, epsilon, learner, draw))
                cells += [ours] if draw is Draw.ONCE else [paper, ours]
        rows.append([name, *cells])
    head = []
    for learner in BOTH:
        word = learner.upper()
        head += [f"{word} 1x", f"print: {word} 2x", "ours", f"print: {word} 3x", "ours"]
    return table(["method", *head], rows)


def _facts(one: Table) -> str:
    cells = [[column.name, _coded(column)] for column in one.columns]
    return f"### {one.name}\n\n{table(['column', ''], cells)}"


def _coded(column: Column) -> str:
    atoms = f"; {column.atoms[0]:g} by itself" if column.atoms else ""
    if column.edges is not None:
        return f"between {', '.join(f'{edge:g}' for edge in column.edges)}{atoms}"
    if column.bounds is not None:
        low, high = column.bounds
        return f"{low:g} to {high:g}, {column.bins} bins{atoms}"
    return f"{len(column.categories or ())} labels"
