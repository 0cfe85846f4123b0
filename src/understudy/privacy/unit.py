"""Whose privacy is protected: what one step between neighbouring tables may change.

Neighbours are tables of records as they were read: of a CSV file that opens a quote and never
closes it, the lines after it are part of one record.
"""

import json
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias, assert_never

from understudy.errors import BadInput


@dataclass(frozen=True)
class Sensitivity:
    """How far a sum over records moves, squared so that it stays an exact number.

    `one` bounds the squared norm of what one record adds; `swap` bounds the squared distance
    between what two records add.
    """

    one: Fraction
    swap: Fraction

    def __post_init__(self) -> None:
        # Whatever a record adds, swapping it is taking one away and adding another.
        if not 0 <= self.one <= self.swap <= 4 * self.one:
            msg = "Between one step and two: the bounds of a sensitivity contradict each other."
            raise ValueError(msg)


@dataclass(frozen=True)
class Record:
    """One record, added or removed."""

    def squared(self, sensitivity: Sensitivity) -> Fraction:
        """The squared distance between neighbours."""
        return sensitivity.one

    @property
    def steps(self) -> int:
        """How many records one step adds or removes at most."""
        return 1

    @property
    def arrivals(self) -> int:
        """How many records of one of two neighbours the other lacks at most."""
        return 1

    def __str__(self) -> str:
        return "one record, added or removed"


@dataclass(frozen=True)
class Replacement:
    """One record, replaced by another; the number of records is public."""

    def squared(self, sensitivity: Sensitivity) -> Fraction:
        """The squared distance between neighbours."""
        return sensitivity.swap

    @property
    def steps(self) -> int:
        """How many records one step adds or removes at most: one goes, one comes."""
        return 2

    @property
    def arrivals(self) -> int:
        """How many records of one of two neighbours the other lacks at most."""
        return 1

    def __str__(self) -> str:
        return "one record, replaced by another"


_OWN_WORDS = "with all their rows, of which at most"


@dataclass(frozen=True)
class Person:
    """One person, who holds at most `rows` rows that carry the same `id`.

    The cap is enforced where rows are counted: of a person with more, `rows` are kept by a
    keyed hash and the rest never reach a count. Rows without an id are never counted: nobody
    can tell whose they are, so no cap would protect the people they belong to.
    """

    id: str
    rows: int

    def __post_init__(self) -> None:
        if type(self.rows) is not int or self.rows < 1:
            msg = (
                f"At most {self.rows} rows per person: the cap must be a whole number, at least 1."
            )
            raise BadInput(msg)
        if _OWN_WORDS in self.id:
            msg = f"The column {self.id!r} reads like the privacy unit itself. Rename the column."
            raise BadInput(msg)

    def squared(self, sensitivity: Sensitivity) -> Fraction:
        """The squared distance between neighbours: all rows may add the same."""
        return sensitivity.one * self.rows**2

    @property
    def steps(self) -> int:
        """How many records one step adds or removes at most."""
        return self.rows

    @property
    def arrivals(self) -> int:
        """How many records of one of two neighbours the other lacks at most."""
        return self.rows

    def __str__(self) -> str:
        return f"one person ({self.id}) {_OWN_WORDS} {self.rows} count"


Unit: TypeAlias = Record | Replacement | Person

_PERSON = re.compile(
    r"one person \((?P<id>.+)\) with all their rows, of which at most (?P<rows>[1-9][0-9]{0,8}) "
    r"count",
    re.DOTALL,
)


def parse_unit(text: str) -> Unit:
    """Return the privacy unit that a certificate states in words; `ValueError` if it is none.

    >>> parse_unit(str(Person("patient_id", 3)))
    Person(id='patient_id', rows=3)
    """
    for unit in (Record(), Replacement()):
        if text == str(unit):
            return unit
    if found := _PERSON.fullmatch(text):
        return Person(found["id"], int(found["rows"]))
    msg = "A privacy unit is a record, a replaced record, or a person with at most k rows."
    raise ValueError(msg)


_AMBIGUOUS = re.compile(r'[()"]|[:;,.]\s')


def unit_in_words(text: str) -> str:
    """Return a unit as it is shown: in quotes, an id that could be taken for other words of it.

    >>> print(unit_in_words(str(Person("patient, if known", 3))))
    one person ("patient, if known") with all their rows, of which at most 3 count
    """
    found = _PERSON.fullmatch(text)
    if found is None or (found["id"].isprintable() and not _AMBIGUOUS.search(found["id"])):
        return text
    name = json.dumps(found["id"], ensure_ascii=not found["id"].isprintable())
    return f"one person ({name}) {_OWN_WORDS} {found['rows']} count"


def unit_to_json(unit: Unit) -> dict[str, Any]:
    """Return the privacy unit as plain data."""
    match unit:
        case Record():
            return {"kind": "record"}
        case Replacement():
            return {"kind": "replacement"}
        case Person():
            return {"kind": "person", "id": unit.id, "rows": unit.rows}
        case _:
            assert_never(unit)


def unit_named(text: str) -> Unit:
    """The unit as the command line writes it: record, replace, or person:ID:3.

    >>> str(unit_named("person:patient_id:3"))
    'one person (patient_id) with all their rows, of which at most 3 count'
    """
    if text == "record":
        return Record()
    if text == "replace":
        return Replacement()
    name, _, rows = text.removeprefix("person:").rpartition(":")
    if text.startswith("person:") and name and rows.isascii() and rows.isdecimal():
        return Person(name, int(rows))
    msg = (
        f"The unit {text!r} is unknown. Use record, replace, or person:ID:3 with the column that "
        "tells persons apart and how many rows of each may count."
    )
    raise BadInput(msg)
