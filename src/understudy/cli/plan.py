"""`understudy plan`: what a release would buy, before anything is spent."""

import json
from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.options import (
    AcceptWeakGuarantee,
    AsJson,
    Independent,
    OutlierEpsilon,
    ProtectOutliers,
    ProtectWhere,
    Regenerate,
    names_between_commas,
    parameters_given,
)
from understudy.errors import BadInput

EXAMPLES = """
  understudy plan schema.toml --target readmitted --epsilon 1
  understudy plan schema.toml --target readmitted --epsilon 1 --rows-bound 50000
  understudy plan schema.toml --target readmitted --parents age,bmi --epsilon 0.5
  understudy plan schema.toml --target hired --independent "hired _||_ sex | degree" --epsilon 1
  understudy plan schema.toml --target readmitted --epsilon 1 --out plan.html
  understudy plan schema.toml --epsilon 1 --method aim --param degree=3 --json
"""


def plan(  # noqa: PLR0913 - one per option
    schema: Annotated[
        Path,
        typer.Argument(metavar="SCHEMA", help="Public facts: our TOML, mbi domain.json, SDV JSON."),
    ],
    *,
    epsilon: Annotated[float, typer.Option(metavar="E", help="The whole cost; 1 is common.")],
    target: Annotated[
        str | None, typer.Option(metavar="Y", help="The column that readers will predict.")
    ] = None,
    rows_bound: Annotated[
        int | None,
        typer.Option(metavar="N", help="At most so many rows: for per cent, time and memory."),
    ] = None,
    delta: Annotated[
        float, typer.Option(metavar="D", help="Far below one over the number of rows.")
    ] = 1e-9,
    method: Annotated[str, typer.Option(metavar="NAME", help="See `understudy methods`.")] = "auto",
    param: Annotated[
        list[str] | None, typer.Option(metavar="K=V", help="A parameter of the method.")
    ] = None,
    parents: Annotated[
        str | None, typer.Option(metavar="A,B", help="The target's direct causes, if known.")
    ] = None,
    graph: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="What depends on what: DOT, JSON edges, or learn."),
    ] = None,
    independent: Independent = None,
    protect_outliers: ProtectOutliers = False,
    protect_where: ProtectWhere = None,
    outlier_epsilon: OutlierEpsilon = None,
    regenerate: Regenerate = False,
    unit: Annotated[
        str, typer.Option(metavar="U", help="record, replace, or person:ID:3.")
    ] = "record",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page (.html) to look at.")
    ] = None,
    accept_weak_guarantee: AcceptWeakGuarantee = False,
    as_json: AsJson = False,
) -> None:
    """Show what a release would buy; reads no rows.

    The method is rehearsed on made-up rows, so prices, limits and refusals are those of
    `understudy synthesize` with the same options.
    """
    from understudy.curator.internal import check_internal, write_internal
    from understudy.plan import plan as planned
    from understudy.plan import plan_html
    from understudy.plan.laps import age
    from understudy.plan_page import plan_page, show
    from understudy.progress import told_steps
    from understudy.spoken import still_text

    if out is not None:
        if out.suffix != ".html":
            msg = f"{out} cannot be written; name a file that ends in .html."
            raise BadInput(msg)
        check_internal(out)
    starting = age()
    with told_steps(quiet=as_json) as tell:
        found = planned(
            schema,
            epsilon=epsilon,
            delta=delta,
            target=target,
            mechanism=method,
            parameters=parameters_given(param or []),
            parents=None if parents is None else names_between_commas(parents),
            graph=graph,
            constraints=independent or (),
            protect_outliers=protect_outliers,
            protect_where=protect_where or (),
            outlier_epsilon=outlier_epsilon,
            regenerate=regenerate,
            unit=unit,
            rows=rows_bound,
            accept_weak_guarantee=accept_weak_guarantee,
            starting=starting,
            tell=tell,
        )
    if out is not None:
        write_internal(out, plan_html(found))
    page = plan_page(found)
    if as_json:
        typer.echo(still_text(json.dumps(page, indent=2, ensure_ascii=False)))
    else:
        show(page)
