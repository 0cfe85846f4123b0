"""A tree that keeps stated independences: PrivCI, after Ghahramanpour and Milani (2026).

As MST, but that a pair is possible only if every independence survives it. The published noise
for all marginals together is that of one, and the published score has another sensitivity than
the one it is used with; both are MST's here: docs/proofs/privci.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from understudy.errors import BadInput
from understudy.mechanisms.mst import Mst
from understudy.separation import Separation


@dataclass(frozen=True)
class PrivCI(Mst):
    """`Mst` with at least one independence; every other method keeps them as well."""

    name: ClassVar[str] = "privci"
    about: ClassVar[str] = "a tree of pairs in which stated independences hold"
    needs: ClassVar[str] = "an independence, with --independent"

    def check_independences(
        self, allowed: Separation, names: Sequence[str], target: str | None
    ) -> None:
        """Refuse to run without one: it would be MST under another name."""
        del names, target
        check_some(self.name, allowed)


def check_some(name: str, allowed: Separation) -> None:
    """Refuse a method that is made for independences where none is stated."""
    if not allowed:
        msg = (
            f"{name} keeps an independence: state one, such as "
            '--independent "income _||_ sex | job, education".'
        )
        raise BadInput(msg)
