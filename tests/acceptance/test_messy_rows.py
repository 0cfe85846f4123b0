"""Rows that the owner of a messy table recognises: one release at ε = 1, with nothing declared.

Each test reads `synthetic.csv` as its receiver does. Noise is real, so counts may differ by six
standard deviations, or by 4.5 where a test says so: less than one run in 10,000 is a false alarm.
"""

import math
from collections import Counter

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers.messy import (
    CLASSES,
    CONSTANT,
    DATES,
    GRAMMAR,
    LISTED,
    PERSONAL,
    ROWS,
    TARGET,
    is_written,
    messy_table,
    moment_of,
    number_of,
)
from helpers.messy_releases import with_columns, with_engines
from understudy.encode import Encoding

SURE = 6.0
"""Standard deviations of noise: one false alarm in 5e8 cells."""
MOST_LOST = 0.005
"""Of all rows: how many may lie beyond each bound, if there were no noise."""
NUMBERS = ("amount", "income", "discount", "price", "rating", "visits", "age", "balance")
TYPED = {"price": r"\d+(\.\d{1,2})?", "rating": r"[0-5](\.[05])?"}
"""A float column holds no padding: how such columns may be written where a CSV file's are not."""


def values(cells):
    """The cells of a column that are neither empty nor "other"."""
    return [cell for cell in cells if cell not in {"", "other"}]


def numbers(name, cells):
    return np.array([number_of(name, cell) for cell in values(cells)])


def moments(name, cells):
    return np.array([moment_of(name, cell) for cell in values(cells)], "datetime64[s]")


def spread(released, name, expected):
    """The standard deviation of a released count: of its noise, and of drawing rows."""
    share = expected / ROWS
    return math.hypot(released.noise[name], math.sqrt(ROWS * share * (1 - share)))


def single_valued(released):
    """The columns that are dropped, or released with one value throughout."""
    cells = released.cells
    return {
        name for name in released.real if name not in cells or cells[name].nunique(dropna=False) < 2
    }


# A value never becomes another one.


@with_columns(LISTED)
def test_released_categories_are_real_ones(released, name):
    real = {*released.real[name]}
    others = {released.release.schema[name].other, ""}
    assert sorted({*released.cells[name]} - real - others)[:3] == []


@with_columns(["country", "job", "origin", "icd", "zip"])
def test_values_that_are_not_listed_have_a_code_of_their_own(released, name):
    column = released.release.schema[name]
    assert column.kind.listed
    listed = {str(label) for label in column.categories}
    # More real values than can be listed: what is rare, and what is missing.
    assert {*released.real[name]} - listed
    cells = Encoding(released.release.schema).cells[name]
    # Where neither is released, those rows have a hidden code, and are not drawn.
    assert column.other is not None or column.null or cells.hidden is not None
    assert cells.fallback.isdisjoint(range(len(listed)))


@with_columns(["country", "job", "origin"])
def test_frequent_categories_have_their_own_rows_and_no_others(released, name):
    # Recoded, the 1,191 rows of rare countries would be 15 deviations in the country they go to.
    column = released.release.schema[name]
    real, found = (Counter(table[name]) for table in (released.real, released.cells))
    listed = [label for label in column.categories if real[label] > 500]
    assert len(listed) >= 2
    for label in listed:
        limit = SURE * spread(released, name, real[label])
        assert abs(found[label] - real[label]) < limit, label


@with_engines()
def test_rare_countries_stay_apart(released):
    # Spread over the listed ones, 1,191 rows would be 7 deviations; false alarms are below 1e-5.
    listed = {*released.release.schema["country"].categories}
    rare, apart = (
        sum(count for label, count in Counter(table["country"]).items() if label not in listed)
        for table in (released.real, released.cells)
    )
    assert rare > 1_000
    assert abs(apart - rare) < 4.5 * spread(released, "country", rare) * math.sqrt(len(listed))


# Columns with one code cost nothing.


@with_engines()
def test_no_pair_holds_a_column_of_one_value(released):
    useless = single_valued(released)
    assert useless >= {CONSTANT, *PERSONAL} & {*released.real}
    pairs = [
        clique
        for entry in released.release.certificate.entries
        for clique in entry.request.get("cliques", ())
        if len(clique) > 1
    ]
    assert len(pairs) > 2
    assert [clique for clique in pairs if useless & {*clique}][:3] == []


@with_engines()
def test_no_column_of_one_value_predicts_the_target(released):
    requests = [entry.request for entry in released.release.certificate.entries]
    inputs = {name for request in requests for name in request.get("inputs", ())}
    inputs |= {*released.release.certificate.public["label inputs"]["columns"]}
    assert len(inputs) > 2
    assert not inputs & single_valued(released)


@with_engines()
def test_columns_of_one_code_take_no_part_in_the_model(released):
    sizes = Encoding(released.release.schema).domain.sizes
    tied = {
        name
        for clique in getattr(released.release.model, "cliques", ())
        if len(clique) > 1
        for name in clique
    }
    assert not tied & {name for name, size in sizes.items() if size == 1}


# Cells are written as the owner writes them.


@with_columns(GRAMMAR)
def test_cells_are_written_as_the_owner_writes_them(released, name):
    # A tenth of the prices show that zeros at the end are written: noise may hide so few.
    typed = name == "price" or (released.engine != "csv" and name in TYPED)
    found = values(released.cells[name])
    wrong = [cell for cell in found if not is_written(name, cell, TYPED[name] if typed else None)]
    assert wrong[:3] == []
    # The column came through, and is not missing or "other" throughout.
    filled = np.mean(released.real[name] != "")
    assert len(found) > 0.9 * filled * len(released.cells)


@with_columns(["icd", "zip"])
def test_codes_stay_codes(released, name):
    # The most frequent code has 1,250 rows or more, and that of `zip` begins with a zero.
    found = Counter(values(released.cells[name]))
    assert sorted({*found} - {*released.real[name]})[:3] == []
    ((code, count),) = Counter(released.real[name]).most_common(1)
    assert abs(found[code] - count) < SURE * spread(released, name, count)


@with_engines()
def test_ages_and_visits_are_whole(released):
    for name in ("age", "visits"):
        found = numbers(name, released.cells[name])
        assert (found == np.round(found)).all()


@with_engines()
def test_ratings_go_up_to_five_by_halves(released):
    found = numbers("rating", released.cells["rating"])
    # Noise may add a half step at the lower end.
    assert sorted({*found} - {*np.arange(0.0, 5.5, 0.5)})[:3] == []
    assert {*found} >= {*np.arange(2.0, 5.5, 0.5)}  # each of these has 450 rows or more


# What lies between, and at the ends.


@with_columns(NUMBERS)
def test_numbers_are_of_the_same_size(released, name):
    assert values(released.cells[name])
    real, found = (numbers(name, table[name]) for table in (released.real, released.cells))
    for quantile in (0.25, 0.5, 0.75):
        near = np.quantile(real, [max(quantile - 0.15, 0), min(quantile + 0.15, 1)])
        assert near[0] <= np.quantile(found, quantile) <= near[1], quantile


def hidden_by_noise(released, name):
    """The share of rows that bounds may miss, or bins beyond the real ends may hold.

    Bounds leave half a percent beyond them if there were no noise. They are inferred from cells
    of shapes, and a cell stands out from 4.4 deviations on; six with the noise of a cell itself.
    """
    return MOST_LOST + SURE * released.first_noise[name] / ROWS


@with_columns(NUMBERS)
def test_tails_are_not_cut_off(released, name):
    assert values(released.cells[name])
    real, found = (numbers(name, table[name]) for table in (released.real, released.cells))
    hidden = hidden_by_noise(released, name)
    assert np.mean(real < found.min()) <= hidden
    assert np.mean(real > found.max()) <= hidden


@with_columns(NUMBERS)
def test_hardly_anything_is_invented_beyond_the_ends(released, name):
    # Cells beyond the ends hold noise alone, and no more rows than it can add.
    assert values(released.cells[name])
    real, found = (numbers(name, table[name]) for table in (released.real, released.cells))
    hidden = hidden_by_noise(released, name)
    assert np.mean(found > real.max()) <= hidden
    assert np.mean(found < real.min()) <= hidden
    # Cells of shapes end at powers of two, and of those without rows noise adds one or two.
    assert found.max() <= 4 * real.max()


@with_engines()
def test_ages_reach_from_young_to_old(released):
    found = numbers("age", released.cells["age"])
    # From 18 to 95: 10 % are above 85, 10 % below 27. Beyond the ends there is noise alone.
    assert found.min() <= 25
    assert found.max() >= 85
    assert np.mean((found < 13) | (found > 100)) <= hidden_by_noise(released, "age")


@with_engines()
def test_balances_have_their_tail(released):
    tables = (released.real, released.cells)
    real, found = (numbers("balance", table["balance"]) for table in tables)
    # The last bin holds up to 12 % of the rows, and its ends are a factor of seven apart. Rows are
    # drawn evenly there and real ones thin out, so the quantile lies at 2.4 times its own at most.
    ratio = np.quantile(found, 0.95) / np.quantile(real, 0.95)
    assert 1 / 1.5 < ratio < 2.5
    hidden = hidden_by_noise(released, "balance")
    assert np.mean(real > found.max()) <= hidden
    assert np.mean(found > real.max()) <= hidden


@with_columns(DATES)
def test_hardly_any_date_lies_a_year_beyond_the_real_ones(released, name):
    # Cells of a year without rows hold noise alone, as in numbers.
    assert values(released.cells[name])
    real, found = (moments(name, table[name]) for table in (released.real, released.cells))
    year = np.timedelta64(366, "D")
    hidden = hidden_by_noise(released, name)
    assert np.mean(found < real.min() - year) <= hidden
    assert np.mean(found > real.max() + year) <= hidden
    middle = np.median(found.astype(int)) - np.median(real.astype(int))
    assert abs(middle) < year.astype("timedelta64[s]").astype(int)


# The release as a whole.


@with_engines()
def test_personal_columns_are_dropped_with_a_note(released):
    personal = [name for name in PERSONAL if name in released.real]
    assert not {*personal} & {*released.cells}
    left = [note for note in released.release.notes if "left out as" in note]
    # By their names or by their values: one note for each column.
    for name in personal:
        assert len([note for note in left if name in note]) == 1, name


@with_engines()
def test_the_target_can_be_predicted(released):
    # Trained on the owner's rows the same model reaches 0.83 on rows of another draw.
    assert {*released.cells[TARGET]} == {*CLASSES}
    fresh = messy_table(seed=29)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    rows = released.cells[(released.cells != "").all(axis=1)]
    model.fit(_features(rows), rows[TARGET])
    scores = model.predict_proba(_features(fresh))[:, 1]
    assert roc_auc_score(fresh[TARGET] == CLASSES[1], scores) > 0.7


def _features(table):
    known = [number_of_all(name, table[name]) for name in ("rating", "visits", "age")]
    smokes = (table["smoker"] == "Y").to_numpy(float)
    balance = np.log1p(number_of_all("balance", table["balance"]))
    return np.column_stack([*known, smokes, balance])


def number_of_all(name, cells):
    return np.array([number_of(name, cell) for cell in cells])
