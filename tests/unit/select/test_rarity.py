"""Scores from noisy counts: of columns by themselves, and in each class of the target."""

import itertools
import math
import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from helpers.tables import brute_force, numbered, score_by_hand
from understudy.column import Role
from understudy.errors import BadInput
from understudy.pipeline import synthesize
from understudy.privacy.answers import Measurement
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.noise import SeededForTests
from understudy.privacy.table import PrivateTable
from understudy.privacy.weights import UNIT, RowWeights
from understudy.protection import Protection
from understudy.schema import Schema
from understudy.select.rarity import STEPS_PER_NAT, rarity_by
from understudy.select.risk import Cut, RiskWeights, Shape, steps_by, weighed, weights_told

SIZES = {"a": 3, "b": 2, "y": 2}
COLUMNS = tuple(numbered(name, size) for name, size in SIZES.items())
SCHEMA = Schema((*COLUMNS[:2], replace(COLUMNS[2], role=Role.TARGET)))
CELLS = list(itertools.product(*(range(size) for size in SIZES.values())))
# Of a's codes, 1 and 2 are as common as each other; but 2 is rare where y is 0.
PAIR = np.array([[300.0, 100], [290.0, 10], [5.0, 295]])
KNOWN = (
    Measurement(("y",), np.array([595.0, 405]), 0.5),
    Measurement(("a", "y"), PAIR, 0.5),
    Measurement(("b",), np.array([900.0, 100]), 0.5),
)


def table_of(rows):
    return pa.table(
        {name: pa.array([row[k] for row in rows], pa.int64()) for k, name in enumerate(SIZES)}
    )


def test_a_value_is_rare_for_its_class():
    found = rarity_by(KNOWN, "y")
    assert set(found.tables) == {("y",), ("a", "y"), ("b",)}
    given = PAIR / PAIR.sum(axis=0)
    np.testing.assert_allclose(found.tables["a", "y"], -STEPS_PER_NAT * np.log(given), atol=1.01)
    assert found.tables["a", "y"][2, 0] > found.tables["a", "y"][2, 1] + 3 * STEPS_PER_NAT
    # By itself it is not.
    single = Measurement(("a",), PAIR.sum(axis=1), 0.5)
    alone = rarity_by([single, *KNOWN[2:]])
    assert abs(alone.tables["a",][1] - alone.tables["a",][2]) < 10


def test_columns_that_were_not_counted_alone_have_their_shares_from_the_pair():
    shares, _ = rarity_by(KNOWN, "y").shares["a"]
    np.testing.assert_allclose(shares, PAIR.sum(axis=1) / PAIR.sum(), atol=0.01)


def test_a_pair_may_be_counted_the_other_way_round():
    turned = Measurement(("y", "a"), PAIR.T, 0.5)
    first, other = (rarity_by([KNOWN[0], pair, KNOWN[2]], "y") for pair in (KNOWN[1], turned))
    np.testing.assert_array_equal(first.tables["a", "y"], other.tables["a", "y"])
    np.testing.assert_array_equal(first.law, other.law)


def test_the_law_is_that_of_all_rows_by_brute_force():
    found = rarity_by(KNOWN, "y")
    weights = RowWeights(found.score_tables(), (), (UNIT,))
    given = PAIR / PAIR.sum(axis=0)
    law = np.zeros(found.top)
    for a, b, y in CELLS:
        chance = [0.595, 0.405][y] * given[a, y] * [0.9, 0.1][b]
        law[score_by_hand(weights, {"a": a, "b": b, "y": y})] += chance
    np.testing.assert_allclose(np.cumsum(found.law), np.cumsum(law), atol=0.005)


@pytest.mark.parametrize("threshold", Cut)
def test_weighted_counts_move_by_the_rows_own_weight(threshold):
    rows = [(0, 0, 0)] * 200 + [(1, 0, 0)] * 100 + [(2, 1, 1)] * 90 + [(2, 0, 0)] * 10
    recipe = RiskWeights(pairs=True, shape=Shape.STEP, outliers=0.1, threshold=threshold)
    source = SeededForTests(2)
    with Ledger.open(table_of(rows), SCHEMA, Budget(80.0, 1e-9), source=source) as ledger:
        made = weighed(recipe, ledger, ())
        assert ledger.entries[0].request["cliques"] == [["a", "y"], ["b", "y"], ["y"]]
    weights = made.weights
    assert {table.columns for table in weights.tables} == {("y",), ("a", "y"), ("b", "y")}
    cliques = [("a",), ("a", "b"), ("y", "a"), ()]
    before = PrivateTable(table_of(rows), SCHEMA).count(cliques, weights)
    own = {}
    for row in CELLS:
        codes = {name: np.array([row[k]]) for k, name in enumerate(SIZES)}
        (own[row],) = weights.of_rows(codes)
        after = PrivateTable(table_of([*rows, row]), SCHEMA).count(cliques, weights)
        for clique, one, other in zip(cliques, before, after, strict=True):
            np.testing.assert_array_equal(other - one, brute_force(codes, clique, SIZES, weights))
            assert np.abs(other - one).sum() == own[row]
    assert own[2, 0, 0] < own[2, 1, 1] == UNIT  # rare in its class alone


def test_pairs_are_for_scores_alone_and_break_no_independence():
    rng = np.random.default_rng(4)
    rows = [(int(rng.integers(3)), int(rng.integers(2)), int(rng.integers(2))) for _ in range(300)]
    release = synthesize(
        table_of(rows),
        epsilon=3.0,
        schema=SCHEMA,
        mechanism="mst",
        constraints=["y _||_ a"],
        protect_outliers=RiskWeights(pairs=True),
        seed=1,
        rows=50,
    )
    assert weights_told(release.certificate.public["risk curve"]).columns == ("y", "a", "b")
    assert all({"a", "y"} - set(one.clique) for one in release.model.measurements)


def test_pairs_need_a_target_before_anything_is_spent():
    with pytest.raises(BadInput, match="only where a target is named"):
        synthesize(
            table_of(CELLS),
            epsilon=1.0,
            schema=Schema(COLUMNS),
            protect_outliers=RiskWeights(pairs=True),
        )


# --- γ by policy ----------------------------------------------------------------------------------


def falling(top=4000):
    """Scores that fall off evenly in the log, so that every quantile is another score."""
    law = np.exp(-np.arange(top) / 600)
    return law / law.sum()


def test_weights_fall_to_the_caps_where_99_of_100_rows_score_less():
    law, capped = falling(), 300
    threshold, steps = steps_by(RiskWeights(), law, capped)
    far = int(np.searchsorted(np.cumsum(law), 0.99))
    starts = sorted(steps)

    def weight(score):
        return steps[starts[np.searchsorted(starts, score, "right") - 1]]

    assert weight(threshold) == UNIT
    assert weight(far) <= capped < weight(far - 40)
    gamma = -math.log(capped / UNIT) / (far - threshold)
    for score in range(threshold + 1, far, 50):
        exact = UNIT * math.exp(-gamma * (score - threshold))
        assert exact - 17 <= weight(score) <= exact


def test_a_cap_that_needs_a_weight_below_the_least_gets_it():
    law = falling()
    _, steps = steps_by(RiskWeights(least=0.5), law, 20)
    assert min(steps.values()) <= 20
    _, free = steps_by(RiskWeights(least=0.5), law, None)
    assert min(free.values()) == UNIT // 2
    _, nothing = steps_by(RiskWeights(), law, 0)
    assert min(nothing.values()) == 0


def test_a_gamma_that_was_given_stays():
    law = falling()
    assert steps_by(RiskWeights(gamma=2.0), law, 300) == steps_by(RiskWeights(gamma=2.0), law, None)


@pytest.mark.parametrize("risk", [RiskWeights(shape=Shape.RATIO), RiskWeights(gamma=1.0)])
def test_a_cap_beside_weights_that_do_not_go_by_it_is_refused(risk):
    with pytest.raises(BadInput, match="cannot go by a cap"):
        Protection.of(1.0, outliers=risk, outlier_epsilon=0.7)
    assert Protection.of(1.0, outliers=risk).epsilon is None
    assert Protection.of(1.0, outliers=risk, where=["a = 1"], outlier_epsilon=0.7).epsilon == 0.7


def test_plain_protection_caps_all_outliers_alike():
    assert Protection.of(1.0, outliers=True).risk.shape is Shape.STEP


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("stated", [False, True])
def test_a_cap_a_hair_above_what_can_be_reached_is_kept(pairs, stated):
    rng = np.random.default_rng(0)
    table = pa.table({name: rng.integers(0, size, 400) for name, size in SIZES.items()})
    risk = RiskWeights(shape=Shape.STEP, threshold=Cut.COUNTED, pairs=pairs)
    options = {"epsilon": 1.0, "delta": 1e-6, "target": "y", "mechanism": "independent", "rows": 9}
    schema = Schema(COLUMNS) if stated else None

    def release(cap):
        return synthesize(
            table, schema=schema, protect_outliers=risk, outlier_epsilon=cap, **options
        )

    with pytest.raises(BadInput, match="cannot be kept") as refused:
        release(0.01)
    reach = float(re.search(r"a cap above ([\d.]+)", str(refused.value))[1])
    assert release(reach * 1.001).certificate.public["risk curve"]["capped"] >= 0


@pytest.mark.parametrize("rows", [0, 1])
def test_scores_are_not_counted_where_there_are_none(rows):
    table = pa.table({"a": [1] * rows, "y": [True] * rows})
    release = synthesize(
        table,
        epsilon=1.0,
        delta=1e-6,
        rows=3,
        mechanism="independent",
        protect_outliers=RiskWeights(threshold=Cut.COUNTED),
    )
    assert release.table.num_rows == 3
