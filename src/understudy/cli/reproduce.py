"""`understudy reproduce`: what papers print, and what comes out here."""

import json
from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.options import AsJson
from understudy.errors import BadInput

EXAMPLES = """
  understudy reproduce prism --quick
  understudy reproduce prism --data tables --out docs/results/prism.md --jobs 2
"""
_PAPERS = ("prism",)


def reproduce(  # noqa: PLR0913 - one per option
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="prism.")],
    *,
    quick: Annotated[
        bool, typer.Option("--quick", help="Few repetitions: minutes in place of half an hour.")
    ] = False,
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where adult_encoded.csv.gz and adult.csv.gz lie."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where to write the text; figures lie beside it."),
    ] = None,
    jobs: Annotated[int, typer.Option(metavar="J", help="Trials that are run at a time.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Repeat a paper's experiments: ours beside the print.

    Tables that the paper invents are invented anew; others are read from --data, and left out
    without it. Nothing here is private: these are public benchmarks.
    """
    from understudy.experiments.prism.document import aims, figure_file
    from understudy.experiments.prism.reproduce import QUICK, WHOLE
    from understudy.experiments.prism.reproduce import reproduce as run
    from understudy.experiments.written import check_writable, write_text
    from understudy.progress import told_steps

    if paper not in _PAPERS:
        msg = f"There is no paper {paper!r}. Known: {', '.join(_PAPERS)}."
        raise BadInput(msg)
    if out is not None:
        check_writable(out)
    words = ["understudy reproduce", paper, *(["--quick"] if quick else [])]
    words += ["--data DIR"] if data is not None else []
    words += ["--out FILE"] if out is not None else []
    words += [f"--jobs {jobs}"] if jobs > 1 else []
    with told_steps(quiet=as_json) as tell:
        made = run(QUICK if quick else WHOLE, data, command=" ".join(words), jobs=jobs, tell=tell)
    if out is not None:
        write_text(out, made.text)
        for number, (_, picture) in made.figures.items():
            write_text(out.with_name(figure_file(number)), picture)
    if as_json:
        told = [
            {
                "what": aim.what,
                "paper": aim.paper,
                "aim": aim.aim,
                "ours": None if aim.ours is None else aim.ours.value,
                "half": None if aim.ours is None else aim.ours.half,
                "met": aim.met,
            }
            for aim in aims(made.found)
        ]
        typer.echo(json.dumps(told, indent=2, ensure_ascii=False))
    else:
        typer.echo(made.text if out is None else f"Written: {out}")
