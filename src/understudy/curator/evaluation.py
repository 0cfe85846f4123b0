"""evaluate(): a synthetic table against real rows, top to bottom. What comes out is internal."""

import dataclasses
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from understudy import demanded
from understudy.curator import attacks, disclosure, fairness, fidelity, records, task
from understudy.curator.attacks import Attacks
from understudy.curator.cells import FINE_BINS, MOST_EXACT, Cells
from understudy.curator.cohort import FEWEST, choose
from understudy.curator.disclosure import Disclosure
from understudy.curator.fairness import GroupGaps, IndependenceTest
from understudy.curator.fidelity import Fidelity
from understudy.curator.group_task import GroupTask
from understudy.curator.models import Learner
from understudy.curator.records import RecordLosses
from understudy.curator.result import CONFIDENCE, Result
from understudy.curator.second_opinion import anonymeter_risks, check_anonymeter
from understudy.curator.subject import Promise, Subject, read_subject, released
from understudy.curator.tables import Tell
from understudy.curator.target import Target
from understudy.curator.task import Task
from understudy.curator.trials import run_trials
from understudy.curator.verdict import task_verdict, verdicts
from understudy.errors import BadInput, listed
from understudy.knowledge import Independence
from understudy.protection import CURVE
from understudy.schema import Schema
from understudy.select.risk import weights_told

__all__ = ["Evaluation", "Learner", "Promise", "evaluate"]

FORMAT = "understudy evaluation 1"
LEARNERS = (Learner.LOGISTIC, Learner.BOOSTING)
SEEDS = 3
ATTACK_ROWS = 5000


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
    records: RecordLosses | None = None
    """What each record lost, where some count less."""

    def to_json(self) -> dict[str, Any]:
        """All of it as plain data."""
        head = {"format": FORMAT, "internal": True, "confidence": CONFIDENCE}
        told: dict[str, Any] = {"verdict": None, "verdicts": []}
        if self.task is not None:
            told["verdict"] = dataclasses.asdict(task_verdict(self.task))
            told["verdicts"] = [dataclasses.asdict(one) for one in verdicts(self.task)]
        return {**head, **_plain({**told, **dataclasses.asdict(self)})}


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
    multiline: bool = False,
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
    release = released(synthetic)
    if target is None and release is not None and release.schema.target not in without:
        target = release.schema.target
    if target is None and (task_kind is not None or positive is not None):
        msg = "A kind of task and a positive class need the column to predict: --target."
        raise BadInput(msg)
    tell("Reading the tables")
    if release is not None:
        # What the release was made to keep is tested unasked.
        kept = demanded.read(release.certificate.public)
        here = [one for one in kept if not {*one.columns} & {*without}]
        independent = tuple(dict.fromkeys((*independent, *here)))
    asked_for = {name for one in independent for name in one.columns}
    subject = read_subject(
        real,
        synthetic,
        test,
        release=release,
        schema=schema,
        promise=promise,
        person=person,
        without=without,
        named=asked_for if target is None else asked_for | {target},
        text_encoding=text_encoding,
        multiline=multiline,
    )
    tables = subject.tables
    # Everything that can be refused is refused before the long work begins.
    for name in asked_for:
        tables[name]  # refuses an unknown name
    aim = None if target is None else Target.of(tables, target, task=task_kind, positive=positive)
    if anonymeter is not None:
        check_anonymeter(tables, anonymeter)

    rng = np.random.default_rng(0)
    trials = []
    if aim is not None:
        owners = None if subject.persons is None else subject.persons[0]
        trials = run_trials(tables, aim, learners, seeds, tell, owners)
    cells = Cells.of(tables)
    return Evaluation(
        rows={name: table.num_rows for name, table in subject.arrow.items()},
        columns=tables.names,
        left_out=tables.left_out,
        task=None if aim is None else task.judge(tables, aim, trials),
        fidelity=fidelity.judge(tables, rng, tell),
        independence=tuple(
            fairness.independence_test(codes, side, one, rng)
            for side, codes in (subject.fine_codes().items() if independent else ())
            for one in independent
        ),
        gaps=tuple(
            gap
            for names in (subject.protected(independent) if trials else ())
            for gap in fairness.judge_groups(cells, names, trials, rng)
        ),
        attacks=_attacks(subject, attack_rows, rng, tell),
        disclosure=disclosure.judge(tables, rng, tell),
        second_opinion=_second_opinion(subject, aim, anonymeter, rng, tell),
        notes=tuple(_notes(subject, aim, independent)),
        records=_records(
            subject, None if aim is None else GroupTask(tables, aim, trials), rng, tell
        ),
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


def _attacks(subject: Subject, rows: int, rng: np.random.Generator, tell: Tell) -> Attacks:
    promise, tables, persons = subject.promise, subject.tables, subject.persons
    ceiling = None
    if promise is not None:
        ceiling = attacks.ceiling(
            promise.epsilon, promise.delta, replaces=promise.replaces, whom=promise.whom
        )
    owners = None if persons is None or tables.test is None else (persons[0], persons[1])
    cohort = choose(tables, rows, rng, owners)
    if isinstance(cohort, str):
        return Attacks((), ceiling, (f"Attacks were left out: {cohort}.",))
    strikes = attacks.judge(tables, cohort, rng, subject.published(), tell)
    notes = list(attacks.warnings(strikes))
    known = 0 if owners is None else int(np.isin(owners[1], owners[0]).sum())
    if known:
        notes.append(f"{known:,} test rows of persons who are in the real table were left aside.")
    return Attacks(strikes, ceiling, tuple(notes), tuple(attacks.alarms(strikes, ceiling)))


def _records(
    subject: Subject, task: GroupTask | None, rng: np.random.Generator, tell: Tell
) -> RecordLosses | None:
    release = subject.release
    if release is None or CURVE not in release.certificate.public:
        return None
    names = set(weights_told(release.certificate.public[CURVE]).columns)
    if any(not names <= set(table.column_names) for table in subject.arrow.values()):
        return None  # without all columns nobody knows what a row weighs
    tell("Adding up what records lost")
    encoding = release.encoding.only(names)
    codes = {side: encoding.codes(table) for side, table in subject.arrow.items()}
    return records.judge(release.certificate, encoding, codes, subject.tables, task, rng)


def _second_opinion(
    subject: Subject,
    target: Target | None,
    python: Path | None,
    rng: np.random.Generator,
    tell: Tell,
) -> tuple[Result, ...]:
    if python is None:
        return ()
    tell("Asking anonymeter")
    return anonymeter_risks(subject.tables, target, python, rng)


def _notes(
    subject: Subject, target: Target | None, independent: Sequence[Independence]
) -> list[str]:
    notes, release, tables = [], subject.release, subject.tables
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
