import copy
import json

import numpy as np
import pytest

from understudy.domain import Domain
from understudy.errors import BadInput
from understudy.model.bayes_net import BayesNet, Family
from understudy.model.estimate import estimate
from understudy.model.graphical import GraphicalModel
from understudy.model.merged import MergedModel
from understudy.model.product import ProductModel
from understudy.privacy.answers import Measurement

DOMAIN = Domain.of({"a": 2, "b": 3})
PAIR = Measurement(("a", "b"), np.arange(6.0).reshape(2, 3), 1.0)
ONES = [Measurement(("a",), np.array([4.0, 6.0]), 1.0), Measurement(("b",), np.ones(3), 1.0)]
REFUSED = (BadInput, ValueError, KeyError, TypeError, IndexError)
"""What reading a release turns into one sentence."""


def models():
    graphical = estimate(DOMAIN, [PAIR]).model
    yield "graphical", graphical
    shares = {"b": np.array([[0.5, 0.5, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])}
    yield "merged", MergedModel(graphical, shares)
    yield "bayes net", BayesNet.of(DOMAIN, [Family("a"), Family("b", ("a",))], [PAIR])
    yield "product", ProductModel.of(DOMAIN, ONES)


MODELS = dict(models())


def changed(content, path, value):
    content = copy.deepcopy(content)
    *way, last = path
    inside = content
    for step in way:
        inside = inside[step]
    if value is None:
        del inside[last]
    else:
        inside[last] = value
    return json.loads(json.dumps(content))


CASES = [
    ("graphical", ("total",), -5),
    ("graphical", ("total",), float("nan")),
    ("graphical", ("domain", 0, 1), 10**11),
    ("graphical", ("domain",), [[f"c{k}", 10] for k in range(12)]),
    ("graphical", ("factors", 0, "log"), [0.0]),
    ("graphical", ("factors", 0, "log", 0), float("inf")),
    ("merged", ("shares", "b"), [[1.0]]),
    ("merged", ("shares", "b", "of", 0), -0.5),
    ("merged", ("shares", "b", "of"), [0.5, 0.5, 0, 1.0]),
    ("merged", ("shares", "b", "of"), [0.5, 0.5]),
    ("merged", ("shares", "b", "groups", 0), -1),
    ("merged", ("shares", "b", "groups", 0), 3),
    ("merged", ("shares", "b"), [[0.5, 0.5, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1.0]]),
    ("merged", ("shares", "b"), [[0.5, 0.5, 0, 0], [0, 0, -1.0, 0], [0, 0, 0, 1.0]]),
    ("merged", ("shares", "unknown"), [[1.0]]),
    ("merged", ("coarse", "total"), 0),
    ("bayes net", ("families", 0), None),
    ("bayes net", ("families", 0, "parents"), ["b"]),
    ("bayes net", ("families", 1, "shares"), [[1.0]]),
    ("bayes net", ("families", 1, "shares", 0, 0), -1),
    ("bayes net", ("families", 1, "child"), "a"),
    ("bayes net", ("total",), float("inf")),
    ("product", ("shares", "a"), [0.0, 0.0]),
    ("product", ("shares", "a"), [-1.0, 2.0]),
    ("product", ("shares", "a"), [[0.5], [0.5]]),
    ("product", ("total",), 0),
]


@pytest.mark.parametrize("name", list(MODELS))
def test_a_model_as_it_was_written_is_read(name):
    model = MODELS[name]
    again = type(model).from_json(json.loads(json.dumps(model.to_json())))
    assert again.domain == model.domain
    drawn = [one.sample(50, np.random.default_rng(0)) for one in (model, again)]
    for column in model.domain.names:
        np.testing.assert_array_equal(drawn[0][column], drawn[1][column])


@pytest.mark.parametrize(("name", "path", "value"), CASES, ids=str)
def test_a_model_that_nobody_could_have_written_is_refused(name, path, value):
    model = MODELS[name]
    content = changed(model.to_json(), path, value)
    with pytest.raises(REFUSED):
        type(model).from_json(content)


def test_a_model_that_would_fill_the_memory_is_refused_before():
    names = [f"c{k}" for k in range(40)]
    pairs = [
        {"clique": [a, b], "log": [0.0] * 4} for k, a in enumerate(names) for b in names[k + 1 :]
    ]
    content = {
        "domain": [[name, 2] for name in names],
        "total": 10.0,
        "factors": pairs,
        "rounded": True,
        "measurements": [],
    }
    with pytest.raises(BadInput, match=r"needs .* at its peak"):
        GraphicalModel.from_json(content)
