"""Identifiers and personal fields that nobody has described: columns of which no value is used.

Decided from noisy counts, names of columns and public choices; no row is asked.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace

from understudy.column import Column, Kind, Role, Source
from understudy.encode.ops import Storage
from understudy.encode.shape_grid import MISSING
from understudy.privacy.answers import CommonValues, Measurement
from understudy.privacy.kinds import Looks
from understudy.schema import Schema

_SHARED = 0.5
"""An identifier or a name, if values that many rows share cover less of the rows."""


def free_columns(schema: Schema, named: Collection[str]) -> frozenset[str]:
    """Return the columns that may turn out to be personal.

    Neither the target nor a column that some public choice names is one of them, nor a column with
    a role or a kind that somebody has stated.
    """
    return frozenset(
        column.name
        for column in schema.coded
        if column.kind is Kind.UNKNOWN and column.role is Role.FEATURE and column.name not in named
    )


def by_name(look: Looks, role: Role | None, storage: Storage) -> Looks:
    """Return how a column is asked about next, if its name suggests a role.

    Values that many rows share decide, whatever the values look like.
    """
    if role is None or look.role is not None or storage in {Storage.DATE, Storage.TIMESTAMP}:
        return look
    if look.kind is None:
        return replace(look, role=role)
    return Looks(Kind.CATEGORICAL, look.null)


def seldom_shared(told: CommonValues | None, shapes: Measurement, total: Measurement) -> bool:
    """Return whether values that many rows share cover less than half of the rows with a value."""
    shared = 0.0 if told is None else float(told.counts.sum())
    return shared < _SHARED * (float(total.values) - float(shapes.values[MISSING]))


def left_out(column: Column, role: Role) -> Column:
    """Return the column with the role, by which it is neither coded nor released."""
    return replace(column, role=role, source=Source.BOUGHT)


def some_left(schema: Schema, roles: Mapping[str, Role]) -> dict[str, Role]:
    """Return the roles, without the first one where no column would be left to release."""
    if any(column.name not in roles for column in schema.coded):
        return dict(roles)
    first = next(iter(roles), None)
    return {name: role for name, role in roles.items() if name != first}
