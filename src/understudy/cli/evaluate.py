"""`understudy evaluate`: a synthetic table against real rows."""

import json
from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.options import AsJson, Multiline, TextEncoding, names_between_commas
from understudy.errors import BadInput

EXAMPLES = """
  understudy evaluate patients.csv release --target readmitted --test later.csv --out judged.html
  understudy evaluate patients.csv theirs.csv --target readmitted --epsilon 1
  understudy evaluate patients.csv release --independent "readmitted _||_ sex | age"
"""


def evaluate(  # noqa: PLR0913 - one per option
    real: Annotated[
        str, typer.Argument(metavar="REAL", help="The rows that the release was made from.")
    ],
    synthetic: Annotated[
        str,
        typer.Argument(
            metavar="SYNTH", help="A release folder (not its synthetic.csv), or a file like REAL."
        ),
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
        Path | None,
        typer.Option(metavar="FILE", help="Write a page (.html, and .json beside it), or .json."),
    ] = None,
    text_encoding: TextEncoding = "utf-8",
    multiline: Multiline = False,
    as_json: AsJson = False,
) -> None:
    """Judge a synthetic table against real rows.

    The result is internal: it compares with real rows.
    """
    from understudy.curator.evaluation import Promise
    from understudy.curator.evaluation import evaluate as judge
    from understudy.curator.evaluation_page import evaluation_page
    from understudy.curator.evaluation_text import show
    from understudy.curator.internal import check_internal, write_internal
    from understudy.curator.models import learner_named
    from understudy.knowledge import Independence
    from understudy.progress import told_steps
    from understudy.schema_files import read_schema
    from understudy.spoken import still_text

    if out is not None and out.suffix not in {".html", ".json"}:
        msg = f"{out} cannot be written; name a file that ends in .html or .json."
        raise BadInput(msg)
    files = (
        []
        if out is None
        else [out.with_suffix(kind) for kind in dict.fromkeys((out.suffix, ".json"))]
    )
    for file in files:
        check_internal(file)
    if delta is not None and epsilon is None:
        msg = "A delta alone is no promise. Give --epsilon too."
        raise BadInput(msg)
    sentences = [Independence.parse(sentence) for sentence in independent or []]
    learners = [learner_named(name) for name in names_between_commas(models)]
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
            without=names_between_commas(without or ""),
            promise=None if epsilon is None else Promise(epsilon, 1e-9 if delta is None else delta),
            person=person,
            attack_rows=attack_rows,
            anonymeter=anonymeter,
            text_encoding=text_encoding,
            multiline=multiline,
            tell=tell,
        )
    content = json.dumps(evaluation.to_json(), indent=2, ensure_ascii=False)
    for file in files:
        page = file.suffix == ".html"
        write_internal(file, evaluation_page(evaluation) if page else content + "\n")
    if as_json:
        typer.echo(still_text(content))
    else:
        show(evaluation)
