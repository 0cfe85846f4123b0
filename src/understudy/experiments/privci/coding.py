"""How a column becomes whole-number codes: by a public list, or cut at public edges."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.errors import BadInput

MISSING = "missing"


@dataclass(frozen=True)
class Listed:
    """A code for every value of a list."""

    values: tuple[str, ...]
    """As they are spelled in the file."""
    missing: bool = False
    """Whether cells may be empty; then that is one more code."""

    @property
    def size(self) -> int:
        """How many codes there are."""
        return len(self.values) + self.missing

    def codes(self, name: str, cells: pa.ChunkedArray) -> NDArray[np.int64]:
        """Places in the list."""
        known = {value: code for code, value in enumerate(self.values)}
        if self.missing:
            known[""] = len(self.values)
        texts = ["" if cell is None else cell for cell in cells.to_pylist()]
        if not known.keys() >= {*texts}:
            msg = f"Column {name!r} has values that the paper's table has not. Is it the same file?"
            raise BadInput(msg)
        return np.array([known[text] for text in texts], np.int64)

    def __str__(self) -> str:
        return f"{len(self.values)} values" + (f", {MISSING}" if self.missing else "")


@dataclass(frozen=True)
class Cut:
    """A code for every interval; each edge is the first number of the next one."""

    edges: tuple[float, ...]

    @property
    def size(self) -> int:
        """How many codes there are."""
        return len(self.edges) + 1

    def codes(self, name: str, cells: pa.ChunkedArray) -> NDArray[np.int64]:
        """In which interval numbers lie."""
        try:
            numbers = np.array(cells.to_pylist(), np.float64)
        except (TypeError, ValueError):
            numbers = np.array([np.nan])
        if np.isnan(numbers).any():
            msg = f"Column {name!r} is to be numbers without gaps. Is it the paper's table?"
            raise BadInput(msg)
        return np.searchsorted(self.edges, numbers, side="right").astype(np.int64)

    def __str__(self) -> str:
        return f"cut below {', '.join(f'{edge:g}' for edge in self.edges)}"


Coding = Listed | Cut


def numbered(first: int, last: int) -> Listed:
    """The whole numbers from first to last."""
    return Listed(tuple(str(number) for number in range(first, last + 1)))
