"""What the page of a release tells, and the page."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

import numpy as np

from understudy.encode import Encoding
from understudy.mechanisms.api import Model
from understudy.privacy.certificate import Certificate
from understudy.report.bought import Purchase, by_purpose, purchases
from understudy.report.columns import Codes, ShownColumn, shown_columns
from understudy.report.pages import rendered
from understudy.report.structure import MOST_DRAWN, Structure, picture
from understudy.schema import Schema

_PRIORS = (0.001, 0.01, 0.1, 0.5)
_TELLING = 3.0
"""Standard deviations of noise that a count must exceed to be believed."""


@dataclass(frozen=True)
class Odds:
    """What somebody believed before, and may believe afterwards at most."""

    before: float
    after: float


@dataclass(frozen=True, eq=False)
class Report:
    """Everything that is on the page."""

    certificate: Certificate
    schema: Schema
    rows: int
    counted: int
    """How many of the rows the bars count."""
    odds: tuple[Odds, ...]
    bought: tuple[Purchase, ...]
    structure: Structure
    columns: tuple[ShownColumn, ...]
    noise: float | None
    """The largest standard deviation in a measured count of a column, in rows."""
    notes: tuple[str, ...]
    format: str

    @property
    def target(self) -> str | None:
        """The column to predict."""
        return self.schema.target

    @property
    def least(self) -> int | None:
        """A group of fewer rows cannot be told from noise."""
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
    # Of each column the best of its measurements.
    noise: dict[str, float] = {}
    for one in model.measurements:
        if len(one.clique) == 1:
            (name,) = one.clique
            noise[name] = min(noise.get(name, math.inf), float(np.median(one.scale)))
    return Report(
        certificate=certificate,
        schema=schema,
        rows=rows,
        counted=len(next(iter(codes.values()))),
        odds=() if certificate.not_private else odds(certificate.epsilon, certificate.delta),
        bought=tuple(purchases(certificate)),
        structure=Structure.of(
            encoding.domain,
            [one.clique for one in model.measurements if len(one.clique) > 1],
            codes,
            schema.target,
        ),
        columns=tuple(shown_columns(encoding, codes)),
        noise=max(noise.values(), default=None),
        notes=tuple(notes),
        format=format,
    )


def write_report(told: Report, sink: IO[bytes]) -> None:
    """Write the page: one file, which may be published."""
    page = rendered(
        "report.html",
        report=told,
        purposes=by_purpose(told.bought),
        structure=picture(told.structure) if told.structure.edges else None,
        drawn=MOST_DRAWN,
        unlisted=[c.name for c in told.schema.coded[len(told.columns) :]],
    )
    sink.write(page.encode())


def odds(epsilon: float, delta: float) -> tuple[Odds, ...]:
    """How sure somebody may become at most that this was in the table.

    >>> [round(one.after, 3) for one in odds(1.0, 0.0)]
    [0.003, 0.027, 0.232, 0.731]
    """
    factor = math.exp(min(epsilon, 700.0))
    return tuple(Odds(p, min(1.0, p * factor / (1 - p + p * factor) + delta)) for p in _PRIORS)
