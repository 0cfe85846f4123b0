"""Both stages on rows as they are: what stays, what is made, and what is told thereby."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from understudy.column import Column, Kind, Role
from understudy.errors import BadInput
from understudy.schema import Schema
from understudy.twostage.first_stages import Cauchy, LatinHypercube, Uniform, Weibull
from understudy.twostage.flow import INPUTS, OUTPUT, TwoStages, ranked_inputs
from understudy.twostage.frame import Frame
from understudy.twostage.hybrid import Hybrid
from understudy.twostage.responses import KernelRidge, NadarayaWatson

ROWS = 300


def schema_of(table, target="y"):
    kinds = {name: Role.TARGET if name == target else Role.FEATURE for name in table.column_names}
    return Schema(tuple(Column(name=n, kind=Kind.UNKNOWN, role=role) for n, role in kinds.items()))


def table(rows=ROWS, **columns):
    rng = np.random.default_rng(0)
    u, v, place = rng.normal(size=rows), rng.random(rows) * 100, rng.integers(0, 3, rows)
    y = np.sin(u) + v / 50 + place + rng.normal(0, 0.3, rows)
    town = np.array(["ulm", "bonn", "kiel"])[place]
    return pa.table({"y": y, "u": u, "v": v, "town": town} | columns)


def stages(stage=None, hybrid=None, **options):
    options = {"response": KernelRidge()} | options
    make = ranked_inputs(stage or LatinHypercube(), "y")
    return TwoStages(make, hybrid or Hybrid(), **options)


def run(rows=None, how=None, seed=1, target="y"):
    rows = table() if rows is None else rows
    how = how or stages()
    return how.made(rows, schema_of(rows, target), np.random.default_rng(seed))


def told_by(real, made, names, eta=0.001):
    near = []
    for name in names:
        was, now = (np.array(one[name].to_pylist(), float) for one in (real, made))
        near.append(np.abs(was - now) <= eta * (np.nanmax(was) - np.nanmin(was)))
    return float(np.any(near, axis=0).mean())


@pytest.mark.parametrize("stage", [LatinHypercube(), Uniform(), Weibull(), Cauchy()], ids=str)
def test_each_row_gets_a_counterpart_with_its_labels(stage):
    made = run(how=stages(stage))
    assert made.table.column_names == ["y", "u", "v", "town"]
    assert made.table["town"].to_pylist() == table()["town"].to_pylist()
    assert made.alpha == 0.5
    for name in ("y", "u", "v"):
        assert np.isfinite(made.table[name].to_numpy()).all()
        assert not np.allclose(made.table[name].to_numpy(), table()[name].to_numpy())


def test_targets_follow_the_inputs():
    made = run().table
    u, v, y = (made[name].to_numpy() for name in ("u", "v", "y"))
    place = np.array([["ulm", "bonn", "kiel"].index(t) for t in made["town"].to_pylist()])
    assert np.corrcoef(y, np.sin(u) + v / 50 + place)[0, 1] > 0.95


def test_with_all_of_a_row_inputs_stay_and_with_nothing_laws_do():
    whole = run(how=stages(hybrid=Hybrid(alpha=1)))
    np.testing.assert_array_equal(whole.table["u"].to_numpy(), table()["u"].to_numpy())
    assert whole.told[INPUTS] == whole.told["u"] == 1
    nothing = run(how=stages(hybrid=Hybrid(alpha=0, matching="random")))
    assert nothing.told[INPUTS] < 0.05
    assert nothing.table["u"].to_numpy().std() == pytest.approx(table()["u"].to_numpy().std(), 0.05)


@pytest.mark.parametrize("lid", [0.0, 0.4])
def test_what_is_told_is_what_the_table_shows(lid):
    made = run(how=stages(hybrid=Hybrid(alpha=0.7, lid=lid)))
    for names, key in ((["u"], "u"), (["v"], "v"), (["u", "v"], INPUTS), (["y"], OUTPUT)):
        assert told_by(table(), made.table, names) == pytest.approx(made.told[key], abs=1e-9)
    assert {*made.told} == {"u", "v", INPUTS, OUTPUT}
    if lid:
        assert made.told[INPUTS] <= lid
        assert made.told[INPUTS] > lid - 0.02


def test_what_was_missing_stays_missing_and_tells_nothing():
    rng = np.random.default_rng(2)
    gone, unknown = rng.random(ROWS) < 0.5, rng.random(ROWS) < 0.2
    rows = table(
        v=pa.array(rng.random(ROWS), mask=gone),
        y=pa.array(rng.random(ROWS), mask=unknown),
        town=pa.array(["ulm", None, "bonn"] * 100),
    )
    made = run(rows, stages(hybrid=Hybrid(lid=0.3)))
    assert made.table["v"].is_null().to_pylist() == gone.tolist()
    assert made.table["town"].to_pylist() == rows["town"].to_pylist()
    assert made.table["y"].null_count == 0
    assert told_by(rows, made.table, ["u", "v"]) == pytest.approx(made.told[INPUTS])
    assert made.told[INPUTS] <= 0.3


def test_a_constant_column_tells_nothing_and_stays():
    rows = table(c=np.full(ROWS, 4.0))
    made = run(rows, stages(hybrid=Hybrid(lid=0.3)))
    assert {*made.table["c"].to_pylist()} == {4.0}
    assert 0.25 < made.told[INPUTS] <= 0.3
    assert made.told["c"] == 0


def test_columns_that_are_the_same_are_absorbed():
    rows = table(w=table()["u"], x=pa.array(-2 * table()["u"].to_numpy()))
    made = run(rows)
    u, x = made.table["u"].to_numpy(), made.table["x"].to_numpy()
    assert np.corrcoef(u, x)[0, 1] < -0.99


def test_labels_that_are_drawn_come_as_often_as_they_did():
    rows = table(town=pa.array(["ulm", None, "bonn"] * 100))
    made = run(rows, stages(hybrid=Hybrid(alpha=0), keep_labels=False))
    assert Counter(made.table["town"].to_pylist()) == Counter(rows["town"].to_pylist())
    assert made.table["town"].to_pylist() != rows["town"].to_pylist()


def test_labels_that_are_drawn_are_tied_to_the_numbers():
    u = table()["u"].to_numpy()
    rows = table(town=pa.array(np.where(u > 0, "high", "low")), y=pa.array(np.where(u > 0, 5.0, 1)))
    made = run(rows, stages(hybrid=Hybrid(alpha=0), keep_labels=False)).table
    high = np.array(made["town"].to_pylist()) == "high"
    assert made["u"].to_numpy()[high].mean() > made["u"].to_numpy()[~high].mean() + 0.8


def test_inputs_may_lack_labels_or_have_others():
    def make(real, names, rng):
        drawn = LatinHypercube().made(real.matrix(["u", "v"]), rng)
        labels = np.array(["ulm", "jena"] * (ROWS // 2), object)
        return Frame({"u": drawn[:, 0], "v": drawn[:, 1]}, {"town": labels})

    made = run(how=TwoStages(make, Hybrid(), KernelRidge(), keep_labels=False))
    assert {*made.table["town"].to_pylist()} == {"ulm", "jena"}
    assert made.table["y"].null_count == 0


def test_classes_are_answered_too():
    u = table()["u"].to_numpy()
    rows = table(y=pa.array(np.where(np.arange(ROWS) % 9 == 0, None, np.where(u > 0, "b", "a"))))
    made = run(rows, stages(response=NadarayaWatson()))
    assert {*made.table["y"].to_pylist()} == {"a", "b"}
    said = np.array(made.table["y"].to_pylist()) == "b"
    assert np.mean(said == (made.table["u"].to_numpy() > 0)) > 0.85
    assert OUTPUT not in made.told


def test_a_residual_gives_targets_the_variance_that_a_model_leaves_out():
    rng = np.random.default_rng(3)
    rows = table(y=pa.array(rng.normal(0, 2, ROWS)))
    plain, full = (run(rows, stages(residual=r)).table["y"].to_numpy().std() for r in (False, True))
    assert plain < 0.8
    assert full == pytest.approx(2, rel=0.15)


@pytest.mark.parametrize(
    "rows",
    [
        pa.table({"y": [1.0, 2.0, 4.0]}),
        pa.table({"y": [1.0, 2.0, 4.0], "town": ["a", "b", "a"]}),
        pa.table({"y": ["p", "q", "p"], "u": [1.0, 2.0, 3.0]}),
        pa.table({"y": [1.0], "u": [5.0], "town": ["a"]}),
        pa.table({"y": ["p"], "u": [5.0]}),
        pa.table({"y": pa.nulls(3, pa.float64()), "u": [1.0, 2.0, 3.0]}),
        pa.table({"y": pa.nulls(3, pa.string()), "u": [1.0, 2.0, 3.0]}),
        pa.table({"y": [1.0, 2.0, 3.0], "u": pa.nulls(3, pa.float64())}),
        pa.table({"y": [1.0, 2.0, 3.0], "town": pa.nulls(3, pa.string())}),
        pa.table({"y": [1.0, 2.0], **{f"x{k}": [0.0, k] for k in range(6)}}),
        pa.table({"y": pa.array([], pa.float64()), "u": pa.array([], pa.float64())}),
    ],
    ids=[
        *("no inputs", "labels alone", "classes", "one row", "one class", "no target known"),
        *("no class known", "an empty column", "empty labels", "wide", "empty"),
    ],
)
@pytest.mark.parametrize("keep_labels", [True, False])
def test_odd_tables_are_absorbed(rows, keep_labels):
    made = run(rows, stages(keep_labels=keep_labels))
    assert made.table.shape == rows.shape
    assert made.table.column_names == rows.column_names
    assert all(0 <= share <= 1 for share in made.told.values())


def test_a_wish_that_no_alpha_meets_is_refused():
    with pytest.raises(BadInput, match=r"No alpha brings LID to 0\.10%"):
        run(how=stages(hybrid=Hybrid(lid=0.001, eta=0.2)))
