"""What readers will predict: one of a few classes, or a number."""

import contextlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.curator.stored import flag
from understudy.curator.tables import Rows, Sort, Tables
from understudy.errors import BadInput

CLASSES, NUMBER = "classification", "regression"
MOST_CLASSES = 20
"""A column of whole numbers with more values than this is predicted as a number."""


@dataclass(frozen=True, eq=False)
class Target:
    """The column to predict."""

    name: str
    classes: tuple[str, ...]
    """None for a number."""
    positive: int | None = None
    """The class that a yes-or-no question asks for."""
    _values: NDArray[np.float64] | None = None
    """The numbers that stand for classes, where these are numbers."""

    @classmethod
    def of(
        cls, tables: Tables, name: str, *, task: str | None = None, positive: str | None = None
    ) -> "Target":
        """The target, as classes or as a number; `task` overrules what its values look like."""
        if task not in {None, CLASSES, NUMBER}:
            msg = f"The task {task!r} is unknown; use {CLASSES} or {NUMBER}."
            raise BadInput(msg)
        column = tables[name]
        values = None
        if column.sort.counted:
            parts = [tables.real, tables.synthetic, *([tables.test] if tables.test else [])]
            numbers = np.concatenate([part.numbers[name] for part in parts])
            values = np.unique(numbers[~np.isnan(numbers)])
            few = len(values) <= MOST_CLASSES and bool(np.all(values == np.floor(values)))
            if task == NUMBER or (task is None and not few):
                if positive is not None:
                    msg = f"A positive class makes no sense: {name!r} is predicted as a number."
                    raise BadInput(msg)
                return cls(name, ())
            classes = tuple(_spelled(value) for value in values.tolist())
        else:
            if task == NUMBER:
                msg = f"Column {name!r} holds labels and cannot be predicted as a number."
                raise BadInput(msg)
            classes = tuple(label for label in column.labels if label is not None)
        target = cls(name, classes, None, values)
        if positive is not None and column.sort is Sort.FLAG:
            positive = flag(positive)
        return cls(name, classes, _positive(target, tables.real, positive), values)

    @property
    def by_number(self) -> bool:
        """Whether classes are written as numbers."""
        return self._values is not None

    @property
    def task(self) -> str:
        """The kind of task."""
        return CLASSES if self.classes else NUMBER

    def known(self, rows: Rows) -> NDArray[np.bool_]:
        """Where there is something to predict."""
        if self.name in rows.numbers:
            return ~np.isnan(rows.numbers[self.name])
        return rows.codes[self.name] < len(self.classes)

    def codes(self, rows: Rows) -> NDArray[np.int64]:
        """The class of each row, as a place among the classes."""
        if self._values is None:
            return rows.codes[self.name].astype(np.int64)
        return np.searchsorted(self._values, rows.numbers[self.name]).astype(np.int64)

    def numbers(self, rows: Rows) -> NDArray[np.float64]:
        """The number of each row."""
        return rows.numbers[self.name]


def _spelled(number: float | str) -> str:
    """A number as a class.

    >>> _spelled("1.0"), _spelled(2.0), _spelled("yes")
    ('1', '2', 'yes')
    """
    with contextlib.suppress(ValueError):
        return f"{float(number):.12g}"
    return str(number)


def _positive(target: Target, real: Rows, wanted: str | None) -> int | None:
    """The class that was asked for; of two, the real table's rarer one by default."""
    if wanted is not None:
        if target.by_number:
            wanted = _spelled(wanted)
        if wanted not in target.classes:
            msg = (
                f"{target.name!r} has no class {wanted!r}. Write it as the table does, or leave "
                "--positive away: then it is the rarer of two classes."
            )
            raise BadInput(msg)
        return target.classes.index(wanted)
    if len(target.classes) != 2:  # noqa: PLR2004 - yes or no
        return None
    counts = np.bincount(target.codes(real)[target.known(real)], minlength=2)
    return 0 if counts[0] < counts[1] else 1
