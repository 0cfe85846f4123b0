"""Columns of one code: they cost nothing, tie nothing, and come out as they are."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from understudy.column import Column, Kind, Source
from understudy.mechanisms.prism import Prism
from understudy.pipeline import synthesize
from understudy.release import load
from understudy.schema import Schema
from understudy.select.regimes import Causal

METHODS = ["auto", "mst", "aim", "privbayes", "mwem", "prism", "reps", "dpdsyn", "independent"]
FACTS = {"kind": Kind.CATEGORICAL, "categories": (), "source": Source.BOUGHT}
TEXT = Column(name="note", other="other", null=False, **FACTS)
NUMBER = Column(name="size", null=True, **FACTS)
VARIED = (
    Column(name="y", kind=Kind.BOOLEAN, null=False, role="target"),
    Column(name="x", kind=Kind.CATEGORICAL, categories=("a", "b", "c"), null=False),
    Column(name="z", kind=Kind.INTEGER, bounds=(0, 9), null=False),
)
SCHEMA = Schema((TEXT, *VARIED, NUMBER))


def rows(count=2000):
    rng = np.random.default_rng(0)
    x = rng.choice(["a", "b", "c"], count)
    return pd.DataFrame(
        {
            "note": [f"note {k}" for k in range(count)],
            "y": (x == "a") ^ (rng.random(count) < 0.1),
            "x": x,
            "z": rng.integers(0, 10, count),
            "size": rng.normal(size=count),
        }
    )


def asked(release):
    """All columns that some request named, but for the count of strays."""
    found = set()
    for entry in release.certificate.entries:
        request = entry.request
        if "strays" in request:
            continue
        found |= {name for clique in request.get("cliques", ()) for name in clique}
        found |= {*request.get("inputs", ()), *request.get("columns", ())}
    return found


@pytest.mark.parametrize("method", METHODS)
def test_they_are_never_asked_about_and_come_out_whole(method, tmp_path):
    release = synthesize(rows(), epsilon=2.0, schema=SCHEMA, mechanism=method, rows=300, seed=1)
    assert not {"note", "size"} & asked(release)
    assert not {"note", "size"} & {*release.model.domain.names}
    assert release.table.column_names == ["note", "y", "x", "z", "size"]
    assert set(release.table["note"].to_pylist()) == {"other"}
    assert set(release.table["size"].to_pylist()) == {None}
    release.save(tmp_path / "out")
    again = load(tmp_path / "out")
    assert again.sample(20)["note"].tolist() == ["other"] * 20


@pytest.mark.parametrize("method", ["auto", "mst", "independent", "privbayes", "aim"])
def test_a_table_of_nothing_else_still_gives_a_release(method, tmp_path):
    release = synthesize(
        rows()[["note", "size"]],
        epsilon=1.0,
        schema=Schema((TEXT, NUMBER)),
        mechanism=method,
        rows=10,
    )
    assert release.table.to_pylist() == [{"note": "other", "size": None}] * 10
    release.save(tmp_path / "out")
    assert load(tmp_path / "out").table == release.table


@pytest.mark.parametrize("method", ["auto", "prism", "dpdsyn", "reps", "lk2ss"])
def test_a_target_of_one_code_stays_and_ties_nothing(method):
    schema = SCHEMA.with_roles({"y": "feature", "note": "target"})
    release = synthesize(rows(), epsilon=2.0, schema=schema, mechanism=method, rows=50, seed=1)
    assert set(release.table["note"].to_pylist()) == {"other"}
    assert "size" not in asked(release)


@pytest.mark.parametrize("method", ["auto", "prism", "dpdsyn", "reps", "lk2ss"])
def test_a_target_that_is_missing_throughout_gives_a_release_all_the_same(method):
    schema = SCHEMA.with_roles({"y": "feature", "size": "target"})
    release = synthesize(rows(), epsilon=2.0, schema=schema, mechanism=method, rows=50, seed=1)
    assert set(release.table["size"].to_pylist()) == {None}
    assert "note" not in asked(release)


def test_what_names_a_constant_column_holds_all_the_same():
    release = synthesize(
        rows(),
        epsilon=2.0,
        schema=SCHEMA,
        constraints=["note _||_ z | x"],
        protect_where=["size = 3"],
        rows=50,
    )
    assert release.table.num_rows == 50
    assert not {"note", "size"} & asked(release)


def test_a_column_that_the_method_was_given_stays():
    recipe = Prism(regime=Causal(["x", "note"]))
    release = synthesize(rows(), epsilon=2.0, schema=SCHEMA, mechanism=recipe, rows=50)
    assert set(release.table["note"].to_pylist()) == {"other"}
    assert "size" not in asked(release)


@pytest.mark.parametrize("method", ["auto", "mst", "prism"])
def test_one_declared_category_costs_nothing_beyond_its_count(method):
    only = Column(name="only", kind=Kind.CATEGORICAL, categories=("one",), null=False)
    table = rows().drop(columns=["note", "size"]).assign(only="one")
    release = synthesize(
        table, epsilon=2.0, schema=Schema((*VARIED, only)), mechanism=method, rows=50
    )
    wide = {
        name
        for entry in release.certificate.entries
        for clique in entry.request.get("cliques", ())
        if len(clique) > 1
        for name in clique
    }
    assert wide
    assert "only" not in wide
    assert set(release.table["only"].to_pylist()) == {"one"}


def _one_value_and_strays(strays):
    rng = np.random.default_rng(5)
    rows = 6000
    branch = np.where(rng.random(rows) < strays, [f"b{k}" for k in range(rows)], "main")
    size = rng.choice(["s", "m", "l"], rows)
    return pa.table(
        {"branch": branch, "size": size, "y": np.where(rng.random(rows) < 0.3, size, "m")}
    )


@pytest.mark.parametrize(("strays", "modelled"), [(0.0, False), (0.3, True)])
def test_a_column_of_one_inferred_value_is_modelled_only_if_others_stand_out(strays, modelled):
    release = synthesize(_one_value_and_strays(strays), epsilon=1.0, target="y")
    asked = [entry.request.get("cliques", []) for entry in release.certificate.entries]
    together = [clique for cliques in asked for clique in cliques if len(clique) > 1]
    assert any("branch" in clique for clique in together) == modelled
    assert "branch" in release.table.column_names
    assert set(release.table["branch"].to_pylist()) <= {"main", "other"}


def test_rows_of_a_declared_value_alone_are_drawn_without_the_others():
    only = Column(name="branch", kind=Kind.CATEGORICAL, categories=("main",), null=False)
    table = _one_value_and_strays(0.3)
    open_ = tuple(Column(name=name, kind=Kind.UNKNOWN) for name in ("size", "y"))
    release = synthesize(table, epsilon=2.0, schema=Schema((only, *open_)), target="y")
    assert set(release.table["branch"].to_pylist()) == {"main"}
    assert release.rows.count == pytest.approx(0.7 * table.num_rows, rel=0.1)
