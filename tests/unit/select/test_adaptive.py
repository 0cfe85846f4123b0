import itertools
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.tables import numbered
from understudy.domain import Domain
from understudy.knowledge import anything
from understudy.model.estimate import MEASURED_BYTES, estimate, needed_bytes
from understudy.model.graphical import GraphicalModel
from understudy.model.junction_tree import joined_cliques
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.noise import SeededForTests
from understudy.schema import Schema
from understudy.select.adaptive import MEAN_NOISE, with_room, worst

NAMES = "abcde"
CLIQUES = [c for size in (1, 2, 3) for c in itertools.combinations(NAMES, size)]
RICH = Fraction(10**5)


def test_mean_noise_is_that_of_normal_noise():
    draws = np.random.default_rng(0).normal(size=10**6)
    # One seed in 10⁹ strays farther; 0.005 is six standard deviations of the mean and more.
    assert pytest.approx(np.abs(draws).mean(), abs=0.005) == MEAN_NOISE


def looking(sizes, most_cells=10**9):
    """Of a ledger, what is asked of it here."""
    return SimpleNamespace(domain=Domain.of(sizes), most_cells=most_cells)


def in_tree(domain, measured, clique):
    return any({*clique} <= {*held} for held in joined_cliques(domain, measured))


@settings(max_examples=60)
@given(
    st.lists(st.integers(1, 6), min_size=5, max_size=5),
    st.lists(st.sampled_from([(), *CLIQUES]), max_size=6),
    st.integers(0, 60_000),
    st.sampled_from([0.0, 0.3, 0.7, 1.0]),
    st.sampled_from([10, 40, 1000]),
)
def test_what_has_room_keeps_its_share_of_the_limit_or_all_of_it_within_the_tree(
    sizes, measured, limit, share, most_cells
):
    ledger = looking(dict(zip(NAMES, sizes, strict=True)), most_cells)
    domain = ledger.domain
    found = with_room(ledger, CLIQUES, measured, model_bytes=limit, share=share, allowed=anything)
    now = needed_bytes(domain, measured)
    expected = []
    for clique in CLIQUES:
        if domain.size(clique) > most_cells:
            continue
        if clique in measured:
            expected.append(clique)
        elif in_tree(domain, measured, clique):
            # Nothing new but the marginal itself.
            assert needed_bytes(domain, [*measured, clique]) == now + 128 * domain.size(clique)
            if now + 128 * domain.size(clique) <= limit:
                expected.append(clique)
        elif needed_bytes(domain, [*measured, clique]) <= share * limit:
            expected.append(clique)
    assert found == expected


@pytest.mark.parametrize("share", [1.0, 0.5, 0.25])
def test_the_share_of_the_limit_itself_is_still_room(share):
    ledger = looking({"a": 3, "b": 4})
    measured = [("a",), ("b",)]
    needed = needed_bytes(ledger.domain, [*measured, ("a", "b")])
    for bytes_, there in [(needed, True), (needed - 1, False), (needed - 0.5, False)]:
        found = with_room(
            ledger,
            [("a", "b")],
            measured,
            model_bytes=bytes_ / share,
            share=share,
            allowed=anything,
        )
        assert bool(found) is there


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_within_the_tree_there_is_room_up_to_the_whole_limit(share):
    # A ring of four is filled in by a fifth pair, which lies in the tree and is not measured.
    ledger = looking(dict.fromkeys("abcd", 4))
    ring = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")]
    (fifth,) = (p for p in [("a", "c"), ("b", "d")] if in_tree(ledger.domain, ring, p))
    needed = needed_bytes(ledger.domain, ring) + MEASURED_BYTES * 16
    for limit, there in [(needed, True), (needed - 1, False)]:
        found = with_room(ledger, [fifth], ring, model_bytes=limit, share=share, allowed=anything)
        assert bool(found) is there


def test_what_was_measured_stays_however_little_room_there_is():
    ledger = looking({"a": 300, "b": 4})
    cliques = [("a",), ("b",), ("a", "b")]
    for measured in ([], [("a",)], [("b",)], [("a", "b")], [(), ("a",), ("b",)]):
        found = with_room(ledger, cliques, measured, model_bytes=0, allowed=anything)
        assert found == [clique for clique in cliques if clique in measured]


def test_what_was_measured_in_another_order_of_columns_stays_as_well():
    ledger = looking({"a": 3, "b": 4})
    measured = [("b", "a")]
    limit = needed_bytes(ledger.domain, [*measured, ("a", "b")])
    found = with_room(ledger, [("a", "b")], measured, model_bytes=limit, allowed=anything)
    assert found == [("a", "b")]


@pytest.mark.parametrize(("most", "there"), [(11, False), (12, True)])
def test_marginals_that_the_ledger_does_not_count_are_left_out(most, there):
    ledger = looking({"a": 3, "b": 4}, most)
    for measured in ([], [("a",), ("b",)], [("a", "b")]):
        found = with_room(ledger, CLIQUES[:2], measured, model_bytes=10**9, allowed=anything)
        assert found == [("a",), ("b",)]
        found = with_room(ledger, [("a", "b")], measured, model_bytes=10**9, allowed=anything)
        assert bool(found) is there


def test_a_real_ledger_tells_its_columns_and_its_limit():
    ledger, _ = opened(most_cells=12)
    found = with_room(ledger, PAIRS, [], model_bytes=10**9, allowed=anything)
    # Of x and z together there are 24 cells.
    assert found == [clique for clique in PAIRS if clique != ("x", "z")]


def test_only_what_is_allowed_beside_what_was_measured_stays():
    ledger = looking(dict.fromkeys(NAMES, 2))
    shown = []

    def allowed(cliques):
        shown.append(list(cliques))
        return ("a", "b") not in cliques

    measured = [("a",), ("c", "d")]
    found = with_room(ledger, CLIQUES, measured, model_bytes=10**9, allowed=allowed)
    assert found == [clique for clique in CLIQUES if clique != ("a", "b")]
    assert shown == [[*measured, clique] for clique in CLIQUES]
    # Neither being in the tree nor having been measured is leave.
    for measured in ([tuple(NAMES)], CLIQUES):
        none = with_room(ledger, CLIQUES, measured, model_bytes=10**9, allowed=lambda _: False)
        assert none == []


def test_no_cliques_have_no_room():
    assert with_room(looking({"a": 2}), [], [], model_bytes=10**9, allowed=anything) == []


# --- the worst ---

SIZES = {"x": 4, "y": 2, "z": 6}
PAIRS = [("x",), ("y",), ("z",), ("x", "y"), ("x", "z"), ("z", "y")]


def opened(seed=0, **options):
    schema = Schema(tuple(numbered(name, size) for name, size in SIZES.items()))
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 4, 300)
    table = pa.table({"x": x, "y": (x > 1) ^ (rng.random(300) < 0.2), "z": rng.integers(0, 6, 300)})
    table = table.set_column(1, "y", table["y"].cast(pa.int64()))
    source = SeededForTests(seed)
    ledger = Ledger.open(table, schema, Budget(1e7, 1e-9), source=source, **options)
    exact = {
        clique: ledger.measure([clique], scale=0.01)[0].values
        for clique in PAIRS
        if ledger.domain.size(clique) <= ledger.most_cells
    }
    return ledger, exact


@pytest.mark.parametrize("scale", [0.0, 2.0, 15.0, 400.0])
@pytest.mark.parametrize(
    "weights",
    [
        [1, 1, 1, 1, 1, 1],
        [1, 1, 1, 2, 2, 2],
        [9.0, 0.1, 2, 3, 0.5, 1],
        [0.3, 0.1, 0.2, 0.1, 0.1, 5],
    ],
    ids=str,
)
def test_with_much_to_spend_it_is_the_largest_weighted_error_beyond_noise(scale, weights):
    ledger, exact = opened()
    model = GraphicalModel(ledger.domain, 250.0)
    candidates = dict(zip(PAIRS, weights, strict=True))
    errors = {
        clique: weight
        * (
            np.abs(exact[clique] - model.marginal(clique)).sum()
            - (2 / np.pi) ** 0.5 * scale * exact[clique].size
        )
        for clique, weight in candidates.items()
    }
    ranked = sorted(errors.values())
    assert ranked[-1] > ranked[-2] + 0.1, "the test must know the answer"
    found = worst(ledger, model, candidates, rho=RICH, scale=scale)
    assert found == max(errors, key=errors.get)


def test_the_penalty_turns_the_choice_to_smaller_marginals():
    ledger, _ = opened()
    model = GraphicalModel(ledger.domain, 250.0)
    found = [
        worst(ledger, model, dict.fromkeys(PAIRS, 1.0), rho=RICH, scale=scale)
        for scale in (0.0, 400.0)
    ]
    assert len(found[0]) == 2
    assert found[1] == ("y",)


def test_a_merged_ledger_counts_merged_cells():
    # Of z's six codes one group is left: without it the penalty of z would be six times as large.
    ledger, exact = opened()
    merged = ledger.merged({"z": [0] * 6, "x": [0, 0, 0, 1]})
    model = GraphicalModel(merged.domain, 250.0)
    scale = 30.0
    x = exact[("x",)]
    error_x = abs(x[:3].sum() - 125) + abs(x[3] - 125) - MEAN_NOISE * scale * 2
    error_z = abs(300 - 250) - MEAN_NOISE * scale
    expected = ("x",) if error_x > error_z else ("z",)
    assert abs(error_x - error_z) > 1
    found = worst(merged, model, {("x",): 1.0, ("z",): 1.0}, rho=RICH, scale=scale)
    assert found == expected


def test_it_pays_what_it_was_given_once():
    ledger, _ = opened()
    model = GraphicalModel(ledger.domain, 250.0)
    before = len(ledger.entries)
    worst(ledger, model, {("x",): 1.0, ("x", "y"): 2.0}, rho=Fraction(1, 8), scale=3.0)
    (entry,) = ledger.entries[before:]
    assert entry.event.epsilon == pytest.approx(1.0, rel=1e-9)
    assert entry.request["candidates"] == 2
    assert Fraction(entry.request["sensitivity"]) == 2


def test_a_model_that_knows_all_is_wrong_where_noise_left_it():
    ledger, _ = opened()
    measured = ledger.measure([("x", "y")], scale=0.01)
    model = estimate(ledger.domain, measured).model
    candidates = {("x", "y"): 1.0, ("x",): 1.0, ("z",): 1.0}
    assert worst(ledger, model, candidates, rho=RICH, scale=0.0) == ("z",)
