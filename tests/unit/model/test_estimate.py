import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from helpers.shapes import NAMES, SHAPES, measured, potentials, summed
from understudy.domain import Domain
from understudy.errors import BadInput
from understudy.model.estimate import Stopping, estimate, needed_bytes
from understudy.model.factor import Factor, joint
from understudy.model.graphical import GraphicalModel
from understudy.privacy.answers import Measurement

ROWS = 1000.0
PATIENT = Stopping(relative=1e-7)
SCALES = [0.1, 3.0, 30.0, 300.0]
"""From all but exact to lost in noise."""
MEASURED = [name for name in NAMES if name != "empty"]


def true_table(name, seed=0):
    domain, _ = SHAPES[name]
    return ROWS * joint(domain, potentials(name, seed))


def problem(name, scale, seed=0):
    domain, cliques = SHAPES[name]
    rng = np.random.default_rng([seed, 9])
    return domain, measured(domain, true_table(name, seed), cliques, rng, scale)


def equations(domain, measurements, rows):
    """Each measured cell as a sum over all cells of the whole table, in standard deviations."""
    cells = domain.size(domain.names)
    each = np.eye(cells).reshape(cells, *domain.shape(domain.names))
    left, right = [np.empty((0, cells))], [np.empty(0)]
    for one in measurements:
        scale = np.broadcast_to(one.scale, one.values.shape).ravel()
        sums = np.array([summed(domain, cell, one.clique).ravel() for cell in each]).T
        left.append(rows * sums / scale[:, None])
        right.append(one.values.ravel() / scale)
    return np.concatenate(left), np.concatenate(right)


def loss_of(domain, measurements, rows, shares):
    left, right = equations(domain, measurements, rows)
    return 0.5 * float(np.sum((left @ shares.ravel() - right) ** 2))


def least_loss(domain, measurements, rows, possible=None):
    """The least loss of any distribution over the whole table, by a general solver."""
    left, right = equations(domain, measurements, rows)
    if possible is not None:
        left = left[:, possible.ravel()]
    # That shares add up to 1 counts as one more equation, heavier than all others.
    heavy = 1e5 * (1 + np.abs(left).max(initial=0))
    found, _ = optimize.nnls(
        np.vstack([left, np.full(left.shape[1], heavy)]), np.append(right, heavy), maxiter=10_000
    )
    return 0.5 * float(np.sum((left @ (found / found.sum()) - right) ** 2))


def check_best(fit, domain, measurements, rows=ROWS, possible=None):
    shares = joint(domain, fit.model.factors)
    least = least_loss(domain, measurements, rows, possible)
    assert fit.loss == pytest.approx(loss_of(domain, measurements, rows, shares), 1e-6, 1e-6)
    assert fit.loss >= least * (1 - 1e-6) - 1e-6
    assert fit.loss <= least * 1.002 + 1e-3


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", NAMES)
def test_no_distribution_fits_better(name, scale):
    domain, measurements = problem(name, scale)
    fit = estimate(domain, measurements, total=ROWS, stop=PATIENT)
    check_best(fit, domain, measurements)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", NAMES)
def test_by_itself_it_stops_near_the_best(name, scale):
    # One in a hundred of the loss, or a tenth of one standard deviation in one cell.
    domain, measurements = problem(name, scale, seed=1)
    fit = estimate(domain, measurements, total=ROWS)
    assert fit.converged
    assert fit.loss <= least_loss(domain, measurements, ROWS) * 1.01 + 0.005


@pytest.mark.parametrize("name", NAMES)
def test_the_slope_is_even_where_there_are_rows_and_nowhere_less(name):
    # What makes a distribution the best one (Karush, Kuhn and Tucker).
    domain, measurements = problem(name, 100.0, seed=2)
    fit = estimate(domain, measurements, total=ROWS, stop=PATIENT)
    shares = joint(domain, fit.model.factors).ravel()
    left, right = equations(domain, measurements, ROWS)
    slope = left.T @ (left @ shares - right)
    even = shares @ slope
    assert shares @ np.abs(slope - even) <= 0.02
    # The loss is convex: it lies above its least value by no more than this.
    assert even - slope.min() <= 0.02
    # The first half can fail: at the start, with all cells alike, it is far from even.
    if measurements:
        at_start = left.T @ (left.mean(axis=1) - right)
        assert np.abs(at_start - at_start.mean()).mean() > 0.2


@pytest.mark.parametrize("name", MEASURED)
def test_exact_measurements_are_reproduced(name):
    domain, cliques = SHAPES[name]
    table = true_table(name, 3)
    exact = [Measurement(c, summed(domain, table, c), 1.0) for c in cliques]
    fit = estimate(domain, exact)
    assert fit.model.total == pytest.approx(ROWS)
    for one in exact:
        np.testing.assert_allclose(fit.model.marginal(one.clique), one.values, atol=0.1)


@pytest.mark.parametrize("name", ["chain", "star", "cycle", "nested"])
def test_a_model_that_measurements_determine_is_found_again(name):
    # All its cliques are measured exactly, so the whole table is known.
    domain, cliques = SHAPES[name]
    table = true_table(name, 4)
    exact = [Measurement(c, summed(domain, table, c), 3.0) for c in cliques]
    found = ROWS * joint(domain, estimate(domain, exact, stop=PATIENT).model.factors)
    np.testing.assert_allclose(found, table, atol=0.5)


@pytest.mark.parametrize("name", ["chain", "cycle", "nested"])
def test_each_measurement_and_each_cell_is_trusted_by_its_own_scale(name):
    domain, cliques = SHAPES[name]
    rng = np.random.default_rng(5)
    scales = [rng.uniform(5, 150, domain.shape(clique)) for clique in cliques[1:]]
    measurements = measured(domain, true_table(name), cliques, rng, [60.0, *scales])
    fit = estimate(domain, measurements, total=ROWS, stop=PATIENT)
    check_best(fit, domain, measurements)
    # It matters: with one scale for all, another distribution is the best.
    plain = [Measurement(one.clique, one.values, 40.0) for one in measurements]
    other = joint(domain, estimate(domain, plain, total=ROWS, stop=PATIENT).model.factors)
    assert loss_of(domain, measurements, ROWS, other) > fit.loss * 1.01


def test_measurements_that_overlap_and_disagree_meet_in_the_middle():
    domain = Domain.of({"a": 2, "b": 3, "c": 2})
    rng = np.random.default_rng(6)
    table = ROWS * joint(domain, [Factor(("a", "b", "c"), rng.standard_normal((2, 3, 2)))])
    cliques = [("a", "b"), ("b", "c"), ("c", "a"), ("b",), ("a", "b", "c"), ()]
    measurements = measured(domain, table, cliques, rng, [20.0, 30.0, 50.0, 10.0, 90.0, 5.0])
    fit = estimate(domain, measurements, total=ROWS, stop=PATIENT)
    # A total alone says nothing about shares.
    check_best(fit, domain, measurements[:-1])


def test_two_measurements_of_one_cell_meet_by_their_precision():
    domain = Domain.of({"a": 2})
    told = [
        Measurement(("a",), np.array([60.0, 40.0]), 1.0),
        Measurement(("a",), np.array([50.0, 50.0]), np.array([2.0, 2.0])),
    ]
    fit = estimate(domain, told, stop=PATIENT)
    np.testing.assert_allclose(fit.model.marginal(("a",)), [58.0, 42.0], atol=1e-3)


@pytest.mark.parametrize("name", MEASURED)
def test_repeated_measurements_count_as_their_weighted_mean(name):
    domain, cliques = SHAPES[name]
    rng = np.random.default_rng(7)
    table = true_table(name)
    scales = [20.0, 40.0, 80.0]
    precision = np.array([1 / scale**2 for scale in scales])
    parts = [measured(domain, table, cliques, rng, scale) for scale in scales]
    means = [
        Measurement(
            same[0].clique,
            sum(p * one.values for p, one in zip(precision, same, strict=True)) / precision.sum(),
            float(precision.sum() ** -0.5),
        )
        for same in zip(*parts, strict=True)
    ]
    fit = estimate(domain, [one for part in parts for one in part])
    once = estimate(domain, means)
    assert fit.model.total == pytest.approx(once.model.total)
    found, expected = (joint(domain, one.model.factors) for one in (fit, once))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", MEASURED)
def test_the_order_of_axes_does_not_matter(name):
    domain, cliques = SHAPES[name]
    scales = [np.random.default_rng(8).uniform(5, 50, domain.shape(clique)) for clique in cliques]
    told = measured(domain, true_table(name), cliques, np.random.default_rng(9), scales)
    turned = [Measurement(one.clique[::-1], one.values.T, one.scale.T) for one in told]
    fit, again = estimate(domain, told), estimate(domain, turned)
    assert again.loss == pytest.approx(fit.loss, rel=1e-6)
    found, expected = (joint(domain, one.model.factors) for one in (again, fit))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


def test_the_number_of_rows_is_what_measurements_say_by_their_precision():
    domain = Domain.of({"a": 2, "b": 3})
    told = [
        Measurement(("a",), np.array([60.0, 50.0]), 1.0),
        Measurement(("b",), np.array([30.0, 30.0, 40.0]), np.array([1.0, 2.0, 2.0])),
        Measurement((), np.array(120.0), 2.0),
    ]
    weights = np.array([1 / 2, 1 / 9, 1 / 4])
    total = estimate(domain, told).model.total
    assert total == pytest.approx(weights @ [110, 100, 120] / weights.sum())
    assert estimate(domain, told, total=77.0).model.total == 77.0


@pytest.mark.parametrize("scale", [1.0, 1e3, 2.0**44])
@pytest.mark.parametrize("level", [0.0, -1.0, -30.0])
def test_a_table_that_seems_to_have_no_rows_has_one(level, scale):
    domain, cliques = SHAPES["cycle"]
    told = [Measurement(c, np.full(domain.shape(c), level * scale), scale) for c in cliques]
    fit = estimate(domain, told)
    assert fit.model.total == 1.0
    assert fit.converged
    table = joint(domain, fit.model.factors)
    assert table.min() >= 0
    assert table.sum() == pytest.approx(1)


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.sampled_from(MEASURED), st.sampled_from([1e3, 2.0**44]))
def test_whatever_the_noise_a_model_comes_out(seed, name, scale):
    domain, cliques = SHAPES[name]
    rng = np.random.default_rng(seed)
    told = measured(domain, true_table(name), cliques, rng, scale)
    fit = estimate(domain, told, stop=Stopping(iterations=200))
    assert fit.model.total >= 1
    for clique in cliques:
        marginal = fit.model.marginal(clique)
        assert marginal.min() >= 0
        assert marginal.sum() == pytest.approx(fit.model.total, rel=1e-9)
    assert fit.loss <= fit.trace[0][1] * (1 + 1e-12)


def test_without_measurements_all_that_is_possible_is_alike():
    domain, _ = SHAPES["empty"]
    fit = estimate(domain, [])
    assert fit.converged
    assert fit.loss == 0
    assert fit.model.total == 1.0
    np.testing.assert_allclose(joint(domain, fit.model.factors), np.full((3, 1, 2), 1 / 6))
    total_alone = estimate(domain, [Measurement((), np.array(40.0), 1.0)])
    np.testing.assert_allclose(total_alone.model.marginal(("c",)), [20, 20])


@pytest.mark.parametrize("total", [0.0, -3.0, float("nan"), float("inf")])
def test_a_number_of_rows_that_is_none_is_refused(total):
    domain, measurements = problem("chain", 3.0)
    with pytest.raises(BadInput, match="number of rows"):
        estimate(domain, measurements, total=total)


def test_a_measurement_of_another_shape_is_refused():
    domain, _ = SHAPES["chain"]
    with pytest.raises(BadInput, match=r"\(b, a\) does not fit"):
        estimate(domain, [Measurement(("b", "a"), np.ones((2, 3)), 1.0)])


def some_zeros(name):
    """One impossible cell in the first clique, and one in a pair that nobody measured."""
    domain, cliques = SHAPES[name]
    zeros = []
    for clique in (*cliques[:1], (domain.names[-1], domain.names[0])[: len(domain)]):
        cells = np.zeros(domain.shape(clique), bool)
        cells[(-1,) * len(clique)] = True
        zeros.append(Factor.impossible(clique, cells))
    return zeros


@pytest.mark.parametrize("name", NAMES)
def test_zeros_are_kept_and_the_rest_fits_as_well_as_it_can(name):
    domain, measurements = problem(name, 30.0, seed=3)
    zeros = some_zeros(name)
    fit = estimate(domain, measurements, total=ROWS, zeros=iter(zeros), stop=PATIENT)
    possible = joint(domain, zeros) > 0
    assert not possible.all()
    assert (joint(domain, fit.model.factors)[~possible] == 0).all()
    for zero in zeros:
        assert (fit.model.marginal(zero.clique)[zero.log == -np.inf] == 0).all()
    check_best(fit, domain, measurements, possible=possible)


def test_zeros_that_leave_no_row_are_refused():
    domain, measurements = problem("chain", 3.0)
    with pytest.raises(BadInput, match="No row is possible"):
        estimate(domain, measurements, zeros=[Factor.impossible(("b",), np.ones(3, bool))])
    with pytest.raises(BadInput, match="shape"):
        estimate(domain, measurements, zeros=[Factor.impossible(("b",), np.ones(2, bool))])


@pytest.mark.parametrize("name", MEASURED)
def test_the_trace_tells_how_the_loss_went_down(name):
    domain, measurements = problem(name, 30.0)
    fit = estimate(domain, measurements)
    start = np.full(domain.shape(domain.names), 1 / domain.size(domain.names))
    assert fit.trace[0][0] == 0
    # It does not begin with all cells alike, but about where the noise leaves it.
    assert fit.trace[0][1] < 0.2 * loss_of(domain, measurements, fit.model.total, start)
    losses = [loss for _, loss in fit.trace]
    assert losses == sorted(losses, reverse=True)
    assert fit.loss <= fit.trace[0][1]
    assert fit.converged
    assert [done for done, _ in fit.trace] == [20 * k for k in range(len(fit.trace))]


@pytest.mark.parametrize("most", [1, 7, 20, 25])
def test_a_fit_stops_at_its_limit_and_says_so(most):
    domain, measurements = problem("cycle", 3.0)
    fit = estimate(domain, measurements, stop=Stopping(relative=0, iterations=most))
    assert fit.trace[-1][0] == most
    assert not fit.converged
    assert fit.loss < fit.trace[0][1]


def test_more_iterations_are_never_worse():
    domain, measurements = problem("cycle", 3.0)
    losses = [
        estimate(domain, measurements, stop=Stopping(relative=0, iterations=most)).loss
        for most in (1, 3, 10, 30, 59)
    ]
    assert losses == sorted(losses, reverse=True)


@pytest.mark.parametrize(
    "wrong", [{"relative": -0.1}, {"relative": 1.0}, {"iterations": 0}, {"relative": float("nan")}]
)
def test_a_rule_for_stopping_that_is_none_is_refused(wrong):
    with pytest.raises(BadInput, match="A fit stops"):
        Stopping(**wrong)


@pytest.mark.parametrize("name", NAMES)
def test_from_an_earlier_model_of_fewer_cliques_it_reaches_the_same_place(name):
    domain, measurements = problem(name, 30.0, seed=4)
    part = estimate(domain, measurements[:-2], total=ROWS).model
    fit = estimate(domain, measurements, total=ROWS, start=part, stop=PATIENT)
    check_best(fit, domain, measurements)
    fresh = estimate(domain, measurements, total=ROWS, stop=PATIENT)
    for one in measurements:
        np.testing.assert_allclose(
            fit.model.marginal(one.clique), fresh.model.marginal(one.clique), atol=0.5
        )


@pytest.mark.parametrize("name", ["chain", "star", "cycle", "nested"])
def test_where_little_changed_a_start_from_before_is_faster(name):
    domain, measurements = problem(name, 30.0, seed=5)
    before = estimate(domain, measurements, total=ROWS, stop=PATIENT).model
    changed = [Measurement(one.clique, one.values + 0.1, one.scale) for one in measurements]
    warm = estimate(domain, changed, total=ROWS, start=before)
    fresh = estimate(domain, changed, total=ROWS)
    assert warm.trace[0][1] < fresh.trace[0][1]
    assert warm.trace[-1][0] <= fresh.trace[-1][0]
    assert warm.loss <= fresh.loss * 1.001


def test_a_start_may_hold_cliques_and_zeros_that_are_measured_no_more():
    domain, measurements = problem("nested", 30.0)
    start = GraphicalModel(
        domain,
        5.0,
        (*potentials("nested", 1), *some_zeros("nested"), Factor(("a", "d"), np.ones((2, 4)))),
    )
    fit = estimate(domain, measurements[:2], total=ROWS, start=start, stop=PATIENT)
    check_best(fit, domain, measurements[:2])
    assert all(np.isfinite(factor.log).all() for factor in fit.model.factors)
    assert fit.model.total == ROWS


def conditional_information(table, left, right):
    """I(left; right | all other columns) of a joint table, by axes."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = table * table.sum(axis=(left, right), keepdims=True)
        ratio /= table.sum(axis=left, keepdims=True) * table.sum(axis=right, keepdims=True)
        return float(np.sum(np.where(table > 0, table * np.log(ratio), 0.0)))


@pytest.mark.parametrize("seed", range(2))
def test_what_measurements_do_not_tie_stays_independent_also_where_the_tree_is_filled_in(seed):
    domain, measurements = problem("cycle", 30.0, seed)
    model = estimate(domain, measurements).model
    assert {frozenset(factor.clique) for factor in model.factors} == {
        frozenset(one.clique) for one in measurements
    }
    assert max(len(held) for held in model.tree.cliques) == 3
    table = model.beliefs.marginal(domain.names[:3])[..., None]
    whole = joint(domain, model.factors)
    np.testing.assert_allclose(whole.sum(axis=3), table[..., 0], rtol=1e-9)
    a, b, c, d = range(4)
    assert abs(conditional_information(whole, a, c)) <= 1e-9
    assert abs(conditional_information(whole, b, d)) <= 1e-9
    # Columns that were measured together do depend on each other.
    assert conditional_information(whole, a, b) > 1e-3


def test_a_total_takes_no_room():
    domain = Domain.of({"a": 3, "b": 4})
    for cliques in ([], [("a",)], [("a", "b"), ("b",)]):
        assert needed_bytes(domain, [(), *cliques, ()]) == needed_bytes(domain, cliques)


@pytest.mark.parametrize(
    ("sizes", "cliques"),
    [
        ({"a": 300, "b": 300}, [("a", "b")]),
        ({"a": 60, "b": 60, "c": 60}, [("a", "b"), ("b", "c"), ("c", "a")]),
        ({"a": 30, "b": 30, "c": 30, "d": 30}, [("a", "b", "c"), ("c", "d"), ("d",), ("b", "c")]),
    ],
    ids=["pair", "triangle", "nested"],
)
def test_a_fit_holds_no_more_than_was_said(sizes, cliques):
    domain = Domain.of(sizes)
    rng = np.random.default_rng(0)
    told = [Measurement(c, rng.normal(5, 2, domain.shape(c)), 2.0) for c in cliques]
    tracemalloc.start()
    try:
        estimate(domain, told, stop=Stopping(relative=0, iterations=4))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    needed = needed_bytes(domain, cliques)
    assert needed / 4 < peak <= needed + 2**18


@pytest.mark.parametrize("rows", [1e5, 1e6, 1e7])
@pytest.mark.parametrize("wide", [30.0, 300.0])
def test_marginals_of_very_different_noise_and_many_rows_are_fitted_alike(rows, wide):
    # Where a table has many rows, a fit that began with all cells alike would end far away.
    rng = np.random.default_rng([int(rows), int(wide)])
    domain = Domain.of({"a": 3, "b": 4})
    table = rows * rng.dirichlet(np.ones(12)).reshape(3, 4)
    exact = {("a",): (table.sum(1), 3.0), ("b",): (table.sum(0), 3.0), ("a", "b"): (table, wide)}
    measurements = [
        Measurement(clique, np.rint(counts + rng.normal(0, scale, counts.shape)), scale)
        for clique, (counts, scale) in exact.items()
    ]
    fit = estimate(domain, measurements, total=rows)
    assert fit.loss <= 1.1 * least_loss(domain, measurements, rows) + 1
