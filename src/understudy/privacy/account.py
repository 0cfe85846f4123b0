"""What may be spent and what was: check, debit, record.

An account is a chain of limits, in the currency of its budget (see `budget`): the budget's own,
and that of each part it was split into. A request is checked against all of them before anything
changes, and written to the ledger file, if there is one, before it is answered.
"""

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from understudy.errors import BadInput, BudgetSpent, PrivacyRefused
from understudy.privacy.accountant import cost, delta, total_cost, total_delta, total_epsilon
from understudy.privacy.budget import Budget
from understudy.privacy.events import Event, Reveal
from understudy.privacy.ledger_file import OpenRelease
from understudy.privacy.limits import check_events

_NO_DELTA = (
    "Values told by a threshold would use up more of delta than was kept for them. Declare the "
    "values, or keep more of delta."
)
Request = Mapping[str, Any]
"""What was asked for, as plain public data."""


@dataclass(frozen=True)
class Entry:
    """One line of the account: what was asked for, and the event that it is."""

    request: Request
    event: Event


@dataclass
class _Limit:
    amount: Fraction
    spent: Fraction = Fraction(0)

    @property
    def rest(self) -> Fraction:
        return max(Fraction(0), self.amount - self.spent)


@dataclass
class _Book:
    """What all parts of an account share."""

    budget: Budget
    file: OpenRelease | None
    allow_non_private: bool
    entries: list[Entry] = field(default_factory=list)
    planned: tuple[Event, ...] | None = None
    """All requests, where they were fixed before the first answer."""
    left: Counter[Event] = field(default_factory=Counter)
    """Those of them that are still to come."""
    lock: threading.Lock = field(default_factory=threading.Lock)


class Account:
    """What may be spent; `Account.open` makes one, `part` a smaller one within it."""

    def __init__(self, book: _Book, limits: tuple[_Limit, ...]) -> None:
        self._book = book
        self._limits = limits

    @classmethod
    def open(
        cls, budget: Budget, *, file: OpenRelease | None = None, allow_non_private: bool = False
    ) -> "Account":
        """An account that may spend a budget."""
        return cls(_Book(budget, file, allow_non_private), (_Limit(budget.rho),))

    @property
    def budget(self) -> Budget:
        """The budget of the whole account."""
        return self._book.budget

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Everything debited so far, by whichever part."""
        return tuple(self._book.entries)

    @property
    def planned(self) -> tuple[Event, ...] | None:
        """All requests, where they were fixed before the first answer."""
        return self._book.planned

    @property
    def fixed(self) -> bool:
        """Whether all requests were fixed before the first answer."""
        return self.planned is not None

    @property
    def rest(self) -> Fraction:
        """What can still be spent."""
        return min(limit.rest for limit in self._limits)

    @property
    def rest_delta(self) -> Fraction:
        """What values told by a threshold can still use up of δ."""
        spent = total_delta(entry.event for entry in self._book.entries)
        return Fraction(self.budget.thresholds) - spent

    def part(self, amount: Fraction) -> "Account":
        """An account within this one that may spend at most this amount."""
        return Account(self._book, (*self._limits, _Limit(min(amount, self.rest))))

    def fix(self, events: Sequence[Event]) -> None:
        """Fix all requests before the first answer: then their exact total counts.

        From now on only these events can be debited, each as often as it is listed.
        """
        if len(self._limits) > 1 or self._book.entries or self.planned is not None:
            msg = "Requests are fixed once, before the first answer, and for the whole account."
            raise BadInput(msg)
        check_events(len(events))
        total = total_epsilon(events, self.budget.delta)
        costs = total_cost(events, self.budget.order)
        if total_delta(events) > self.budget.thresholds:
            raise BudgetSpent(_NO_DELTA)
        if total > self.budget.epsilon and costs > self.budget.rho:
            msg = (
                f"The requests cost epsilon {total:.4g} together; {self.budget.epsilon:.4g} is "
                "there. Ask for less, or with more noise."
            )
            raise BudgetSpent(msg)
        if self._book.file is not None:
            self._book.file.check(events)
        self._book.planned, self._book.left = tuple(events), Counter(events)
        # Their exact total may allow a little more than the sum of their costs would.
        if isinstance(costs, Fraction):
            self._limits[0].amount = max(self._limits[0].amount, costs)

    def debit(self, event: Event, request: Request) -> None:
        """Check, debit, record; a refused request changes nothing."""
        amount = cost(event, self.budget.order)
        with self._book.lock:
            self._check(event, amount)
            if self._book.file is not None:
                self._book.file.intend(event, request)
            if isinstance(amount, Fraction):
                for limit in self._limits:
                    limit.spent += amount
            self._book.left[event] -= 1
            self._book.entries.append(Entry(request, event))

    def _check(self, event: Event, amount: Fraction | float) -> None:
        check_events(len(self._book.entries) + 1)
        if isinstance(event, Reveal):
            if not self._book.allow_non_private:
                msg = (
                    f"This would use rows as they are ({event.reason}), and no promise would be "
                    "left. Declare the facts, or allow a release that is not private."
                )
                raise PrivacyRefused(msg)
        elif self.planned is not None and self._book.left[event] < 1:
            msg = "All requests were fixed beforehand, and this is none of them."
            raise PrivacyRefused(msg)
        elif delta(event) and delta(event) > self.rest_delta:
            raise BudgetSpent(_NO_DELTA)
        elif amount > self.rest:
            msg = (
                f"The request costs rho {float(amount):.4g}, and {float(self.rest):.4g} is left. "
                "Ask for less, with more noise, or raise epsilon."
            )
            raise BudgetSpent(msg)
