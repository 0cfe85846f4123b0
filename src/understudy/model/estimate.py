"""The graphical model that fits noisy marginals best: weighted least squares over distributions.

The objective is ½ Σ ((N p(cell) - value) / scale)² over all cells of all measurements. It is
convex in the distribution p, and reaches p only through its measured marginals; so everything
that is iterated has the size of the measurements, and a junction tree turns potentials on measured
cliques into marginals. Potentials live on no other cliques: what the measurements do not tie stays
independent, also where the tree had to be filled in.

The method is mirror descent with the entropy of the whole distribution, accelerated (Tseng's
scheme), with step sizes found on the way.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain
from understudy.errors import BadInput, ModelTooLarge
from understudy.model.counts import believable_total, combined, fitted
from understudy.model.factor import Factor, Table, product
from understudy.model.gather import Gathering
from understudy.model.graphical import GraphicalModel, gathered
from understudy.model.junction_tree import JunctionTree, joined_cliques
from understudy.model.marginals import Inference
from understudy.privacy.answers import Measurement
from understudy.privacy.steps_told import worked

Vector = NDArray[np.float64]

MODEL_BYTES = 2**25
"""The usual limit on what a fit holds at its peak: about 2²⁰ cells of the tree."""
_TREE_ARRAYS = 3
_MEASURED_ARRAYS = 16
TREE_BYTES = 8 * _TREE_ARRAYS
"""Of each cell of the tree."""
MEASURED_BYTES = 8 * _MEASURED_ARRAYS
"""Of each cell of a marginal that lies within the tree."""
BYTES_PER_CELL = TREE_BYTES + MEASURED_BYTES
"""Of each cell of a marginal that is a clique of the tree itself."""
_CHECKED_EVERY = 20
_BEHIND = 10
"""How many times that gain the point with potentials may lie behind the average."""
_NOTHING = 1e-3
"""A loss of half a squared standard deviation counts ½; what is below this is a perfect fit."""
_FLOOR = 0.05
"""In standard deviations: what a cell has at least where a fit begins, for 0 is never left."""
_TINY = 1e-300
_STEEPEST = 1e300
_TO_BEGIN, _PER_CELL = 2.0, 1e-4
"""Milliseconds that a pass over a model takes, about: the rhythm in which progress is told."""
_LAST_DIGITS = 1e-13
"""Of a logarithm: what rounding may add to a difference of two."""


@dataclass(frozen=True)
class Stopping:
    """When a fit is good enough."""

    relative: float = 5e-4
    """The part of the loss that twenty iterations must still gain."""
    iterations: int = 5000

    def __post_init__(self) -> None:
        if not (0 <= self.relative < 1 and self.iterations >= 1):
            msg = "A fit stops at a relative gain from 0 to 1, after at least one iteration."
            raise BadInput(msg)


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model, and how the loss went down."""

    model: GraphicalModel
    loss: float
    trace: tuple[tuple[int, float], ...]
    """Iterations, and the loss after so many."""
    converged: bool
    """Whether it stopped because nothing more was gained."""


def estimate(  # noqa: PLR0913 - the last six by name
    domain: Domain,
    measurements: Sequence[Measurement],
    *,
    total: float | None = None,
    zeros: Iterable[Factor] = (),
    start: GraphicalModel | None = None,
    stop: Stopping = Stopping(),  # noqa: B008 - frozen
    most_bytes: int = MODEL_BYTES,
) -> Fit:
    """The model that fits measurements best.

    Without `total`, the number of rows is what the measurements say, each trusted by its noise,
    and at least 1. `zeros` are combinations that no row may have. A fit may `start` from an
    earlier model, also one of fewer cliques. Refused where it would hold more than `most_bytes`.
    """
    zeros = tuple(zeros)
    for factor in zeros:
        factor.check(domain)
    rows = believable_total(measurements) if total is None else total
    if not 0 < rows < np.inf:
        msg = f"The number of rows is {total}; it must be above 0."
        raise BadInput(msg)
    # Inner loops run along the last axis: they are fewer where that is a long one.
    by_size = Domain(tuple(sorted(domain, key=lambda attribute: attribute.size)))
    told = _by_clique(by_size, measurements)
    check_bytes(domain, [*told, *(factor.clique for factor in zeros)], most_bytes)
    marginals = _Marginals(by_size, tuple(told), zeros)
    wanted = np.concatenate([np.empty(0), *(values.ravel() / rows for values, _ in told.values())])
    weight = np.concatenate([np.empty(0), *(rows**2 / v.ravel() for _, v in told.values())])
    known = () if start is None else start.factors
    targets = {clique: _target(values, v, rows) for clique, (values, v) in told.items()}
    potentials = marginals.begun(targets, known)
    iterates = _descent(marginals, wanted, weight, potentials)
    best, trace, converged = _followed(iterates, stop)
    factors = (*zeros, *marginals.factors(best.potentials))
    model = GraphicalModel(domain, rows, factors, tuple(measurements))
    return Fit(model, best.loss, trace, converged)


def needed_bytes(domain: Domain, cliques: Iterable[Clique]) -> int:
    """What a fit to these marginals holds at its peak, about; nothing is allocated."""
    asked = {frozenset(clique): clique for clique in cliques if clique}.values()
    measured = sum(domain.size(clique) for clique in asked)
    cells = sum(domain.size(clique) for clique in joined_cliques(domain, asked))
    return TREE_BYTES * cells + MEASURED_BYTES * measured


def check_bytes(domain: Domain, cliques: Iterable[Clique], most_bytes: int) -> None:
    """Refuse a model that would not fit, and say which columns are to blame."""
    asked = list(cliques)
    needed = needed_bytes(domain, asked)
    if needed > most_bytes:
        largest = max(JunctionTree.of(domain, asked).cliques, key=domain.size)
        raise ModelTooLarge(largest, [c for c in asked if {*c} <= {*largest}], needed, most_bytes)


def _by_clique(
    domain: Domain, measurements: Iterable[Measurement]
) -> dict[Clique, tuple[Table, Table]]:
    """Values and variances by clique, in the domain's order; a total alone says nothing here."""
    told: dict[Clique, list[Measurement]] = {}
    for one in measurements:
        clique = domain.canonical(one.clique)
        order = [one.clique.index(name) for name in clique]
        values = np.asarray(one.values, np.float64)
        if values.shape != domain.shape(one.clique):
            msg = f"The measurement of ({', '.join(one.clique)}) does not fit its columns' sizes."
            raise BadInput(msg)
        scale = np.broadcast_to(one.scale, values.shape).transpose(order)
        if clique:
            told.setdefault(clique, []).append(Measurement(clique, values.transpose(order), scale))
    return {clique: combined(ones) for clique, ones in told.items()}


class _Marginals:
    """Measured marginals as one long vector, as a function of potentials on the same cells."""

    def __init__(
        self, domain: Domain, cliques: tuple[Clique, ...], zeros: Sequence[Factor]
    ) -> None:
        self.domain, self.cliques = domain, cliques
        self.tree = JunctionTree.of(domain, [*cliques, *(factor.clique for factor in zeros)])
        self._inference = Inference(self.tree)
        cells = sum(domain.size(clique) for clique in self.tree.cliques)
        self._work = _TO_BEGIN + _PER_CELL * cells
        self._shapes = [domain.shape(clique) for clique in cliques]
        ends = np.cumsum([domain.size(clique) for clique in cliques], dtype=np.intp)
        starts = [0, *ends]
        self._slices = [slice(a, b) for a, b in zip(starts, ends, strict=False)]
        self._size = int(ends[-1]) if len(ends) else 0
        homes = [self.tree.home_of(clique) for clique in cliques]
        zeros_at = gathered(self.tree, zeros)
        self._places = []
        for place, held in enumerate(self.tree.cliques):
            members = [k for k, home in enumerate(homes) if home == place]
            gathering = Gathering(domain, held, [cliques[k] for k in members])
            base = zeros_at[place] if zeros_at[place].any() else None
            self._places.append((members, gathering, base))

    def begun(self, targets: Mapping[Clique, Table], factors: Sequence[Factor]) -> Vector:
        """Potentials to begin with: an earlier model's, and a round of proportional fitting.

        The round is for cliques that the earlier model did not have, wide ones before narrow ones,
        which are more exact. So a fit begins about as far from its end as the noise is large, and
        takes no longer where a table has more rows.
        """
        potentials = self._taken_over(factors)
        before = [{*factor.clique} for factor in factors]
        new = [
            k
            for k, clique in enumerate(self.cliques)
            if not any({*clique} <= names for names in before)
        ]
        for k in sorted(new, key=lambda k: -self.domain.size(self.cliques[k])):
            part, target = self._slices[k], targets[self.cliques[k]].ravel()
            now = self(potentials)[0][part]
            there = now > 0  # what is impossible stays so
            potentials[part][there] += np.log(target[there] / now[there])
        return potentials

    def _taken_over(self, factors: Iterable[Factor]) -> Vector:
        """An earlier model's potentials on these cliques; what is impossible stays aside."""
        found = np.zeros(self._size)
        for factor in factors:
            clique = self.domain.canonical(factor.clique)
            homes = [k for k, c in enumerate(self.cliques) if {*clique} <= {*c}]
            if homes and np.all(np.isfinite(factor.log)):
                k = min(homes, key=lambda k: self.domain.size(self.cliques[k]))
                table = found[self._slices[k]].reshape(self.domain.shape(self.cliques[k]))
                table += factor.over(self.domain, self.cliques[k])
        return found

    def factors(self, potentials: Vector) -> Iterator[Factor]:
        """Potentials as factors; those of a clique within another one are added to that."""
        widest = [c for c in self.cliques if not any({*c} < {*other} for other in self.cliques)]
        parts: dict[Clique, list[Factor]] = {clique: [] for clique in widest}
        for clique, part in zip(self.cliques, self._slices, strict=True):
            home = next(c for c in widest if {*clique} <= {*c})
            shape = self.domain.shape(clique)
            parts[home].append(Factor(clique, potentials[part].reshape(shape)))
        for clique, factors in parts.items():
            log = product(self.domain, clique, factors)
            yield Factor(clique, log - log.max())

    def __call__(self, potentials: Vector) -> tuple[Vector, float]:
        """The marginals, and the logarithm of the sum over all cells."""
        worked("Passes over models being fitted", 1, self._work)
        tree_potentials = []
        for members, gathering, base in self._places:
            parts = [potentials[self._slices[k]].reshape(self._shapes[k]) for k in members]
            table = gathering.added(parts)
            tree_potentials.append(table if base is None else np.add(table, base, out=table))
        beliefs = self._inference.beliefs(tree_potentials)
        found = np.empty(self._size)
        for (members, gathering, _), table in zip(self._places, beliefs.tables, strict=True):
            for k, part in zip(members, gathering.summed(table), strict=True):
                found[self._slices[k]] = part.ravel()
        return found, beliefs.log_total


@dataclass(frozen=True, eq=False)
class _Point:
    """Potentials, the loss of the marginals they make, and that of the running average."""

    potentials: Vector
    loss: float
    average: float


def _descent(
    marginals: _Marginals, wanted: Vector, weight: Vector, potentials: Vector
) -> Iterator[_Point]:
    """Points of ever smaller loss, without end.

    Gradients are taken between a running average of marginals and the latest ones; the average
    has the smaller loss, the latest ones have potentials, and both end at the same place.
    """

    def loss(point: Vector) -> float:
        return 0.5 * _dot(weight, np.square(point - wanted))

    latest, log_total = marginals(potentials)
    average, paid = latest, 0.0
    curvature = float(weight.max(initial=_TINY))
    reached_loss = loss(average)
    best = _Point(potentials, reached_loss, reached_loss)
    yield best
    while True:
        while True:
            step = (1 + sqrt(1 + 4 * curvature * paid)) / (2 * curvature)
            share = step / (paid + step)
            slope = weight * (average + share * (latest - average) - wanted)
            moved = potentials - step * slope
            reached, new_total = marginals(moved)
            # The loss bends less than the entropy does: then so long a step is safe.
            bend = 0.5 * share * step * _dot(weight, np.square(reached - latest))
            apart = _dot(moved - potentials, reached) - (new_total - log_total)
            if bend <= apart + _LAST_DIGITS * (1 + abs(new_total)) or curvature > _STEEPEST:
                break
            curvature *= 2
        potentials, latest, log_total = moved, reached, new_total
        average = average + share * (latest - average)
        paid += step
        curvature *= 0.9
        before, reached_loss = reached_loss, loss(average)
        point = _Point(potentials, loss(latest), reached_loss)
        best = min(best, point, key=lambda one: one.loss)
        if reached_loss > before:
            # It swung beyond the best place: begin again there, without what drove it on.
            potentials, paid, reached_loss = best.potentials, 0.0, best.loss
            latest, log_total = marginals(potentials)
            average = latest
        yield point


def _followed(
    points: Iterator[_Point], stop: Stopping
) -> tuple[_Point, tuple[tuple[int, float], ...], bool]:
    """The best point on the way, the way, and whether it came to its end."""
    best = next(points)
    lowest = best.loss
    trace = [(0, lowest)]
    for done, point in enumerate(points, 1):
        best = min(best, point, key=lambda one: one.loss)
        lowest = min(lowest, point.average, point.loss)
        if done % _CHECKED_EVERY == 0 or done == stop.iterations:
            # Over half of the way: losses swing, the slower the longer it goes on.
            then, before = next(step for step in reversed(trace) if step[0] <= done / 2)
            trace.append((done, lowest))
            much = stop.relative * max(lowest, _NOTHING)
            even = before - lowest <= much * (done - then) / _CHECKED_EVERY
            if even and best.loss - lowest <= _BEHIND * much and done > _CHECKED_EVERY:
                return best, tuple(trace), True
        if done == stop.iterations:
            break
    return best, tuple(trace), False


def _target(values: Table, variance: Table, rows: float) -> Table:
    """Noisy counts as shares that can be reached: none below a part of its noise, and none 0."""
    counts = fitted(values.ravel(), variance.ravel(), rows)
    shares = np.maximum(counts, _FLOOR * np.sqrt(np.minimum(variance.ravel(), rows**2)))
    return np.asarray(shares / shares.sum()).reshape(values.shape)


def _dot(one: Vector, other: Vector) -> float:
    # Not by BLAS, whose threads wait for each other longer than this takes.
    return float(np.einsum("i,i->", one, other))
