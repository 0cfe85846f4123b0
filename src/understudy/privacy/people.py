"""Keeping at most k rows of each person, inside the engine that holds them."""

import hashlib
import secrets

import ibis

from understudy.column import Column, Kind
from understudy.encode.ibis_ops import IbisOps
from understudy.encode.ops import Storage, Value

_PRIME = 2**31 - 1
"""Products of two numbers below it fit 63 bits on every engine."""


def keep_per_person(codes: Value, person: str, rows: int) -> Value:
    """The codes of at most `rows` rows for each value of the column `person`.

    Which rows stay is decided by a hash with a fresh secret key, of the person and of the row's
    own codes: so it depends on no other person, not on the order of rows, and the same rows stay
    for all counts of one table. The hash is a random quadratic polynomial over a prime field of
    a random linear form: plain integer arithmetic, which all engines agree on.
    """
    names = [name for name in codes.columns if name != person]
    codes = codes.filter(codes[person].notnull())
    linear = _below_prime(_number(codes[person])) * _key() % _PRIME + _key()
    for name in names:
        linear = linear + codes[name].cast("int64") * _key() % _PRIME
    point = linear % _PRIME
    ranked = codes.mutate(rank=(point * point % _PRIME * _key() + point * _key()) % _PRIME)
    place = ibis.row_number().over(group_by=ranked[person], order_by=ranked.rank)
    placed = ranked.mutate(place=place)
    return placed.filter(placed.place < rows).select(*names)


def identity(value: Value, column: Column, ops: IbisOps) -> Value:
    """What tells persons apart: the same for every way in which an id may be written."""
    kind = value.type()
    if kind.is_signed_integer():
        return value.cast("int64")
    if kind.is_uuid():
        return value.cast("string")
    storage = ops.storage(column.name, kind)
    text = value.cast("string")
    value = ops.stored(text if storage is Storage.TEXT else value, storage)
    if storage is Storage.FLOAT:
        number = ops.number(value, storage)  # no id for NaN, and one for both zeros
        return ibis.coalesce(ops.whole_text(number), number.cast("string"))
    stripped = value.cast("string").strip().nullif("")
    if storage is Storage.TEXT and column.kind is Kind.INTEGER:
        return ibis.coalesce(ops.whole_text(ops.number(value, storage)), stripped)
    return stripped


def _key() -> int:
    return 1 + secrets.randbelow(_PRIME - 1)


def _below_prime(number: Value) -> Value:
    # The remainder of a negative number has either sign, depending on the engine.
    return (number % _PRIME + _PRIME) % _PRIME


def _number(person: Value) -> Value:
    """A 64-bit number for each person; the same for the same person."""
    if person.type().is_integer():
        return person
    return _sqlite_hash(person) if person.get_backend().name == "sqlite" else person.hash()


@ibis.udf.scalar.python  # type: ignore[untyped-decorator]
def _sqlite_hash(text: str) -> int:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=7).digest()
    return int.from_bytes(digest, "big")
