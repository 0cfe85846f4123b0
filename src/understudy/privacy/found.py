"""The facts of a column, made from noisy answers.

No row is asked here. Whatever a column turns out to be, it comes with a first count of its cells,
and each of these counts with its own noise: several answers may have gone into one.
"""

import datetime as dt
import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from understudy.column import LARGEST_INTEGER, MOST_ATOMS, Column, Kind, Label, Number, Source
from understudy.encode.numbers import MOST_UNIT_BINS, NumberCells
from understudy.encode.ops import Storage
from understudy.encode.shape_grid import MISSING
from understudy.errors import SchemaError
from understudy.privacy.answers import CommonValues, Measurement
from understudy.privacy.bins import Histogram, fine_edges, merged
from understudy.privacy.kinds import MISSING_STANDS_OUT, Looks

_LIKELY = 3.0
_FEW = 0.001
"""Fewer rows than this share of all make no cell "other"."""
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - columns are naive


_Reals: TypeAlias = NDArray[np.float64]


class _Mass(NamedTuple):
    """How many rows a cell holds, about, and how uncertain that is."""

    rows: float
    variance: float


class Beyond(NamedTuple):
    """About how many values of a column lie below and above its bounds, and the larger noise."""

    below: float
    above: float
    scale: float
    noise: float
    """The noise of a single fine cell: tails that hold fewer values do not stand out."""


class Found(NamedTuple):
    """The facts of a column, and a first count of its cells where there is one."""

    column: Column
    measured: Measurement | None
    nothing: bool = False
    beyond: Beyond | None = None
    other: float = 0.0
    """The share of the rows that hold a value outside the categories, about."""


class Fine(NamedTuple):
    """A fine histogram of a column, and its missing cells."""

    histogram: Histogram
    missing: float

    def has_missing(self, before: float, scale: float) -> bool:
        """Whether missing cells stand out of the noise of both counts of them.

        Args:
            before: An earlier count of missing cells.
            scale: The standard deviation of its noise.
        """
        one, other = scale**-2, self.histogram.scale**-2
        mean = (one * before + other * self.missing) / (one + other)
        return mean > MISSING_STANDS_OUT / float(np.sqrt(one + other))


def with_nulls(column: Column, answer: Measurement) -> Found:
    """A column of which only this was open: whether cells may be missing, the last of its own."""
    null = bool(answer.values[-1] > MISSING_STANDS_OUT * answer.scale)
    found = replace(column, null=null, source=Source.BOUGHT)
    if null or column.other is None:  # the few that are missing have the hidden cell
        return Found(found, answer)
    # Without a cell of their own, the few that are missing count as "other".
    values, variances = answer.values[:-1].copy(), np.full(len(answer.values) - 1, answer.scale**2)
    values[-1] += answer.values[-1]
    variances[-1] *= 2
    return Found(found, Measurement(answer.clique, values, np.sqrt(variances)))


def fine_counts(column: Column, answer: Measurement) -> Fine:
    """What was counted of a column that `refined` made, its missing cells last."""
    edges = tuple(_number(edge) for edge in column.edges or ())
    whole = column.kind is not Kind.REAL
    cells = Histogram(edges, answer.values[:-1], float(answer.scale), whole)
    return Fine(cells, float(answer.values[-1]))


def refined(column: Column, look: Looks | None, cells: int) -> Column:
    """The column as it is counted next: by a grid of about so many cells, or by its values."""
    if look is None or look.kind is None:
        return column
    if look.span is None:
        return replace(column, kind=look.kind, null=True, source=Source.BOUGHT, **look.facts)
    edges = fine_edges(look.span, whole=look.kind is not Kind.REAL, cells=cells)
    values = tuple(_value(look.kind, edge) for edge in edges)
    return replace(
        column,
        kind=look.kind,
        edges=values,
        bins=None,
        atoms=(),
        null=True,
        source=Source.BOUGHT,
        **look.facts,
    )


def numbers(column: Column, fine: Fine, common: CommonValues | None, rows: float) -> Found:
    """Bins and atoms, and how many rows each holds."""
    cells, alone = fine.histogram, {} if common is None else _largest(common, fine.histogram)
    counts, variance = cells.counts.copy(), np.full(len(cells.counts), cells.scale**2)
    for atom, (count, spread) in alone.items():
        place = min(int(np.searchsorted(cells.edges, atom, side="right")), len(counts)) - 1
        counts[place] -= count
        variance[place] += spread
    begins = _with_multiples(merged(cells, counts, rows), cells.edges, column)
    starts = [cells.edges[place] for place in begins]
    last = starts[-1] - 1 if cells.whole else starts[-1]
    bins = {
        cells.edges[begin]: _part(counts, variance, begin, end)
        for begin, end in itertools.pairwise(begins)
    }
    unit = cells.whole and len(bins) <= MOST_UNIT_BINS and set(np.diff(starts)) == {1.0}
    if not unit and last == starts[-2]:
        # Edges cannot say that the last bin holds a single value; an atom can.
        alone[last] = bins.pop(last)
    below = _part(counts, variance, 0, begins[0])
    above = _part(counts, variance, begins[-1], len(counts))
    _move(below, starts[0], bins, alone)
    _move(above, last, bins, alone)
    _free_a_value(column.step, bins, alone, last)
    spread = max(below.variance, above.variance) ** 0.5
    beyond = Beyond(below.rows, above.rows, spread, cells.scale)
    if column.bins is not None or column.atoms:
        # Bins that a person chose stay as they are; only the bounds are found out.
        bounds = _value(column.kind, starts[0]), _value(column.kind, last)
        return Found(_with_bounds(column, bounds), None, beyond=beyond)
    atoms = tuple(_value(column.kind, atom) for atom in sorted(alone))
    cuts = tuple(_value(column.kind, cut) for cut in (*bins, last))
    if unit:  # every value has a cell of its own
        column = replace(column, bounds=(cuts[0], cuts[-1]), atoms=atoms)
    else:
        column = replace(column, edges=cuts, atoms=atoms)
    return Found(column, _measured(column, bins, alone, fine), beyond=beyond)


def _with_multiples(begins: list[int], edges: tuple[float, ...], column: Column) -> list[int]:
    """Return where bins begin, without those that hold no multiple of the column's step."""
    step = column.step or (None if column.decimals is None else 10.0**-column.decimals)
    if step is None or column.kind is not Kind.REAL:
        return begins

    def holds(begin: int, end: int) -> bool:
        return math.ceil(edges[begin] / step) * step < edges[end]

    first, *inner, stop = begins
    wide = [first]
    for begin in inner:
        if holds(wide[-1], begin):
            wide.append(begin)
    while len(wide) > 1 and not holds(wide[-1], stop):
        wide.pop()
    return [*wide, stop]


def _with_bounds(column: Column, bounds: tuple[Number, Number]) -> Column:
    """The column with bounds that were found, and fewer bins if so many do not fit between them."""
    bins = column.bins
    while True:
        found = replace(column, bounds=bounds, bins=bins)
        try:
            NumberCells(found)
        except SchemaError:
            if bins is None or bins == 1:
                raise
            bins //= 2
        else:
            return found


def _part(counts: _Reals, variance: _Reals, begin: int, end: int) -> _Mass:
    """What some cells hold together."""
    return _Mass(float(counts[begin:end].sum()), float(variance[begin:end].sum()))


def _move(
    outside: _Mass, bound: float, bins: dict[float, _Mass], alone: dict[float, _Mass]
) -> None:
    """Count what lies beyond a bound where it is coded: at the bound, which may be an atom."""
    if bound in alone:
        cells, place = alone, bound
    else:
        cells, place = bins, max(start for start in bins if start <= bound)
    held = cells[place]
    cells[place] = _Mass(held.rows + outside.rows, held.variance + outside.variance)


def _free_a_value(
    step: float | None, bins: dict[float, _Mass], alone: dict[float, _Mass], last: float
) -> None:
    """Leave each bin a multiple of the step that is no atom: it could draw none otherwise."""
    if step is None:
        return
    starts = [*bins]
    for first, end in zip(starts, [*starts[1:], math.inf], strict=True):
        stop = min(end, last)
        multiples = step * np.arange(math.ceil(first / step), math.floor(stop / step) + 1)
        inside = [float(one) for one in multiples if first <= one < end]
        if inside and all(one in alone for one in inside):
            few = alone.pop(min(inside, key=lambda one: alone[one].rows))
            held = bins[first]
            bins[first] = _Mass(held.rows + few.rows, held.variance + few.variance)


def _measured(
    column: Column,
    bins: dict[float, _Mass],
    alone: dict[float, _Mass],
    fine: Fine,
) -> Measurement:
    """What the fine histogram says about the column's cells."""
    cells = NumberCells(column)
    known = [bins[first] for first, _ in cells.bins] + [alone[atom] for atom in cells.atoms]
    # Where values may not be missing, the few that are have the hidden cell.
    masses, variances = np.array([*known, (fine.missing, fine.histogram.scale**2)]).T
    return Measurement((column.name,), masses, np.sqrt(variances))


def _largest(common: CommonValues, cells: Histogram) -> dict[float, _Mass]:
    """The values with the largest counts, as many as can be atoms with one to spare."""
    first, last = cells.edges[0], cells.edges[-1]
    order = [int(k) for k in np.argsort(-common.counts)]
    # Beyond the grid numbers are not told apart, and would not be coded by their value.
    inside = [k for k in order if first <= float(common.values[k]) < last][: MOST_ATOMS - 1]
    return {
        float(common.values[k]): _Mass(float(common.counts[k]), common.scale**2) for k in inside
    }


def labels(
    column: Column, storage: Storage, told: CommonValues, shapes: Measurement, total: Measurement
) -> Found:
    """Categories, "other" where enough is left for it, and how many rows each holds."""
    listed = [k for k, value in enumerate(told.values) if value != column.other]
    values = [str(told.values[k]) for k in listed]
    if _are_whole(values, storage):
        listed.sort(key=lambda k: int(told.values[k]))
        values = [str(told.values[k]) for k in listed]
    if not listed:  # but the label that stands for all others
        return Found(blank(column, storage, null=bool(column.null)), None, nothing=True)
    counts, variances = [float(told.counts[k]) for k in listed], [told.scale**2] * len(listed)
    if column.null:
        counts.append(float(shapes.values[MISSING]))
        variances.append(float(shapes.scale) ** 2)
    left = float(total.values) - sum(counts)
    spread = float(total.scale) ** 2 + sum(variances)
    other = column.other
    if other is None and left > max(_LIKELY * np.sqrt(spread), _FEW * float(total.values)):
        other = next(label for label in _other_labels() if label not in values)
    # Values that are not listed are "other"; else missing, or in the hidden cell.
    place = len(values)
    if other is not None or not column.null:
        counts.insert(place, 0.0)
        variances.insert(place, 0.0)
    counts[place] += left
    variances[place] = spread - variances[place]  # what is left lacks its own noise
    found = replace(column, categories=_categories(values, storage, other), other=other)
    measured = Measurement((column.name,), np.array(counts), np.sqrt(np.array(variances)))
    return Found(found, measured, other=_share(left, float(total.values)))


def _share(part: float, whole: float) -> float:
    """A share of noisy counts, between 0 and 1."""
    return min(max(part, 0.0) / max(whole, 1.0), 1.0)


def _categories(values: list[str], storage: Storage, other: str | None) -> tuple[Label, ...]:
    """Whole numbers as such, where they are stored so and a column of them can hold them."""
    if other is None and _are_whole(values, storage):
        whole = [int(value) for value in values]
        if max(map(abs, whole)) <= LARGEST_INTEGER:
            return tuple(whole)
    return tuple(values)


def _are_whole(values: list[str], storage: Storage) -> bool:
    """Whether all are whole numbers: some engines keep other values in such columns, too."""
    digits = (value.removeprefix("-") for value in values)
    numbers = storage in {Storage.INTEGER, Storage.FLOAT}
    return numbers and all(d.isascii() and d.isdecimal() for d in digits)


def _other_labels() -> Iterator[str]:
    yield "other"
    yield from (f"other {number}" for number in itertools.count(2))


def blank(column: Column, storage: Storage, *, null: bool) -> Column:
    """A column of which nothing stood out: text is "other", and all other values are missing.

    No number or date may come out of it: nothing says of which order of magnitude values are.
    """
    numbers = storage not in {Storage.TEXT, Storage.BOOLEAN} or column.kind.numeric
    other = None if numbers else column.other or "other"
    return Column(
        name=column.name,
        kind=Kind.CATEGORICAL,
        categories=(),
        other=other,
        null=null or numbers,
        role=column.role,
        source=Source.BOUGHT,
    )


def _value(kind: Kind, number: float) -> Number:
    """A number as a value of the column: days and seconds since 1970 as dates."""
    if kind is Kind.DATE:
        return (_EPOCH + dt.timedelta(days=number)).date()
    if kind is Kind.DATETIME:
        return _EPOCH + dt.timedelta(seconds=number)
    return int(number) if kind is Kind.INTEGER else float(number)


def _number(value: Number) -> float:
    """The number of a value; the other way round."""
    if isinstance(value, dt.datetime):
        return (value - _EPOCH).total_seconds()
    if isinstance(value, dt.date):
        return float((value - _EPOCH.date()).days)
    return float(value)
