"""`understudy schema`: a draft of what the columns hold."""

import json
from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.options import AsJson, Data, Multiline, TextEncoding

EXAMPLES = """
  understudy schema patients.csv -o schema.toml
  understudy schema patients.parquet
"""


def draft_schema(
    data: Data,
    *,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE", help="Write the draft here, for you alone."),
    ] = None,
    text_encoding: TextEncoding = "utf-8",
    multiline: Multiline = False,
    as_json: AsJson = False,
) -> None:
    """Draft a schema from the rows, for you to review.

    Every fact in it is marked as read off the data.
    """
    import tomllib

    from understudy.curator.draft_schema import draft, draft_text
    from understudy.curator.internal import write_internal
    from understudy.curator.source import read_rows
    from understudy.schema_files import schema_to_toml
    from understudy.spoken import still_text

    drafted = draft(read_rows(data, text_encoding=text_encoding, multiline=multiline))
    if out is not None:
        write_internal(out, draft_text(drafted))
    if as_json:
        content = tomllib.loads(schema_to_toml(drafted))
        typer.echo(json.dumps(content, indent=2, default=str))
    elif out is None:
        typer.echo(still_text(draft_text(drafted)), nl=False)
    where = "This draft" if out is None else f"{out}"
    typer.echo(
        f"{where} is internal: it holds facts about the private table. Review each column, set "
        'source = "declared" where the fact is public, and use it with --schema.',
        err=True,
    )
