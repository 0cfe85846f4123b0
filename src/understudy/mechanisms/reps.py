"""Each column given the target, numbers by moments: REPS, after Asiaee, Yan, Abrams and Malin.

The paper's whole method is this recipe on a ledger in which rare rows count less
(`protect_outliers`); without weights it is the paper's "uniform". Scores and thresholds are made
from noisy counts, where the paper takes percentiles of the rows: docs/proofs/weights.md.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique
from understudy.encode.numbers import NumberCells
from understudy.errors import BadInput, UnknownColumn, listed
from understudy.knowledge import Allowed, anything
from understudy.mechanisms.parameters import check_whole
from understudy.model.bayes_net import BayesNet, Family
from understudy.model.class_gaussians import Bins, class_laws
from understudy.model.estimate import MODEL_BYTES, check_bytes, estimate, needed_bytes
from understudy.model.graphical import GraphicalModel
from understudy.model.sample import Step
from understudy.privacy.answers import Measurement
from understudy.privacy.ledger import Ledger
from understudy.privacy.row_maps import ClippedMoments

_MOMENTS = 2
"""Mean and variance: a column with few codes more than that is counted as cheaply."""
_MOST_NOISE = 1000.0
"""In rows: sums take no more noise than this, for their fine steps would leave 64 bits."""
_HIDDEN = Fraction(1, 20)
"""Of the budget: for counts of hidden codes, which have no number and are no part of a mean."""
_CLEAR = 3.0
"""In standard deviations of noise: so many rows with a hidden code stand out."""


class Backend(StrEnum):
    """What is fitted to the answers."""

    NAIVE_BAYES = "naive-bayes"
    """As in the paper: a normal law of each number, and counts of the others, in each class."""
    GRAPHICAL = "graphical"
    """Counts of all pairs with the target, and the graphical model that fits them best."""


@dataclass(frozen=True)
class Reps:
    """Label counts, pairs with the target, and moments of numbers by class.

    Rows with a hidden code, which have no number, are counted with a twentieth of the budget where
    columns have moments. All other answers have the same noise: the target's counts get one part,
    every counted column one, and every column with moments two, for it has two of them.

    Moments tell a column of bins alone. A missing value or an atom is no number on a normal law's
    axis, so a column that has any is counted, with all its codes; so is one of three codes or
    fewer, which moments cannot tell with less; and so are all where noise exceeds a thousand rows.
    """

    backend: Backend = Backend.NAIVE_BAYES
    model_bytes: int = MODEL_BYTES
    """What a graphical model may hold in memory at its peak."""

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "backend", Backend(self.backend))
        except ValueError:
            msg = f"There is no back-end {self.backend!r}. Known: {listed(Backend)}."
            raise BadInput(msg) from None
        check_whole("model_bytes", self.model_bytes, least=1)

    name: ClassVar[str] = "reps"
    about: ClassVar[str] = "each column given the target, numbers by mean and variance"
    guarantee: ClassVar[str] = "(ε, δ)-differential privacy"
    needs: ClassVar[str] = "a target"

    def check(self, names: Sequence[str], target: str | None) -> None:
        """Refuse a table without a column to predict."""
        if not target:
            msg = "reps tells columns given a target: name it with --target, or as target=."
            raise BadInput(msg)
        if target not in names:
            raise UnknownColumn(target, names)

    def fit(
        self, ledger: Ledger, known: Sequence[Measurement] = (), allowed: Allowed = anything
    ) -> BayesNet | GraphicalModel:
        """A model of the ledger's table."""
        target = ledger.schema.target
        self.check(ledger.domain.names, target)
        assert target is not None  # noqa: S101 - checked above
        if self.backend is Backend.GRAPHICAL:
            return _graphical(ledger, target, known, allowed, self.model_bytes)
        return _naive_bayes(ledger, target, known, allowed)


def _graphical(
    ledger: Ledger,
    target: str,
    known: Sequence[Measurement],
    allowed: Allowed,
    most_bytes: int,
) -> GraphicalModel:
    domain = ledger.domain
    ones = [(name,) for name in domain.names]
    check_bytes(domain, ones, most_bytes)
    # MEASURE: the target, pairs with it, and the rest alone
    pairs: list[Clique] = []
    for pair in _pairs(ledger, target, domain.names, allowed).values():
        if needed_bytes(domain, [*ones, *pairs, pair]) <= most_bytes:
            pairs.append(pair)
    paired = {name for pair in pairs for name in pair} - {target}
    alone = [one for one in ones if one[0] not in paired]
    measured = ledger.measure([*alone, *pairs], rho=ledger.rest())
    # FIT
    return estimate(domain, [*known, *measured], most_bytes=most_bytes).model


def _naive_bayes(
    ledger: Ledger, target: str, known: Sequence[Measurement], allowed: Allowed
) -> BayesNet:
    domain = ledger.domain
    pairs = _pairs(ledger, target, domain.names, allowed)
    bins = {name: found for name in pairs if (found := _bins(ledger, name))}
    if _noise(ledger, len(domain.names) + len(bins)) > _MOST_NOISE:
        bins = {}
    # MEASURE: hidden codes of columns with moments; counts; then moments, for all that is left
    unseen = _unseen(ledger, target, list(bins))
    cliques: list[Clique] = [
        (name,) for name in domain.names if name == target or name not in pairs
    ]
    cliques += [pair for name, pair in pairs.items() if name not in bins]
    share = Fraction(len(cliques), len(cliques) + _MOMENTS * len(bins))
    told = [*known, *ledger.measure(cliques, rho=ledger.rest() * share)]
    # FIT: counted columns
    families = [
        Family(name, (target,) if name in pairs else ())
        for name in domain.names
        if name != target and name not in bins
    ]
    net = BayesNet.of(domain, [Family(target), *families], told)
    if not bins:
        return net
    # MEASURE and FIT: columns with moments
    # Rows with a hidden code add nothing to moments, are no part of a mean, and are not drawn.
    middles = {n: _padded(found.middles, domain.sizes[n]) for n, found in bins.items()}
    row_map = ClippedMoments(middles, 1.0, by=target, classes=domain.sizes[target])
    noisy = ledger.sum(row_map, rho=ledger.rest())
    sums = noisy.values.reshape(row_map.shape)
    counts = net.total * net.steps[0].shares[0]

    laws = []
    for k, (name, one) in enumerate(bins.items()):
        law = class_laws(sums[:, :, k], counts - unseen.get(name, 0.0), noisy.scale, one)
        laws.append(Step((target,), (name,), _padded(one.shares(*law), domain.sizes[name])))
    return replace(net, steps=(*net.steps, *laws))


def _unseen(ledger: Ledger, target: str, names: Sequence[str]) -> dict[str, NDArray[np.float64]]:
    """By column with a hidden code: how many rows of each class have it, where noise shows that."""
    hidden, sizes = ledger.encoding.hidden, ledger.domain.sizes
    groups = {
        name: tuple(int(code == hidden[name]) for code in range(sizes[name]))
        for name in names
        if name in hidden
    }
    if not groups:
        return {}
    merged = ledger.merged(groups)
    pairs = [merged.domain.canonical((name, target)) for name in groups]
    found = {}
    for name, one in zip(groups, merged.measure(pairs, rho=ledger.rest() * _HIDDEN), strict=True):
        rows = one.values.take(1, axis=one.clique.index(name))
        found[name] = np.where(rows > _CLEAR * one.scale, rows, 0.0)
    return found


def _pairs(
    ledger: Ledger, target: str, names: Iterable[str], allowed: Allowed
) -> dict[str, Clique]:
    """By column, its pair with the target: those that can be counted, and are allowed together."""
    found: dict[str, Clique] = {}
    for name in names:
        if name != target:
            pair = ledger.domain.canonical((name, target))
            fits = ledger.domain.size(pair) <= ledger.most_cells
            if fits and allowed([*found.values(), pair]):
                found[name] = pair
    return found


def _noise(ledger: Ledger, parts: int) -> float:
    """The noise of every answer, if the budget has so many parts: a public fact."""
    return ledger.measure_event([()] * parts, rho=ledger.rest()).scale


def _bins(ledger: Ledger, name: str) -> Bins | None:
    """The bins of a column that moments tell; None where it is counted."""
    cells = ledger.encoding.cells[name]
    if not isinstance(cells, NumberCells):
        return None
    if cells.size != len(cells.bins) + (cells.hidden is not None):
        return None
    return Bins.of(cells) if len(cells.bins) > _MOMENTS + 1 else None


def _padded(numbers: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Numbers of bins along the last axis, and 0 for the hidden code where there is one."""
    more = [(0, 0)] * (numbers.ndim - 1) + [(0, size - numbers.shape[-1])]
    return np.pad(numbers, more)
