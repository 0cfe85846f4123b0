"""What the page of a release tells, and the page."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from understudy.domain import Clique
from understudy.encode import Encoding
from understudy.inference_notes import lost_target
from understudy.mechanisms.api import Model
from understudy.model.cliques import cliques_of
from understudy.model.labelled import LabelledModel
from understudy.privacy.certificate import Certificate
from understudy.privacy.promise import replaces
from understudy.privacy.unit import Record
from understudy.report.bought import Bought, bought
from understudy.report.columns import Codes, ShownColumn, shown_columns
from understudy.report.independences import Kept, kept
from understudy.report.odds import Odds, odds
from understudy.report.pages import rendered
from understudy.report.protected import Protected, protected
from understudy.report.public import choices, declared, general, how_labels, stated
from understudy.report.structure import Structure
from understudy.report.tree_picture import picture
from understudy.schema import Schema
from understudy.twostage.rows_alone import RowsAlone

_TELLING = 3.0
"""Standard deviations of noise that a count must exceed to be believed."""


@dataclass(frozen=True, eq=False)
class Report:
    """Everything that is on the page."""

    certificate: Certificate
    schema: Schema
    rows: int
    counted: int
    """How many of the rows the bars count."""
    odds: tuple[Odds, ...]
    bought: Bought
    labels: str
    """Where the target's values come from, if somebody said."""
    general: tuple[str, ...]
    """What is public about the table as a whole."""
    declared: Mapping[str, str]
    """By column, the facts that somebody vouches for."""
    choices: Mapping[str, str]
    structure: Structure
    independences: tuple[Kept, ...]
    """What was demanded of the model, and whether it holds."""
    protected: Protected | None
    """Who counts less than others, and what that is worth."""
    columns: tuple[ShownColumn, ...]
    noise: float | None
    """The usual noise in a count of one column, that which is known least: in synthetic rows."""
    notes: tuple[str, ...]
    format: str
    drawable: bool
    """Whether there is a model to draw more rows from."""

    @property
    def private(self) -> bool:
        """Whether there is a promise."""
        return not self.certificate.not_private

    @property
    def lost_target(self) -> str | None:
        """A warning where fewer than two classes of the target are known."""
        return lost_target(self.schema)

    @property
    def weak(self) -> tuple[str, ...]:
        """Why the guarantee is weak, by its numbers; empty where it is not."""
        return self.certificate.weak

    @property
    def replaces(self) -> bool:
        """Whether records are replaced, and do not come and go."""
        return replaces(self.certificate.unit)

    @property
    def by_record(self) -> bool:
        """Whether a person with several records is protected less."""
        return self.replaces or self.certificate.unit == str(Record())

    @property
    def target(self) -> str | None:
        """The column to predict."""
        return self.schema.target

    @property
    def predicts(self) -> bool:
        """Whether other columns say anything about the target."""
        return self.target is not None and bool(self.structure.neighbours)

    @property
    def width(self) -> int:
        """How many columns the release has."""
        return len(self.schema.released)

    @property
    def invented(self) -> list[str]:
        """Columns with invented values."""
        return [column.name for column in self.schema if column.regenerated]

    @property
    def unlisted(self) -> list[str]:
        """Columns that the page has no room for."""
        return [column.name for column in self.schema.coded[len(self.columns) :]]

    @property
    def least(self) -> int | None:
        """A group of fewer synthetic rows cannot be told from noise."""
        return None if self.noise is None else math.ceil(_TELLING * self.noise)


def report_of(  # noqa: PLR0913 - what a release holds
    *,
    certificate: Certificate,
    schema: Schema,
    model: Model,
    codes: Codes,
    rows: int,
    notes: Sequence[str] = (),
    format: str = "csv",  # noqa: A002 - as the command line calls it
) -> Report:
    """What there is to tell about a release; `codes` are those of its rows, or of some of them."""
    encoding = Encoding(schema)
    structure = Structure.of(
        encoding.domain,
        [clique for clique in _ties(model) if len(clique) > 1],
        codes,
        schema.target,
    )
    return Report(
        certificate=certificate,
        schema=schema,
        rows=rows,
        counted=len(next(iter(codes.values()))),
        odds=()
        if certificate.not_private
        else odds(certificate.epsilon, certificate.delta, certificate.unit),
        bought=bought(certificate, schema),
        labels=how_labels(certificate),
        general=tuple(general(certificate)),
        declared=declared(certificate),
        choices=choices(certificate),
        structure=structure,
        independences=tuple(kept(certificate, model, structure)),
        protected=protected(certificate),
        columns=tuple(shown_columns(encoding, codes, stated(certificate))),
        noise=_noise(model, rows),
        notes=tuple(notes),
        format=format,
        drawable=not isinstance(model, RowsAlone),
    )


def _ties(model: Model) -> list[Clique]:
    """Columns that know of each other: measured together, or labels and what they go by."""
    found = [one.clique for one in model.measurements]
    if isinstance(model, LabelledModel):
        found += [*_stated(model.features), *((name, model.target) for name in model.inputs)]
    elif isinstance(model, RowsAlone) or cliques_of(model) is None:
        found += _stated(model)
    return found


def _stated(model: Model) -> Sequence[Clique]:
    """Return the cliques of a model; of an unknown one, a single clique of all columns."""
    return cliques_of(model) or (model.domain.names,)


def report_page(told: Report) -> bytes:
    """The page: one file, which may be published."""
    drawn = picture(told.structure) if told.structure.edges else None
    return rendered("report.html", report=told, picture=drawn).encode()


def _noise(model: Model, rows: int) -> float | None:
    """Of each column the best of its measurements; of wider ones, many cells are added up."""
    best: dict[str, float] = {}
    for one in model.measurements:
        usual = float(np.median(one.scale))
        for name, cells in zip(one.clique, one.values.shape, strict=True):
            noise = usual * math.sqrt(one.values.size / cells)
            best[name] = min(best.get(name, math.inf), noise)
    return max(best.values()) * rows / model.total if best else None
