import os
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from understudy.curator.align import align
from understudy.curator.result import Direction
from understudy.curator.second_opinion import anonymeter_risks, check_anonymeter
from understudy.curator.target import Target
from understudy.errors import BadInput

HAS_IT = os.environ.get("UNDERSTUDY_ANONYMETER")
needs_anonymeter = pytest.mark.skipif(
    not HAS_IT, reason="needs UNDERSTUDY_ANONYMETER=PYTHON, an interpreter that has anonymeter"
)


def drawn(rows, seed):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "age": rng.normal(40, 10, rows),
            "income": rng.lognormal(10, 1, rows),
            "town": rng.choice(["Ulm", "Köln", None], rows, p=[0.5, 0.4, 0.1]),
            "height": rng.normal(170, 10, rows),
            "ill": rng.random(rows) < 0.3,
        }
    )


def test_without_a_test_table_it_is_refused_with_the_way_out():
    tables = align(drawn(30, 0), drawn(30, 1))
    with pytest.raises(BadInput, match="--test"):
        check_anonymeter(tables, Path(sys.executable))


@pytest.mark.parametrize("python", [sys.executable, "no/such/python", "folder"])
def test_a_python_without_anonymeter_is_refused_with_the_way_out(python, tmp_path):
    tables = align(drawn(30, 0), drawn(30, 1), drawn(30, 2))
    where = tmp_path if python == "folder" else Path(python)
    with pytest.raises(BadInput, match=r"pip install anonymeter.*--anonymeter") as refused:
        check_anonymeter(tables, where)
    assert str(where) in str(refused.value)


@needs_anonymeter
def test_a_python_that_has_anonymeter_is_accepted():
    check_anonymeter(align(drawn(30, 0), drawn(30, 1), drawn(30, 2)), Path(HAS_IT))


@needs_anonymeter
@pytest.mark.parametrize("target", [None, "ill", "income"])
def test_anonymeter_tells_a_risk_with_an_interval_for_each_of_its_attacks(target):
    tables = align(drawn(150, 0), drawn(150, 1), drawn(150, 2))
    aim = None if target is None else Target.of(tables, target)
    results = anonymeter_risks(tables, aim, Path(HAS_IT), np.random.default_rng(0))
    names = ["singling out", "linkability", *(["inference of the target"] if target else [])]
    assert [result.name for result in results] == [f"anonymeter: {name}" for name in names]
    for result in results:
        assert result.direction is Direction.LOWER
        assert "150 attacks" in result.read
        if result.value is None:
            assert "anonymeter failed" in result.note
        else:
            assert 0 <= result.low <= result.value <= result.high <= 1
    assert any(result.value is not None for result in results)


@needs_anonymeter
def test_a_copy_is_riskier_than_fresh_rows():
    real = drawn(200, 0)
    risks = []
    for synthetic in (real, drawn(200, 1)):
        tables = align(real, synthetic, drawn(200, 2))
        results = anonymeter_risks(
            tables, Target.of(tables, "ill"), Path(HAS_IT), np.random.default_rng(0)
        )
        risks.append({result.name: result for result in results})
    copied, fresh = (found["anonymeter: inference of the target"] for found in risks)
    assert copied.low > fresh.high
