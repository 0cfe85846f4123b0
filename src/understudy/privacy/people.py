"""Keeping at most k rows of each person, inside the engine that holds them."""

import hashlib
import math
import secrets
from collections.abc import Sequence

import ibis

from understudy.column import Column, Kind
from understudy.encode.ibis_ops import IbisOps, hexadecimal, without_collation
from understudy.encode.ops import Storage, Value

_EXACT, _EXACT_SINGLE = 2.0**53, 2.0**24
"""From these on, numbers of double and of single precision do not tell persons apart."""
_DIGITS = 15
"""Of no more digits, no two decimals are the same double."""
_PRIME = 2**31 - 1
"""Products of two numbers below it fit 63 bits on every engine."""


def keep_per_person(codes: Value, person: str, rows: int, also: Sequence[str] = ()) -> Value:
    """The codes of at most `rows` rows for each value of the column `person`.

    Columns named in `also` are no codes but are kept beside them; they decide, where two rows of
    a person have the same codes.

    Which rows stay is decided by a hash with a fresh secret key, of the person and of the row's
    own codes: so it depends on no other person, not on the order of rows, and the same rows stay
    for all counts of one table. The hash shifts and squares a random linear form over a prime
    field, three times: plain integer arithmetic, which all engines agree on. (Squared once, the
    places of equally spaced codes are far from evenly spread under some keys.)
    """
    names = [name for name in codes.columns if name != person and name not in also]
    codes = codes.filter(codes[person].notnull())
    if codes[person].type().is_string() and codes.get_backend().name == "postgres":
        # A collation of its own kind takes two ids for one, even where they are hashed.
        codes = codes.mutate(**{person: without_collation(codes[person])})
    linear = _person_part(_number(codes[person]), _key()) + _key()
    for name in names:
        # By way of 32 bits, for Ibis takes some codes for 64 bits which the engine holds in 32,
        # and leaves out a cast that it thinks needless; the product would overflow.
        code = codes[name].cast("int32").cast("int64")
        linear = linear + _mod(code * _key())
    ranked = _ranked(codes, linear, [_key() for _ in range(3)])
    # Rows that still tie are the same in all that is counted, so their order does not matter; but
    # not those that a collation takes for the same.
    beside = (ranked[name] for name in also)
    exact = [without_collation(one) if one.type().is_string() else one for one in beside]
    order = [ranked.rank, *(ranked[name] for name in names), *exact]
    who = [ranked[person]]
    if not _on_sqlite(linear):
        # A collation may take two ids for one, and their numbers tell them apart. (SQLite has
        # none after our functions, and no patience for so long a formula.)
        who.append(_number(ranked[person]))
    place = ibis.row_number().over(group_by=who, order_by=order)
    placed = ranked.mutate(place=place)
    return placed.filter(placed.place < rows).select(*names, *also)


def identity(value: Value, column: Column, ops: IbisOps) -> Value:
    """What tells persons apart: the same for every way in which an id may be written.

    Two ids that differ as they are stored are never taken for one: both would have to share the
    rows of a single person. Where a number is not exact it identifies nobody.
    """
    kind, loose = value.type(), _on_sqlite(value)
    if kind.is_signed_integer():
        # Looked at before the cast, which makes a whole number of anything.
        return (_where_whole(value) if loose else value).cast("int64")
    if kind.is_uuid() or kind.is_binary():
        return (hexadecimal(_text(value)) if loose else _text(value)).nullif("")
    storage = ops.storage(column.name, kind)
    value = ops.stored(_text(value) if storage is Storage.TEXT else value, storage)
    if kind.is_decimal() and not loose:
        known = ops.number(value, storage).notnull()  # neither NaN nor infinite
        return ibis.ifelse(known, _decimal_text(value), ibis.null("string"))
    if storage is Storage.FLOAT:
        number = ops.number(value, storage)  # no id for NaN, and one for both zeros
        exact = _EXACT_SINGLE if kind.is_float32() else _EXACT
        small = (number > -exact) & (number < exact)
        number = ibis.ifelse(small, number, ibis.null("float64"))
        text = ibis.coalesce(ops.whole_text(number), _text(number))
        return ibis.coalesce(_where_whole(value).cast("string"), text) if loose else text
    stripped = ops.identifier(value, storage).strip().nullif("")
    if storage is Storage.TEXT and column.kind is Kind.INTEGER:
        # With an exponent, say: so short that a double tells it from all others.
        short = ibis.ifelse(stripped.length() <= _DIGITS, value, ibis.null("string"))
        number = ops.whole_text(ops.number(short, storage))
        return ibis.coalesce(_whole_digits(ops.plain(stripped)), number, stripped)
    return stripped


def _text(value: Value) -> Value:
    """A stored value as text, with all digits of a fraction."""
    text = value.cast("string")
    # SQLite's cast leaves out the last digits.
    return ibis.ifelse(value.typeof() == "real", _quote(value), text) if _on_sqlite(value) else text


def _where_whole(value: Value) -> Value:
    """The value where SQLite stores it as a whole number, whatever the column's type is."""
    return ibis.ifelse(value.typeof() == "integer", value, ibis.null(value.type()))


def _decimal_text(value: Value) -> Value:
    """The text of a decimal, with all its digits and without zeros at its end."""
    text = value.cast("string")
    return ibis.ifelse(text.contains("."), text.re_replace(r"\.?0+$", ""), text)


def _whole_digits(text: Value) -> Value:
    """The digits of a whole number, written in one way however many there are; else unknown."""
    whole = text.re_search(r"^[+-]?[0-9]+([.]0*)?$")
    digits = text.re_replace(r"[.]0*$", "").re_replace(r"^[+]", "").re_replace(r"^(-?)0+", r"\1")
    one = ibis.ifelse(digits.isin(["", "-"]), "0", digits)
    return ibis.ifelse(whole, one, ibis.null("string"))


def _key() -> int:
    return 1 + secrets.randbelow(_PRIME - 1)


def _number(person: Value) -> Value:
    """A 64-bit number for each person; the same for the same person."""
    if person.type().is_integer():
        return person
    return _sqlite_hash(person) if _on_sqlite(person) else person.hash()


def _mod(number: Value) -> Value:
    """The remainder by the prime."""
    return _sqlite_mod(number) if _on_sqlite(number) else number % _PRIME


def _person_part(number: Value, key: int) -> Value:
    if _on_sqlite(number):
        return _sqlite_times(number, key)
    # The remainder of a negative number has either sign, depending on the engine.
    return _mod(_mod(_mod(number) + _PRIME) * key)


def _ranked(table: Value, linear: Value, keys: list[int]) -> Value:
    """The table with the place of each row: the linear form, shifted and squared for each key."""
    if _on_sqlite(linear):
        return table.mutate(rank=_sqlite_rank(linear, *keys))
    table = table.mutate(rank=_mod(linear))
    for key in keys:
        shifted = _mod(table.rank + key)
        table = table.mutate(rank=_mod(shifted * shifted))
    return table


def _on_sqlite(value: Value) -> bool:
    return bool(value.get_backend().name == "sqlite")


@ibis.udf.scalar.builtin(name="quote")  # type: ignore[untyped-decorator]
def _quote(number) -> str:  # type: ignore[empty-body, no-untyped-def]  # noqa: ANN001 - of any type
    """SQLite's own function: no two fractions have the same text."""


@ibis.udf.scalar.python  # type: ignore[untyped-decorator]
def _sqlite_hash(text: str) -> int:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=7).digest()
    return int.from_bytes(digest, "big")


# Calls, because SQLite computes remainders in doubles, which hold only the first digits, and
# because its parser does not take formulas as deep as the others do.
@ibis.udf.scalar.python  # type: ignore[untyped-decorator]
def _sqlite_times(number: int, key: int) -> int:
    # A column of whole numbers may hold a fraction or infinity there, and nothing may raise.
    return int(number % _PRIME) * key % _PRIME if math.isfinite(number) else 0


@ibis.udf.scalar.python  # type: ignore[untyped-decorator]
def _sqlite_mod(number: int) -> int:
    return number % _PRIME


@ibis.udf.scalar.python  # type: ignore[untyped-decorator]
def _sqlite_rank(number: int, first: int, second: int, third: int) -> int:
    for key in (first, second, third):
        number = (number + key) ** 2 % _PRIME
    return number
