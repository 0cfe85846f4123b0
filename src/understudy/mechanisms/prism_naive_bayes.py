"""PRISM with the model of its paper's experiments: features independent given the target."""

from collections.abc import Sequence
from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING

from understudy.domain import Clique
from understudy.knowledge import Allowed
from understudy.mechanisms.prism_steps import BACKGROUND, bought, features_of
from understudy.model.bayes_net import BayesNet, Family
from understudy.privacy.answers import Measurement
from understudy.privacy.ledger import Ledger
from understudy.select.rare import Columns
from understudy.select.room import Room

if TYPE_CHECKING:
    from understudy.mechanisms.prism import Prism


def naive_bayes(
    recipe: "Prism", ledger: Ledger, known: Sequence[Measurement], allowed: Allowed
) -> BayesNet:
    """As in the paper's experiments: features independent given the target, the rest alone.

    Pairs are all that such a model can use, and a feature in a pair needs no count of its own.
    """
    domain, whole = ledger.domain, ledger.rest()
    (target,) = recipe.targets(ledger.schema.target)
    regime = recipe.regime_of(target)
    stated = regime.known_features(target)
    possible = [
        name
        for name in domain.names
        if name != target
        and domain.size((name, target)) <= ledger.most_cells
        and allowed([domain.canonical((name, target))])
    ]
    # MEASURE: single columns
    paired = {*(stated or ())} & {*possible}
    ones = [(name,) for name in domain.names if name not in paired]
    alone = [*known, *bought(recipe, ledger, ones, whole * BACKGROUND)]
    task = whole * (1 - BACKGROUND)
    # SELECT: the features
    if stated is None:
        columns = Columns.of(domain, alone, rarity=-inf)
        room = Room(ledger, ledger, columns, allowed, recipe.model_bytes)
        share = Fraction(regime.share)
        features, spent = features_of(recipe, room, target, whole * share, task)
        task -= spent
    else:
        features = {name: recipe.importance[name] for name in stated if name in paired}
    # MEASURE: pairs with the target
    pairs: dict[Clique, float] = {}
    for name, weight in features.items():
        pair = domain.canonical((name, target))
        if allowed([*pairs, pair]):
            pairs[pair] = weight
    measured_pairs = bought(recipe, ledger, pairs, task)
    # FIT
    families = [Family(target)]
    for name in domain.names:
        if name != target:
            tied_to = domain.canonical((name, target)) in pairs
            families.append(Family(name, (target,) if tied_to else ()))
    return BayesNet.of(domain, families, [*alone, *measured_pairs])
