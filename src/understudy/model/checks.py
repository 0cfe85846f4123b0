"""What a model that somebody else wrote must keep to, before anything is drawn from it."""

from math import inf

import numpy as np
from numpy.typing import NDArray

from understudy.errors import BadInput


def checked_total(number: object) -> float:
    """A number of rows; refused unless above 0."""
    total = float(number)  # type: ignore[arg-type]
    if not 0 < total < inf:
        msg = f"A model has more than 0 rows; this one says {total}."
        raise BadInput(msg)
    return total


def checked_shares(numbers: object, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Shares along the last axis; refused unless of this shape, none negative, some above 0."""
    shares = np.array(numbers, np.float64)
    fits = shares.shape == shape and bool(np.all((shares >= 0) & (shares < inf)))
    if not fits or not np.all(shares.sum(axis=-1) > 0):
        msg = f"A model's shares must be numbers of the shape {shape}, none below 0."
        raise BadInput(msg)
    return shares
