"""An evaluation as a page: one file, for its owner alone."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from markupsafe import Markup

from understudy.curator.cell_text import Cell, as_text, reasons
from understudy.curator.evaluation import Evaluation
from understudy.curator.told import tell_evaluation
from understudy.report.pages import rendered

_Of = TypeVar("_Of")


@dataclass(frozen=True)
class _Text:
    kind: str
    text: str


@dataclass(frozen=True)
class _Grid:
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    kind: str = "table"


@dataclass(frozen=True)
class _Picture:
    markup: Markup
    caption: str
    kind: str = "picture"


@dataclass
class Blocks:
    """Collects what a page shows, in order."""

    blocks: list[_Text | _Grid | _Picture] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def head(self, text: str) -> None:
        """A heading."""
        self.blocks.append(_Text("head", text))

    def say(self, text: str) -> None:
        """A sentence."""
        self.blocks.append(_Text("say", text))

    def warn(self, text: str) -> None:
        """A sentence at the top, beside what the page is."""
        self.warnings.append(text)

    def table(
        self, columns: Sequence[str], rows: Iterable[Sequence[Cell]], decimals: int = 3
    ) -> None:
        """Results with their intervals."""
        every = [tuple(row) for row in rows]
        shown = tuple(tuple(as_text(cell, decimals) for cell in row) for row in every)
        self.blocks.append(_Grid(tuple(columns), shown))
        for reason in reasons(every):
            self.say(reason)

    def picture(self, draw: Callable[[_Of], Markup | None], of: _Of, caption: str) -> None:
        """A picture, if there is something to see."""
        markup = draw(of)
        if markup is not None:
            self.blocks.append(_Picture(markup, caption))


def evaluation_page(evaluation: Evaluation) -> str:
    """The page."""
    page = Blocks()
    tell_evaluation(evaluation, page)
    title = "Evaluation of a synthetic table against real rows"
    return rendered(
        "evaluation.html", __package__, title=title, warnings=page.warnings, blocks=page.blocks
    )
