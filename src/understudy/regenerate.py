"""Invented values for identifiers and personal fields.

A value depends on the release's drawing seed, the column's public facts and the number of its row,
and on nothing else: no real value is read. Rows can therefore be made in any blocks. Identifiers,
e-mail addresses, phone numbers and URLs are unique within a release.

Nothing here reaches anybody: e-mail addresses and URLs use domains that are reserved for examples,
and phone numbers a country code that is assigned to no country.
"""

import hashlib
import importlib.util
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from understudy.column import UUID, Column, Kind, Role
from understudy.errors import BadInput, listed
from understudy.identifiers import NamePart, holds_street, holds_uuid, name_part, whose
from understudy.schema import Schema

EXTRA = "understudy[fake]"
"""What installs Faker, the library of names and addresses."""
LONGEST = 512
"""Bytes of an invented text."""
_DIGITS = 7
"""Of identifiers without a pattern; more where rows are more."""
_PHONES = 10**9
_LOCALE, _DRAWS = "en_US", 2000
_STREET_NUMBERS = 998


def arrow_type(column: Column) -> pa.DataType:
    """Return the type of a column's invented values."""
    whole = column.role is Role.ID and column.kind is Kind.INTEGER and column.pattern is None
    return pa.int64() if whole else pa.string()


def needs_faker(column: Column) -> bool:
    """Return whether the column's values can only be invented with Faker."""
    return column.role in {Role.NAME, Role.ADDRESS} and column.pattern is None


def has_faker() -> bool:
    """Return whether Faker is installed."""
    return importlib.util.find_spec("faker") is not None


def check_regenerated(schema: Schema, rows: int | None) -> None:
    """Refuse, by public facts alone, columns whose values cannot be invented.

    Args:
        schema: The public facts, with the columns to regenerate.
        rows: The number of rows of the release, if it was stated.
    """
    columns = [column for column in schema if column.regenerated]
    texts = [column.name for column in columns if column.role is Role.FREE_TEXT]
    if texts:
        msg = (
            f"Free text cannot be regenerated: {listed(texts)}. Invented sentences would say "
            "nothing. Remove regenerate, or give the column another role."
        )
        raise BadInput(msg)
    lacking = [column.name for column in columns if needs_faker(column)]
    if lacking and not has_faker():
        raise BadInput(_no_faker(lacking))
    for column in columns:
        digits = (column.pattern or "").count("#")
        if rows is not None and digits and rows >= 10**digits:
            msg = (
                f"Column {column.name!r}: the pattern {column.pattern!r} has {10**digits - 1:,} "
                f"identifiers, and {rows:,} rows need one each. Add a # for each further digit."
            )
            raise BadInput(msg)


def with_new_values(table: pa.Table, schema: Schema, start: int, seed: int) -> pa.Table:
    """Return synthetic rows with their invented values, in the order of the schema.

    Args:
        table: The decoded rows of a release, from row `start` on.
        schema: The schema of the release.
        start: How many rows of the release come before these.
        seed: The drawing seed of the release.
    """
    new = [column for column in schema if column.regenerated]
    if not new:
        return table
    made = {column.name: new_values(column, start, table.num_rows, seed) for column in new}
    names = [name for name in schema.names if name in made or name in table.column_names]
    return pa.table({name: made[name] if name in made else table[name] for name in names})


def new_values(column: Column, start: int, count: int, seed: int) -> pa.Array:
    """Return the invented values of a column for rows `start` to `start + count`."""
    rows = _Rows(start, count, seed)
    if column.pattern is not None and column.pattern != UUID:
        return _in_pattern(column.pattern, rows.numbers)
    if column.role is Role.ID:
        return _ids(column, rows)
    make = {
        Role.EMAIL: _emails,
        Role.PHONE: _phones,
        Role.NAME: _names,
        Role.ADDRESS: _addresses,
        Role.URL: _urls,
    }.get(column.role)
    if make is None:
        msg = f"Column {column.name!r} has the role {column.role}: no values can be invented."
        raise BadInput(msg)
    return make(column, rows)


@dataclass(frozen=True)
class _Rows:
    """Rows of a release, and random bits of their own for each of them."""

    start: int
    count: int
    seed: int

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The numbers of the rows, from 1."""
        return np.arange(self.start + 1, self.start + self.count + 1, dtype=np.int64)

    def key(self, purpose: str) -> NDArray[np.uint64]:
        """Return two numbers that depend on the seed and the purpose alone."""
        name = int.from_bytes(hashlib.sha256(purpose.encode()).digest()[:16], "big")
        return (
            np.random.SeedSequence([self.seed, name]).generate_state(2, np.uint64).astype(np.uint64)
        )

    def bits(self, purpose: str) -> NDArray[np.uint64]:
        """Return four random numbers for each row, the same in whatever block the row is."""
        # The generator counts: its four outputs number n are a function of the key and n.
        generator = np.random.Philox(key=self.key(purpose), counter=self.start)
        return generator.random_raw(4 * self.count).reshape(self.count, 4)

    def among(self, words: tuple[str, ...], bits: NDArray[np.uint64]) -> pa.Array:
        """Return a word for each row."""
        return pa.array(words).take(pa.array((bits % len(words)).astype(np.int64)))


def _ids(column: Column, rows: _Rows) -> pa.Array:
    if arrow_type(column) == pa.int64():
        return pa.array(rows.numbers)
    if column.pattern == UUID or holds_uuid(column.name):
        return _uuids(rows.bits(f"uuid {column.name}"))
    return _in_pattern("#" * _DIGITS, rows.numbers)


def _in_pattern(pattern: str, numbers: NDArray[np.int64]) -> pa.Array:
    """Return the numbers with their digits in place of the marks of a pattern.

    Where a number has more digits than the pattern has marks, the last run of marks grows.
    """
    marks = pattern.count("#")
    digits = pc.utf8_lpad(pa.array(numbers).cast(pa.string()), marks, "0")
    last = pattern.rindex("#")
    parts: list[pa.Array | str] = []
    text, taken = "", 0
    for place, mark in enumerate(pattern):
        if mark != "#":
            text += mark
            continue
        end = None if place == last else taken + 1
        parts += [text, pc.utf8_slice_codeunits(digits, taken, end)]
        text, taken = "", taken + 1
    return pc.binary_join_element_wise(*parts, text, "")


def _uuids(bits: NDArray[np.uint64]) -> pa.Array:
    """Return UUIDs of version 4 from 122 of the bits."""
    octets = np.ascontiguousarray(bits[:, :2]).view(np.uint8).reshape(-1, 16).copy()
    octets[:, 6] = octets[:, 6] & 0x0F | 0x40
    octets[:, 8] = octets[:, 8] & 0x3F | 0x80
    text = octets.tobytes().hex()
    cuts = ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))
    return pa.array(
        ["-".join(text[at + a : at + b] for a, b in cuts) for at in range(0, len(text), 32)],
        pa.string(),
    )


def _emails(column: Column, rows: _Rows) -> pa.Array:
    numbers = _in_pattern("######", rows.numbers)
    if not has_faker():
        return pc.binary_join_element_wise("person", numbers, "@example.org", "")
    first, last = _person(column, rows)
    plain = [
        pc.replace_substring_regex(pc.utf8_lower(part), "[^a-z]", "") for part in (first, last)
    ]
    # The number makes the address unique.
    return pc.binary_join_element_wise(plain[0], ".", plain[1], numbers, "@example.org", "")


def _phones(column: Column, rows: _Rows) -> pa.Array:
    """Return phone numbers: a permutation of the row numbers, so that each is unique."""
    first, second = (int(part) for part in rows.key(f"phone {column.name}"))
    # Every step that shares no factor with 10**9 visits each number once.
    step = first % (_PHONES // 10) * 10 + (1, 3, 7, 9)[second % 4]
    numbers = (rows.numbers % _PHONES * step + second % _PHONES) % _PHONES
    return _in_pattern("(+999) ### ### ###", numbers)


def _urls(column: Column, rows: _Rows) -> pa.Array:
    del column
    return _in_pattern("https://example.org/######", rows.numbers)


def _names(column: Column, rows: _Rows) -> pa.Array:
    first, last = _person(column, rows)
    part = name_part(column.name)
    if part is NamePart.WHOLE:
        return pc.binary_join_element_wise(first, last, " ")
    return first if part is NamePart.FIRST else last


def _person(column: Column, rows: _Rows) -> tuple[pa.Array, pa.Array]:
    """Return a person's first and last name for each row, the same in all columns about it."""
    words, bits = _words(column.name), rows.bits(f"person {whose(column.name)}")
    return rows.among(words.first, bits[:, 0]), rows.among(words.last, bits[:, 1])


def _addresses(column: Column, rows: _Rows) -> pa.Array:
    words, bits = _words(column.name), rows.bits(f"address {whose(column.name)}")
    number = pa.array((bits[:, 0] % _STREET_NUMBERS + 1).astype(np.int64)).cast(pa.string())
    street = pc.binary_join_element_wise(number, rows.among(words.streets, bits[:, 1]), " ")
    if holds_street(column.name):
        return street
    return pc.binary_join_element_wise(street, rows.among(words.cities, bits[:, 2]), ", ")


@dataclass(frozen=True)
class _Words:
    """What names and addresses are made of."""

    first: tuple[str, ...]
    last: tuple[str, ...]
    streets: tuple[str, ...]
    cities: tuple[str, ...]


def _words(name: str) -> _Words:
    if not has_faker():
        raise BadInput(_no_faker([name]))
    return _faker_words()


@lru_cache(maxsize=1)
def _faker_words() -> _Words:
    """Return words from Faker, drawn once: to draw each row of its own would be slow."""
    from faker import Faker  # noqa: PLC0415 - an extra

    fake = Faker(_LOCALE)
    fake.seed_instance(0)

    def some(draw: str) -> tuple[str, ...]:
        return tuple(sorted({str(getattr(fake, draw)()) for _ in range(_DRAWS)}))

    return _Words(*(some(draw) for draw in ("first_name", "last_name", "street_name", "city")))


def _no_faker(names: list[str]) -> str:
    return (
        f"Names and addresses are invented with Faker, which is not installed: {listed(names)}. "
        f"Install it with `pip install '{EXTRA}'`, or set regenerate = false or a pattern of your "
        "own for these columns in the schema, such as 'Person ######'."
    )
