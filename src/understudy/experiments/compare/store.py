"""The folder of a comparison: its plan, and a file for each cell that is done.

Who starts again goes on where it stopped. All of it is internal, and for its owner alone.
"""

import json
import os
import tempfile
from pathlib import Path

from understudy.errors import BadInput
from understudy.experiments.compare.cell import Outcome
from understudy.experiments.compare.plan import Cell, Plan
from understudy.privacy.folder import CERTIFICATE
from understudy.privacy.spelling import DEFECTS

_PLAN, _CELLS = "plan.json", "cells"
PAGE, RESULT = "comparison.html", "comparison.json"


class Store:
    """Outcomes on the disk."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        """Open a folder for a plan: a new one, or one that was begun with the same plan."""
        self.folder = folder
        if any((above / CERTIFICATE).exists() for above in [folder, *folder.absolute().parents]):
            msg = f"{folder} lies in a release folder, where everything may be published."
            raise BadInput(msg)
        written = json.dumps(plan.to_json(), indent=2, ensure_ascii=False) + "\n"
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            (folder / _CELLS).mkdir(mode=0o700, exist_ok=True)
            if (folder / _PLAN).exists():
                before = (folder / _PLAN).read_text(encoding="utf-8")
            else:
                before = written
                self._write(folder / _PLAN, written)
        except OSError as error:
            msg = f"{folder} cannot be used: {error.strerror}. Choose a folder that is yours."
            raise BadInput(msg) from None
        if before != written:
            msg = (
                f"{folder} holds a comparison of other things: other rows, methods, or options. "
                "Choose another folder with --out, or ask for the same again to go on."
            )
            raise BadInput(msg)

    def done(self) -> dict[Cell, Outcome]:
        """The cells that need not be run again; what failed is tried once more."""
        found = {}
        for path in sorted((self.folder / _CELLS).glob("*.json")):
            try:
                outcome = Outcome.from_json(json.loads(path.read_text(encoding="utf-8")))
            except (*DEFECTS, OSError):
                continue  # such as half a file: run again
            if outcome.failed is None:
                found[outcome.cell] = outcome
        return found

    def keep(self, outcome: Outcome) -> None:
        """Write one cell."""
        content = json.dumps(outcome.to_json(), indent=2, ensure_ascii=False) + "\n"
        self._write(self.folder / _CELLS / f"{outcome.cell.name}.json", content)

    def finish(self, content: str, page: str) -> None:
        """Write the result, over that of an earlier time."""
        self._write(self.folder / RESULT, content)
        self._write(self.folder / PAGE, page)

    def _write(self, path: Path, text: str) -> None:
        """Whole or not at all, and for its owner alone."""
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".part-")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).replace(path)
