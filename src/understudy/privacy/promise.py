"""The promise of a release in plain words."""

import math
from collections.abc import Sequence

_WEAK = 10.0
"""From here on the odds say little; people should know."""
_LARGEST_FACTOR = 1000.0


def promise(epsilon: float, delta: float, unit: str, not_private: Sequence[str]) -> list[str]:
    """What is promised, to whom, and how much that is; a sentence each."""
    if not_private:
        return [
            "NOT PRIVATE: this release keeps no promise.",
            f"Reason: {'; '.join(not_private)}.",
            "Treat it like the private table itself.",
        ]
    lines = [
        f"Differentially private: epsilon {epsilon:.4g}, delta {delta:.4g}.",
        f"Protected: {unit}.",
        f"In odds: {odds(epsilon, delta)}",
    ]
    if epsilon >= _WEAK:
        lines.append(
            "Such a large epsilon protects little by itself; epsilon 1 is a common choice, and "
            "above 10 few would speak of a promise."
        )
    return lines


def odds(epsilon: float, delta: float) -> str:
    """An ε as what it does to somebody's odds.

    >>> print(odds(1.0, 1e-9))
    whoever guesses whether this was in the table, from the release and everything else they \
know, has at most 2.72 times the odds that they would have without the release, up to a slack of \
1e-09 in probability.
    """
    exact = math.exp(min(epsilon, 700.0))
    factor = f"{exact:.3g}" if exact < _LARGEST_FACTOR else "more than 1,000"
    return (
        "whoever guesses whether this was in the table, from the release and everything else they "
        f"know, has at most {factor} times the odds that they would have without the release, up "
        f"to a slack of {delta:.3g} in probability."
    )
