"""Numbers without bins: LK-2SS, after Liu, Lin, Fan and Zhou (2025), in two modes.

`lid` is the paper's: inputs are real rows drawn toward made-up ones, and targets come from a model
of the real rows. No part of it is differentially private; what is measured is how many rows have a
number near to their own (LID). `dp` keeps the two stages and makes each from noisy answers:
docs/proofs/two_stages.md.
"""

from collections.abc import Sequence
from dataclasses import MISSING, dataclass, field, fields
from enum import StrEnum
from fractions import Fraction
from typing import ClassVar, cast

import numpy as np

from understudy.errors import BadInput, listed
from understudy.knowledge import Allowed, anything
from understudy.mechanisms.api import Choosy, Constrained, Mechanism, Model
from understudy.mechanisms.copula import Copula
from understudy.mechanisms.kernel_labels import KernelLabelModel
from understudy.mechanisms.labelling import (
    check_features,
    check_split,
    check_target,
    labelled,
    left_out,
)
from understudy.mechanisms.parameters import check_number
from understudy.model.labelled import LabelledModel
from understudy.model.visible import visible
from understudy.privacy.answers import Measurement
from understudy.privacy.ledger import Ledger
from understudy.separation import Separation
from understudy.twostage.first_stages import FirstStage, LatinHypercube
from understudy.twostage.flow import MakeInputs, TwoStages, ranked_inputs
from understudy.twostage.frame import Frame, facts_of
from understudy.twostage.hybrid import Hybrid
from understudy.twostage.responses import (
    AdaBoost,
    KernelRidge,
    NadarayaWatson,
    RandomForest,
    Response,
)
from understudy.twostage.rows_alone import LID, RowsAlone

Stage = Mechanism | FirstStage
_SPLIT = 0.5
_PARTS = {"hybrid": " (alpha, lid, eta, matching)", "kernel_labels": " (points, length)"}
_FEW = 5000
"""With fewer rows, a private regression learns little at usual epsilons."""


class Mode(StrEnum):
    """What is promised."""

    DP = "dp"
    """Differential privacy."""
    LID = "lid"
    """Nothing: real rows go into the release, drawn toward made-up ones."""


class Answer(StrEnum):
    """Which model answers in mode `lid`, by name."""

    KERNEL_RIDGE = "kernel-ridge"
    NADARAYA_WATSON = "nadaraya-watson"
    ADABOOST = "adaboost"
    RANDOM_FOREST = "random-forest"

    @property
    def response(self) -> Response:
        """The model."""
        known: dict[Answer, Response] = {
            Answer.KERNEL_RIDGE: KernelRidge(),
            Answer.NADARAYA_WATSON: NadarayaWatson(),
            Answer.ADABOOST: AdaBoost(),
            Answer.RANDOM_FOREST: RandomForest(),
        }
        return known[self]


@dataclass(frozen=True)
class Lk2ss:
    """Inputs first, and then a target for each row by a smooth function of them."""

    first_stage: Stage | None = None
    """Where inputs come from: a Latin hypercube unless said, or any method."""
    hybrid: Hybrid = field(default_factory=Hybrid)
    """Of mode `lid`: how much of the real rows is kept. Mode `dp` keeps nothing of them."""
    response: Answer | Response = Answer.KERNEL_RIDGE
    """Of mode `lid`: which model answers. In mode `dp` it is kernel ridge regression."""
    mode: Mode = Mode.DP
    residual: bool = False
    """Of mode `lid`: whether answers get an error as large as the model's; in `dp` they do."""
    keep_labels: bool = True
    """Of mode `lid`: whether categories of a row stay as they are, as in the paper."""
    kernel_labels: KernelLabelModel = field(default_factory=KernelLabelModel)
    """Of mode `dp`: how targets are learned."""
    split: float = _SPLIT
    """Of mode `dp`: the part of the budget that targets get."""

    name: ClassVar[str] = "lk2ss"
    about: ClassVar[str] = "inputs tied by their ranks, targets by a smooth function of them"
    guarantee: ClassVar[str] = "(ε, δ)-differential privacy; with mode=lid none: NOT PRIVATE"
    needs: ClassVar[str] = "a target"

    def __post_init__(self) -> None:
        for name, kind in (("mode", Mode), ("response", Answer)):
            value = getattr(self, name)
            if isinstance(value, str) or kind is Mode:
                try:
                    object.__setattr__(self, name, kind(value))
                except ValueError:
                    msg = f"{name} is {value}; give one of {listed(kind)}."
                    raise BadInput(msg) from None
        for name, part in (("hybrid", Hybrid), ("kernel_labels", KernelLabelModel)):
            if not isinstance(getattr(self, name), part):
                msg = f"{name} takes a {part.__name__} as a value."
                raise BadInput(msg)
        if not isinstance(self.response, Answer) and not hasattr(self.response, "taught"):
            msg = f"response takes a model as a value, such as KernelRidge(), or {listed(Answer)}."
            raise BadInput(msg)
        stage = self.first_stage
        if not hasattr(stage, "made"):
            check_features("first_stage", stage)
        wrong = [name for name in self.idle if getattr(self, name) != _usual(name)]
        if wrong:
            other = Mode.DP if self.reveals else Mode.LID
            wrong = [f"{name}{_PARTS.get(name, '')}" for name in wrong]
            msg = f"{listed(wrong)}: only mode={other} has a use for that, and this is {self.mode}."
            raise BadInput(msg)
        if (
            self.mode is Mode.DP
            and hasattr(stage, "made")
            and not isinstance(stage, LatinHypercube)
        ):
            msg = (
                "Mode dp takes inputs from a Latin hypercube or from a private method, such as "
                "first_stage=mst: other first stages look at real rows."
            )
            raise BadInput(msg)
        check_number("split", self.split, least=0)
        check_split(self.split)

    @property
    def idle(self) -> tuple[str, ...]:
        """The parameters that the mode has no use for."""
        if self.reveals:
            return "kernel_labels", "split"
        return "hybrid", "response", "residual", "keep_labels"

    @property
    def reveals(self) -> bool:
        """Whether rows are read as they are."""
        return self.mode is Mode.LID

    @property
    def needs_facts(self) -> bool:
        """Whether what a schema leaves open has to be found out."""
        return not self.reveals or hasattr(self.first_stage, "fit")

    def check(self, names: Sequence[str], target: str | None) -> None:
        """Refuse a table without a column to predict."""
        check_target(self.name, names, target)
        method: object = self.first_stage
        if isinstance(method, Choosy):
            method.check(names, target)

    def check_independences(
        self, allowed: Separation, names: Sequence[str], target: str | None
    ) -> None:
        """Refuse what the inputs' method cannot keep; real rows keep nothing."""
        if self.reveals and allowed.independences:
            msg = "Mode lid keeps no stated independence: its rows are made of real ones."
            raise BadInput(msg)
        method: object = self.first_stage
        if isinstance(method, Constrained):
            method.check_independences(allowed, names, target)

    def remarks(self, model: Model, target: str | None) -> Sequence[str]:
        """What LID was measured, or whether there were rows enough to learn from."""
        if isinstance(model, RowsAlone):
            return (model.note,)
        if not isinstance(model, LabelledModel):
            return ()
        said = left_out(model, target)
        if model.total < _FEW:
            said.append(_too_few(model.total))
        return said

    def advice(self, rho: Fraction, rows: float) -> Sequence[str]:
        """Whether there are rows enough for mode dp, by a rule on public numbers."""
        del rho
        return (_too_few(rows),) if rows < _FEW else ()

    def fit(
        self, ledger: Ledger, known: Sequence[Measurement] = (), allowed: Allowed = anything
    ) -> Model:
        """A model of the ledger's table; in mode `lid`, rows and no model."""
        self.check([column.name for column in ledger.schema.coded], ledger.schema.target)
        if self.reveals:
            return _rows(self, ledger, known, allowed)
        return labelled(
            ledger,
            known,
            allowed,
            features=_method(self) or Copula(),
            split=self.split,
            teach=self.kernel_labels.labels,
            by_code=False,
        )


_REASON = (
    "LK-2SS makes its rows of real ones (mode lid): no differential privacy. What is measured is "
    "how many rows have a number near to their own"
)


def _usual(name: str) -> object:
    (usual,) = (f for f in fields(Lk2ss) if f.name == name)
    return usual.default if usual.default_factory is MISSING else usual.default_factory()


def _too_few(rows: float) -> str:
    return (
        f"With about {max(rows, 0):,.0f} rows, targets are learned from little but noise; from "
        f"about {_FEW:,} on it is worth it. Where that cannot be, ask for a larger epsilon; "
        "mode=lid reads rows as they are, and is not private."
    )


def _drawn_inputs(
    method: Mechanism, ledger: Ledger, known: Sequence[Measurement], allowed: Allowed
) -> MakeInputs:
    """Inputs drawn from a private method's model."""
    target = ledger.schema.target
    assert target is not None  # noqa: S101 - checked before
    inputs = ledger.without(target)
    names = {*inputs.domain.names}
    model = method.fit(inputs, [one for one in known if names.issuperset(one.clique)], allowed)
    encoding = ledger.encoding

    def make(real: Frame, wanted: Sequence[str], rng: np.random.Generator) -> Frame:
        drawn = encoding.decode(visible(model, encoding.hidden).sample(real.rows, rng), rng)
        return Frame.of(drawn.select(list(wanted)), encoding.schema)

    return make


def _method(mechanism: Lk2ss) -> Mechanism | None:
    """The method that inputs come from, where one was given."""
    given = mechanism.first_stage
    return cast("Mechanism", given) if hasattr(given, "fit") else None


def _rows(
    method: Lk2ss, ledger: Ledger, known: Sequence[Measurement], allowed: Allowed
) -> RowsAlone:
    """Rows made of real ones."""
    target, made_by = ledger.schema.target, _method(method)
    if made_by is None:
        stage = cast("FirstStage", method.first_stage or LatinHypercube())
        make = ranked_inputs(stage, target)
    else:
        make = _drawn_inputs(made_by, ledger, known, allowed)
    rows = ledger.reveal(_REASON)
    response = method.response
    stages = TwoStages(
        make,
        method.hybrid,
        response.response if isinstance(response, Answer) else response,
        residual=method.residual,
        keep_labels=method.keep_labels,
    )
    made = stages.made(rows, ledger.schema, np.random.default_rng())
    measured = {name: round(share, 6) for name, share in made.told.items()}
    ledger.declare(LID, {"alpha": made.alpha, "eta": method.hybrid.eta, "told": measured})
    each = ", ".join(f"{name} {share:.1%}" for name, share in measured.items())
    note = (
        "These rows are made of real ones, and may give people away. Rows with a number within "
        f"{method.hybrid.eta:g} of its range of the real one (LID), at alpha={made.alpha:.3f}: "
        f"{each or 'none'}. That is measured, and no promise."
    )
    if made.copied:
        note += f" Copied as they are: {listed(made.copied)}."
    return RowsAlone(facts_of(made.table, ledger.schema), made.table, note)
