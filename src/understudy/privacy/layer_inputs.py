"""What enters a layer of a model that is trained on codes: looked up, in whole numbers."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.privacy import whole
from understudy.privacy.row_maps import Codes
from understudy.privacy.whole import Whole

INPUT_BITS = 8
ONE_INPUT = 2.0**INPUT_BITS
"""The constant input, in whole steps."""
_MOST_PACKED = 2**12
"""Combinations of codes that are looked up together, at most."""


class Pack:
    """Columns that are looked up together, by the combination of their codes.

    What a column puts in, such as ones and zeros for its categories, is not written out for each
    row: what it adds is looked up, and its gradient summed, by code. All is in whole numbers, so
    every way gives the same.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self.shape: tuple[int, ...] = ()
        self._parts: list[tuple[slice, Whole]] = []
        self._last: tuple[Whole, Whole] | None = None

    def add(self, name: str, part: slice, table: Whole) -> None:
        """Put a column in; its inputs are this part of a row."""
        self.names.append(name)
        self.shape += (len(table),)
        self._parts.append((part, table))

    def codes(self, codes: Codes) -> NDArray[np.intp]:
        """The combination that each row has."""
        packed = codes[self.names[0]].astype(np.intp)
        for name, size in zip(self.names[1:], self.shape[1:], strict=True):
            packed = packed * size + codes[name]
        return packed

    def times(self, layer: Whole) -> Whole:
        """By combination, what the layer makes of it."""
        # Rows come in parts, and all of a step's parts ask about one layer.
        last = self._last
        if last is None or last[0] is not layer:
            last = (layer, self._summed([table @ layer[part] for part, table in self._parts]))
            self._last = last
        return last[1]

    def squared_norms(self) -> Whole:
        """By combination."""
        norms = [whole.squared_norms(table)[:, None] for _, table in self._parts]
        return self._summed(norms)[:, 0]

    def gradient(self, errors: Whole, codes: NDArray[np.intp], into: Whole) -> None:
        """Write the sum over rows of inputs times errors."""
        outputs = errors.shape[1]
        cells = codes[:, None] * outputs + np.arange(outputs)
        length = math.prod(self.shape) * outputs
        counted = np.bincount(cells.ravel(), errors.ravel(), minlength=length)
        sums = counted.astype(np.float64, copy=False).reshape(*self.shape, outputs)
        axes = range(len(self.shape))
        for place, (part, table) in enumerate(self._parts):
            into[part] = table.T @ sums.sum(axis=tuple(axis for axis in axes if axis != place))

    def _summed(self, found: list[Whole]) -> Whole:
        """By combination, the sum of what its codes have."""
        total: Whole = np.zeros((*self.shape, found[0].shape[1]))
        for place, one in enumerate(found):
            behind = (1,) * (len(self.shape) - place - 1)
            total += one.reshape(len(one), *behind, one.shape[1])
        return total.reshape(-1, found[0].shape[1])


@dataclass(frozen=True, eq=False)
class PackedInputs:
    """How the columns of a model's inputs are looked up."""

    packs: list[Pack]
    single: list[Whole]
    """Of columns of one number each, which are not packed: the number of each code."""
    names: list[str]
    """Of those columns."""
    places: list[int]
    """Where they are among the inputs; and where the constant is, last."""

    @classmethod
    def of(cls, tables: Mapping[str, Whole], rows: float) -> "PackedInputs":
        """From the inputs of each code, by column, for about so many rows at once."""
        most = min(_MOST_PACKED, rows / 2)  # else there is more to look up in than to look up
        packs, single, names, places, at = [Pack()], [], [], [], 0
        for name, table in tables.items():
            size, width = table.shape
            if width == 1:
                single.append(table[:, 0])
                names.append(name)
                places.append(at)
            else:
                if packs[-1].names and math.prod(packs[-1].shape) * size > most:
                    packs.append(Pack())
                packs[-1].add(name, slice(at, at + width), table)
            at += width
        return cls([pack for pack in packs if pack.names], single, names, [*places, at])


class LayerInputs:
    """The inputs of some rows to a layer, the constant one included, in whole steps."""

    def __init__(
        self, single: Whole, places: list[int] | slice, packs: list[tuple[Pack, NDArray[np.intp]]]
    ) -> None:
        self._single = single
        self._places = places
        self._packs = packs

    @classmethod
    def of_codes(cls, packed: PackedInputs, codes: Codes) -> "LayerInputs":
        """The rows as they enter the first layer."""
        rows = len(next(iter(codes.values())))
        columns = [
            table[codes[name]] for name, table in zip(packed.names, packed.single, strict=True)
        ]
        matrix = np.stack([*columns, np.full(rows, ONE_INPUT)], axis=1)
        packs = [(pack, pack.codes(codes)) for pack in packed.packs]
        return cls(matrix, packed.places, packs)

    @classmethod
    def of_activations(cls, activations: Whole) -> "LayerInputs":
        """The rows as they leave a hidden layer."""
        constant = np.full((len(activations), 1), ONE_INPUT)
        return cls(np.concatenate([activations, constant], axis=1), slice(None), [])

    @property
    def activations(self) -> Whole:
        """Of rows that left a hidden layer: what it put out."""
        return self._single[:, :-1]

    def times(self, layer: Whole) -> Whole:
        """What the layer makes of each row."""
        out: Whole = self._single @ layer[self._places]
        for pack, codes in self._packs:
            out += pack.times(layer)[codes]
        return out

    @cached_property
    def squared_norms(self) -> Whole:
        """The squared norm of each row."""
        norms = whole.squared_norms(self._single)
        for pack, codes in self._packs:
            norms += pack.squared_norms()[codes]
        return norms

    def gradient(self, errors: Whole, shape: tuple[int, int]) -> Whole:
        """The sum over rows of inputs times errors."""
        gradient = np.zeros(shape)
        gradient[self._places] = self._single.T @ errors
        for pack, codes in self._packs:
            pack.gradient(errors, codes, gradient)
        return gradient
