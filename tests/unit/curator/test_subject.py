"""What is known about a release that is judged: its promise, its persons, its marginals."""

import numpy as np
import pyarrow as pa
import pytest
from threadpoolctl import threadpool_limits

import understudy as us
from understudy.curator.evaluation import evaluate
from understudy.curator.persons import persons_of
from understudy.curator.subject import Promise, read_subject
from understudy.errors import BadInput, UnknownColumn
from understudy.experiments.demo import demo_schema, demo_table


@pytest.fixture(autouse=True)
def one_thread():
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="module")
def release():
    return us.synthesize(
        demo_table(800),
        schema=demo_schema(),
        target="readmitted",
        epsilon=2.0,
        unit=us.Person("patient_id", 3),
    )


def subject(release, real=None, test=None, **choices):
    usual = {
        "schema": None,
        "promise": None,
        "person": None,
        "without": (),
        "named": (),
        "text_encoding": "utf-8",
    }
    real = demo_table(800) if real is None else real
    return read_subject(real, None, test, release=release, **(usual | choices))


def test_a_release_for_persons_tells_its_promise_and_whose_rows_are_whose(release):
    found = subject(release, test=demo_table(300, seed=1))
    assert found.promise == Promise(2.0, 1e-9, whom="person")
    assert "patient_id" in found.tables.left_out
    real, test = found.persons
    ids = demo_table(800)["patient_id"].to_pylist()
    assert len(set(real.tolist())) == len(set(ids)) < 800
    for k in range(50):
        assert [j for j in range(800) if real[j] == real[k]] == [
            j for j in range(800) if ids[j] == ids[k]
        ]
    assert not set(real.tolist()) & set(test.tolist())


def test_a_release_for_replaced_records_says_so():
    table = pa.table({"a": ["x", "y"] * 500})
    release = us.synthesize(table, epsilon=1.0, unit="replace")
    assert subject(release, real=table).promise == Promise(1.0, 1e-9, replaces=True)


def test_a_release_without_a_promise_has_none_and_the_evaluation_says_so(tmp_path):
    table = pa.table({"a": ["x", "y"] * 60})
    draft = us.Schema(
        (
            us.Column(
                name="a",
                kind=us.Kind.CATEGORICAL,
                categories=("x", "y"),
                null=False,
                source=us.Source.DATA,
            ),
        )
    )
    release = us.synthesize(table, schema=draft, epsilon=1.0, allow_non_private=True)
    found = evaluate(table, release)
    assert found.attacks.ceiling is None
    assert any("makes no promise" in note for note in found.notes)


def test_a_release_cannot_be_given_another_promise(release):
    with pytest.raises(BadInput, match="its own promise"):
        subject(release, promise=Promise(1.0, 1e-9))


def test_marginals_of_columns_that_are_left_out_are_not_looked_up(release):
    test = demo_table(300, seed=1)
    whole = subject(release, test=test).published()
    part = subject(release, test=test.drop_columns(["age"]), without=["age"]).published()
    cliques = {m.clique for m in whole.marginals}
    assert ("age",) in cliques
    assert {m.clique for m in part.marginals} == {c for c in cliques if "age" not in c}
    assert () not in cliques
    assert all(m.counts.size == np.prod(m.sizes) for m in whole.marginals)
    assert subject(release).published() is None


def test_a_test_table_without_ids_is_one_of_strangers(release):
    test = demo_table(300, seed=1).drop_columns(["patient_id"])
    found = subject(release, test=test)
    assert len(set(found.persons[1].tolist())) == 300


def test_persons_without_an_id_are_persons_of_their_own():
    first, second = persons_of(
        [pa.table({"id": [1, None, 1, None]}), pa.table({"id": ["2", "1", None]})], "id"
    )
    assert first[0] == first[2] == second[1]
    assert len({*first.tolist(), *second[:2].tolist()}) == 4
    assert [k for k in range(3) if second[k] < 0] == [2]
    assert (first[[1, 3]] < 0).all()
    assert len({*first.tolist(), *second.tolist()}) == 5
    with pytest.raises(UnknownColumn, match="ids"):
        persons_of([pa.table({"id": [1]})], "ids")


def test_people_who_are_in_both_tables_are_left_aside_and_it_is_said(release):
    test = pa.concat_tables([demo_table(400, seed=1), demo_table(400).slice(0, 100)])
    found = evaluate(demo_table(800), release, test=test, seeds=1)
    assert any(
        "100 test rows of persons who are in the real table" in n for n in found.attacks.notes
    )
    assert found.attacks.ceiling.whom == "person"
    assert found.task.target == "readmitted"


def test_protected_columns_of_the_schema_make_groups(release):
    found = subject(release)
    sentence = us.Independence("readmitted", ["ward", "insurance"], given="age")
    assert found.protected([]) == [("ethnicity",)]
    assert found.protected([sentence]) == [("ethnicity",), ("ward", "insurance")]
