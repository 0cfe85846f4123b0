"""Whether one record decides what dpmm's PrivBayes depends on: python audit_dpmm_network.py.

Two tables, of which one has one more record. In a and in b one code is rare; the record holds both
rare codes at once. Counts how often the network ties a to b, with the domain given, and bounds the
epsilon that allows it from below (Clopper and Pearson, by how often it does not).
"""

import argparse
import math
from copy import deepcopy

import numpy as np
import pandas as pd
from dpmm.pipelines import PrivBayesPipeline
from scipy import stats

CONFIDENCE = 0.95


def main() -> None:
    """Count, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--runs", type=int, default=1500, help="on each of the two tables")
    told = parser.parse_args()
    place = np.arange(told.rows)
    # No column is constant, and the two rare codes lie in different records.
    table = pd.DataFrame({"a": place == 0, "b": place == 4, "c": place // 4 % 2}).astype(int)
    record = pd.DataFrame({"a": [1], "b": [1], "c": [0]})
    fresh = PrivBayesPipeline(epsilon=told.epsilon, delta=1e-5, n_jobs=1, disable_processing=True)
    tied = [
        sum(_ties(deepcopy(fresh), one) for _ in range(told.runs))
        for one in (table, pd.concat([table, record], ignore_index=True))
    ]
    print(f"a and b are tied in {tied[0]} of {told.runs} runs without the record")
    print(f"                and {tied[1]} of {told.runs} runs with it")
    risk = (1 - CONFIDENCE) / 2
    apart = [told.runs - count for count in tied]
    often = stats.beta.ppf(risk, apart[0], told.runs - apart[0] + 1)
    rarely = stats.beta.ppf(1 - risk, apart[1] + 1, told.runs - apart[1])
    low = math.log((often - 1e-5) / rarely)
    print(f"claimed epsilon {told.epsilon:g}; at least {low:.2f} ({CONFIDENCE:.0%} confidence)")


def _ties(pipeline: PrivBayesPipeline, table: pd.DataFrame) -> bool:
    pipeline.fit(table, domain=dict.fromkeys("abc", 2), marginals_only=True)
    return any({*clique} == {"a", "b"} for clique in pipeline.gen.generator.cliques)


if __name__ == "__main__":
    main()
