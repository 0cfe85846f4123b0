"""How far a model is from a stated independence: exact, from the model itself."""

from functools import reduce
from math import prod

import numpy as np

from understudy.domain import Clique
from understudy.errors import BadInput, ModelTooLarge
from understudy.knowledge import Independence
from understudy.model.bayes_net import BayesNet
from understudy.model.cliques import cliques_of
from understudy.model.copula import CopulaModel
from understudy.model.factor import Factor, Table
from understudy.model.graphical import GraphicalModel
from understudy.model.labelled import LabelledModel
from understudy.model.merged import MergedModel
from understudy.model.product import ProductModel
from understudy.separation import Separation

MOST_CELLS = 2**22
_MOST_LABELLED = 2**20
"""Combinations of what labels go by, and labels: a second or two for all of them."""
_MOST_CARRIED = 2**25
"""Cells of a message that carries the named columns past a separator."""


def model_information(model: object, independence: Independence) -> float | None:
    """The conditional mutual information of the two sides in a model, in nats.

    None where it cannot be computed: the table of all columns that are named is too large, or
    the model does not know them, has no marginals, or does not state its cliques.

    Codes that were merged come apart by draws of their own, which changes nothing:
    docs/proofs/privci.md.
    """
    if cliques_of(model) is None:
        return None
    if isinstance(model, ProductModel):
        return 0.0
    joint = _joint(model, independence.columns)
    if joint is None:
        return None
    shape = dict(zip(independence.columns, joint.shape, strict=True))
    sides = (independence.outcome, independence.protected, independence.given)
    return conditional_information(joint.reshape([_size(shape, side) for side in sides]))


def _joint(model: object, names: Clique) -> Table | None:
    """The table of some columns; None where it is too large, or not known."""
    if isinstance(model, LabelledModel):
        return _labelled(model, names)
    if isinstance(model, CopulaModel) and not model.tied:
        return _joint(model.columns, names)
    plain = model if isinstance(model, ProductModel) else _graphical(model)
    if plain is None or not {*names} <= {*plain.domain.names}:
        return None
    if _size(plain.domain.sizes, names) > MOST_CELLS:
        return None
    if isinstance(plain, ProductModel):
        return reduce(np.multiply.outer, [plain.shares[name] for name in names], np.ones(()))
    return _marginal(plain, names)


def _marginal(model: GraphicalModel, names: Clique) -> Table | None:
    sizes = model.domain.sizes
    widest = max(_size(sizes, separator) for separator in model.tree.separators)
    if _size(sizes, names) * widest > _MOST_CARRIED:
        return None
    try:
        return model.beliefs.marginal(names)
    except (BadInput, ModelTooLarge, MemoryError):
        return None


def _labelled(model: LabelledModel, names: Clique) -> Table | None:
    """Features and what labels go by; then labels, by their law."""
    features = tuple(name for name in names if name != model.target)
    if len(features) == len(names):
        return _joint(model.features, names)
    seen = model.labels.scorer.inputs
    whole = (*features, *(name for name in seen if name not in features))
    sizes = model.features.domain.sizes
    labels = model.domain.sizes[model.target]
    if not {*whole} <= {*sizes} or _size(sizes, whole) * labels > _MOST_LABELLED:
        return None
    joint = _joint(model.features, whole)
    if joint is None:
        return None
    if isinstance(model.features, MergedModel):  # labels go by the codes that come apart
        for place, name in enumerate(whole):
            if name in model.features.shares:
                apart = np.tensordot(joint, model.features.shares[name], (place, 0))
                joint = np.moveaxis(apart, -1, place)
    places = np.indices(joint.shape).reshape(len(whole), -1).astype(np.uint32)
    law = model.labels.law(dict(zip(whole, places, strict=True)))
    told: Table = (joint.reshape(-1, 1) * law).reshape(*joint.shape, -1)
    told = told.sum(axis=tuple(range(len(features), len(whole))))
    return np.moveaxis(told, -1, names.index(model.target))


def separated(model: object, independence: Independence) -> bool:
    """Whether no path goes around the given columns, along those that the model ties.

    Then the information is 0, whatever numbers the model has: docs/proofs/privci.md.
    """
    cliques = cliques_of(model)
    if cliques is None:
        return False
    if isinstance(model, LabelledModel):
        # What the features' model says of the target is forgotten: it is another column there.
        *features, labels = cliques
        hidden = {model.target: f"{model.target}\0"}  # the name of no column
        cliques = (*(tuple(hidden.get(name, name) for name in one) for one in features), labels)
    return Separation([independence])(cliques)


def conditional_information(joint: Table) -> float:
    """Of a table over outcome, protected and given; never negative.

    >>> round(conditional_information(np.array([[[0.5], [0.0]], [[0.0], [0.5]]])), 6)
    0.693147
    """
    joint = joint / joint.sum()
    outcome = joint.sum(axis=1, keepdims=True)
    protected = joint.sum(axis=0, keepdims=True)
    given = joint.sum(axis=(0, 1), keepdims=True)
    seen = joint > 0
    # In logarithms: shares may be so small that their products are none.
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(given) - np.log(outcome) - np.log(protected)
    return max(0.0, float(joint[seen] @ (np.log(joint[seen]) + logs[seen])))


def _graphical(model: object) -> GraphicalModel | None:
    if isinstance(model, MergedModel):
        return model.coarse
    if isinstance(model, BayesNet):
        return _moral(model)
    return model if isinstance(model, GraphicalModel) else None


def _moral(net: BayesNet) -> GraphicalModel:
    """The same distribution as a product of its conditional tables."""
    factors = []
    for step in net.steps:
        clique = (*step.given, *step.new)
        shares = step.shares / step.shares.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore"):
            logs = np.log(shares).reshape(net.domain.shape(clique))
        factors.append(Factor(clique, logs))
    return GraphicalModel(net.domain, net.total, tuple(factors))


def _size(sizes: dict[str, int], names: Clique) -> int:
    return prod(sizes[name] for name in names)
