"""What is tried: DPDSyn with several models of labels, its rivals, and real rows."""

from dataclasses import dataclass
from enum import StrEnum

from understudy.curator.models import Learner
from understudy.mechanisms.aim import Aim
from understudy.mechanisms.api import Mechanism
from understudy.mechanisms.dpdsyn import DpdSyn
from understudy.mechanisms.label_model import Label, LabelModel
from understudy.mechanisms.mst import Mst
from understudy.mechanisms.mwem import Mwem


class Draw(StrEnum):
    """What is drawn from a fitted model."""

    ONCE = "as many rows"
    TWICE = "2x"
    THRICE = "3x"
    HARD = "hard labels"
    """Each row has its likeliest label."""
    UNMOVED = "labels as their rows make them likely"
    """Not moved to the noisy shares of the classes."""
    SHUFFLED = "shuffled columns, not private"
    """As the paper has it: real values of each column in another order, and likeliest labels."""


TIMES = {Draw.ONCE: 1, Draw.TWICE: 2, Draw.THRICE: 3}
BOTH = (Learner.MLP, Learner.SVM)
"""The models that are trained on synthetic rows."""


@dataclass(frozen=True)
class Arm:
    """One way to make rows."""

    name: str
    short: str
    """Its name in a figure."""
    mechanism: Mechanism | None
    """None for real rows."""
    learners: tuple[Learner, ...] = BOTH
    draws: tuple[Draw, ...] = (Draw.ONCE,)
    printed: str | None = None
    """The line of the printed tables."""


def _dpdsyn(name: str, short: str, label: Label, learner: Learner, *more: Draw) -> Arm:
    draws = (Draw.ONCE, Draw.TWICE, Draw.THRICE, Draw.UNMOVED, *more, Draw.SHUFFLED)
    mechanism = DpdSyn(label_model=LabelModel(label))
    return Arm(name, short, mechanism, (learner,), draws, "DPDSyn")


_ALL = (Draw.ONCE, Draw.TWICE, Draw.THRICE)
REAL = Arm("Non-private", "real", None, printed="NP Baseline")
BY_MLP = _dpdsyn("DPDSyn, MLP labels", "MLP labels", Label.MLP, Learner.MLP, Draw.HARD)
BY_SVM = _dpdsyn("DPDSyn, SVM labels", "SVM labels", Label.SVM, Learner.SVM)
BY_LOGISTIC = Arm(
    "DPDSyn, logistic labels", "logistic labels", DpdSyn(), draws=(Draw.ONCE, Draw.HARD)
)
WITH_MST = Arm("DPDSyn, MST features, logistic labels", "MST features", DpdSyn(features=Mst()))
AIM = Arm("AIM", "AIM", Aim(), draws=_ALL, printed="AIM")
MST = Arm("MST", "MST", Mst(), draws=_ALL, printed="MST")
MWEM = Arm("MWEM", "MWEM", Mwem(), draws=_ALL, printed="MWEM")

PAIRED = {Learner.MLP: BY_MLP, Learner.SVM: BY_SVM}
"""As the paper pairs them: labels by the model that is then trained on them."""
NOISY = (BY_MLP, BY_SVM, BY_LOGISTIC, WITH_MST, AIM, MST, MWEM)
RIVALS = (AIM, MST, MWEM)
ARMS = (REAL, *NOISY)


def arm_named(name: str) -> Arm:
    """The arm with this name."""
    return next(arm for arm in ARMS if arm.name == name)
