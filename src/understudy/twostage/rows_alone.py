"""Rows without a model: what they were made with holds real rows, and is not kept."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa

from understudy.domain import Clique, Domain
from understudy.encode import Encoding
from understudy.errors import BadInput
from understudy.privacy.answers import Measurement
from understudy.schema import Schema

LID = "LID, measured on private rows and not public"
"""What a certificate calls the shares of rows that were measured to be told."""
_WHY = (
    "No more rows can be drawn: these were made with a model that holds real rows, and it was not "
    "kept. Make another release, or one with mode=dp, whose model may be published."
)


@dataclass(frozen=True, eq=False)
class RowsAlone:
    """All that is left of a release whose model holds real rows."""

    schema: Schema
    """What these rows show of the columns, and not what anybody stated."""
    table: pa.Table
    note: str = ""
    """What was measured of them, in a sentence."""

    kind = "rows"
    measurements: tuple[Measurement, ...] = ()

    @property
    def domain(self) -> Domain:
        """The codes of the rows, by column."""
        return Encoding(self.schema).domain

    @property
    def cliques(self) -> tuple[Clique, ...]:
        """Return one clique of all columns: real rows may contain any dependence."""
        return (self.domain.names,)

    @property
    def total(self) -> float:
        """How many rows there are."""
        return float(self.table.num_rows)

    def visible(self, hidden: Mapping[str, int]) -> "RowsAlone":
        """Return the rows themselves: they hold values, and no codes."""
        del hidden
        return self

    def sample(self, rows: int, rng: np.random.Generator) -> NoReturn:
        """Refused."""
        del rows, rng
        raise BadInput(_WHY)

    def to_json(self) -> dict[str, Any]:
        """Nothing: there is no model."""
        return {}
