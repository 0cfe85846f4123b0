"""Gradients are right, none is longer than the clipping norm, and the noise is as it was paid for.

The proofs are in docs/proofs/training.md.
"""

import itertools
import math
import tracemalloc
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from helpers.tables import numbered
from understudy.column import Column, Kind, Role
from understudy.domain import Domain
from understudy.errors import BadInput, PrivacyRefused, UnknownColumn
from understudy.privacy.accountant import sampled_divergence
from understudy.privacy.budget import Budget
from understudy.privacy.events import Gaussian, SampledGaussian
from understudy.privacy.ledger import Ledger
from understudy.privacy.noise import RATE_GRID, SMALLEST_SCALE, SeededForTests
from understudy.privacy.row_maps import ROWS_AT_ONCE
from understudy.privacy.train import (
    CLIP_STEPS,
    SENSITIVITY,
    Loss,
    TrainedModel,
    Training,
    gradient_total,
    taught_by,
    train,
)
from understudy.privacy.unit import Person, Record, Replacement
from understudy.privacy.weights import UNIT, RowWeights
from understudy.schema import Schema

CLASSES = {
    "two classes": [0, 1],
    "three classes": [0, 1, 2],
    "two sides": [0, 1],
    "three sides": [0, 1, 2],
    "a number": [-1.5, 0.25, 2.0],
}
LOSSES = {"two sides": Loss.HINGE, "three sides": Loss.HINGE, "a number": Loss.SQUARED}


def task_of(kind="two classes", inputs=None, hidden=0, **facts):
    """A task on the columns a and b; a is one-hot, b a single number."""
    inputs = inputs or {"a": np.eye(3), "b": [-1.5, 0.25, 1.0, 3.0]}
    loss = LOSSES.get(kind, Loss.LOGISTIC)
    facts = {"rows": 100, "hidden": hidden, "loss": loss, "target": CLASSES[kind]} | facts
    return Training(inputs=inputs, target_column="y", **facts)


def layers_of(task, seed=0, size=0.5):
    rng = np.random.default_rng(seed)
    # On the grid of weights, so that what is differentiated is what was computed.
    return [np.rint(rng.normal(0, size, s) * 2**16) / 2**16 for s in task.shapes]


def block_of(task, rows, seed=0):
    rng = np.random.default_rng(seed)
    sizes = {name: len(np.asarray(table)) for name, table in task.inputs.items()}
    sizes[task.target_column] = len(task.target)
    return {name: rng.integers(0, size, rows).astype(np.uint8) for name, size in sizes.items()}


def full(rows):
    return np.full(rows, float(UNIT))


def one_row(task, codes, k, weight=UNIT, layers=None):
    """The gradient of one row, in whole steps."""
    alone = {name: column[k : k + 1] for name, column in codes.items()}
    return gradient_total(task, layers or layers_of(task), [(alone, np.array([float(weight)]))])


def squared_norm(steps):
    return sum(int(x) ** 2 for x in steps)


def loss_of(task, flat, codes):
    """The loss of some rows, by the textbook, in doubles."""
    layers, at = [], 0
    for rows, columns in task.shapes:
        layers.append(flat[at : at + rows * columns].reshape(rows, columns))
        at += rows * columns
    parts = [
        np.asarray(table, float).reshape(len(np.asarray(table)), -1)[codes[name]]
        for name, table in task.inputs.items()
    ]
    x = np.concatenate(parts, axis=1)
    for place, layer in enumerate(layers):
        x = np.concatenate([x, np.ones((len(x), 1))], axis=1) @ layer
        if place < len(layers) - 1:
            x = np.tanh(x)
    y = np.asarray(task.target, float)[codes["y"]]
    if task.loss is Loss.SQUARED:
        return (0.5 * (x[:, 0] - y) ** 2).sum()
    if task.loss is Loss.HINGE:
        own = 1 if x.shape[1] == 1 else np.arange(x.shape[1])
        return np.maximum(1 - np.where(y[:, None] == own, x, -x), 0).sum()
    logits = np.concatenate([np.zeros((len(x), 1)), x], axis=1) if x.shape[1] == 1 else x
    chosen = logits[np.arange(len(y)), y.astype(int)]
    return (np.log(np.exp(logits).sum(axis=1)) - chosen).sum()


def derivatives(task, layers, codes):
    """The derivatives of that loss, by finite differences."""
    flat = np.concatenate([layer.ravel() for layer in layers])
    step = 1e-5
    return np.array(
        [
            (loss_of(task, flat + e, codes) - loss_of(task, flat - e, codes)) / (2 * step)
            for e in step * np.eye(len(flat))
        ]
    )


@pytest.mark.parametrize("hidden", [0, 5])
@pytest.mark.parametrize("kind", CLASSES)
def test_gradients_are_the_derivatives_of_the_loss(kind, hidden):
    # A clipping norm that no row reaches, and inputs and weights on their grids.
    task = task_of(kind, hidden=hidden, clip=16.0)
    codes = block_of(task, 40)
    layers = layers_of(task)
    total = gradient_total(task, layers, [(codes, full(40))]) * (task.clip / CLIP_STEPS)
    plain = derivatives(task, layers, codes)
    # Logits are rounded to 2⁻¹⁰ and bent inputs to 2⁻⁸, and a clipping norm of 16 cuts errors to
    # multiples of 2⁻¹², toward zero: per row 0.0003 without and 0.002 with a hidden layer.
    np.testing.assert_allclose(total, plain, atol=40 * (0.002 if hidden else 0.0003))
    assert np.abs(total - plain).max() < 0.01 * np.abs(plain).max()
    assert np.abs(plain).max() > 2


@pytest.mark.parametrize("kind", CLASSES)
def test_gradients_of_single_rows_are_derivatives_too(kind):
    # What cancels in a sum shows here: each row, also its sign and its bias.
    task = task_of(kind, hidden=4, clip=8.0)
    codes = block_of(task, 30, seed=5)
    layers = layers_of(task, seed=5)
    for k in range(30):
        alone = {name: column[k : k + 1] for name, column in codes.items()}
        found = one_row(task, codes, k, layers=layers) * (task.clip / CLIP_STEPS)
        plain = derivatives(task, layers, alone)
        if np.linalg.norm(plain) > task.clip:
            plain *= task.clip / np.linalg.norm(plain)
        np.testing.assert_allclose(found, plain, atol=0.02, rtol=0.01)


LIMITS = [0.0, 64.0, -64.0, 1e300, -1e300, 2.0**-8, 1.0]
inputs = st.lists(st.floats(-70, 70) | st.sampled_from(LIMITS), min_size=6, max_size=6)
targets = st.lists(
    st.floats(-20, 20) | st.sampled_from([1e300, -1e300, 16.0, -16.0]), min_size=2, max_size=2
)
weights_of_a_model = st.floats(-130, 130) | st.sampled_from([0.0, 128.0, -128.0, 2.0**-16])


clips = st.floats(2.0**-8, 2.0**8) | st.sampled_from([2.0**-8, 2.0**8, 1.0])


@settings(max_examples=300)
@given(
    inputs,
    targets,
    st.tuples(st.sampled_from(list(CLASSES)), st.sampled_from([0, 1, 3])),
    st.tuples(clips, st.sampled_from([1, 512, UNIT])),
    st.data(),
)
def test_no_row_has_a_gradient_longer_than_the_clipping_norm(numbers, target, model, limits, data):
    (kind, hidden), (clip, weight) = model, limits
    if kind != "a number":
        target = CLASSES[kind]
    table = np.reshape(numbers, (2, 3))
    task = task_of(kind, {"a": table}, hidden, clip=clip, target=target)
    flat = data.draw(
        st.lists(weights_of_a_model, min_size=task.parameters, max_size=task.parameters)
    )
    layers, at = [], 0
    for rows, columns in task.shapes:
        layers.append(np.reshape(flat[at : at + rows * columns], (rows, columns)))
        at += rows * columns
    for a, y in itertools.product(range(2), range(len(target))):
        codes = {"a": np.array([a], np.uint8), "y": np.array([y], np.uint8)}
        length = squared_norm(one_row(task, codes, 0, weight, layers))
        assert length * UNIT**2 <= (CLIP_STEPS * weight) ** 2


def every_row(task):
    names = [*task.inputs, "y"]
    sizes = [len(np.asarray(table)) for table in task.inputs.values()] + [len(task.target)]
    every = np.array(list(itertools.product(*map(range, sizes))), np.uint8)
    return {name: every[:, k] for k, name in enumerate(names)}


@pytest.mark.parametrize("hidden", [0, 5])
@pytest.mark.parametrize("kind", CLASSES)
def test_where_clipping_binds_a_gradient_is_as_long_as_the_clipping_norm(kind, hidden):
    # At a sixteenth nearly every row is clipped. The longest is what the noise is scaled to.
    task = task_of(kind, hidden=hidden, clip=1 / 16)
    codes = every_row(task)
    lengths = [math.sqrt(squared_norm(one_row(task, codes, k))) for k in range(len(codes["y"]))]
    assert max(lengths) <= CLIP_STEPS
    assert np.mean(np.array(lengths) >= 0.99 * CLIP_STEPS) > 0.6


def test_the_bias_counts_in_the_norm():
    # No input but the constant one: the whole gradient is the bias's, and it is clipped too.
    task = task_of(inputs={"a": np.zeros((2, 4))}, clip=0.25)
    codes = {"a": np.array([0], np.uint8), "y": np.array([1], np.uint8)}
    found = one_row(task, codes, 0, layers=[np.zeros((5, 1))])
    assert (found[:4] == 0).all()
    assert -CLIP_STEPS <= found[4] <= -0.99 * CLIP_STEPS
    # Beside another input of the same size it gets its fair share of the norm.
    task = task_of(inputs={"a": np.ones((2, 1))}, clip=0.25)
    found = one_row(task, codes, 0, layers=[np.zeros((2, 1))])
    np.testing.assert_allclose(found / CLIP_STEPS, [-math.sqrt(0.5)] * 2, atol=1e-3)


def test_a_weight_shortens_a_gradient():
    for clip in (1 / 16, 16.0):
        task = task_of("three classes", clip=clip)
        codes = block_of(task, 20)
        for k in range(20):
            whole_row = one_row(task, codes, k)
            for weight in (0, 1, 100, 512):
                found = one_row(task, codes, k, weight)
                assert squared_norm(found) * UNIT**2 <= (CLIP_STEPS * weight) ** 2
                # Errors are cut to whole steps; an input of 3 is 768 of them.
                np.testing.assert_allclose(found, whole_row * (weight / UNIT), atol=1600)


@pytest.mark.parametrize("kind", CLASSES)
def test_all_pairs_and_handfuls_of_rows_stay_within_the_sensitivity(kind):
    assert Record().squared(SENSITIVITY) == CLIP_STEPS**2
    assert Replacement().squared(SENSITIVITY) == (2 * CLIP_STEPS) ** 2
    assert Person("who", 3).squared(SENSITIVITY) == (3 * CLIP_STEPS) ** 2
    task = task_of(kind, clip=1 / 16)
    codes = every_row(task)
    layers = [np.zeros(shape) for shape in task.shapes]
    each = [one_row(task, codes, k, layers=layers) for k in range(len(codes["y"]))]
    each = np.array(each).astype(object)
    norms = (each**2).sum(axis=1)
    assert max(norms) <= Record().squared(SENSITIVITY)
    apart = (norms[:, None] + norms - 2 * each @ each.T).max()
    assert apart <= Replacement().squared(SENSITIVITY)
    if not kind.startswith("three"):  # whose errors are never opposite: at 120 degrees at most
        assert apart >= Fraction(81, 100) * Replacement().squared(SENSITIVITY)
    for k in (2, 3):
        places = range(0, len(each), 2)
        for rows in itertools.combinations_with_replacement(places, k):
            together = (each[list(rows)].sum(axis=0) ** 2).sum()
            assert together <= Person("who", k).squared(SENSITIVITY)
        assert k**2 * max(norms) >= Fraction(81, 100) * Person("who", k).squared(SENSITIVITY)


def wide(kind, hidden):
    rng = np.random.default_rng(9)
    table = rng.normal(size=(20, 30))
    task = task_of(kind, {"a": table, "b": rng.normal(size=20)}, hidden, clip=1.7)
    return task, layers_of(task, seed=9, size=0.7), block_of(task, 700, seed=9)


@pytest.mark.parametrize("hidden", [0, 16])
@pytest.mark.parametrize("kind", CLASSES)
def test_the_sum_of_gradients_is_the_sum_over_rows_in_any_order_and_any_cut(kind, hidden):
    task, layers, codes = wide(kind, hidden)
    rng = np.random.default_rng(1)
    weights = rng.integers(0, UNIT + 1, 700).astype(float)
    total = gradient_total(task, layers, [(codes, weights)])
    assert total.dtype == np.int64
    assert np.abs(total).max() > CLIP_STEPS

    def of(rows):
        return {name: column[rows] for name, column in codes.items()}, weights[rows]

    np.testing.assert_array_equal(total, gradient_total(task, layers, [of(rng.permutation(700))]))
    for cuts in (range(1, 700), [350], sorted(rng.integers(0, 700, 9))):
        parts = np.split(np.arange(700), list(cuts))
        np.testing.assert_array_equal(total, gradient_total(task, layers, map(of, parts)))


@pytest.mark.parametrize("hidden", [0, 16])
@pytest.mark.parametrize("kind", CLASSES)
def test_a_row_adds_the_same_gradient_whatever_rows_lie_beside_it(kind, hidden):
    task, layers, codes = wide(kind, hidden)
    without = gradient_total(task, layers, [(codes, full(700))])
    strangers = block_of(task, 10, seed=4)
    for k in range(10):
        alone = one_row(task, strangers, k, layers=layers)
        for place in (0, 1, 300, 700):
            both = {name: np.insert(codes[name], place, strangers[name][k]) for name in codes}
            found = gradient_total(task, layers, [(both, full(701))])
            np.testing.assert_array_equal(found - without, alone)


def test_full_parts_of_the_longest_gradients_add_up_exactly():
    # As many rows at once as are taken, all alike and at their limits.
    task = task_of(inputs={"a": np.full((2, 50), 64.0)}, clip=256.0)
    rows = 2 * ROWS_AT_ONCE + 5
    codes = {"a": np.zeros(rows, np.uint8), "y": np.ones(rows, np.uint8)}
    layers = [np.full((51, 1), -128.0)]
    alone = one_row(task, codes, 0, layers=layers)
    assert squared_norm(alone) > 0.9 * CLIP_STEPS**2
    total = gradient_total(task, layers, [(codes, full(rows))])
    np.testing.assert_array_equal(total, alone * rows)


def test_rows_without_a_target_add_nothing():
    for kind, hidden in itertools.product(CLASSES, (0, 5)):
        target = [*CLASSES[kind], math.nan]
        task = task_of(kind, hidden=hidden, target=target)
        task.check(Domain.of({"a": 3, "b": 4, "y": len(target)}))
        codes = block_of(task, 200)
        known = codes["y"] < len(target) - 1
        assert 0 < known.sum() < 200
        layers = layers_of(task)
        some = {name: column[known] for name, column in codes.items()}
        np.testing.assert_array_equal(
            gradient_total(task, layers, [(codes, full(200))]),
            gradient_total(task, layers, [(some, full(int(known.sum())))]),
        )


def test_a_pass_over_no_rows_is_zero():
    task = task_of(hidden=3)
    for rows in ([], [(block_of(task, 0), full(0))]):
        assert not gradient_total(task, layers_of(task), rows).any()


def silent(task, blocks, seed=0):
    """Training whose noise is so small that it is never drawn: P(one step of 2⁻²⁴) < e⁻¹⁰⁰."""
    return train(task, lambda: blocks, SMALLEST_SCALE * 2**16, SeededForTests(seed))


def accuracy(model, x, y):
    found = model.scores(x)
    labels = found[:, 0] > 0 if found.shape[1] == 1 else found.argmax(axis=1)
    return (labels == y).mean()


def test_training_finds_an_easy_boundary():
    for kind in ("two classes", "three classes"):
        classes = len(CLASSES[kind])
        task = task_of(
            kind, {"a": np.eye(classes)}, rows=300, steps=200, clip=2.0, learning_rate=4.0
        )
        y = np.arange(300, dtype=np.uint8) % classes
        model = silent(task, [({"a": y, "y": y}, full(300))])
        assert model.loss is Loss.LOGISTIC
        assert accuracy(model, np.eye(classes)[y], y) == 1
        # Not only the right side: nearly sure of it.
        sure = model.scores(np.eye(classes))
        gap = np.ptp(sure) if classes == 2 else (np.sort(sure)[:, -1] - np.sort(sure)[:, -2]).min()
        assert gap > 4


def test_training_finds_a_line():
    x = np.linspace(-1, 1, 21)
    task = task_of(
        "a number", {"a": x}, target=2 * x - 0.5, rows=21, steps=400, clip=4.0, momentum=0.5
    )
    codes = np.arange(21, dtype=np.uint8)
    model = silent(task, [({"a": codes, "y": codes}, full(21))])
    # Errors are known to 2⁻¹⁴ (a clipping norm of 4), inputs to 2⁻⁹.
    np.testing.assert_allclose(model.layers[0].ravel(), [2, -0.5], atol=0.01)
    np.testing.assert_allclose(model.scores([[0.5]]), [[0.5]], atol=0.01)


def test_a_hidden_layer_learns_what_a_line_cannot():
    corners = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]])
    codes = np.arange(400, dtype=np.uint8) % 4
    y = np.array([0, 1, 1, 0], np.uint8)[codes]
    blocks = [({"a": codes, "y": y}, full(400))]
    facts = {"rows": 400, "steps": 400, "clip": 4.0, "learning_rate": 1.0, "start": 1}
    straight = silent(task_of(inputs={"a": corners}, **facts), blocks)
    bent = silent(task_of(inputs={"a": corners}, hidden=8, **facts), blocks)
    assert accuracy(straight, corners[codes], y) < 0.8
    assert accuracy(bent, corners[codes], y) == 1
    again = silent(task_of(inputs={"a": corners}, hidden=8, **facts), blocks)
    other = silent(task_of(inputs={"a": corners}, hidden=8, **facts | {"start": 2}), blocks)
    np.testing.assert_array_equal(bent.layers[0], again.layers[0])
    assert (bent.layers[0] != other.layers[0]).any()


def test_one_step_divides_by_the_stated_rows_and_goes_downhill():
    # All rows alike: from zeros each one's gradient is the bias's, 1/2 - 1.
    task = task_of(inputs={"a": [0.0]}, rows=250, steps=1, clip=1.0, learning_rate=3.0)
    for rows in (0, 100, 400):
        codes = {"a": np.zeros(rows, np.uint8), "y": np.ones(rows, np.uint8)}
        model = silent(task, [(codes, full(rows))])
        np.testing.assert_allclose(model.layers[0], [[0], [3 * 0.5 * rows / 250]], atol=1e-4)


def test_momentum_keeps_a_share_of_the_last_step():
    facts = {"inputs": {"a": [0.0]}, "rows": 100, "learning_rate": 2.0**-10, "steps": 2}
    codes = {"a": np.zeros(100, np.uint8), "y": np.ones(100, np.uint8)}
    ahead = silent(task_of(momentum=0.75, **facts), [(codes, full(100))]).layers[0][1, 0]
    plain = silent(task_of(**facts), [(codes, full(100))]).layers[0][1, 0]
    # Steps of 1 and 1 against 1 and 1.75, the gradient being nearly the same at both.
    assert ahead / plain == pytest.approx(2.75 / 2, rel=1e-3)


@pytest.mark.parametrize("hidden", [0, 3])
def test_a_run_goes_on_from_where_another_ended(hidden):
    task = task_of(hidden=hidden, steps=4, learning_rate=0.5)
    blocks = [(block_of(task, 300), full(300))]
    half = silent(replace(task, steps=2), blocks).layers
    rest = silent(replace(task, steps=2, begun=half), blocks).layers
    for one, other in zip(silent(task, blocks).layers, rest, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)


@pytest.mark.parametrize("kind", CLASSES)
def test_rows_that_are_nobodys_teach_as_a_run_without_noise_would(kind):
    task = task_of(kind, rows=300, steps=5, learning_rate=0.5, momentum=0.5)
    codes = block_of(task, 300)
    trained = silent(task, [(codes, full(300))]).layers
    for one, other in zip(trained, taught_by(task, codes), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)
    nothing = {name: column[:0] for name, column in codes.items()}
    assert not any(layer.any() for layer in taught_by(task, nothing))


@pytest.mark.statistical
def test_a_sampled_step_takes_each_row_with_the_rate_and_divides_by_the_expected_number():
    # One step from zeros tells the size of its sample: b = rate · 1/2 · size / (rate · rows).
    rows, rate, runs = 2000, 0.125, 400
    task = task_of(inputs={"a": [0.0]}, rows=rows, rate=rate, steps=1)
    codes = {"a": np.zeros(rows, np.uint8), "y": np.ones(rows, np.uint8)}
    # Blocks of odd sizes: a sampler that works block by block must not care.
    cuts = [0, 1, 6, 777, rows]
    blocks = [
        ({name: column[a:b] for name, column in codes.items()}, full(b - a))
        for a, b in itertools.pairwise(cuts)
    ]
    sizes = []
    for seed in range(runs):
        bias = silent(task, blocks, seed).layers[0][1, 0]
        sizes.append(bias / 0.5 * rate * rows)
    sizes = np.array(sizes)
    np.testing.assert_allclose(sizes, np.rint(sizes), atol=0.02)
    # Divided by the size of the sample, every run would give the same.
    assert len(set(np.rint(sizes))) > 20
    mean, variance = rate * rows, rows * rate * (1 - rate)
    # Six standard deviations of the mean (0.74 each), one false alarm in 10⁹: a rate of 0.13
    # would be more than thirteen away.
    assert abs(sizes.mean() - mean) < 6 * math.sqrt(variance / runs)
    # The variance by χ², two-sided, once in a million: batches of fixed size have none at all,
    # and rows that join in pairs twice as much.
    chi_square = ((sizes - mean) ** 2).sum() / variance
    assert stats.chi2.ppf(5e-7, runs) < chi_square < stats.chi2.isf(5e-7, runs)


@pytest.mark.statistical
def test_every_row_is_as_likely_to_join_whatever_its_place_and_step():
    # Each row is its own input; one step tells which rows joined.
    rows, runs = 60, 500
    task = task_of(inputs={"a": np.eye(rows)}, rows=rows, rate=0.25, steps=1)
    codes = {"a": np.arange(rows, dtype=np.uint8), "y": np.ones(rows, np.uint8)}
    joined = np.array(
        [silent(task, [(codes, full(rows))], seed).layers[0][:-1, 0] > 0 for seed in range(runs)]
    )
    per_row = joined.sum(axis=0)
    chi_square = ((per_row - runs / 4) ** 2).sum() / (runs * 3 / 16)
    # χ² with 60 degrees of freedom exceeds 128 once in a million. One row that joins twice as
    # often as the others adds 167.
    assert chi_square < stats.chi2.isf(1e-6, rows)
    # Neighbouring rows join independently: within five standard deviations, one alarm in 10⁶;
    # rows that joined in pairs would meet twice as often or more, some forty away.
    both = (joined[:, 1:] & joined[:, :-1]).sum()
    pairs = runs * (rows - 1)
    assert abs(both - pairs / 16) < 6 * math.sqrt(pairs / 16)


def test_a_rate_is_rounded_up_to_the_grid_that_is_paid_for():
    for rate, chances in [
        (None, RATE_GRID),
        (1.0, RATE_GRID),
        (0.5, RATE_GRID // 2),
        (2.0**-31, 2),
        (1 / 3, RATE_GRID // 3 + 1),
        (2.0**-31 + 2.0**-60, 3),
    ]:
        assert task_of(rate=rate).chances == chances
        assert rate is None or Fraction(chances, RATE_GRID) >= Fraction(rate)


@pytest.mark.statistical
@pytest.mark.parametrize("hidden", [0, 2])
def test_the_noise_of_a_step_has_the_stated_scale(hidden):
    # One step without rows: what moved is noise, 1.5 clipping norms on every number.
    task = task_of(
        inputs={"a": np.zeros((1, 12000))},
        hidden=hidden,
        rows=50,
        clip=4.0,
        learning_rate=0.5,
        steps=1,
    )
    model = train(task, list, 1.5 * CLIP_STEPS, SeededForTests(3))
    assert model.scale == 1.5
    start = train(task, list, SMALLEST_SCALE * 2**16, SeededForTests(3))
    moved = [(a - b).ravel() for a, b in zip(model.layers, start.layers, strict=True)]
    noise = np.concatenate(moved) / (0.5 * 4.0 / 50)
    size = len(noise)
    assert size == task.parameters
    # χ² of at least 12,001 numbers, two-sided at one in a million; a scale that is off by 5 %
    # gives a p-value below 1e-11.
    found = (noise**2).sum()
    low, high = stats.chi2.ppf(5e-7, size), stats.chi2.isf(5e-7, size)
    assert low < found / 1.5**2 < high
    assert found / (1.5 * 0.95) ** 2 > high
    assert found / (1.5 * 1.05) ** 2 < low
    # No noise is used twice, nor shared between numbers: mean and neighbours, six deviations.
    assert abs(noise.mean()) < 6 * 1.5 / math.sqrt(size)
    assert abs((noise[1:] * noise[:-1]).mean()) < 6 * 1.5**2 / math.sqrt(size)


@pytest.mark.statistical
def test_each_step_draws_its_own_noise():
    task = task_of(inputs={"a": np.zeros((1, 4000))}, rows=50, learning_rate=0.1, steps=4)
    moved = train(task, list, 1.0 * CLIP_STEPS, SeededForTests(4)).layers[0]
    noise = moved.ravel() / (0.1 / 50)
    # Four independent draws have the variance 4; the same one four times has 16. χ² as above.
    assert stats.chi2.ppf(5e-7, 4001) < (noise**2).sum() / 4 < stats.chi2.isf(5e-7, 4001)


def test_weights_of_a_model_stay_where_sums_are_exact():
    task = task_of(rows=1, steps=3, learning_rate=1e6)
    model = train(task, list, 100.0 * CLIP_STEPS, SeededForTests(5))
    assert np.abs(model.layers[0]).max() == 128.0


def test_a_model_scores_rows_as_it_was_trained():
    layers = (np.array([[1.0, -2.0], [0.5, 0.0], [0.1, 0.2]]), np.array([[2.0], [1.0], [-1.0]]))
    model = TrainedModel(layers, Loss.SQUARED, 1.0)
    x = np.array([[0.3, -0.7]])
    bent = np.tanh(x @ layers[0][:2] + layers[0][2])
    np.testing.assert_allclose(model.scores(x), bent @ layers[1][:2] + layers[1][2])


def test_memory_does_not_grow_with_the_number_of_blocks():
    task = task_of("three classes", hidden=8, rate=0.5, steps=2, rows=1e6)
    block = block_of(task, ROWS_AT_ONCE + 7)

    def peak(blocks):
        def rows():
            for _ in range(blocks):
                yield {name: column.copy() for name, column in block.items()}, full(len(block["y"]))

        tracemalloc.start()
        train(task, rows, CLIP_STEPS, SeededForTests(0))
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(2)  # what is made once
    few, many = peak(2), peak(30)
    assert many < 1.1 * few + 2**16


DOMAIN = Domain.of({"a": 3, "b": 4, "y": 3})
GOOD = {
    "inputs": {"a": np.eye(3), "b": [0.0, 1.0, 2.0, 3.0]},
    "target_column": "y",
    "target": [0, 1, 2],
    "rows": 100,
}


def test_a_task_that_fits_is_taken():
    Training(**GOOD).check(DOMAIN)
    Training(**GOOD | {"target": [0, math.nan, 1], "rate": 1.0, "hidden": 4}).check(DOMAIN)
    Training(**GOOD | {"loss": Loss.SQUARED, "target": [-7.5, 0, 1e9]}).check(DOMAIN)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"inputs": {}}, "at least one input"),
        ({"inputs": {"a": np.eye(4)}}, "needs one entry"),
        ({"inputs": {"a": np.zeros((3, 0))}}, "needs one entry"),
        ({"inputs": {"a": np.zeros((3, 1, 1))}}, "needs one entry"),
        ({"inputs": {"a": 1.0}}, "needs one entry"),
        ({"inputs": {"a": [0.0, math.nan, 1.0]}}, "not finite"),
        ({"inputs": {"a": [0.0, math.inf, 1.0]}}, "not finite"),
        ({"inputs": {"y": [0.0, 1.0, 2.0]}}, "take it out of the inputs"),
        ({"inputs": {"a": np.zeros((3, 2**14 + 1))}}, "can be trained exactly"),
        ({"hidden": 2**12 + 1}, "can be trained exactly"),
        ({"target": [0, 1, 2**10]}, "can be trained exactly"),
        ({"target": [0, 1]}, "needs one entry"),
        ({"target": [[0, 1, 2]] * 3}, "list of numbers"),
        ({"target": [math.nan] * 3}, "list of numbers"),
        ({"target": [0, 1, math.inf]}, "list of numbers"),
        ({"target": [0, 0.5, 1]}, "numbered 0, 1, 2"),
        ({"target": [-1, 0, 1]}, "numbered 0, 1, 2"),
        ({"steps": 0}, "steps"),
        ({"steps": 1.5}, "steps"),
        ({"steps": True}, "steps"),
        ({"hidden": -1}, "hidden"),
        ({"clip": 0.0}, "clip"),
        ({"clip": 2.0**9}, "clip"),
        ({"clip": math.nan}, "clip"),
        ({"rows": 0}, "rows"),
        ({"rows": math.inf}, "rows"),
        ({"rows": math.nan}, "rows"),
        ({"rate": 0.0}, "rate"),
        ({"rate": 2.0**-32}, "rate"),
        ({"rate": 1.01}, "rate"),
        ({"rate": math.nan}, "rate"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"learning_rate": math.inf}, "learning_rate"),
        ({"momentum": 1.0}, "momentum"),
        ({"momentum": -0.1}, "momentum"),
        ({"begun": [np.zeros((1, 1))]}, "not the shapes"),
        ({"begun": [[["x"]]]}, "tables of numbers"),
        ({"begun": [np.full((5, 3), math.nan)]}, "numbers up to 128"),
        ({"begun": [np.full((5, 3), 129.0)]}, "numbers up to 128"),
    ],
)
def test_what_cannot_be_trained_is_refused_before_any_row_is_read(change, message):
    with pytest.raises(BadInput, match=message):
        Training(**GOOD | change).check(DOMAIN)


def test_unknown_columns_are_refused():
    for change in ({"inputs": {"w": [0.0]}}, {"target_column": "w"}):
        with pytest.raises(UnknownColumn, match="'w'"):
            Training(**GOOD | change).check(DOMAIN)


SCHEMA = Schema(
    (
        Column(name="who", kind=Kind.INTEGER, role=Role.ID),
        numbered("a", 3),
        numbered("b", 4),
        numbered("y", 3),
    )
)
ROWS = pa.table({"who": range(12), "a": [0, 1, 2] * 4, "b": [0, 1, 2, 3] * 3, "y": [0, 1, 2] * 4})


def opened(unit):
    return Ledger.open(ROWS, SCHEMA, Budget(1e4, 1e-9), unit=unit, source=SeededForTests(1))


@pytest.mark.parametrize("unit", [Record(), Replacement(), Person("who", 3)], ids=str)
def test_the_ledger_pays_for_what_a_neighbour_moves_in_each_step(unit):
    most = RowWeights.of({"a": [0, 1, 2]}, [1], [UNIT // 2, 100])
    for weights, share in [(None, Fraction(1)), (most, Fraction(1, 4))]:
        with opened(unit) as ledger:
            model = ledger.train(Training(**GOOD, steps=7), scale=2.0, weights=weights)
            (entry,) = ledger.entries
        assert entry.event == Gaussian(2.0 * CLIP_STEPS, unit.squared(SENSITIVITY) * share, 7)
        assert model.scale == 2.0


def test_sampled_training_is_paid_for_at_the_rate_that_rows_join_with():
    task = Training(**GOOD, rate=0.3, steps=5)
    for unit in (Record(), Person("who", 1)):
        with opened(unit) as ledger:
            ledger.train(task, scale=2.0)
            (entry,) = ledger.entries
        rate = task.chances / RATE_GRID
        assert entry.event == SampledGaussian(rate, 2.0 * CLIP_STEPS, SENSITIVITY.one, 5)
        assert rate >= 0.3


@pytest.mark.parametrize("unit", [Replacement(), Person("who", 2)], ids=str)
def test_sampling_is_refused_where_a_neighbour_moves_more_than_one_row(unit):
    with opened(unit) as ledger:
        with pytest.raises(PrivacyRefused, match="one record at a time"):
            ledger.train(Training(**GOOD, rate=0.5), scale=2.0)
        assert ledger.entries == ()


def moment(rate, shift, order, scale, *, reverse=False):
    """Σ over whole x of the moment whose logarithm is the divergence, with forty digits.

    Each is P times (1 + u)^α, for u = rate (L - 1) and L the ratio of two discrete Gaussians a
    whole `shift` apart; in reverse, to the power 1 - α.
    """
    with mpmath.workdps(40):
        rate, scale = mpmath.mpf(rate), mpmath.mpf(scale)
        far = int(scale * 40 + shift * (order + 2))
        power = 1 - order if reverse else order
        total, mass = mpmath.mpf(0), mpmath.mpf(0)
        for x in range(-far, far + 1):
            density = mpmath.exp(-(mpmath.mpf(x) ** 2) / (2 * scale**2))
            ratio = mpmath.exp((x * shift - mpmath.mpf(shift) ** 2 / 2) / scale**2)
            total += density * (1 + rate * (ratio - 1)) ** power
            mass += density
        return total / mass


@pytest.mark.parametrize("order", [1.25, 2.0, 3.7, 12.0])
@pytest.mark.parametrize("rate", [0.001, 0.2, 0.9])
def test_whole_noise_costs_what_the_formula_says_and_the_reverse_less(rate, order):
    # The scale is 12 instead of 2¹⁶ and more, and the grid cannot be told from the line already.
    shift, scale = 9, 12
    forth = float(mpmath.log(moment(rate, shift, order, scale)) / (order - 1))
    back = float(mpmath.log(moment(rate, shift, order, scale, reverse=True)) / (order - 1))
    event = SampledGaussian(rate, float(scale), Fraction(shift**2), 1)
    found = sampled_divergence(event, order)
    assert found >= forth
    assert found == pytest.approx(forth, rel=1e-7, abs=1e-12)
    assert back <= forth * (1 + 1e-12)


def test_a_neighbour_in_many_numbers_costs_what_one_at_the_same_distance_does():
    # Moved by (3, 4) on the grid of the plane, or by 5 along a line.
    rate, order, scale = 0.3, 4.5, 6.0
    x = np.arange(-150, 151, dtype=float)
    density = np.exp(-(x[:, None] ** 2 + x**2) / (2 * scale**2))
    ratio = np.exp((3 * x[:, None] + 4 * x - 12.5) / scale**2)
    plane = (density * (1 + rate * (ratio - 1)) ** order).sum() / density.sum()
    event = SampledGaussian(rate, scale, Fraction(25), 1)
    assert sampled_divergence(event, order) == pytest.approx(
        math.log(plane) / (order - 1), rel=1e-8
    )


def exact_divergence(rate, shift, order):
    """For whole orders: the binomial sum, with fifty digits."""
    with mpmath.workdps(50):
        q, s = mpmath.mpf(rate), mpmath.mpf(shift)
        terms = (
            mpmath.binomial(order, k)
            * q**k
            * (1 - q) ** (order - k)
            * mpmath.exp(k * (k - 1) * s**2 / 2)
            for k in range(order + 1)
        )
        return mpmath.log(mpmath.fsum(terms)) / (order - 1)


@pytest.mark.parametrize("order", [2, 5, 32, 64, 128, 256])
def test_sampled_steps_never_cost_less_than_the_exact_sum(order):
    # For each noise, rates from where the largest power is nothing to where it is everything:
    # there it lies so far out that its density and its power both leave the range of doubles.
    for shift in (0.05, 0.2, 0.3, 0.5, 0.8, 1.2, 2.0):
        for grown in (-40, -10, -3, 0, 0.8, 3, 40):
            rate = math.exp(min(grown / order - (order - 1) * shift**2 / 2, -1e-3))
            if rate < 2.0**-31:
                continue
            event = SampledGaussian(rate, 1 / shift, Fraction(1), 1)
            exact = exact_divergence(rate, 1 / mpmath.mpf(1 / shift), order)
            found = sampled_divergence(event, float(order))
            assert found >= exact, (shift, grown)
            assert found <= exact * (1 + 1e-8) + 1e-13, (shift, grown)
