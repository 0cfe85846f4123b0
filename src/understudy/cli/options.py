"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

from understudy.errors import BadInput

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA", help="A CSV (also .gz) or Parquet file, or a pattern of Parquet files."
    ),
]
TextEncoding = Annotated[
    str, typer.Option(metavar="NAME", help="How a CSV file spells characters.")
]
Multiline = Annotated[
    bool,
    typer.Option(
        "--multiline",
        help="Quoted cells of the CSV file hold line breaks. The guarantee then requires that "
        "quotes are balanced.",
    ),
]
Independent = Annotated[
    list[str] | None,
    typer.Option(
        metavar="O _||_ S | A,B",
        help="O shall tell nothing about S once A and B are known; repeatable.",
    ),
]
ProtectOutliers = Annotated[
    bool, typer.Option("--protect-outliers", help="Records with rare values count less.")
]
ProtectWhere = Annotated[
    list[str] | None,
    typer.Option(
        metavar="age>=90",
        help="Cap the epsilon of records that meet this condition, or whose value is missing, "
        "unreadable or not listed; repeatable.",
    ),
]
OutlierEpsilon = Annotated[
    float | None,
    typer.Option(
        metavar="E", help="Epsilon of protected records at most; half of epsilon by default."
    ),
]
Regenerate = Annotated[
    bool,
    typer.Option(
        "--regenerate",
        help="Release invented values for identifiers, e-mails, phones, names, addresses and URLs, "
        "instead of leaving these columns out.",
    ),
]
AcceptWeakGuarantee = Annotated[
    bool,
    typer.Option(
        "--accept-weak-guarantee",
        help="Accept epsilon above 10, or delta above 1e-5 or above 1 / the declared bound on "
        "rows. Every page then begins with a warning.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]


def names_between_commas(names: str) -> list[str]:
    """Names between commas."""
    return [name.strip() for name in names.split(",") if name.strip()]


def parameters_given(given: list[str]) -> dict[str, str]:
    """Parameters as name and text."""
    pairs = [one.partition("=") for one in given]
    wrong = [name for name, mark, _ in pairs if not (name and mark)]
    if wrong:
        msg = f"A parameter is written name=value, such as --param k=3; not {wrong[0]!r}."
        raise BadInput(msg)
    return {name: text for name, _, text in pairs}


def read_key(path: Path) -> bytes:
    """The content of a key's file."""
    try:
        return path.read_bytes()
    except OSError as error:
        msg = f"The key {path} cannot be read: {error.strerror}."
        raise BadInput(msg) from None
