"""Whom to attack: members and non-members that nothing but membership tells apart.

The test table is split in two: non-members, and a reference that attackers may look at and that
says how rare a row is. Some real rows are attacked as members; the others stand in for a release
that leaks nothing. Only rows without a twin in either table are attacked: of twins nobody can say
which one is a member, and splits that keep twins together would give members away.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.curator.deciles import Tenths, deciles_by_distance
from understudy.curator.persons import Persons
from understudy.curator.tables import Tables, joined, row_keys

FEWEST = 20
"""Fewer members or non-members than this say nothing."""
_FEW_ALONE = 0.5
_MOST_KNOWN = 10_000
"""So many rows of the reference say how far others stand out."""

Places = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Cohort:
    """Who is attacked and who is not, as places: first in the real, then in the test table."""

    members: Places
    rest: Places
    """Real rows that are not attacked."""
    non_members: Places
    reference: Places
    deciles: Tenths
    """How far each member and then each non-member stands out: 1 the least … 10 the most."""

    @property
    def is_member(self) -> NDArray[np.bool_]:
        """By attacked row, members first."""
        return np.arange(len(self.members) + len(self.non_members)) < len(self.members)


def choose(
    tables: Tables,
    rows: int,
    rng: np.random.Generator,
    persons: tuple[Persons, Persons] | None = None,
) -> Cohort | str:
    """A cohort of at most so many members and non-members; or why there is none.

    With `persons`, of the real and the test rows: a person's rows are on one side of every split,
    and only one of them is attacked. Test rows of a real row's person are left aside: they are
    members in disguise.
    """
    if tables.test is None:
        return "no test table was given (--test), so nobody is known to be a non-member"
    owners = persons or (np.arange(tables.real.count), np.arange(tables.test.count))
    real, test = row_keys([tables.real, tables.test])
    counts = np.bincount(np.concatenate([real, test]))
    # Rows of nobody are in no count of a release for persons.
    usable = (counts[real] == 1) & (owners[0] >= 0), (counts[test] == 1)
    stranger = np.ones(len(test), bool)
    if persons is not None:
        stranger = ~np.isin(owners[1], owners[0])
    # Half of the persons stay out: of the real table to stand in for a release that leaks
    # nothing, of the test table as the reference.
    members, _ = _attacked(owners[0], usable[0], rows, rng)
    rest = np.flatnonzero(~np.isin(owners[0], owners[0][members]))
    non_members, reference = _attacked(owners[1], usable[1] & stranger, rows, rng)
    reference = reference[stranger[reference]]
    if min(len(members), len(non_members), len(reference)) < FEWEST:
        return _too_few(usable, stranger)
    attacked = joined([tables.real.take(members), tables.test.take(non_members)])
    guide = tables.test.take(reference)
    standing_out = deciles_by_distance(tables, guide, attacked, _MOST_KNOWN, rng)
    return Cohort(members, rest, non_members, reference, standing_out)


def _too_few(
    usable: tuple[NDArray[np.bool_], NDArray[np.bool_]], stranger: NDArray[np.bool_]
) -> str:
    """Why there are not enough rows to attack."""
    why = f"they need {FEWEST} members and {FEWEST} non-members"
    if (~stranger).sum() > len(stranger) / 2:
        return f"{why}, and most test rows are of persons who are in the real table"
    if min(side.mean() if len(side) else 1.0 for side in usable) < _FEW_ALONE:
        return f"{why} without an equal row elsewhere, and most rows have one"
    return f"{why}, out of halves of both tables; give more rows"


def _attacked(
    owners: Persons, lone: NDArray[np.bool_], most: int, rng: np.random.Generator
) -> tuple[Places, Places]:
    """Of half of the persons one row each, if it is alone of its kind; and all others' rows."""
    persons = rng.permutation(np.unique(owners))
    chosen = np.isin(owners, persons[: len(persons) // 2])
    candidates = rng.permutation(np.flatnonzero(chosen & lone))
    _, first = np.unique(owners[candidates], return_index=True)
    return candidates[np.sort(first)][:most], np.flatnonzero(~chosen)
