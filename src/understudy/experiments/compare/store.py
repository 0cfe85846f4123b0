"""The folder of a comparison: its plan, and a file for each cell that is done.

Who starts again goes on where it stopped. All of it is internal, and for its owner alone.
"""

import contextlib
import fcntl
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from understudy.curator.internal import check_unpublished, replace_internal
from understudy.errors import BadInput
from understudy.experiments.compare.outcome import Outcome
from understudy.experiments.compare.plan import FORMAT, Cell, Plan
from understudy.privacy.disk import opened
from understudy.privacy.spelling import DEFECTS

_PLAN, _CELLS, _LOCK = "plan.json", "cells", ".lock"
PAGE, RESULT = "comparison.html", "comparison.json"


class Store:
    """Outcomes on the disk; one process at a time."""

    plan: Plan
    """As it was given, with the salt of the folder."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        """Open a folder for a plan: a new one, or one that was begun with the same plan."""
        self.folder = folder
        check_unpublished(folder)
        try:
            # What is here already is somebody's, unless a plan says that it is ours.
            others = folder.exists() and any(path.name != _LOCK for path in folder.iterdir())
            if others and not (folder / _PLAN).exists():
                msg = f"{folder} holds other files. Choose a new folder with --out."
                raise BadInput(msg)
            folder.mkdir(mode=0o700, exist_ok=True)
            with contextlib.ExitStack() as held:
                lock = held.enter_context(opened(folder / _LOCK, os.O_RDWR | os.O_CREAT))
                self._take(plan, lock)
                self._held = held.pop_all()  # until the block of this store ends
        except OSError as error:
            raise BadInput(_unusable(folder, error)) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._held.close()

    def done(self) -> dict[Cell, Outcome]:
        """The cells that need not be run again; what failed is tried once more."""
        found = {}
        for path in sorted((self.folder / _CELLS).glob("*.json")):
            try:
                content = json.loads(path.read_text(encoding="utf-8"))
                outcome = Outcome.from_json(content, self.plan.digest)
            except (*DEFECTS, OSError):
                continue  # such as half a file, or another plan's: run again
            if outcome.failed is None:
                found[outcome.cell] = outcome
        return found

    def keep(self, outcome: Outcome) -> None:
        """Write one cell."""
        path = self.folder / _CELLS / f"{outcome.cell.name}.json"
        replace_internal(path, _written(outcome.to_json(self.plan.digest)))

    def finish(self, content: dict[str, Any], page: str) -> None:
        """Write the result, over that of an earlier time."""
        replace_internal(self.folder / RESULT, _written(content))
        replace_internal(self.folder / PAGE, page)

    def _take(self, plan: Plan, lock: int) -> None:
        """Lock the folder, and read its plan or write it."""
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            msg = (
                f"Another process compares in {self.folder}. Wait for it, or end it; or choose "
                "another folder with --out."
            )
            raise BadInput(msg) from None
        path = self.folder / _PLAN
        (self.folder / _CELLS).mkdir(mode=0o700, exist_ok=True)
        before = path.read_bytes() if path.exists() else None
        if before is None:
            self.plan = plan
            replace_internal(path, _written({**plan.to_json(), "salt": plan.salt}))
        else:
            self.plan = replace(plan, salt=_salt(self.folder, before, plan))


def _salt(folder: Path, before: bytes, plan: Plan) -> str:
    """The salt of a plan that was written down; refused if it is another plan."""
    try:
        content = json.loads(before)
        salt = str(content["salt"])
        bytes.fromhex(salt)
        version, ours = str(content["version"]), content["format"] == FORMAT
        facts = json.loads(json.dumps(plan.facts()))
        same = all(content[key] == value for key, value in facts.items())
    except DEFECTS:
        ours = False
    if not ours:
        msg = f"{folder} holds other files, or a damaged comparison. Choose another with --out."
        raise BadInput(msg)
    if not same:
        msg = (
            f"{folder} holds a comparison of other things: other rows, methods, or options. "
            "Choose another folder with --out, or ask for the same again to go on."
        )
        raise BadInput(msg)
    if version != plan.version:
        msg = (
            f"{folder} was begun with Understudy {version}, and this is {plan.version}, whose "
            "cells may come out differently. Choose another folder with --out."
        )
        raise BadInput(msg)
    return salt


def _written(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _unusable(folder: Path, error: OSError) -> str:
    return f"{folder} cannot be used: {error.strerror}. Choose a folder that is yours."
