"""Audits as a table for docs/audit.md: python benchmarks/audit_table.py FILE.json ...

The files are what `understudy audit ... --json` printed.
"""

import json
import sys
from pathlib import Path


def main() -> None:
    """Print one row for each case."""
    found = [one for name in sys.argv[1:] for one in json.loads(Path(name).read_text())]
    heads = ["runs", "μ claimed", "seen", "at least", "seen / claimed", "ε claimed", "seen"]
    print(f"| audited | {' | '.join(heads)} |")
    print("|---|" + "---:|" * len(heads))
    for one in found:
        low = max(one["epsilon_low"], one["choice_epsilon_low"] or 0.0)
        cells = [
            one["name"] + (" **BROKEN**" if one["broken"] else ""),
            one["runs"],
            *(_number(one[key]) for key in ("mu", "mu_seen", "mu_low")),
            _number(one["mu_seen"] / one["mu"] if one["mu"] else None),
            _number(one["epsilon"]),
            _number(low),
        ]
        print(f"| {' | '.join(cells)} |")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


if __name__ == "__main__":
    main()
