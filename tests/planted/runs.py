"""For each bug a run of the test that must catch it: python -m planted.runs, in JSON.

With --none, one run of them all without a bug. One process loads the program once, and forks for
each bug.
"""

import gc
import importlib
import json
import os
import sys
import tempfile
from pathlib import Path

import pytest

from planted.bugs import BUGS

# What most tests load, loaded once.
for name in (
    *("duckdb", "hypothesis.strategies", "ibis", "opendp.prelude", "pandas", "pyarrow.parquet"),
    *("ibis.backends.duckdb", "ibis.backends.sqlite", "mpmath", "pyarrow.pandas_compat"),
    *("scipy.stats", "sqlglot", "typer.testing", "understudy.cli", "understudy.pipeline"),
):
    importlib.import_module(name)

OPTIONS = ["-x", "-p", "no:cacheprovider", "-m", "not slow", "--tb=native"]
OPTIONS += ["-o", "addopts=--import-mode=importlib --strict-markers -q"]  # no doctests


class Planter:
    """A pytest plugin that plants a bug before test modules are imported."""

    def __init__(self, bug):
        self.bug = bug

    def pytest_configure(self):
        self.bug.plant(pytest.MonkeyPatch())  # ends with the process


def run(bug, said):
    """How its test ended; what it printed is in the file. Without a bug, all of the tests."""
    child = os.fork()
    if child == 0:
        with said.open("w") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
            tests = sorted({one.caught_by for one in ([bug] if bug else BUGS)})
            code = pytest.main([*OPTIONS, *tests], plugins=[Planter(bug)] if bug else [])
            sys.stdout.flush()
            os._exit(int(code))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main():
    ends = {}
    # Else each child looks for garbage among all that was loaded.
    gc.collect()
    gc.freeze()
    with tempfile.TemporaryDirectory() as folder:
        said = Path(folder) / "said"
        for bug in (None,) if "--none" in sys.argv else BUGS:
            code = run(bug, said)
            ends[bug.name if bug else "none"] = {
                "code": code,
                "said": said.read_text(encoding="utf-8"),
            }
    gc.unfreeze()
    sys.stdout.write(json.dumps(ends))


if __name__ == "__main__":
    main()
