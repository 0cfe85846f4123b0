"""The promise of a release in plain words."""

import math
from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, Context, Decimal
from types import MappingProxyType
from typing import Any

from understudy.errors import PrivacyRefused
from understudy.privacy.unit import Replacement, unit_in_words

READING = "reading"
"""What a certificate calls how the table was read."""
ANY_VALUES = "any values"
"""Whom an individual bound protects."""
MOST_EPSILON = 10.0
"""Above it a guarantee is weak: it lets the odds of a guess grow more than 22,000 times."""
MOST_DELTA = 1e-5
"""Above it a guarantee is weak: it may fail altogether with a probability that matters."""
WEAK = "WEAK GUARANTEE"
_MANY, _COUNTLESS = 1000, 10**15


def promise(  # noqa: PLR0913, PLR0917 - what a promise is made of
    epsilon: float,
    delta: float,
    unit: str,
    not_private: Sequence[str],
    caps: Sequence[tuple[str, float, float]] = (),
    reading: Mapping[str, Any] = MappingProxyType({}),
    rows_bound: int | None = None,
) -> list[str]:
    """What is promised, to whom, and how much that is; a sentence each.

    `caps` are conditions under which records lose less, with the ε and δ of each; `reading` says
    how the table was read. Where the numbers make a weak guarantee, the first sentence says so.
    """
    if not_private:
        return [
            "NOT PRIVATE: this release keeps no promise.",
            f"Reason: {'; '.join(not_private)}.",
            "Treat it like the private table itself.",
        ]
    weak = weaknesses(epsilon, delta, rows_bound)
    lines = [
        *([weak_line(weak)] if weak else ()),
        f"Differentially private: epsilon {at_most(epsilon, 4)}, delta {at_most(delta, 4)}.",
        " ".join((f"Protected: {unit_in_words(unit)}.", *record_line(reading))),
        *odds(epsilon, delta, unit),
        *(_capped(where, most, slack, delta) for where, most, slack in caps),
    ]
    if epsilon >= MOST_EPSILON:
        lines.append(
            "Such a large epsilon protects little by itself; epsilon 1 is a common choice, and "
            f"above {MOST_EPSILON:g} few would speak of a promise."
        )
    if len(weak) > (epsilon > MOST_EPSILON):
        lines.append(
            f"With a probability of up to {at_most(delta, 4)} nothing is guaranteed: then the "
            "release may hold records as they are."
        )
    return lines


def weaknesses(epsilon: float, delta: float, rows_bound: int | None = None) -> tuple[str, ...]:
    """Return why a guarantee is weak: each number and its threshold; empty if it is not.

    Args:
        epsilon: The ε of the guarantee.
        delta: Its δ.
        rows_bound: The declared bound on the number of rows, if there is one.

    >>> weaknesses(1.0, 1e-9, 5000)
    ()
    >>> weaknesses(1000.0, 0.5)
    ('epsilon 1,000 is above 10', 'delta 0.5 is above 1e-05')
    >>> weaknesses(1.0, 1e-6, 2_000_000)
    ('delta 1e-06 is not below 1 / 2,000,000 (the declared bound on rows)',)
    """
    found = []
    if epsilon > MOST_EPSILON:
        found.append(f"epsilon {at_most(epsilon, 4)} is above {MOST_EPSILON:g}")
    if delta > MOST_DELTA:
        found.append(f"delta {at_most(delta, 4)} is above {MOST_DELTA:g}")
    if rows_bound is not None and Decimal(repr(delta)) * rows_bound >= 1:
        bound = f"1 / {rows_bound:,} (the declared bound on rows)"
        found.append(f"delta {at_most(delta, 4)} is not below {bound}")
    return tuple(found)


def weak_line(reasons: Sequence[str]) -> str:
    """Return the first line of every page about a weak guarantee.

    >>> weak_line(weaknesses(20.0, 1e-9))
    'WEAK GUARANTEE: epsilon 20 is above 10.'
    """
    return f"{WEAK}: {'; '.join(reasons)}."


def check_strength(
    epsilon: float, delta: float, rows_bound: int | None = None, *, accepted: bool
) -> None:
    """Refuse a weak guarantee unless the data owner has accepted it.

    Raises:
        PrivacyRefused: A number is above its threshold, and `accepted` is false.
    """
    reasons = weaknesses(epsilon, delta, rows_bound)
    if not reasons or accepted:
        return
    ways = []
    if epsilon > MOST_EPSILON:
        ways.append("Choose a smaller epsilon; 1 is common.")
    if len(reasons) > len(ways):
        ways.append(
            "Above such a delta, publishing a random row whole may keep the promise: choose a much "
            "smaller delta, such as 1e-9."
        )
    msg = (
        f"The guarantee would be weak: {'; '.join(reasons)}. {' '.join(ways)} To go on all the "
        "same, add --accept-weak-guarantee (in Python accept_weak_guarantee=True): the certificate "
        "and all pages then begin with this warning."
    )
    raise PrivacyRefused(msg)


def _capped(where: str, epsilon: float, slack: float, delta: float) -> str:
    other = "" if slack == delta else f", delta at most {at_most(slack, 4)}"
    return f"Records with {where}: epsilon at most {at_most(epsilon, 4)}{other}."


def record_line(reading: Mapping[str, Any]) -> tuple[str, ...]:
    """What a record of the source is, where that is not a row of a table."""
    if reading.get("source") != "csv":
        return ()
    if reading.get("multiline"):
        balanced = "Condition: the quotes of every record of the CSV file are balanced"
        return (f"{balanced}; an open quote would join the records after it.",)
    return ("A record is one line of the CSV file; a cell with a line break is two records.",)


def is_reading(reading: Mapping[str, Any]) -> bool:
    """Return whether this is how a ledger writes that it read a table: the promise goes by it.

    >>> is_reading({"source": "arrow"}), is_reading({"source": "csv"})
    (True, False)
    """
    texts = {"source", "encoding", "delimiter"} if reading.get("source") == "csv" else {"source"}
    flags = {"multiline"} if len(texts) > 1 else set()
    return (
        reading.keys() == texts | flags
        and all(type(reading[name]) is str for name in texts)
        and all(type(reading[name]) is bool for name in flags)
    )


def odds(epsilon: float, delta: float, unit: str) -> list[str]:
    """An ε as what it does to somebody's odds.

    Whether a record is there is one step between neighbours. What it holds is one step where
    records are replaced; where they come and go it is two, for one goes and another comes.

    >>> for line in odds(1.0, 1e-9, "one record, added or removed"):
    ...     print(line)
    In odds: somebody who knows all the rest of the table, and guesses whether this was in it, has \
with the release at most 2.72 times the odds that they have without it, but for a chance of 1e-09, \
for which nothing is promised.
    Guessing what this holds, where it was in the table: at most 7.39 times, but for a chance of \
3.72e-09.
    """
    replaced = replaces(unit)
    guess = "what this holds" if replaced else "whether this was in it"
    first = (
        f"In odds: somebody who knows all the rest of the table, and guesses {guess}, has with the "
        f"release at most {at_most(factor(epsilon))} times the odds that they have without it, "
        f"but for a chance of {at_most(delta)}, for which nothing is promised."
    )
    if replaced:
        return [first]
    chance = Decimal(repr(delta)) * (1 + factor(epsilon))
    bound = f"at most {at_most(factor(2 * epsilon))} times, but for a chance of {at_most(chance)}."
    second = bound if chance < 1 else "nothing is promised."
    return [first, f"Guessing what this holds, where it was in the table: {second}"]


def surest(before: float, epsilon: float) -> float:
    """How likely somebody may hold it afterwards, at most, whom one step of ε makes surer.

    >>> round(surest(0.1, 1.0), 4)
    0.232
    """
    after = before / (before + (1 - before) * math.exp(-epsilon))
    return min(1.0, math.nextafter(after, 1.0))


def replaces(unit: str) -> bool:
    """Whether records are replaced; of other units, they come and go."""
    return unit == str(Replacement())


def at_most(value: float | Decimal, digits: int = 3) -> str:
    """A bound for the eye: to so many digits, and never rounded down.

    >>> [at_most(value) for value in (2.7181, 0.1, 1e-9, 148.4, 999.5, 2980.957)]
    ['2.72', '0.1', '1e-09', '149', '1,000', '2,981']
    """
    exact = value if isinstance(value, Decimal) else Decimal(repr(value))
    rounded = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(exact)
    if rounded < _MANY:
        return f"{float(rounded):.{digits}g}"
    return f"{math.ceil(exact):,}" if exact < _COUNTLESS else f"{rounded:.{digits - 1}e}"


def factor(epsilon: float) -> Decimal:
    """By how much odds may change: e^ε, however large."""
    return Context(traps=[]).exp(Decimal(epsilon))
