"""`understudy reproduce`: what papers print, and what comes out here."""

import json
from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.options import AsJson
from understudy.cli.papers import PAPERS, paper_named

EXAMPLES = """
  understudy reproduce prism --quick
  understudy reproduce privci --data tables --out docs/results/privci.md --jobs 2
"""
_NAMES = " or ".join(paper.name for paper in PAPERS)
_TABLES = "; ".join(f"{paper.name}: {paper.tables}" for paper in PAPERS)


def reproduce(  # noqa: PLR0913 - one per option
    paper: Annotated[str, typer.Argument(metavar="PAPER", help=f"{_NAMES}.")],
    *,
    quick: Annotated[
        bool, typer.Option("--quick", help="Few repetitions: minutes in place of half an hour.")
    ] = False,
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help=f"Where the tables lie, as .csv.gz ({_TABLES})."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where to write the text; figures lie beside it."),
    ] = None,
    jobs: Annotated[int, typer.Option(metavar="J", help="Trials that are run at a time.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Repeat a paper's experiments: ours beside the print.

    Tables that a paper invents are invented anew; others are read from --data: without it they
    are left out, and a paper that invents none is refused. Nothing here is private: these are
    public benchmarks.
    """
    from understudy.experiments.written import check_writable, write_text
    from understudy.progress import told_steps

    known = paper_named(paper)
    if out is not None:
        check_writable(out)
    words = ["understudy reproduce", paper, *(["--quick"] if quick else [])]
    words += ["--data DIR"] if data is not None else []
    words += ["--out FILE"] if out is not None else []
    words += [f"--jobs {jobs}"] if jobs > 1 else []
    with told_steps(quiet=as_json) as tell:
        made = known.load()(quick=quick, data=data, command=" ".join(words), jobs=jobs, tell=tell)
    if out is not None:
        write_text(out, made.text)
        for file, picture in made.figures.items():
            write_text(out.with_name(file), picture)
    if as_json:
        told = [
            {
                "what": aim.what,
                "paper": aim.paper,
                "aim": aim.aim,
                "ours": aim.value,
                "half": aim.half,
                "met": aim.met,
            }
            for aim in made.aims
        ]
        typer.echo(json.dumps(told, indent=2, ensure_ascii=False))
    else:
        typer.echo(made.text if out is None else f"Written: {out}")
