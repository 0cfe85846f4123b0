"""MST of OpenDP 0.16: python mst_opendp.py TRAIN.csv DOMAIN.json EPSILON DELTA OUT.csv.

Drawn by method="sample": the usual way of its mbi 1.1 ties columns together that share a
neighbour. OpenDP refuses its own budget over the last bit of a number; whether it does depends on
the budget alone, so the runner asks again with a little less. On a table of 21 columns it refused
all of twenty; with --by-hand each part of the choice asks for a billionth less, which it takes.
"""

import numpy as np
import opendp.prelude as dp
import polars as pl
from common import Task, task
from opendp.extras.mbi import _mst

LESS = 1e-6
TRIES = 20
SPARED = 1e-9


def main() -> None:
    """Fit, draw and write."""
    told = task(__doc__)
    dp.enable_features("contrib")
    if told.by_hand:
        # What it takes off each part is one bit, and its sum is rounded up by more than that.
        _mst.prior = lambda part: part * (1 - SPARED)
    table = pl.read_csv(told.train).select(list(told.sizes))
    drawn = _released(table, told).synthesize(rows=table.height, method="sample")
    rng = np.random.default_rng()
    codes = {name: _known(drawn[name].to_numpy().astype(float), rng) for name in told.sizes}
    pl.DataFrame(codes).write_csv(told.out)


def _released(table: pl.DataFrame, told: Task) -> "dp.mbi.ContingencyTable":
    keys = {name: list(range(size)) for name, size in told.sizes.items()}
    rho = told.rho
    for _ in range(TRIES):
        context = dp.Context.compositor(
            data=table.lazy(),
            privacy_unit=dp.unit_of(contributions=1),
            privacy_loss=dp.loss_of(rho=rho, delta=0.0),
        )
        query = context.query(rho=rho, delta=0.0)
        try:
            return query.contingency_table(keys=keys, algorithm=dp.mbi.MST()).release()
        except dp.OpenDPException as error:
            if "insufficient budget" not in str(error):
                raise
        rho *= 1 - LESS
    msg = f"OpenDP refused {TRIES} budgets, the last a rho of {rho}."
    raise SystemExit(msg)


def _known(codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Codes without the one that OpenDP adds for unknown values: noise falls on it, too."""
    unknown = np.isnan(codes)
    if unknown.any():
        codes[unknown] = rng.choice(codes[~unknown], unknown.sum())
    return codes.astype(np.int64)


if __name__ == "__main__":
    main()
