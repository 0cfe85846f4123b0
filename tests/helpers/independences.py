"""Stated independences, judged the slow way: paths walked one by one, joints cell by cell."""

import itertools
import math

import numpy as np
from hypothesis import strategies as st

from understudy.knowledge import Independence
from understudy.model.bayes_net import BayesNet
from understudy.model.labelled import LabelledModel
from understudy.model.merged import MergedModel
from understudy.model.product import ProductModel


@st.composite
def independences(draw, names, *, given=None):
    """An independence of some of the columns, sets on every side.

    Something is given if `given`, nothing if it is False, and either where nobody says.
    """
    last = draw(st.booleans()) if given is None else given
    named = draw(st.permutations(list(names)))[: draw(st.integers(2 + last, len(names)))]
    first = draw(st.integers(1, len(named) - 1 - last))
    second = draw(st.integers(1, len(named) - first - 1)) if last else len(named) - first
    return Independence(named[:first], named[first : first + second], named[first + second :])


def cliques(names, most=3):
    """Marginals over some of the columns; those of one or of no column as well."""
    some = st.lists(st.sampled_from(list(names)), max_size=most, unique=True).map(tuple)
    return st.lists(some, max_size=7)


def walked(independence, measured):
    """Whether some path from one side to the other avoids the given columns: all are walked."""

    def beyond(path):
        for clique in measured:
            for name in clique:
                fresh = name not in path and name not in independence.given
                if path[-1] in clique and fresh:
                    yield name

    waiting = [(name,) for name in independence.outcome]
    while waiting:
        path = waiting.pop()
        if path[-1] in independence.protected:
            return True
        waiting += [(*path, name) for name in {*beyond(path)}]
    return False


def separated(stated, measured):
    """Whether measured cliques keep all independences, path by path."""
    return not any(walked(one, measured) for one in stated)


def joint_of(model):
    """The probability of every combination of codes, one by one, its axes in the domain's order.

    For merged codes: of the fine ones, which come apart column by column.
    """
    if isinstance(model, LabelledModel):
        return _labelled(model)
    if isinstance(model, MergedModel):
        coarse = joint_of(model.coarse)
        for axis, name in enumerate(model.coarse.domain.names):
            if name in model.shares:
                moved = np.tensordot(coarse, model.shares[name], axes=(axis, 0))
                coarse = np.moveaxis(moved, -1, axis)
        return coarse
    names, sizes = model.domain.names, model.domain.sizes
    joint = np.zeros([sizes[name] for name in names])
    for cell in itertools.product(*(range(sizes[name]) for name in names)):
        joint[cell] = _probability(model, dict(zip(names, cell, strict=True)))
    return joint / joint.sum()


def _labelled(model):
    """Features, and for each combination the chance of each label."""
    features = joint_of(model.features)
    names, sizes = model.features.domain.names, model.domain.sizes
    joint = np.zeros([*features.shape, sizes[model.target]])
    for cell in np.ndindex(features.shape):
        row = {name: np.array([code]) for name, code in zip(names, cell, strict=True)}
        joint[cell] = features[cell] * model.labels.law(row)[0]
    if model.target in names:  # what features say of it is forgotten
        joint = joint.sum(axis=names.index(model.target))
    return np.moveaxis(joint, -1, model.domain.names.index(model.target))


def _probability(model, row):
    if isinstance(model, ProductModel):
        return math.prod(model.shares[name][code] for name, code in row.items())
    if isinstance(model, BayesNet):
        found = 1.0
        for step in model.steps:
            group = 0
            for name in step.given:
                group = group * model.domain.sizes[name] + row[name]
            found *= step.shares[group, row[step.new[0]]]
        return found
    logs = (f.log[tuple(row[name] for name in f.clique)] for f in model.factors)
    return math.exp(sum(logs))


def information_in(joint, names, independence):
    """Conditional mutual information of a joint table, in nats, cell by cell."""
    sides = (independence.outcome, independence.protected, independence.given)
    found = {}
    for cell in np.ndindex(*joint.shape):
        row = dict(zip(names, cell, strict=True))
        key = tuple(tuple(row[name] for name in side) for side in sides)
        found[key] = found.get(key, 0.0) + float(joint[cell])
    outcome, protected, given = {}, {}, {}
    for (o, p, g), share in found.items():
        outcome[o, g] = outcome.get((o, g), 0.0) + share
        protected[p, g] = protected.get((p, g), 0.0) + share
        given[g] = given.get(g, 0.0) + share
    return sum(
        share * math.log(share * given[g] / (outcome[o, g] * protected[p, g]))
        for (o, p, g), share in found.items()
        if share > 0
    )
