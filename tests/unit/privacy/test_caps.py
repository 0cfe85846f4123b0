"""Caps: a record that meets a public condition loses no more than was promised for it."""

import contextlib
import json
import threading
from dataclasses import replace
from fractions import Fraction
from math import ceil, log, sqrt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.doors import DOORS, requests
from helpers.tables import score_by_hand
from understudy.column import Column, Kind, Role
from understudy.encode import Encoding
from understudy.encode.ops import Storage
from understudy.errors import BadInput, BudgetSpent, PrivacyRefused, UnknownColumn
from understudy.pipeline import synthesize
from understudy.privacy.accountant import cost, sampled_divergence
from understudy.privacy.budget import Budget, epsilon_of_rho
from understudy.privacy.caps import Cap, cost_for, lighter
from understudy.privacy.events import (
    BestOf,
    Exponential,
    Gaussian,
    Reveal,
    SampledGaussian,
    Threshold,
)
from understudy.privacy.folder import publish, read_certificate, verify
from understudy.privacy.ledger import Ledger
from understudy.privacy.ledger_file import create_ledger
from understudy.privacy.scores import STEPS, in_steps
from understudy.privacy.spelling import digest, spelled, spelled_for_people
from understudy.privacy.unit import Person, Replacement
from understudy.privacy.weights import UNIT, RowWeights
from understudy.privacy.where import Where
from understudy.schema import Schema
from understudy.select.risk import RiskWeights, weights_told

SCHEMA = Schema(
    (
        Column(name="who", kind=Kind.INTEGER, role=Role.ID),
        Column(name="age", kind=Kind.INTEGER, bounds=(0, 9), null=False),
        Column(name="sex", kind=Kind.BOOLEAN, null=False),
    ),
    rows_bound=10**6,
)
BUDGET = Budget(1.0, 1e-9, thresholds=1e-10)
OLD = Where.parse("age >= 8")
LIGHT = {
    "tables": {"age": [*[0] * 8, 5, 5, 5]},
    "thresholds": [5],
    "weights": [UNIT, UNIT // 4],
}
"""Those of 8 and more weigh a quarter; and those without a readable age, whose code is hidden."""


NULLABLE = replace(SCHEMA, columns=tuple(replace(c, null=True) if c.coded else c for c in SCHEMA))
"""With cells of their own for missing values."""
STORAGE = {"age": Storage.INTEGER, "sex": Storage.BOOLEAN}
CHECKED = "records with age >= 8, missing or unreadable lost no more than promised"


def rows(count=60):
    return pa.table(
        {"who": range(count), "age": np.arange(count) % 10, "sex": np.arange(count) % 3 == 0}
    )


def capped(epsilon=0.5, where=OLD, budget=BUDGET):
    return Cap(where, Budget(epsilon, budget.delta, thresholds=budget.thresholds))


def opened(*caps, **options):
    return Ledger.open(rows(), SCHEMA, BUDGET, caps=caps, **options)


def light(ledger):
    return ledger.weighted(ledger.weigh(**LIGHT))


# --- what a lighter record loses ------------------------------------------------------------------


@given(st.integers(1, UNIT), st.integers(1, UNIT), st.floats(0.01, 8))
def test_a_lighter_record_pays_by_the_square_of_its_share(weight, most, epsilon):
    weight = min(weight, most)
    share = Fraction(weight, most)
    counted = Gaussian(3.0, Fraction(most, UNIT) ** 2)
    paid = cost_for(counted, 30.0, weight, most)
    exact = Fraction(weight, UNIT) ** 2 / 18
    assert exact <= paid <= exact * (1 + Fraction(3, STEPS * share)) ** 2
    chosen = cost_for(Exponential(epsilon), 30.0, weight, most)
    assert chosen >= Fraction(epsilon) ** 2 * share**2 / 8
    assert chosen <= cost(Exponential(epsilon), 30.0) * (1 + Fraction(1, 10**9))


@given(st.integers(1, UNIT), st.integers(1, UNIT), st.integers(0, 10**6), st.integers(2, 9))
def test_a_score_moves_by_no_more_steps_than_a_lighter_record_pays(weight, most, before, parts):
    # Scores are told in whole steps of the largest sensitivity: a record of another weight may
    # move them by a broken number of steps, and then by one more.
    weight = min(weight, most)
    sensitivity = Fraction(most, UNIT)
    here = Fraction(before, parts)
    moved = here + Fraction(weight, UNIT)
    one, other = in_steps([here, moved], sensitivity)
    told = lighter(Gaussian(1.0, Fraction(STEPS**2)), Fraction(weight, most))
    assert (other - one) ** 2 <= told.sensitivity_squared
    paid = Fraction(lighter(Exponential(1.0), Fraction(weight, most)).epsilon)
    assert Fraction(other - one, STEPS) <= paid


def test_a_broken_number_of_steps_is_rounded_up():
    # 2²⁰ / 3 is no whole number: a third of the score may move it by one step more.
    share = Fraction(1, 3)
    assert in_steps([Fraction(2, 3), Fraction(1)], Fraction(1))[1] - in_steps(
        [Fraction(2, 3)], Fraction(1)
    )[0] == ceil(STEPS * share)
    assert (
        lighter(Gaussian(1.0, Fraction(STEPS**2)), share).sensitivity_squared > (STEPS * share) ** 2
    )


def test_sampled_training_costs_a_lighter_record_what_more_noise_would():
    event = SampledGaussian(0.1, 2.0, Fraction(1), 10)
    half = lighter(event, Fraction(1, 2))
    noisier = SampledGaussian(0.1, 4.0, Fraction(1), 10)
    assert sampled_divergence(half, 20.0) == pytest.approx(sampled_divergence(noisier, 20.0))


def test_who_weighs_nothing_loses_nothing_and_who_weighs_all_loses_all():
    for event in (Gaussian(2.0, Fraction(3)), Exponential(0.3), Reveal("a reason")):
        assert cost_for(event, 20.0, 0, UNIT) == 0
        assert cost_for(event, 20.0, 700, 700) == cost(event, 20.0)
    told = Threshold(9.0, 60, Fraction(1), 1, 1)
    assert cost_for(told, 20.0, 5, UNIT) == cost(told, 20.0)  # nobody is weighed there


# --- the ledger refuses exactly what would cost too much ------------------------------------------


def own_cost(event, order, weight, most):
    """What a record of this weight loses, by the formulas and not by the code under test."""
    if weight == 0:
        return 0.0
    share = ceil(Fraction(weight, most) * STEPS) / STEPS
    if isinstance(event, Exponential):
        return (event.epsilon * share) ** 2 / 8
    if isinstance(event, SampledGaussian):
        squared = Fraction(event.sensitivity_squared * Fraction(share) ** 2)
        one = SampledGaussian(event.rate, event.scale, squared, 1)
        return event.steps * sampled_divergence(one, order) / order
    if isinstance(event, BestOf):
        one = sum(own_cost(noise, order, weight, most) for noise in event.base)
        more = log(1 / event.gamma)
        mean = log((1 / event.gamma - 1) / more) / (order - 1)
        hat = max(1.0, sqrt(more / one))
        return (order * one + (hat - 1) * one + more / hat + mean) / order
    return event.steps * float(event.sensitivity_squared) * share**2 / (2 * event.scale**2)


@pytest.mark.parametrize("door", DOORS)
def test_every_query_fits_the_table(door):
    with opened() as ledger:
        DOORS[door](ledger, ledger.rest() / 5)
        assert len(ledger.entries) == 1


@settings(max_examples=40)
@given(requests(most=7), st.floats(0.2, 1.0))
def test_a_request_is_refused_exactly_if_a_capped_record_would_lose_too_much(asked, epsilon):
    cap = capped(epsilon)
    spent = 0.0
    with opened(cap) as ledger:
        for door, weights, share in asked:
            look, weight, most = ledger, UNIT, UNIT
            if weights is not None:
                # Old records score 5 or 6: their weight is that of the second or third step.
                made = ledger.weigh({"age": [*[0] * 8, 5, 6, 5]}, [5, 6], weights)
                look, weight, most = ledger.weighted(made), max(weights[1:]), max(weights)
            rho = ledger.rest() * Fraction(share)
            before = ledger.rest(), ledger.entries
            try:
                DOORS[door](look, rho)
            except BadInput:  # weights of 0 only, or noise that training has no use for
                continue
            except BudgetSpent:
                assert (ledger.rest(), ledger.entries) == before
                # What it would have cost: the same request where nobody is capped.
                with opened() as free:
                    DOORS[door](free if look is ledger else free.weighted(made), rho)
                    (entry,) = free.entries
                would = own_cost(entry.event, cap.budget.order, weight, most)
                assert spent + would > float(cap.budget.rho) * (1 - 1e-9)
                continue
            spent += own_cost(ledger.entries[-1].event, cap.budget.order, weight, most)
            assert spent <= float(cap.budget.rho) * (1 + 1e-9)
        certificate = ledger.close()
    # A stranger who reads the certificate comes to the same.
    (told,) = certificate.caps
    assert float(told.spent(certificate.entries)) == pytest.approx(spent, rel=2e-9, abs=1e-15)
    assert told.spent(certificate.entries) <= told.budget.rho


def test_what_is_asked_of_full_weights_counts_in_full():
    with opened(capped(0.5)) as ledger:
        with pytest.raises(
            BudgetSpent, match=r"records with age >= 8 more than the promised.*0\.5"
        ):
            ledger.measure([("sex",)], rho=ledger.rest())
        assert not ledger.entries
        light(ledger).measure([("sex",)], rho=ledger.rest() * Fraction(999, 1000))
        assert ledger.entries[0].request["weights"]["capped"] == {"age >= 8": UNIT // 4}


def test_weights_that_say_nothing_of_the_condition_protect_nobody():
    with opened(capped(0.5)) as ledger:
        by_sex = ledger.weighted(ledger.weigh({"sex": [0, 5, 5]}, [5], [UNIT, 1]))
        with pytest.raises(BudgetSpent):
            by_sex.measure([("age",)], rho=ledger.rest())
        both = ledger.weigh({"sex": [0, 5, 5], "age": [*[0] * 9, 5, 5]}, [5], [UNIT, 1])
        with pytest.raises(BudgetSpent):  # those of 8 still weigh all
            ledger.weighted(both).measure([("age",)], rho=ledger.rest())


def test_unread_values_that_still_count_fully_are_not_capped():
    # A missing age has the hidden code: if that weighs all, nobody under the condition is capped.
    with opened(capped(0.5)) as ledger:
        old = ledger.weighted(ledger.weigh({"age": [*[0] * 8, 5, 5, 0]}, [5], [UNIT, 1]))
        with pytest.raises(BudgetSpent):
            old.measure([("sex",)], rho=ledger.rest())


def test_each_cap_is_kept_for_itself():
    young = Where.parse("age <= 1")
    with opened(capped(0.9), capped(0.3, young)) as ledger:
        with pytest.raises(BudgetSpent, match="age <= 1"):
            light(ledger).measure([("sex",)], rho=ledger.rest() / 2)
        assert not ledger.entries
        least = ledger.weigh({"age": [9, 9, *[0] * 6, 5, 5, 5]}, [5], [UNIT, UNIT // 8])
        ledger.weighted(least).measure([("sex",)], rho=ledger.rest() / 2)
        told = ledger.entries[0].request["weights"]["capped"]
        assert told == {"age >= 8": UNIT // 8, "age <= 1": UNIT // 8}


def test_values_told_by_a_threshold_must_fit_the_caps_delta():
    tight = Cap(OLD, Budget(0.9, 1e-9))
    with opened(tight) as ledger:
        rho, delta = ledger.rest() / 100, ledger.rest_delta()
        with pytest.raises(BudgetSpent, match="more of delta than the cap"):
            ledger.values({"sex": None}, rho=rho, delta=delta)
        assert not ledger.entries
    with opened(capped(0.9)) as ledger:
        ledger.values({"sex": None}, rho=rho, delta=delta)
        with pytest.raises(BudgetSpent):
            ledger.values({"sex": None}, rho=rho, delta=delta)


def test_threads_cannot_overdraw_a_cap_together(untraced_threads):
    cap = capped(0.1)
    with opened(cap) as ledger:
        # Rows are counted by one thread at a time; what is paid is checked for all.
        weights = ledger.weigh(**LIGHT)
        event = ledger.measure_event([("sex",)], rho=cap.budget.rho * 16 / 10, weights=weights)
        request = {"door": "measure", "weights": {"most": UNIT, "of": UNIT}}

        def ask():
            with contextlib.suppress(BudgetSpent):
                ledger._debit(event, request, weights)

        threads = [threading.Thread(target=ask) for _ in range(24)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        (told,) = ledger.close().caps
        assert told.spent(ledger.entries) <= cap.budget.rho
    assert 8 <= len(ledger.entries) <= 10


# --- who is refused, and when ---------------------------------------------------------------------


@pytest.mark.parametrize("unit", [Replacement(), Person("who", 2)], ids=str)
def test_caps_are_for_one_record_that_comes_or_goes(unit, tmp_path):
    file = tmp_path / "table.ledger"
    create_ledger(file, Budget(3.0, 1e-8, thresholds=1e-9))
    before = file.read_bytes()
    with pytest.raises(PrivacyRefused, match="A cap is for one record, added or removed, and the"):
        opened(capped(), unit=unit, file=file)
    assert file.read_bytes() == before
    # And the file is free for the next.
    with opened(capped(), file=file):
        pass


def test_conditions_are_refused_before_a_ledger_file_is_touched(tmp_path):
    file = tmp_path / "table.ledger"
    create_ledger(file, Budget(3.0, 1e-8, thresholds=1e-9))
    before = file.read_bytes()
    with pytest.raises(UnknownColumn):
        opened(capped(where=Where.parse("agee >= 8")), file=file)
    with pytest.raises(BadInput, match="'old' is no value"):
        opened(capped(where=Where.parse("age >= old")), file=file)
    with pytest.raises(UnknownColumn):  # nobody releases an id
        opened(capped(where=Where.parse("who >= 8")), file=file)
    assert file.read_bytes() == before


def made(tmp_path, **options):
    options = {"epsilon": 1.0, "schema": SCHEMA, "mechanism": "independent", "rows": 5} | options
    return synthesize(rows(), **options)


@pytest.mark.parametrize("unit", ["replace", "person:who:2"])
@pytest.mark.parametrize("how", [{"protect_outliers": True}, {"protect_where": ["age >= 8"]}])
def test_protection_under_other_units_is_refused_with_the_reason(unit, how, tmp_path):
    if unit.startswith("person") and "protect_outliers" in how:
        pytest.skip("rows of a person may weigh less: the person's own bound is that of all rows")
    with pytest.raises(PrivacyRefused, match="may have a full weight"):
        made(tmp_path, unit=unit, **how)


@pytest.mark.parametrize("open_facts", [False, True], ids=["declared", "open"])
@pytest.mark.parametrize("how", [{"protect_outliers": True}, {"protect_where": ["age >= 8"]}])
def test_a_cap_below_what_scoring_costs_is_refused_before_anything_is_spent(
    how, open_facts, tmp_path
):
    file = tmp_path / "table.ledger"
    create_ledger(file, Budget(3.0, 1e-8, thresholds=1e-9))
    before = file.read_bytes()
    facts = {"schema": None} if open_facts else {}
    if "protect_where" in how and not open_facts:
        # Conditions need no scores: only the count of strays comes before the weights.
        release = made(tmp_path, outlier_epsilon=0.2, ledger=file, **how)
        strays, *weighted = (entry.request for entry in release.certificate.entries)
        assert strays["strays"] is True
        assert weighted
        assert all("weights" in request for request in weighted)
        # A cap must leave enough for that count, which every record joins with its full weight.
        message = r": values that miss what is declared are counted with .* above [0-9.]+\.$"
        with pytest.raises(BadInput, match=message):
            made(tmp_path, outlier_epsilon=1e-3, ledger=file, **how)
        return
    with pytest.raises(BadInput, match=r"A cap of epsilon 0\.2 cannot be kept") as refusal:
        made(tmp_path, outlier_epsilon=0.2, ledger=file, **how, **facts)
    assert file.read_bytes() == before
    # What is reachable is said, and a little more is reached.
    reach = float(str(refusal.value).split("Ask for a cap above ")[1].split(";")[0])
    assert 0.2 < reach < 1
    release = made(tmp_path, outlier_epsilon=reach + 0.01, ledger=file, **how, **facts)
    assert release.certificate.entries


def test_a_cap_is_checked_against_all_that_comes_before_the_weights(tmp_path):
    # Half of the columns are open: finding out, and counting the others, is paid by everybody.
    partly = Schema(
        (
            Column(name="who", kind=Kind.INTEGER, role=Role.ID),
            Column(name="age", kind=Kind.INTEGER, null=False),
            Column(name="sex", kind=Kind.BOOLEAN, null=False),
        )
    )
    ways = "is found out and values that miss what is declared are counted and single columns are"
    with pytest.raises(BadInput, match=ways) as refusal:
        made(tmp_path, schema=partly, protect_outliers=True, outlier_epsilon=0.5)
    reach = float(str(refusal.value).split("Ask for a cap above ")[1].split(";")[0])
    rho = Budget(1.0, 1e-9, thresholds=1e-10).rho
    # Inference, then 1 % of the remaining budget for strays, then single columns.
    before = 1 - Fraction(15, 16) * Fraction(99, 100) * Fraction(3, 4)
    assert reach == pytest.approx(epsilon_of_rho(rho * before, 0.9e-9), rel=0.01)
    who = {"protect_outliers": True, "protect_where": ["age >= 8"]}
    release = made(tmp_path, schema=partly, outlier_epsilon=reach + 0.01, **who)
    (told,) = release.certificate.caps
    assert told.kept(release.certificate.entries, 1.0)


def test_a_cap_for_nobody_is_refused(tmp_path):
    with pytest.raises(BadInput, match="A cap is for somebody"):
        made(tmp_path, outlier_epsilon=0.5)
    for odd in (0.0, -1.0, 1.5, float("nan")):
        with pytest.raises(BadInput, match="outlier_epsilon"):
            made(tmp_path, protect_outliers=True, outlier_epsilon=odd)


def test_gamma_below_zero_is_refused():
    with pytest.raises(BadInput, match="weights would grow with the risk"):
        RiskWeights(gamma=-0.1)


# --- a condition that holds for all, or for none --------------------------------------------------


def test_a_condition_that_no_code_meets_bounds_nobody():
    weights = RowWeights.of({"age": [0, 1]}, [1], [UNIT, 5])
    assert weights.most_where("age", [False, False]) == 0
    assert weights.most_where("sex", [False, False]) == 0


@settings(max_examples=150)
@given(st.data())
def test_the_most_of_a_condition_is_that_of_its_heaviest_row(data):
    names = ["a", "b", "c"]
    sizes = {name: data.draw(st.integers(1, 3)) for name in names}
    scores = st.integers(0, 6)
    among = data.draw(st.lists(st.sampled_from(names), unique=True, min_size=1))
    tables = {n: data.draw(st.lists(scores, min_size=sizes[n], max_size=sizes[n])) for n in among}
    if data.draw(st.booleans()):
        cells = sizes["c"] * sizes["a"]
        joint = data.draw(st.lists(scores, min_size=cells, max_size=cells))
        tables["c", "a"] = np.reshape(joint, (sizes["c"], sizes["a"]))
    thresholds = sorted(data.draw(st.sets(st.integers(0, 20), max_size=4)))
    steps = len(thresholds) + 1
    weights = RowWeights.of(
        tables,
        thresholds,
        data.draw(st.lists(st.integers(0, UNIT), min_size=steps, max_size=steps)),
    )
    column = data.draw(st.sampled_from(names))
    codes = data.draw(st.lists(st.booleans(), min_size=sizes[column], max_size=sizes[column]))
    heaviest = 0
    for row in np.ndindex(*sizes.values()):
        if codes[row[names.index(column)]]:
            score = score_by_hand(weights, dict(zip(names, row, strict=True)))
            step = sum(limit <= score for limit in weights.thresholds)
            heaviest = max(heaviest, weights.weights[step])
    assert weights.most_where(column, codes) >= heaviest
    # Exact where weights fall with the score, as those of risk do; of tables that share a column
    # the least scores need not meet in one row.
    falling = list(weights.weights) == sorted(weights.weights, reverse=True)
    if falling and ("c", "a") not in tables:
        assert weights.most_where(column, codes) == heaviest


def test_everybody_may_be_capped(tmp_path):
    release = made(tmp_path, protect_where=["age >= 0"], rows=None)
    (told,) = release.certificate.caps
    assert told.kept(release.certificate.entries, 1.0)
    assert release.table.num_rows >= 1


# --- the certificate ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def released():
    return synthesize(
        rows(),
        epsilon=1.0,
        schema=NULLABLE,
        mechanism="mst",
        rows=5,
        protect_where=["age >= 8", "sex = true"],
        outlier_epsilon=0.6,
    )


def test_the_certificate_says_who_is_capped_in_plain_words(released):
    lines = released.certificate.promise
    assert "Records with age >= 8, missing or unreadable: epsilon at most 0.6." in lines
    assert "Records with sex = true, missing or unreadable: epsilon at most 0.6." in lines
    assert "Records with age &gt;= 8, missing or unreadable" in released.certificate._repr_html_()


def test_another_delta_of_a_cap_is_said():
    with Ledger.open(rows(), SCHEMA, Budget(1.0, 1e-9), caps=[Cap(OLD, Budget(0.5, 1e-12))]) as one:
        lines = one.close().promise
    assert (
        "Records with age >= 8, missing or unreadable: epsilon at most 0.5, delta at most 1e-12."
        in lines
    )


def test_true_costs_recomputed_from_the_certificate_never_exceed_the_cap(released):
    certificate = released.certificate
    encoding = Encoding(released.schema)
    curve = certificate.public["risk curve"]
    weights = weights_told(curve)
    for told in certificate.caps:
        where = Where.parse(told.where)
        heaviest = weights.most_where(where.column, where.codes(encoding, STORAGE))
        total = sum(
            own_cost(
                entry.event,
                told.budget.order,
                *((heaviest, UNIT) if "weights" in entry.request else (UNIT, UNIT)),
            )
            for entry in certificate.entries
        )
        assert 0 < total <= float(told.budget.rho)
        assert total == pytest.approx(float(told.spent(certificate.entries)), rel=1e-9)
        assert epsilon_of_rho(total, told.budget.converting) <= 0.6


def checks(folder):
    return {check.what: check.passed for check in verify(folder)}


def edited(folder, edit):
    """Edit a certificate as somebody would who knows how it is hashed."""
    path = folder / "certificate.json"
    content = json.loads(path.read_bytes())
    edit(content)
    for item in content["public"].values():
        item["sha256"] = digest(spelled({"value": item["value"]}))
    content.pop("sha256")
    content["sha256"] = digest(spelled(content))
    path.write_bytes(spelled_for_people(content))
    return checks(folder)


def heavier(content):
    for event in content["events"]:
        if "weights" in event["request"]:
            event["request"]["weights"]["capped"]["age >= 8"] = UNIT


def unnamed(content):
    for event in content["events"]:
        event["request"].get("weights", {}).pop("capped", None)


TAMPERED = {
    "a smaller cap": lambda c: c["public"]["caps"]["value"][0].update(epsilon=0.5, order=None),
    "heavier records": heavier,
    "no word of their weight": unnamed,
    "no word of weights": lambda c: [
        event["request"].pop("weights", None) for event in c["events"]
    ],
    "another unit": lambda c: c["promise"].update(unit=str(Replacement())),
}


def test_verify_computes_caps_again(released, tmp_path):
    released.save(tmp_path / "release")
    found = checks(tmp_path / "release")
    assert all(found.values())
    assert found[CHECKED]
    assert found["records with sex = true, missing or unreadable lost no more than promised"]


@pytest.mark.parametrize("edit", TAMPERED.values(), ids=TAMPERED)
def test_a_certificate_whose_caps_do_not_add_up_fails(edit, released, tmp_path):
    released.save(tmp_path / "release")
    found = edited(tmp_path / "release", edit)
    assert found["nothing in it was changed"]
    assert not found[CHECKED]


def test_weights_that_nobody_can_have_fail_as_a_malformed_request(released, tmp_path):
    for place, odd in enumerate((-1, UNIT + 1, 0.5, None, True)):
        folder = tmp_path / str(place)
        released.save(folder)

        def edit(content, odd=odd):
            content["events"][-1]["request"]["weights"]["capped"]["age >= 8"] = odd

        found = edited(folder, edit)
        assert not found["each event follows from its query and the privacy unit"]
        assert not found[CHECKED]


def test_caps_of_older_certificates_are_checked_and_shown_as_they_were(released, tmp_path):
    released.save(tmp_path / "release")

    def older(content):
        for cap in content["public"]["caps"]["value"]:
            del cap["also"]

    found = edited(tmp_path / "release", older)
    assert all(found.values())
    assert found["records with age >= 8 lost no more than promised"]
    told = [cap.text for cap in read_certificate(tmp_path / "release").caps]
    assert told == ["age >= 8", "sex = true"]


@pytest.mark.parametrize("odd", ["missing", ["rich"], [["missing"]], 5, None])
def test_a_cap_for_unknown_values_makes_a_certificate_unreadable(odd, released, tmp_path):
    released.save(tmp_path / "release")

    def edit(content):
        content["public"]["caps"]["value"][0]["also"] = odd

    assert edited(tmp_path / "release", edit) == {"the certificate can be read": False}


def test_releases_without_caps_have_no_such_check(tmp_path):
    with Ledger.open(rows(), SCHEMA, BUDGET) as ledger:
        ledger.measure([("age",)], rho=ledger.rest())
        publish(tmp_path / "release", {}, ledger.close())
    assert not [what for what in checks(tmp_path / "release") if "records with" in what]
