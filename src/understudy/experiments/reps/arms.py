"""What is tried: the paper's six methods, REPS as it is released here, and a control."""

from dataclasses import dataclass
from enum import StrEnum


class Making(StrEnum):
    """How the rows of an arm come about."""

    EXACT = "no noise"
    UNIFORM = "a release"
    SPLIT = "a release of nine tenths of the budget"
    RISK = "a release with weights by risk"
    RELEASED = "as `synthesize` does it"
    SHUFFLED = "simulated, not a release"
    REMOVED = "a release with weights 1 and 0"
    NOBODY = "real rows of nobody attacked"


@dataclass(frozen=True)
class Arm:
    """One way to make rows."""

    name: str
    short: str
    """Its name in a figure."""
    making: Making
    printed: str | None = None
    """The line of the printed tables."""

    @property
    def noisy(self) -> bool:
        """Whether it depends on ε."""
        return self.making not in {Making.EXACT, Making.NOBODY}

    @property
    def weighed(self) -> bool:
        """Whether records count by their weight."""
        return self.making in {Making.RISK, Making.RELEASED, Making.SHUFFLED, Making.REMOVED}


EXACT = Arm("Non-private", "no noise", Making.EXACT, "Non-private")
UNIFORM = Arm("DP uniform (no scoring)", "uniform", Making.UNIFORM, "DP Uniform (no scoring)")
SPLIT = Arm("DP uniform (split)", "split", Making.SPLIT, "DP Uniform (split)")
REPS = Arm("REPS", "REPS", Making.RISK, "REPS (ours)")
RANDOM = Arm("Random downweighting", "random", Making.SHUFFLED, "Random Downwt.")
REMOVAL = Arm("Hard removal", "removal", Making.REMOVED, "Hard Removal")
RELEASED = Arm("REPS as released", "released", Making.RELEASED)
NOBODY = Arm("control: nothing leaks", "control", Making.NOBODY)

PRINTED = (EXACT, UNIFORM, SPLIT, REPS, RANDOM, REMOVAL)
ARMS = (*PRINTED, RELEASED, NOBODY)
NOISY = tuple(arm for arm in ARMS if arm.noisy)


def arm_named(name: str) -> Arm:
    """The arm with this name."""
    return next(arm for arm in ARMS if arm.name == name)
