"""What is tried on the tables: the paper's three methods, and what else keeps an independence."""

from dataclasses import dataclass

from understudy.mechanisms.aim import Aim
from understudy.mechanisms.api import Mechanism
from understudy.mechanisms.mst import Mst
from understudy.mechanisms.prefair import PreFair, Search
from understudy.mechanisms.prism import Prism
from understudy.mechanisms.privci import PrivCI


@dataclass(frozen=True)
class Arm:
    """One way to make a release."""

    name: str
    mechanism: Mechanism
    tree: bool = True
    """Whether what it measures is a tree, which alone has a q."""
    free: bool = False
    """Whether the independence is not demanded of it."""


PRIVCI = Arm("PrivCI", PrivCI())
PREFAIR = Arm("PreFair", PreFair())
MST = Arm("MST", Mst(), free=True)
EXHAUSTIVE = Arm("PreFair, exhaustive", PreFair(search=Search.EXHAUSTIVE))
AIM = Arm("AIM, constrained", Aim(), tree=False)
PRISM = Arm("PRISM, constrained", Prism(), tree=False)

SWEPT = (PRIVCI, PREFAIR, MST)
"""Tried at every ε, as in the paper."""
ONCE = (EXHAUSTIVE, AIM, PRISM)
"""Tried at ε = 1 alone: not in the paper."""
REAL = "real rows"


def arm_named(name: str) -> Arm:
    """The arm with this name."""
    return next(arm for arm in (*SWEPT, *ONCE) if arm.name == name)
