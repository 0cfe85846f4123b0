"""What trials came to: figures under keys, and their means over repetitions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from understudy.curator.coded_task import Mean, mean_of

Key = tuple[str | float, ...]
Figures = Mapping[Key, float]
"""What one trial came to."""
ENOUGH = 5
"""Of fewer repetitions nothing is decided."""


@dataclass(frozen=True)
class Found:
    """All trials."""

    trials: Sequence[Figures]

    @cached_property
    def _values(self) -> Mapping[Key, list[float]]:
        values: dict[Key, list[float]] = {}
        for trial in self.trials:
            for key, value in trial.items():
                values.setdefault(key, []).append(value)
        return values

    def mean(self, *key: str | float) -> Mean | None:
        """The mean of a figure over repetitions; None where there is none."""
        values = self._values.get(key)
        return mean_of(values) if values else None


def decided(mean: Mean | None) -> bool:
    """Whether there are repetitions enough to say that something was reached."""
    return mean is not None and mean.repetitions >= ENOUGH
