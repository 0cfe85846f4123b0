"""An audit for the eye."""

from collections.abc import Sequence

from rich.table import Table

from understudy.curator.audit.audited import CONFIDENCE, Audited
from understudy.spoken import plain_console


def show(found: Sequence[Audited]) -> None:
    """Every case in a line: what is claimed, and what was seen at least."""
    console = plain_console()
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for head in ("audited", "μ", "seen", "μ ≥", "as ε", "ε", "ε ≥", ""):
        table.add_column(head, justify="left" if head in {"audited", ""} else "right", no_wrap=True)
    for one in found:
        table.add_row(
            one.name,
            _number(one.mu),
            _number(one.mu_seen),
            _number(one.mu_low),
            _number(one.mu_epsilon_low),
            f"{one.epsilon:.3g}",
            _number(max(one.epsilon_low, one.choice_epsilon_low or 0.0)),
            "BROKEN" if one.broken else "stands",
        )
    console.print(table)
    for one in found:
        for why in one.contradicted_by:
            console.print(f"{one.name}: {why}.", style="bold", soft_wrap=True)
    deltas = ", ".join(f"{delta:g}" for delta in dict.fromkeys(one.delta for one in found))
    console.print(
        f"Runs: {', '.join(dict.fromkeys(one.runs for one in found))}. δ = {deltas}. μ and ε are "
        "claimed, μ of the noise on numbers alone; ≥ is what was seen at least, with "
        f"{CONFIDENCE:.0%} confidence each, μ ≥ also as the ε of Gaussian noise. A claim that "
        "stands was not contradicted; that is no proof. Of a thousand audits one may say broken "
        "by chance.",
        soft_wrap=True,
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
