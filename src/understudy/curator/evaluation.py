"""evaluate(): a synthetic table against real rows, top to bottom. What comes out is internal."""

import dataclasses
import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from understudy.column import Role
from understudy.curator import attacks, disclosure, fairness, fidelity, task
from understudy.curator.align import align
from understudy.curator.attacks import Attacks
from understudy.curator.cells import FINE_BINS, MOST_EXACT, Cells, Codes
from understudy.curator.cohort import FEWEST, choose
from understudy.curator.disclosure import Disclosure
from understudy.curator.fairness import GroupGaps, IndependenceTest
from understudy.curator.fidelity import Fidelity
from understudy.curator.marginal_attack import KnownMarginal
from understudy.curator.models import Learner
from understudy.curator.persons import Persons, persons_of
from understudy.curator.result import CONFIDENCE, Result
from understudy.curator.second_opinion import anonymeter_risks, check_anonymeter
from understudy.curator.source import read_rows
from understudy.curator.tables import Tables
from understudy.curator.target import Target
from understudy.curator.task import Task
from understudy.curator.trials import Trial, run_trials
from understudy.encode import Encoding
from understudy.errors import BadInput, listed
from understudy.knowledge import Independence
from understudy.privacy.unit import Replacement
from understudy.release import Release, load
from understudy.schema import Schema

FORMAT = "understudy evaluation 1"
LEARNERS = (Learner.LOGISTIC, Learner.BOOSTING)
SEEDS = 3
ATTACK_ROWS = 5000
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Evaluation:
    """Everything that was measured."""

    rows: dict[str, int]
    columns: tuple[str, ...]
    left_out: tuple[str, ...]
    task: Task | None
    fidelity: Fidelity
    independence: tuple[IndependenceTest, ...]
    gaps: tuple[GroupGaps, ...]
    attacks: Attacks
    disclosure: Disclosure
    second_opinion: tuple[Result, ...]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """All of it as plain data."""
        head = {"format": FORMAT, "internal": True, "confidence": CONFIDENCE}
        return {**head, **_plain(dataclasses.asdict(self))}


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


def evaluate(  # noqa: PLR0913 - one per choice
    real: Any,  # noqa: ANN401 - a path, a data frame, Arrow, Ibis
    synthetic: Any,  # noqa: ANN401 - the same, or a release
    *,
    target: str | None = None,
    test: Any = None,  # noqa: ANN401 - as `real`
    independent: Sequence[Independence] = (),
    learners: Sequence[Learner] = LEARNERS,
    seeds: int = SEEDS,
    task_kind: str | None = None,
    positive: str | None = None,
    schema: Schema | None = None,
    without: Collection[str] = (),
    promise: Promise | None = None,
    person: str | None = None,
    attack_rows: int = ATTACK_ROWS,
    anonymeter: Path | None = None,
    text_encoding: str = "utf-8",
    tell: Tell = lambda _: None,
) -> Evaluation:
    """Judge a synthetic table: the readers' task, distributions, fairness, attacks, copies.

    `synthetic` is a table or a release; of a release the schema, the promise and the measured
    marginals are known. `test` holds rows that the release never saw: without them the task is
    tested on held-out real rows, and there are no attacks. `seeds` is how often the task is
    repeated; every draw here is seeded, so the same call gives the same numbers. `person` is the
    column that tells persons apart, where they have several rows: splits keep them together.
    """
    _check_choices(learners, seeds, attack_rows)
    release = _release(synthetic)
    if target is None and release is not None:
        target = release.schema.target
    if target is None and (task_kind is not None or positive is not None):
        msg = "A kind of task and a positive class need the column to predict: --target."
        raise BadInput(msg)
    tell("Reading the tables")
    stored = {"real": read_rows(real, text_encoding=text_encoding)}
    stored["synthetic"] = (
        read_rows(synthetic, text_encoding=text_encoding) if release is None else release.table
    )
    if test is not None:
        stored["test"] = read_rows(test, text_encoding=text_encoding)
    if release is not None:
        if promise is not None:
            msg = "The release states its own promise. Leave --epsilon and --delta away."
            raise BadInput(msg)
        promise = _promise(release)
        schema = release.schema if schema is None else schema
        person = _person(release) if person is None else person
    owners = None if person is None else persons_of([stored["real"], *_test(stored)], person)
    named = {
        *([] if target is None else [target]),
        *(n for one in independent for n in one.columns),
    }
    tables = align(
        stored["real"],
        stored["synthetic"],
        stored.get("test"),
        schema=schema,
        without={*without, *([] if person is None else [person])},
        named=named,
    )
    for one in independent:
        one.check(tables.names)
    # Everything that can be refused is refused before the long work begins.
    aim = None if target is None else Target.of(tables, target, task=task_kind, positive=positive)
    if anonymeter is not None:
        check_anonymeter(tables, anonymeter)
    trials = []
    if aim is not None:
        of_real = None if owners is None else owners[0]
        trials = run_trials(tables, aim, learners, seeds, tell, of_real)
    cells = Cells.of(tables)
    rng = np.random.default_rng(0)
    return Evaluation(
        rows={name: table.num_rows for name, table in stored.items()},
        columns=tables.names,
        left_out=tables.left_out,
        task=None if aim is None else task.judge(tables, aim, trials),
        fidelity=fidelity.judge(tables, rng, tell),
        independence=tuple(_independence_tests(tables, release, stored, independent, rng)),
        gaps=tuple(_gaps(tables, cells, schema, independent, trials, rng)),
        attacks=_attacks(
            tables, _published(tables, release, stored), owners, promise, attack_rows, rng, tell
        ),
        disclosure=disclosure.judge(tables, rng),
        second_opinion=_second_opinion(tables, aim, anonymeter, rng, tell),
        notes=tuple(_notes(tables, aim, release, independent)),
    )


def _check_choices(learners: Sequence[Learner], seeds: int, attack_rows: int) -> None:
    if not learners:
        msg = f"Name at least one model: {listed(Learner)}."
        raise BadInput(msg)
    if seeds < 1:
        msg = f"The task is repeated {seeds} times; it must be at least once."
        raise BadInput(msg)
    if attack_rows < FEWEST:
        msg = f"{attack_rows} attacked rows are too few to say anything; name at least {FEWEST}."
        raise BadInput(msg)


def _release(synthetic: Any) -> Release | None:  # noqa: ANN401 - as above
    if isinstance(synthetic, Release):
        return synthetic
    if isinstance(synthetic, (str, Path)) and Path(synthetic).is_dir():
        return load(synthetic)
    return None


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


def _test(stored: dict[str, pa.Table]) -> list[pa.Table]:
    return [stored["test"]] if "test" in stored else []


def _independence_tests(
    tables: Tables,
    release: Release | None,
    stored: dict[str, pa.Table],
    independent: Sequence[Independence],
    rng: np.random.Generator,
) -> list[IndependenceTest]:
    """In the cells of the release, which are those that it can keep an independence in."""
    sides: dict[str, Codes]
    if release is not None:
        encoding = Encoding(release.schema).only(tables.names)
        sides = {name: encoding.codes(stored[name]) for name in ("synthetic", "real")}
    else:
        fine = Cells.of(tables, fine=True)
        sides = {"synthetic": fine.codes(tables.synthetic), "real": fine.codes(tables.real)}
    return [
        fairness.independence_test(codes, name, one, rng)
        for one in independent
        for name, codes in sides.items()
    ]


def _gaps(  # noqa: PLR0913, PLR0917 - what gaps are made of
    tables: Tables,
    cells: Cells,
    schema: Schema | None,
    independent: Sequence[Independence],
    trials: Sequence[Trial],
    rng: np.random.Generator,
) -> list[GroupGaps]:
    """Gaps between the groups of every set of protected columns."""
    groups = {one.protected for one in independent}
    if schema is not None:
        groups |= {(c.name,) for c in schema if c.role is Role.PROTECTED}
    known = sorted(names for names in groups if set(names) <= set(tables.names))
    return [
        gap for names in known if trials for gap in fairness.judge_groups(cells, names, trials, rng)
    ]


def _attacks(  # noqa: PLR0913, PLR0917 - what attackers know
    tables: Tables,
    published: attacks.Published | None,
    owners: list[Persons] | None,
    promise: Promise | None,
    rows: int,
    rng: np.random.Generator,
    tell: Tell,
) -> Attacks:
    ceiling = None
    if promise is not None:
        ceiling = attacks.ceiling(
            promise.epsilon, promise.delta, replaces=promise.replaces, whom=promise.whom
        )
    both = None if owners is None or tables.test is None else (owners[0], owners[1])
    cohort = choose(tables, rows, rng, both)
    if isinstance(cohort, str):
        return Attacks((), ceiling, (f"Attacks were left out: {cohort}.",))
    strikes = attacks.judge(tables, cohort, rng, published, tell)
    return Attacks(strikes, ceiling, tuple(attacks.warnings(strikes)))


def _second_opinion(
    tables: Tables,
    target: Target | None,
    python: Path | None,
    rng: np.random.Generator,
    tell: Tell,
) -> tuple[Result, ...]:
    if python is None:
        return ()
    tell("Asking anonymeter")
    return anonymeter_risks(tables, target, python, rng)


def _published(
    tables: Tables, release: Release | None, stored: dict[str, pa.Table]
) -> attacks.Published | None:
    """The marginals that the release's own model file tells, of columns that are compared."""
    if release is None or "test" not in stored:
        return None
    marginals = tuple(
        KnownMarginal.measured(m.clique, m.values, m.scale)
        for m in release.model.measurements
        # The number of rows speaks for none of them.
        if m.clique and set(m.clique) <= set(tables.names)
    )
    if not marginals:
        return None
    encoding = Encoding(release.schema).only(tables.names)
    real, test = encoding.codes(stored["real"]), encoding.codes(stored["test"])
    return attacks.Published(marginals, real, test, dict(encoding.domain.sizes))


def _notes(
    tables: Tables,
    target: Target | None,
    release: Release | None,
    independent: Sequence[Independence],
) -> list[str]:
    notes = []
    if independent:
        cells = (
            f"numbers with more than {MOST_EXACT} values cut into about {FINE_BINS} bins"
            if release is None
            else "the release's own cells"
        )
        notes.append(
            f"Independences are tested in {cells}; what hangs together within a cell of the given "
            "columns counts against them."
        )
    if release is not None and release.certificate.not_private:
        notes.append("The release makes no promise, so nothing bounds what attacks can find.")
    if target is None:
        notes.append("No target was named, so the readers' task was left out. Name it: --target.")
    if tables.left_out:
        notes.append(f"Left out of all comparisons: {', '.join(tables.left_out)}.")
    return notes


def _plain(content: Any) -> Any:  # noqa: ANN401 - JSON
    """Plain data; JSON knows no infinity and no NaN."""
    if isinstance(content, dict):
        return {key: _plain(value) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [_plain(value) for value in content]
    if isinstance(content, float) and not math.isfinite(content):
        return None
    return content
