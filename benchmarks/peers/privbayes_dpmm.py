"""PrivBayes of dpmm: python privbayes_dpmm.py TRAIN.csv DOMAIN.json EPSILON DELTA OUT.csv.

Its own cutting into intervals is off, since the codes are public; all else is as it comes.
"""

import pandas as pd
from common import task
from dpmm.pipelines import PrivBayesPipeline


def main() -> None:
    """Fit, draw and write."""
    told = task(__doc__)
    table = pd.read_csv(told.train)[list(told.sizes)]
    pipeline = PrivBayesPipeline(
        epsilon=told.epsilon, delta=told.delta, disable_processing=True, n_jobs=1
    )
    pipeline.fit(table, domain=told.sizes)
    drawn = pipeline.generate(n_records=len(table))
    drawn[list(told.sizes)].astype(int).to_csv(told.out, index=False)


if __name__ == "__main__":
    main()
