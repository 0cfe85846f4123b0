"""Rows keep what their model keeps: drawn, taken apart, decoded into numbers.

Each test draws 200 times and looks at all p-values together: a model that keeps an independence
has even ones. Given the margins of a stratum, rounded draws deal rows out as a shuffle does, so
that the usual test is right although margins scatter less.
"""

import itertools

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from understudy.column import Column, Kind, Role
from understudy.domain import Domain
from understudy.encode import Encoding
from understudy.mechanisms.mst import Mst
from understudy.model.bayes_net import BayesNet
from understudy.model.factor import Factor
from understudy.model.graphical import GraphicalModel
from understudy.model.merged import MergedModel
from understudy.model.sample import Step
from understudy.pipeline import synthesize
from understudy.privacy.noise import SeededForTests
from understudy.schema import Schema

pytestmark = pytest.mark.statistical
TIMES, ROWS = 200, 2000
FEW = 20
"""χ² is the law of a G-test only where no code of a stratum is rarer."""
SIZES = {"x": 3, "y": 3, "z": 2, "w": 2}
DOMAIN = Domain.of(SIZES)


def factors(cliques, seed=1, much=1.0):
    rng = np.random.default_rng(seed)
    return tuple(Factor(clique, much * rng.normal(size=DOMAIN.shape(clique))) for clique in cliques)


def g_test(outcome, protected, given, few=1):
    """The p-value of a G-test within strata; the usual one, by χ².

    Codes of the outcome that fewer rows of a stratum have count together. Margins alone decide
    which, and a test that is right given the margins stays so.
    """
    total, freedom = 0.0, 0
    for stratum in np.unique(given):
        here = given == stratum
        seen = np.zeros((outcome.max() + 1, protected.max() + 1))
        np.add.at(seen, (outcome[here], protected[here]), 1)
        seen = frequent(seen, few)[:, seen.sum(axis=0) > 0]
        expected = np.outer(seen.sum(axis=1), seen.sum(axis=0)) / seen.sum()
        some = seen > 0
        total += 2 * float(seen[some] @ np.log(seen[some] / expected[some]))
        freedom += (seen.shape[0] - 1) * (seen.shape[1] - 1)
    return float(stats.chi2.sf(total, freedom))


def frequent(seen, few):
    """The rows of a table, the rarest of them added up until none is rare."""
    found = sorted(seen, key=sum)
    while len(found) > 1 and found[0].sum() < few:
        first, second, *others = found
        found = sorted([first + second, *others], key=sum)
    return np.array(found)


def p_values(draw, given=("z",)):
    found = []
    for seed in range(TIMES):
        codes = {n: c.astype(np.int64) for n, c in draw(np.random.default_rng(seed)).items()}
        strata = np.zeros(len(codes["x"]), np.int64)
        for name in given:
            strata = strata * 100 + codes[name]
        found.append(g_test(codes["y"], codes["x"], strata))
    return np.array(found)


def from_model(model, rows=ROWS):
    return lambda rng: model.sample(rows, rng)


def even(found):
    # An even law fails this once in ten thousand times; the seeds are always the same.
    return stats.kstest(found, "uniform").pvalue > 1e-4


def net():
    rng = np.random.default_rng(2)
    order = {"z": (), "x": ("z",), "w": ("z",), "y": ("w", "z")}
    return BayesNet(
        DOMAIN,
        1.0,
        tuple(
            Step(given, (name,), rng.dirichlet(np.ones(SIZES[name]) * 3, DOMAIN.size(given)))
            for name, given in order.items()
        ),
    )


def apart(coarse):
    """Each code of x and y comes apart into two, unevenly."""
    halves = np.zeros((3, 6))
    for place, share in itertools.product(range(3), (0, 1)):
        halves[place, 2 * place + share] = 0.3 + 0.4 * share
    return MergedModel(coarse, {"x": halves, "y": halves})


TREE = GraphicalModel(DOMAIN, 1.0, factors([("x", "z"), ("z", "y"), ("z", "w")]))
WAY = GraphicalModel(DOMAIN, 1.0, factors([("x", "z"), ("z", "w"), ("w", "y")]))
KEPT = {
    "a tree": TREE,
    "a tree, plain draws": GraphicalModel(DOMAIN, 1.0, TREE.factors, rounded=False),
    "a longer way": WAY,
    "a net": net(),
    "codes that come apart": apart(TREE),
}


@pytest.mark.parametrize("name", KEPT)
def test_drawn_rows_keep_what_the_model_keeps(name):
    assert even(p_values(from_model(KEPT[name])))


@pytest.mark.parametrize("name", ["a tree", "codes that come apart"])
def test_a_planted_dependence_is_seen(name):
    faint = GraphicalModel(DOMAIN, 1.0, (*TREE.factors, *factors([("x", "y")], 5, much=0.5)))
    found = p_values(from_model(faint if name == "a tree" else apart(faint)))
    assert not even(found)
    assert (found < 0.05).mean() > 0.5


RING = [("x", "z"), ("z", "y"), ("y", "w"), ("w", "x")]


def test_where_both_sides_are_drawn_together_rows_are_right_and_never_too_dependent():
    # Around a ring the tree may hold x and y in one clique, which no potential ties.
    domain = Domain.of({"x": 2, "y": 2, "z": 4, "w": 4})
    rng = np.random.default_rng(3)
    ring = tuple(Factor(pair, rng.normal(size=domain.shape(pair))) for pair in RING)
    model = GraphicalModel(domain, 1.0, ring)
    assert any({"x", "y"} <= {*clique} for clique in model.tree.cliques)
    found = p_values(from_model(model), given=("z", "w"))
    assert stats.kstest(found, "uniform", alternative="greater").pvalue > 1e-4
    # And each combination comes up as often as the model says, on average.
    mean = np.zeros(domain.shape(domain.names))
    for seed in range(TIMES):
        codes = model.sample(500, np.random.default_rng(seed))
        np.add.at(mean, tuple(codes[name] for name in domain.names), 1 / TIMES)
    expected = 500 * model.beliefs.marginal(domain.names)
    assert np.abs(mean - expected).max() < 5 * np.sqrt(expected.max() / TIMES)
    strata = expected.sum(axis=(0, 1))
    product = expected.sum(axis=1)[:, None] * expected.sum(axis=0)[None] / strata
    np.testing.assert_allclose(expected, product, rtol=1e-9)


# --- the whole way --------------------------------------------------------------------------------

SCHEMA = Schema(
    (
        Column(name="y", kind=Kind.REAL, bounds=(0.0, 10.0), bins=4, null=True, role=Role.TARGET),
        Column(name="x", kind=Kind.CATEGORICAL, categories=("f", "m"), null=False),
        Column(name="z", kind=Kind.INTEGER, bounds=(0, 99), bins=4, null=False),
        Column(name="w", kind=Kind.BOOLEAN, null=False),
    )
)


def private_rows(count=4000):
    rng = np.random.default_rng(0)
    z, x = rng.integers(0, 100, count), rng.random(count) < 0.4
    y = np.clip(3 * x + z / 25 + rng.normal(0, 1.5, count), 0, 10)
    return pa.table(
        {"y": y, "x": np.where(x, "m", "f"), "z": z, "w": rng.random(count) < 0.2 + 0.6 * x}
    )


def decoded_p_values(release, outcome, times=TIMES):
    """Of decoded rows: numbers cut where nobody else cuts them, strata the bins of z."""
    bins = Encoding(SCHEMA)
    found = []
    for seed in range(times):
        frame = release.sample(1000, seed=seed)
        table = pa.Table.from_pandas(frame, preserve_index=False).select(["y", "x", "z", "w"])
        y = np.nan_to_num(np.asarray(table["y"], np.float64), nan=-1.0)
        sides = {"y": np.digitize(y, [0, 1.1, 3.3, 4.7, 8.2]), "w": np.asarray(table["w"]) + 0}
        x = (np.asarray(table["x"]) == "m").astype(np.int64)
        found.append(g_test(sides[outcome].astype(np.int64), x, bins.codes(table)["z"], FEW))
    return np.array(found)


@pytest.fixture(scope="module")
def rows():
    return private_rows()


@pytest.mark.parametrize(
    "method", ["privci", *(pytest.param(m, marks=pytest.mark.slow) for m in ("prism", "privbayes"))]
)
def test_decoded_rows_keep_it_within_the_bins_that_were_given(rows, method):
    made = synthesize(
        rows,
        epsilon=5.0,
        schema=SCHEMA,
        mechanism=method,
        constraints=["y _||_ x | z"],
        source=SeededForTests(1),
    )
    assert even(decoded_p_values(made, "y"))


def test_without_the_sentence_decoded_rows_show_what_was_there(rows):
    made = synthesize(rows, epsilon=5.0, schema=SCHEMA, mechanism=Mst(), source=SeededForTests(1))
    assert (decoded_p_values(made, "y", 20) < 1e-6).all()
    # And with it, what else tells about x stays: nothing is claimed of other columns.
    fair = synthesize(
        rows,
        epsilon=5.0,
        schema=SCHEMA,
        mechanism=Mst(),
        constraints=["y _||_ x | z"],
        source=SeededForTests(1),
    )
    assert (decoded_p_values(fair, "w", 20) < 1e-6).all()
