"""Public facts about one column, checked when they are stated.

A fact counts as public because a person declared it (`source = "declared"`). A fact drafted
from the rows (`"data"`) is private until a person has reviewed it; one bought by discovery
(`"bought"`) has been paid for out of the release's ε.
"""

import datetime as dt
import math
from dataclasses import dataclass
from enum import StrEnum
from typing import NoReturn, TypeAlias

from understudy.domain import repeated
from understudy.errors import SchemaError, listed

Number: TypeAlias = int | float | dt.date | dt.datetime
"""A value of an integer, real, date or datetime column."""
Label: TypeAlias = str | int
"""A value of a categorical or ordinal column."""

LARGEST_INTEGER = 2**52
"""Integers up to here, and their neighbours, are exact in every engine and in a double."""
MOST_BINS = 2**16
MOST_EDGES = 2**10 + 1
"""Unequal bins are searched by nested comparisons, which engines evaluate slowly."""
MOST_ATOMS = 32
FORMAT_MARKS = " -_:/,."
"""What may stand between the parts of a date: characters that every engine takes alike."""
DATE_PARTS = "YmdbBHMSIpz"
"""Directives of a date format: numbers, names of months, the clock of twelve hours, the zone."""
DECIMAL_MARKS, THOUSANDS_MARKS = (".", ","), (",", ".", " ", "'")
MOST_DECIMALS = 12
LONGEST_AFFIX = 8
"""Letters of a currency or unit that stands before or after each number."""
_NO_AFFIX = "+-.,'\"\\=@\t\r\n\N{FULLWIDTH EQUALS SIGN}\N{FULLWIDTH COMMERCIAL AT}"
"""Characters of numbers, and those by which a spreadsheet would take a number for a formula."""
LONGEST_PATTERN = 64
UUID = "uuid"
"""The pattern of identifiers that are UUIDs."""
WHITESPACE = " \t\n\r\v\f"
"""Stripped from both ends of text cells and of declared categories."""


class Kind(StrEnum):
    """What a column's values are."""

    CATEGORICAL = "categorical"
    ORDINAL = "ordinal"
    BOOLEAN = "boolean"
    INTEGER = "integer"
    REAL = "real"
    DATE = "date"
    DATETIME = "datetime"
    UNKNOWN = "unknown"
    """Nobody has said: discovery finds out, for a price."""

    @property
    def listed(self) -> bool:
        """Whether values come from a list of categories."""
        return self in {Kind.CATEGORICAL, Kind.ORDINAL}

    @property
    def numeric(self) -> bool:
        """Whether values lie between bounds."""
        return self in {Kind.INTEGER, Kind.REAL, Kind.DATE, Kind.DATETIME}


class Role(StrEnum):
    """What a column is for; identifiers, personal fields and `drop` columns are never coded."""

    FEATURE = "feature"
    TARGET = "target"
    PROTECTED = "protected"
    ADMISSIBLE = "admissible"
    ID = "id"
    EMAIL = "email"
    PHONE = "phone"
    NAME = "name"
    ADDRESS = "address"
    URL = "url"
    FREE_TEXT = "free_text"
    DROP = "drop"

    @property
    def coded(self) -> bool:
        """Whether columns of this role are encoded, modelled and released."""
        return self in {Role.FEATURE, Role.TARGET, Role.PROTECTED, Role.ADMISSIBLE}

    @property
    def identifies(self) -> bool:
        """Whether columns of this role identify a person, so that none of their values is used."""
        return not self.coded and self is not Role.DROP


class Source(StrEnum):
    """Who says so."""

    DECLARED = "declared"
    DATA = "data"
    BOUGHT = "bought"


@dataclass(frozen=True, kw_only=True)
class Column:
    """The public facts about one column.

    >>> Column(name="age", kind=Kind.INTEGER, bounds=(0, 120), bins=24, null=False).silent
    ()
    >>> Column(name="job", kind=Kind.CATEGORICAL).silent
    ('categories', 'null')
    """

    name: str
    kind: Kind
    categories: tuple[Label, ...] | None = None
    """All values, strings or integers; for an ordinal column from lowest to highest."""
    categories_file: str | None = None
    """The public code list that `categories` was read from, as the schema file names it."""
    other: str | None = None
    """The label of a cell of its own for values outside `categories`; without it they count
    as missing."""
    bounds: tuple[Number, Number] | None = None
    """Least and greatest value, both included; what lies outside moves to the nearer one."""
    bins: int | None = None
    """How many bins of equal width to cut the bounds into."""
    edges: tuple[Number, ...] | None = None
    """Bin edges in place of `bins`: each bin holds its left edge, the last one both."""
    atoms: tuple[Number, ...] = ()
    """Values that many records share, such as 0 in capital gains; each is a cell of its own."""
    null: bool | None = None
    """Whether cells may be missing; None leaves it open."""
    format: str | None = None
    """How a text column writes its dates, such as %d.%m.%Y; ISO 8601 without it."""
    decimal: str | None = None
    """The decimal mark of numbers written as text: a point without it."""
    thousands: str | None = None
    """The mark between groups of three digits; none without it."""
    prefix: str | None = None
    """What stands before each number written as text, such as $."""
    suffix: str | None = None
    """What stands after each number written as text, such as %."""
    decimals: int | None = None
    """How many decimals values have at most; released numbers are rounded to as many."""
    padded: bool | None = None
    """Whether all values are written with as many decimals, as in 12.50."""
    step: int | float | None = None
    """Values are multiples of this, such as 0.5; released numbers are, too."""
    spelling: tuple[str, str] | None = None
    """How a boolean column writes no and yes, such as ("N", "Y"); false and true without it."""
    regenerate: bool | None = None
    """Whether an identifier or a personal field is released with new, invented values."""
    pattern: str | None = None
    """The pattern of new identifiers, such as "C-######"; each # stands for a digit. Or "uuid"."""
    role: Role = Role.FEATURE
    source: Source = Source.DECLARED

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name or not is_plain_text(self.name):
            msg = "A column needs a name, without NUL and half characters."
            raise SchemaError(msg)
        for fact, choices in (("kind", Kind), ("role", Role), ("source", Source)):
            try:
                object.__setattr__(self, fact, choices(getattr(self, fact)))
            except ValueError:
                self._refuse(f"{fact} is unknown; use one of {listed(choices)}.")
        self._check_types()
        self._check_categories()
        self._check_numbers()
        if self.format is not None:
            self._check_format()
        self._check_written()
        self._check_regenerated()

    @property
    def coded(self) -> bool:
        """Whether the column is encoded and released at all."""
        return self.role.coded

    @property
    def regenerated(self) -> bool:
        """Whether the column is released with invented values."""
        return self.role.identifies and bool(self.regenerate)

    @property
    def silent(self) -> tuple[str, ...]:
        """The facts that an encoding needs and nobody has stated."""
        if not self.coded:
            return ()
        facts = ["kind"] if self.kind is Kind.UNKNOWN else []
        if self.kind.listed and self.categories is None:
            facts.append("categories")
        if self.kind.numeric and self.bounds is None:
            facts.append("bounds")
        if self.null is None:
            facts.append("null")
        return tuple(facts)

    def _refuse(self, message: str) -> NoReturn:
        where = f"Column {self.name!r}: "
        raise SchemaError(where + message)

    def _check_types(self) -> None:
        for fact in ("categories", "bounds", "edges", "atoms", "spelling"):
            value = getattr(self, fact)
            if isinstance(value, list):
                object.__setattr__(self, fact, tuple(value))
            elif value is not None and not isinstance(value, tuple):
                self._refuse(f"{fact} must be a list of values.")
        wanted = {
            "null": bool,
            "other": str,
            "format": str,
            "categories_file": str,
            "bins": int,
            **dict.fromkeys(("decimal", "thousands", "prefix", "suffix", "pattern"), str),
            "decimals": int,
            "padded": bool,
            "regenerate": bool,
        }
        for fact, kind in wanted.items():
            value = getattr(self, fact)
            # bool is an int to Python, and never what a person means by a number of bins.
            if value is not None and type(value) is not kind:
                self._refuse(f"{fact} must be {kind.__name__}, not {type(value).__name__}.")

    def _check_categories(self) -> None:
        if self.kind.listed:
            if self.categories is not None:
                self._check_labels(self.categories)
            if self.other is not None:
                self._check_other(self.other)
        elif any(fact is not None for fact in (self.categories, self.categories_file, self.other)):
            self._refuse(
                f"categories and other belong to categorical and ordinal columns, and this one "
                f"is {self.kind}. Remove them or change the kind."
            )

    def _check_labels(self, labels: tuple[Label, ...]) -> None:
        if not labels:
            if self.other is None and self.null is not True:
                self._refuse("the category list is empty; list the values or leave the fact out.")
            return  # every value is "other", or missing: nothing was inferred about the column
        if all(isinstance(label, str) for label in labels):
            labels = tuple(str(label).strip(WHITESPACE) for label in labels)
            object.__setattr__(self, "categories", labels)
            if not all(labels):
                self._refuse("a category may not be empty: an empty cell is a missing one.")
            if not all(is_plain_text(str(label)) for label in labels):
                self._refuse("a category may not hold NUL or half a character.")
        elif any(type(label) is not int for label in labels):
            self._refuse("categories must be all strings or all integers.")
        elif any(abs(int(label)) > LARGEST_INTEGER for label in labels):
            self._refuse("integer categories must lie within ±2**52; use strings beyond that.")
        twice = repeated(str(label) for label in labels)
        if twice:
            self._refuse(f"categories repeated: {listed(twice)}. List each once.")

    def _check_other(self, other: str) -> None:
        labels = self.categories or ()
        other = other.strip(WHITESPACE)
        object.__setattr__(self, "other", other)
        if any(isinstance(label, int) for label in labels):
            self._refuse("an 'other' label needs categories that are strings.")
        if not other or other in labels or not is_plain_text(other):
            self._refuse("the label of 'other' must be non-empty and not itself a category.")

    def _check_numbers(self) -> None:
        given = {
            "bounds": self.bounds,
            "bins": self.bins,
            "edges": self.edges,
            "atoms": self.atoms or None,
        }
        if not self.kind.numeric:
            wrong = [name for name, value in given.items() if value is not None]
            if wrong:
                self._refuse(
                    f"{listed(wrong)} belong to integer, real, date and datetime columns, and "
                    f"this one is {self.kind}. Remove them or change the kind."
                )
            return
        for fact in ("bounds", "edges", "atoms"):
            values = getattr(self, fact)
            if values is not None:
                checked = tuple(self._number(value, fact) for value in values)
                object.__setattr__(self, fact, checked)
        self._check_edges()
        self._check_bounds()
        if len(set(self.atoms)) < len(self.atoms):
            self._refuse("atoms repeated. List each once.")
        if len(self.atoms) > MOST_ATOMS:
            self._refuse(f"at most {MOST_ATOMS} atoms can be used; keep the commonest.")

    def _check_edges(self) -> None:
        if self.edges is None:
            return
        if self.bins is not None:
            self._refuse("give bins or edges, not both.")
        if len(self.edges) < 2:  # noqa: PLR2004 - a bin has two ends
            self._refuse("edges needs at least two values.")
        if any(not left < right for left, right in zip(self.edges, self.edges[1:], strict=False)):  # type: ignore[operator]
            self._refuse(
                "edges must increase from each to the next. Sort them, and list each once."
            )
        ends = (self.edges[0], self.edges[-1])
        if self.bounds is None:
            object.__setattr__(self, "bounds", ends)
        elif self.bounds != ends:
            self._refuse(
                "the first and last edge must equal the bounds; drop one of the two facts."
            )

    def _check_bounds(self) -> None:
        if self.bins is not None and not 1 <= self.bins <= MOST_BINS:
            self._refuse(f"bins must be a whole number between 1 and {MOST_BINS:,}.")
        if self.edges is not None and len(self.edges) > MOST_EDGES:
            self._refuse(
                f"at most {MOST_EDGES:,} edges can be used; bins of equal width can be more."
            )
        if self.bounds is None:
            return
        if len(self.bounds) != 2:  # noqa: PLR2004 - least and greatest
            self._refuse("bounds are two values, the least and the greatest.")
        least, greatest = self.bounds
        if least > greatest:  # type: ignore[operator]
            self._refuse(f"bounds are reversed: {least} is greater than {greatest}. Swap them.")
        if self.kind is Kind.REAL and least == greatest:
            self._refuse("bounds of a real column must differ.")

    def _number(self, value: object, fact: str) -> Number:
        """The value in this column's own type, or a refusal."""
        if self.kind is Kind.DATETIME and isinstance(value, dt.datetime):
            try:
                naive = value.astimezone(dt.UTC).replace(tzinfo=None) if value.tzinfo else value
            except OverflowError:
                self._refuse(f"{fact} must lie within the years 1 to 9999.")
            return naive.replace(microsecond=0)
        if self.kind is Kind.DATETIME and isinstance(value, dt.date):
            return dt.datetime(value.year, value.month, value.day)  # noqa: DTZ001 - naive as the column
        if self.kind is Kind.DATE and isinstance(value, dt.date):
            return value.date() if isinstance(value, dt.datetime) else value
        if self.kind in {Kind.INTEGER, Kind.REAL} and type(value) in {int, float}:
            number = _double(value)  # type: ignore[arg-type]
            if not math.isfinite(number):
                self._refuse(f"{fact} must be finite.")
            if self.kind is Kind.REAL:
                return number
            if not number.is_integer() or abs(number) > LARGEST_INTEGER:
                self._refuse(f"{fact} of an integer column must be integers within ±2**52.")
            return int(number)
        article = "an" if self.kind is Kind.INTEGER else "a"
        return self._refuse(f"{fact} must hold values of {article} {self.kind} column.")

    def _check_format(self) -> None:
        if self.kind not in {Kind.DATE, Kind.DATETIME}:
            self._refuse("format belongs to date and datetime columns.")
        first, *pieces = str(self.format).split("%")
        directives = [piece[:1] for piece in pieces]
        between = first + "".join(piece[1:] for piece in pieces)
        if not all(mark.isalnum() or mark in FORMAT_MARKS for mark in between):
            self._refuse(f"between its parts, format may use letters, digits and {FORMAT_MARKS!r}.")
        if set(directives) - set(DATE_PARTS) or repeated(directives):
            listing = " ".join(f"%{part}" for part in DATE_PARTS)
            self._refuse(f"format may use {listing}, each once, and plain characters.")
        months, hours = set(directives) & set("mbB"), set(directives) & set("HI")
        if not set("Yd") <= set(directives) or len(months) != 1:
            self._refuse("format must contain %Y, %d and the month: one of %m, %b and %B.")
        if len(hours) > 1 or ("I" in hours) != ("p" in directives):
            self._refuse("format may contain %H, or %I with %p: a clock of 24 or of 12 hours.")

    def _check_written(self) -> None:
        """How numbers and booleans are written."""
        marks = {
            name: getattr(self, name)
            for name in ("decimal", "thousands", "prefix", "suffix", "decimals", "padded", "step")
            if getattr(self, name) is not None
        }
        numbers = {Kind.INTEGER, Kind.REAL}
        if marks and self.kind not in numbers:
            self._refuse(f"{listed(marks)} belong to integer and real columns.")
        if self.decimal is not None and self.decimal not in DECIMAL_MARKS:
            self._refuse(f"decimal must be one of {listed(DECIMAL_MARKS)}.")
        if self.thousands is not None and self.thousands not in THOUSANDS_MARKS:
            self._refuse(f"thousands must be one of {listed(THOUSANDS_MARKS)}.")
        if self.thousands == (self.decimal or "."):
            self._refuse("decimal and thousands must be different marks.")
        for name in ("prefix", "suffix"):
            affix = getattr(self, name)
            if affix is not None and not _is_affix(affix):
                self._refuse(
                    f"{name} must have 1 to {LONGEST_AFFIX} characters, none of them a digit, a "
                    "sign, a quote, =, @, a point or a comma."
                )
        self._check_precision()
        if self.spelling is not None:
            self._check_spelling(self.spelling)

    def _check_precision(self) -> None:
        """The decimals and the step of numbers."""
        if self.decimals is not None and not 0 <= self.decimals <= MOST_DECIMALS:
            self._refuse(f"decimals must be a whole number between 0 and {MOST_DECIMALS}.")
        if self.padded and not self.decimals:
            self._refuse("padded needs a number of decimals.")
        if self.step is not None:
            step = _double(self.step) if type(self.step) in {int, float} else math.nan
            if not (math.isfinite(step) and step > 0):
                self._refuse("step must be a number above 0.")
            if self.kind is Kind.INTEGER and not step.is_integer():
                self._refuse("step of an integer column must be a whole number.")

    def _check_spelling(self, spelling: tuple[object, ...]) -> None:
        if self.kind is not Kind.BOOLEAN:
            self._refuse("spelling belongs to boolean columns.")
        texts = [text for text in spelling if isinstance(text, str) and text.strip(WHITESPACE)]
        if len(spelling) != 2 or len(texts) != 2 or not all(map(is_plain_text, texts)):  # noqa: PLR2004 - no and yes
            self._refuse("spelling must be two texts: how no and yes are written.")
        object.__setattr__(self, "spelling", tuple(text.strip(WHITESPACE) for text in texts))
        if len({text.lower() for text in self.spelling or ()}) == 1:
            self._refuse("spelling must be two texts that differ in more than their case.")

    def _check_regenerated(self) -> None:
        if (self.regenerate or self.pattern) and not self.role.identifies:
            self._refuse(
                "regenerate and pattern belong to identifiers and personal fields. Give the column "
                "such a role, for example id or email."
            )
        if self.pattern is not None and (
            not is_plain_text(self.pattern)
            or ("#" not in self.pattern and self.pattern != UUID)
            or len(self.pattern) > LONGEST_PATTERN
        ):
            self._refuse(
                f"pattern must hold a # for each digit of the identifier, in at most "
                f"{LONGEST_PATTERN} characters, or be {UUID!r}."
            )
        if self.regenerate and self.role is Role.FREE_TEXT:
            self._refuse(
                "free text cannot be regenerated: invented sentences would say nothing. Remove "
                "regenerate, or give the column another role."
            )


def _is_affix(text: str) -> bool:
    """Whether the text may stand before or after a number without being taken for a part of it."""
    return (
        bool(text.strip(WHITESPACE))
        and len(text) <= LONGEST_AFFIX
        and is_plain_text(text)
        and not any(mark.isdigit() or mark in _NO_AFFIX for mark in text)
    )


def _double(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def is_plain_text(text: str) -> bool:
    """Whether every engine can hold the text: no NUL, and no half of a surrogate pair."""
    return "\0" not in text and not any("\ud800" <= mark <= "\udfff" for mark in text)
