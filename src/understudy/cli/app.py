"""The program and its commands."""

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from understudy.cli import (
    audit,
    budget,
    compare,
    demo,
    draft_schema,
    evaluate,
    methods,
    plan,
    reproduce,
    synthesize,
    verify,
)
from understudy.cli.exits import BAD_INPUT, CHECK_FAILED, REFUSED_FOR_PRIVACY, STOPPED
from understudy.errors import BadInput, CheckFailed, UnderstudyError

_EXAMPLES = """
  understudy demo
  understudy synthesize patients.csv --target readmitted --epsilon 1 --out release
  understudy verify release
"""


def _shown(examples: str) -> str:
    # A line that holds only a backspace tells the help formatter to leave the next ones alone.
    return f"\b\nExamples:{examples}"


class _Commands(TyperGroup):
    """Commands whose mistakes are told in one line."""

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - whose Context depends on Typer's version
        try:
            return super().invoke(ctx)
        except UnderstudyError as error:
            typer.echo(f"Error: {_one_line(str(error))}", err=True)
            raise typer.Exit(_exit_code(error)) from None
        except KeyboardInterrupt:
            typer.echo("Stopped. Nothing was written.", err=True)
            raise typer.Exit(STOPPED) from None


def _one_line(text: str) -> str:
    """Return a message, which may quote a stranger's file, so that it moves no cursor."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in " ".join(text.split()))


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
    epilog=_shown(_EXAMPLES),
)


class _WithoutPandas:
    """Makes pandas look absent to this process.

    Arrow loads it as soon as it is handed a list, which costs a third of a second and 45 MB; and
    no command makes a data frame.
    """

    def find_spec(self, name: str, path: object, target: object = None) -> None:
        """Called by Python before it looks for a module."""
        del path, target
        if name == "pandas":
            raise ImportError(name)


def main() -> None:
    """Run the command line."""
    sys.meta_path.insert(0, _WithoutPandas())
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


app.command(name="demo", epilog=_shown(demo.EXAMPLES))(demo.demo)
app.command(name="schema", epilog=_shown(draft_schema.EXAMPLES))(draft_schema.draft_schema)
app.command(name="plan", epilog=_shown(plan.EXAMPLES))(plan.plan)
app.command(name="synthesize", epilog=_shown(synthesize.EXAMPLES))(synthesize.synthesize)
app.command(name="evaluate", epilog=_shown(evaluate.EXAMPLES))(evaluate.evaluate)
app.command(name="compare", epilog=_shown(compare.EXAMPLES))(compare.compare)
app.command(name="reproduce", epilog=_shown(reproduce.EXAMPLES))(reproduce.reproduce)
app.command(name="methods", epilog=_shown(methods.EXAMPLES))(methods.methods)
app.command(name="budget", epilog=_shown(budget.EXAMPLES))(budget.budget)
app.command(name="audit", epilog=_shown(audit.EXAMPLES))(audit.audit)
app.command(name="verify", epilog=_shown(verify.EXAMPLES))(verify.verify)
