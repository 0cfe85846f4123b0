"""An audit of any synthesizer that can be run by a command, by its output alone.

Two tables that differ by one row are synthesized again and again. The statistic is how many cells
of the output hold the canary's values, which no other row has.
"""

import csv
import json
import shlex
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from understudy.curator.audit.audited import CONFIDENCE, RISK, Audited
from understudy.curator.audit.bounds import mistakes
from understudy.curator.audit.pair import CODES, COLUMNS, RARE, Pair
from understudy.errors import BadInput
from understudy.privacy.unit import Record

_LAST_LINES = 5


def audit_command(
    command: str,
    *,
    epsilon: float,
    delta: float,
    runs: int,
    tell: Callable[[str], None] = lambda _: None,
) -> Audited:
    """Run the command so often on each of two tables, and tell them apart by what it wrote.

    `{data}` and `{out}` in the command stand for the CSV files to read and to write, `{domain}`
    for a JSON file that gives each column's number of codes, `{epsilon}` and `{delta}` for the
    promise. A command with `{jobs}` is started once: the file lists, line by line, what to read
    and what to write.
    """
    if "{jobs}" not in command and not ("{data}" in command and "{out}" in command):
        msg = "The command must name {data} and {out}, or {jobs}; see understudy audit --help."
        raise BadInput(msg)
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder)
        (where / "domain.json").write_text(json.dumps(dict.fromkeys(COLUMNS, len(CODES))))
        pair = Pair(Record())
        data = [where / name for name in ("without.csv", "with.csv")]
        for file, canary in zip(data, (False, True), strict=True):
            codes = pair.codes(canary=canary)
            _write(file, list(zip(*(codes[name].tolist() for name in pair.columns), strict=True)))
        asked = [(side, where / f"out-{side}-{run}.csv") for run in range(runs) for side in (0, 1)]
        known = {"domain": where / "domain.json", "epsilon": epsilon, "delta": delta}
        if "{jobs}" in command:
            lines = [json.dumps({"data": str(data[side]), "out": str(out)}) for side, out in asked]
            (where / "jobs.jsonl").write_text("\n".join(lines) + "\n")
            tell(f"Running the command once, for {len(asked)} tables")
            _run(command, {**known, "jobs": where / "jobs.jsonl"})
        else:
            for place, (side, out) in enumerate(asked):
                if place % 50 == 0:
                    tell(f"Running the command, {place + 1} of {len(asked)}")
                _run(command, {**known, "data": data[side], "out": out})
        seen: tuple[list[float], list[float]] = ([], [])
        for side, out in asked:
            seen[side].append(_rare_cells(out))
    without, with_it = (np.array(side, np.float64) for side in seen)
    _, seen_by_it = mistakes(without, with_it, delta=delta, risk=1 - CONFIDENCE)
    return Audited(
        " ".join(Path(word).name for word in shlex.split(command)[:2] if "{" not in word),
        f"2 × {runs:,}",
        epsilon,
        delta,
        seen_by_it.epsilon_low(delta, 1 - CONFIDENCE),
        broken=seen_by_it.epsilon_low(delta, RISK) > epsilon,
    )


def _run(command: str, known: dict[str, object]) -> None:
    words = [word.format(**known) for word in shlex.split(command)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603 - the user's
    except OSError as error:
        msg = f"{words[0]} cannot be run: {error.strerror}."
        raise BadInput(msg) from None
    if done.returncode:
        said = " / ".join(done.stderr.strip().splitlines()[-_LAST_LINES:])
        msg = f"The command ended with {done.returncode}: {said or 'it said nothing'}"
        raise BadInput(msg)


def _write(file: Path, rows: list[tuple[int, ...]]) -> None:
    with file.open("w", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(COLUMNS)
        writer.writerows(rows)


def _rare_cells(file: Path) -> float:
    """Cells with the canary's code; numbers may come back as 2 or as 2.0."""
    try:
        with file.open(newline="") as opened:
            rows = list(csv.DictReader(opened))
    except OSError:
        msg = f"The command did not write {file.name}."
        raise BadInput(msg) from None
    cells = (row.get(name) or "" for row in rows for name in COLUMNS)
    return float(sum(cell.strip() in {str(RARE), f"{RARE}.0"} for cell in cells))
