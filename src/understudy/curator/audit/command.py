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
from understudy.curator.audit.bounds import fewest_runs, mistakes, most_epsilon_low
from understudy.curator.audit.pair import CODES, COLUMNS, RARE, Pair
from understudy.errors import BadInput
from understudy.privacy.budget import Budget
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
    words = _words(command)
    budget = Budget(epsilon, delta)  # refuses what is no promise
    if most_epsilon_low(runs, delta, RISK) <= epsilon:
        fewest = fewest_runs(epsilon, delta, RISK)
        msg = (
            f"{runs:,} runs could not contradict epsilon = {epsilon:g}, whatever the command does. "
            f"Take a smaller epsilon{f', or --runs {fewest}' if fewest else ''}."
        )
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
        known = {"domain": where / "domain.json", "epsilon": budget.epsilon, "delta": budget.delta}
        seen: tuple[list[float], list[float]] = ([], [])
        if "{jobs}" in command:
            lines = [json.dumps({"data": str(data[side]), "out": str(out)}) for side, out in asked]
            (where / "jobs.jsonl").write_text("\n".join(lines) + "\n")
            tell(f"Running the command once, for {len(asked)} tables")
            _run(words, {**known, "jobs": where / "jobs.jsonl"})
            for side, out in asked:
                seen[side].append(_rare_cells(out))
        else:
            for place, (side, out) in enumerate(asked):
                if place % 50 == 0:
                    tell(f"Running the command, {place + 1} of {len(asked)}")
                _run(words, {**known, "data": data[side], "out": out})
                seen[side].append(_rare_cells(out))
    without, with_it = (np.array(side, np.float64) for side in seen)
    _, seen_by_it = mistakes(without, with_it, delta=delta, risk=1 - CONFIDENCE)
    surely = seen_by_it.epsilon_low(delta, RISK)
    return Audited(
        " ".join(Path(word).name for word in words[:2] if "{" not in word),
        f"2 × {runs:,}",
        epsilon,
        delta,
        seen_by_it.epsilon_low(delta, 1 - CONFIDENCE),
        ("its tables are told apart too well",) if surely > epsilon else (),
    )


def _words(command: str) -> list[str]:
    if "{jobs}" not in command and not ("{data}" in command and "{out}" in command):
        msg = "The command must name {data} and {out}, or {jobs}; see understudy audit --help."
        raise BadInput(msg)
    try:
        return shlex.split(command)
    except ValueError as error:
        msg = f"The command cannot be read: {error}."
        raise BadInput(msg) from None


def _run(words: list[str], known: dict[str, object]) -> None:
    for name, value in known.items():
        words = [word.replace(f"{{{name}}}", str(value)) for word in words]
    try:
        done = subprocess.run(  # noqa: S603 - the user's
            words, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
    except (OSError, ValueError) as error:
        msg = f"{words[0]} cannot be run: {getattr(error, 'strerror', None) or error}."
        raise BadInput(msg) from None
    if done.returncode:
        text = (done.stderr.strip() or done.stdout.strip()).decode(errors="replace")
        said = " / ".join(text.splitlines()[-_LAST_LINES:])
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
        with file.open(newline="", encoding="utf-8-sig") as opened:
            rows = list(csv.DictReader(opened))
    except OSError:
        msg = f"The command did not write {file.name}."
        raise BadInput(msg) from None
    except (UnicodeDecodeError, csv.Error):
        rows = []
    if not rows or not {*COLUMNS} <= {*rows[0]}:
        msg = f"The command wrote no CSV file with rows of {', '.join(COLUMNS)} to {file.name}."
        raise BadInput(msg)
    return float(sum(_is_rare(row[name]) for row in rows for name in COLUMNS))


def _is_rare(cell: str | None) -> bool:
    try:
        return float(cell or "nan") == RARE
    except ValueError:
        return False
