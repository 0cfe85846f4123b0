"""What an independence, or a cap on what some lose, costs: told from public facts alone."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from understudy.errors import listed
from understudy.mechanisms.api import Model
from understudy.model.labelled import LabelledModel
from understudy.privacy.budget import Budget, epsilon_of_rho
from understudy.privacy.promise import at_most
from understudy.privacy.weights import UNIT
from understudy.protection import Protection
from understudy.report.pages import percent
from understudy.report.words import number_of
from understudy.schema import Schema
from understudy.select.risk import Weighed
from understudy.separation import Separation

_NAMED = 8
"""More pairs than this are counted and not named in a sentence."""


@dataclass(frozen=True)
class IndependenceCost:
    """What can no longer be measured, or go into labels."""

    pairs: int
    """Of columns, in all."""
    apart: tuple[tuple[str, str], ...]
    """Those that may never be measured together, whatever else is."""
    target: str | None
    inputs: tuple[str, ...] | None
    """Columns that labels went by in the rehearsal; None where no model tells labels."""
    left_out: tuple[str, ...]
    """Columns that they could not go by."""

    @classmethod
    def of(
        cls, allowed: Separation, names: Sequence[str], target: str | None, model: Model
    ) -> "IndependenceCost | None":
        """The cost of what is stated; None where nothing is."""
        if not allowed:
            return None
        pairs = [*combinations(names, 2)]
        apart = tuple(pair for pair in pairs if allowed.apart(*pair))
        inputs = tuple(model.inputs) if isinstance(model, LabelledModel) else None
        others = () if inputs is None else names
        left_out = tuple(one for one in others if one != target and one not in (inputs or ()))
        return cls(len(pairs), apart, target, inputs, left_out)

    @property
    def unnamed(self) -> tuple[tuple[str, str], ...]:
        """Pairs that are too many to be named in a sentence."""
        return self.apart if len(self.apart) > _NAMED else ()

    def sentences(self) -> Iterator[str]:
        """The same for a reader."""
        named = ""
        if self.apart and not self.unnamed:
            named = f" ({', '.join(' × '.join(pair) for pair in self.apart)})"
        yield (
            f"Independences: {len(self.apart):,} of {number_of(self.pairs, 'pair')} of columns "
            f"cannot be measured{named}. Whichever other pairs are, no chain of them may join the "
            "two sides around what is given."
        )
        if self.inputs is not None and self.left_out:
            yield (
                f"Labels of {self.target} went by {len(self.inputs):,} of "
                f"{number_of(len(self.inputs) + len(self.left_out), 'column')} in the rehearsal, "
                f"and not by {listed(self.left_out)}."
            )


@dataclass(frozen=True)
class ProtectionCost:
    """What those protected cost everybody else."""

    share: float
    """Of the budget: for scores of how rare records are."""
    noise: float
    """So many times as large is the noise of all that is asked afterwards."""
    weight: float
    """Those protected count so much of a full record."""
    outliers: float
    """The part of rows beyond the threshold, about; 0 where conditions alone decide."""
    conditions: tuple[str, ...]
    """In words, with the values that always meet them."""
    mean_weight: float
    """Of all rows, if the cells of each column were equally common and nobody else counted less."""
    mean_weight_stated: float
    """The same, if no value met a condition because it is missing, unreadable or not listed."""
    smallest_cap: float
    """The ε that every record has lost before any can count less: no cap can be below."""

    @classmethod
    def of(
        cls,
        protection: Protection,
        weighed: Weighed,
        budget: Budget,
        found: Fraction,
        schema: Schema,
    ) -> "ProtectionCost":
        """The cost, where finding facts out took `found` of ρ in any case."""
        scores = weighed.spent - found
        rest = weighed.rest
        encoding, storage = weighed.ledger.encoding, weighed.ledger.storage
        capped = weighed.weights.weights[-1] / UNIT  # whoever meets a condition scores highest
        marked = [(one.column, one.codes(encoding, storage)) for one in protection.where]
        stated = [(one.column, one.stated(encoding, storage)) for one in protection.where]
        return cls(
            share=float(scores / budget.rho),
            noise=math.sqrt((rest + scores) / rest) if rest else math.inf,
            weight=min(weighed.weights.weights) / UNIT,
            outliers=0.0 if protection.risk is None else protection.risk.outliers,
            conditions=tuple(one.described(schema) for one in protection.where),
            mean_weight=_mean_weight(marked, capped),
            mean_weight_stated=_mean_weight(stated, capped),
            smallest_cap=epsilon_of_rho(weighed.spent, budget.converting),
        )

    def sentences(self) -> Iterator[str]:
        """The same for a reader."""
        if self.share:
            yield (
                f"Protection: scores of how rare records are take {percent(self.share)} of the "
                f"budget. Noise in all that is asked afterwards is {self.noise:.3g} times as "
                "large for everybody; but the counts behind the scores are known to the model."
            )
        else:
            yield "Protection: conditions cost no budget, and nobody else's noise grows."
        whom = [
            *([f"about {percent(self.outliers)} of rows"] if self.outliers else []),
            *self.conditions,
        ]
        yield (
            f"Those protected ({'; '.join(whom)}) count {self.weight:.2g} of a full record at "
            "the least: they come out rarer than they are, by as much."
        )
        if self.conditions:
            yield (
                f"Mean weight: {self.mean_weight:.2g} if all cells of a column were equally "
                f"common, and {self.mean_weight_stated:.2g} without those of values that always "
                "meet a condition. A record whose value is missing, unreadable or not listed "
                "counts less too: nobody can tell that it does not meet the condition."
            )
        if self.smallest_cap:
            yield (
                "In the counts before, every record counts fully; these cost epsilon "
                f"{at_most(self.smallest_cap)}, and no cap can be smaller."
            )


def _mean_weight(marked: Sequence[tuple[str, Sequence[bool]]], capped: float) -> float:
    """Return the mean weight if columns were independent and their cells equally common."""
    by_column: dict[str, NDArray[np.bool_]] = {}
    for name, codes in marked:
        by_column[name] = by_column.get(name, np.zeros(len(codes), bool)) | np.array(codes)
    full = math.prod(1 - float(codes.mean()) for codes in by_column.values())
    return full + (1 - full) * capped
