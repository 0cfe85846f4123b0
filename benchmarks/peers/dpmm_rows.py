"""Rows by a pipeline of dpmm.

Its own cutting into intervals is off, since the codes are public; all else is as it comes.
"""

from typing import Any

import pandas as pd
from common import task


def write_rows(about: str, pipeline: Any) -> None:  # noqa: ANN401 - dpmm ships no types
    """Fit, draw and write."""
    told = task(about)
    table = pd.read_csv(told.train)[list(told.sizes)]
    made = pipeline(epsilon=told.epsilon, delta=told.delta, disable_processing=True, n_jobs=1)
    made.fit(table, domain=told.sizes)
    drawn = made.generate(n_records=len(table))
    drawn[list(told.sizes)].astype(int).to_csv(told.out, index=False)
