"""Cells of integer, real, date and datetime columns: bins, atoms and missing."""

import datetime as dt
import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.column import LARGEST_INTEGER, MOST_EDGES, Column, Kind, Number
from understudy.encode.arrow_ops import ArrowOps
from understudy.encode.moments import (
    MOMENT_PARTS,
    ZONE,
    MomentPattern,
    is_moment,
    seconds_since_1970,
)
from understudy.encode.multiples import Multiples, fewer_cuts, rounded, stated_step, steps_of
from understudy.encode.ops import Ops, Storage, Value
from understudy.encode.written_numbers import read_number
from understudy.errors import SchemaError, listed

DEFAULT_BINS = 32
MOST_UNIT_BINS = 64
"""A whole-number column with no more values than this has one cell per value by default."""
_DAY = 86400
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - columns are naive


@dataclass(frozen=True)
class NumberCells:
    """Bins first, then one cell per atom, then one for missing values.

    Inside, every value is a number: dates count days and datetimes seconds since 1970. Bins
    of equal width are found by one division, others by search. In a column without missing
    values the last cell is hidden: it counts values that are missing or unreadable, and is never
    decoded.
    """

    column: Column
    hides: bool = True
    """Whether there is a hidden cell; releases of format 1 have none, and used the first cell."""

    def __post_init__(self) -> None:
        if not math.isfinite(self._span * self._cuts):
            self._refuse("the bounds are too wide for a double; bring them closer together")
        if self._whole and self._span > LARGEST_INTEGER:
            self._refuse("the bounds are further apart than 2**52; bring them closer together")
        if self.searched and len(self._all_bins) >= MOST_EDGES:
            self._refuse("the bounds are too wide for so many bins; declare fewer")
        if not self._whole and np.isnan(self._inner).any():
            self._refuse("the bins are too narrow for a double; declare fewer")

    @cached_property
    def bins(self) -> tuple[tuple[float, float], ...]:
        """First and last value of each bin; whole-number bins hold both, real ones the first."""
        return tuple(both for place, both in enumerate(self._all_bins) if place not in self._hollow)

    @cached_property
    def atoms(self) -> tuple[float, ...]:
        """The values with a cell of their own."""
        return tuple(self._unit(atom) for atom in self.column.atoms)

    @property
    def span(self) -> tuple[float, float]:
        """The bounds, as the numbers that cells are made of."""
        return self._least, self._greatest

    @property
    def missing(self) -> int | None:
        """The cell of values that are missing, or the hidden one: the last, if it exists."""
        return self.size - 1 if self._last else None

    @property
    def hidden(self) -> int | None:
        """The cell of values that have no other: counted, and never decoded."""
        return self.size - 1 if self.hides and self.column.null is False else None

    @property
    def fallback(self) -> frozenset[int]:
        """The cell of values that are missing or unreadable."""
        return frozenset({0 if self.missing is None else self.missing})

    @property
    def size(self) -> int:
        """How many cells there are."""
        return len(self.bins) + len(self.atoms) + self._last

    @property
    def _last(self) -> bool:
        """Whether the last cell holds values that are missing or unreadable."""
        return self.hides or self.column.null is not False

    def read(self, value: Value, storage: Storage, ops: Ops) -> tuple[Value, ...]:
        """A number; for a date written as text its parts."""
        if not self._dated:
            return (read_number(value, storage, self.column, ops),)
        if storage is Storage.TEXT:
            return tuple(ops.moment_parts(value, MomentPattern(self.column.format)).values())
        return (ops.moment(value, storage),)

    def code(self, readings: tuple[Value, ...], ops: Ops) -> Value:
        """The cell of each value."""
        number, known = self._number(readings, ops)
        (otherwise,) = self.fallback
        return ops.where(known, self._code(number, ops), otherwise)

    def known_number(self, readings: tuple[Value, ...], ops: Ops) -> tuple[Value, Value]:
        """What was read as a number, and whether it is one."""
        return self._number(readings, ops)

    def cell_of(self, number: float) -> int:
        """The cell of a number that has been read."""
        return int(self._cell(np.array([number]))[0])

    def number_of(self, text: str) -> float | None:
        """A written value as the number that cells are made of; None where it is no value."""
        ops = ArrowOps()
        number, known = self._number(self.read(pa.array([text]), Storage.TEXT, ops), ops)
        return float(np.asarray(number)[0]) if bool(np.asarray(known)[0]) else None

    def _number(self, readings: tuple[Value, ...], ops: Ops) -> tuple[Value, Value]:
        """What was read as a number, and whether it is one."""
        if len(readings) == 1:
            (number,) = readings
            known = ops.known(number)
        else:
            parts = dict(zip((*MOMENT_PARTS, ZONE), readings, strict=False))
            number, known = seconds_since_1970(parts, ops), is_moment(parts, ops)
        if self.column.kind is Kind.DATE:
            number = number / float(_DAY)
        return number, known

    def _code(self, number: Value, ops: Ops) -> Value:
        """The cell of a known number.

        As SQL, what is used twice is written twice: so each step uses the last one once, and
        the corrections look at the number itself, not at the code that they correct.
        """
        least, greatest = self._least, self._greatest
        inside = ops.clamp(number, least, greatest)
        code = self._bin(number, ops)
        for place in self._hollow:
            code = code - ops.where(inside >= self._all_bins[place][1] + 1, 1, 0)
        places = dict(zip(self.atoms, itertools.count(len(self.bins)), strict=False))
        # Atoms outside the bounds come first, for a value must not move to a bound before them.
        cases = []
        for atom in sorted(places, key=lambda atom: least <= atom <= greatest):
            seen = inside if least <= atom <= greatest else number
            equal = (seen >= atom) & (seen < atom + 1) if self._whole else seen == atom
            cases.append((equal, places[atom]))
        return ops.first(cases, code)

    def _bin(self, number: Value, ops: Ops) -> Value:
        """The bin of a number, or of the bound that it lies beyond."""
        cuts, span = self._cuts, self._span
        if self.searched:
            return ops.search(number, tuple(first for first, _ in self._all_bins[1:]))
        if not self._whole:
            # From a quarter of the first bin on: a tiny quotient is an error on some engines.
            offset = ops.clamp(number, self._quarter, self._greatest) - self._least
            return ops.clamp(ops.floor(offset * float(cuts) / float(span)), 0, cuts - 1)
        whole = ops.floor(ops.clamp(number, self._least, self._greatest) - self._least)
        return whole if cuts == span else ops.floor(whole * float(cuts) / float(span))

    def decode(self, codes: NDArray[np.unsignedinteger], rng: np.random.Generator) -> Value:
        """One value per code: drawn evenly inside a bin, exact for an atom, null for the rest."""
        cells = codes.astype(np.int64)
        values = np.zeros(len(cells))
        binned = cells < len(self.bins)
        if binned.any():
            draw = self._draw_whole if self._whole else self._draw_real
            values[binned] = draw(cells[binned], rng)
        for place, atom in enumerate(self.atoms, start=len(self.bins)):
            values[cells == place] = atom
        mask = cells == self.missing if self.missing is not None else None
        if self._whole:
            numbers = pa.array(values.astype(np.int64), mask=mask)
            return numbers if self.column.kind is Kind.INTEGER else self._dates(numbers)
        return pa.array(values, mask=mask)

    @property
    def arrow_type(self) -> pa.DataType:
        """The type that values decode to."""
        types = {
            Kind.INTEGER: pa.int64(),
            Kind.REAL: pa.float64(),
            Kind.DATE: pa.date32(),
            Kind.DATETIME: pa.timestamp("s"),
        }
        return types[self.column.kind]

    def describe(self, code: int) -> str:
        """The cell in words."""
        if code == self.hidden:
            return "missing or unreadable"
        if code == self.missing:
            return "missing"
        if code >= len(self.bins):
            return f"exactly {self._shown(self.atoms[code - len(self.bins)])}"
        first, last = self.bins[code]
        if self._whole:
            first = next(n for n in itertools.count(first) if n not in self.atoms)
            last = next(n for n in itertools.count(last, -1) if n not in self.atoms)
        inner = [self._shown(atom) for atom in sorted(self.atoms) if first <= atom < last]
        without = f" without {listed(inner)}" if inner else ""
        words = (self._shown(first), "to" if self._whole else "up to", self._shown(last))
        return self._shown(first) if first == last else " ".join(words) + without

    def _draw_whole(
        self, codes: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Whole numbers of the bin that are no atoms, each as likely as the others.

        With a step, its multiples alone, where the bin has any.
        """
        if self._multiples is not None:
            return np.where(
                self._multiples.none[codes], self._spare[codes], self._multiples.draw(codes, rng)
            )
        first, last = np.asarray(self.bins).T[:, codes]
        atoms = sorted(self.atoms)
        room = last - first + 1
        for atom in atoms:
            room = room - ((first <= atom) & (atom <= last))
        values: NDArray[np.float64] = first + rng.integers(0, room.astype(np.int64))
        for atom in atoms:
            values = values + ((first <= atom) & (atom <= values))
        return values

    def _draw_real(self, codes: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
        """A real inside the bin, with as many digits as facts or the bin's width say.

        Where a bin holds no such number, one with as few digits as it allows; where digits are
        too few to say, any number, and an inner one where rounding pushed it out.
        """
        assert self._multiples is not None  # noqa: S101 - reals always have a step
        values, none = self._multiples.draw(codes, rng), self._multiples.none[codes]
        if not none.any():
            return values
        if stated_step(self.column) is not None:
            return np.where(none, self._spare[codes], values)
        first, last = np.asarray(self.bins).T[:, codes]
        free = first + rng.random(len(codes)) * (last - first)
        free = np.where(self._cell(free) == codes, free, self._inner[codes])
        return np.where(none, free, values)

    @cached_property
    def _multiples(self) -> Multiples | None:
        """The values that are drawn, where not all whole numbers of a bin are."""
        firsts, lasts = np.asarray(self.bins, np.float64).reshape(-1, 2).T
        steps = steps_of(self.column, firsts, lasts) if len(firsts) else None
        if steps is None:
            return None
        return Multiples(steps, firsts, lasts, self._bin_of, self.atoms)

    def _bin_of(self, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
        """The bin of each number, whether or not it is an atom; -1 if all of the bin are atoms."""
        if not self._whole:
            return np.asarray(self._bin(numbers, ArrowOps()), np.int64)
        firsts, lasts = np.asarray(self.bins, np.float64).T
        places = np.maximum(np.searchsorted(firsts, numbers, side="right") - 1, 0)
        inside = (firsts[places] <= numbers) & (numbers <= lasts[places])
        return np.where(inside, places, -1)

    @cached_property
    def _spare(self) -> NDArray[np.float64]:
        """By bin, a value near a multiple of the step, for bins that hold none."""
        places = np.arange(len(self.bins))
        if not self._whole:
            return rounded(self._inner, lambda values: self._cell(values) == places)
        step = float(stated_step(self.column) or 1)
        firsts, lasts = np.asarray(self.bins, np.float64).T
        low, high = np.full(len(places), np.nan), np.full(len(places), np.nan)
        for moved in range(len(self.atoms) + 1):
            for ends, found in ((firsts + moved, low), (lasts - moved, high)):
                free = np.isnan(found) & (self._cell(ends) == places)
                found[free] = ends[free]
        return np.where(low % step <= -high % step, low, high)

    def _cell(self, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
        return np.asarray(self._code(numbers, ArrowOps()))

    @cached_property
    def _inner(self) -> NDArray[np.float64]:
        """A value of each bin that is no atom; NaN where a double does not fit in."""
        first, last = np.asarray(self.bins).T
        inner = np.full(len(self.bins), np.nan)
        # One point more than there are atoms: not all of them can be atoms.
        for share in np.linspace(0.5, 0.9, len(self.atoms) + 1):
            point = first + share * (last - first)
            fits = self._cell(point) == np.arange(len(inner))
            inner = np.where(fits & np.isnan(inner), point, inner)
        return inner

    def _dates(self, numbers: Value) -> Value:
        if self.column.kind is Kind.DATE:
            return numbers.cast(pa.int32()).cast(pa.date32())
        return numbers.cast(pa.timestamp("s"))

    @cached_property
    def _all_bins(self) -> tuple[tuple[float, float], ...]:
        """All bins, also those that atoms leave nothing of."""
        gap = 1 if self._whole else 0
        if self.column.edges is not None:
            edges = [self._unit(edge) for edge in self.column.edges]
            starts, ends = edges[:-1], [edge - gap for edge in edges[1:-1]] + [edges[-1]]
            return tuple(zip(starts, ends, strict=True))
        least, cuts, span = self._least, self._cuts, self._span
        if self._whole:
            # Exact integers: where place·cuts/span first reaches the next whole number.
            starts = [least + -(-place * int(span) // cuts) for place in range(cuts + 1)]
        else:
            starts = [least + place * span / cuts for place in range(cuts)] + [self._greatest]
        return tuple((starts[k], starts[k + 1] - gap) for k in range(cuts))

    @cached_property
    def _hollow(self) -> tuple[int, ...]:
        """Whole-number bins in which every value is an atom: no cell is kept for them."""
        if not self._whole:
            return ()
        return tuple(
            place
            for place, (first, last) in enumerate(self._all_bins)
            if sum(first <= atom <= last for atom in self.atoms) == last - first + 1
        )

    @property
    def _whole(self) -> bool:
        return self.column.kind is not Kind.REAL

    @property
    def _dated(self) -> bool:
        return self.column.kind in {Kind.DATE, Kind.DATETIME}

    @cached_property
    def _least(self) -> float:
        return self._unit(self._bounds[0])

    @cached_property
    def _greatest(self) -> float:
        return self._unit(self._bounds[1])

    @property
    def searched(self) -> bool:
        """Whether bins are searched: division is exact only as long as its products are."""
        unequal = self.column.edges is not None
        return unequal or (self._whole and self._span * self._cuts > LARGEST_INTEGER)

    @cached_property
    def _quarter(self) -> float:
        return self._least + self._span / self._cuts / 4

    @cached_property
    def _span(self) -> float:
        return self._greatest - self._least + (1 if self._whole else 0)

    @cached_property
    def _cuts(self) -> int:
        """How many bins of equal width; whole-number bins are at least one number wide."""
        few = int(self._span) if self._whole and self._span <= MOST_UNIT_BINS else DEFAULT_BINS
        if self.column.step is not None and not self._dated:
            few = fewer_cuts(few, self.column.step, (self._least, self._greatest), self._span)
        cuts = self.column.bins or few
        return int(min(cuts, self._span)) if self._whole else cuts

    @property
    def _bounds(self) -> tuple[Number, Number]:
        if self.column.bounds is None:
            self._refuse("its bounds are not declared")
        return self.column.bounds

    def _unit(self, value: Number) -> float:
        """The value as the number that cells are made of."""
        if isinstance(value, dt.datetime):
            return (value - _EPOCH).total_seconds()
        if isinstance(value, dt.date):
            return float(value.toordinal() - _EPOCH.toordinal())
        return float(value)

    def _shown(self, number: float) -> str:
        if self.column.kind is Kind.DATE:
            return str(_EPOCH.date() + dt.timedelta(days=number))
        if self.column.kind is Kind.DATETIME:
            return str(_EPOCH + dt.timedelta(seconds=number))
        return f"{number:g}" if not self._whole else str(int(number))

    def _refuse(self, why: str) -> NoReturn:
        msg = f"Column {self.column.name!r}: {why}."
        raise SchemaError(msg)
