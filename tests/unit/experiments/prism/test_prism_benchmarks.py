"""The paper's tables, as invented or cut here."""

import gzip
import json

import numpy as np
import pytest

from understudy.errors import BadInput
from understudy.experiments.adult import adult_codes
from understudy.experiments.prism.arms import most_correlated
from understudy.experiments.prism.benchmarks import (
    CHILDREN,
    SCM_SIZES,
    TARGET,
    WINS_SIZES,
    adult,
    allocation_wins,
    marginal_shift,
    spurious_shift,
)


def agree(rows, name):
    return np.mean(rows[name] == rows[TARGET])


def test_children_follow_the_target_until_the_shift():
    train, test = spurious_shift().make(0)
    assert {name: len(codes) for name, codes in train.items()} == dict.fromkeys(SCM_SIZES, 5000)
    for child in CHILDREN:
        # Of 5,000 rows a share strays by 0.03 less than once in 10⁹ times.
        assert agree(train, child) == pytest.approx(0.9, abs=0.03)
        assert agree(test, child) == pytest.approx(0.5, abs=0.045)
    for rows in (train, test):
        assert all(codes.max() == SCM_SIZES[name] - 1 for name, codes in rows.items())


def test_causes_are_higher_after_the_marginal_shift_and_do_the_same():
    train, test = marginal_shift().make(0)
    assert train["A"].mean() == pytest.approx(1, abs=0.08)
    assert test["A"].mean() == pytest.approx(4 / 3, abs=0.08)
    for child in CHILDREN:
        assert agree(test, child) == pytest.approx(0.85, abs=0.035)
    for a, b in ((0, 0), (2, 2), (1, 1)):
        shares = [
            rows[TARGET][(rows["A"] == a) & (rows["B"] == b)].mean() for rows in (train, test)
        ]
        assert shares[0] == pytest.approx(shares[1], abs=0.2)


def test_repetitions_differ_and_are_repeated():
    for benchmark in (spurious_shift(), allocation_wins()):
        one, same, other = (benchmark.make(seed)[0] for seed in (1, 1, 2))
        assert all(np.array_equal(one[name], same[name]) for name in one)
        assert any(not np.array_equal(one[name], other[name]) for name in one)
        train, test = benchmark.make(1)
        assert not np.array_equal(train[TARGET][:100], test[TARGET][:100])


def test_four_features_say_much():
    train, test = allocation_wins(4000).make(0)
    assert len(test[TARGET]) == 2000
    agreeing = [agree(train, name) for name in list(WINS_SIZES)[1:]]
    assert agreeing[:4] == pytest.approx([0.9] * 4, abs=0.04)
    assert agreeing[4:] == pytest.approx([0.55] * 16, abs=0.06)


def test_the_oracle_takes_what_correlates():
    benchmark = allocation_wins(4000)
    train, _ = benchmark.make(0)
    assert {*most_correlated(benchmark, train, 4)} == {"X1", "X2", "X3", "X4"}


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    sizes = {"age": 85, "fnlwgt": 100, "sex": 2, "native-country": 42, "income>50K": 2}
    rows = np.column_stack([rng.integers(0, size, 200) for size in sizes.values()])
    rows[:, -1] = np.arange(200) < 50
    lines = [",".join(sizes), *(",".join(map(str, row)) for row in rows)]
    with gzip.open(tmp_path / "adult_encoded.csv.gz", "wt") as file:
        file.write("\n".join(lines) + "\n")
    (tmp_path / "adult_encoded.domain.json").write_text(json.dumps(sizes))
    return tmp_path


def test_adult_is_cut_at_public_edges_and_split_by_class(folder):
    adult_codes.cache_clear()
    benchmark = adult(folder)
    assert benchmark.sizes == {"age": 8, "sex": 2, "income>50K": 2}
    train, test = benchmark.make(0)
    assert train["income>50K"].sum() == 40
    assert test["income>50K"].sum() == 10
    assert (len(train["age"]), len(test["age"])) == (160, 40)
    assert train["age"].max() == 7


def test_a_folder_without_adult_is_told(tmp_path):
    adult_codes.cache_clear()
    with pytest.raises(BadInput, match="give their folder with --data"):
        adult(tmp_path)
