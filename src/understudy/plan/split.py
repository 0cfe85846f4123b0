"""The split of a budget: which part of it each kind of request gets."""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from fractions import Fraction

from understudy.privacy.account import Entry
from understudy.privacy.accountant import cost
from understudy.privacy.budget import Budget
from understudy.privacy.model_maps import ModelCells
from understudy.report.bought import DUST


class Part(StrEnum):
    """What a part of the budget is for."""

    FORM = "counting malformed records"
    FINDING = "finding out open facts"
    STRAYS = "counting values that miss what is declared"
    SCORES = "scores of how rare records are"
    ROWS = "the number of rows"
    COLUMNS = "single columns"
    PAIRS = "pairs"
    TRIPLES = "triples"
    WIDER = "wider tables"
    CHOOSING = "choosing"
    TRAINING = "training"
    SUMS = "sums and moments"
    CALIBRATION = "calibrating labels"
    REST = "not spent"

    @property
    def hue(self) -> str:
        """Its colour on a page; neighbours differ."""
        return f"hue-{_HUES[self]}"


_HUES = {
    Part.FORM: 2,
    Part.FINDING: 3,
    Part.STRAYS: 5,
    Part.SCORES: 6,
    Part.ROWS: 4,
    Part.COLUMNS: 0,
    Part.PAIRS: 5,
    Part.TRIPLES: 6,
    Part.WIDER: 3,
    Part.CHOOSING: 1,
    Part.TRAINING: 2,
    Part.SUMS: 3,
    Part.CALIBRATION: 5,
    Part.REST: 4,
}
_BY_WIDTH = (Part.ROWS, Part.COLUMNS, Part.PAIRS, Part.TRIPLES)
_BY_DOOR = {
    "select": Part.CHOOSING,
    "scores": Part.CHOOSING,
    "train": Part.TRAINING,
    "select_best": Part.TRAINING,
}


def split_of(
    entries: Sequence[Entry], opening: int, weighing: int, budget: Budget
) -> dict[Part, float]:
    """By part, its share.

    The first `opening` requests found facts out, those up to `weighing` told who is rare.
    """
    found = dict.fromkeys(Part, 0.0)
    for place, entry in enumerate(entries):
        share = float(Fraction(cost(entry.event, budget.order)) / budget.rho)
        if entry.request["door"] == "malformed":
            found[Part.FORM] += share
            continue
        if entry.request.get("strays"):
            found[Part.STRAYS] += share
            continue
        if place < weighing:
            found[Part.FINDING if place < opening else Part.SCORES] += share
            continue
        for part, of in _parts(entry):
            found[part] += share * of
    found[Part.REST] = max(0.0, 1 - sum(found.values()))
    return {part: share for part, share in found.items() if share > DUST}


def _parts(entry: Entry) -> Iterator[tuple[Part, float]]:
    """What a request is for; marginals that are asked for together have equal parts of it."""
    door = str(entry.request["door"])
    if door == "measure":
        cliques = entry.request["cliques"]
        for clique in cliques:
            wide = len(clique)
            part = _BY_WIDTH[wide] if wide < len(_BY_WIDTH) else Part.WIDER
            yield part, 1 / len(cliques)
        return
    if entry.request.get("row_map") == ModelCells.__name__:
        yield Part.CALIBRATION, 1.0
    else:
        yield _BY_DOOR.get(door, Part.SUMS), 1.0
