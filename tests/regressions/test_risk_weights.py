"""Weights by risk as papers have them, where they break; and what must never be told of a row."""

import json
import re

import numpy as np
import pyarrow as pa
import pytest

from understudy.column import Column, Kind
from understudy.errors import UnderstudyError
from understudy.pipeline import synthesize
from understudy.privacy.answers import Measurement
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.ledger_file import create_ledger
from understudy.privacy.table import PrivateTable
from understudy.privacy.weights import UNIT
from understudy.release import load
from understudy.schema import Schema
from understudy.select.risk import RiskWeights, weighed, weights_told

CODES = Schema((Column(name="s", kind=Kind.INTEGER, bounds=(0, 1), null=False),))
COMMON, RARE = 0, 1


def literal(rows):
    """The paper's weighted count of rare rows: the threshold is a percentile of the rows' scores.

    Rare rows score 9, others 5; gamma is 1.
    """
    scores = np.where(rows == RARE, 9.0, 5.0)
    threshold = np.percentile(scores, 90, method="lower")
    weights = np.exp(-np.maximum(scores - threshold, 0))
    return float(weights[rows == RARE].sum())


def ours(rows, counted):
    """The same count with weights from noisy counts, which are the same for both tables."""
    known = [Measurement(("s",), np.array(counted), 3.0)]
    table = pa.table({"s": rows})
    with Ledger.open(table, CODES, Budget(1.0, 1e-9)) as ledger:
        weights = weighed(RiskWeights(), ledger, known).weights
    return PrivateTable(table, CODES).count([("s",)], weights)[0][RARE] / UNIT


def test_a_percentile_of_the_rows_moves_a_count_by_99_where_1_is_claimed():
    rows = np.array([RARE] * 101 + [COMMON] * 899)
    other = rows.copy()
    other[0] = COMMON
    assert literal(rows) == pytest.approx(101.0)
    assert literal(other) == pytest.approx(1.83, abs=0.01)
    assert literal(rows) - literal(other) == pytest.approx(99.2, abs=0.05)
    # Ours: by less than 1, whatever the noisy counts were, for one goes and nobody else changes.
    for counted in (
        [899.0, 101, 0],
        [890.0, 110, 2],
        [905.0, 95, -2],
        [1000.0, -5, 1],
        [0.0, 1000, 0],
    ):
        assert 0 < ours(rows, counted) - ours(other, counted) <= 1


# --- nothing that leaves tells a row's score or weight --------------------------------------------

ROWS = 173
"""No other list that a release holds is as long."""
SCHEMA = Schema(
    (
        Column(name="age", kind=Kind.INTEGER, bounds=(0, 40), null=False),
        Column(name="job", kind=Kind.CATEGORICAL, categories=("a", "b", "c"), null=False),
    ),
    rows_bound=10**4,
)


def table():
    rng = np.random.default_rng(3)
    ages = np.minimum(rng.geometric(0.2, ROWS), 40)
    ages[-1] = 40
    return pa.table({"age": ages, "job": rng.choice(["a", "b", "c"], ROWS, p=[0.7, 0.25, 0.05])})


def own_numbers(release):
    """By row its score and its weight, as only the ledger may know them."""
    curve = release.certificate.public["risk curve"]
    codes = {
        "age": table()["age"].to_pylist(),
        "job": [*map("abc".index, table()["job"].to_pylist())],
    }
    scores = weights_told(curve).scores(codes).tolist()
    steps = np.searchsorted(curve["from_score"], scores, "right") - 1
    return scores, [curve["weight"][step] for step in steps]


def lists(content):
    """All lists in plain data."""
    if isinstance(content, dict):
        content = list(content.values())
    elif isinstance(content, list):
        yield content
    else:
        return
    for item in content:
        yield from lists(item)


@pytest.fixture(scope="module", params=["curve", "cap", "condition"])
def told(request, tmp_path_factory):
    """A release with all that was said and written about it."""
    folder = tmp_path_factory.mktemp("told")
    create_ledger(folder / "table.ledger", Budget(30.0, 1e-8))
    options = {
        "curve": {"protect_outliers": RiskWeights(gamma=0.4, least=0.01)},
        "cap": {"protect_outliers": True, "outlier_epsilon": 14},
        "condition": {
            "protect_outliers": True,
            "protect_where": ["age >= 30"],
            "outlier_epsilon": 14,
        },
    }[request.param]
    said = []
    # So little noise that rows differ in their scores.
    release = synthesize(
        table(),
        epsilon=20.0,
        schema=SCHEMA,
        mechanism="mst",
        rows=60,
        accept_weak_guarantee=True,
        ledger=folder / "table.ledger",
        tell=said.append,
        **options,
    )
    release.save(folder / "release")
    files = [folder / "table.ledger", *sorted((folder / "release").iterdir())]
    texts = [path.read_bytes().decode(errors="replace") for path in files]
    objects = (release, release.certificate, release.model, *release.notes)
    return release, files, [*texts, *said, *map(repr, objects), *map(str, objects)]


def test_no_list_that_leaves_has_an_entry_for_each_row(told):
    release, files, _ = told
    found = 0
    for path in files:
        if path.suffix in {".json", ".ledger"}:
            for line in (
                path.read_text().splitlines() if path.suffix == ".ledger" else [path.read_text()]
            ):
                for one in lists(json.loads(line)):
                    found += 1
                    assert len(one) not in {ROWS, ROWS - 1}, path.name
    assert found > 10
    assert release.table.num_rows == 60


def test_no_byte_that_leaves_tells_scores_or_weights_of_rows(told):
    release, _, texts = told
    for own in own_numbers(release):
        assert len(set(own)) > 1
        # Any three rows in a row, however they are set apart; and all of them in order of size.
        for numbers in (own, sorted(own), sorted(own, reverse=True)):
            several = [numbers[k : k + 6] for k in range(0, ROWS - 6, 3)]
            wanted = [one for one in several if len(set(one)) > 3]
            for text in texts:
                plain = re.findall(r"-?\d+(?:\.\d+)?", text)
                joined = " " + " ".join(plain) + " "
                for one in wanted:
                    assert f" {' '.join(map(str, one))} " not in joined


def test_the_scan_would_find_them(told):
    release, _, _ = told
    scores, _ = own_numbers(release)
    plain = re.findall(r"-?\d+(?:\.\d+)?", json.dumps({"scores": scores}))
    wanted = [scores[k : k + 6] for k in range(0, ROWS - 6, 3) if len(set(scores[k : k + 6])) > 3]
    joined = " " + " ".join(plain) + " "
    assert wanted
    assert all(f" {' '.join(map(str, one))} " in joined for one in wanted)


def test_no_object_that_is_handed_out_has_an_entry_for_each_row():
    with Ledger.open(table(), SCHEMA, Budget(1.0, 1e-9)) as ledger:
        made = weighed(RiskWeights(), ledger, ())
        for one in (made, made.ledger, made.weights, *made.known):
            # Runs of numbers, however long: none has one for each row.
            lengths = {
                len(re.findall(r"\d+", run)) for run in re.findall(r"[\[(][^\[\]()]*", repr(one))
            }
            assert ROWS not in lengths
        public = {name for name in dir(made.ledger) if not name.startswith("_")}
        assert not {name for name in public if "score_of" in name or "weight_of" in name}
        assert ROWS not in {len(part) for part in (made.known, made.curve, made.weights.tables)}
        for one in made.weights.tables:
            assert len(one.scores) == ledger.domain.size(one.columns)


def test_no_refusal_tells_a_weight(tmp_path):
    said = []
    who = {"protect_outliers": True, "protect_where": ["age >= 30"]}
    release = synthesize(table(), epsilon=1.0, schema=SCHEMA, mechanism="independent", **who)
    scores, weights = own_numbers(release)
    for options in (
        {"outlier_epsilon": 0.01},
        {"outlier_epsilon": 2.0},
        {"protect_where": ["age >= 30", "wage >= 3"]},
        {"unit": "replace"},
        {"protect_where": ["age >= none"]},
    ):
        asked = who | {"mechanism": "mst"} | options
        with pytest.raises(UnderstudyError) as refusal:
            synthesize(table(), epsilon=1.0, schema=SCHEMA, **asked)
        said.append(str(refusal.value))
    # Shorter numbers may be there by chance: a cap, or what can be reached.
    private = {str(number) for number in (*scores, *weights) if number > 999}
    assert private
    for text in said:
        assert not private & set(re.findall(r"\d+", text))


def test_a_saved_release_reads_back_what_its_certificate_tells_and_no_more(told, tmp_path):
    release, _, _ = told
    release.save(tmp_path / "again")
    back = load(tmp_path / "again")
    assert back.certificate.public == release.certificate.public
    curve = back.certificate.public["risk curve"]
    assert set(curve) == {
        "scores",
        "from_score",
        "weight",
        "of",
        "threshold",
        "capped",
        "spent_before",
        "kept",
    }
