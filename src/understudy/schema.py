"""Public facts about a table: what a reader may know before any noise is drawn."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from understudy.column import Column, Role, Source
from understudy.domain import repeated
from understudy.errors import SchemaError, UnknownColumn, listed


@dataclass(frozen=True)
class Schema:
    """The public facts about a table.

    >>> from understudy.column import Kind
    >>> schema = Schema((Column(name="age", kind=Kind.INTEGER, bounds=(0, 99), null=False),))
    >>> schema.names, schema["age"].bounds
    (('age',), (0, 99))
    """

    columns: tuple[Column, ...]
    rows_bound: int | None = None
    """A public upper bound on the number of rows."""
    rows_source: Source = Source.DECLARED

    def __post_init__(self) -> None:
        if not self.columns:
            msg = "A schema needs at least one column."
            raise SchemaError(msg)
        twice = repeated(self.names)
        if twice:
            msg = f"Columns named twice in the schema: {listed(twice)}. Name each once."
            raise SchemaError(msg)
        targets = [column.name for column in self.columns if column.role is Role.TARGET]
        if len(targets) > 1:
            msg = f"A schema has at most one target; these have the role: {listed(targets)}."
            raise SchemaError(msg)
        if self.rows_bound is not None and (
            type(self.rows_bound) is not int or self.rows_bound < 1
        ):
            msg = f"The bound on rows is {self.rows_bound}; it must be a whole number, at least 1."
            raise SchemaError(msg)
        try:
            # A plain word would be no member, and what was read off the data pass for declared.
            object.__setattr__(self, "rows_source", Source(self.rows_source))
        except ValueError:
            msg = f"The source of the bound on rows is unknown; use one of {listed(Source)}."
            raise SchemaError(msg) from None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """All column names, in order."""
        return tuple(column.name for column in self.columns)

    @property
    def coded(self) -> tuple[Column, ...]:
        """The columns that are encoded and released: all but `id` and `drop`."""
        return tuple(column for column in self.columns if column.coded)

    @property
    def released(self) -> tuple[Column, ...]:
        """The columns of a release: those that are encoded, and those with invented values."""
        return tuple(column for column in self.columns if column.coded or column.regenerated)

    @property
    def target(self) -> str | None:
        """The column that readers will predict."""
        return next((c.name for c in self.columns if c.role is Role.TARGET), None)

    @property
    def silent(self) -> dict[str, tuple[str, ...]]:
        """By column, the facts that nobody has stated."""
        return {column.name: column.silent for column in self.columns if column.silent}

    def with_roles(self, roles: Mapping[str, Role]) -> "Schema":
        """The same facts with other roles; a target named here is the only one."""
        for name in roles:
            self[name]  # refuses an unknown name
        new_target = Role.TARGET in roles.values()
        columns = []
        for column in self.columns:
            demoted = new_target and column.role is Role.TARGET
            role = roles.get(column.name, Role.FEATURE if demoted else column.role)
            columns.append(replace(column, role=role))
        return replace(self, columns=tuple(columns))

    def check_names(self, present: Iterable[str]) -> None:
        """Refuse unless the schema describes exactly the columns that are present."""
        present = tuple(present)
        absent = [name for name in self.names if name not in present]
        if absent:
            msg = (
                f"The schema names columns that the table does not have: {listed(absent)}. The "
                f"table has: {listed(present)}. Correct the names, or remove them from the schema."
            )
            raise SchemaError(msg)
        unknown = [name for name in present if name not in self.names]
        if unknown:
            msg = (
                f"The schema does not mention: {listed(unknown)}. Describe each of them, name it "
                'without facts to have them found out, or give it role = "drop" to leave it out.'
            )
            raise SchemaError(msg)

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise UnknownColumn(name, self.names)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)
