"""What a paper's experiments come to: a text, its figures, and which aims were reached."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Aim:
    """A figure to reach, and what was reached."""

    what: str
    paper: str
    aim: str
    value: float | None
    """None where nothing was run."""
    half: float | None
    """Of the 95 % interval around it."""
    told: str
    """The figure in words."""
    met: bool | None
    """None where it cannot be said."""

    def row(self) -> list[str]:
        """The aim as a line of a table."""
        word = "" if self.met is None else "reached" if self.met else "**missed**"
        return [self.what, self.paper, self.aim, self.told, word]


@dataclass(frozen=True)
class Reproduced:
    """What is written down."""

    text: str
    figures: Mapping[str, str]
    """By file, beside the text: a picture."""
    aims: Sequence[Aim]


class Reproduce(Protocol):
    """A paper's experiments."""

    def __call__(
        self, *, quick: bool, data: Path | None, command: str, jobs: int, tell: Tell
    ) -> Reproduced:
        """Run them."""
        ...
