"""DPDSyn's features as printed: every column of the private table, shuffled. Not private.

A value that one record alone holds walks straight out, whatever order it comes in. This is here to
reproduce the paper, is in no list of methods, and needs `allow_non_private`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from understudy.knowledge import Allowed, anything
from understudy.model.shuffled import ShuffledColumns
from understudy.privacy.answers import Measurement
from understudy.privacy.ledger import Ledger


@dataclass(frozen=True)
class Shuffle:
    """Features for `DpdSyn` that hold every real value."""

    name: ClassVar[str] = "shuffle"
    about: ClassVar[str] = "the private columns themselves, each in another order"
    guarantee: ClassVar[str] = "none: NOT PRIVATE"
    needs: ClassVar[str] = "a release that may be not private"

    def fit(
        self, ledger: Ledger, known: Sequence[Measurement] = (), allowed: Allowed = anything
    ) -> ShuffledColumns:
        """The columns of the ledger's table."""
        del known, allowed  # columns are in no order: nothing ties one to another
        rows = ledger.reveal("the printed shuffle of columns, which publishes every value")
        return ShuffledColumns.of(ledger.domain, ledger.encoding.codes(rows))
