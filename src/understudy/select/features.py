"""Columns that tell about a target, chosen with noise."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.column import Kind
from understudy.domain import Clique
from understudy.privacy.ledger import Ledger
from understudy.privacy.scores import L1Distance
from understudy.privacy.train import Loss, Training
from understudy.select.adaptive import MEAN_NOISE
from understudy.select.rare import Columns, from_independent

_STEPS = 30
_LEARNING_RATE = 4.0
_MOMENTUM = 0.5
_NUMBERS = {Kind.INTEGER, Kind.REAL, Kind.DATE, Kind.DATETIME}


@dataclass(frozen=True, eq=False)
class FeatureSearch:
    """What a choice of features may use: two ways to ask, and what single columns told."""

    ledger: Ledger
    merged: Ledger
    """The same, rare codes counted together."""
    columns: Columns
    target: str
    candidates: tuple[str, ...]
    scale: float
    """The noise that a pair would be measured with, about."""
    rho: Fraction
    """What the choice may cost."""
    fitting: Callable[[Sequence[str], Sequence[str]], Sequence[str]] = lambda names, _: names
    """Which candidates can be measured with the target besides those chosen before."""

    def left(self, chosen: Sequence[str]) -> Sequence[str]:
        """Candidates that can still be chosen."""
        return self.fitting([name for name in self.candidates if name not in chosen], chosen)

    def pair(self, name: str) -> Clique:
        """A candidate and the target, in the table's order."""
        return self.ledger.domain.canonical((name, self.target))

    def association(self, name: str) -> L1Distance:
        """How far a candidate and the target are from independent, beyond what noise adds."""
        pair = self.pair(name)
        noise = MEAN_NOISE * self.scale * self.merged.domain.size(pair)
        return from_independent(self.columns, pair, offset=-noise)


def by_association(search: FeatureSearch, count: int, *, each: Fraction) -> list[str]:
    """So many candidates, drawn one after the other by how far they are from independent."""
    scores = {name: search.association(name) for name in search.candidates}
    chosen: list[str] = []
    while len(chosen) < count and (left := search.left(chosen)):
        chosen.append(left[search.merged.select([scores[name] for name in left], rho=each)])
    return chosen


def by_coefficients(search: FeatureSearch, count: int) -> list[str]:
    """The candidates that a noisy linear fit uses most."""
    names, columns = search.candidates, search.columns
    counts = {name: columns.merged_counts(name) for name in names}
    groups = {name: columns.groups.get(name, range(len(counts[name]))) for name in names}
    inputs = {
        name: np.eye(len(counts[name]))[list(groups[name])] / np.sqrt(len(names)) for name in names
    }
    loss, target = _target(search)
    fitted = search.ledger.train(
        Training(
            inputs,
            search.target,
            target,
            rows=columns.total,
            loss=loss,
            steps=_STEPS,
            learning_rate=_LEARNING_RATE * len(names),
            momentum=_MOMENTUM,
        ),
        rho=search.rho,
    )
    (layer,) = fitted.layers
    ends = np.cumsum([len(counts[name]) for name in names])
    parts = np.split(layer[:-1], ends[:-1])
    use = [_spread(part, counts[name]) for name, part in zip(names, parts, strict=True)]
    chosen: list[str] = []
    for place in np.argsort(use, kind="stable")[::-1]:
        if len(chosen) < count and names[place] in search.left(chosen):
            chosen.append(names[place])
    return chosen


def _target(search: FeatureSearch) -> tuple[Loss, NDArray[np.float64]]:
    """Classes as they are; of a number its place among all, for bins come in order."""
    counts = search.columns.counts[search.target]
    places = np.arange(len(counts), dtype=np.float64)
    if search.ledger.schema[search.target].kind not in _NUMBERS:
        return Loss.LOGISTIC, places
    missing = search.ledger.encoding.cells[search.target].missing
    known = np.where(np.arange(len(counts)) == missing, 0.0, counts)
    rows = max(float(known.sum()), 1.0)
    mean = places @ known / rows
    spread = np.sqrt(np.square(places - mean) @ known / rows)
    scaled = (places - mean) / max(float(spread), 1e-9)
    if missing is not None and len(counts) > 1:
        scaled[missing] = np.nan  # such rows are left out
    return Loss.SQUARED, scaled


def _spread(coefficients: NDArray[np.float64], counts: NDArray[np.float64]) -> float:
    """How much a column moves the prediction, over its rows."""
    shares = counts / counts.sum()
    return float(np.sqrt((shares @ np.square(coefficients - shares @ coefficients)).sum()))
