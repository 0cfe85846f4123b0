import pytest

from understudy.errors import BadInput, UnknownColumn
from understudy.workload import Weights


def test_weights_are_one_where_nothing_is_said():
    weights = Weights({"a": 2, "b": 0.5})
    assert (weights["a"], weights["b"], weights["c"]) == (2.0, 0.5, 1.0)
    assert list(weights) == ["a", "b"]
    assert Weights(weights) == weights
    assert Weights() == Weights({})


def test_weights_are_read_as_people_write_them():
    assert Weights.parse("a:2, b , c:d:0.5") == Weights({"a": 2, "b": 1, "c:d": 0.5})
    assert Weights.parse(str(Weights({"a": 2, "b": 0.25}))) == Weights({"a": 2, "b": 0.25})
    assert Weights.parse("") == Weights()


@pytest.mark.parametrize("weight", [0, -1, 1e-7, 1e7, float("nan"), float("inf"), True, "1"])
def test_a_weight_is_a_number_above_zero(weight):
    with pytest.raises(BadInput, match="give one from 1e-06 to"):
        Weights({"a": weight})


def test_weights_of_other_columns_are_refused():
    Weights({"a": 2}).check(("a", "b"))
    with pytest.raises(UnknownColumn, match="c"):
        Weights({"c": 2}).check(("a", "b"))
    with pytest.raises(BadInput, match="write a column and its weight"):
        Weights.parse("a:much")
