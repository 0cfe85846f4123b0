"""Every column by itself: the baseline that any other mechanism has to beat."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from understudy.knowledge import Allowed, anything
from understudy.model.product import ProductModel
from understudy.privacy.answers import Measurement
from understudy.privacy.ledger import Ledger


@dataclass(frozen=True)
class IndependentColumns:
    """All 1-way marginals, and the product of the columns."""

    name: ClassVar[str] = "independent"
    about: ClassVar[str] = "keeps each column's distribution, and nothing between columns"
    guarantee: ClassVar[str] = "(ε, δ)-differential privacy"
    needs: ClassVar[str] = "nothing"

    def fit(
        self, ledger: Ledger, known: Sequence[Measurement] = (), allowed: Allowed = anything
    ) -> ProductModel:
        """A model of the ledger's table."""
        del allowed  # no column is measured together with another
        columns = [(name,) for name in ledger.domain.names]
        measured = ledger.measure(columns, rho=ledger.rest())  # MEASURE
        return ProductModel.of(ledger.domain, [*known, *measured])  # FIT
