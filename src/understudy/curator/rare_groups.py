"""What protection costs the rare: how well rows are kept that count less, beside the others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from understudy.curator.beforehand import Codes
from understudy.curator.group_task import NO_TASK, GroupScores, GroupTask
from understudy.curator.result import Direction, Result, resampled, share
from understudy.curator.tables import REAL, SYNTHETIC
from understudy.curator.weighted import Weights, resampling
from understudy.encode import Encoding
from understudy.privacy.weights import RowWeights

_RESAMPLES = 100
_MOST_PAIRS = 50


@dataclass(frozen=True)
class RareGroup:
    """How well a group of rows is kept in the synthetic table."""

    rows: str
    real: Result
    """Its share of the real rows."""
    synthetic: Result
    columns: Result
    """The mean distance of its columns from their real distribution."""
    pairs: Result
    task: GroupScores
    """What readers' models make of it."""


def rare_groups(  # noqa: PLR0913, PLR0917 - what is compared
    weights: RowWeights,
    limit: int,
    encoding: Encoding,
    codes: Mapping[str, Codes],
    task: GroupTask | None,
    rng: np.random.Generator,
) -> list[RareGroup]:
    """Rows beyond the threshold, and the others: how well each are kept, and predicted."""
    beyond = {side: weights.scores(rows) > limit for side, rows in codes.items()}
    sizes = {name: encoding.domain.sizes[name] for name in weights.columns}
    found = []
    for rows, is_rare in (("protected", True), ("all others", False)):
        here = [beyond[side] == is_rare for side in (REAL, SYNTHETIC)]
        part = [
            {name: codes[side][name][among] for name in sizes}
            for side, among in zip((REAL, SYNTHETIC), here, strict=True)
        ]
        counts = [int(among.sum()) for among in here]
        shares = [
            share(
                f"share of {side} rows, {rows}",
                count,
                len(among),
                Direction.NONE,
                f"{len(among):,} {side} rows",
            )
            for side, count, among in zip((REAL, SYNTHETIC), counts, here, strict=True)
        ]
        drawn = [resampling(count, rng, _RESAMPLES) for count in counts]
        read = f"{counts[0]:,} real and {counts[1]:,} synthetic rows"
        distances = [
            _distance(f"mean distance of {what}, {rows}", part, drawn, cliques, sizes, read)
            for what, cliques in _cliques(list(sizes), rng).items()
        ]
        told = NO_TASK if task is None else task.among(beyond[task.side] == is_rare)
        found.append(RareGroup(rows, shares[0], shares[1], distances[0], distances[1], told))
    return found


def _cliques(names: list[str], rng: np.random.Generator) -> dict[str, list[tuple[str, ...]]]:
    pairs = list(combinations(names, 2))
    chosen = [pairs[k] for k in rng.permutation(len(pairs))[:_MOST_PAIRS]]
    return {"columns": [(name,) for name in names], "pairs": list(chosen)}


def _distance(  # noqa: PLR0913, PLR0917 - what is compared
    name: str,
    sides: Sequence[Codes],
    drawn: Sequence[Weights],
    cliques: Sequence[tuple[str, ...]],
    sizes: Mapping[str, int],
    read: str,
) -> Result:
    """The mean total variation distance of marginals, with resampled values."""
    if not cliques or min(weights.shape[1] for weights in drawn) == 0:
        values = np.array([np.nan])
        why = "there are no such rows in one of the tables" if cliques else "there are no pairs"
        return resampled(name, values, Direction.LOWER, read, absent=why)
    total = np.zeros(len(drawn[0]))
    for clique in cliques:
        shape = tuple(sizes[one] for one in clique)
        places = [
            np.ravel_multi_index([codes[one].astype(np.intp) for one in clique], shape)
            for codes in sides
        ]
        # Of very many cells only those that somebody is in.
        used, cells = np.unique(np.concatenate(places), return_inverse=True)
        shares = []
        for own, weights in zip(np.split(cells, [len(places[0])]), drawn, strict=True):
            counts = np.array([np.bincount(own, line, minlength=len(used)) for line in weights])
            shares.append(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))
        total += np.abs(shares[0] - shares[1]).sum(axis=1) / 2
    return resampled(name, total / len(cliques), Direction.LOWER, read)
