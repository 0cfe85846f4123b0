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


def visible(model: Any, hidden: Mapping[str, int]) -> Any:  # noqa: ANN401 - any class of model
    """Return the model given that no column has its hidden code; refuse an unknown class.

    The class itself has to define `visible`, as it has to define `cliques`: a subclass may draw
    rows in another way.
    """
    here = {name: code for name, code in hidden.items() if name in model.domain}
    if not here:
        return model
    if "visible" not in vars(type(model)):
        msg = (
            f"The model {type(model).__name__} cannot draw rows without hidden codes (columns "
            f"{', '.join(here)}). Define `visible` on the class of the model itself, or declare "
            "null = true for these columns."
        )
        raise BadInput(msg)
    return model.visible(here)


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
