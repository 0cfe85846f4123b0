"""`understudy methods`: what can be chosen."""

import json

import typer

from understudy.cli.options import AsJson

EXAMPLES = """
  understudy methods
  understudy methods --json
"""


def methods(
    *,
    as_json: AsJson = False,
) -> None:
    """List the methods: what each keeps and promises."""
    from understudy.mechanisms.catalog import AUTOMATIC, MECHANISMS, usual_parameters

    found = [
        {
            "method": kind.name,
            "about": kind.about,
            "guarantee": kind.guarantee,
            "needs": kind.needs,
            "parameters": {
                name: value if isinstance(value, int | float) else str(value)
                for name, value in usual_parameters(kind).items()
            },
            "auto": kind is AUTOMATIC,
        }
        for kind in MECHANISMS
    ]
    if as_json:
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    for kind in MECHANISMS:
        typer.echo(kind.name + (" (auto)" if kind is AUTOMATIC else ""))
        typer.echo(f"  {kind.about}")
        typer.echo(f"  promises {kind.guarantee}; needs {kind.needs}")
        usual = {name: str(value) for name, value in usual_parameters(kind).items()}
        if usual:
            told = " ".join(f"--param {n}={v.lower()}" for n, v in usual.items() if v)
            typer.echo(f"  usual: {told}")
