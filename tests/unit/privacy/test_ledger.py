"""The ledger's doors: nothing is read that was not paid for, and nothing after the last answer."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from helpers.tables import load
from understudy.column import Column, Kind, Role, Source
from understudy.errors import (
    BadInput,
    BudgetSpent,
    MarginalTooLarge,
    PrivacyRefused,
    RowsAreSealed,
    UnknownColumn,
)
from understudy.privacy import ledger as ledger_module
from understudy.privacy import scores as scores_module
from understudy.privacy.accountant import cost, delta
from understudy.privacy.budget import Budget
from understudy.privacy.events import Exponential, Gaussian, Reveal, SampledGaussian
from understudy.privacy.ledger import Ledger
from understudy.privacy.ledger_file import create_ledger
from understudy.privacy.noise import SeededForTests
from understudy.privacy.row_maps import ClippedMoments, NormalScores
from understudy.privacy.scores import CountTV, L1Distance
from understudy.privacy.table import PrivateTable
from understudy.privacy.train import Loss, Training
from understudy.privacy.unit import Person, Record, Replacement
from understudy.privacy.weights import RowWeights
from understudy.schema import Schema

SCHEMA = Schema(
    (
        Column(name="who", kind=Kind.CATEGORICAL, role=Role.ID),
        Column(name="x", kind=Kind.INTEGER, bounds=(0, 9), null=False),
        Column(name="y", kind=Kind.INTEGER, bounds=(0, 3), null=False),
        Column(name="z", kind=Kind.BOOLEAN, null=False),
    ),
    rows_bound=10**6,
)
"""x, y and z have 10, 4 and 2 values and one hidden code each, the last."""
X_VALUES = np.array([*range(10), 0.0])
X_SCORES = np.array([*np.linspace(-1, 1, 10), 0.0])
"""By code of x: values, and the same on a scale from -1 to 1; the hidden code counts as 0."""
BUDGET = Budget(1.0, 1e-9, thresholds=1e-10)
UNITS = [Record(), Replacement(), Person("who", 2)]


def rows(count=400, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 10, count)
    return pa.table(
        {
            "who": [f"p{k // 2}" for k in range(count)],
            "x": x,
            "y": rng.integers(0, 4, count),
            "z": x > 4,
        }
    )


def opened(table=None, budget=BUDGET, **options):
    return Ledger.open(rows() if table is None else table, SCHEMA, budget, **options)


def training(**options):
    return Training({"x": X_SCORES}, "z", [0, 1, np.nan], rows=400, **options)


def weights(ledger, most=1024):
    return ledger.weigh({"x": list(range(11))}, [5], [most, most // 2])


DOORS = {
    "measure": lambda ledger: ledger.measure([("x",), ("x", "y")], scale=50.0),
    "measure weighted": lambda ledger: ledger.measure(
        [("x",)], scale=50.0, weights=weights(ledger)
    ),
    "select": lambda ledger: ledger.select(
        [L1Distance(("x",), np.zeros(11)), CountTV(("x",), ("y",))], epsilon=0.01
    ),
    "scores": lambda ledger: ledger.scores(
        [L1Distance(("x",), np.zeros(11)), CountTV(("x",), ("y",))], rho=Fraction(1, 5000)
    ),
    "sum": lambda ledger: ledger.sum(ClippedMoments({"x": X_VALUES}, 9.0), scale=50.0),
    "train": lambda ledger: ledger.train(training(steps=3), scale=50.0),
    "select_best": lambda ledger: ledger.select_best(
        [training(steps=3), training(steps=5, clip=0.5)], rho=Fraction(1, 500), runs=2.0
    ),
    "values": lambda ledger: ledger.values(
        {"x": None, "z": [0], "y": [1, 3]}, rho=Fraction(1, 5000), delta=1e-11
    ),
    "reveal": lambda ledger: ledger.reveal("a test"),
}


class Spy(PrivateTable):
    """A private table that notes every read, and how much had been written down by then."""

    __slots__ = ("reads",)
    written = staticmethod(lambda: 0)

    def __init__(self, *arguments, **options):
        self.reads = []
        super().__init__(*arguments, **options)

    def count(self, *arguments, **options):
        self.reads.append(("count", Spy.written()))
        return super().count(*arguments, **options)

    def blocks(self, *arguments, **options):
        self.reads.append(("blocks", Spy.written()))
        return super().blocks(*arguments, **options)

    def values(self, *arguments, **options):
        self.reads.append(("values", Spy.written()))
        return super().values(*arguments, **options)

    def reveal(self):
        self.reads.append(("reveal", Spy.written()))
        return super().reveal()

    def malformed(self):
        self.reads.append(("malformed", Spy.written()))
        return super().malformed()


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_every_read_has_its_entry_before_it(door, unit, monkeypatch):
    monkeypatch.setattr(ledger_module, "PrivateTable", Spy)
    ledger = opened(unit=unit, allow_non_private=True)
    monkeypatch.setattr(Spy, "written", staticmethod(lambda: len(ledger.entries)))
    spy = ledger._core.table
    assert spy.reads == [], "opening a ledger reads no row"
    DOORS[door](ledger)
    assert spy.reads
    assert all(written == 1 for _, written in spy.reads), "each read comes after its entry"
    assert len(ledger.entries) == 1


def test_malformed_records_are_counted_after_their_entry(monkeypatch, tmp_path):
    monkeypatch.setattr(ledger_module, "PrivateTable", Spy)
    (tmp_path / "t.csv").write_text(",".join(SCHEMA.names) + "\n1,2\n")
    ledger = Ledger.open(tmp_path / "t.csv", SCHEMA, BUDGET)
    monkeypatch.setattr(Spy, "written", staticmethod(lambda: len(ledger.entries)))
    ledger.malformed(rho=0.001)
    assert ledger._core.table.reads == [("malformed", 1)]
    assert len(ledger.entries) == 1


def test_no_other_way_leads_from_a_ledger_to_counts_or_rows():
    # Each method of the table that touches rows is seen by the spy; the rest is public facts.
    touching = {"count", "blocks", "values", "reveal", "malformed"}
    public = {"check", "domain", "encoding", "schema", "storage", "recoded", "can_be_malformed"}
    assert {name for name in vars(PrivateTable) if not name.startswith("_")} == touching | public
    assert touching <= set(vars(Spy))
    # And every public method of a ledger is either a door with a test here, or asks no row.
    doors = {"malformed"} | {door.partition(" ")[0] for door in DOORS}
    asking_nothing = {"open", "close", "end", "split", "fix", "declare", "weigh", "recode"}
    asking_nothing |= {"measure_event", "train_event", "run_rho", "rest", "rest_delta"}
    asking_nothing |= {"domain", "encoding", "schema", "storage", "unit", "budget", "entries"}
    asking_nothing |= {"most_cells", "weighted", "merged", "without"}
    asking_nothing |= {"reading", "counts_malformed"}
    assert {name for name in vars(Ledger) if not name.startswith("_")} == doors | asking_nothing


@pytest.mark.parametrize(
    "name",
    ["unit", "reading", "schema", "storage", "caps", "individual bound", "table_id"],
)
def test_nobody_lists_anew_what_the_ledger_lists_itself(name):
    # The guarantee of a file that is read as multiline names a condition on its quotes.
    ledger = opened()
    with pytest.raises(BadInput, match=f"lists '{name}' itself"):
        ledger.declare(name, {})
    assert ledger.close().public.get(name) != {}


def test_what_asks_nothing_reads_nothing(monkeypatch):
    monkeypatch.setattr(ledger_module, "PrivateTable", Spy)
    ledger = opened()
    spy = ledger._core.table
    ledger.declare("target", "z")
    ledger.weigh({"x": [1] * 11}, [], [1024])
    part = ledger.split(0.5)[0]
    part.measure_event([("x",)], scale=50.0)
    part.train_event(training(), scale=50.0)
    part.run_rho(part.rest(), 5.0)
    facts = part.domain, part.encoding, part.schema, part.storage, part.unit, part.budget
    assert all(fact is not None for fact in facts)
    assert (part.rest_delta(), part.entries) == (Fraction(1e-10), ())
    assert part.encoding.hidden == {"x": 10, "y": 4, "z": 2}
    nullable = replace(SCHEMA["z"], null=True, source=Source.BOUGHT)
    ledger.recode(replace(SCHEMA, columns=(*SCHEMA.columns[:-1], nullable)))
    assert part.encoding.hidden == {"x": 10, "y": 4}, "missing values of z are no longer hidden"
    assert part.domain.sizes["z"] == 3
    assert part.entries == ()
    ledger.close()
    assert spy.reads == []


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("thresholds", [0.0, 1e-10])
def test_a_refused_request_reads_nothing_and_changes_nothing(door, thresholds, monkeypatch):
    monkeypatch.setattr(ledger_module, "PrivateTable", Spy)
    ledger = opened(budget=Budget(1e-4, 1e-9, thresholds=thresholds))
    before = ledger.rest(), ledger.rest_delta()
    with pytest.raises(PrivacyRefused):
        DOORS[door](ledger)
    assert ledger._core.table.reads == []
    assert (ledger.rest(), ledger.rest_delta()) == before
    assert ledger.entries == ()


@pytest.mark.parametrize("door", DOORS)
def test_a_crash_after_the_debit_stays_charged(door, monkeypatch):
    ledger = opened(allow_non_private=True)
    table = ledger._core.table

    class Broken:
        def check(self, *arguments):
            return table.check(*arguments)

        def count(self, *_):
            raise OSError

        blocks = values = reveal = count

    ledger._core.table = Broken()
    with pytest.raises(OSError, match=r"^$"):
        DOORS[door](ledger)
    assert len(ledger.entries) == 1
    spent = cost(ledger.entries[0].event, BUDGET.order)
    assert spent > 0
    assert ledger.rest() == (BUDGET.rho - spent if spent < math.inf else BUDGET.rho)
    assert ledger.rest_delta() == Fraction(BUDGET.thresholds) - delta(ledger.entries[0].event)
    assert (ledger.rest_delta() < BUDGET.thresholds) == (door == "values")


class Tainted:
    """Stands in for the rows after the last answer: any touch is a failure."""

    def __getattribute__(self, name):
        raise AssertionError(name)


def test_nothing_touches_the_rows_after_the_last_answer():
    ledger = opened()
    (answer,) = ledger.measure([("x",)], scale=50.0)
    model = ledger.train(training(steps=2), scale=50.0)
    (common,) = ledger.values({"x": None}, rho=0.001, delta=1e-11)
    ledger._core.table = Tainted()
    # What is left is post-processing: answers, models, facts and the certificate stand alone.
    assert answer.values.shape == (11,)
    assert answer.values.base is None or isinstance(answer.values.base, np.ndarray)
    assert (common.column, common.counts.shape) == ("x", (len(common.values),))
    assert model.scores(np.zeros((2, 1))).shape == (2, 1)
    assert ledger.domain.sizes == {"x": 11, "y": 5, "z": 3}
    assert ledger.rest() > 0
    assert ledger.encoding.decode({"x": np.zeros(2, np.uint8)}, np.random.default_rng(0))
    certificate = ledger.close()
    assert certificate.to_json()["promise"]["epsilon"] == 1.0


@pytest.mark.parametrize("door", DOORS)
def test_a_closed_ledger_answers_nothing(door):
    ledger = opened(allow_non_private=True)
    part = ledger.split(0.5)[0]
    ledger.close()
    for closed in (ledger, part):
        with pytest.raises(RowsAreSealed, match="sealed"):
            DOORS[door](closed)
        with pytest.raises(RowsAreSealed, match="sealed"):
            closed.recode(SCHEMA)
    with opened() as ledger:
        ledger.measure([()], scale=50.0)
    with pytest.raises(RowsAreSealed):
        ledger.measure([()], scale=50.0)


@pytest.mark.parametrize(
    ("unit", "squared"), [(Record(), 2), (Replacement(), 4), (Person("who", 2), 8)], ids=str
)
def test_the_noise_of_two_marginals_follows_from_the_unit(unit, squared):
    ledger = opened(unit=unit)
    answers = ledger.measure([("x",), ("y", "x")], rho=Fraction(1, 100))
    event = ledger.entries[0].event
    assert event.sensitivity_squared == squared
    assert answers[0].scale == answers[1].scale == event.scale
    assert event.scale == pytest.approx(math.sqrt(squared / 0.02))
    assert cost(event, BUDGET.order) <= Fraction(1, 100)
    assert [answer.values.shape for answer in answers] == [(11,), (5, 11)]


def test_answers_are_the_counts_plus_noise_of_the_stated_scale():
    ledger = opened(budget=Budget(1000.0, 1e-9), source=SeededForTests(1))
    (exact,) = PrivateTable(rows(), SCHEMA).count([("x", "y")])
    (answer,) = ledger.measure([("x", "y")], scale=2.0)
    noise = answer.values - exact
    assert set(noise.ravel() % 1) == {0.0}
    assert 0 < np.abs(noise).max() < 12
    (weighted,) = ledger.measure([("x",)], scale=0.5, weights=weights(ledger))
    (true,) = PrivateTable(rows(), SCHEMA).count([("x",)], weights(ledger))
    assert np.abs(weighted.values - true / 1024).max() < 3
    assert set((weighted.values * 1024).ravel() % 1) == {0.0}


def test_weights_lower_the_sensitivity():
    ledger = opened()
    light = weights(ledger, most=256)
    ledger.measure([("x",)], scale=50.0, weights=light)
    ledger.sum(ClippedMoments({"x": X_VALUES}, 9.0), scale=50.0, weights=light)
    ledger.train(training(steps=1), scale=50.0, weights=light)
    measured, summed, trained = (entry.event for entry in ledger.entries)
    assert measured.sensitivity_squared == Fraction(1, 16)
    assert summed.sensitivity_squared == 2 * (256 * 4**12) ** 2
    assert trained.sensitivity_squared == Fraction(2**48, 16)
    assert all(e.request["weights"] == {"most": 256, "of": 1024} for e in ledger.entries)
    replaced = opened(unit=Replacement())
    replaced.sum(ClippedMoments({"x": X_VALUES}, 9.0), scale=90.0, weights=weights(replaced))
    # From x = 0 to x = 9: as far as one row at 9 alone.
    assert replaced.entries[0].event.sensitivity_squared == 2 * (1024 * 4**12) ** 2


def test_selection_finds_what_stands_out_and_returns_a_place_only():
    ledger = opened(budget=Budget(50.0, 1e-9))
    candidates = [CountTV(("x",), ("y",)), CountTV(("x",), ("z",)), CountTV(("z",), ("y",))]
    place = ledger.select(candidates, epsilon=5.0)
    assert place == 1
    assert type(place) is int
    assert ledger.entries[0].event == Exponential(5.0)
    assert ledger.entries[0].request["sensitivity"] == "2"
    far = [L1Distance(("x",), np.zeros(11)), L1Distance(("x",), np.zeros(11), scale=3.0)]
    assert ledger.select(far, rho=2.0) == 1
    assert ledger.entries[1].request["sensitivity"] == "3"
    assert cost(ledger.entries[1].event, BUDGET.order) <= 2


def test_selection_among_many_large_candidates_is_counted_in_batches(monkeypatch):
    monkeypatch.setattr(scores_module, "_CELLS_AT_ONCE", 15)
    ledger = opened(budget=Budget(50.0, 1e-9))
    candidates = [CountTV(("x",), ("y",)), CountTV(("x",), ("z",)), CountTV(("z",), ("y",))]
    assert ledger.select(candidates, epsilon=5.0) == 1


def test_candidates_that_nothing_can_move_are_drawn_evenly():
    ledger = opened(budget=Budget(50.0, 1e-9), source=SeededForTests(3))
    still = [L1Distance(("x",), np.zeros(11), scale=0.0) for _ in range(3)]
    assert {ledger.select(still, epsilon=0.01) for _ in range(60)} == {0, 1, 2}


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_sums_are_near_the_truth(unit):
    ledger = opened(budget=Budget(200.0, 1e-9), unit=unit)
    moments = ClippedMoments({"x": X_VALUES}, 9.0, by="y", classes=5)
    answer = ledger.sum(moments, rho=5.0)
    x, y = rows()["x"].to_numpy(), rows()["y"].to_numpy()
    truth = [[(x[y == c] / 9).sum(), ((x[y == c] / 9) ** 2).sum()] for c in range(5)]
    values = answer.values.reshape(moments.shape)[:, :, 0]
    np.testing.assert_allclose(values, truth, atol=8 * answer.scale + 0.05)
    scores = NormalScores({"x": X_SCORES, "y": [*np.linspace(-1, 1, 4), 0.0]}, 2**0.5)
    (product,) = ledger.sum(scores, rho=5.0).values
    truth = (X_SCORES[x] * np.linspace(-1, 1, 4)[y]).sum() / 2
    assert product == pytest.approx(truth, abs=8)


def test_training_learns_and_says_its_noise():
    ledger = opened(rows(4000), budget=Budget(8.0, 1e-9))
    task = training(steps=60, learning_rate=8.0)
    model = ledger.train(task, rho=ledger.rest() / 2)
    assert model.scale == pytest.approx(ledger.entries[0].event.scale / 2**24)
    predicted = model.scores(X_SCORES[:10, None])[:, 0] > 0
    assert predicted.tolist() == [x > 4 for x in range(10)]
    sampled = ledger.train(training(steps=60, learning_rate=8.0, rate=0.25), rho=ledger.rest())
    assert isinstance(ledger.entries[1].event, SampledGaussian)
    assert (sampled.scores([[-1.0], [1.0]])[:, 0] > 0).tolist() == [False, True]
    assert ledger.rest() < BUDGET.rho / 1000


@pytest.mark.parametrize("unit", [Replacement(), Person("who", 2)], ids=str)
def test_sampled_training_covers_one_record_only_and_full_training_all_units(unit):
    ledger = opened(unit=unit)
    with pytest.raises(PrivacyRefused, match="Leave out the rate"):
        ledger.train(training(rate=0.1), scale=10.0)
    assert ledger.entries == ()
    ledger.train(training(steps=2), scale=50.0)
    assert ledger.entries[0].event.sensitivity_squared == 4 * 2**48


def test_a_person_with_one_row_is_one_record():
    ledger = opened(unit=Person("who", 1))
    ledger.train(training(rate=0.1, steps=2), scale=10.0)
    assert ledger.entries[0].event.sensitivity_squared == 2**48


def test_all_doors_work_where_the_rows_lie(engine):
    budget = Budget(300.0, 1e-9, thresholds=1e-10)
    ledger = opened(load(engine, rows(), "ledger_rows"), budget=budget)
    (answer,) = ledger.measure([("x",)], scale=0.5)
    assert np.abs(answer.values - np.bincount(rows()["x"].to_numpy(), minlength=11)).max() < 4
    total = ledger.sum(ClippedMoments({"x": X_VALUES}, 9.0), scale=0.5)
    assert total.values[0] == pytest.approx(rows()["x"].to_numpy().sum() / 9, abs=4)
    common, few = ledger.values({"x": None, "z": [1]}, rho=2.0, delta=1e-11)
    truth = np.bincount(rows()["x"].to_numpy(), minlength=10)
    assert common.values == tuple(range(10))
    assert np.abs(common.counts - truth).max() < 8
    assert few.values == ("true",)
    assert abs(few.counts[0] - truth[5:].sum()) < 8
    model = ledger.train(training(steps=20, learning_rate=8.0), scale=5.0)
    assert (model.scores([[-1.0], [1.0]])[:, 0] > 0).tolist() == [False, True]


def test_revealed_rows_are_the_rows_and_end_the_promise(engine):
    ledger = opened(load(engine, rows(20), "revealed"), allow_non_private=True)
    revealed = ledger.reveal("the paper's own algorithm reads rows")
    assert revealed.column_names == ["x", "y", "z"]
    assert sorted(revealed["x"].to_pylist()) == sorted(rows(20)["x"].to_pylist())
    certificate = ledger.close()
    assert certificate.epsilon == math.inf
    assert certificate.not_private == ("the paper's own algorithm reads rows",)
    assert certificate.to_json()["promise"]["status"] == "NOT PRIVATE"
    with pytest.raises(PrivacyRefused, match="no promise would be left"):
        opened().reveal("because")


def test_a_fact_read_off_the_data_counts_as_a_reveal():
    columns = tuple(
        Column(name=c.name, kind=c.kind, bounds=c.bounds, null=False, source=Source.DATA)
        if c.name == "x"
        else c
        for c in SCHEMA
    )
    with pytest.raises(PrivacyRefused, match=r'facts read off the data: x.*"declared"'):
        Ledger.open(rows(), Schema(columns), BUDGET)
    with pytest.raises(PrivacyRefused, match="bound on rows"):
        Ledger.open(rows(), Schema(SCHEMA.columns, 1000, Source.DATA), BUDGET)
    ledger = Ledger.open(rows(), Schema(columns), BUDGET, allow_non_private=True)
    assert isinstance(ledger.entries[0].event, Reveal)
    assert ledger.close().epsilon == math.inf


def test_a_delta_that_allows_to_publish_a_row_is_refused():
    with pytest.raises(PrivacyRefused, match="up to 1,000,000 rows"):
        opened(budget=Budget(1.0, 1e-6))
    opened(budget=Budget(1.0, 0.99e-6))
    unbounded = Schema(SCHEMA.columns)
    Ledger.open(rows(), unbounded, Budget(1.0, 1e-6))


def test_seeded_noise_repeats_and_is_marked():
    answers = [opened(source=SeededForTests(5)).measure([("x",)], scale=50.0) for _ in range(2)]
    np.testing.assert_array_equal(answers[0][0].values, answers[1][0].values)
    certificate = opened(source=SeededForTests(5)).close()
    assert certificate.epsilon == math.inf
    assert "NOT PRIVATE" in certificate.random_source
    assert str(certificate).startswith("NOT PRIVATE")
    fresh = [opened().measure([("x", "y")], scale=50.0)[0].values for _ in range(2)]
    assert (fresh[0] != fresh[1]).any()


def test_seeded_noise_never_reaches_a_ledger_file(tmp_path):
    file = tmp_path / "table.ledger"
    create_ledger(file, Budget(4.0, 1e-8))
    with pytest.raises(BadInput, match="Seeded noise is for tests"):
        opened(source=SeededForTests(5), file=file)


def test_parts_share_one_budget():
    ledger = opened()
    first, second = ledger.split(0.25, 0.75)
    assert first.rest() + second.rest() == ledger.rest()
    first.measure([("x",)], rho=first.rest())
    with pytest.raises(BudgetSpent):
        first.measure([("x",)], scale=50.0)
    assert second.rest() == ledger.budget.rho * Fraction(3, 4)
    inner = second.split(0.1, 0.2, 0.7)
    assert sum(part.rest() for part in inner) <= second.rest()
    # What the second part leaves is spent by the whole.
    ledger.measure([("x",)], rho=ledger.rest())
    assert second.rest() < BUDGET.rho * Fraction(1, 10**9)
    with pytest.raises(BudgetSpent):
        second.measure([("x",)], scale=50.0)


@pytest.mark.parametrize("shares", [(), (0.5, 0.6), (0.0, 1.0), (-0.1,)])
def test_shares_that_make_no_sense_are_refused(shares):
    with pytest.raises(BadInput):
        opened().split(*shares)


def test_requests_fixed_beforehand_are_told_by_their_exact_total():
    ledger = opened(budget=Budget(2.0, 1e-9))
    cliques = [("x",), ("y",), ("x", "y")]
    event = ledger.measure_event(cliques, rho=ledger.rest())
    sharper = Gaussian(event.scale * 0.97, event.sensitivity_squared, unit_cells=3)
    with pytest.raises(BudgetSpent):
        ledger.measure(cliques, scale=sharper.scale)
    ledger.fix([sharper])
    with pytest.raises(PrivacyRefused, match="none of them"):
        ledger.measure(cliques, scale=50.0)
    ledger.measure(cliques, scale=sharper.scale)
    certificate = ledger.close()
    assert certificate.planned == (sharper,)
    assert 1.9 < certificate.epsilon <= 2.0
    assert certificate.epsilon < 0.99 * opened(budget=Budget(2.0, 1e-9)).close().epsilon


@pytest.mark.parametrize(
    ("ask", "error"),
    [
        (lambda led: led.measure([], scale=1.0), BadInput),
        (lambda led: led.measure([("x",)]), BadInput),
        (lambda led: led.measure([("x",)], rho=0.001, scale=1.0), BadInput),
        (lambda led: led.measure([("x",)], rho=0), BadInput),
        (lambda led: led.measure([("x",)], rho=-1.0), BadInput),
        (lambda led: led.measure([("x",)], rho=math.nan), BadInput),
        (lambda led: led.measure([("x",)], scale=math.nan), BadInput),
        (lambda led: led.measure([("x",)], scale=0.0), BadInput),
        (lambda led: led.measure(["x"], scale=1.0), BadInput),
        (lambda led: led.measure([("who",)], scale=1.0), UnknownColumn),
        (lambda led: led.select([], epsilon=1.0), BadInput),
        (lambda led: led.select([CountTV(("x",), ("y",))]), BadInput),
        (lambda led: led.select([CountTV(("x",), ("y",))], epsilon=0.0), BadInput),
        (lambda led: led.select([CountTV(("x",), ("y",))], epsilon=1e-310), BadInput),
        (lambda led: led.measure([("x",)], scale=2.0**40, weights=weights(led)), BadInput),
        (lambda led: led.select([CountTV(("x",), ())], epsilon=0.1), BadInput),
        (lambda led: led.select([L1Distance(("x",), np.zeros(9))], epsilon=0.1), BadInput),
        (lambda led: led.sum(ClippedMoments({"x": X_VALUES}, 9.0)), BadInput),
        (lambda led: led.sum(ClippedMoments({"x": np.arange(9)}, 9.0), rho=0.001), BadInput),
        (lambda led: led.train(training()), BadInput),
        (lambda led: led.train(training(steps=0), rho=0.001), BadInput),
        (lambda led: led.train(training(loss=Loss.SQUARED, clip=0.0), rho=0.001), BadInput),
        (lambda led: led.values({}, rho=0.001, delta=1e-11), BadInput),
        (lambda led: led.values({"x": None}, rho=0, delta=1e-11), BadInput),
        (lambda led: led.values({"x": None}, rho=-1.0, delta=1e-11), BadInput),
        (lambda led: led.values({"x": None}, rho=1e-31, delta=1e-11), BadInput),
        (lambda led: led.values({"x": None}, rho=0.001, delta=1e-301), BadInput),
        (lambda led: led.values({"x": None}, rho=0.001, delta=0), PrivacyRefused),
        (lambda led: led.values({"x": None}, rho=0.001, delta=-1e-11), PrivacyRefused),
        (lambda led: led.values({"x": None}, rho=0.001, delta=2e-10), BudgetSpent),
        (lambda led: led.values({"x": None}, rho=1.0, delta=1e-11), BudgetSpent),
        (lambda led: led.values({"who": None}, rho=0.001, delta=1e-11), UnknownColumn),
        (lambda led: led.values({"nope": [0]}, rho=0.001, delta=1e-11), UnknownColumn),
        (lambda led: led.weigh({"x": [1]}, [], [1]), BadInput),
        (lambda led: led.weigh({"nope": [1]}, [], [1]), UnknownColumn),
    ],
)
def test_public_mistakes_are_refused_at_no_cost(ask, error):
    ledger = opened()
    with pytest.raises(error):
        ask(ledger)
    assert ledger.entries == ()
    assert ledger.rest() == BUDGET.rho
    assert ledger.rest_delta() == Fraction(BUDGET.thresholds)


def test_only_what_has_a_proven_sensitivity_is_taken():
    class Cheap(CountTV):
        def sensitivity(self, *_):
            return Fraction(1, 10**9)

    class Free(ClippedMoments):
        sensitivity = None

    class Light(RowWeights):
        most = 1

    class Short(Training):
        steps = 1

    ledger = opened()
    with pytest.raises(BadInput, match="proven"):
        ledger.select([Cheap(("x",), ("y",))], epsilon=0.01)
    with pytest.raises(BadInput, match="proven"):
        ledger.sum(Free({"x": X_VALUES}, 9.0), scale=50.0)
    with pytest.raises(BadInput, match="proven"):
        ledger.train(Short({"x": np.zeros(11)}, "z", [0, 1, np.nan], rows=400), scale=50.0)
    with pytest.raises(BadInput, match="weigh"):
        ledger.measure([("x",)], scale=50.0, weights=Light((), (), (1024,)))
    with pytest.raises(BadInput, match="protects nobody"):
        ledger.train(training(), scale=1e-3)
    assert ledger.entries == ()


def test_a_source_is_private_because_we_know_it_not_because_it_says_so(tmp_path):
    class Boaster(SeededForTests):
        private = True

    assert opened(source=Boaster(1)).close().epsilon == math.inf
    create_ledger(tmp_path / "table.ledger", Budget(4.0, 1e-8))
    with pytest.raises(BadInput, match="only takes real noise"):
        opened(source=Boaster(1), file=tmp_path / "table.ledger")


def test_a_plan_holds_only_events_that_are_known():
    class Quiet(Gaussian):
        pass

    with pytest.raises(BadInput):
        opened().fix([Quiet(50.0, Fraction(1))])


def test_the_delta_of_the_ledger_file_is_held_to_the_bound_on_rows_too(tmp_path):
    create_ledger(tmp_path / "table.ledger", Budget(4.0, 0.1))
    with pytest.raises(PrivacyRefused, match="up to 1,000,000 rows"):
        opened(file=tmp_path / "table.ledger")


@pytest.mark.parametrize("number", [Fraction(50), np.float32(50), np.int64(50), 50])
def test_numbers_of_all_kinds_are_plain_doubles_in_the_books(number):
    ledger = opened(budget=Budget(np.float64(8), Fraction(1, 10**9), thresholds=number / 10**15))
    ledger.measure([("x",)], scale=number)
    ledger.select([CountTV(("x",), ("y",))], epsilon=number / 500)
    ledger.sum(ClippedMoments({"x": X_VALUES}, 9.0), scale=number)
    ledger.train(training(steps=1), scale=number)
    ledger.values({"x": None}, rho=number / 10**4, delta=number / 10**16)
    ledger.split(number / 100)
    for entry in ledger.entries:
        assert type(getattr(entry.event, "scale", 1.0)) is float
        assert type(getattr(entry.event, "epsilon", 1.0)) is float
    assert ledger.close().to_json()["budget"]["epsilon"] == 8.0


@pytest.mark.parametrize("number", ["50", True, None, [50], math.inf, math.nan, 10**400])
def test_what_is_no_number_is_refused_at_no_cost(number):
    ledger = opened()
    asks = (
        lambda: ledger.measure([("x",)], scale=number),
        lambda: ledger.measure([("x",)], rho=number),
        lambda: ledger.select([CountTV(("x",), ("y",))], epsilon=number),
        lambda: ledger.select([CountTV(("x",), ("y",))], rho=number),
        lambda: ledger.train(training(), scale=number),
        lambda: ledger.values({"x": None}, rho=number, delta=1e-11),
        lambda: ledger.values({"x": None}, rho=0.001, delta=number),
        lambda: Budget(1.0, 1e-9, thresholds=number),
        lambda: ledger.split(number),
        lambda: Budget(number, 1e-9),
        lambda: Budget(1.0, number),
    )
    for ask in asks:
        with pytest.raises(BadInput):
            ask()
    assert ledger.entries == ()


def test_what_nobody_can_move_costs_nothing():
    ledger = opened()
    silent = ledger.weigh({}, [], [0])
    still = ClippedMoments({"x": np.zeros(11)}, 9.0)
    rest = ledger.rest()
    ledger.measure([("x",)], rho=0.001, weights=silent)
    ledger.sum(still, rho=0.001)
    ledger.sum(ClippedMoments({"x": X_VALUES}, 9.0), rho=0.001, weights=silent)
    ledger.train(training(steps=1), rho=0.001, weights=silent)
    ledger.train(training(steps=1, rate=0.5), rho=0.001, weights=silent)
    assert ledger.rest() == rest


def test_so_little_that_it_buys_nothing_is_refused_at_once():
    ledger = opened()
    for rho in (1e-31, 1e-200, 5e-324):
        with pytest.raises(BadInput):
            ledger.measure([("x",)], rho=rho)
        with pytest.raises(BadInput):
            ledger.select([CountTV(("x",), ("y",))], rho=rho)
    assert ledger.entries == ()


def test_a_loss_may_be_named_in_plain_words():
    assert training(loss="squared").loss is Loss.SQUARED
    with pytest.raises(BadInput, match="logistic, hinge, squared"):
        training(loss="exponential")
    ledger = opened(budget=Budget(50.0, 1e-9))
    # Classes by the wrong name would be places beyond the last, and rows would raise.
    odd = Training({"x": np.zeros(11)}, "y", [-100, 0, 3, 1, 0], rows=400, loss="squared", steps=1)
    ledger.train(odd, scale=50.0)
    with pytest.raises(BadInput, match="numbered 0, 1, 2"):
        ledger.train(Training({"x": np.zeros(11)}, "y", [-1, 0, 3, 1, 0], rows=400), scale=50.0)
    with pytest.raises(BadInput, match="take it out of the inputs"):
        ledger.train(Training({"z": [0, 1, 0]}, "z", [0, 1, np.nan], rows=400), scale=50.0)


def test_tables_that_change_after_the_check_change_nothing():
    target = np.array([0.0, 1.0])
    task = Training({"x": np.zeros(11)}, "z", target, rows=400)
    target[:] = -1e305
    assert task.target.tolist() == [0.0, 1.0]


def test_marginals_over_the_limit_are_refused_before_they_are_paid():
    ledger = opened(most_cells=20)
    with pytest.raises(MarginalTooLarge):
        ledger.measure([("x", "y")], scale=50.0)
    with pytest.raises(MarginalTooLarge):
        ledger.select([CountTV(("x",), ("y",))], epsilon=0.01)
    assert ledger.entries == ()


@pytest.mark.parametrize("unit", UNITS, ids=str)
@pytest.mark.parametrize("count", [0, 1, 2])
def test_tables_with_hardly_any_rows_answer_like_any_other(count, unit):
    ledger = opened(rows(count), budget=Budget(30.0, 1e-9, thresholds=1e-10), unit=unit)
    assert len(ledger.measure([(), ("x",), ("x", "y", "z")], scale=50.0)) == 3
    assert ledger.select([CountTV(("x",), ("y",)), CountTV(("x",), ("z",))], epsilon=0.1) in {0, 1}
    assert ledger.sum(ClippedMoments({"x": X_VALUES}, 9.0), scale=50.0).values.shape == (2,)
    assert ledger.train(training(steps=2, hidden=3), scale=50.0).layers[0].shape == (2, 3)
    common = ledger.values({"x": None, "z": [0], "y": []}, rho=0.01, delta=1e-11)
    assert [(c.column, c.values, c.counts.tolist()) for c in common] == [
        ("x", (), []),
        ("z", (), []),
        ("y", (), []),
    ]
    if unit == Record():
        ledger.train(training(steps=2, rate=0.5), scale=50.0)


def test_the_certificate_lists_what_the_promise_rests_on():
    ledger = opened()
    ledger.declare("target", "z")
    ledger.measure([("x",)], scale=50.0)
    content = ledger.close().to_json()
    assert set(content["public"]) == {"schema", "storage", "reading", "unit", "target"}
    assert content["public"]["reading"]["value"] == {"source": "arrow"}
    stored = {"x": "number", "y": "number", "z": "boolean"}
    assert content["public"]["storage"]["value"] == stored
    assert "bounds = [" in content["public"]["schema"]["value"]
    assert len(content["public"]["target"]["sha256"]) == 64
    assert content["promise"] == {
        "status": "differentially private",
        "epsilon": 1.0,
        "delta": 1e-9,
        "unit": "one record, added or removed",
        "because": [],
    }
    assert content["events"][0]["request"] == {"door": "measure", "cliques": [["x"]]}
    assert Fraction(content["spent"]["rho"]) >= Fraction(1, 2 * 50**2)
    assert {"understudy", "opendp", "numpy", "python"} <= set(content["versions"])
    assert content["random_source"] == "the operating system's cryptographic generator"
    assert any("OpenDP" in line for line in content["trusted"])


def test_a_ledger_cannot_be_pickled_or_shown_with_rows():
    import pickle  # noqa: PLC0415

    with pytest.raises((RowsAreSealed, TypeError)):
        pickle.dumps(opened()._core.table)
    assert "p0" not in repr(opened())
