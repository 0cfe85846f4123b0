"""MST of smartnoise-synth: python mst_smartnoise.py TRAIN.csv DOMAIN.json EPSILON DELTA OUT.csv.

Nothing is spent on preprocessing. It finds the codes of each column in the table itself, outside
of the budget. It draws as mbi 1.1 does, which ties columns together that share a neighbour, and
has no option against that.
"""

import pandas as pd
from common import task
from snsynth import Synthesizer


def main() -> None:
    """Fit, draw and write."""
    told = task(__doc__)
    names = list(told.sizes)
    table = pd.read_csv(told.train)[names]
    synthesizer = Synthesizer.create("mst", epsilon=told.epsilon, delta=told.delta)
    synthesizer.fit(table, categorical_columns=names, preprocessor_eps=0.0)
    drawn = pd.DataFrame(synthesizer.sample(len(table)))
    drawn.columns = names
    drawn.astype(int).to_csv(told.out, index=False)


if __name__ == "__main__":
    main()
