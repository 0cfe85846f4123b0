"""An individual bound: a record takes part only while its own loss stays within it."""

import contextlib
import json
import threading
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.doors import DOORS, requests
from understudy.column import Column, Kind, Role, Source
from understudy.errors import BadInput, BudgetSpent, PrivacyRefused
from understudy.privacy.budget import Budget
from understudy.privacy.caps import cost_for
from understudy.privacy.individual import EACH
from understudy.privacy.ledger import Ledger
from understudy.privacy.noise import SeededForTests
from understudy.privacy.unit import Person, Replacement
from understudy.privacy.weights import UNIT
from understudy.schema import Schema

SCHEMA = Schema(
    (
        Column(name="age", kind=Kind.INTEGER, bounds=(0, 9), null=False),
        Column(name="sex", kind=Kind.BOOLEAN, null=False),
    ),
    rows_bound=10**6,
)
BUDGET = Budget(1.0, 1e-9, thresholds=1e-10)
TABLES, THRESHOLDS = {"age": [0] * 8 + [5, 6, 0]}, [5, 6]


def rows(count=60):
    return pa.table({"age": np.arange(count) % 10, "sex": np.arange(count) % 3 == 0})


def bound(epsilon=0.5, budget=BUDGET):
    return Budget(epsilon, budget.delta, thresholds=budget.thresholds)


def opened(epsilon=0.5, budget=BUDGET, **options):
    return Ledger.open(rows(), SCHEMA, budget, each=bound(epsilon, budget), **options)


def weighed(ledger, *weights):
    return ledger.weighted(ledger.weigh(TABLES, THRESHOLDS, weights))


@pytest.mark.parametrize("door", DOORS)
def test_every_query_fits_the_table(door):
    with opened() as ledger:
        DOORS[door](ledger, ledger.rest() / 5)
        assert len(ledger.entries) == 1


@settings(max_examples=60)
@given(requests(most=9), st.floats(0.2, 1.0))
def test_nobody_loses_more_than_the_bound_and_nobody_goes_who_could_stay(asked, epsilon):
    limit = bound(epsilon)
    spent, scored = [Fraction(0)] * 3, False
    with opened(epsilon) as ledger:
        for door, weights, share in asked:
            look = ledger if weights is None else weighed(ledger, *weights)
            rho, before = ledger.rest() * Fraction(share), ledger.entries
            wished = [UNIT] * 3 if weights is None else weights
            try:
                DOORS[door](look, rho)
            except BadInput:  # weights of 0 only, or noise that training has no use for
                continue
            except BudgetSpent:
                assert ledger.entries == before
                # Even alone, at the full price, each of them would lose too much.
                if scored or weights is not None:
                    assert all(
                        float(lost + rho) > float(limit.rho) * (1 - 1e-6)
                        for lost, wish in zip(spent, wished, strict=True)
                        if wish
                    )
                continue
            entry = ledger.entries[-1]
            told = entry.request.get("weights")
            taking = [UNIT] * 3 if told is None else told["by_step"]
            scored |= told is not None
            for step, (wish, own) in enumerate(zip(wished, taking, strict=True)):
                assert own in {wish, 0}
                spent[step] += cost_for(entry.event, limit.order, own, max(taking))
        certificate = ledger.close()
    assert max(spent) <= limit.rho
    assert certificate.each.kept(certificate.entries, 1.0)
    assert certificate.spent <= BUDGET.rho


def test_who_is_left_out_is_not_counted():
    budget = Budget(5000.0, 1e-9)
    with opened(2000.0, budget, source=SeededForTests(1)) as ledger:
        look = weighed(ledger, UNIT, 512, 0)
        half = Budget(2000.0, 1e-9).rho * Fraction(9, 10)
        (first,) = look.measure([("age",)], rho=half)
        np.testing.assert_allclose(first.values, [6.0] * 8 + [3.0, 0, 0], atol=0.5)
        # Those of full weight have no more to give; of the others, one had lost a quarter as much.
        (second,) = look.measure([("age",)], rho=half / 2)
        np.testing.assert_allclose(second.values, [0.0] * 8 + [3.0, 0, 0], atol=0.5)
        assert second.scale < first.scale  # half the weight, half the budget: less noise
        # All rows at once: only those of age 9 have lost nothing yet.
        (third,) = ledger.measure([("age",)], rho=half)
        np.testing.assert_allclose(third.values, [0.0] * 9 + [6.0, 0], atol=0.5)
        with pytest.raises(BudgetSpent, match="individual bound of epsilon 2000"):
            ledger.measure([("age",)], rho=half)
        assert [entry.request["weights"]["by_step"] for entry in ledger.entries] == [
            [UNIT, 512, 0],
            [0, 512, 0],
            [0, 0, UNIT],
        ]


def test_before_there_are_scores_everybody_pays_alike():
    with opened(0.5) as ledger:
        ledger.measure([("age",)], rho=bound().rho)
        for ask in (
            lambda: ledger.measure([("sex",)], rho=ledger.rest() / 10),
            lambda: weighed(ledger, UNIT, 3, 1).measure([("sex",)], rho=ledger.rest() / 10),
        ):
            with pytest.raises(BudgetSpent, match="Ask for less"):
                ask()
        assert len(ledger.entries) == 1


def test_values_are_told_of_all_rows_or_not_at_all():
    with opened(0.5) as ledger:
        weighed(ledger, UNIT, 100, 10).measure([("sex",)], rho=bound().rho)
        # Those of small weight could still pay, but a door that weighs nobody leaves nobody out.
        with pytest.raises(BudgetSpent, match="individual bound"):
            ledger.values({"age": None}, rho=ledger.rest() / 2, delta=1e-11)
        assert len(ledger.entries) == 1
    each = Budget(0.5, BUDGET.delta)
    with (
        Ledger.open(rows(), SCHEMA, BUDGET, each=each) as ledger,
        pytest.raises(BudgetSpent, match="more of delta than the individual bound"),
    ):
        ledger.values({"age": None}, rho=ledger.rest() / 100, delta=1e-11)


def test_other_scores_are_refused():
    with opened() as ledger:
        weighed(ledger, UNIT, 3, 1).measure([("sex",)], rho=ledger.rest() / 10)
        other = ledger.weighted(ledger.weigh({"sex": [0, 1, 0]}, [1], [UNIT, 1]))
        with pytest.raises(BadInput, match="follows one set of scores"):
            other.measure([("sex",)], rho=ledger.rest() / 10)


@pytest.mark.parametrize("unit", [Replacement(), Person("who", 2)])
def test_other_units_are_refused(unit):
    who = Column(name="who", kind=Kind.INTEGER, role=Role.ID)
    schema = Schema((who, *SCHEMA.columns), rows_bound=60)
    table = rows().add_column(0, "who", [pa.array(range(60))])
    with pytest.raises(PrivacyRefused, match="one record, added or removed"):
        Ledger.open(table, schema, BUDGET, each=bound(), unit=unit)


def test_the_certificate_tells_the_bound_and_who_took_part():
    with opened(0.5) as ledger:
        weighed(ledger, UNIT, 512, 0).measure([("sex",)], rho=ledger.rest() / 4)
        certificate = ledger.close()
    assert certificate.public[EACH]["epsilon"] == 0.5
    assert "Records with any values: epsilon at most 0.5." in certificate.promise
    json.dumps(certificate.public)


def test_a_stranger_finds_out_that_it_was_broken():
    with opened(0.5) as ledger:
        weighed(ledger, UNIT, 512, 0).measure([("sex",)], rho=ledger.rest() / 10)
        certificate = ledger.close()
    assert certificate.each.kept(certificate.entries, 1.0)
    assert not certificate.each.kept(certificate.entries * 20, 1.0)


def test_threads_cannot_overdraw_it_together(untraced_threads):
    with opened(0.5) as ledger:
        look = weighed(ledger, UNIT, UNIT, UNIT)
        look.measure([("sex",)], rho=bound().rho / 7)  # counted now, so that threads only ask

        def ask():
            for _ in range(5):
                with contextlib.suppress(BudgetSpent):
                    look.measure([("sex",)], rho=bound().rho / 7)

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        assert len(ledger.entries) == 7
        assert ledger.close().each.kept(ledger.entries, 1.0)


def test_codes_stay_once_losses_go_by_them():
    open_ = Column(name="age", kind=Kind.CATEGORICAL, null=False)
    schema = Schema((open_, SCHEMA["sex"]), rows_bound=10**6)
    named = [replace(open_, categories=tuple(one), source=Source.BOUGHT) for one in ("ab", "ba")]
    facts = [Schema((one, SCHEMA["sex"]), rows_bound=10**6) for one in named]
    table = pa.table({"age": ["a", "a", "b"], "sex": [True, False, True]})
    each = bound()
    with Ledger.open(table, schema, BUDGET, each=each, discover=True) as ledger:
        ledger.recode(facts[0])
        a_counts = ledger.weigh({"age": [0, 1, 1]}, [1], [UNIT, 0])
        ledger.measure([("age",)], rho=each.rho * Fraction(99, 100), weights=a_counts)
        with pytest.raises(BadInput, match="codes stay as they are"):
            ledger.recode(facts[1])
        with pytest.raises(BudgetSpent):
            ledger.measure([("age",)], rho=each.rho * Fraction(99, 100), weights=a_counts)


def test_scores_of_two_first_requests_at_once_do_not_mix(monkeypatch):
    with opened() as ledger:
        look = weighed(ledger, UNIT, 0, 0)
        other = ledger.weighted(ledger.weigh({"sex": [0, 1, 0]}, [1], [UNIT, 0]))
        whole = type(ledger._core.individual).admit

        def late(self, weights, price):
            """What another thread asks comes between this request's admission and its debit."""
            found = whole(self, weights, price)
            monkeypatch.undo()
            look.measure([("sex",)], rho=bound().rho * Fraction(99, 100))
            return found

        monkeypatch.setattr(type(ledger._core.individual), "admit", late)
        with pytest.raises(BadInput, match="follows one set of scores"):
            other.measure([("sex",)], rho=bound().rho * Fraction(99, 100))
        assert len(ledger.entries) == 1


def test_requests_by_two_scores_do_not_verify():
    found = []
    for tables, thresholds in ((TABLES, THRESHOLDS), ({"sex": [0, 1, 0]}, [1])):
        with opened() as ledger:
            weights = ledger.weigh(tables, thresholds, [UNIT] + [0] * len(thresholds))
            ledger.measure([("sex",)], rho=bound().rho * Fraction(9, 10), weights=weights)
            found.append(ledger.close())
    first, second = found
    assert first.each.kept(first.entries, 1.0)
    assert not first.each.kept((*first.entries, *second.entries), 1.0)
