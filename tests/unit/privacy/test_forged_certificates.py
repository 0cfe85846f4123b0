"""A forger edits certificates, re-hashes them and makes their totals consistent again.

`verify` must fail every certificate that states less than its queries cost or is malformed. It must
never raise, and never take long. The costs are recomputed here by formulas of their own.
"""

import copy
import json
import random
import re
import time
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256

import pytest

from helpers.certificates import BUDGET, CERTIFICATES, rows
from understudy.errors import BadInput
from understudy.privacy.account import Entry
from understudy.privacy.accountant import cost, total_epsilon
from understudy.privacy.budget import Budget
from understudy.privacy.certificate import Certificate, certificate_from_json
from understudy.privacy.events import (
    Exponential,
    Gaussian,
    Reveal,
    SampledGaussian,
    Threshold,
    event_from_json,
)
from understudy.privacy.folder import publish, verify
from understudy.privacy.ledger import Ledger
from understudy.privacy.limits import check_events
from understudy.privacy.spelling import DEFECTS
from understudy.privacy.unit import Record, Replacement

QUERIES = "each event follows from its query and the privacy unit"
READABLE = "the certificate can be read"
RECORD, REPLACEMENT = "one record, added or removed", "one record, replaced by another"
PERSON = "one person (patient) with all their rows, of which at most 3 count"
MOST_SECONDS = 4.0
"""Of processor time; a verification takes milliseconds, or about a second for composed losses."""


@pytest.fixture(scope="module")
def certificates():
    return {name: make() for name, make in CERTIFICATES.items()}


@pytest.fixture(scope="module")
def contents(certificates):
    plain = {name: one.to_json() for name, one in certificates.items()}
    return {name: json.loads(json.dumps(one)) for name, one in plain.items()}


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "release"
    folder.mkdir()
    return folder


def rehashed(content):
    """As a forger who knows the format would hash it."""
    hashed = {name: part for name, part in content.items() if name not in {"sha256", "signature"}}
    text = json.dumps(hashed, sort_keys=True, separators=(",", ":"))
    return {**hashed, "sha256": sha256(text.encode()).hexdigest()}


def rebuilt(content):
    """As a forger would who computes every total again; as it is where nothing can be computed."""
    try:
        again = certificate_from_json(content).to_json()
    except DEFECTS:
        return rehashed(content)
    return rehashed(json.loads(json.dumps(again)))


def verified(folder, content):
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    (folder / "certificate.json").write_text(text + "\n", encoding="utf-8")
    began = time.process_time()
    checks = verify(folder)
    assert time.process_time() - began < MOST_SECONDS
    return checks


def failed(folder, content):
    return {check.what for check in verified(folder, content) if not check.passed}


# --- what queries cost, by formulas of our own ----------------------------------------------------


def by_unit(text, one, swap):
    if text == REPLACEMENT:
        return swap
    return one * (9 if text == PERSON else 1)


def steps_of(unit):
    return {RECORD: 1, REPLACEMENT: 2, PERSON: 3}[unit]


def true_squared(request, unit):
    """The squared sensitivity of a query that adds Gaussian noise; None of others."""
    weight = Fraction(request.get("weights", {}).get("most", 1024), 1024)
    whole = request["weights"]["most"] if "weights" in request else 1
    match request["door"]:
        case "measure":
            count = len(request["cliques"])
            return by_unit(unit, count, 2 * count) * weight**2
        case "malformed":
            return Fraction(1)
        case "values":
            return by_unit(unit, Fraction(len(request["columns"])), 2 * len(request["columns"]))
        case "scores":
            return len(request["cliques"]) * Fraction(2**40)
        case "train":
            return by_unit(unit, Fraction(2**48), 4 * 2**48) * weight**2
        case "sum":
            return by_unit(unit, *row_map_squared(request)) * whole**2
    return None


def row_map_squared(request):
    match request["row_map"]:
        case "ClippedMoments":
            one = swap = 0
            for low, high in request["ranges"].values():
                one += max(x * x * 2**24 + x**4 for x in (low, high))
                swap += (high - low) ** 2 * (2**24 + (high + low) ** 2)
            apart = 2 * one if request["classes"] > 1 else one
            return Fraction(one), Fraction(max(swap, apart))
        case "NormalScores":
            columns = len(request["columns"])
            return Fraction(2**48 * (columns - 1), 2 * columns), Fraction(2**48)
        case "InducingFeatures":
            unit = 29 * 2**20
            return Fraction(3 * unit**2), Fraction(9 * unit**2, 2)
        case "ModelMerit":
            return Fraction(2**32), Fraction(2**32)
    return Fraction(1), Fraction(2)


def true_event(item, unit):
    """The event of a request with the stated noise; None where it states less."""
    request, stated = item["request"], event_from_json(item["event"])
    squared = true_squared(request, unit)
    match request["door"]:
        case "select":
            return stated if item["event"]["kind"] == "Exponential" else None
        case "select_best":
            weight = Fraction(request.get("weights", {}).get("most", 1024), 1024)
            run = by_unit(unit, Fraction(2**48), 4 * 2**48) * weight**2
            score = by_unit(unit, Fraction(2**32), 2**32) * (weight * 1024) ** 2
            score = score if "weights" in request else score / 1024**2
            base = [one.sensitivity_squared for one in stated.base]
            return stated if base == [run, score] else None
        case "train":
            sampled = request.get("rate") is not None
            if sampled != (item["event"]["kind"] == "SampledGaussian"):
                return None
            if sampled and stated.rate < request["rate"]:
                return None
            enough = stated.steps >= request["steps"] and stated.sensitivity_squared >= squared
            return stated if enough and stated.scale >= 2**16 else None
        case "values":
            enough = stated.arrivals >= (3 if unit == PERSON else 1)
            enough = enough and stated.columns >= len(request["columns"])
            return stated if enough and stated.sensitivity_squared >= squared else None
        case "reveal" | "schema":
            return stated
    if stated.unit_cells is not None and (unit == PERSON or stated.unit_cells < squared):
        return None
    return stated if stated.sensitivity_squared >= squared else None


def honest(content):
    """Whether a certificate states at least what its queries cost."""
    unit, budget = content["promise"]["unit"], content["budget"]
    if unit not in {RECORD, REPLACEMENT, PERSON}:
        return False
    if content["promise"]["status"] == "NOT PRIVATE":
        return content["promise"]["epsilon"] == "infinity"
    events = [true_event(item, unit) for item in content["events"]]
    if None in events:
        return False
    made = Budget(budget["epsilon"], budget["delta"], budget["order"], budget["thresholds"])
    spent = sum(Fraction(cost(event, made.order)) for event in events)
    if content["planned"] is not None:
        return content["promise"]["epsilon"] >= total_epsilon(events, made.delta) * (1 - 1e-8)
    kept = spent <= made.rho * (1 + Fraction(1, 10**8))
    return kept and content["promise"]["epsilon"] >= budget["epsilon"] * (1 - 1e-8)


@pytest.mark.parametrize("name", CERTIFICATES)
def test_real_certificates_verify_and_are_honest(name, contents, folder):
    assert failed(folder, contents[name]) == set()
    assert honest(contents[name])
    assert rehashed(contents[name])["sha256"] == contents[name]["sha256"]
    assert rebuilt(contents[name]) == contents[name]


# --- each field, changed on purpose ---------------------------------------------------------------


LIGHTEST = {"weights": {"most": 1, "of": 1024}}


def understatements(item):
    """Edits of one event that state less than its query costs, or another query."""
    for edit in of_event(item["event"]):
        yield "event", edit
    for edit in (*of_request(item["request"]), *of_training(item)):
        yield "request", edit


def of_event(event):
    if "sensitivity_squared" in event:
        exact = Fraction(event["sensitivity_squared"])
        yield from (
            {"sensitivity_squared": value}
            for value in ("1", "0", "1/1000000000000")
            if value != event["sensitivity_squared"]
        )
        yield {"sensitivity_squared": str(exact * (1 - Fraction(1, 10**6)))}
        yield {"sensitivity_squared": str(exact / 2), "unit_cells": None}
    if "unit_cells" in event:
        yield from ({"unit_cells": n} for n in (None, 0, 1, 3, 10**6) if event["unit_cells"] != n)
    for number in ("steps", "columns", "arrivals"):
        yield from ({number: value} for value in (1, 2) if event.get(number, 0) > value)
    if "rate" in event:
        yield {"rate": event["rate"] / 2}
    if event["kind"] == "BestOf":
        lighter = [{**one, "sensitivity_squared": "1"} for one in event["base"]]
        whole = event["base"]
        yield from ({"base": base} for base in (lighter, whole[:1], whole[1:], whole[::-1]))
        yield {"gamma": "1/2"}
    for kind in ("Exponential", "Gaussian", "Reveal", "Free"):
        if event["kind"] != kind:
            yield {"kind": kind}


def of_request(request):
    for door in ("measure", "values", "select", "scores", "sum", "train", "reveal", "weigh", ""):
        if request["door"] != door:
            yield {"door": door}
    if "weights" in request:
        for odd in ({"most": 1}, {"of": 1}, {"of": 2**20}, {"capped": {"age >= 9": 0}}):
            yield {"weights": {**request["weights"], **odd}}
        yield {"weights": None}
    else:
        yield LIGHTEST
    if request["door"] in {"select", "scores"}:
        yield {"sensitivity": "1/1000"}
        yield {"scores": []}
        yield {"scores": [{"kind": "Quality", "count": 3}]}
        yield {"scores": ["L1Distance"]}
    if request.get("row_map") == "ClippedMoments":
        yield {"ranges": {name: [0, 1] for name in request["ranges"]}}
        yield {"ranges": {}}
        yield {"row_map": "ScoreCells"}
    yield {"note": "trust me"}


def of_training(item):
    event, request = item["event"], item["request"]
    if "rate" in event:
        yield {"rate": None}
        yield {"rate": event["rate"] / 2}
    if event["kind"] == "BestOf":
        yield {"runs": 1.0}
        yield {"settings": [{**one, "steps": 100 * one["steps"]} for one in request["settings"]]}


SWAPPED = {
    "Exponential": {"kind": "Exponential", "epsilon": 1e-6},
    "Gaussian": {
        "kind": "Gaussian",
        "scale": 1e9,
        "sensitivity_squared": "1",
        "steps": 1,
        "unit_cells": None,
    },
}


@pytest.mark.untraced
@pytest.mark.parametrize("name", [name for name in CERTIFICATES if name != "revealed"])
def test_an_event_that_states_less_than_its_query_costs_fails(name, contents, folder):
    missed, tried = [], 0
    for place, item in enumerate(contents[name]["events"]):
        edits = list(understatements(item))
        edits += [
            ("event", event) for kind, event in SWAPPED.items() if item["event"]["kind"] != kind
        ]
        for part, edit in edits:
            content = copy.deepcopy(contents[name])
            edited = content["events"][place]
            if "kind" in edit and len(edit) > 1:
                edited[part] = dict(edit)
            else:
                edited[part].update(edit)
            if content["planned"] is not None:
                content["planned"] += [edited["event"]]
            tried += 1
            if not failed(folder, rebuilt(content)):
                missed.append((item["request"]["door"], part, edit))
    assert tried >= 20
    # Sums of rows that weigh 1 count in whole steps, as sums of unweighted rows do.
    assert [one for one in missed if one != ("sum", "request", LIGHTEST)] == []


@pytest.mark.parametrize("name", CERTIFICATES)
def test_a_unit_that_is_unknown_or_protects_more_fails(name, contents, folder):
    own = contents[name]["promise"]["unit"]
    larger = "one person (patient) with all their rows, of which at most 9 count"
    unknown = (
        "everybody, for ever",
        "",
        "one record",
        own + " ",
        "one person () with all",
        5,
        None,
    )
    for unit in (RECORD, REPLACEMENT, PERSON, larger, *unknown):
        if unit == own or (name == "person" and unit in {RECORD, REPLACEMENT}):
            continue
        content = copy.deepcopy(contents[name])
        content["promise"]["unit"] = unit
        public = {"sha256": digest(unit), "value": unit}
        for public_too in (False, True):
            if public_too:
                content["public"]["unit"] = public
            # Format 2 states it as data, too.
            for stated in (content["unit"], {"kind": "record"}, {"kind": "everybody"}, None):
                content["unit"] = stated
                assert failed(folder, rehashed(content)), (unit, stated)
            found = failed(folder, rebuilt(content))
            assert found, unit


def digest(value):
    text = json.dumps({"value": value}, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()


# --- every field, changed at random ---------------------------------------------------------------


def paths(content, at=()):
    """Every part of a certificate, but for its hashes."""
    parts = content.items() if isinstance(content, dict) else enumerate(content)
    for key, value in parts:
        if key == "sha256":
            continue
        yield (*at, key)
        if isinstance(value, dict | list):
            yield from paths(value, (*at, key))


def part_at(content, path):
    for key in path:
        content = content[key]
    return content


ODD = (
    None,
    True,
    "",
    "text",
    0,
    -1,
    1.5,
    10**30,
    [],
    {},
    [[]],
    {"kind": "Gaussian"},
    "1/3",
    "9" * 50,
)


def mutation(rng, value):
    """A new value for a part, or None for a removal; and what was done to it."""
    if isinstance(value, bool) or value is None or rng.random() < 0.3:
        return "replaced", rng.choice(ODD)
    if isinstance(value, int | float):
        factor = rng.choice([0, -1, 0.5, 2, 1e-3, 1e3, 1e-9, 1e9, 1 - 1e-6])
        scaled = value * factor
        return "scaled", int(scaled) if isinstance(value, int) else scaled
    if isinstance(value, str) and re.fullmatch(r"-?\d+(/\d+)?", value):
        factor = Fraction(rng.choice(["0", "-1", "1/2", "2", "1/1000000", "1000000"]))
        return "scaled", str(Fraction(value) * factor)
    if isinstance(value, str):
        return "replaced", rng.choice([value.upper(), value + " ", value[:-1], ""])
    if isinstance(value, list) and value:
        chosen = rng.randrange(len(value))
        edits = {
            "dropped": value[:chosen] + value[chosen + 1 :],
            "doubled": [*value, value[chosen]],
            "shuffled": value[::-1],
        }
        return rng.choice(list(edits.items()))
    if isinstance(value, dict) and value:
        chosen = rng.choice(list(value))
        rest = {name: part for name, part in value.items() if name != chosen}
        edits = {
            "dropped": rest,
            "renamed": {**rest, chosen + "_": value[chosen]},
            "added": {**value, "extra": 1},
        }
        return rng.choice(list(edits.items()))
    return "replaced", rng.choice(ODD)


FREE = (
    r"versions(/.*)?|trusted(/.*)?|bought(/.*)?|ledger_head",
    r"public(/(schema|storage|reading|target|discovery|unit)(/.*)?)?",
    # Which columns are asked for, and what is tried, is for the curator to choose.
    r"events/\d+/request/(cliques|inputs|columns|target|loss|hidden|clip|merged|begun)(/.*)?",
    # Where another end of a range, or another score, has the larger share of a sensitivity.
    r"events/\d+/request/(ranges|scores|classes)(/.*)?",
    r"events/\d+/request/settings(/.*)?",
    # A weight under a condition is taken for the largest where none is stated.
    r"events/\d+/request/weights(/(capped|by_step|scores)(/.*)?)?",
    # Noise that is stated consistently: more of it costs less.
    r"events/\d+/event(/(scale|epsilon|threshold|gamma|base(/.*)?|reason))?",
    # An order that is worth the same, to nine digits: it is flat around the best one.
    r"budget/order",
    # The order of requests, and requests that are planned and not made.
    r"events|planned(/.*)?",
)


@pytest.mark.untraced
@pytest.mark.parametrize("name", CERTIFICATES)
def test_whatever_a_forger_changes_is_found_unless_it_is_his_to_choose(name, contents, folder):
    rng = random.Random(f"forger of {name}")  # noqa: S311 - repeatable on purpose
    every = list(paths(contents[name]))
    accepted = tried = 0
    for trial in range(300):
        content, done = copy.deepcopy(contents[name]), []
        for _ in range(rng.choice([1, 1, 1, 2])):
            path = rng.choice(every)
            try:
                owner = part_at(content, path[:-1])
                before = owner[path[-1]]
                kind, owner[path[-1]] = mutation(rng, before)
            except (LookupError, TypeError):
                continue  # an earlier edit took it away
            if owner[path[-1]] != before or type(owner[path[-1]]) is not type(before):
                done.append((kind, "/".join(map(str, path))))
        remade = (rebuilt if trial % 2 else rehashed)(content)
        if remade == contents[name]:
            continue
        tried += 1
        if failed(folder, remade):
            continue
        accepted += 1
        assert honest(remade), done
        free = [any(re.fullmatch(one, path) for one in FREE) for _, path in done]
        # Totals are computed again by the clever forger, so their edits are gone.
        assert all(free) or trial % 2, done
    assert tried >= 200  # of ten certificates
    assert accepted < 0.6 * tried


UNREAD = {"versions", "trusted", "bought", "ledger_head"}
"""What holds text alone, so that any other text may stand there."""


def kind_of(path, content):
    """A field, wherever it stands; of a query with what is asked."""
    named = tuple("*" if isinstance(key, int) else key for key in path)
    asked = path[0] in {"events", "planned"} and len(path) > 1
    door = content["events"][path[1]]["request"]["door"] if asked and path[0] == "events" else ""
    return door, *named


@pytest.mark.slow
@pytest.mark.parametrize("name", CERTIFICATES)
def test_no_field_may_hold_just_anything(name, contents, folder):
    rng = random.Random(f"fields of {name}")  # noqa: S311 - repeatable on purpose
    whole, seen, blind = contents[name], set(), []
    for path in paths(whole):
        field = kind_of(path, whole)
        if path[0] in UNREAD or field in seen:
            continue
        seen.add(field)
        for trial in range(40):
            content = copy.deepcopy(whole)
            owner = part_at(content, path[:-1])
            _, owner[path[-1]] = mutation(rng, owner[path[-1]])
            # What stands in public inputs is free, so long as its hash is right.
            if failed(
                folder, (rebuilt if trial % 2 and path[0] != "public" else rehashed)(content)
            ):
                break
        else:
            blind.append(field)
    assert blind == []
    assert len(seen) > 50


# --- format 1 -------------------------------------------------------------------------------------


def relabelled(content):
    """Format 2 written as if version 0.1.0 had: without the facts that it did not state."""
    content = copy.deepcopy(content)
    content["format"] = "understudy certificate 1"
    del content["unit"]
    content["public"].pop("reading", None)
    for item in content["events"]:
        request = item["request"]
        for name in ("rate", "ranges", "classes"):
            request.pop(name, None)
        if request["door"] in {"select", "scores"}:
            request["scores"] = sorted({term["kind"] for term in request["scores"]})
    return content


@pytest.mark.parametrize("name", CERTIFICATES)
def test_relabelling_as_format_1_gains_nothing_that_can_be_recomputed(name, contents, folder):
    whole = contents[name]
    renamed = {**copy.deepcopy(whole), "format": "understudy certificate 1"}
    assert failed(folder, rehashed(renamed))  # the facts of format 2 do not belong there
    old = relabelled(whole)
    assert failed(folder, rebuilt(old)) == set()
    (check,) = [check for check in verified(folder, rebuilt(old)) if check.what == QUERIES]
    assert "format 1" in check.note
    for place, item in enumerate(whole["events"]):
        event = item["event"]
        if "sensitivity_squared" not in event or item["request"].get("ranges"):
            continue
        forged = copy.deepcopy(old)
        forged["events"][place]["event"]["sensitivity_squared"] = "1/1000000"
        if forged["planned"] is not None:
            forged["planned"].append(forged["events"][place]["event"])
        assert failed(folder, rebuilt(forged))


def test_format_1_with_facts_of_a_later_version_fails(contents, folder):
    old = relabelled(contents["record"])
    old["public"]["reading"] = contents["record"]["public"]["reading"]
    assert failed(folder, rebuilt(old)) == {"its facts are those of its format"}


@pytest.mark.untraced
def test_whatever_is_changed_in_format_1_verify_never_raises(contents, folder):
    rng = random.Random("forger of format 1")  # noqa: S311 - repeatable on purpose
    old = rebuilt(relabelled(contents["record"]))
    every = [path for path in paths(old) if path[0] != "public"]
    found = 0
    for trial in range(200):
        content, path = copy.deepcopy(old), rng.choice(every)
        owner = part_at(content, path[:-1])
        _, owner[path[-1]] = mutation(rng, owner[path[-1]])
        found += bool(failed(folder, (rebuilt if trial % 2 else rehashed)(content)))
    assert found > 100


def test_format_1_says_what_it_does_not_state(contents, folder):
    (check,) = [
        check
        for check in verified(folder, rebuilt(relabelled(contents["record"])))
        if check.what == QUERIES
    ]
    assert check.passed
    for fact in ("the sensitivity of moments (2", "the sampling rate", "the sensitivity of scores"):
        assert fact in check.note


# --- what would take long -------------------------------------------------------------------------


def too_large(folder, content):
    found = [check for check in verified(folder, content) if not check.passed]
    assert [check.what for check in found] == [READABLE]
    return found[0].note


def with_event(content, **facts):
    content = copy.deepcopy(content)
    content["events"][0]["event"].update(facts)
    return rehashed(content)


@pytest.mark.untraced
def test_certificates_that_are_too_large_are_refused_at_once(contents, folder):
    content = contents["fixed"]
    limit = "too large to verify"
    digits = "1" + "0" * 10**6
    assert limit in too_large(folder, with_event(content, sensitivity_squared=digits))
    assert limit in too_large(folder, with_event(content, sensitivity_squared=f"1/{digits}"))
    assert limit in too_large(folder, with_event(content, steps=2**63))
    for number, part in ((20_000, "events"), (20_000, "planned")):
        many = copy.deepcopy(content)
        many[part] = many[part][:1] * number
        assert f"{limit}: " in too_large(folder, rehashed(many))
    wide = copy.deepcopy(content)
    wide["public"]["target"] = {"sha256": "", "value": [0] * 2**20}
    assert "values" in too_large(folder, rehashed(wide))
    deep = 1
    for _ in range(300):
        deep = [deep]
    nested = copy.deepcopy(content)
    nested["public"]["target"] = {"sha256": digest(deep), "value": deep}
    assert "deep" in too_large(folder, rehashed(nested))
    files = {f"{place}.csv": "0" * 64 for place in range(20_000)}
    assert "files" in too_large(folder, rehashed({**content, "files": files}))
    (folder / "certificate.json").write_bytes(b" " * (2**26 + 1))
    (check,) = verify(folder)
    assert not check.passed
    assert "too large to verify: bytes" in check.note


def test_many_sampled_trainings_are_refused_at_once(contents, folder):
    content = copy.deepcopy(contents["fixed training"])
    (event,) = content["planned"]
    # Close to the most expensive integral, each a little different.
    content["planned"] += [{**event, "scale": 2.0**24 * (1 + k / 10**6)} for k in range(200)]
    assert "integrals" in too_large(folder, rehashed(content))


def certificate(entries, planned=None, **facts):
    """One that no ledger has made."""
    stated = {
        "budget": BUDGET,
        "unit": str(Record()),
        "entries": tuple(entries),
        "public": {
            "schema": "",
            "storage": {},
            "reading": {"source": "arrow"},
            "unit": str(Record()),
        },
        "random_source": "the operating system's cryptographic generator",
        "private_noise": True,
        "planned": planned,
    }
    return Certificate(**{**stated, **facts})


def asked(event, cliques=1):
    return Entry({"door": "measure", "cliques": [["age"]] * cliques}, event)


@pytest.mark.parametrize(
    "scales",
    [
        [0.5 + 50 * k for k in range(40)],
        [0.5, 2000.0],
        [2000.0] * 2000,
        [0.5] * 5000,
    ],
    ids=["forty", "far apart", "many", "many small"],
)
def test_plans_whose_exact_total_takes_long_get_their_zcdp_bound(scales, tmp_path):
    plan = tuple(Gaussian(scale, Fraction(1), unit_cells=1) for scale in scales)
    budget = Budget(10**5, 1e-9)
    made = certificate([asked(plan[0])], plan, budget=budget)
    publish(tmp_path / "release", {}, made)
    began = time.process_time()
    checks = verify(tmp_path / "release")
    assert time.process_time() - began < MOST_SECONDS
    assert [check.what for check in checks if not check.passed] == []
    assert any("zCDP" in check.note for check in checks)


@pytest.mark.untraced
def test_what_could_not_be_verified_is_not_made(certificates, tmp_path):
    with pytest.raises(BadInput, match="at most 10,000 queries"):
        check_events(10_001)
    deep = 1
    for _ in range(200):
        deep = [deep]
    with Ledger.open(rows(), None, BUDGET, discover=True) as ledger:
        with pytest.raises(BadInput, match="cannot be listed"):
            ledger.declare("fact", deep)
        for odd in (
            Gaussian(80.0, Fraction(1), unit_cells=5),
            Threshold(80.0, 900, Fraction(1), columns=1, arrivals=2),
            Reveal("rows"),
        ):
            with pytest.raises(BadInput, match="A plan cannot hold the event"):
                ledger.fix([odd])
    with Ledger.open(rows(), None, BUDGET, discover=True, unit=Replacement()) as ledger:
        with pytest.raises(BadInput, match="one record only"):
            ledger.fix([SampledGaussian(0.5, 2.0**20, Fraction(1), 1)])
        ledger.fix([Exponential(0.01), Threshold(800.0, 9000, Fraction(2), 1, 1)])
    large = replace(certificates["fixed"], public={"fact": [0] * 2**20})
    with pytest.raises(BadInput, match="too large to verify: values"):
        publish(tmp_path / "release", {}, large)
    assert list(tmp_path.iterdir()) == []


def test_an_enormous_epsilon_can_be_told():
    told = certificate([], budget=Budget(1e9, 1e-9)).promise
    assert any("Infinity" in line for line in told)


def test_a_plan_holds_possible_events_only(certificates, tmp_path):
    made = certificates["fixed"]
    odd = Gaussian(80.0, Fraction(1), unit_cells=5)
    publish(tmp_path / "release", {}, replace(made, planned=(*made.planned, odd)))
    found = [check.what for check in verify(tmp_path / "release") if not check.passed]
    assert found == ["the plan holds possible events only"]
