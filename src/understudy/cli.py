"""The command line: thin, and quick to say what it can do.

Data goes to stdout, notes to stderr. Exit codes: 0 done, 1 a check failed, 2 bad input, 3 refused
for privacy.
"""
# Libraries that take long to load are imported by the command that needs them, for --help
# and --version answer at once:
# ruff: noqa: PLC0415

import json
import re
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from understudy.errors import BadInput, CheckFailed, UnderstudyError

CHECK_FAILED = 1
BAD_INPUT = 2
REFUSED_FOR_PRIVACY = 3

STOPPED = 130
"""As shells count an interruption."""

# Options that several commands share.
_Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA", help="A CSV (also .gz) or Parquet file, or a pattern of Parquet files."
    ),
]
_TextEncoding = Annotated[
    str, typer.Option(metavar="NAME", help="How a CSV file spells characters.")
]
_AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]

# A line that holds only \b tells the help formatter to leave the next paragraph's lines alone.
_EXAMPLES = """\b
Examples:
  understudy demo
  understudy synthesize patients.csv --target readmitted --epsilon 1 --out release
  understudy verify release
"""
_SCHEMA_EXAMPLES = """\b
Examples:
  understudy schema patients.csv -o schema.toml
  understudy schema patients.parquet
"""
_SYNTHESIZE_EXAMPLES = """\b
Examples:
  understudy synthesize patients.csv --target readmitted --epsilon 1 --out release
  understudy synthesize patients.csv --schema schema.toml --strict --epsilon 1
  understudy synthesize visits.parquet --epsilon 1 --unit person:patient_id:3
  understudy synthesize patients.csv --epsilon 0.5 --ledger table.ledger
"""
_EVALUATE_EXAMPLES = """\b
Examples:
  understudy evaluate patients.csv release --target readmitted --test later.csv
  understudy evaluate patients.csv theirs.csv --target readmitted --epsilon 1
  understudy evaluate patients.csv release --independent "readmitted _||_ sex | age"
"""
_METHODS_EXAMPLES = """\b
Examples:
  understudy methods
  understudy methods --json
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
  understudy demo --out play --explain
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
        except KeyboardInterrupt:
            typer.echo("Stopped. Nothing was written.", err=True)
            raise typer.Exit(STOPPED) from None


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


@app.command(epilog=_DEMO_EXAMPLES)
def demo(
    *,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Write the table, its schema and the release here.")
    ] = Path("understudy-demo"),
    rows: Annotated[int, typer.Option(metavar="N", help="How many rows to draw.")] = 5000,
    seed: Annotated[int, typer.Option(metavar="S", help="Another seed, another table.")] = 0,
    explain: Annotated[
        bool, typer.Option("--explain", help="Also show how values become codes and come back.")
    ] = False,
    as_json: _AsJson = False,
) -> None:
    """Make a release of an embedded, invented table."""
    from understudy.experiments import first_release, walkthrough
    from understudy.experiments.demo import demo_schema, demo_table
    from understudy.progress import told_steps
    from understudy.release_page import release_page
    from understudy.release_page import show as show_release

    first_release.check_free(out)
    table = demo_table(rows, seed=seed)
    with told_steps(quiet=as_json) as tell:
        release = first_release.first_release(table, out, tell)
    page = release_page(release, out / first_release.RELEASE)
    compared = first_release.side_by_side(table, release)
    if as_json:
        content = walkthrough.walkthrough(table, demo_schema(), seed)
        whole = {**content, "release": page, "compared": compared}
        typer.echo(json.dumps(whole, indent=2, default=str))
        return
    if explain:
        walkthrough.show(walkthrough.walkthrough(table, demo_schema(), seed))
    show_release(page)
    first_release.show(compared)
    typer.echo(
        f"The same by hand: understudy synthesize {out / first_release.TABLE} --schema "
        f"{out / first_release.SCHEMA} --target readmitted --unit person:patient_id:3 --epsilon 1 "
        "--out another",
        err=True,
    )


@app.command(name="schema", epilog=_SCHEMA_EXAMPLES)
def draft_schema(
    data: _Data,
    *,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE", help="Write the draft here, for you alone."),
    ] = None,
    text_encoding: _TextEncoding = "utf-8",
    as_json: _AsJson = False,
) -> None:
    """Draft a schema from the rows, for you to review.

    Every fact in it is marked as read off the data.
    """
    import tomllib

    from understudy.curator.draft_schema import draft, draft_text
    from understudy.curator.internal import write_internal
    from understudy.curator.source import read_rows
    from understudy.schema_files import schema_to_toml

    drafted = draft(read_rows(data, text_encoding=text_encoding))
    if out is not None:
        write_internal(out, draft_text(drafted))
    if as_json:
        content = tomllib.loads(schema_to_toml(drafted))
        typer.echo(json.dumps(content, indent=2, default=str))
    elif out is None:
        typer.echo(draft_text(drafted), nl=False)
    where = "This draft" if out is None else f"{out}"
    typer.echo(
        f"{where} is internal: it holds facts about the private table. Review each column, set "
        'source = "declared" where the fact is public, and use it with --schema.',
        err=True,
    )


@app.command(epilog=_SYNTHESIZE_EXAMPLES)
def synthesize(  # noqa: PLR0913 - one per option
    data: _Data,
    *,
    epsilon: Annotated[float, typer.Option(metavar="E", help="The whole cost; 1 is common.")],
    target: Annotated[
        str | None, typer.Option(metavar="Y", help="The column that readers will predict.")
    ] = None,
    delta: Annotated[
        float, typer.Option(metavar="D", help="Far below one over the number of rows.")
    ] = 1e-9,
    schema: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Public facts: our TOML, mbi domain.json, SDV metadata."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse where facts would have to be bought.")
    ] = False,
    method: Annotated[str, typer.Option(metavar="NAME", help="See `understudy methods`.")] = "auto",
    param: Annotated[
        list[str] | None, typer.Option(metavar="K=V", help="A parameter of the method.")
    ] = None,
    rows: Annotated[
        int | None, typer.Option(metavar="N", help="How many; else about as many as there are.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The release folder; it must be new.")
    ] = None,
    file_format: Annotated[
        str, typer.Option("--format", metavar="F", help="csv or parquet.")
    ] = "csv",
    formula_safe: Annotated[
        bool, typer.Option("--formula-safe", help="No text that spreadsheets run as a formula.")
    ] = False,
    unit: Annotated[
        str, typer.Option(metavar="U", help="record, replace, or person:ID:3.")
    ] = "record",
    ledger: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The table's ledger: one total for all releases."),
    ] = None,
    sign: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Your private Ed25519 key (PEM).")
    ] = None,
    discovery_share: Annotated[
        float | None,
        typer.Option(metavar="S", help="Of the budget, for facts that nobody declared."),
    ] = None,
    text_encoding: _TextEncoding = "utf-8",
    allow_non_private: Annotated[
        bool, typer.Option("--allow-non-private", help="Go on where no promise is left.")
    ] = False,
    as_json: _AsJson = False,
) -> None:
    """Make a synthetic table with a privacy promise.

    What the schema leaves open is found out with noise, out of the same epsilon.
    """
    from understudy import pipeline
    from understudy.mechanisms.catalog import mechanism_named
    from understudy.privacy.discover import SHARE
    from understudy.privacy.folder import check_free
    from understudy.privacy.signature import check_private_key
    from understudy.progress import told_steps
    from understudy.release import check_format
    from understudy.release_page import release_page, show

    folder = out or _usual_folder(data)
    check_free(folder)
    check_format(file_format)
    key = None if sign is None else _read_key(sign)
    if key is not None:
        check_private_key(key)
    with told_steps(quiet=as_json) as tell:
        release = pipeline.synthesize(
            data,
            epsilon=epsilon,
            delta=delta,
            target=target,
            schema=schema,
            mechanism=mechanism_named(method, _parameters(param or [])),
            rows=rows,
            unit=unit,
            strict=strict,
            ledger=ledger,
            allow_non_private=allow_non_private,
            discovery_share=SHARE if discovery_share is None else discovery_share,
            text_encoding=text_encoding,
            tell=tell,
        )
        tell("Writing the release folder")
        release.save(folder, format=file_format, formula_safe=formula_safe, key=key)
    page = release_page(release, folder)
    if as_json:
        typer.echo(json.dumps(page, indent=2))
    else:
        show(page)


@app.command(epilog=_EVALUATE_EXAMPLES)
def evaluate(  # noqa: PLR0913 - one per option
    real: Annotated[
        str, typer.Argument(metavar="REAL", help="The rows that the release was made from.")
    ],
    synthetic: Annotated[
        str, typer.Argument(metavar="SYNTH", help="A release folder, or a file like REAL.")
    ],
    *,
    target: Annotated[
        str | None, typer.Option(metavar="Y", help="The column that readers will predict.")
    ] = None,
    test: Annotated[
        str | None, typer.Option(metavar="T", help="Rows that the release never saw.")
    ] = None,
    independent: Annotated[
        list[str] | None,
        typer.Option(metavar="S", help='A sentence: "outcome _||_ protected | given, given".'),
    ] = None,
    models: Annotated[
        str, typer.Option(metavar="M,M", help="Of logistic, boosting, svm and mlp.")
    ] = "logistic,boosting",
    seeds: Annotated[int, typer.Option(metavar="N", help="How often the task is repeated.")] = 3,
    task: Annotated[
        str | None, typer.Option(metavar="KIND", help="classification or regression.")
    ] = None,
    positive: Annotated[
        str | None, typer.Option(metavar="CLASS", help="The class to find; else the rarer one.")
    ] = None,
    schema: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What the columns hold.")
    ] = None,
    without: Annotated[
        str | None, typer.Option(metavar="A,B", help="Columns to leave out.")
    ] = None,
    person: Annotated[
        str | None, typer.Option(metavar="ID", help="The column that tells persons apart.")
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option(metavar="E", help="What a table without certificate claims.")
    ] = None,
    delta: Annotated[float | None, typer.Option(metavar="D", help="With it; else 1e-9.")] = None,
    attack_rows: Annotated[
        int, typer.Option(metavar="N", help="Attack at most so many members and non-members.")
    ] = 5000,
    anonymeter: Annotated[
        Path | None,
        typer.Option(metavar="PYTHON", help="A Python that has anonymeter, a second opinion."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write JSON here, for you alone.")
    ] = None,
    text_encoding: _TextEncoding = "utf-8",
    as_json: _AsJson = False,
) -> None:
    """Judge a synthetic table against real rows.

    The result is internal: it compares with real rows.
    """
    from understudy.curator.evaluation import Promise
    from understudy.curator.evaluation import evaluate as judge
    from understudy.curator.evaluation_text import show
    from understudy.curator.internal import check_internal, write_internal
    from understudy.curator.models import learner_named
    from understudy.knowledge import Independence
    from understudy.progress import told_steps
    from understudy.schema_files import read_schema

    if out is not None and out.suffix != ".json":
        msg = f"{out} cannot be written; name a file that ends in .json."
        raise BadInput(msg)
    if out is not None:
        check_internal(out)
    if delta is not None and epsilon is None:
        msg = "A delta alone is no promise. Give --epsilon too."
        raise BadInput(msg)
    sentences = [Independence.parse(sentence) for sentence in independent or []]
    learners = [learner_named(name) for name in _listed(models)]
    with told_steps(quiet=as_json) as tell:
        evaluation = judge(
            real,
            synthetic,
            target=target,
            test=test,
            independent=sentences,
            learners=learners,
            seeds=seeds,
            task_kind=task,
            positive=positive,
            schema=None if schema is None else read_schema(schema),
            without=_listed(without or ""),
            promise=None if epsilon is None else Promise(epsilon, 1e-9 if delta is None else delta),
            person=person,
            attack_rows=attack_rows,
            anonymeter=anonymeter,
            text_encoding=text_encoding,
            tell=tell,
        )
    content = json.dumps(evaluation.to_json(), indent=2, ensure_ascii=False)
    if out is not None:
        write_internal(out, content + "\n")
    if as_json:
        typer.echo(content)
    else:
        show(evaluation)


@app.command(epilog=_METHODS_EXAMPLES)
def methods(
    *,
    as_json: _AsJson = False,
) -> None:
    """List the methods: what each keeps and promises."""
    from understudy.mechanisms.catalog import AUTO, MECHANISMS, mechanism_named

    automatic = type(mechanism_named(AUTO))
    found = [
        {
            "method": kind.name,
            "about": kind.about,
            "guarantee": kind.guarantee,
            "needs": kind.needs,
            "auto": kind is automatic,
        }
        for kind in MECHANISMS
    ]
    if as_json:
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    for method in found:
        typer.echo(f"{method['method']}{' (auto)' if method['auto'] else ''}")
        typer.echo(f"  {method['about']}")
        typer.echo(f"  promises {method['guarantee']}; needs {method['needs']}")


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
    as_json: _AsJson = False,
) -> None:
    """Make or show the one total for a table's releases.

    Every line of the file is checked.
    """
    from understudy.ledger_page import ledger_page, show
    from understudy.privacy.budget import Budget
    from understudy.privacy.discover import DELTA_SHARE
    from understudy.privacy.ledger_file import create_ledger, read_ledger

    if create and (epsilon is None or delta is None):
        msg = "A new ledger needs its total, such as --epsilon 4 --delta 1e-8; it is never raised."
        raise BadInput(msg)
    if not create and (epsilon is not None or delta is not None):
        msg = f"The total is set once, with --create. Without it, {file} is only shown."
        raise BadInput(msg)
    if epsilon is not None and delta is not None:
        # A tenth of delta is kept for facts that releases find out.
        create_ledger(file, Budget(epsilon, delta, thresholds=delta * DELTA_SHARE))
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
    as_json: _AsJson = False,
) -> None:
    """Compute a release's promise and hashes again.

    Fails on any change.
    """
    from dataclasses import asdict

    from understudy.privacy.certificate import NOT_PRIVATE
    from understudy.privacy.folder import read_certificate
    from understudy.privacy.folder import verify as checks_of
    from understudy.privacy.ledger_file import read_ledger

    public_key = None if key is None else _read_key(key)
    record = None if ledger is None else read_ledger(ledger)
    checks = checks_of(folder, public_key=public_key, ledger=record)
    passed = all(check.passed for check in checks)
    # Only what passed is worth reading; what was changed may say anything.
    promise = read_certificate(folder).promise if passed else []
    if as_json:
        content = {
            "passed": passed,
            "promise": promise,
            "checks": [asdict(check) for check in checks],
        }
        typer.echo(json.dumps(content, indent=2))
    else:
        for check in checks:
            note = f": {check.note}" if check.note else ""
            typer.echo(f"{'ok    ' if check.passed else 'FAILED'}  {check.what}{note}")
        private = not checks[0].note.startswith(NOT_PRIVATE)
        kept = "All checks passed." if private else f"All checks passed, but it is {NOT_PRIVATE}."
        typer.echo(kept if passed else "Do not rely on this release.")
        for line in promise:
            typer.echo(f"  {line}")
    if not passed:
        raise typer.Exit(CHECK_FAILED)


def _listed(names: str) -> list[str]:
    """Names between commas."""
    return [name.strip() for name in names.split(",") if name.strip()]


def _parameters(given: list[str]) -> dict[str, str]:
    """Parameters as name and text."""
    pairs = [one.partition("=") for one in given]
    wrong = [name for name, mark, _ in pairs if not (name and mark)]
    if wrong:
        msg = f"A parameter is written name=value, such as --param k=3; not {wrong[0]!r}."
        raise BadInput(msg)
    return {name: text for name, _, text in pairs}


def _usual_folder(data: str) -> Path:
    """A folder named after the table, whatever the path or pattern."""
    name = re.sub(r"[^\w-]+", "", Path(data).name.split(".")[0])
    return Path(f"{name}-release" if name else "release")


def _read_key(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        msg = f"The key {path} cannot be read: {error.strerror}."
        raise BadInput(msg) from None
