"""The folder that a paper's tables are read from."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from understudy.curator.source import read_rows
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


def whole_rows(path: Path, names: Sequence[str]) -> pa.Table:
    """A table's columns, without rows that lack a cell."""
    rows = read_rows(str(path))
    lacking = [name for name in names if name not in rows.column_names]
    if lacking:
        msg = f"{path.name} lacks {listed(lacking)}. Is it the paper's table?"
        raise BadInput(msg)
    return rows.select(list(names)).drop_null()
