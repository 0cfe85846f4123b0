"""Labels by their chances, without the scatter that readers' models would learn."""

import numpy as np
import pytest

from understudy.model.balance import balanced, by_chance

ROWS = 4000


def rows(seed=0, classes=2):
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, size, ROWS).astype(np.uint8) for size in (2, 5, 9)]
    chances = rng.dirichlet(np.ones(classes), (2, 5))[columns[0], columns[1]]
    return columns, (2, 5, 9), chances


def surplus(column, drawn, chances):
    """By code: how many more rows of class 1 there are than chances say."""
    more = (drawn == 1) - chances[:, 1]
    return np.abs(np.bincount(column, more))


@pytest.mark.parametrize("classes", [2, 4])
def test_rows_of_a_kind_have_labels_as_common_as_chances_say(classes):
    columns, sizes, chances = rows(classes=classes)
    rng = np.random.default_rng(1)
    drawn, scattered = balanced(columns, sizes, chances, rng), by_chance(chances, rng)
    for column in columns:
        # By itself a code of 400 rows or more scatters by about 8.
        assert surplus(column, drawn, chances).max() < 5
    pair = columns[0] * 5 + columns[1]
    assert surplus(pair, drawn, chances).mean() < surplus(pair, scattered, chances).mean() / 2


def test_each_row_keeps_its_chance():
    columns, sizes, chances = (part[:300] if k != 1 else part for k, part in enumerate(rows()))
    columns = [column[:300] for column in columns]
    draws = 600
    mean = (
        sum(balanced(columns, sizes, chances, np.random.default_rng(seed)) for seed in range(draws))
        / draws
    )
    # Of rows with the same chance together, for the spread of one is that of 600 draws.
    for chance in np.unique(chances[:, 1]):
        same = chances[:, 1] == chance
        error = np.sqrt(chance * (1 - chance) / draws / same.sum())
        assert abs(mean[same].mean() - chance) < 5 * error + 0.01
    assert abs(mean - chances[:, 1]).max() < 6 * np.sqrt(0.25 / draws)


def test_what_is_impossible_is_never_drawn_and_what_is_sure_always():
    columns, sizes, chances = rows()
    chances[:100] = [1.0, 0.0]
    chances[100:200] = [0.0, 1.0]
    drawn = balanced(columns, sizes, chances, np.random.default_rng(0))
    assert not drawn[:100].any()
    assert drawn[100:200].all()


@pytest.mark.parametrize("number", [0, 1, 2, 19, 41])
def test_few_rows_no_columns_and_one_class(number):
    columns, sizes, chances = rows()
    rng = np.random.default_rng(0)
    few = [column[:number] for column in columns]
    assert balanced(few, sizes, chances[:number], rng).shape == (number,)
    assert balanced([], [], chances[:number], rng).shape == (number,)
    assert not balanced(few, sizes, np.ones((number, 1)), rng).any()


def test_many_columns_are_looked_at_one_by_one():
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 50, 500).astype(np.uint8) for _ in range(140)]
    drawn = balanced(columns, [50] * 140, np.full((500, 2), 0.5), rng)
    assert 220 < drawn.sum() < 280
