"""How far a long request has come, as a sentence that knows its numbers."""

from typing import Self

TOLD = 10
"""So often is it told, and not of runs of a few steps."""
_MANY = 40


class StepsTold(str):
    """So many steps of so many; both are public."""

    __slots__ = ("done", "whole")
    done: int
    whole: int

    def __new__(cls, what: str, done: int, whole: int) -> Self:
        """A sentence about them."""
        made = super().__new__(cls, f"{what}: {done} of {whole} steps")
        made.done, made.whole = done, whole
        return made


def worth_telling(done: int, whole: int) -> bool:
    """Whether another tenth of many steps is done."""
    return whole >= _MANY and done > 0 and done * TOLD // whole > (done - 1) * TOLD // whole
