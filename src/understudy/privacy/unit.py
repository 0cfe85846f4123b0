"""Whose privacy is protected: what one step between neighbouring tables may change."""

from dataclasses import dataclass

from understudy.errors import BadInput


@dataclass(frozen=True)
class Person:
    """One person, who holds at most `rows` rows that carry the same `id`.

    The cap is enforced where rows are counted: of a person with more, `rows` are kept by a
    keyed hash and the rest never reach a count. All rows without an id count as one person's.
    """

    id: str
    rows: int

    def __post_init__(self) -> None:
        if self.rows < 1:
            msg = f"A person holds at most {self.rows} rows; the cap must be at least 1."
            raise BadInput(msg)
