"""`understudy compare`: methods against each other, on a table of yours."""

import json
from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.exits import BAD_INPUT, REFUSED_FOR_PRIVACY, STOPPED
from understudy.cli.options import (
    AcceptWeakGuarantee,
    AsJson,
    Data,
    Multiline,
    TextEncoding,
    names_between_commas,
)
from understudy.errors import BadInput

EXAMPLES = """
  understudy compare patients.csv --target readmitted
  understudy compare patients.csv --target readmitted --methods mst,aim --epsilon 0.5,1,2 --jobs 2
"""


def compare(  # noqa: PLR0913 - one per option
    data: Data,
    *,
    target: Annotated[str, typer.Option(metavar="Y", help="The column that readers will predict.")],
    methods: Annotated[
        str, typer.Option(metavar="M,M", help="What to compare; see understudy methods.")
    ] = "independent,mst",
    epsilon: Annotated[
        str, typer.Option(metavar="E,E", help="Each method is tried at each of them.")
    ] = "0.5,1,4",
    seeds: Annotated[int, typer.Option(metavar="N", help="Repetitions, each on other rows.")] = 3,
    jobs: Annotated[int, typer.Option(metavar="J", help="Cells that are run at a time.")] = 1,
    delta: Annotated[float, typer.Option(metavar="D", help="Of each release.")] = 1e-9,
    models: Annotated[
        str, typer.Option(metavar="M,M", help="Of logistic, boosting, svm and mlp.")
    ] = "logistic,boosting",
    schema: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What the columns hold.")
    ] = None,
    person: Annotated[
        str | None, typer.Option(metavar="ID", help="The column that tells persons apart.")
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="A folder for you alone; the same goes on.")
    ] = Path("comparison"),
    text_encoding: TextEncoding = "utf-8",
    multiline: Multiline = False,
    accept_weak_guarantee: AcceptWeakGuarantee = False,
    as_json: AsJson = False,
) -> None:
    """Compare methods by what their releases are worth for a task.

    Models are trained on releases of each method at each epsilon, several times on other rows, and
    tested on rows left out; a person's rows stay together, and so do equal ones. Each cell is
    written down as it is done: stopped, the same command goes on where it was. The result is
    internal: it was tested on real rows.
    """
    from importlib.metadata import version

    from understudy.experiments.compare.compare import compare as run
    from understudy.experiments.compare.plan import Plan
    from understudy.experiments.compare.text import show
    from understudy.privacy.facts import spelled_out
    from understudy.privacy.spelling import file_digest
    from understudy.progress import told_steps
    from understudy.schema_files import read_schema
    from understudy.spoken import still_text

    if not Path(data).is_file():
        msg = f"{data} is no file. A comparison reads one CSV or Parquet file."
        raise BadInput(msg)
    plan = Plan(
        data=data,
        data_hash=file_digest(Path(data)),
        target=target,
        methods=tuple(names_between_commas(methods)),
        epsilons=tuple(_number(text) for text in names_between_commas(epsilon)),
        seeds=seeds,
        delta=delta,
        learners=tuple(names_between_commas(models)),
        schema=None if schema is None else spelled_out(read_schema(schema)),
        text_encoding=text_encoding,
        multiline=multiline,
        version=version("understudy"),
        person=person,
    )
    plan.check_strength(accepted=accept_weak_guarantee)
    try:
        with told_steps(quiet=as_json) as tell:
            comparison = run(plan, out, jobs=jobs, tell=tell)
    except KeyboardInterrupt:
        typer.echo(f"Stopped. What is done is kept in {out}: the same command goes on.", err=True)
        raise typer.Exit(STOPPED) from None
    if as_json:
        typer.echo(still_text(json.dumps(comparison.to_json(), indent=2, ensure_ascii=False)))
    else:
        show(comparison, out)
    if comparison.empty:
        refused = comparison.refused_for_privacy
        typer.echo("Error: No release came out; the reasons are above.", err=True)
        raise typer.Exit(REFUSED_FOR_PRIVACY if refused else BAD_INPUT)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        msg = f"{text!r} is no number. Give epsilons such as 0.5,1,4."
        raise BadInput(msg) from None
