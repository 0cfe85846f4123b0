import pytest

from understudy.domain import Domain
from understudy.errors import BadInput, UnknownColumn
from understudy.privacy.weights import RowWeights


def test_mistakes_are_refused():
    with pytest.raises(BadInput, match="1 thresholds cut scores into 2 steps, but 1 weights"):
        RowWeights.of({}, [1], [1])
    for weight in (-1, 1025):
        with pytest.raises(BadInput, match="between 0 and 1024"):
            RowWeights.of({}, [], [weight])
    with pytest.raises(BadInput, match="must increase"):
        RowWeights.of({}, [3, 3], [1, 2, 3])
    for odd in ({"thresholds": [1.5]}, {"weights": [0.6, 1]}, {"tables": {"a": [0.5]}}):
        with pytest.raises(BadInput, match="must be whole numbers"):
            RowWeights.of(**({"tables": {}, "thresholds": [3], "weights": [1, 2]} | odd))
    with pytest.raises(BadInput, match="62 bits"):
        RowWeights.of({}, [2**70], [1, 2])
    for score in (-1, 2**31):
        with pytest.raises(BadInput, match="Scores must lie"):
            RowWeights.of({"a": [score]}, [], [1])


def test_tables_fit_the_domain():
    weights = RowWeights.of({"a": [1, 2]}, [], [512])
    weights.check(Domain.of({"a": 2, "b": 7}))
    assert weights.most == 512
    with pytest.raises(BadInput, match="of a has 2 entries for 3 codes"):
        weights.check(Domain.of({"a": 3}))
    with pytest.raises(UnknownColumn):
        weights.check(Domain.of({"b": 2}))
