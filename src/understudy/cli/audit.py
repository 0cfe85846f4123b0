"""`understudy audit`: does the promise hold, seen from outside?"""

import json
from typing import Annotated

import typer

from understudy.cli.exits import CHECK_FAILED
from understudy.cli.options import AsJson
from understudy.errors import BadInput

CANARIES = 1000
FEWEST = 20

EXAMPLES = """
  understudy audit mst
  understudy audit measure --epsilon 1 --runs 20000 --jobs 2
  understudy audit aim --one-run
  understudy audit --command "python their.py {data} {epsilon} {out}" --epsilon 1 --runs 100
"""


def audit(  # noqa: PLR0913 - one per option
    method: Annotated[
        str | None,
        typer.Argument(
            metavar="METHOD",
            help="A method, a verb of the ledger (measure, sum, train, select, values), or all.",
        ),
    ] = None,
    *,
    epsilon: Annotated[float, typer.Option(metavar="E", help="The promise of each run.")] = 4.0,
    delta: Annotated[float, typer.Option(metavar="D", help="Of the same promise.")] = 1e-5,
    runs: Annotated[int, typer.Option(metavar="N", help="On each of two tables.")] = 2000,
    jobs: Annotated[int, typer.Option(metavar="J", help="Processes that share the work.")] = 1,
    one_run: Annotated[
        bool, typer.Option("--one-run", help="One run with a thousand canaries: a smoke test.")
    ] = False,
    command: Annotated[
        str | None,
        typer.Option(metavar="CMD", help="Audit any program by what it writes, such as a peer."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Attack a method on invented tables, beside its claim.

    Runs it many times on two tables that differ by one person, and bounds from below what an
    attacker learns who sees every noisy answer. Fails where that is more than was promised.
    A command is judged by its output alone: {data}, {out}, {domain}, {epsilon} and {delta} in it
    are filled in; with {jobs} it is started once, and reads lines of {"data": …, "out": …}.
    """
    from understudy.curator.audit import audit as several
    from understudy.curator.audit.command import audit_command
    from understudy.curator.audit.one_run import one_run as attack_once
    from understudy.curator.audit.text import show
    from understudy.mechanisms.catalog import mechanism_named
    from understudy.privacy.budget import Budget
    from understudy.progress import told_steps

    _check(method, command, runs, jobs)
    if command is not None and one_run:
        msg = "A command is run many times; leave out --one-run."
        raise BadInput(msg)
    with told_steps(quiet=as_json) as tell:
        if command is not None:
            found = [audit_command(command, epsilon=epsilon, delta=delta, runs=runs, tell=tell)]
        elif one_run:
            tell(f"One run of {method}")
            found = [attack_once(mechanism_named(str(method)), Budget(epsilon, delta), CANARIES)]
        else:
            found = several.audit(
                str(method), epsilon=epsilon, delta=delta, runs=runs, jobs=jobs, tell=tell
            )
    if as_json:
        typer.echo(json.dumps([one.to_json() for one in found], indent=2, ensure_ascii=False))
    else:
        show(found)
    if any(one.broken for one in found):
        raise typer.Exit(CHECK_FAILED)


def _check(method: str | None, command: str | None, runs: int, jobs: int) -> None:
    if (method is None) == (command is None):
        msg = "Name a method to audit, or give --command; see understudy audit --help."
        raise BadInput(msg)
    if runs < FEWEST or jobs < 1:
        msg = f"An audit takes at least {FEWEST} runs, and one process."
        raise BadInput(msg)
