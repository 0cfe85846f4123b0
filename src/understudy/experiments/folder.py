"""The folder that a paper's tables are read from."""

from collections.abc import Sequence
from pathlib import Path

from understudy.errors import BadInput, listed


def folder_with(data: Path | None, files: Sequence[str]) -> Path:
    """Refuse a folder that lacks a table, before the work."""
    if data is None:
        msg = "All tables of this paper are read: give their folder with --data."
        raise BadInput(msg)
    lacking = [file for file in files if not (data / file).is_file()]
    if lacking:
        msg = f"{data} lacks {listed(lacking)}: give their folder with --data."
        raise BadInput(msg)
    return data
