"""Which columns a model of labels may go by, and what it sees of them."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique
from understudy.encode.encoding import Cells
from understudy.encode.numbers import NumberCells
from understudy.knowledge import Allowed
from understudy.separation import Separation

Tables = dict[str, NDArray[np.float64]]
_EVENED, _BETWEEN = 1 / 3, (0.5, 3.0)
"""Inputs go with this power of how rare a code is, within these factors; docs/choosing.md."""
MOST_CODES = 2000
"""Of all inputs together: each code is an input of its own."""
_FORGOTTEN = "\0"
"""In front of the target where features were drawn together with one that is then forgotten."""


def input_tables(cells: Mapping[str, Cells], names: Sequence[str]) -> Tables:
    """By column and code: ones and zeros, and where codes have an order their place in it too.

    Scaled by the number of columns, so that every row is about as long as 1.
    """
    found, parts = {}, 0
    for name in names:
        cell = cells[name]
        table = np.eye(cell.size)
        parts += 1
        if isinstance(cell, NumberCells) and len(cell.bins) > 1:
            place = np.zeros((cell.size, 1))
            place[: len(cell.bins), 0] = np.linspace(-1, 1, len(cell.bins))
            table = np.concatenate([table, place], axis=1)
            parts += 1
        found[name] = table
    return {name: table / np.sqrt(parts + 1) for name, table in found.items()}


def of_few_codes(sizes: Mapping[str, int], names: Sequence[str]) -> list[str]:
    """The columns whose inputs fit into memory: those with the fewest codes first."""
    total, found = 0, set()
    for name in sorted(names, key=lambda name: sizes[name]):
        total += sizes[name]
        if total > MOST_CODES:
            break
        found.add(name)
    return [name for name in names if name in found]


def evened(tables: Tables, drawn: Mapping[str, NDArray[np.unsignedinteger]]) -> Tables:
    """The same inputs, larger for codes that are rare among drawn rows, smaller for common ones.

    A gradient sums over rows, so what a rare code says is learned slowly. With larger inputs it
    takes fewer steps, and each of them costs. Rows stay as long as before, on the average.
    """
    found = {}
    for name, table in tables.items():
        size = len(table)
        rows = np.bincount(drawn[name], minlength=size) + 1  # a code that nobody drew is rare
        shares = rows / rows.sum()
        factors = np.clip((shares * size) ** -_EVENED, *_BETWEEN)
        factors /= np.sqrt(shares @ factors**2)
        found[name] = np.concatenate([table[:, :size] * factors[:, None], table[:, size:]], axis=1)
    return found


def kept_inputs(
    allowed: Allowed, cliques: Sequence[Clique], target: str, names: Sequence[str]
) -> list[str]:
    """The columns that labels may go by, one after the other, so that all independences hold."""
    found: list[str] = []
    for name in names:
        inputs = [*found, name]
        if isinstance(allowed, Separation):
            fits = keeps(allowed, cliques, target, inputs)
        else:
            fits = allowed([*cliques, *((target, one) for one in inputs)])
        if fits:
            found.append(name)
    return found


def keeps(
    allowed: Separation, cliques: Sequence[Clique], target: str, inputs: Sequence[str]
) -> bool:
    """Whether all independences hold where labels go by these inputs alone.

    `cliques` are what features were measured in. A label is drawn last and given to nobody, so an
    independence that does not name the target is not touched by it. One that has the target on a
    side is kept if no path leads from an input around the given columns. Where the target is given
    itself, it ties its inputs to each other. docs/proofs/labels.md.
    """
    forgotten = [tuple(_FORGOTTEN + n if n == target else n for n in c) for c in cliques]
    for one in allowed.independences:
        if target in one.given:
            labelled: list[Clique] = [(target, *inputs)]
        elif target in (*one.outcome, *one.protected):
            labelled = [(target, name) for name in inputs]
        else:
            labelled = []
        if not Separation([one])([*forgotten, *labelled]):
            return False
    return True
