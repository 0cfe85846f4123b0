"""dpmm, to be audited: python audit_dpmm.py JOBS DOMAIN EPSILON DELTA.

For `understudy audit --command "... {jobs} {domain} {epsilon} {delta}"`. Each line of JOBS names a
CSV file of codes and the file to write. The columns go in as categories, so that dpmm spends
nothing on cutting them: all of epsilon is for the model.
"""

import argparse
import logging
from copy import deepcopy

import pandas as pd
from common import Task, audit_parser, audit_tasks
from dpmm.models import mst
from dpmm.pipelines import MSTPipeline, PrivBayesPipeline
from dpmm.pipelines.base import MMPipeline

ROWS = 200
"""As many are written whatever was read, so that their number tells nothing."""
METHODS = {"mst": MSTPipeline, "privbayes": PrivBayesPipeline}


def main() -> None:
    """Fit, draw and write, for each job."""
    told = _told()
    # Without a domain it warns of a leak, for each column of each table.
    logging.getLogger("dpmm").setLevel(logging.ERROR)
    options = {}
    if told.iterations is not None:
        options["n_iters"] = told.iterations
        _shorten_selection(told.iterations)
    fresh = METHODS[told.method](
        epsilon=told.epsilon, delta=told.delta, n_jobs=1, gen_kwargs=options
    )
    for one in audit_tasks(told):
        # A pipeline that was fitted once keeps what it chose. Making a new one takes half a second.
        _synthesize(deepcopy(fresh), one, declared=told.declared)


def _synthesize(pipeline: MMPipeline, one: Task, *, declared: bool) -> None:
    table = pd.read_csv(one.train)[list(one.sizes)]
    codes = {name: list(range(size)) for name, size in one.sizes.items()}
    if declared:
        # What is drawn comes back as the type that went in: it must know all codes, too.
        table = table.astype({name: pd.CategoricalDtype(known) for name, known in codes.items()})
        pipeline.fit(table, domain={name: {"categories": known} for name, known in codes.items()})
    else:
        pipeline.fit(table.astype("category"))
    pipeline.generate(n_records=ROWS)[list(one.sizes)].astype(int).to_csv(one.out, index=False)


def _shorten_selection(iterations: int) -> None:
    """MST fits one-way marginals before it chooses pairs, for 2,500 rounds that no option sets."""
    usual = mst.FactoredInference
    mst.FactoredInference = lambda domain, **_: usual(domain, iters=iterations)


def _told() -> argparse.Namespace:
    parser = audit_parser(__doc__)
    parser.add_argument("--method", choices=METHODS, default="mst")
    parser.add_argument(
        "--iterations",
        type=int,
        help="of fitting, which sees noisy numbers only: fewer save time and cost no privacy",
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
