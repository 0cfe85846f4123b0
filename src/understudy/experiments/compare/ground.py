"""The ground that methods are compared on: a table's rows, and what is settled about them.

Whatever the real rows decide (what columns are compared as, what is predicted, which class is
asked for) is decided once, for all releases alike. Which rows are left out for tests is decided by
each row's content and a secret: so a release made from the others is as private as its own promise
says, for whoever is in the table.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.column import Role
from understudy.curator.align import align
from understudy.curator.persons import persons_of
from understudy.curator.source import read_rows
from understudy.curator.split import copies_before, left_to_chance
from understudy.curator.stored import StoredColumn
from understudy.curator.tables import Sort, Tables
from understudy.curator.target import Target
from understudy.errors import BadInput, SourceError, UnknownColumn
from understudy.experiments.compare.plan import Plan
from understudy.privacy.budget import Budget
from understudy.privacy.discover import DELTA_SHARE
from understudy.privacy.ledger import Ledger
from understudy.privacy.spelling import file_digest
from understudy.schema import Schema

Keys = NDArray[np.uint64]
"""By row, a number that depends on its content and the secret; equal rows have the same."""


@dataclass(frozen=True, eq=False)
class Ground:
    """A table's rows, read once."""

    whole: pa.Table
    """With the column that tells persons apart."""
    rows: pa.Table
    """As releases are made from them."""
    schema: Schema | None
    target: str
    sorts: Mapping[str, Sort]
    """By column that is compared."""
    task: str
    positive: str | None
    groups: Keys = field(default_factory=lambda: np.zeros(0, np.uint64))
    """Rows that stay together: of one person, or with equal inputs."""
    copies: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    """Of equal rows, the how-manieth each is."""
    salt: bytes = b""

    def split(self, seed: int) -> tuple[pa.Table, pa.Table]:
        """Rows to make releases from, and rows to test on."""
        out = left_to_chance(self.groups, self.copies, self.salt, seed)
        if out.all() or not out.any():
            msg = "The table is so small that no rows are left to learn from, or to test on."
            raise BadInput(msg)
        return self.rows.filter(pa.array(~out)), self.rows.filter(pa.array(out))

    def judged(self, train: pa.Table, rows: pa.Table, test: pa.Table) -> tuple[Tables, Target]:
        """Rows that models are trained on, beside real ones; refused if they do not fit."""
        tables = align(train, rows, test, schema=self.schema, settled=self.sorts)
        aim = Target.of(tables, self.target, task=self.task, positive=self.positive)
        return tables, aim


@lru_cache(maxsize=1)
def ground_of(plan: Plan) -> Ground:
    """The ground of a plan; what no cell could be run on is refused here, once."""
    ground, salt = _settled(replace(plan, salt="")), bytes.fromhex(plan.salt)
    groups, copies = _groups(ground.whole, plan, ground.schema, salt)
    return replace(ground, groups=groups, copies=copies, salt=salt)


@lru_cache(maxsize=1)
def _settled(plan: Plan) -> Ground:
    whole = read_rows(plan.data, text_encoding=plan.text_encoding, multiline=plan.multiline)
    # After the read, for what counts is what was read.
    if file_digest(Path(plan.data)) != plan.data_hash:
        msg = f"{plan.data} was changed meanwhile. Start again, with another folder: --out."
        raise BadInput(msg)
    schema, owner = plan.stated, plan.owner
    for name in (plan.target, *([] if owner is None else [owner])):
        if name not in whole.column_names:
            raise UnknownColumn(name, whole.column_names)
    described = set() if schema is None else {column.name for column in schema}
    rows = whole if owner is None or owner in described else whole.drop_columns([owner])
    # Whatever the table itself is refused for.
    budget = Budget(max(plan.epsilons), plan.delta, thresholds=plan.delta * DELTA_SHARE)
    roles = {plan.target: Role.TARGET}
    with Ledger.open(
        rows,
        schema,
        budget,
        roles=roles,
        discover=True,
        accept_weak_guarantee=True,  # `Plan.check_strength` asked before
    ):
        pass
    without = [name for name in rows.column_names if name == owner]
    tables = align(rows, rows, schema=schema, without=without, named={plan.target})
    aim = Target.of(tables, plan.target)
    return Ground(
        whole=whole,
        rows=rows,
        schema=schema,
        target=plan.target,
        sorts={column.name: column.sort for column in tables.columns},
        task=aim.task,
        positive=None if aim.positive is None else aim.classes[aim.positive],
    )


def _groups(
    rows: pa.Table, plan: Plan, schema: Schema | None, salt: bytes
) -> tuple[Keys, NDArray[np.int64]]:
    """By row the group that it stays with, and the how-manieth of its kind it is."""
    hidden = {column.name for column in schema or () if not column.coded}
    inputs = [n for n in rows.column_names if n not in {*hidden, plan.target, plan.owner}]
    alike = _keys(rows, inputs, salt)
    # Equal rows are counted with their targets: one row more then moves no other.
    copies = copies_before(alike + _keys(rows, [plan.target], salt))
    if plan.owner is None:
        return alike, copies
    (persons,) = persons_of([rows], plan.owner)
    known = persons >= 0
    # A person's rows stay together, however many they are.
    return np.where(known, _keys(rows, [plan.owner], salt), alike), np.where(known, 0, copies)


def _keys(rows: pa.Table, names: list[str], salt: bytes) -> Keys:
    """A sum of a hash for each cell, with the secret and the column's name in it."""
    total = np.zeros(rows.num_rows, np.uint64)
    for name in names:
        try:
            stored = StoredColumn.of(name, rows[name])
        except SourceError:
            continue  # lists and the like are never released
        key = hashlib.blake2b(salt + name.encode(), digest_size=32).digest()
        hashes = b"".join(
            hashlib.blake2b(f"{text!r}".encode(), digest_size=8, key=key).digest()
            for text in stored.texts(Sort.LABEL)
        )
        if hashes:
            total += np.frombuffer(hashes, np.uint64).take(stored.places)
    return total
