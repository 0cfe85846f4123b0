"""The results as text: Table II, ours beside the print, the figures' numbers, and what we add."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

from understudy.experiments.figures import Figures
from understudy.experiments.markdown import figure_section, shown, table
from understudy.experiments.privci.aims import aims
from understudy.experiments.privci.arms import (
    AIM,
    EXHAUSTIVE,
    MST,
    PREFAIR,
    PRISM,
    PRIVCI,
    REAL,
    SWEPT,
)
from understudy.experiments.privci.found import Compared, Found
from understudy.experiments.privci.metrics import AUC, CMI, EO, KL, METRICS, TV, Metric, Q
from understudy.experiments.privci.printed import TABLE_TWO
from understudy.experiments.privci.structure import Tree
from understudy.experiments.privci.tables import TABLES, Table

Trees = Mapping[str, Mapping[str, Tree]]
"""By table and arm."""


@dataclass(frozen=True)
class Noiseless:
    """Trees of the rows themselves."""

    ours: Trees
    """By the L1 score in rows."""
    printed: Trees
    """By the score that the paper prints."""


def document(
    found: Found, trees: Noiseless, *, command: str, epsilons: Sequence[float], figures: Figures
) -> str:
    """The whole text, in Markdown."""
    text = (files(__package__) / "templates" / "privci.md").read_text("utf-8")
    reached = [aim.row() for aim in aims(found)]
    pairs = max(found.same_trees(one.name)[1] for one in TABLES)
    return (
        text.format(
            command=command,
            folds=len({outcome.cell.fold for outcome in found.outcomes}),
            epsilons=", ".join(f"{epsilon:g}" for epsilon in epsilons),
            aims=table(["", "paper", "aim", "ours", ""], reached),
            pairs=pairs,
            few=_FEW if pairs and not _enough(found) else "",
            table_two=_table_two(found),
            noiseless=_noiseless(trees.ours, ",.0f"),
            noiseless_printed=_noiseless(trees.printed, ".4f"),
            same=_same(found),
            once=_once(found),
            swept="\n".join(_swept(found, one, epsilons) for one in TABLES),
            bins="\n".join(_bins(one) for one in TABLES),
            figures=figure_section("privci", figures),
        ).rstrip()
        + "\n"
    )


_FEW = "Of so few pairs none is significant, however they differ: this is a quick run.\n\n"


def _enough(found: Found) -> bool:
    compared = (found.compared(one.name, AUC) for one in TABLES)
    return any(one.enough for one in compared if one)


def _table_two(found: Found) -> str:
    rows = []
    for metric in METRICS:
        for one in TABLES:
            printed, ours = TABLE_TWO[metric.name][one.name], found.compared(one.name, metric)
            row = [metric.head, one.name, printed.difference, printed.p_value]
            row.append(_tick(printed.better))
            row += ["", "", ""] if ours is None else _ours(ours, metric)
            rows.append(row)
    return table(["", "table", "print: Δ", "p", "", "ours: Δ", "p", ""], rows)


def _ours(compared: Compared, metric: Metric) -> list[str]:
    mean = compared.difference
    # As many digits as are printed, but for q.
    places = 1 if metric is Q else 4
    told = f"{mean.value:+.{places}f} ± {mean.half:.{places}f}"
    return [told, f"{compared.p_value:.4f}", _tick(compared.better)]


def _tick(better: bool) -> str:  # noqa: FBT001 - what it says
    return "✓" if better else ""


def _noiseless(trees: Trees, style: str) -> str:
    arms = (PRIVCI, PREFAIR, EXHAUSTIVE, MST)
    rows = []
    for one in TABLES:
        if one.name in trees:
            found = [trees[one.name][arm.name] for arm in arms]
            tied = [_named(tree.beside(one.outcome)) for tree in found]
            scores = [f"{tree.q:{style}}" for tree in found]
            rows.append([one.name, *map(" | ".join, zip(scores, tied, strict=True))])
    names = ["PrivCI", "PreFair", "best fair tree", "MST"]
    head = [word for name in names for word in (f"{name}: q", "beside the outcome")]
    return table(["table", *head], rows)


def _named(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def _same(found: Found) -> str:
    told = []
    for one in TABLES:
        same, of = found.same_trees(one.name)
        if of:
            told.append(f"{one.name} {same} of {of}")
    return ", ".join(told)


def _once(found: Found) -> str:
    metrics = (AUC, KL, TV, CMI, EO)
    rows = []
    for one in TABLES:
        for arm in (PRIVCI, PREFAIR, EXHAUSTIVE, AIM, PRISM, MST):
            means = [found.mean(one.name, arm.name, 1.0, metric) for metric in metrics]
            if any(means):
                told = [shown(mean, m.places) for mean, m in zip(means, metrics, strict=True)]
                own = found.largest_model_cmi([arm], [one])
                took = found.seconds(one.name, arm.name, 1.0)
                told += ["" if own is None else f"{own:.0e}" if own else "0", f"{took:.1f}"]
                rows.append([one.name, arm.name, *told])
        real = {m: shown(found.mean(one.name, REAL, 1.0, m), m.places) for m in (AUC, CMI, EO)}
        if any(real.values()):
            rows.append([one.name, REAL, *(real.get(metric, "") for metric in metrics), "", ""])
    head = [metric.head for metric in metrics]
    return table(["table", "method", *head, "the model's own CMI ↓", "seconds ↓"], rows)


def _swept(found: Found, one: Table, epsilons: Sequence[float]) -> str:
    rows = [
        [
            f"{epsilon:g}",
            arm.name,
            *(
                shown(found.mean(one.name, arm.name, epsilon, metric), metric.places)
                for metric in METRICS
            ),
        ]
        for epsilon in epsilons
        for arm in SWEPT
    ]
    head = ["ε", "method", *(metric.head for metric in METRICS)]
    return f"### {one.name}\n\n{table(head, rows)}"


def _bins(one: Table) -> str:
    roles = {
        "O": (one.outcome,),
        "S": (one.protected,),
        "A": one.admissible,
        "I": one.inadmissible,
    }
    rows = [
        [name, role, str(one.codings[name]), str(one.codings[name].size)]
        for role, names in roles.items()
        for name in names
    ]
    return f"### {one.name}: {one.independence}\n\n" + table(["column", "role", "", "codes"], rows)
