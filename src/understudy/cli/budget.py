"""`understudy budget`: the one total for a table's releases."""

import json
from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.options import AcceptWeakGuarantee, AsJson
from understudy.errors import BadInput

EXAMPLES = """
  understudy budget table.ledger --create --epsilon 4 --delta 1e-8
  understudy budget table.ledger --create --epsilon 4 --delta 1e-8 --table-id patients-2026
  understudy budget table.ledger
  understudy budget table.ledger --json
"""


def budget(  # noqa: PLR0913 - one per option
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The table's ledger file.")],
    *,
    create: Annotated[bool, typer.Option("--create", help="Make the file.")] = False,
    epsilon: Annotated[
        float | None, typer.Option(metavar="E", help="The total for all releases together.")
    ] = None,
    delta: Annotated[
        float | None, typer.Option(metavar="D", help="Far below one over the number of rows.")
    ] = None,
    table_id: Annotated[
        str | None,
        typer.Option(
            metavar="LABEL",
            help="With --create: bind the ledger to a table by a public label of your choice.",
        ),
    ] = None,
    accept_weak_guarantee: AcceptWeakGuarantee = False,
    as_json: AsJson = False,
) -> None:
    """Make or show the one total for a table's releases.

    Every line of the file is checked.
    """
    from understudy.ledger_page import ledger_page, show
    from understudy.privacy.budget import Budget
    from understudy.privacy.discover import DELTA_SHARE
    from understudy.privacy.ledger_file import create_ledger, read_ledger
    from understudy.privacy.promise import check_strength

    if create and (epsilon is None or delta is None):
        msg = "A new ledger needs its total, such as --epsilon 4 --delta 1e-8; it is never raised."
        raise BadInput(msg)
    if not create and table_id is not None:
        msg = f"A ledger is bound to its table once, with --create. {file} is only shown."
        raise BadInput(msg)
    if not create and (epsilon is not None or delta is not None):
        msg = f"The total is set once, with --create. Without it, {file} is only shown."
        raise BadInput(msg)
    if epsilon is not None and delta is not None:
        # A tenth of delta is kept for facts that releases find out.
        total = Budget(epsilon, delta, thresholds=delta * DELTA_SHARE)
        check_strength(total.epsilon, total.delta, accepted=accept_weak_guarantee)
        create_ledger(file, total, table_id=table_id)
    page = ledger_page(read_ledger(file))
    if as_json:
        typer.echo(json.dumps(page, indent=2))
    else:
        show(page)
