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
    from dataclasses import asdict

    from understudy.mechanisms.catalog import AUTO, MECHANISMS, mechanism_named

    automatic = type(mechanism_named(AUTO))
    found = [
        {
            "method": kind.name,
            "about": kind.about,
            "guarantee": kind.guarantee,
            "needs": kind.needs,
            "parameters": asdict(mechanism_named(kind.name)),  # type: ignore[call-overload]
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
        if method["parameters"]:
            usual = " ".join(
                f"--param {name}={value}" for name, value in method["parameters"].items()
            )
            typer.echo(f"  usual: {usual}")
