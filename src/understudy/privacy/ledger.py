"""The ledger: the only door between the rows and everything that leaves.

A mechanism hands over data (names of columns, candidates, row maps, a training run) and gets
noisy answers. Each request is checked against public facts and the budget, debited, recorded,
and only then run; a crash after the debit stays charged.
"""

import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from understudy.column import Kind, Role
from understudy.domain import Clique, Domain
from understudy.encode import Encoding
from understudy.encode.ops import Storage
from understudy.errors import BadInput, RowsAreSealed
from understudy.privacy.account import Account, Entry, Request
from understudy.privacy.answers import (
    CommonValues,
    MalformedRecords,
    Measurement,
    NoisyScores,
    NoisySum,
)
from understudy.privacy.best_of import (
    SCORE_SHARE,
    BestTrained,
    best_trained,
    check_candidates,
    told,
)
from understudy.privacy.budget import Budget, number
from understudy.privacy.caps import CAPS, Cap, CapBook, written
from understudy.privacy.certificate import Certificate
from understudy.privacy.events import (
    EVENTS,
    Event,
    Gaussian,
    Reveal,
    SampledGaussian,
)
from understudy.privacy.facts import (
    bought,
    check_bought,
    check_delta,
    check_reveals,
    check_silent,
    outline,
    revealed,
    spelled_out,
    undescribed,
)
from understudy.privacy.individual import EACH, Filter
from understudy.privacy.individual import written as bound_written
from understudy.privacy.ledger_file import (
    TABLE_ID,
    OpenRelease,
    check_table,
    open_release,
    read_ledger,
)
from understudy.privacy.limits import check_plain
from understudy.privacy.looks import Look
from understudy.privacy.merging import Merging
from understudy.privacy.model_maps import MODEL_MAPS
from understudy.privacy.noise import (
    RATE_GRID,
    OsRandom,
    RandomSource,
    all_with_gaussian_noise,
    check_choice,
    exponential_choice,
    with_gaussian_noise,
)
from understudy.privacy.prices import (
    best_of_price,
    malformed_price,
    marginals_price,
    run_rho,
    run_scales,
    scores_price,
    selection_price,
    sum_price,
    training_price,
    values_price,
)
from understudy.privacy.promise import READING
from understudy.privacy.query_records import row_map_facts, score_terms
from understudy.privacy.recompute import planned_defect
from understudy.privacy.row_maps import ROW_MAPS, Codes, RowMap, summed
from understudy.privacy.score_book import AskedScores, ScoreBook
from understudy.privacy.scores import SCORES, STEPS, Score, in_steps
from understudy.privacy.software import TRUSTED, versions
from understudy.privacy.spelling import spelled, spelled_for_people
from understudy.privacy.steps_told import StepsTold, worked, worth_telling
from understudy.privacy.table import MOST_CELLS, PrivateTable, opened, storage_of
from understudy.privacy.train import (
    TrainedModel,
    Training,
    train,
)
from understudy.privacy.unit import Person, Record, Unit
from understudy.privacy.weights import UNIT, RowWeights
from understudy.privacy.whole import Whole
from understudy.schema import Schema

PricedEvent = TypeVar("PricedEvent", bound=Event)
Describe: TypeAlias = Callable[[Schema, Callable[[Iterable[str]], Mapping[str, Storage]]], Schema]
_SCHEMA, _STORAGE, _UNIT = "schema", "storage", "unit"
_OWN = frozenset({_SCHEMA, _STORAGE, READING, _UNIT, TABLE_ID, CAPS, EACH})
"""Public inputs that the ledger lists itself: the guarantee is told by some of them."""
_MEASURED, _TO_COUNT = "Marginals that were measured", 3.0
_SCORED, _TO_SCORE = "Candidates that were scored", 0.03
"""What is told of progress, and about how many milliseconds a step takes."""


def _as_stated(
    schema: Schema, storage_of: Callable[[Iterable[str]], Mapping[str, Storage]]
) -> Schema:
    del storage_of
    return schema


@dataclass
class _Core:
    """What all parts of a ledger share."""

    table: PrivateTable | None
    stated: Schema
    """What was said before any row was asked."""
    encoding: Encoding
    storage: Mapping[str, Storage]
    reading: Mapping[str, Any]
    counts_malformed: bool
    unit: Unit
    source: RandomSource
    public: dict[str, Any]
    file: OpenRelease | None
    most_cells: int
    scored: ScoreBook
    caps: CapBook
    individual: Filter
    tell: Callable[[str], None]


class Ledger:
    """Asks the private table, within a budget, and writes down what that cost.

    Make one with `Ledger.open`.
    """

    __slots__ = ("_account", "_core", "_look")

    def __init__(self, core: _Core, account: Account, look: Look) -> None:
        self._core = core
        self._account = account
        self._look = look

    @classmethod
    def open(  # noqa: PLR0913 - each is a choice of its own, by name
        cls,
        data: Any,  # noqa: ANN401 - whatever PrivateTable reads
        schema: Schema | None,
        budget: Budget,
        *,
        unit: Unit | None = None,
        file: Path | None = None,
        table_id: str | None = None,
        source: RandomSource | None = None,
        allow_non_private: bool = False,
        accept_weak_guarantee: bool = False,
        text_encoding: str = "utf-8",
        multiline: bool = False,
        most_cells: int = MOST_CELLS,
        roles: Mapping[str, Role] | None = None,
        describe: Describe = _as_stated,
        discover: bool = False,
        check: Callable[[Schema], None] | None = None,
        caps: Sequence[Cap] = (),
        each: Budget | None = None,
        tell: Callable[[str], None] | None = None,
    ) -> "Ledger":
        """A ledger on a table: a path, a frame, an Arrow or an Ibis table.

        With `file`, what is spent counts against the total of that ledger file too; `table_id` is
        the label of the table that the file is bound to, and stands in the certificate. Facts may
        be left open only to `discover` them; without a schema all are. `roles` go before those
        of the schema. `describe` may add facts that follow from what is public: the names of
        columns, and how they are stored. `check` may refuse by public facts, before anything is
        written down. Requests that would cost a record under one of the `caps` too much are
        refused. With `each`, a record takes part only while what it has lost itself stays within
        that. A δ of one over the bound on rows, or more, is refused unless somebody accepts a weak
        guarantee. `tell` is called with how far a long request has come: by its steps, and by
        nothing that depends on rows.
        """
        unit = unit or Record()
        source = source or OsRandom()
        private = type(source) is OsRandom  # whatever another class says of itself
        if file is not None and not private:
            msg = "Seeded noise is for tests; a table's ledger file only takes real noise."
            raise BadInput(msg)
        if table_id is not None and file is None:
            msg = (
                "A table ID is checked by a ledger file. Name the file, or leave out the table ID."
            )
            raise BadInput(msg)
        if file is not None:
            check_table(read_ledger(file), table_id, file)
        person = unit if isinstance(unit, Person) else None
        rows = opened(data, schema, person, text_encoding=text_encoding, multiline=multiline)
        if schema is not None:
            schema.check_names(rows.columns)
        schema = (schema or undescribed(rows.columns)).with_roles(roles or {})
        schema = describe(schema, partial(storage_of, rows))
        schema = outline(schema, storage_of(rows, (column.name for column in schema.coded)))
        check_delta(budget, schema, accepted=accept_weak_guarantee)
        if not discover:
            check_silent(schema)
        table = PrivateTable(rows, schema, person=person, most_cells=most_cells, shapes=discover)
        check_reveals(schema, allowed=allow_non_private)
        if check is not None:
            check(schema)
        book, individual = CapBook(caps, unit), Filter(each, unit)
        for cap in caps:
            cap.where.check(table.encoding, table.storage)
        if file is not None:
            check_delta(read_ledger(file).budget, schema, accepted=accept_weak_guarantee)
        release = None if file is None else open_release(file, budget, str(unit), table_id=table_id)
        storage = table.storage
        public = {
            _SCHEMA: spelled_out(schema),
            _STORAGE: {name: kind.public for name, kind in storage.items()},
            READING: dict(rows.reading),
            _UNIT: str(unit),
            **({TABLE_ID: table_id} if table_id is not None else {}),
            **({CAPS: written(caps, schema)} if caps else {}),
            **({EACH: bound_written(each)} if each is not None else {}),
        }
        core = _Core(
            table,
            schema,
            table.encoding,
            storage,
            rows.reading,
            table.can_be_malformed and person is None,
            unit,
            source,
            public,
            release,
            most_cells,
            ScoreBook(),
            book,
            individual,
            tell or (lambda _: None),
        )
        account = Account.open(budget, file=release, allow_non_private=allow_non_private)
        for reason in revealed(schema):
            account.debit(Reveal(reason), {"door": "schema"})
        return cls(core, account, Look())

    @property
    def domain(self) -> Domain:
        """The number of codes of each column, as this ledger tells them apart."""
        return self._look.domain(self._core.encoding.domain)

    @property
    def encoding(self) -> Encoding:
        """How values become codes and come back."""
        return self._core.encoding

    @property
    def schema(self) -> Schema:
        """The facts that codes are made from: public ones, and those bought since."""
        facts, left_out = self._core.encoding.schema, self._look.left_out
        return facts.with_roles(dict.fromkeys(left_out, Role.DROP)) if left_out else facts

    @property
    def storage(self) -> Mapping[str, Storage]:
        """How the table stores each column; `Storage.public` of it is a public fact."""
        return self._core.storage

    @property
    def unit(self) -> Unit:
        """Whose privacy is protected."""
        return self._core.unit

    @property
    def most_cells(self) -> int:
        """The largest marginal that may be asked for, before codes are merged."""
        return self._core.most_cells

    @property
    def budget(self) -> Budget:
        """What was promised for the whole release."""
        return self._account.budget

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What was asked so far, and what it cost."""
        return self._account.entries

    def rest(self) -> Fraction:
        """What can still be spent, as ρ."""
        return self._account.rest

    def rest_delta(self) -> Fraction:
        """What values told by a threshold can still use up of δ."""
        return self._account.rest_delta

    def recode(self, schema: Schema, *, shapes: bool = False, strays: Sequence[str] = ()) -> None:
        """Code the rows by other facts from now on: public ones, or some made from answers.

        With `strays`, only these columns are coded, by how their values miss the facts.
        """
        self._check_whole()
        if schema.names != self.schema.names:
            msg = "Other facts must be about the same columns, in the same order."
            raise BadInput(msg)
        check_bought(self._core.stated, schema)
        self._core.individual.check_codes()
        table = self._table().recoded(schema, shapes=shapes, strays=strays)
        self._core.table, self._core.encoding = table, table.encoding
        self._core.scored.clear()

    def split(self, *shares: float) -> tuple["Ledger", ...]:
        """Ledgers on the same table that may each spend a share of the rest.

        What a part leaves unspent stays with the whole: ask its `rest` again.
        """
        exact = [Fraction(number(share, "share")) for share in shares]
        if not exact or any(share <= 0 for share in exact):
            msg = "A budget is split into shares above 0."
            raise BadInput(msg)
        # Shares such as 0.1 are not exact in binary; a hair too many is scaled away.
        total = max(Fraction(1), sum(exact, Fraction(0)))
        if total > 1 + Fraction(1, 10**9):
            msg = f"The shares add up to {float(total):.3g}, which is more than the whole."
            raise BadInput(msg)
        rest = self.rest()
        parts = [self._account.part(rest * share / total) for share in exact]
        return tuple(Ledger(self._core, part, self._look) for part in parts)

    def weighted(self, weights: RowWeights) -> "Ledger":
        """This ledger, where each row counts as much as its weight unless a request says other."""
        if type(weights) is not RowWeights:
            msg = "Weights are made by Ledger.weigh."
            raise BadInput(msg)
        weights.check(self._core.encoding.domain)
        look = replace(self._looking(None), weights=weights, encoding=self._core.encoding)
        return Ledger(self._core, self._account, look)

    def without(self, *columns: str) -> "Ledger":
        """This ledger, for whom some columns are not there; nothing is hidden by that."""
        self._core.encoding.domain.check(columns)
        if len({*columns, *self._look.left_out}) >= len(self._core.encoding.domain.names):
            msg = "Without these columns nothing is left to ask."
            raise BadInput(msg)
        look = replace(self._looking(None), left_out=self._look.left_out | {*columns})
        return Ledger(self._core, self._account, look)

    def merged(self, groups: Mapping[str, Sequence[int]]) -> "Ledger":
        """This ledger, where some codes are counted together: the group of each code, by column.

        Groups must be public or come from earlier answers. Marginals can be measured and selected
        there; everything else is asked of the whole.
        """
        self._check_whole()
        merging = Merging.of(groups)
        merging.check(self.domain)
        look = replace(self._looking(None), merging=merging, encoding=self._core.encoding)
        return Ledger(self._core, self._account, look)

    def fix(self, events: Sequence[Event]) -> None:
        """Fix all requests before the first answer; then their exact total counts.

        Events are those of `measure_event`. A run whose noise adapts to answers cannot use this.
        """
        for event in events:
            _check_kind(event, EVENTS)
            if defect := planned_defect(event, self.unit):
                msg = f"A plan cannot hold the event {event}: {defect}."
                raise BadInput(msg)
        self._account.fix(events)

    def declare(self, name: str, value: Any) -> None:  # noqa: ANN401 - any plain data
        """List a public input in the certificate: a target, a graph, a constraint."""
        if name in _OWN:
            msg = f"The ledger lists {name!r} itself. Choose another name."
            raise BadInput(msg)
        try:
            spelled_for_people({name: value})
            plain = json.loads(spelled({"value": value}))
            check_plain({"public": {name: plain}})
            self._core.public[name] = plain["value"]
        except (ValueError, TypeError):
            msg = f"{name!r} cannot be listed: give text, finite numbers, lists and dictionaries."
            raise BadInput(msg) from None

    def measure_event(
        self,
        cliques: Sequence[Clique],
        *,
        rho: Fraction | float | None = None,
        scale: float | None = None,
        weights: RowWeights | None = None,
    ) -> Gaussian:
        """What `measure` with the same arguments costs; asks nothing."""
        weights = weights or self._look.weights
        return marginals_price(len(cliques), self.unit, rho=rho, scale=scale, weights=weights)

    def measure(
        self,
        cliques: Sequence[Clique],
        *,
        rho: Fraction | float | None = None,
        scale: float | None = None,
        weights: RowWeights | None = None,
    ) -> tuple[Measurement, ...]:
        """Noisy marginals, all with the same noise: for ρ together, or with a scale each."""
        table, cliques, look = self._table(), list(cliques), self._looking(weights)
        table.check(cliques, look.weights)
        if not cliques:
            msg = "Name at least one marginal to measure."
            raise BadInput(msg)
        look, event = self._admitted(
            look,
            lambda own: marginals_price(len(cliques), self.unit, rho=rho, scale=scale, weights=own),
        )
        request = {
            "door": "measure",
            "cliques": [list(clique) for clique in cliques],
            **({"strays": True} if self._core.encoding.strays else {}),
        }
        self._debit(event, look.told(request), look.weights)
        steps = 1 if look.weights is None else UNIT
        counts = look.counts(cliques, table.count)
        worked(_MEASURED, len(cliques), _TO_COUNT * len(cliques))
        noisy = all_with_gaussian_noise(counts, event.scale * steps, self._core.source)
        return tuple(
            Measurement(clique, values / steps, event.scale)
            for clique, values in zip(cliques, noisy, strict=True)
        )

    @property
    def reading(self) -> Mapping[str, Any]:
        """How the table is read: public facts about its source."""
        return self._core.reading

    @property
    def counts_malformed(self) -> bool:
        """Whether the source can hold malformed records, and the unit allows to count them."""
        return self._core.counts_malformed

    def malformed(self, *, rho: Fraction | float) -> MalformedRecords:
        """A noisy count of the records of a CSV file that cannot be read as its header says."""
        table = self._table()
        if not table.can_be_malformed:
            msg = "Only records of a CSV file can be malformed."
            raise BadInput(msg)
        event = malformed_price(self.unit, rho=rho)
        self._debit(event, {"door": "malformed"}, None)
        (noisy,) = with_gaussian_noise(
            np.array([table.malformed()], np.int64), event.scale, self._core.source
        ).tolist()
        return MalformedRecords(float(noisy), event.scale)

    def values(
        self,
        columns: Mapping[str, Sequence[int] | None],
        *,
        rho: Fraction | float,
        delta: Fraction | float,
    ) -> tuple[CommonValues, ...]:
        """Values that many rows share, with noisy counts; which rare ones occur stays untold.

        Of listed columns as text, of numeric ones as numbers; where codes are named, only of rows
        that have these codes.
        """
        self._check_whole()
        table = self._table()
        if not isinstance(columns, Mapping) or not columns:
            msg = "Name at least one column whose values to count, each with codes or None."
            raise BadInput(msg)
        cells = {name: self._cells(name, codes) for name, codes in columns.items()}
        event = values_price(len(columns), self.unit, rho=rho, delta=delta)
        self._debit(event, {"door": "values", "columns": cells}, None)
        found = table.values(cells)
        counts = [found[name].counts for name in columns]
        noisy = all_with_gaussian_noise(counts, event.scale, self._core.source)
        return tuple(
            CommonValues.above(event.threshold, name, found[name].values, noised, event.scale)
            for name, noised in zip(columns, noisy, strict=True)
        )

    def select(
        self,
        candidates: Sequence[Score],
        *,
        epsilon: float | None = None,
        rho: Fraction | float | None = None,
        weights: RowWeights | None = None,
    ) -> int:
        """The place of one candidate, drawn by the exponential mechanism."""
        price = selection_price(epsilon=epsilon, rho=rho)
        look, event = self._admitted(self._looking(weights), lambda _: price)
        asked = self._candidates(candidates, look)
        request = {
            "door": "select",
            "candidates": len(asked),
            "scores": score_terms(asked.candidates),
            "sensitivity": str(asked.sensitivity(self.unit)),
        }
        # Rounded up, so that a choice is never sharper than what was paid for.
        scale = math.nextafter(2 * STEPS / event.epsilon, math.inf)
        check_choice(scale)
        self._debit(event, look.told(request), look.weights)
        return exponential_choice(self._steps(asked), scale, self._core.source)

    def scores(
        self,
        candidates: Sequence[Score],
        *,
        rho: Fraction | float,
        weights: RowWeights | None = None,
    ) -> NoisyScores:
        """Noisy scores of candidates, all with the same noise: for ρ together."""
        price = scores_price(len(candidates), rho=rho)
        look, event = self._admitted(self._looking(weights), lambda _: price)
        asked = self._candidates(candidates, look)
        sensitivity = asked.sensitivity(self.unit)
        request = {
            "door": "scores",
            "cliques": [list(candidate.clique) for candidate in candidates],
            "scores": score_terms(asked.candidates),
            "sensitivity": str(sensitivity),
        }
        self._debit(event, look.told(request), look.weights)
        steps = np.array(self._steps(asked), np.int64)
        noisy = with_gaussian_noise(steps, event.scale, self._core.source)
        per_step = float(sensitivity) / STEPS
        return NoisyScores(noisy.astype(np.float64) * per_step, event.scale * per_step)

    def sum(
        self,
        row_map: RowMap,
        *,
        rho: Fraction | float | None = None,
        scale: float | None = None,
        weights: RowWeights | None = None,
    ) -> NoisySum:
        """A noisy sum of a row map; a scale counts in the map's own units."""
        self._check_whole()
        table, look = self._table(), self._looking(weights)
        _check_kind(row_map, (*ROW_MAPS, *MODEL_MAPS))
        row_map.check(self.domain)
        table.check([], look.weights)
        look, event = self._admitted(
            look, lambda own: sum_price(row_map, self.unit, rho=rho, scale=scale, weights=own)
        )
        weights = look.weights
        whole_row = 1 if weights is None else UNIT
        per_unit = row_map.unit_length * whole_row
        request = {"door": "sum", **row_map_facts(row_map)}
        self._debit(event, Look(weights).told(request), weights)
        total = summed(row_map, table.blocks(weights), whole_row)
        noisy = with_gaussian_noise(total, event.scale, self._core.source)
        return NoisySum(row_map, noisy / per_unit, event.scale / per_unit)

    def train(
        self,
        task: Training,
        *,
        rho: Fraction | float | None = None,
        scale: float | None = None,
        weights: RowWeights | None = None,
    ) -> TrainedModel:
        """A model trained with noisy gradients; a scale counts in units of the clipping norm.

        The whole run is debited before its first step.
        """
        self._check_whole()
        table, look = self._table(), self._looking(weights)
        _check_kind(task, (Training,))
        task.check(self.domain)
        table.check([], look.weights)
        look, event = self._admitted(look, lambda own: self._training_price(task, rho, scale, own))
        weights = look.weights
        request = {
            "door": "train",
            "inputs": list(task.inputs),
            **({"begun": True} if task.begun else {}),
            "target": task.target_column,
            "loss": str(task.loss),
            "hidden": task.hidden,
            "steps": task.steps,
            "rate": None if task.rate is None else task.chances / RATE_GRID,
            "clip": task.clip,
        }
        self._debit(event, Look(weights).told(request), weights)
        held = _held(table, task.columns, weights)
        return train(
            task,
            lambda: held,
            event.scale,
            self._core.source,
            lambda step: self._tell_step(step, task.steps),
        )

    def _tell_step(self, step: int, steps: int) -> None:
        if worth_telling(step, steps):
            self._core.tell(StepsTold("Training", step, steps))

    def train_event(
        self,
        task: Training,
        *,
        rho: Fraction | float | None = None,
        scale: float | None = None,
        weights: RowWeights | None = None,
    ) -> Gaussian | SampledGaussian:
        """What `train` with the same arguments costs; asks nothing."""
        return self._training_price(task, rho, scale, weights or self._look.weights)

    def _training_price(
        self,
        task: Training,
        rho: Fraction | float | None,
        scale: float | None,
        weights: RowWeights | None,
    ) -> Gaussian | SampledGaussian:
        return training_price(
            task, self.unit, self.budget.order, rho=rho, scale=scale, weights=weights
        )

    def select_best(
        self,
        tasks: Sequence[Training],
        *,
        rho: Fraction | float,
        runs: float = 5.0,
        score_share: float = SCORE_SHARE,
        weights: RowWeights | None = None,
    ) -> BestTrained:
        """The best of random training runs by a noisy score: about `runs` of them, for ρ together.

        Each run draws one of the tasks. How many runs there were must never be told; how long the
        request took tells about it, so do not publish that either. All is debited beforehand.
        """
        self._check_whole()
        table, look, tasks = self._table(), self._looking(weights), tuple(tasks)
        for task in tasks:
            _check_kind(task, (Training,))
            task.check(self.domain)
        check_candidates(tasks)
        table.check([], look.weights)
        price = partial(best_of_price, tasks, self.unit, self.budget.order, rho=rho, runs=runs)
        look, event = self._admitted(look, lambda own: price(score_share=score_share, weights=own))
        weights, scales = look.weights, run_scales(event, tasks)
        self._debit(event, Look(weights).told(told(tasks, scales, event.gamma)), weights)
        columns = dict.fromkeys(name for task in tasks for name in task.columns)
        return best_trained(
            tasks,
            scales,
            event,
            _held(table, columns, weights),
            self._core.source,
            whole_row=1 if weights is None else UNIT,
        )

    def run_rho(
        self, rho: Fraction | float, runs: float, score_share: float = SCORE_SHARE
    ) -> Fraction:
        """What the training of one run may cost in `select_best` with the same arguments."""
        return run_rho(self.budget.order, rho=rho, runs=runs, score_share=score_share)

    def weigh(
        self,
        tables: Mapping[str, ArrayLike] | Mapping[Clique, ArrayLike],
        thresholds: Sequence[int],
        weights: Sequence[int],
    ) -> RowWeights:
        """Row weights from whole-number tables, to hand to the other doors; costs nothing.

        Tables are by column, or by several together, and must be public or come from earlier
        answers.
        """
        made = RowWeights.of(tables, [int(t) for t in thresholds], [int(w) for w in weights])
        made.check(self._core.encoding.domain)
        return made

    def reveal(self, reason: str) -> pa.Table:
        """The rows as they are. No promise is left: the total becomes infinite."""
        table = self._table()
        self._account.debit(Reveal(reason), {"door": "reveal"})
        return table.reveal()

    def close(self) -> Certificate:
        """Seal the rows, and state what was promised and spent."""
        self._seal()
        return Certificate(
            budget=self.budget,
            unit=str(self.unit),
            entries=self.entries,
            public=dict(self._core.public),
            random_source=str(self._core.source),
            private_noise=type(self._core.source) is OsRandom,
            planned=self._account.planned,
            bought=bought(self._core.stated, self._core.encoding.schema),
            trusted=TRUSTED,
            versions=versions(),
            ledger_head=None if self._core.file is None else self._core.file.head,
        )

    def end(self) -> None:
        """Write into the ledger file that the release is complete, and let the next one begin."""
        if self._core.file is not None:
            self._core.file.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._seal()
        if self._core.file is not None:
            self._core.file.close()

    def _seal(self) -> None:
        self._core.table = None
        self._core.scored.clear()

    def _table(self) -> PrivateTable:
        if self._core.table is None:
            msg = "The ledger is closed: its rows are sealed."
            raise RowsAreSealed(msg)
        return self._core.table

    def _looking(self, weights: RowWeights | None) -> Look:
        """How a request looks at the rows; refused where the codes have changed since."""
        if self._look.encoding not in {None, self._core.encoding}:
            msg = "The codes have changed since these weights or groups were made. Make them anew."
            raise BadInput(msg)
        return self._look if weights is None else replace(self._look, weights=weights)

    def _debit(self, event: Event, request: Request, weights: RowWeights | None) -> None:
        """Check, debit, record: the whole account, and what some or all records lose of it."""
        caps, individual = self._core.caps, self._core.individual
        if not (caps or individual):
            self._account.debit(event, request)
            return
        largest = caps.largest(self._core.encoding, self._core.storage, weights)
        if caps and weights is not None:
            request = {**request, "weights": {**request["weights"], "capped": largest}}
        request = individual.told(request, weights)
        with caps.lock:
            caps.check(event, weights, largest)
            individual.check(event, weights)
            self._account.debit(event, request)
            caps.debit(event, weights, largest)
            individual.debit(event, weights)

    def _admitted(
        self, look: Look, price: Callable[[RowWeights | None], PricedEvent]
    ) -> tuple[Look, PricedEvent]:
        """Who takes part in a request, and what it costs: some have lost all they may."""
        weights, event = self._core.individual.admit(look.weights, price)
        return replace(look, weights=weights), event

    def _candidates(self, candidates: Sequence[Score], look: Look) -> AskedScores:
        """Candidates that are to be scored; refused by public facts."""
        table, candidates = self._table(), list(candidates)
        if not candidates:
            msg = "There is no candidate to select from."
            raise BadInput(msg)
        for candidate in candidates:
            _check_kind(candidate, SCORES)
        asked, domain = self._core.scored.asked(candidates, look), self.domain
        for candidate in asked.new:
            candidate.check(domain)
        table.check([candidate.clique for candidate in asked.new], look.weights)
        return asked

    def _steps(self, asked: AskedScores) -> list[int]:
        """Exact scores in whole steps: between neighbours each differs by at most STEPS."""
        scores = asked.scores(self.unit, self._core.encoding.domain, self._table().count)
        worked(_SCORED, len(asked), _TO_SCORE * len(asked))
        return in_steps(scores, asked.sensitivity(self.unit) or Fraction(1))

    def _check_whole(self) -> None:
        if self._look.merging is not None:
            msg = "Merged codes can be measured and selected; ask the whole ledger for the rest."
            raise BadInput(msg)

    def _cells(self, name: str, codes: Sequence[int] | None) -> list[int] | None:
        """Codes of a column as plain numbers; refuses what is none, by public facts."""
        self.domain.check((name,))
        if self.schema[name].kind in {Kind.DATE, Kind.DATETIME}:
            msg = f"Column {name!r} holds dates, whose values are not told. Measure its bins."
            raise BadInput(msg)
        if codes is None:
            return None
        plain = [int(code) for code in codes if isinstance(code, int | np.integer)]
        known = range(self.domain.sizes[name])
        if len(plain) != len(codes) or any(code not in known for code in plain):
            msg = f"Column {name!r}: name codes among 0 … {len(known) - 1}, or none for all rows."
            raise BadInput(msg)
        return plain


def _held(
    table: PrivateTable, columns: Collection[str], weights: RowWeights | None
) -> list[tuple[Codes, Whole]]:
    """The rows, coded once, for every step reads them; of a database that would be a query each."""
    blocks = table.blocks(weights)
    return [({name: codes[name] for name in columns}, weighed) for codes, weighed in blocks]


def _check_kind(value: object, kinds: tuple[type, ...]) -> None:
    """Refuse what is not of the closed set; a subclass might state another sensitivity."""
    if type(value) not in kinds:
        names = " or ".join(kind.__name__ for kind in kinds)
        msg = f"A {type(value).__name__} is no {names}: nothing else has a proven sensitivity."
        raise BadInput(msg)
