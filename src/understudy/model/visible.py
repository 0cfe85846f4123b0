"""Models of rows that hold none of the hidden codes: what a release draws from.

A hidden code counts values that have no code of their own, and no value of it is ever written. So
a model is conditioned on rows without one. The event is a product of one condition per column, and
so every conditional independence of a model stays: docs/proofs/reading.md.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import BadInput
from understudy.model.counts import combined
from understudy.privacy.answers import Measurement

_CLEAR = 3.0
"""Standard deviations of noise."""
_DRAWN = 20_000
"""So many rows are drawn to see how many have no hidden code: it costs nothing."""


def visible(model: Any, hidden: Mapping[str, int]) -> Any:  # noqa: ANN401 - any class of model
    """Return the model given that no column has its hidden code; refuse an unknown class."""
    check_visible(model, hidden)
    here = _here(model, hidden)
    return model.visible(here) if here else model


def check_visible(model: Any, hidden: Mapping[str, int]) -> None:  # noqa: ANN401 - as above
    """Refuse a model of a class that cannot draw rows without hidden codes.

    The class itself has to define `visible`, as it has to define `cliques`: a subclass may draw
    rows in another way.
    """
    here = _here(model, hidden)
    if here and "visible" not in vars(type(model)):
        msg = (
            f"The model {type(model).__name__} cannot draw rows without hidden codes (columns "
            f"{', '.join(here)}). Define `visible` on the class of the model itself, or declare "
            "null = true for these columns."
        )
        raise BadInput(msg)


def _here(model: Any, hidden: Mapping[str, int]) -> dict[str, int]:  # noqa: ANN401 - as above
    """The hidden codes of columns that the model draws."""
    return {name: code for name, code in hidden.items() if name in model.domain}


def visible_part(
    model: Any,  # noqa: ANN401 - as above
    hidden: Mapping[str, int],
    rng: np.random.Generator,
) -> float:
    """Return the part of rows without a hidden code, by columns in which these stand out of noise.

    A hidden code below its noise counts as none: by noise alone, many columns together would seem
    to hide most rows of a small table.
    """
    here = {name: hidden[name] for name in hidden_counts(model, hidden)}
    if not here:
        return 1.0
    features = getattr(model, "features", None)
    if features is not None and all(name in features.domain for name in here):
        model = features  # it draws the target too, before that is forgotten
    drawn = model.sample(_DRAWN, rng)
    seen = np.logical_and.reduce([drawn[name] != code for name, code in here.items()])
    return float(seen.mean())


def hidden_counts(
    model: Any,  # noqa: ANN401 - as above
    hidden: Mapping[str, int],
) -> dict[str, tuple[float, float]]:
    """Return, by column whose hidden code stands out of the noise, its count and the noise."""
    found = {}
    for name, code in _here(model, hidden).items():
        told = [summed_to(one, name) for one in model.measurements if name in one.clique]
        whole = [one for one in told if len(one.values) == model.domain.sizes[name]]
        if whole:  # others were counted in merged codes
            values, variance = combined(whole)
            count, noise = float(values[code]), float(np.sqrt(variance[code]))
            if count > _CLEAR * noise:
                found[name] = (count, noise)
    return found


def summed_to(one: Measurement, name: str) -> Measurement:
    """Return what a measurement tells of one of its columns."""
    others = tuple(place for place, other in enumerate(one.clique) if other != name)
    spread = np.broadcast_to(np.square(one.scale), one.values.shape).sum(axis=others)
    return Measurement((name,), one.values.sum(axis=others), np.sqrt(spread))


def visible_shares(shares: NDArray[np.float64], hidden: int | None) -> NDArray[np.float64]:
    """Return shares of codes without the hidden one; even ones where nothing else is left.

    >>> visible_shares(np.array([0.5, 0.3, 0.2]), 2), visible_shares(np.array([0.0, 1.0]), 1)
    (array([0.625, 0.375, 0.   ]), array([1., 0.]))
    """
    seen = np.ones(len(shares), bool)
    if hidden is not None:
        seen[hidden] = False
    left = np.where(seen, shares, 0.0)
    if left.sum() <= 0:
        left = seen.astype(np.float64)
    return np.asarray(left / left.sum())
