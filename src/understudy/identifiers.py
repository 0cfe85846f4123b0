"""Which columns identify people, by their names alone.

Column names are public, so this costs no privacy budget. A name is split into words; the words of
several languages are compared with the lists in `identifier_words`. A suggestion is certain where
the name leaves little doubt, such as `email` or `first_name`. Others, such as `name` or `store_id`,
need evidence from the rows, which discovery gathers under differential privacy.
"""

import re
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum

from understudy import identifier_words as words
from understudy.column import Column, Kind, Role
from understudy.encode.ops import NUMBER_STORAGE, Storage
from understudy.schema import Schema

_WORD = re.compile(r"[^\W\d_]+")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_ROW_NUMBER = re.compile(r"unnamed:? ?0?|__index_level_\d+__", re.IGNORECASE)
"""What pandas calls a row index that was saved without a name."""
_LONGEST_CORE = 4
"""Words: numero de telefono, date of no birth."""
_NO_FACTS = {
    field.name: field.default for field in fields(Column) if field.name not in {"name", "kind"}
} | {"kind": Kind.UNKNOWN}
_NUMBERS_MAY_HOLD = {Role.ID, Role.PHONE}


@dataclass(frozen=True)
class Suggestion:
    """The role that the name of a column suggests."""

    role: Role
    certain: bool
    """Whether the name alone is enough to leave the column out."""


class NamePart(StrEnum):
    """Which part of a person's name a column holds."""

    FIRST = "first"
    LAST = "last"
    WHOLE = "whole"


def suggested_role(name: str) -> Suggestion | None:
    """Return the role that a column's name suggests; None for an ordinary column.

    >>> suggested_role("E-Mail"), suggested_role("emailed")
    (Suggestion(role=<Role.EMAIL: 'email'>, certain=True), None)
    >>> suggested_role("store_id")
    Suggestion(role=<Role.ID: 'id'>, certain=False)
    """
    if _ROW_NUMBER.fullmatch(name.strip()):
        return Suggestion(Role.ID, certain=True)
    spelled = _words(name)
    for length in range(min(_LONGEST_CORE, len(spelled)), 0, -1):
        for start in range(len(spelled) - length + 1):
            core = "".join(spelled[start : start + length])
            before, after = spelled[:start], spelled[start + length :]
            found = _of_core(core, before, after)
            if found is not None:
                return found
    return None


def suggestions(
    schema: Schema, storage: Mapping[str, Storage], used: Collection[str] = ()
) -> dict[str, Suggestion]:
    """Return by column the suggested roles of columns about which nothing is declared.

    Args:
        schema: The public facts. A column with any declared fact is never in the answer.
        storage: How the columns are stored. Truth values and dates identify nobody; numbers may
            be identifiers or phones.
        used: Columns that other public choices name, such as the target or a cause of it.
    """
    found = {
        column.name: suggestion
        for column in schema
        if column.name not in used and not _declared(column)
        if (suggestion := suggested_role(column.name)) is not None
    }
    return {name: one for name, one in found.items() if _can_hold(storage[name], one.role)}


def name_part(name: str) -> NamePart:
    """Return which part of a person's name a column of this name holds.

    >>> str(name_part("customer_surname")), str(name_part("Vorname")), str(name_part("contact"))
    ('last', 'first', 'whole')
    """
    joined = "".join(_words(name))
    if any(joined.endswith(word) or joined.startswith(word) for word in words.FIRST_NAMES):
        return NamePart.FIRST
    if any(joined.endswith(word) or joined.startswith(word) for word in words.LAST_NAMES):
        return NamePart.LAST
    return NamePart.WHOLE


def whose(name: str) -> str:
    """Return whose field it is, as far as the name says: "mother" of "mother_surname"."""
    return "".join(word for word in _words(name) if word in words.PEOPLE)


def holds_uuid(name: str) -> bool:
    """Return whether a column's name says that its identifiers are UUIDs."""
    return not {"uuid", "guid"}.isdisjoint(_words(name))


def holds_street(name: str) -> bool:
    """Return whether a column's name says that it holds a street without a city."""
    return not words.STREETS.isdisjoint(_words(name))


def _declared(column: Column) -> bool:
    """Whether any fact about the column is declared."""
    return any(getattr(column, fact) != value for fact, value in _NO_FACTS.items())


def _can_hold(storage: Storage, role: Role) -> bool:
    return storage is Storage.TEXT or (
        storage.public == NUMBER_STORAGE and role in _NUMBERS_MAY_HOLD
    )


def _words(name: str) -> list[str]:
    """Return the words of a name in lower case, without accents and digits."""
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss"))
    plain = "".join(mark for mark in plain if not unicodedata.combining(mark))
    parts = _WORD.findall(_HUMP.sub(" ", plain))
    return [word for part in parts for word in _parted(part.lower())]


def _parted(word: str) -> list[str]:
    """Return the parts of a compound such as `userid` or `kundenname`."""
    if word in words.CORES:
        return [word]
    for cut in range(1, len(word)):
        if word[cut:] in words.CORES and word[:cut] in words.PEOPLE:
            return [word[:cut], word[cut:]]
    return [word]


def _of_core(core: str, before: list[str], after: list[str]) -> Suggestion | None:
    """Return what a name with this core suggests, given the words around the core."""
    around = [word for word in (*before, *after) if word not in words.LINKS]
    # "num_comments" counts them, and "no_phone" says that there is none.
    counted = core not in words.NUMBERS and not words.NUMBERS.isdisjoint(before)
    if counted or not words.BLOCKING.isdisjoint(around):
        return None
    if core in words.NAMES:
        return _of_name(around)
    if core in words.NUMBERS:
        return _of_number(around)
    if core == "id":
        return _of_id(around, before, after)
    return _of_other(core, around, last=not after)


def _of_other(core: str, around: list[str], *, last: bool) -> Suggestion | None:
    known = (words.PEOPLE | words.PLACES).issuperset(around)
    if core in words.CERTAIN:
        # In "backup_email" the last word is what the column holds; in "email_campaign" it is not.
        return Suggestion(words.CERTAIN[core], certain=known) if known or last else None
    if core in words.UNCERTAIN and (known or (core in words.HEADS and last)):
        return Suggestion(words.UNCERTAIN[core], certain=False)
    return None


def _of_id(around: list[str], before: list[str], after: list[str]) -> Suggestion | None:
    if not around or words.IDENTIFIED.issuperset(around):
        return Suggestion(Role.ID, certain=True)
    # "store_id" and "id_tienda" are identifiers, "photo_id_scan" is none.
    return None if before and after else Suggestion(Role.ID, certain=False)


def _of_name(around: list[str]) -> Suggestion | None:
    """A name is a person's if it says so; alone it may be a product's."""
    if not around:
        return Suggestion(Role.NAME, certain=False)
    return Suggestion(Role.NAME, certain=True) if words.PEOPLE.issuperset(around) else None


def _of_number(around: list[str]) -> Suggestion | None:
    if around and (words.IDENTIFIED | words.NUMBERED).issuperset(around):
        return Suggestion(Role.ID, certain=False)
    return None
