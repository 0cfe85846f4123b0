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
    for all counts of one table. The hash shifts and squares a random linear form over a prime
    field, three times: plain integer arithmetic, which all engines agree on. (Squared once, the
    places of equally spaced codes are far from evenly spread under some keys.)
    """
    names = [name for name in codes.columns if name != person]
    codes = codes.filter(codes[person].notnull())
    # The remainder of a negative number has either sign, depending on the engine.
    linear = _mod(_mod(_mod(_number(codes[person])) + _PRIME) * _key()) + _key()
    for name in names:
        # By way of 32 bits, for Ibis takes some codes for 64 bits which the engine holds in 32,
        # and leaves out a cast that it thinks needless; the product would overflow.
        code = codes[name].cast("int32").cast("int64")
        linear = linear + _mod(code * _key())
    ranked = codes.mutate(rank=_mod(linear))
    for _ in range(3):
        shifted = _mod(ranked.rank + _key())
        ranked = ranked.mutate(rank=_mod(shifted * shifted))
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


def _number(person: Value) -> Value:
    """A 64-bit number for each person; the same for the same person."""
    if person.type().is_integer():
        return person
    return _sqlite_hash(person) if _on_sqlite(person) else person.hash()


def _mod(number: Value) -> Value:
    """The remainder by the prime; of SQLite's own, doubles hold only the first digits."""
    return _sqlite_mod(number) if _on_sqlite(number) else number % _PRIME


def _on_sqlite(value: Value) -> bool:
    return bool(value.get_backend().name == "sqlite")


@ibis.udf.scalar.python  # type: ignore[untyped-decorator]
def _sqlite_hash(text: str) -> int:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=7).digest()
    return int.from_bytes(digest, "big")


@ibis.udf.scalar.python  # type: ignore[untyped-decorator]
def _sqlite_mod(number: int) -> int:
    return number % _PRIME
