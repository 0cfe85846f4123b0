"""Limits on what `verify` computes, so that no certificate can keep it busy.

The same limits hold where releases are made: what can be made can be verified.
"""

from typing import Any, Final

from understudy.errors import BadInput

MOST_CERTIFICATE_BYTES: Final = 2**26
MOST_VALUES: Final = 2**20
"""Numbers, texts, lists and objects in a certificate."""
MOST_MARKS: Final = 2**22
"""Commas and brackets in the text of a certificate: counted before it is parsed."""
MOST_QUERIES: Final = 10_000
"""Of one release, and of one plan."""
MOST_CAPS: Final = 1000
MOST_BEST_OF: Final = 100
"""Different events of one plan that keep the best of several runs; each counts at many orders."""
MOST_FILES: Final = 10_000
MOST_DEPTH: Final = 200
"""Of lists and objects in a certificate, one in another."""
MOST_TEXT: Final = 2_000
"""Characters of one exact number: two thirds of it suffice for a product of two doubles."""
MOST_INTEGER: Final = 2**62
MOST_COST_EVALUATIONS: Final = 2**17
"""Costs of queries for records of different weights."""
BEST_OF_EVALUATIONS: Final = 4
"""The best of several runs takes as long as so many other queries."""
MOST_SAMPLED_POINTS: Final = 5 * 10**7
"""Points of the numerical integrals that sampled training needs."""


class TooLarge(ValueError):  # noqa: N818 - named like the errors that users see
    """A certificate that would take too long to verify."""


def check_number(count: float, most: float, what: str) -> None:
    """Refuse a certificate that holds more of something than can be verified."""
    if count > most:
        msg = f"{what}: {count:,.0f}, and at most {most:,.0f} are verified"
        raise TooLarge(msg)


def check_written(written: bytes) -> None:
    """Refuse the text of a certificate that takes long, or much memory, to parse."""
    check_number(len(written), MOST_CERTIFICATE_BYTES, "bytes")
    check_number(sum(map(written.count, (b",", b"[", b"{"))), MOST_MARKS, "commas and brackets")


def check_plain(content: object) -> None:
    """Refuse plain data that is nested too deeply, or holds too many values."""
    level: list[Any] = [content]
    count = 0
    for _ in range(MOST_DEPTH):
        count += len(level)
        check_number(count, MOST_VALUES, "values")
        inner: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                inner += value.values()
            elif isinstance(value, list):
                inner += value
        if not inner:
            return
        level = inner
    msg = f"lists and objects lie more than {MOST_DEPTH} deep in each other"
    raise TooLarge(msg)


def check_events(count: int) -> None:
    """Refuse more queries than one release may make."""
    if count > MOST_QUERIES:
        msg = (
            f"A release makes at most {MOST_QUERIES:,} queries. Measure several marginals in one "
            "query."
        )
        raise BadInput(msg)
