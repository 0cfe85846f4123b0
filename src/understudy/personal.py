"""Identifiers and personal fields of a release: which columns they are, and what becomes of them.

Such a column is never modelled. It is left out, or released with invented values. Its role is
declared in the schema, or follows from its name, or is inferred under differential privacy.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from enum import StrEnum
from typing import Any

from understudy.column import Column, Kind, Role
from understudy.encode.ops import NUMBER_STORAGE, Storage
from understudy.errors import BadInput, listed
from understudy.identifiers import suggestions
from understudy.regenerate import EXTRA, has_faker, needs_faker
from understudy.schema import Schema
from understudy.schema_files import schema_from_toml

BY_NAME, REGENERATE = "roles by name", "regenerate"
"""Public inputs that a certificate lists: roles that follow from names, and the option."""

StorageOf = Callable[[Iterable[str]], Mapping[str, Storage]]


class By(StrEnum):
    """Where the role of a column comes from."""

    DECLARED = "declared"
    NAME = "name"
    SHAPE = "shape"


@dataclass(frozen=True)
class PersonalField:
    """An identifier or a personal field, and what became of it."""

    column: str
    role: str
    by: str
    regenerated: bool

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)


@dataclass(frozen=True)
class Personal:
    """The rules for identifiers and personal fields of one release, from public choices alone."""

    used: frozenset[str] = frozenset()
    """Columns that other choices name, such as the target: their names suggest nothing."""
    regenerate: bool | tuple[str, ...] = False
    """Whether such columns are released with invented values; or which of them are."""

    @classmethod
    def of(cls, regenerate: object, *choices: object) -> "Personal":
        """Return the rules, given all choices that may name columns."""
        if isinstance(regenerate, bool):
            return cls(frozenset(_texts(choices)), regenerate)
        if isinstance(regenerate, list | tuple) and all(isinstance(x, str) for x in regenerate):
            return cls(frozenset(_texts(choices)), tuple(dict.fromkeys(regenerate)))
        msg = "regenerate must be True, False, or a list of column names."
        raise BadInput(msg)

    def public(self, stated: Mapping[str, Role], opening: Schema) -> dict[str, Any]:
        """Return the public inputs for the certificate: roles by name, and the option.

        Args:
            stated: The roles of columns before `described`.
            opening: The schema since then.
        """
        names = {
            column.name: str(column.role)
            for column in opening
            if column.role.identifies and not stated.get(column.name, Role.FEATURE).identifies
        }
        option = self.regenerate if isinstance(self.regenerate, bool) else [*self.regenerate]
        return ({BY_NAME: names} if names else {}) | ({REGENERATE: option} if option else {})

    def by_name(self, schema: Schema, storage: Mapping[str, Storage]) -> dict[str, Role]:
        """Return the roles that follow from the names of columns without declared facts."""
        found = suggestions(schema, storage, self.used)
        return {name: one.role for name, one in found.items() if one.certain or name in self._named}

    def uncertain(self, schema: Schema, storage: Mapping[str, Storage]) -> dict[str, Role]:
        """Return the roles that names suggest, and that need evidence from the rows."""
        found = suggestions(schema, storage, self.used)
        return {name: one.role for name, one in found.items() if not one.certain}

    def described(self, schema: Schema, storage_of: StorageOf) -> Schema:
        """Return the schema with the roles that follow from names, and what is regenerated.

        Args:
            schema: The public facts.
            storage_of: How columns are stored, by their names.
        """
        stored = storage_of(column.name for column in schema.coded)
        if roles := self.by_name(schema, stored):
            schema = schema.with_roles(roles)
        for name in self._named:
            if not schema[name].role.identifies:
                msg = (
                    f"Column {name!r} cannot be regenerated: it is no identifier or personal "
                    'field. Give it such a role in the schema, for example role = "id".'
                )
                raise BadInput(msg)
        wanted = self._wanted(schema)
        numbers = [column.name for column in wanted if _may_be_number(column)]
        stored = storage_of(numbers)
        whole = {name for name in numbers if stored[name].public == NUMBER_STORAGE}
        facts = {column.name: column for column in wanted} | {
            column.name: replace(column, kind=Kind.INTEGER)
            for column in wanted
            if column.name in whole
        }
        return replace(schema, columns=tuple(facts.get(one.name, one) for one in schema))

    def finished(self, schema: Schema) -> Schema:
        """Return the schema of the release: columns found under DP are regenerated, too.

        A column that needs a library which is not installed is left out: the budget is spent, so
        nothing may fail any more.
        """
        found = {c.name: c for c in self._wanted(schema) if has_faker() or not needs_faker(c)}
        return replace(schema, columns=tuple(found.get(one.name, one) for one in schema))

    @property
    def _named(self) -> tuple[str, ...]:
        return () if isinstance(self.regenerate, bool) else self.regenerate

    def _wanted(self, schema: Schema) -> list[Column]:
        """Return the columns to regenerate, saying so; a schema that says no is respected."""
        return [
            replace(column, regenerate=True)
            for column in schema
            if column.role.identifies
            and (
                column.regenerated
                or column.name in self._named
                or (
                    self.regenerate is True
                    and column.regenerate is None
                    and column.role is not Role.FREE_TEXT
                )
            )
        ]


def personal_fields(public: Mapping[str, Any], schema: Schema) -> list[PersonalField]:
    """Return the identifiers and personal fields of a release.

    Args:
        public: The public inputs that its certificate lists.
        schema: The schema of the release.
    """
    text, names = public.get("schema"), public.get(BY_NAME)
    opening = {} if text is None else {c.name: c for c in schema_from_toml(text, folder=None)}
    by_name = names if isinstance(names, Mapping) else {}

    def by(name: str) -> By:
        if name in by_name:
            return By.NAME
        stated = name not in opening or opening[name].role.identifies
        return By.DECLARED if stated else By.SHAPE

    return [
        PersonalField(column.name, str(column.role), str(by(column.name)), column.regenerated)
        for column in schema
        if column.role.identifies
    ]


def personal_notes(public: Mapping[str, Any], schema: Schema) -> tuple[str, ...]:
    """Return what a person should know about identifiers and personal fields of a release."""
    found = personal_fields(public, schema)
    said = []
    for by, why in _WHY.items():
        dropped = [one for one in found if one.by == by and not one.regenerated]
        if dropped:
            names = [one.column for one in dropped]
            can_be_made = any(one.role != Role.FREE_TEXT for one in dropped)
            said.append(
                f"{_columns(names)} left out as {_fields(names)}: {why}. "
                + (_way_out(public.get(REGENERATE)) if can_be_made else "")
                + "To model such a column, declare its kind in the schema."
            )
    made = [one.column for one in found if one.regenerated]
    if made:
        said.append(f"{_columns(made)} filled with invented values, which depend on no real value.")
    return tuple(said)


_WHY = {
    By.NAME: "the names say so",
    By.SHAPE: "the values look like it, as inferred under DP",
}


def _way_out(option: object) -> str:
    if option is True:
        return f"Names and addresses are invented after `pip install '{EXTRA}'`. "
    return "To release invented values instead, add --regenerate. "


def _columns(names: Sequence[str]) -> str:
    return f"Column {names[0]!r} is" if len(names) == 1 else f"Columns {listed(names)} are"


def _fields(names: Sequence[str]) -> str:
    several = "identifiers or personal fields"
    return "an identifier or a personal field" if len(names) == 1 else several


def _may_be_number(column: Column) -> bool:
    """Whether the facts leave open that new identifiers are numbers."""
    facts = (column.pattern, column.categories, column.other, column.bounds)
    return column.role is Role.ID and column.kind is not Kind.INTEGER and facts == (None,) * 4


def _texts(value: object) -> Iterator[str]:
    """Yield all texts in nested choices: every name of a column is among them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _texts([*value.keys(), *value.values()])
    elif isinstance(value, list | tuple | set | frozenset):
        for one in value:
            yield from _texts(one)
    elif is_dataclass(value) and not isinstance(value, type):
        yield from _texts([getattr(value, field.name) for field in fields(value)])
