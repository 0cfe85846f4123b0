"""The command line: thin, and quick to say what it can do.

Data goes to stdout, notes to stderr. Exit codes: 0 done, 1 a check failed, 2 bad input, 3 refused
for privacy.
"""
# Libraries that take long to load are imported by the command that needs them, for --help
# and --version answer at once:
# ruff: noqa: PLC0415

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from understudy.errors import BadInput, CheckFailed, UnderstudyError

if TYPE_CHECKING:
    import pyarrow as pa

    from understudy.experiments.first_answers import FirstAnswers
    from understudy.schema import Schema

CHECK_FAILED = 1
BAD_INPUT = 2
REFUSED_FOR_PRIVACY = 3

_FILES = ("patients.csv", "schema.toml", "answers")

# A line that holds only \b tells the help formatter to leave the next paragraph's lines alone.
_EXAMPLES = """\b
Examples:
  understudy demo --out play
  understudy verify play/answers
  understudy budget table.ledger --create --epsilon 4 --delta 1e-8
"""
_BUDGET_EXAMPLES = """\b
Examples:
  understudy budget table.ledger --create --epsilon 4 --delta 1e-8
  understudy budget table.ledger
  understudy budget table.ledger --json
"""
_VERIFY_EXAMPLES = """\b
Examples:
  understudy verify release/
  understudy verify release/ --key curator.pub.pem --ledger table.ledger
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
            raise typer.Exit(_exit_code(error)) from None


def _exit_code(error: UnderstudyError) -> int:
    if isinstance(error, BadInput):
        return BAD_INPUT
    return CHECK_FAILED if isinstance(error, CheckFailed) else REFUSED_FOR_PRIVACY


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
        typer.Option(metavar="DIR", help="Also write the table, its schema and the answers here."),
    ] = None,
    rows: Annotated[int, typer.Option(metavar="N", help="How many rows to draw.")] = 5000,
    seed: Annotated[int, typer.Option(metavar="S", help="Another seed, another table.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Show on an embedded table how values become codes, and what a ledger answers."""
    from understudy.experiments import first_answers, walkthrough
    from understudy.experiments.demo import demo_schema, demo_table

    if out is not None:
        _check_free(out)
    schema = demo_schema()
    table = demo_table(rows, seed=seed)
    content = walkthrough.walkthrough(table, schema, seed)
    answers = first_answers.first_answers(table, schema)
    if out is not None:
        _write(table, schema, answers, out)
    if as_json:
        typer.echo(json.dumps({**content, "answers": answers.content}, indent=2, default=str))
    else:
        walkthrough.show(content)
        first_answers.show(answers.content)
    if out is not None:
        typer.echo(
            f"Wrote {', '.join(_FILES[:-1])} and {_FILES[-1]} to {out}. Check the answers with: "
            f"understudy verify {out / _FILES[-1]}",
            err=True,
        )


@app.command(epilog=_BUDGET_EXAMPLES)
def budget(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The table's ledger file.")],
    *,
    create: Annotated[bool, typer.Option("--create", help="Make the file.")] = False,
    epsilon: Annotated[
        float | None, typer.Option(metavar="E", help="The total for all releases together.")
    ] = None,
    delta: Annotated[
        float | None, typer.Option(metavar="D", help="Far below one over the number of rows.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Make, check and show the one total that all releases of a table share."""
    from understudy.ledger_page import ledger_page, show
    from understudy.privacy.budget import Budget
    from understudy.privacy.ledger_file import create_ledger, read_ledger

    if create and (epsilon is None or delta is None):
        msg = "A new ledger needs its total, such as --epsilon 4 --delta 1e-8; it is never raised."
        raise BadInput(msg)
    if not create and (epsilon is not None or delta is not None):
        msg = f"The total is set once, with --create. Without it, {file} is only shown."
        raise BadInput(msg)
    if epsilon is not None and delta is not None:
        create_ledger(file, Budget(epsilon, delta))
    page = ledger_page(read_ledger(file))
    if as_json:
        typer.echo(json.dumps(page, indent=2))
    else:
        show(page)


@app.command(epilog=_VERIFY_EXAMPLES)
def verify(
    folder: Annotated[Path, typer.Argument(metavar="RELEASE_DIR", help="A release folder.")],
    *,
    key: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The curator's public Ed25519 key (PEM)."),
    ] = None,
    ledger: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The table's ledger, which must hold the release."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Recompute a certificate's total and hashes; fail on any change."""
    from dataclasses import asdict

    from understudy.privacy.certificate import NOT_PRIVATE
    from understudy.privacy.folder import verify as checks_of
    from understudy.privacy.ledger_file import read_ledger

    try:
        public_key = None if key is None else key.read_bytes()
    except OSError as error:
        msg = f"The key {key} cannot be read: {error.strerror}."
        raise BadInput(msg) from None
    record = None if ledger is None else read_ledger(ledger)
    checks = checks_of(folder, public_key=public_key, ledger=record)
    passed = all(check.passed for check in checks)
    if as_json:
        content = {"passed": passed, "checks": [asdict(check) for check in checks]}
        typer.echo(json.dumps(content, indent=2))
    else:
        for check in checks:
            note = f": {check.note}" if check.note else ""
            typer.echo(f"{'ok    ' if check.passed else 'FAILED'}  {check.what}{note}")
        private = not checks[0].note.startswith(NOT_PRIVATE)
        kept = "All checks passed." if private else f"All checks passed, but it is {NOT_PRIVATE}."
        typer.echo(kept if passed else "Do not rely on this release.")
    if not passed:
        raise typer.Exit(CHECK_FAILED)


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


def _write(table: "pa.Table", schema: "Schema", answers: "FirstAnswers", folder: Path) -> None:
    from pyarrow import csv

    from understudy.privacy.folder import publish
    from understudy.schema_files import write_schema

    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / _FILES[0]).open("xb") as file:
            csv.write_csv(table, file, csv.WriteOptions(quoting_style="needed"))
        write_schema(schema, folder / _FILES[1])
        files = {"measurements.json": answers.measurements}
        publish(folder / _FILES[2], files, answers.certificate)
    except OSError as error:
        msg = f"{folder} cannot be written: {error.strerror}. Give --out another folder."
        raise BadInput(msg) from None
