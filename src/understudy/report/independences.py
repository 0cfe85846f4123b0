"""Independences that were demanded: each in words, as a picture, and in the model's own numbers."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from understudy import demanded
from understudy.knowledge import Independence
from understudy.mechanisms.api import Model
from understudy.model.information import model_information
from understudy.privacy.certificate import Certificate
from understudy.report.structure import Structure
from understudy.report.tree_picture import Shape, TreePicture, picture

NOUGHT = 1e-9
"""Nats: less than this is rounding."""
_MOST_PICTURES = 4


@dataclass(frozen=True)
class Kept:
    """An independence, and how far the model is from it."""

    independence: Independence
    information: float | None
    """In nats; None where it is too much to compute."""
    picture: TreePicture | None
    """The structure, the columns that separate the sides marked."""
    alone: tuple[str, ...] = ()
    """Columns of it that are tied to none, and not in the picture."""

    @property
    def nought(self) -> bool:
        """Whether what was computed is nothing but rounding."""
        return self.information is not None and self.information <= NOUGHT


def kept(certificate: Certificate, model: Model, structure: Structure) -> Iterator[Kept]:
    """What the page tells about each independence that the certificate lists."""
    for place, one in enumerate(demanded.read(certificate.public)):
        drawn = None
        if structure.edges and place < _MOST_PICTURES:
            rooted = replace(structure, root=one.outcome[0])
            drawn = picture(rooted, _shapes(one))
        alone = tuple(name for name in one.columns if name in structure.alone)
        yield Kept(one, model_information(model, one), drawn, alone)


def _shapes(one: Independence) -> dict[str, Shape]:
    return {
        **dict.fromkeys(one.outcome, Shape.FILLED),
        **dict.fromkeys(one.protected, Shape.DIAMOND),
        **dict.fromkeys(one.given, Shape.SQUARE),
    }
