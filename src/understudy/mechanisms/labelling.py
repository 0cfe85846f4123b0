"""Features by one method and labels by another, from one budget: what DPDSyn and LK-2SS share."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeAlias, cast

from understudy.errors import BadInput, UnknownColumn, listed
from understudy.knowledge import Allowed
from understudy.mechanisms.api import Choosy, Mechanism
from understudy.model.cliques import cliques_of
from understudy.model.labelled import Features, LabelledModel
from understudy.model.labels import ClassLabels, NumberLabels
from understudy.model.product import ProductModel
from understudy.privacy.answers import Measurement
from understudy.privacy.ledger import Ledger
from understudy.select.label_inputs import kept_inputs, of_few_codes
from understudy.select.labels_told import LabelsTold, told_as_classes

INPUTS = "label inputs"
"""What a certificate calls the columns that labels go by."""
_COUNTING = Fraction(1, 50)
"""Of what features get: the counts of a target's classes, where none are known."""

Teach: TypeAlias = Callable[
    [Ledger, LabelsTold, Sequence[str], Features], ClassLabels | NumberLabels
]
"""Labels for all that is left of a budget: which are to be told, by which columns, of what rows."""


def check_target(name: str, names: Sequence[str], target: str | None) -> None:
    """Refuse a table without a column to predict."""
    if not target:
        msg = f"{name} labels rows with a target: name it with --target, or as target=."
        raise BadInput(msg)
    if target not in names:
        raise UnknownColumn(target, names)


def check_features(name: str, method: object) -> None:
    """Refuse what is no method, or one that labels rows itself: one model of labels is enough."""
    if method is not None and not hasattr(method, "fit"):
        msg = f"{name} takes a method as a value, such as Mst(), or nothing."
        raise BadInput(msg)
    if hasattr(method, "split"):
        own = getattr(method, "name", "")
        msg = f"{name} takes a method for columns, such as Mst(); {own} labels rows itself."
        raise BadInput(msg)


def check_split(split: float) -> None:
    """Refuse a split that leaves nothing for one of the two."""
    if not 0 < split < 1:
        msg = f"split is {split}: the part of the budget for labels lies between 0 and 1."
        raise BadInput(msg)


def labelled(  # noqa: PLR0913 - the last by name
    ledger: Ledger,
    known: Sequence[Measurement],
    allowed: Allowed,
    *,
    features: Mechanism | None,
    split: float,
    teach: Teach,
    by_code: bool,
) -> LabelledModel | ProductModel:
    """A model of the ledger's table; `split` is the part of the budget that labels get.

    With `by_code`, each code of a column is an input of labels: columns of too many are left out.
    """
    target, names = ledger.schema.target, ledger.domain.names
    assert target is not None  # noqa: S101 - callers have checked
    if len(names) == 1:  # nothing to tell labels by
        return ProductModel.of(ledger.domain, ledger.measure([names], rho=ledger.rest()))
    (part,) = ledger.split(1 - split)
    # MEASURE and FIT: how common each label is, and the features
    counted = [one for one in known if one.clique == (target,)]
    if not counted:
        # Classes are few and common; a number has many codes, and is counted as any other column.
        few = told_as_classes(ledger.encoding.cells[target])
        share = _COUNTING if few else Fraction(1, len(names))
        counted += part.measure([(target,)], rho=part.rest() * share)
    told = LabelsTold.of(ledger.encoding.cells[target], target, counted)
    model = _features(features, part, known, target, allowed)
    # SELECT: what labels may go by
    sizes = ledger.domain.sizes
    usable = of_few_codes(sizes, [n for n in names if n != target]) if by_code else names
    kept, missing = kept_by(allowed, model, target, names, usable)
    ledger.declare(INPUTS, {"columns": kept, "left out": missing})
    # MEASURE and FIT: the model of labels
    labels = teach(ledger, told, kept, model)
    return LabelledModel(ledger.domain, model, target, labels, tuple(counted))


def kept_by(
    allowed: Allowed, features: Features, target: str, names: Sequence[str], usable: Sequence[str]
) -> tuple[list[str], list[str]]:
    """The usable columns that labels may go by, for all independences to hold; and the others."""
    others = [name for name in names if name != target]
    # Features of an unknown class may tie any columns to each other.
    tied = cliques_of(features) or (features.domain.names,)
    cliques = [*tied, *(one.clique for one in features.measurements)]
    kept = kept_inputs(allowed, cliques, target, [name for name in others if name in usable])
    return kept, [name for name in others if name not in kept]


def left_out(model: LabelledModel, target: str | None) -> list[str]:
    """Which columns labels do not go by, in a sentence."""
    if model.labels.scorer.idle:
        why = "noise left nothing to learn, or the stated independences allow none"
        return [f"Labels of {target} do not go by any other column: {why}."]
    columns = [name for name in model.domain.names if name != target]
    usable = of_few_codes(model.domain.sizes, columns)
    missing = [name for name in columns if name not in model.inputs]
    reasons = {
        "the stated independences would not hold": [name for name in missing if name in usable],
        "with their codes, labels would have too many inputs": [
            name for name in missing if name not in usable
        ],
    }
    return [
        f"Labels of {target} do not go by {listed(left)}: {why}."
        for why, left in reasons.items()
        if left
    ]


def _features(
    method: Mechanism | None,
    ledger: Ledger,
    known: Sequence[Measurement],
    target: str,
    allowed: Allowed,
) -> Features:
    """A model of all columns but the target; of all, for a method that needs the target."""
    if not _needs(method, target, ledger.domain.names):
        ledger = ledger.without(target)
    names = {*ledger.domain.names}
    known = [one for one in known if names.issuperset(one.clique)]
    if method is not None:
        return cast("Features", method.fit(ledger, known, allowed))
    single = [(name,) for name in ledger.domain.names]
    return ProductModel.of(ledger.domain, [*known, *ledger.measure(single, rho=ledger.rest())])


def _needs(method: object, target: str, names: Sequence[str]) -> bool:
    """Whether the features' method cannot do without a target."""
    if not isinstance(method, Choosy):
        return False
    try:
        method.check([name for name in names if name != target], None)
    except BadInput:
        return True
    return False
