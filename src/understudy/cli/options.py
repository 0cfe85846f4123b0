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
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]


def names_between_commas(names: str) -> list[str]:
    """Names between commas."""
    return [name.strip() for name in names.split(",") if name.strip()]


def read_key(path: Path) -> bytes:
    """The content of a key's file."""
    try:
        return path.read_bytes()
    except OSError as error:
        msg = f"The key {path} cannot be read: {error.strerror}."
        raise BadInput(msg) from None
