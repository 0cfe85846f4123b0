"""PRISM with the model of its paper's experiments: features independent given the target."""

from collections.abc import Iterable, Sequence
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
    # MEASURE: single columns
    paired = _pairs(ledger, target, stated or (), allowed)
    ones = [(name,) for name in domain.names if name not in paired.values()]
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
        features = {name: recipe.importance[name] for name in stated}
    # MEASURE: pairs with the target; where there is none, single columns once more
    pairs = {
        pair: features[name] for pair, name in _pairs(ledger, target, features, allowed).items()
    }
    measured_pairs = bought(recipe, ledger, pairs or ones, task)
    # FIT
    families = [Family(target)]
    for name in domain.names:
        if name != target:
            tied_to = domain.canonical((name, target)) in pairs
            families.append(Family(name, (target,) if tied_to else ()))
    return BayesNet.of(domain, families, [*alone, *measured_pairs])


def _pairs(
    ledger: Ledger, target: str, features: Iterable[str], allowed: Allowed
) -> dict[Clique, str]:
    """Pairs of a feature with the target that can be counted, and are allowed together."""
    found: dict[Clique, str] = {}
    for name in features:
        pair = ledger.domain.canonical((name, target))
        if ledger.domain.size(pair) <= ledger.most_cells and allowed([*found, pair]):
            found[pair] = name
    return found
