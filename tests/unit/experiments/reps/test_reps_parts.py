"""Tables, splits, weights and metrics of the REPS experiments."""

import re
from fractions import Fraction

import numpy as np
import pytest

from understudy.encode import Encoding
from understudy.errors import BadInput
from understudy.experiments.reps import tables
from understudy.experiments.reps.arms import (
    ARMS,
    EXACT,
    NOBODY,
    PRINTED,
    RANDOM,
    RELEASED,
    REMOVAL,
    REPS,
    SPLIT,
    UNIFORM,
)
from understudy.experiments.reps.found import chosen
from understudy.experiments.reps.made import GAMMAS, Given, made
from understudy.experiments.reps.matched import matched
from understudy.experiments.reps.printed import EPSILONS, printed
from understudy.experiments.reps.records import losses
from understudy.experiments.reps.rows import count_of, taken, to_arrow
from understudy.experiments.reps.split import split_of
from understudy.experiments.reps.tables import ADULT, BREAST, RARE, SIM, TABLES, tables_in
from understudy.experiments.reps.task import auroc, tstr
from understudy.experiments.reps.trial import Tuning
from understudy.experiments.reps.unledgered import Unledgered
from understudy.mechanisms.reps import Reps
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.weights import UNIT


def test_all_printed_lines_are_there():
    for table in TABLES:
        for epsilon in EPSILONS:
            lines = [printed(table.name, epsilon, arm.printed) for arm in PRINTED]
            assert len(lines) == 6
            assert all(re.fullmatch(r"\d\.\d{3}", line.tstr) for line in lines)
            assert all(line.gamma in {"-", "0.0", "0.5", "4.0"} for line in lines)
    assert printed("sim", 1.0, REPS.printed).tstr == "0.647"
    assert printed("sim", 1.0, UNIFORM.printed).tstr == "0.664"
    assert printed("sim", 4.0, EXACT.printed).top == "0.841"
    assert printed("adult", 0.5, REMOVAL.printed).inequality == "1.351"
    assert printed("credit", 4.0, REMOVAL.printed).overall == "0.044"
    assert printed("breast_cancer", 2.0, RANDOM.printed).top == "0.562"


def test_the_simulated_table_has_outliers_with_labels_of_their_own():
    rows = SIM.make(0, None)
    assert count_of(rows) == 6000
    apart = rows["a"] == RARE["a"]
    assert apart.sum() == 120
    for name, label in RARE.items():
        assert ((rows[name] == label) == apart).all()
    assert rows["x1"][apart].mean() == pytest.approx(2.4, abs=0.3)
    assert 0.4 < (rows["y"] == "1").mean() < 0.6
    assert (SIM.make(1, None)["x1"] != rows["x1"]).any()


@pytest.mark.parametrize("table", TABLES, ids=lambda one: one.name)
def test_every_value_has_a_place_in_the_schema(table, invented):
    rows = table.make(0, invented)
    assert [*rows] == [*table.schema.names]
    for name in (*table.labels, table.target):
        assert {*rows[name]} <= {*table.schema[name].categories}
    for name in table.numbers:
        assert np.isfinite(rows[name]).all()


def test_rows_that_are_not_known_are_dropped(invented):
    assert count_of(ADULT.make(0, invented)) == 299
    assert {*BREAST.make(0, invented)["mean_symmetry"]} <= {"1", "2", "3", "4", "5"}


def test_the_papers_tables_have_the_printed_sizes(data):
    sizes = {table.name: count_of(table.make(0, data)) for table in TABLES}
    assert sizes == {"sim": 6000, "breast_cancer": 569, "adult": 45222, "credit": 1000}
    for table in TABLES[1:]:
        rows = table.make(0, data)
        for name in (*table.labels, table.target):
            assert {*rows[name]} <= {*table.schema[name].categories}


def test_without_a_folder_there_is_the_invented_table(tmp_path, invented):
    assert tables_in(None) == (SIM,)
    assert tables_in(invented) == TABLES
    with pytest.raises(BadInput, match=r"lacks breast_cancer_wisconsin.*--data"):
        tables_in(tmp_path)
    for table in TABLES[1:]:
        (tmp_path / table.file).write_bytes(b"")
    (tmp_path / "adult.csv").write_text("age,sex\n1,Male\n")
    with pytest.raises(BadInput, match="Is it the paper's table"):
        tables._read("adult", "adult.csv", tmp_path)


def test_a_split_is_by_class_and_no_row_is_on_two_sides():
    split = split_of("sim", 0, None)
    counts = [count_of(part) for part in (split.train, split.validation, split.test)]
    assert sum(counts) == 6000
    assert counts == pytest.approx([3360, 840, 1800], abs=2)
    rates = [(part["y"] == "1").mean() for part in (split.train, split.validation, split.test)]
    assert max(rates) - min(rates) < 0.002
    assert not {*split.others} & {*split.reference}
    firsts = [{*part["x1"]} for part in (split.train, split.validation, split.test)]
    assert not firsts[0] & firsts[1] | firsts[0] & firsts[2] | firsts[1] & firsts[2]
    assert split.points(split.test).shape == (counts[2], 6 + 5 + 4 + 4)
    assert split.top.sum() == len(split.watched) // 10
    # Injected outliers lie beside each other: to the nearest ten they are not far.
    apart = split.train["a"][split.watched] == "Z"
    assert split.top[apart].mean() < 0.5


def test_without_a_ledger_answers_are_the_same_but_for_noise(small):
    split = split_of("sim", 0, None)
    count, schema = count_of(split.train), SIM.schema
    encoding, table = Encoding(schema), to_arrow(split.train)
    rng = np.random.default_rng(0)
    half = np.where(encoding.codes(table)["a"] == 0, 512, UNIT)
    outside = Unledgered(encoding, encoding.codes(table), half, Fraction(10**12), rng)
    with Ledger.open(table, schema, Budget(1e5, 1e-9)) as ledger:
        weights = ledger.weigh({"a": [1, 0, 0, 0, 0, 0]}, [1], [UNIT, 512])
        inside = Reps().fit(ledger.weighted(weights))
    model = Reps().fit(outside)
    assert outside.rest() == 0
    assert model.total == pytest.approx(half.sum() / UNIT)
    assert model.total < count
    for one, other in zip(model.steps, inside.steps, strict=True):
        assert (one.given, one.new) == (other.given, other.new)
        # Nobody has the hidden class, of which noise alone tells.
        seen = slice(encoding.hidden["y"] if one.given else None)
        np.testing.assert_allclose(one.shares[seen], other.shares[seen], atol=1e-3)


def test_noise_outside_is_that_of_a_ledger(small):
    split = split_of("sim", 0, None)
    encoding, table = Encoding(SIM.schema), to_arrow(split.train)
    full = np.full(count_of(split.train), UNIT)
    cliques = [("y",), ("a", "y")]
    outside = Unledgered(
        encoding, encoding.codes(table), full, Fraction(1), np.random.default_rng(0)
    )
    found = outside.measure(cliques, rho=Fraction(1, 50))
    with Ledger.open(table, SIM.schema, Budget(1.0, 1e-9)) as ledger:
        event = ledger.measure_event(cliques, rho=Fraction(1, 50))
    assert found[0].scale == pytest.approx(event.scale)
    assert outside.rest() == Fraction(49, 50)


def of(arm, gamma=4.0, epsilon=4.0):
    split = split_of("sim", 0, None)
    return split, made(split, arm, epsilon, gamma, 0)


@pytest.mark.parametrize("arm", ARMS, ids=lambda arm: arm.name)
def test_every_arm_makes_rows_of_the_table(small, arm):
    split, found = of(arm)
    assert [*found.rows] == [*SIM.schema.names]
    wanted = split.validation if arm is NOBODY else split.train
    assert count_of(found.rows) == count_of(wanted)
    assert 0.3 < tstr(SIM, found.rows, split.test) < 1
    assert (found.given is None) == (arm in {EXACT, NOBODY})
    if found.given is not None:
        assert (found.given.scores is not None) == arm.weighed
        assert all(rho <= found.given.budget.rho for rho in set(found.given.rho()))


def test_weights_are_those_that_arms_are_named_for(small):
    full = of(UNIFORM)[1].given
    assert {*full.weights} == {UNIT}
    assert (full.spent, full.rest) == (0, full.budget.rho)
    split = of(SPLIT)[1].given
    assert float(split.rest / split.budget.rho) == pytest.approx(0.9)
    for arm in (REPS, RANDOM, RELEASED):
        given = of(arm)[1].given
        assert given.weights.max() == UNIT
        assert 0 < given.weights.min() < UNIT
        # A release counts strays with a hundredth beforehand.
        share = 0.01 + 0.99 * 0.25 if arm is RELEASED else 0.1
        assert float(given.spent / given.budget.rho) == pytest.approx(share, rel=1e-6)
        assert given.spent + given.rest == given.budget.rho
    assert {*of(REMOVAL)[1].given.weights} == {0, UNIT}
    targeted, random = of(REPS)[1].given, of(RANDOM)[1].given
    assert np.corrcoef(targeted.scores, targeted.weights)[0, 1] < -0.3
    assert abs(np.corrcoef(random.scores, random.weights)[0, 1]) < 0.2


def test_records_of_less_weight_lose_less():
    budget = Budget(1.0, 1e-6)
    spent = budget.rho / 10
    weights = np.array([UNIT] * 8 + [UNIT // 2, 0])
    given = Given(budget, spent, budget.rho - spent, weights)
    found = losses(given, np.array([8, 9]))
    assert found.never_more
    assert found.less_where_lighter
    assert found.most_to_median == pytest.approx(1)
    assert 0 < found.gini < 0.2
    assert (found.lighter, found.top_lighter) == (0.2, 1.0)
    assert 0.2 < found.top_epsilon < 0.6
    same = losses(Given(budget, Fraction(0), budget.rho, np.full(10, UNIT)), np.array([0]))
    assert (same.most_to_median, same.lighter, same.top_epsilon) == (1, 0, 1)
    assert same.gini == pytest.approx(0, abs=1e-12)


def test_the_matched_metric_finds_nothing_where_nothing_leaks():
    rng = np.random.default_rng(0)
    clouds = [rng.normal(size=(1000, 4)).astype(np.float32) for _ in range(4)]
    members, others, reference, fresh = clouds
    nothing = matched(members, others, reference, fresh)
    assert nothing.overall == pytest.approx(0, abs=0.1)
    assert nothing.top == pytest.approx(0, abs=0.4)
    copied = matched(members, others, reference, members)
    assert copied.overall > 0.5
    assert copied.top > 0.5
    few = matched(members[:20], others[:20], reference, fresh)
    assert np.isnan(few.deciles).any()


def test_gamma_is_the_largest_that_costs_little():
    def tuning(seed, *scores):
        return Tuning("sim", 1.0, seed, tuple(zip((0.0, *GAMMAS), scores, strict=True)))

    assert chosen([tuning(0, 0.7, 0.7, 0.69, 0.685, 0.6)]) == {("sim", 1.0): 2.0}
    both = [tuning(0, 0.7, 0.7, 0.7, 0.7, 0.69), tuning(1, 0.7, 0.7, 0.7, 0.7, 0.68)]
    assert chosen(both) == {("sim", 1.0): 4.0}
    assert chosen([tuning(0, 0.9, 0.5, 0.5, 0.5, 0.5)]) == {("sim", 1.0): 0.5}


def test_rows_of_one_class_are_a_guess(small):
    split = split_of("sim", 0, None)
    one = {**split.train, "y": np.full(count_of(split.train), "1", object)}
    assert tstr(SIM, one, split.test) == 0.5
    assert np.isnan(tstr(SIM, split.train, one))


def test_the_rarest_test_rows_are_judged_by_themselves(small):
    split = split_of("sim", 0, None)
    assert split.rarest.sum() == count_of(split.test) // 10
    points = split.points(split.train), split.points(split.test)
    near = np.sort(np.linalg.norm(points[1][:, None] - points[0], axis=2), axis=1)[:, :10]
    order = np.argsort(-near.mean(axis=1))
    assert {*np.flatnonzero(split.rarest)} == {*order[: split.rarest.sum()]}
    # Who learns the opposite about these alone is wrong about these alone.
    believed = (split.test["y"] == "1").astype(float)
    believed[split.rarest] = 1 - believed[split.rarest]
    rare, others = (
        auroc(SIM, believed[among], taken(split.test, among))
        for among in (split.rarest, ~split.rarest)
    )
    assert (rare, others) == (0, 1)
