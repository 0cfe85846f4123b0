"""A second opinion on attacks: anonymeter, run in a Python of its own.

Anonymeter 1.1 wants NumPy below 1.27 and cannot live beside this package, so it is installed
somewhere else (`python -m venv other && other/bin/pip install anonymeter`) and started from there.
"""

import json
import math
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from understudy.curator import anonymeter_script
from understudy.curator.result import Direction, Result, absent
from understudy.curator.tables import Rows, Tables
from understudy.curator.target import Target
from understudy.errors import BadInput

_MOST_ROWS = 20_000
_ATTACKS = 500
_QUICK, _LONGEST = 120, 1800
"""Seconds until it is given up."""


def anonymeter_risks(
    tables: Tables, target: Target | None, python: Path, rng: np.random.Generator
) -> tuple[Result, ...]:
    """Anonymeter's risks, each against its own control; `python` is an interpreter that has it."""
    assert tables.test is not None  # noqa: S101 - checked
    sides = {"real": tables.real, "synthetic": tables.synthetic, "test": tables.test}
    attacks = min(_ATTACKS, *(rows.count for rows in sides.values()))
    read = f"{attacks:,} attacks, with as many on test rows as control"
    with tempfile.TemporaryDirectory() as name:  # readable by its owner alone
        folder = Path(name)
        for side, rows in sides.items():
            pq.write_table(_typed(tables, rows.some(_MOST_ROWS, rng)), folder / f"{side}.parquet")
        request = {
            "attacks": attacks,
            "target": None if target is None else target.name,
            "regression": target is not None and not target.classes,
        }
        (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")
        try:
            _run(python, anonymeter_script.__file__, str(folder))
        except subprocess.SubprocessError:
            why = "anonymeter stopped or took too long"
            return (absent("anonymeter", Direction.LOWER, read, why),)
        risks = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    return tuple(_result(what, told, read) for what, told in risks.items())


def check_anonymeter(tables: Tables, python: Path) -> None:
    """Refuse where there is no anonymeter, or nothing to compare with."""
    if tables.test is None:
        msg = "Anonymeter compares with rows that the release never saw. Give them with --test."
        raise BadInput(msg)
    try:
        _run(python, "-c", "import anonymeter", seconds=_QUICK)
    except (OSError, subprocess.SubprocessError):
        msg = (
            f"{python} is no Python that has anonymeter. Make one: python3.11 -m venv other && "
            "other/bin/pip install anonymeter; then give --anonymeter other/bin/python."
        )
        raise BadInput(msg) from None


def _run(python: Path, *arguments: str, seconds: int = _LONGEST) -> None:
    # Isolated, so that nothing of this environment is found by the other one.
    subprocess.run(  # noqa: S603 - an interpreter that the user names
        [str(python), "-I", *arguments],
        check=True,
        capture_output=True,
        timeout=seconds,
    )


def _result(what: str, told: dict[str, float | str], read: str) -> Result:
    name = f"anonymeter: {what}"
    if "failed" in told:
        return absent(name, Direction.LOWER, read, f"anonymeter failed with {told['failed']}")
    value, low, high = (float(told[key]) for key in ("value", "low", "high"))
    if math.isnan(value):
        return absent(name, Direction.LOWER, read, "anonymeter's attacks all failed")
    return Result(name, value, low, high, Direction.LOWER, read)


def _typed(tables: Tables, rows: Rows) -> pa.Table:
    """Numbers as numbers and labels as text."""
    columns = {}
    for column in tables.columns:
        if column.sort.counted:
            columns[column.name] = pa.array(rows.numbers[column.name], from_pandas=True)
        else:
            labels = pa.array(column.labels, pa.string())
            columns[column.name] = labels.take(pa.array(rows.codes[column.name]))
    return pa.table(columns)
