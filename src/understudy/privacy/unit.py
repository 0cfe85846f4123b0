"""Whose privacy is protected: what one step between neighbouring tables may change.

Neighbours are tables of records as they were read: of a CSV file that opens a quote and never
closes it, the lines after it are part of one record.
"""

from dataclasses import dataclass

from understudy.errors import BadInput


@dataclass(frozen=True)
class Person:
    """One person, who holds at most `rows` rows that carry the same `id`.

    The cap is enforced where rows are counted: of a person with more, `rows` are kept by a
    keyed hash and the rest never reach a count. Rows without an id are never counted: nobody
    can tell whose they are, so no cap would protect the people they belong to.
    """

    id: str
    rows: int

    def __post_init__(self) -> None:
        if type(self.rows) is not int or self.rows < 1:
            msg = (
                f"At most {self.rows} rows per person: the cap must be a whole number, at least 1."
            )
            raise BadInput(msg)
