"""Where an evaluation is told: on a console, or on a page."""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

from markupsafe import Markup

from understudy.curator.cell_text import Cell

_Of = TypeVar("_Of")


class Page(Protocol):
    """Where it is told."""

    def head(self, text: str) -> None:
        """A heading."""

    def say(self, text: str) -> None:
        """A sentence."""

    def warn(self, text: str) -> None:
        """A sentence that nobody may miss."""

    def table(
        self, columns: Sequence[str], rows: Iterable[Sequence[Cell]], decimals: int = 3
    ) -> None:
        """Results with their intervals; why some have no value is said below."""

    def picture(self, draw: Callable[[_Of], Markup | None], of: _Of, caption: str) -> None:
        """A picture of something, where pictures can be seen."""
