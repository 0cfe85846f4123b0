"""What a promise takes for granted: the schema, as a ledger looks at it before it opens."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from understudy.column import Column, Kind, Source
from understudy.encode.ops import Storage
from understudy.errors import PrivacyRefused, listed
from understudy.privacy.budget import Budget
from understudy.schema import Schema
from understudy.schema_files import schema_to_toml

# The lines that `schema_to_toml` writes. Nothing else is read here: TOML has many spellings of one
# fact, and reading all of it takes long where somebody else wrote it.
_LINE = re.compile(
    r'\[.*\]|(?!source )[a-z_]+ = [^{].*|source = "(?:declared|bought)"'
    r"""|    (?:"(?:[^"\\]|\\.)*"|[^"'=#{}]*),|\]|"""
)

_HEADER = re.compile(r"\[(.*)\]\s*(?:#.*)?")
_BOUND = re.compile(
    r"bound = \+?(0x[0-9a-fA-F_]{1,20}|0[ob][0-7_]{1,80}|[1-9][0-9_]{0,20})\s*(?:#.*)?"
)


def check_delta(budget: Budget, schema: Schema, *, accepted: bool = False) -> None:
    """Refuse a δ so large that it would allow to publish a row, unless a person accepts that."""
    bound = schema.rows_bound
    if bound is not None and budget.delta * bound >= 1 and not accepted:
        msg = (
            f"delta is {budget.delta:.3g}, but with up to {bound:,} rows it must be below "
            f"{1 / bound:.3g}: above it, publishing a random row whole would keep the promise. "
            "Choose a much smaller delta, such as 1e-9, or add --accept-weak-guarantee."
        )
        raise PrivacyRefused(msg)


def spelled_bound(spelled: object) -> int | None:
    r"""Return the bound on rows in a schema that was spelled out; None if it states none.

    It reads lines, in every spelling that `tells_rows` lets pass, and no TOML (see `_LINE`).

    >>> spelled_bound("[rows]\nbound = 5000\n"), spelled_bound("[column]\nbound = 3\n")
    (5000, None)
    """
    if not isinstance(spelled, str):
        return None
    table = ""
    for line in spelled.split("\n"):
        if header := _HEADER.fullmatch(line):
            table = header[1].strip(" \t\"'")
        elif table == "rows" and (found := _BOUND.fullmatch(line)):
            return int(found[1], 0)
    return None


def spelled_out(schema: Schema) -> str:
    """The schema as text, code lists included."""
    columns = tuple(replace(column, categories_file=None) for column in schema.columns)
    return schema_to_toml(replace(schema, columns=columns))


def revealed(schema: Schema) -> list[str]:
    """What in a schema was read off the data and not declared by anyone."""
    names = [column.name for column in schema if column.source is Source.DATA]
    reasons = [f"facts read off the data: {listed(names)}"] if names else []
    if schema.rows_bound is not None and schema.rows_source is Source.DATA:
        reasons.append("the bound on rows was read off the data")
    return reasons


def tells_rows(spelled: object) -> bool:
    """Whether a schema that was spelled out may mark a fact as read off the data.

    >>> [tells_rows(f'source{equals}"declared"') for equals in (" = ", "=")], tells_rows(None)
    ([False, True], False)
    """
    if not isinstance(spelled, str):
        return spelled is not None
    return not all(map(_LINE.fullmatch, spelled.split("\n")))


def check_reveals(schema: Schema, *, allowed: bool) -> None:
    """Refuse a schema that rests on the rows, unless no promise is wanted."""
    reasons = revealed(schema)
    if reasons and not allowed:
        msg = (
            f"The schema rests on the private table ({'; '.join(reasons)}). Review these facts and "
            'set source = "declared" for those that are public, or allow a release that is not '
            "private."
        )
        raise PrivacyRefused(msg)


_KINDS = {
    Storage.BOOLEAN: Kind.BOOLEAN,
    Storage.DATE: Kind.DATE,
    Storage.TIMESTAMP: Kind.DATETIME,
}
"""What storage says by itself. Text may hold anything, and numbers may be whole or not."""


def undescribed(names: Iterable[str]) -> Schema:
    """What is known of a table that nobody has described: the names of its columns."""
    return Schema(tuple(Column(name=name, kind=Kind.UNKNOWN) for name in names))


def outline(schema: Schema, storage: Mapping[str, Storage]) -> Schema:
    """What is public about a table: what the schema says, and what storage tells of kinds."""
    columns = [
        replace(column, kind=_KINDS.get(storage[column.name], Kind.UNKNOWN))
        if column.kind is Kind.UNKNOWN and column.coded
        else column
        for column in schema
    ]
    return replace(schema, columns=tuple(columns))


def check_silent(schema: Schema) -> None:
    """Refuse a schema that leaves open what codes are made from, and tell the ways out."""
    if not any(set(facts) - {"null"} for facts in schema.silent.values()):
        return
    missing = "; ".join(f"{name}: {', '.join(facts)}" for name, facts in schema.silent.items())
    msg = (
        f"Nobody has said what these columns hold ({missing}). Three ways out. Declare: state "
        "these facts in a schema, if they are public. Buy: leave out --strict, and they are found "
        "out with noise, out of the same epsilon. Reveal: draft a schema from the rows with "
        "`understudy schema`, and allow a release that is not private."
    )
    raise PrivacyRefused(msg)


def bought(stated: Schema, found: Schema) -> tuple[str, ...]:
    """By column, the facts that were open at first and were found out since."""
    lines = []
    for column in stated:
        facts = [fact for fact in column.silent if fact not in found[column.name].silent]
        if column.kind is Kind.UNKNOWN and "kind" in facts:
            facts.insert(1, "bounds" if found[column.name].kind.numeric else "categories")
        facts += _ways_of_writing(column, found[column.name])
        if facts:
            lines.append(f"{column.name}: {', '.join(facts)}")
    return tuple(lines)


_WAYS = {
    "format": ("format", "decimal", "thousands", "prefix", "suffix"),
    "precision": ("decimals", "step"),
    "spelling": ("spelling",),
}
"""By what a certificate says, the facts about how values are written."""


def _ways_of_writing(column: Column, found: Column) -> list[str]:
    """What was inferred about how a column writes its values, and its role."""
    new = [
        what
        for what, facts in _WAYS.items()
        if any(getattr(column, f) is None and getattr(found, f) is not None for f in facts)
    ]
    return new + (["role"] if column.coded and found.role.identifies else [])


def check_bought(stated: Schema, later: Schema) -> None:
    """Refuse facts that nobody stated when the ledger was opened, unless they were bought."""
    new = [column for column in later if column != stated[column.name]]
    rows = (later.rows_bound, later.rows_source) != (stated.rows_bound, stated.rows_source)
    if rows or any(column.source is not Source.BOUGHT for column in new):
        msg = (
            "Declared facts must be stated when the ledger is opened, where the certificate lists "
            "them; later ones can only be made from noisy answers (source = bought)."
        )
        raise PrivacyRefused(msg)
