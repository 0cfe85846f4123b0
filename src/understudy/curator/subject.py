"""What is judged: tables read alike, and what is known about the synthetic one."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from understudy.column import Role
from understudy.curator.align import align
from understudy.curator.cells import Cells, Codes
from understudy.curator.marginal_attack import KnownMarginal, Published
from understudy.curator.persons import Persons, persons_of
from understudy.curator.source import read_rows
from understudy.curator.tables import REAL, SYNTHETIC, TEST, Tables
from understudy.encode import Encoding
from understudy.errors import BadInput
from understudy.knowledge import Independence
from understudy.privacy.unit import Replacement
from understudy.release import Release, load
from understudy.schema import Schema


@dataclass(frozen=True)
class Promise:
    """What the synthetic table promises, as far as it is known."""

    epsilon: float
    delta: float
    replaces: bool = False
    whom: str = "record"
    """A record, or a person."""

    def __post_init__(self) -> None:
        if not self.epsilon > 0 or not 0 <= self.delta < 1:
            given = f"{self.epsilon} and {self.delta}"
            msg = f"A promise needs epsilon above 0 and delta from 0 to below 1, not {given}."
            raise BadInput(msg)


@dataclass(frozen=True, eq=False)
class Subject:
    """Real, synthetic and test rows, and what a release says about itself."""

    arrow: dict[str, pa.Table]
    """The tables as they are stored."""
    tables: Tables
    release: Release | None
    schema: Schema | None
    promise: Promise | None
    persons: list[Persons] | None
    """Of the real and the test rows, whose they are, where that is known."""

    def fine_codes(self) -> dict[str, Codes]:
        """Cells of real and synthetic rows to test independences in.

        Those of the release, for only in them it can keep an independence; else fine ones.
        """
        sides = (SYNTHETIC, REAL)
        if self.release is not None:
            encoding = self._encoding(self.release)
            return {side: encoding.codes(self.arrow[side]) for side in sides}
        cells = Cells.of(self.tables, fine=True)
        rows = {SYNTHETIC: self.tables.synthetic, REAL: self.tables.real}
        return {side: cells.codes(rows[side]) for side in sides}

    def published(self) -> Published | None:
        """The marginals that the release's own model file tells, of columns that are compared."""
        if self.release is None or TEST not in self.arrow:
            return None
        marginals = tuple(
            KnownMarginal.measured(m.clique, m.values, m.scale)
            for m in self.release.model.measurements
            # The number of rows speaks for none of them.
            if m.clique and set(m.clique) <= set(self.tables.names)
        )
        if not marginals:
            return None
        encoding = self._encoding(self.release)
        real, test = (encoding.codes(self.arrow[side]) for side in (REAL, TEST))
        return Published(marginals, real, test, dict(encoding.domain.sizes))

    def protected(self, independent: Sequence[Independence]) -> list[tuple[str, ...]]:
        """The sets of columns whose groups should be treated alike."""
        groups = {one.protected for one in independent}
        if self.schema is not None:
            groups |= {(c.name,) for c in self.schema if c.role is Role.PROTECTED}
        return sorted(names for names in groups if set(names) <= set(self.tables.names))

    def _encoding(self, release: Release) -> Encoding:
        return release.encoding.only(self.tables.names)


def released(synthetic: Any) -> Release | None:  # noqa: ANN401 - a release, a path, a table
    """The release, if it is one."""
    if isinstance(synthetic, Release):
        return synthetic
    if isinstance(synthetic, (str, Path)) and Path(synthetic).is_dir():
        return load(synthetic)
    return None


def read_subject(  # noqa: PLR0913 - one per choice
    real: Any,  # noqa: ANN401 - a path, a data frame, Arrow, Ibis
    synthetic: Any,  # noqa: ANN401 - the same
    test: Any,  # noqa: ANN401 - the same, or nothing
    *,
    release: Release | None,
    schema: Schema | None,
    promise: Promise | None,
    person: str | None,
    without: Collection[str],
    named: Collection[str],
    text_encoding: str,
    multiline: bool = False,
) -> Subject:
    """Read the tables; refused if they do not fit together."""
    arrow = {REAL: read_rows(real, text_encoding=text_encoding, multiline=multiline)}
    if release is None:
        arrow[SYNTHETIC] = read_rows(synthetic, text_encoding=text_encoding, multiline=multiline)
    else:
        if promise is not None:
            msg = "The release states its own promise. Leave --epsilon and --delta away."
            raise BadInput(msg)
        arrow[SYNTHETIC] = release.table
        promise = _promise(release)
        schema = release.schema if schema is None else schema
        person = _person(release) if person is None else person
    if test is not None:
        arrow[TEST] = read_rows(test, text_encoding=text_encoding, multiline=multiline)
    persons = None
    if person is not None:
        persons = persons_of([arrow[side] for side in (REAL, TEST) if side in arrow], person)
    tables = align(
        arrow[REAL],
        arrow[SYNTHETIC],
        arrow.get(TEST),
        schema=schema,
        without={*without, *([] if person is None else [person])},
        named=named,
    )
    return Subject(arrow, tables, release, schema, promise, persons)


def _promise(release: Release) -> Promise | None:
    certificate = release.certificate
    if certificate.not_private:
        return None
    replaces = certificate.unit == str(Replacement())
    whom = "record" if _person(release) is None else "person"
    return Promise(certificate.epsilon, certificate.delta, replaces, whom)


def _person(release: Release) -> str | None:
    """The column that tells persons apart, where persons are protected."""
    ids = [column.name for column in release.schema if column.role is Role.ID]
    return next((name for name in ids if f"person ({name})" in release.certificate.unit), None)
