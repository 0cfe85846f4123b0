"""What somebody has chosen for a release: checked by public facts, before any row is asked."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from understudy.column import Role
from understudy.encode import Encoding
from understudy.errors import BadInput
from understudy.knowledge import Independence
from understudy.mechanisms.api import Choosy, Constrained, Mechanism, Revealing
from understudy.mechanisms.catalog import AUTO, mechanism_named
from understudy.personal import Personal
from understudy.privacy import discover
from understudy.privacy.answers import Measurement
from understudy.privacy.budget import Budget, number
from understudy.privacy.ledger import Ledger
from understudy.privacy.promise import check_strength
from understudy.privacy.unit import Person, Record, Replacement, Unit, unit_named
from understudy.privacy.where import Where
from understudy.protection import Protection
from understudy.schema import Schema
from understudy.schema_files import read_schema
from understudy.select.regimes import Causal, Graphical, Regime
from understudy.select.risk import RiskWeights
from understudy.separation import Separation

NOMINAL_EPSILON = 1.0
"""Of the budget that a mechanism has which reads rows as they are, where nobody states one: it
spends none of it, and its certificate promises nothing."""
_CLEAR = 3.0
"""Standard deviations of noise."""
LEARN = "learn"
"""In place of a graph: the target's blanket is learned with noise."""


@dataclass(frozen=True)
class Chosen:
    """A mechanism, a budget, whose privacy is protected, and what is said about the table."""

    schema: Schema | None
    """Public facts, where somebody stated some."""
    recipe: Mechanism
    unit: Unit
    roles: Mapping[str, Role]
    """Of columns, before those that the schema states."""
    budget: Budget
    allowed: Separation = field(default_factory=Separation)
    """Independences that shall hold in the release."""
    protection: Protection | None = None
    """Who shall lose less than others."""
    personal: Personal = field(default_factory=Personal)
    """What becomes of identifiers and personal fields."""

    @classmethod
    def of(  # noqa: PLR0913 - each is a choice of its own, by name
        cls,
        *,
        epsilon: float | None,
        delta: float,
        target: str | None = None,
        schema: Schema | str | Path | None = None,
        mechanism: Mechanism | str = AUTO,
        parameters: Mapping[str, str] | None = None,
        parents: Sequence[str] | None = None,
        graph: Any = None,  # noqa: ANN401 - whatever Dag.of reads
        constraints: Iterable[Independence | str] = (),
        unit: Unit | str | None = None,
        protect_outliers: bool | RiskWeights = False,
        outlier_epsilon: float | None = None,
        protect_where: Sequence[str | Where] = (),
        regenerate: bool | Sequence[str] = False,
        accept_weak_guarantee: bool = False,
    ) -> "Chosen":
        """The choices as a person states them; refused where they make no sense together.

        So is a weak guarantee, unless somebody accepts it.
        """
        stated = read_schema(schema) if isinstance(schema, str | Path) else schema
        recipe = _recipe(mechanism, parameters, _regime(parents, graph))
        target = _target(target, stated, recipe)
        asked_for = target or (None if stated is None else stated.target)
        whose = unit_named(unit) if isinstance(unit, str) else unit or Record()
        _check_kinds(stated, recipe, whose)
        roles = _roles(target, whose)
        if epsilon is None:
            epsilon = _nominal(recipe)
            budget = Budget(epsilon, delta)
        else:
            facts = None if stated is None else stated.with_roles(roles)
            budget = budget_for(epsilon, delta, facts)
        allowed = Separation(constraints)
        if isinstance(recipe, Constrained):
            # As far as it can be told before the table is opened.
            recipe.check_independences(allowed, (), asked_for)
        protection = Protection.of(
            epsilon,
            outliers=protect_outliers,
            outlier_epsilon=outlier_epsilon,
            where=protect_where,
        )
        # The values of parameters may name columns; what the parameters are called names none.
        parameters_of = [*getattr(recipe, "__dict__", {}).values()]
        named = (asked_for, whose, parameters_of, allowed, protection)
        personal = Personal.of(regenerate, named)
        made = cls(stated, recipe, whose, roles, budget, allowed, protection, personal)
        if made.reveals and protection is not None:
            msg = "Nobody can be protected more where nothing is promised: choose a private method."
            raise BadInput(msg)
        if not made.reveals:
            made.check_strength(accepted=accept_weak_guarantee)
        return made

    @property
    def reveals(self) -> bool:
        """Whether the mechanism reads rows as they are."""
        return _reveals(self.recipe)

    def check_strength(self, rows_bound: int | None = None, *, accepted: bool) -> None:
        """Refuse a weak guarantee unless it is accepted; a bound may be stated beside the schema's.

        Raises:
            PrivacyRefused: The guarantee is weak by its numbers, and nobody has accepted that.
        """
        stated = None if self.schema is None else self.schema.rows_bound
        bound = stated if rows_bound is None else rows_bound
        check_strength(self.budget.epsilon, self.budget.delta, bound, accepted=accepted)

    def personal_inputs(self, opening: Schema) -> dict[str, Any]:
        """Return what the certificate lists about identifiers and personal fields."""
        stated = {} if self.schema is None else {one.name: one.role for one in self.schema}
        return self.personal.public(stated | dict(self.roles), opening)

    def check_fit(self, schema: Schema) -> None:
        """Refuse a mechanism, or independences, that do not fit the columns."""
        names = [column.name for column in schema.coded]
        self.allowed.check(names)
        if isinstance(self.recipe, Constrained):
            self.recipe.check_independences(self.allowed, names, schema.target)
        if isinstance(self.recipe, Choosy):
            self.recipe.check(names, schema.target)

    def modelled(
        self, book: Ledger, known: Sequence[Measurement]
    ) -> tuple[Ledger, tuple[Measurement, ...]]:
        """What the mechanism asks: a ledger without constant columns, and what is known of others.

        A column of one value says nothing about any other. One with a hidden code as well is left
        out if the count of that code is but noise. The target stays, and so does a column without
        which the mechanism refuses the table.
        """
        names = book.domain.names
        if self.reveals:
            return book, tuple(known)
        needed = {book.schema.target} - {None}
        one_value = {*book.encoding.constant, *_without_hidden(book.encoding, known)}
        apart = [name for name in names if name in one_value and name not in needed]
        apart = [one for one in apart if self._fits([n for n in names if n != one], book)]
        while apart and not self._fits([n for n in names if n not in apart], book):
            apart.pop()
        if not apart:
            return book, tuple(known)
        others = {*names} - {*apart}
        return book.without(*apart), tuple(one for one in known if others.issuperset(one.clique))

    def _fits(self, names: Sequence[str], book: Ledger) -> bool:
        """Whether the mechanism takes a table of these columns."""
        try:
            if isinstance(self.recipe, Constrained):
                self.recipe.check_independences(self.allowed, names, book.schema.target)
            if isinstance(self.recipe, Choosy):
                self.recipe.check(names, book.schema.target)
        except BadInput:
            return False
        return bool(names)


def _without_hidden(encoding: Encoding, known: Sequence[Measurement]) -> set[str]:
    """Return columns of one value whose hidden code does not stand out of the noise."""
    found = set()
    for one in known:
        name = one.clique[0] if len(one.clique) == 1 else None
        hidden = encoding.cells[name].hidden if name in encoding.single else None
        if name is not None and hidden is not None:
            noise = float(np.broadcast_to(one.scale, one.values.shape)[hidden])
            if one.values[hidden] <= _CLEAR * noise:
                found.add(name)
    return found


def _reveals(recipe: object) -> bool:
    return isinstance(recipe, Revealing) and recipe.reveals


def _nominal(recipe: Mechanism) -> float:
    """Return the ε of a mechanism for which none was stated.

    Raises:
        BadInput: The mechanism spends privacy budget.
    """
    if isinstance(recipe, Revealing) and recipe.reveals and not recipe.needs_facts:
        return NOMINAL_EPSILON
    first = " for its first stage" if _reveals(recipe) else ""
    msg = (
        f"The method {recipe.name} needs a privacy budget{first}: add --epsilon, such as "
        "--epsilon 1 (in Python epsilon=1.0). Smaller is more private."
    )
    raise BadInput(msg)


def budget_for(epsilon: float, delta: float, schema: Schema | None) -> Budget:
    """The whole of it; where facts are open, a part of δ is kept for finding them out."""
    if schema is not None and not schema.silent:
        return Budget(epsilon, delta)
    return Budget(epsilon, delta, thresholds=number(delta, "delta") * discover.DELTA_SHARE)


def _regime(parents: Sequence[str] | None, graph: Any) -> Regime | None:  # noqa: ANN401
    """What is known about the target's causes."""
    if parents is not None and graph is not None:
        msg = "State the causes of the target or a graph, not both: the graph names the causes."
        raise BadInput(msg)
    if parents is not None:
        return Causal(parents)
    if graph is None:
        return None
    return Graphical.learn() if str(graph) == LEARN else Graphical(graph)


def _recipe(
    mechanism: Mechanism | str,
    parameters: Mapping[str, str] | None,
    regime: Regime | None,
) -> Mechanism:
    if isinstance(mechanism, str):
        return mechanism_named(mechanism, parameters, regime=regime)
    if parameters or regime is not None:
        msg = "A mechanism that is given as a value has its parameters and its regime already."
        raise BadInput(msg)
    return mechanism


def _target(target: str | None, schema: object, recipe: object) -> str | None:
    """The column to predict, where somebody names one besides the schema; perhaps the method."""
    stated = target or (schema.target if isinstance(schema, Schema) else None)
    own = getattr(recipe, "target", None) or None
    if own and stated and own != stated:
        msg = f"The method is for {own!r}, and the target is {stated!r}: name one column."
        raise BadInput(msg)
    return target or (None if stated else own)


def _check_kinds(schema: object, recipe: object, unit: object) -> None:
    if schema is not None and not isinstance(schema, Schema):
        msg = "A schema is a Schema or the path of a file with one."
        raise BadInput(msg)
    if isinstance(recipe, type) or not hasattr(recipe, "fit"):
        msg = "A mechanism is a value, such as IndependentColumns(), or a method's name."
        raise BadInput(msg)
    if not isinstance(unit, Record | Replacement | Person):
        msg = "A unit is Record(), Replacement() or Person(id, rows), or its name."
        raise BadInput(msg)


def _roles(target: str | None, unit: Unit) -> dict[str, Role]:
    roles = {} if target is None else {target: Role.TARGET}
    if isinstance(unit, Person):
        if unit.id == target:
            msg = f"Column {target!r} cannot be the target and tell persons apart."
            raise BadInput(msg)
        roles[unit.id] = Role.ID
    return roles
