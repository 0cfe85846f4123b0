"""The command line: thin, and quick to say what it can do.

Data goes to stdout, notes to stderr. Exit codes: 0 done, 2 bad input, 3 refused for privacy.
"""
# Libraries that take long to load are imported by the command that needs them, for --help
# and --version answer at once:
# ruff: noqa: PLC0415

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from understudy.errors import BadInput, UnderstudyError

if TYPE_CHECKING:
    import pyarrow as pa

    from understudy.schema import Schema

BAD_INPUT = 2
REFUSED_FOR_PRIVACY = 3

_FILES = ("patients.csv", "schema.toml")

# A line that holds only \b tells the help formatter to leave the next paragraph's lines alone.
_EXAMPLES = """\b
Examples:
  understudy demo
  understudy demo --help
"""
_DEMO_EXAMPLES = """\b
Examples:
  understudy demo
  understudy demo --out play --rows 20000
  understudy demo --json > demo.json
"""


class _Commands(TyperGroup):
    """Commands whose mistakes are told in one line."""

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - whose Context depends on Typer's version
        try:
            return super().invoke(ctx)
        except UnderstudyError as error:
            typer.echo(f"Error: {' '.join(str(error).split())}", err=True)
            code = BAD_INPUT if isinstance(error, BadInput) else REFUSED_FOR_PRIVACY
            raise typer.Exit(code) from None


# Rich help costs a tenth of a second, and rich tracebacks could show the values of rows.
app = typer.Typer(
    cls=_Commands,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    epilog=_EXAMPLES,
)


def main() -> None:
    """Run the command line."""
    app()


def _show_version(wanted: bool) -> None:  # noqa: FBT001 - called by Typer
    if wanted:
        from importlib.metadata import version

        typer.echo(f"understudy {version('understudy')}")
        raise typer.Exit


@app.callback()
def understudy(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Turn a private table into a synthetic one that may leave the building.

    The release carries a privacy promise that can be checked.
    """
    del version


@app.command(epilog=_DEMO_EXAMPLES)
def demo(
    *,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help=f"Also write {' and '.join(_FILES)} into this folder."),
    ] = None,
    rows: Annotated[int, typer.Option(metavar="N", help="How many rows to draw.")] = 5000,
    seed: Annotated[int, typer.Option(metavar="S", help="Another seed, another table.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Show on an embedded table how values become codes and come back."""
    from understudy.experiments.demo import demo_schema, demo_table
    from understudy.experiments.walkthrough import show, walkthrough

    if out is not None:
        _check_free(out)
    schema = demo_schema()
    table = demo_table(rows, seed=seed)
    content = walkthrough(table, schema, seed)
    if out is not None:
        _write(table, schema, out)
    if as_json:
        typer.echo(json.dumps(content, indent=2, default=str))
    else:
        show(content)
    if out is not None:
        typer.echo(f"Wrote {' and '.join(_FILES)} to {out}.", err=True)


def _check_free(folder: Path) -> None:
    """Refuse a folder in which something would be overwritten."""
    if folder.exists() and not folder.is_dir():
        msg = f"{folder} is not a folder. Give --out a folder, old or new."
        raise BadInput(msg)
    taken = [name for name in _FILES if (folder / name).exists()]
    if taken:
        msg = (
            f"{folder} already holds {' and '.join(taken)}, and nothing is overwritten. Give --out "
            f"another folder, or move what is there."
        )
        raise BadInput(msg)


def _write(table: "pa.Table", schema: "Schema", folder: Path) -> None:
    from pyarrow import csv

    from understudy.schema_files import write_schema

    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / _FILES[0]).open("xb") as file:
            csv.write_csv(table, file, csv.WriteOptions(quoting_style="needed"))
        write_schema(schema, folder / _FILES[1])
    except OSError as error:
        msg = f"{folder} cannot be written: {error.strerror}. Give --out another folder."
        raise BadInput(msg) from None
