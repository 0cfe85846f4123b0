"""What a person should know about facts that were inferred under DP: made from noisy counts."""

from collections.abc import Iterator, Mapping, Sequence

from understudy.encode import Encoding
from understudy.encode.labels import LabelCells
from understudy.encode.numbers import NumberCells
from understudy.errors import listed
from understudy.privacy.discover import Discovered, Plan
from understudy.privacy.evidence import STANDS_OUT
from understudy.privacy.found import Beyond
from understudy.privacy.strays import stray_notes
from understudy.schema import Schema

_MUCH = 0.02
"""Of all rows: a value so common is missed, once it is lost."""
_LITTLE = 0.001
_UNCERTAIN = 0.005
"""Of all rows: bounds are uncertain where noise hides more."""
_TWO = 2
"""Classes, or bins: with fewer a target says nothing."""


def lost_target(schema: Schema) -> str | None:
    """Return a warning if fewer than two classes, or bins, of the target are known.

    >>> from understudy.column import Column, Kind, Role, Source
    >>> one = {"categories": ("no",), "other": "other", "null": False, "source": Source.BOUGHT}
    >>> target = Column(name="ill", kind=Kind.CATEGORICAL, role=Role.TARGET, **one)
    >>> print(lost_target(Schema((target,))).split(":")[0])
    The target 'ill' has 1 class in this release
    """
    if schema.target is None or not schema[schema.target].coded:
        return None
    cells = Encoding(schema).cells[schema.target]
    if isinstance(cells, LabelCells):
        count, what = len(cells.labels), "class"
    elif isinstance(cells, NumberCells):
        count, what = len(cells.bins) + len(cells.atoms), "bin"
    else:
        return None
    if count >= _TWO:
        return None
    plural = "" if count == 1 else ("es" if what == "class" else "s")
    number = count or "no"
    return (
        f"The target {schema.target!r} has {number} {what}{plural} in this release: models cannot "
        "learn to predict it. Noise hides its values at this epsilon. Declare the kind and the "
        "values of the target in a schema if they are public, use a larger epsilon, or use a table "
        "with more rows."
    )


def discovery_notes(found: Discovered, plan: Plan, schema: Schema) -> tuple[str, ...]:
    """Return sentences about inferred facts, where the table is small for what was inferred.

    Args:
        found: What was inferred.
        plan: What was asked.
        schema: The facts since then.
    """
    columns = [name for name in plan.columns if name not in found.personal]
    return (
        *_unreadable(found.unread),
        *_assumed(found.assumed, schema),
        *_without_signal(found, len(columns)),
        *_too_rare(found, plan, columns),
        *_beyond(found, schema),
        *_uncertain(found.beyond, plan.noise, found.rows),
    )


def _without_signal(found: Discovered, count: int) -> Iterator[str]:
    if found.nothing:
        yield (
            f"{len(found.nothing)} of {count} columns carry no usable signal at this epsilon: "
            f'{listed(found.nothing)}. They hold "other" or missing values only: too few records '
            "share a value there, or the table is small for this epsilon. State in a schema what "
            "these columns may hold (`understudy schema` drafts one for you to review), drop them, "
            "or use a larger epsilon."
        )


def _too_rare(found: Discovered, plan: Plan, columns: list[str]) -> Iterator[str]:
    if plan.least > _MUCH * found.rows:
        rows = max(found.rows, 0)
        yield (
            f"Values that fewer than about {plan.least:,} of the {rows:,.0f} records share cannot "
            f"be distinguished from noise. Categories may be missing in: {', '.join(columns)}. "
            "Declare them in a schema to retain them."
        )


def _unreadable(unread: Mapping[str, float]) -> Iterator[str]:
    for name, share in unread.items():
        if share > _LITTLE:
            mostly = "Most" if share > 1 / 2 else "Some"
            yield (
                f"{mostly} values of column {name!r} cannot be read in the inferred format and "
                f"are missing: about {share:.1%}. Declare `kind` and `format`, or a categorical "
                "kind, to read it otherwise."
            )


def _assumed(names: Sequence[str], schema: Schema) -> Iterator[str]:
    for name in names:
        column = schema[name]
        if column.format is not None:
            yield (
                f"Column {name!r}: its dates fit both day first and month first, and are read as "
                f"{column.format}. Declare `format` if this is wrong."
            )
        else:
            yield (
                f"Column {name!r}: numbers such as 1,234 are read with a comma between thousands. "
                'Declare decimal = "," if this is wrong.'
            )


def _beyond(found: Discovered, schema: Schema) -> Iterator[str]:
    for name, beyond in found.beyond.items():
        yield from stray_notes(
            schema[name],
            below=beyond.below,
            above=beyond.above,
            noise=beyond.scale,
            total=found.rows,
        )


def _uncertain(beyond: Mapping[str, Beyond], noise: float, rows: float) -> Iterator[str]:
    """Yield that tails may be lost: a cell with fewer rows does not stand out of its noise."""
    wide = [name for name, one in beyond.items() if one.noise > _UNCERTAIN * max(rows, 1.0)]
    if wide:
        columns = "Column" if len(wide) == 1 else "Columns"
        share = min(STANDS_OUT * noise / max(rows, 1.0), 1.0)
        yield (
            f"{columns} {listed(wide)}: the inferred bounds are uncertain. Up to about {share:.1%} "
            "of the values may lie beyond each bound and are set to it, and a few released values "
            "may lie beyond the real ones. Declare `bounds` to avoid this."
        )
