"""Noisy answers: numbers that carry their scale. They are built where the noise is drawn."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.domain import Clique
from understudy.privacy.row_maps import RowMap


@dataclass(frozen=True, eq=False)
class Measurement:
    """A noisy marginal: its axes in the clique's order, in (weighted) counts."""

    clique: Clique
    values: NDArray[np.float64]
    scale: float | NDArray[np.float64]
    """The standard deviation of each cell's noise: one for all, or one for each."""


def measurement_to_json(measurement: Measurement) -> dict[str, Any]:
    """The measurement as plain data."""
    return {
        "clique": list(measurement.clique),
        "values": measurement.values.tolist(),
        "scale": np.asarray(measurement.scale).tolist(),
    }


def measurement_from_json(content: Mapping[str, Any]) -> Measurement:
    """The measurement that `measurement_to_json` wrote."""
    scale = content["scale"]
    return Measurement(
        tuple(content["clique"]),
        np.array(content["values"], np.float64),
        np.array(scale, np.float64) if isinstance(scale, list) else float(scale),
    )


@dataclass(frozen=True)
class MalformedRecords:
    """A noisy count of the records that cannot be read as the header says."""

    count: float
    scale: float
    """The standard deviation of its noise."""


@dataclass(frozen=True, eq=False)
class NoisySum:
    """A noisy sum of a row map, in the map's own units."""

    row_map: RowMap
    values: NDArray[np.float64]
    scale: float
    """The standard deviation of each number's noise."""


@dataclass(frozen=True, eq=False)
class NoisyScores:
    """Noisy scores of candidates, in the candidates' order."""

    values: NDArray[np.float64]
    scale: float
    """The standard deviation of each score's noise."""


@dataclass(frozen=True, eq=False)
class CommonValues:
    """Values of a column that many rows share, in their own order, and noisy counts of them."""

    column: str
    values: tuple[str | int | float, ...]
    counts: NDArray[np.float64]
    scale: float
    """The standard deviation of each count's noise."""
    threshold: int
    """The noisy count that a value had to reach."""

    @classmethod
    def above(
        cls, threshold: int, column: str, values: pa.Array, noisy: NDArray[np.int64], scale: float
    ) -> "CommonValues":
        """Those of the values whose noisy count reaches the threshold."""
        kept = np.flatnonzero(noisy >= threshold)
        told = sorted((values[int(k)].as_py(), float(noisy[k])) for k in kept)
        return cls(
            column,
            tuple(value for value, _ in told),
            np.array([count for _, count in told], np.float64),
            scale,
            threshold,
        )
