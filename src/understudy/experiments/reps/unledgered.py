"""A stand-in for a ledger, outside all accounting: exact counts and plain noise.

For what is no release and cannot be one: weights that are no public function of a record, and the
line without noise. A recipe asks it as it asks a ledger.
"""

import copy
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain
from understudy.encode import Encoding
from understudy.privacy.answers import Measurement, NoisySum
from understudy.privacy.events import Gaussian
from understudy.privacy.merging import Merging
from understudy.privacy.row_maps import Codes, RowMap, in_parts
from understudy.privacy.weights import UNIT
from understudy.schema import Schema


class Unledgered:
    """Rows with weights, asked with the noise that a ledger would add for the same ρ."""

    most_cells = 2**24

    def __init__(
        self,
        encoding: Encoding,
        codes: Codes,
        weights: NDArray[np.int64],
        rho: Fraction,
        rng: np.random.Generator,
    ) -> None:
        self.encoding = encoding
        self._codes = codes
        self._weights = weights.astype(np.float64)
        self._rest = [rho]  # shared with views
        self._merging = Merging(())
        self._rng = rng

    @property
    def domain(self) -> Domain:
        """The number of codes of each column."""
        return self._merging.domain(self.encoding.domain)

    @property
    def schema(self) -> Schema:
        """Public facts."""
        return self.encoding.schema

    def rest(self) -> Fraction:
        """What is left of ρ."""
        return self._rest[0]

    def merged(self, groups: Mapping[str, Sequence[int]]) -> "Unledgered":
        """The same rows and ρ, where some codes are counted together."""
        view = copy.copy(self)
        vars(view)["_merging"] = Merging.of(groups)
        return view

    def measure_event(self, cliques: Sequence[Clique], *, rho: Fraction) -> Gaussian:
        """What a ledger would charge."""
        return Gaussian(math.sqrt(len(cliques) / (2 * rho)), Fraction(len(cliques)))

    def measure(self, cliques: Sequence[Clique], *, rho: Fraction) -> tuple[Measurement, ...]:
        """Noisy marginals."""
        self._rest[0] -= rho
        scale = self.measure_event(cliques, rho=rho).scale
        found = []
        for clique in cliques:
            shape = self.encoding.domain.shape(clique)
            cells = np.ravel_multi_index(
                [self._codes[name].astype(np.intp) for name in clique], shape
            )
            counts = np.bincount(cells, self._weights / UNIT, minlength=math.prod(shape))
            counts = self._merging.counts(clique, counts.reshape(shape))
            noisy = counts + self._rng.normal(0, scale, counts.shape)
            found.append(Measurement(clique, noisy, scale))
        return tuple(found)

    def sum(self, row_map: RowMap, *, rho: Fraction) -> NoisySum:
        """A noisy sum of a row map."""
        self._rest[0] -= rho
        scale = math.sqrt(row_map.sensitivity.one / (2 * rho)) / row_map.unit_length
        parts = in_parts(self._codes, self._weights)
        total = sum(row_map.total(*part).astype(np.float64) for part in parts)
        values = total / (row_map.unit_length * UNIT)
        return NoisySum(row_map, values + self._rng.normal(0, scale, row_map.width), scale)
