"""A plan: a mechanism is rehearsed, and what it asked is told.

It asks an ordinary ledger about made-up rows. So every price, every limit and every refusal is
that of the real thing, and no mechanism has to know of plans.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from understudy import demanded
from understudy.chosen import Chosen
from understudy.column import Source
from understudy.domain import Clique
from understudy.encode.ops import Storage
from understudy.errors import BadInput
from understudy.knowledge import Independence
from understudy.mechanisms.api import Decision, Mechanism, Model
from understudy.mechanisms.catalog import AUTO
from understudy.mechanisms.parameters import told as parameters_told
from understudy.model.estimate import needed_bytes
from understudy.model.graphical import GraphicalModel
from understudy.model.merged import MergedModel
from understudy.personal import personal_fields, personal_notes
from understudy.plan import notes
from understudy.plan.costs import IndependenceCost, ProtectionCost
from understudy.plan.items import at_epsilons, items_of
from understudy.plan.planned import Item, Plan, Size
from understudy.plan.rehearsal import Rehearsal, rehearse
from understudy.plan.split import split_of
from understudy.privacy.accountant import cost
from understudy.privacy.facts import revealed
from understudy.privacy.promise import promise, weaknesses
from understudy.privacy.steps_told import telling
from understudy.privacy.unit import Unit
from understudy.privacy.where import Where
from understudy.regenerate import check_regenerated
from understudy.schema import Schema
from understudy.select.risk import RiskWeights

USUAL_ROWS = 10_000
MOST_ROWS = 50_000
"""No more rows than this are made up, unless a rule asks for it; what grows with rows is scaled."""
_MOST_VALUES = 2 * 10**7
"""Nor more values in all: then there are fewer rows."""
_LEAST_ROWS = 1000


def plan(  # noqa: PLR0913 - each is a choice of its own, by name
    schema: Schema | str | Path,
    *,
    epsilon: float,
    delta: float = 1e-9,
    target: str | None = None,
    mechanism: Mechanism | str = AUTO,
    parameters: Mapping[str, str] | None = None,
    parents: Sequence[str] | None = None,
    graph: Any = None,  # noqa: ANN401 - whatever Dag.of reads
    constraints: Iterable[Independence | str] = (),
    protect_outliers: bool | RiskWeights = False,
    protect_where: Sequence[str | Where] = (),
    outlier_epsilon: float | None = None,
    regenerate: bool | Sequence[str] = False,
    unit: Unit | str | None = None,
    rows: int | None = None,
    accept_weak_guarantee: bool = False,
    starting: float = 0.0,
    tell: Callable[[str], None] | None = None,
) -> Plan:
    """What `synthesize` with the same choices would buy, rehearsed on made-up rows.

    Args:
        schema: Public facts, or a file with them.
        epsilon: How much privacy the whole release may cost.
        delta: The slack in probability of the bound.
        target: The column that readers will predict.
        mechanism: How to ask and what to fit, or the name of it.
        parameters: Of a mechanism that is named: its parameters, as a person writes them.
        parents: The direct causes of the target, where they are known.
        graph: What depends directly on what, where that is known.
        constraints: Independences that shall hold in the model, such as "income _||_ sex | job".
        protect_outliers: Let records count less whose values are rare; True, or how.
        protect_where: Public conditions, such as "age >= 90", under which records count less. A
            value that is missing, unreadable or not listed meets every condition on its column.
        outlier_epsilon: What those protected lose at most.
        regenerate: Invented values in place of identifiers and personal fields: of all of them,
            or of the columns named here.
        unit: Whose privacy is protected: record, replace, or person:ID:3.
        rows: A public bound on the number of rows; without it that of the schema.
        accept_weak_guarantee: Plan for an ε above 10, or a δ above 1e-5 or above one over the bound
            on rows. Otherwise these are refused, as by `synthesize`.
        starting: Seconds that it takes the program to start, for the forecast.
        tell: Called with a sentence when the rehearsal begins.
    """
    chosen = Chosen.of(
        epsilon=epsilon,
        delta=delta,
        target=target,
        schema=schema,
        mechanism=mechanism,
        parameters=parameters,
        parents=parents,
        graph=graph,
        constraints=constraints,
        protect_outliers=protect_outliers,
        protect_where=protect_where,
        outlier_epsilon=outlier_epsilon,
        regenerate=regenerate,
        unit=unit,
        accept_weak_guarantee=accept_weak_guarantee,
    )
    if chosen.reveals:
        msg = (
            "There is nothing to plan: this method reads rows as they are, spends nothing and "
            "promises nothing. Plan lk2ss with mode=dp, or any other method."
        )
        raise BadInput(msg)
    if chosen.schema is None:
        msg = "A plan is made from a schema: name a file with one."
        raise BadInput(msg)
    facts = _bounded(_as_declared(chosen.schema).with_roles(chosen.roles), rows)
    chosen.check_strength(facts.rows_bound, accepted=accept_weak_guarantee)
    # How columns are stored is not known here; most are text.
    facts = chosen.personal.described(facts, lambda names: dict.fromkeys(names, Storage.TEXT))
    check_regenerated(facts, None)
    personal = chosen.personal_inputs(facts)
    count = rows or facts.rows_bound or USUAL_ROWS
    made = _made_up(count, len(facts.coded))
    if tell is not None:
        tell(f"Rehearsing {chosen.recipe.name} on {made:,} made-up rows")
    with telling(tell):
        told = rehearse(chosen, facts, made, count, starting)
    items = tuple(_items(told, chosen, count, facts.target))
    return Plan(
        method=chosen.recipe.name,
        why=tuple(_why(chosen.recipe, told.decision, automatic=mechanism == AUTO)),
        decision=told.decision,
        parameters=parameters_told(chosen.recipe),
        target=facts.target,
        independences=chosen.allowed.independences,
        budget=chosen.budget,
        unit=chosen.unit,
        draft=bool(revealed(chosen.schema)),
        rows=count,
        rehearsed=told.rows,
        codes=told.domain.sizes,
        open=facts.silent,
        personal=tuple(personal_fields(personal, facts)),
        items=items,
        split=split_of(told.entries, told.opened.opening, told.opened.weighing, chosen.budget),
        independence_cost=IndependenceCost.of(
            chosen.allowed, told.domain.names, facts.target, told.model
        ),
        protection_cost=_protection_cost(told, chosen, facts),
        size=_size(chosen.recipe, told.model),
        forecast=told.forecast,
        epsilons=tuple(at_epsilons(items, chosen.budget, facts, count)),
        promise=tuple(_promise(chosen, facts)),
        weak=weaknesses(chosen.budget.epsilon, chosen.budget.delta, facts.rows_bound),
        notes=(
            *demanded.costs(chosen.allowed, facts),
            *notes.about_facts(chosen.schema),
            *personal_notes(personal, facts),
            *notes.about_rows(count, told.rows, stated=facts.rows_bound is not None),
            *notes.about_decision(told.decision, told.went),
            *notes.about_finding(facts, told.opened.finding, told.opened.found, count),
            *notes.about_choices(items),
            *notes.about_protection(chosen.protection),
            *notes.about_merging(items, told.domain, told.hidden),
            *notes.left_out(chosen.recipe, told.model, facts.target),
            *notes.advised(chosen.recipe, chosen.budget.rho, count),
        ),
    )


def _items(told: Rehearsal, chosen: Chosen, count: int, target: str | None) -> Iterator[Item]:
    # Where rare codes were counted together, a table has fewer cells than its columns' codes.
    measured = {one.clique: int(one.values.size) for one in told.model.measurements}

    def cells(clique: Clique) -> int:
        return measured[clique] if clique in measured else told.domain.size(clique)

    return items_of(
        told.entries, told.opened.opening, chosen.budget, count, cells=cells, target=target
    )


def _why(recipe: Mechanism, decision: Decision | None, *, automatic: bool) -> Iterator[str]:
    """Why this method, and which way it goes."""
    if automatic:
        yield f"{recipe.name} is what auto means: {recipe.about.split(': what auto means')[0]}."
    else:
        yield f"{recipe.name} was asked for: {recipe.about}."
    if decision is not None:
        yield decision.why
        if decision.otherwise:
            yield decision.otherwise


def _protection_cost(told: Rehearsal, chosen: Chosen, facts: Schema) -> ProtectionCost | None:
    if told.opened.weighed is None or chosen.protection is None:
        return None
    opening = told.opened.opening
    before = [
        entry
        for place, entry in enumerate(told.entries)
        if place < opening or entry.request.get("strays")
    ]
    found = sum((Fraction(cost(one.event, chosen.budget.order)) for one in before), Fraction(0))
    return ProtectionCost.of(chosen.protection, told.opened.weighed, chosen.budget, found, facts)


def _promise(chosen: Chosen, facts: Schema) -> list[str]:
    caps = () if chosen.protection is None else chosen.protection.caps(chosen.budget)
    told = [(cap.where.described(facts), cap.budget.epsilon, cap.budget.delta) for cap in caps]
    budget, bound = chosen.budget, facts.rows_bound
    unit = str(chosen.unit)
    return promise(budget.epsilon, budget.delta, unit, (), told, rows_bound=bound)


def _as_declared(schema: Schema) -> Schema:
    """The facts, as if somebody had reviewed those that were read off the data."""
    columns = tuple(
        replace(column, source=Source.DECLARED) if column.source is Source.DATA else column
        for column in schema
    )
    return replace(schema, columns=columns, rows_source=Source.DECLARED)


def _bounded(schema: Schema, rows: int | None) -> Schema:
    """The facts, with the bound on rows that was stated beside them."""
    if rows is None:
        return schema
    if type(rows) is not int or rows < 1:
        msg = f"The bound on rows is {rows}; it must be a whole number, at least 1."
        raise BadInput(msg)
    if schema.rows_bound is None:
        return replace(schema, rows_bound=rows)
    if rows > schema.rows_bound:
        msg = (
            f"{rows:,} rows are more than the schema's bound of {schema.rows_bound:,}. Correct "
            "one of the two."
        )
        raise BadInput(msg)
    return schema


def _made_up(rows: int, columns: int) -> int:
    return min(rows, MOST_ROWS, max(_LEAST_ROWS, _MOST_VALUES // max(columns, 1)))


def _size(recipe: Mechanism, model: Model) -> Size:
    tables = {frozenset(m.clique): int(m.values.size) for m in model.measurements if m.clique}
    cells = sum(tables.values())
    fitted = model.coarse if isinstance(model, MergedModel) else model
    if isinstance(fitted, GraphicalModel):
        held = needed_bytes(fitted.domain, [one.clique for one in model.measurements])
    else:
        held = 8 * cells
    return Size(cells, held, getattr(recipe, "model_bytes", None))
