"""`understudy demo`: a release of an invented table."""

import json
from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.options import AsJson

EXAMPLES = """
  understudy demo
  understudy demo --out play --rows 20000
  understudy demo --out play --explain
  understudy demo --json > demo.json
"""


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
    as_json: AsJson = False,
) -> None:
    """Make a release of an embedded, invented table."""
    from understudy.experiments import first_release, walkthrough
    from understudy.experiments.demo import DEMO_INDEPENDENCE, demo_schema, demo_table
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
        f'--independent "{DEMO_INDEPENDENCE}" --out another',
        err=True,
    )
