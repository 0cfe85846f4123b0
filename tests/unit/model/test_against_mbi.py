import json
import os
import subprocess
from itertools import combinations

import numpy as np
import pytest

from understudy.domain import Domain
from understudy.model.estimate import Stopping, estimate
from understudy.model.junction_tree import JunctionTree
from understudy.privacy.answers import Measurement

MBI = os.environ.get("UNDERSTUDY_MBI")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not MBI, reason="needs UNDERSTUDY_MBI=PYTHON, an interpreter that has mbi 2.0"
    ),
]
ROWS = 5000
THOROUGH = {"iterations": 100_000, "float64": True}
USUAL = {"iterations": 1000, "float64": False}
"""What mbi does when nobody tells it otherwise."""
TIGHT = Stopping(relative=1e-9, iterations=20_000)
# Its answers are the marginals of the cliques asked for, in their order.
SCRIPT = """
import json, sys
import jax
task = json.load(open(sys.argv[1]))
jax.config.update("jax_enable_x64", task["float64"])
import numpy as np
from mbi import Domain, LinearMeasurement, estimation
sizes = task["sizes"]
domain = Domain(list(sizes), list(sizes.values()))
measured = [
    LinearMeasurement(np.array(one["values"]).ravel(), tuple(one["clique"]), stddev=one["scale"])
    for one in task["measured"]
]
model = estimation.MirrorDescent().estimate(
    domain, measured, known_total=task["total"], iters=task["iterations"]
)
asked = [model.project(tuple(clique)).datavector() for clique in task["asked"]]
np.savez(sys.argv[2], *(np.asarray(one, np.float64) for one in asked))
"""
SIZES = {"a": 3, "b": 5, "c": 2, "d": 4, "e": 6, "f": 3, "g": 2, "h": 8}
CASES = {
    "a tree and its columns": {
        **dict.fromkeys(SIZES, 25.0),
        **dict.fromkeys(["ab", "bc", "bd", "de", "ef", "dg", "gh"], 25.0),
    },
    "a cycle that is filled in, each pair with noise of its own": {
        **dict.fromkeys("aceg", 60.0),
        "ab": 10.0,
        "bc": 80.0,
        "cd": 20.0,
        "de": 10.0,
        "ef": 60.0,
        "fg": 20.0,
        "gh": 40.0,
        "ha": 15.0,
    },
    "three columns at a time, with columns in common": {
        "abc": 15.0,
        "bcd": 30.0,
        "def": 15.0,
        "efa": 30.0,
        "fgh": 15.0,
        "ae": 10.0,
        "h": 30.0,
    },
}


def measured_with_noise(case):
    """Noisy marginals of a table in which each column depends on the one before."""
    rng = np.random.default_rng(list(CASES).index(case))
    codes = {}
    before = np.zeros(ROWS, int)
    for name, size in SIZES.items():
        shares = rng.dirichlet(np.full(size, 0.6), before.max() + 1)
        ladder = np.cumsum(shares, axis=1)[before]
        before = np.minimum((rng.random((ROWS, 1)) > ladder).sum(axis=1), size - 1)
        codes[name] = before
    measured = []
    for columns, scale in CASES[case].items():
        clique = tuple(columns)
        counts = np.zeros([SIZES[name] for name in clique])
        np.add.at(counts, tuple(codes[name] for name in clique), 1)
        measured.append(Measurement(clique, counts + rng.normal(0, scale, counts.shape), scale))
    return measured


def by_mbi(measured, total, asked, folder, settings):
    task = {
        "sizes": SIZES,
        "measured": [
            {"clique": one.clique, "values": one.values.tolist(), "scale": one.scale}
            for one in measured
        ],
        "total": total,
        "asked": asked,
        **settings,
    }
    given, found = folder / "task.json", folder / "marginals.npz"
    given.write_text(json.dumps(task))
    subprocess.run([MBI, "-c", SCRIPT, given, found], check=True)
    with np.load(found) as answers:
        return [
            answers[f"arr_{place}"].reshape([SIZES[name] for name in clique])
            for place, clique in enumerate(asked)
        ]


def loss(marginals, measured):
    parts = [
        np.sum(((table - one.values) / one.scale) ** 2)
        for table, one in zip(marginals, measured, strict=True)
    ]
    return sum(parts) / 2


@pytest.mark.parametrize(("case", "widest"), [*zip(CASES, [2, 3, 4], strict=True)])
def test_the_cases_are_as_tangled_as_they_say(case, widest):
    cliques = [one.clique for one in measured_with_noise(case)]
    tree = JunctionTree.of(Domain.of(SIZES), cliques)
    assert max(map(len, tree.cliques)) == widest


@pytest.mark.parametrize("case", CASES)
def test_both_find_the_same_distribution_when_they_take_their_time(case, tmp_path):
    measured = measured_with_noise(case)
    fit = estimate(Domain.of(SIZES), measured, stop=TIGHT)
    # Also pairs that nobody measured: they follow from what was.
    cliques = [one.clique for one in measured]
    told = {frozenset(clique) for clique in cliques}
    asked = cliques + [pair for pair in combinations(SIZES, 2) if {*pair} not in told]
    theirs = by_mbi(measured, fit.model.total, asked, tmp_path, THOROUGH)
    ours = [fit.model.marginal(clique) for clique in asked]
    losses = [loss(found[: len(cliques)], measured) for found in (ours, theirs)]
    far = [
        np.abs(one - other).sum() / (2 * fit.model.total)
        for one, other in zip(ours, theirs, strict=True)
    ]
    assert fit.loss == pytest.approx(losses[0], rel=1e-9)
    assert losses[0] <= losses[1] * 1.001
    assert max(far) < 1e-4


@pytest.mark.parametrize("case", CASES)
def test_left_to_their_defaults_ours_fits_no_worse(case, tmp_path):
    measured = measured_with_noise(case)
    fit = estimate(Domain.of(SIZES), measured)
    cliques = [one.clique for one in measured]
    theirs = by_mbi(measured, fit.model.total, cliques, tmp_path, USUAL)
    losses = [loss(f, measured) for f in ([fit.model.marginal(c) for c in cliques], theirs)]
    assert losses[0] <= losses[1] * 1.001
