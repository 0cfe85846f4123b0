"""Marginals chosen for a target, then for what is still wrong: the joint model of `tailored`.

Single columns come first; then the target with up to eight others that tell most about it; then a
forest that ties all columns but the target; then the pairs, and the triples with the target, that a
model of all this gets most wrong. Without a target, the other steps share its part. What is not
allowed beside the rest, or has no room, is never measured.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from understudy.allocate import Allocation, measured
from understudy.domain import Clique
from understudy.errors import BadInput
from understudy.knowledge import Allowed, anything
from understudy.mechanisms.api import Model
from understudy.mechanisms.parameters import check_whole
from understudy.model.estimate import MODEL_BYTES, Stopping, check_bytes
from understudy.model.merged import MergedModel
from understudy.model.product import ProductModel
from understudy.privacy.answers import Measurement
from understudy.privacy.ledger import Ledger
from understudy.select.adaptive import MEAN_NOISE, misfits
from understudy.select.features import FeatureSearch, by_association
from understudy.select.interactions import useful_cells
from understudy.select.rare import Columns, from_independent
from understudy.select.room import Room
from understudy.select.tree import private_forest

_SINGLE = Fraction(1, 5)
"""Of the budget: each column by itself."""
_FOREST = Fraction(1, 2)
"""Of what single columns and the task leave; the rest is for what is still wrong."""
_FEATURES, _FINDING = 8, Fraction(1, 5)
"""So many columns are tied to the target, and what choosing them takes of the task's part."""
_CHOOSING = Fraction(1, 4)
"""Of what a forest costs, and of what is still wrong: choosing."""
_WRONG_PER_COLUMN = 0.7
"""So many marginals are chosen for being wrong."""
_USEFUL = 1.0
"""Mean counts of these must be so many times their noise, or they are not candidates."""
_RARITY = 3.0
"""Codes below so many standard deviations of noise are merged."""
_TARGET_WEIGHT = 2.0
"""What is wrong about the target counts so many times."""
_MOST_CANDIDATES = 2000
"""Of pairs, and of triples: more are not looked at once more, for it would take long."""
_BEFORE = Stopping(relative=5e-3, iterations=60)
"""A model that is only asked what it gets wrong need not be the best one."""
_LAST = Stopping(relative=1e-3, iterations=300)


@dataclass(frozen=True)
class TargetFirst:
    """A graphical model of pairs and triples, the target's first."""

    target: str = ""
    """The column to predict; where none is named, the table's target, if it has one."""
    task: float = 0.5
    """The part of the budget that the target's pairs get."""
    model_bytes: int = MODEL_BYTES
    """What the fitted model may hold in memory at its peak."""

    def __post_init__(self) -> None:
        check_whole("model_bytes", self.model_bytes, least=1)
        if not 0 < self.task < 1 - _SINGLE:
            msg = f"task is {self.task}; it is a part of the budget, above 0 and below 0.8."
            raise BadInput(msg)

    def fit(
        self, ledger: Ledger, known: Sequence[Measurement] = (), allowed: Allowed = anything
    ) -> Model:
        """A model of the ledger's table."""
        domain, whole = ledger.domain, ledger.rest()
        target = self.target or ledger.schema.target
        ones = [(name,) for name in domain.names]
        check_bytes(domain, ones, self.model_bytes)
        if len(ones) == 1:
            return ProductModel.of(domain, [*known, *_bought(ledger, ones, whole)])
        # MEASURE: single columns
        alone = [*known, *_bought(ledger, ones, whole * _SINGLE)]
        columns = Columns.of(domain, alone, rarity=_RARITY, hidden=ledger.encoding.hidden)
        room = Room(ledger, ledger.merged(columns.groups), columns, allowed, self.model_bytes)
        if target not in room.varied:  # with one code there is nothing to predict
            target = None
        # SELECT and MEASURE: pairs with the target
        task, before = whole * Fraction(self.task), ledger.rest()
        pairs = _target_pairs(room, target, task)
        rest = _bought(room.merged, pairs, task - (before - ledger.rest()))
        # SELECT and MEASURE: a forest of the other columns
        share = ledger.rest() * _FOREST
        forest = _forest(room, target, pairs, share)
        rest += _bought(room.merged, forest, share * (1 - _CHOOSING))
        if not rest:  # no pair is allowed, or none has room
            return ProductModel.of(domain, [*alone, *_bought(ledger, ones, ledger.rest())])
        # SELECT and MEASURE: what a model of that gets most wrong, for all that is left
        known_by_now = [*columns.measurements, *rest]
        wrong = _still_wrong(room, target, known_by_now, ledger.rest())
        rest += _bought(room.merged, wrong or [one.clique for one in rest], ledger.rest())
        # FIT
        fitted = room.fitted([*columns.measurements, *rest], _LAST)
        shares = {name: columns.shares(name) for name in columns.groups}
        return MergedModel(fitted, shares, (*alone, *rest))


def _bought(ledger: Ledger, cliques: Sequence[Clique], rho: Fraction) -> list[Measurement]:
    return measured(ledger, cliques, rho=rho, allocation=Allocation.OPTIMAL) if cliques else []


def _target_pairs(room: Room, target: str | None, rho: Fraction) -> list[Clique]:
    """The target with what tells most about it; for ρ, where that has to be chosen."""
    if not target:
        return []
    ledger, canonical = room.ledger, room.merged.domain.canonical

    def fitting(names: Sequence[str], chosen: Sequence[str]) -> list[str]:
        wanted = {canonical((name, target)): name for name in names}
        taken = [canonical((name, target)) for name in chosen]
        return [wanted[pair] for pair in room.fitting(wanted, taken)]

    others = fitting([name for name in ledger.domain.names if name != target], ())
    search = FeatureSearch(
        ledger,
        room.merged,
        room.columns,
        target,
        tuple(others),
        scale=ledger.measure_event([()] * _FEATURES, rho=rho * (1 - _FINDING)).scale,
        rho=rho * _FINDING,
        fitting=fitting,
    )
    if len(others) > _FEATURES:
        found = by_association(search, _FEATURES, each=search.rho / _FEATURES)
    else:
        found = []
        for name in others:
            found += fitting([name], found)
    return [search.pair(name) for name in found]


def _forest(room: Room, target: str | None, pairs: Sequence[Clique], rho: Fraction) -> list[Clique]:
    """Pairs that are far from independent, and tie columns that nothing but the target ties."""
    merged, size = room.merged, room.merged.domain.size
    names = [name for name in room.varied if not (pairs and name == target)]
    if len(names) <= 1:
        return []
    scale = merged.measure_event([()], rho=rho * (1 - _CHOOSING) / (len(names) - 1)).scale
    edges = [
        from_independent(room.columns, pair, offset=-MEAN_NOISE * scale * size(pair))
        for pair in room.fitting(combinations(names, 2), pairs)
    ]
    # Where both columns are tied to the target, the model has a table of all three.
    wider = size((target,)) if pairs and target else 1
    forest = private_forest(
        merged,
        edges,
        rho=rho * _CHOOSING,
        allowed=lambda chosen: room.allowed([*pairs, *chosen]),
        most_cells=room.cells_left(pairs) / wider,
    )
    if room.holds([*pairs, *forest]):
        return forest
    # Or, where the target has many codes, one of more: what has no room beside the others is lost.
    kept: list[Clique] = []
    for pair in forest:
        kept += [pair] if room.holds([*pairs, *kept, pair]) else []
    return kept


def _still_wrong(
    room: Room, target: str | None, known: Sequence[Measurement], rho: Fraction
) -> list[Clique]:
    """Marginals that a model of what is known gets most wrong, beyond what noise would add.

    A draw of what has no room beside the others is lost: to look for room for every candidate each
    time would take longer than all the rest.
    """
    merged, begun = room.merged, [one.clique for one in known]
    number = max(round(_WRONG_PER_COLUMN * len(room.varied)), 1)
    paid = rho * (1 - _CHOOSING)
    most = useful_cells(merged, room.columns.total, paid / number, _USEFUL)
    candidates = _candidates(room, target, begun, most)
    if not candidates:
        return []
    scale = merged.measure_event([()], rho=paid / number).scale
    left = misfits(room.fitted(known, _BEFORE), candidates, scale)
    chosen: list[Clique] = []
    for _ in range(number):
        left = [one for one in left if room.allowed([*begun, *chosen, one.clique])]
        if not left:
            break
        drawn = left.pop(merged.select(left, rho=(rho - paid) / number)).clique
        if room.fits(drawn, [*begun, *chosen]):
            chosen.append(drawn)
    return chosen


def _candidates(
    room: Room, target: str | None, begun: Sequence[Clique], most_cells: float
) -> dict[Clique, float]:
    """Pairs, and triples with the target, that are not measured; with how much errors count."""
    domain, whole = room.merged.domain, room.ledger
    pairs: list[Clique] = list(combinations(room.varied, 2))
    triples: list[Clique] = []
    if target:
        tied = [n for n in domain.names if n != target and domain.canonical((n, target)) in begun]
        triples = [domain.canonical((*pair, target)) for pair in combinations(tied, 2)]
    possible = pairs if len(pairs) <= _MOST_CANDIDATES else []
    possible += triples if len(triples) <= _MOST_CANDIDATES else []
    return {
        clique: _TARGET_WEIGHT if target in clique else 1.0
        for clique in possible
        if clique not in begun
        and domain.size(clique) <= most_cells
        # Codes that are counted together are counted one by one first.
        and whole.domain.size(clique) <= whole.most_cells
    }
