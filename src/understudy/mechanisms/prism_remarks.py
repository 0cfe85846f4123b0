"""What PRISM has to say about a release: made from noisy answers alone, so that it is free."""

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from understudy.errors import listed
from understudy.mechanisms.api import Model
from understudy.model.counts import combined
from understudy.model.merged import MergedModel
from understudy.model.visible import summed_to
from understudy.select.contradicted import Margin, contradictions

if TYPE_CHECKING:
    from understudy.mechanisms.prism import Prism

_PAIR = 2


def remarks(recipe: "Prism", model: Model, target: str | None) -> tuple[str, ...]:
    """What a person should know: what was left out, and what the measurements contradict."""
    found = [*left_out(recipe, model, target)]
    margins = _margins(model)
    for name in recipe.targets(target):
        regime = recipe.regime_of(name)
        told = {n for one in model.measurements if name in one.clique for n in one.clique}
        if regime.bounded and {*model.domain.names} - told:
            found.append(
                f"Whether {name} depends on other columns than the stated ones was not looked "
                "at: what was stated is taken for true. Where that is wrong, models miss what "
                "the others say; a release in which features are chosen would show it."
            )
        found += contradictions(model.measurements, margins, regime, name)
    return tuple(dict.fromkeys(found))


def left_out(recipe: "Prism", model: Model, target: str | None) -> tuple[str, ...]:
    """Features that were not measured all together: too large a table, or lost in noise."""
    found = []
    sizes: dict[str, int] = {}
    for one in model.measurements:  # those in merged codes come last
        sizes |= zip(one.clique, one.values.shape, strict=True)
    for name in recipe.targets(target):
        told = [one.clique for one in model.measurements if name in one.clique]
        lost = [
            feature
            for feature in recipe.regime_of(name).known_features(name) or ()
            if not any(feature in clique for clique in told)
        ]
        if lost:
            found.append(
                f"{listed(lost)} could not be measured together with {name}, for the table "
                "would be too large or is not allowed. State fewer categories or bins."
            )
        # Where there are wide tables, pairs may be the tree's as well.
        wide = [clique for clique in told if len(clique) > _PAIR] or told
        together = {n for clique in wide for n in clique}
        cells = prod(sizes[n] for n in together)
        whole = any(together <= {*clique} for clique in told)
        if recipe.graphical and len(together) > _PAIR and not whole:
            found.append(
                f"The {len(together) - 1} columns that were measured with {name} are not "
                f"measured all together: a table of {cells:,} cells is beyond the limits, "
                "beyond what stands out of the noise, or not allowed. What several of them do "
                "together is known from smaller tables alone."
            )
    return tuple(found)


def _margins(model: Model) -> dict[str, Margin]:
    """Each column by itself, in the codes that its pairs were counted in, and how sure that is."""
    merged = model if isinstance(model, MergedModel) else None
    found = {}
    for name, size in model.domain.sizes.items():
        told = [one for one in model.measurements if one.clique == (name,)]
        if merged is None or not told:
            # Off the largest table that holds it, where nothing else was measured of it.
            told = told or [one for one in model.measurements if name in one.clique]
            values, variance = combined(summed_to(one, name) for one in told)
            found[name] = Margin(np.maximum(values, 0.0), variance)
            continue
        counts = merged.coarse.marginal((name,))
        _, variance = combined(told)
        # Groups keep the codes' order but for the last, which holds all rare ones.
        each = np.full(len(counts), float(np.median(variance)))
        each[-1] *= size - len(counts) + 1
        found[name] = Margin(counts, each)
    return found
