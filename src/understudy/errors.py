"""Every error Understudy raises on purpose.

    UnderstudyError
    ├── BadInput                 a public mistake; exit code 2
    │   ├── SourceError          the table cannot be opened as described
    │   ├── SchemaError          the public facts contradict themselves or the table
    │   ├── UnknownColumn        a name that the table does not have
    │   ├── NoiseTooLarge        noise that no number here can hold
    │   ├── MarginalTooLarge     one requested marginal has more cells than the limit
    │   ├── ModelTooLarge        marginals that together need more memory than the limit
    │   └── ReleaseTooLarge      a release folder that needs more memory to load than the limit
    ├── CheckFailed              something is not as it was written down; exit code 1
    └── PrivacyRefused           the promise would not hold; exit code 3
        ├── BudgetSpent          the request costs more than is left
        └── RowsAreSealed        somebody tried to take rows out of a private table

Each message names what is wrong and the way out, and is decided by public facts alone:
column names, storage types, the schema, the request. What the rows contain never raises;
it is absorbed by the encoding (see `understudy.encode`).
"""

from collections.abc import Iterable
from difflib import get_close_matches


class UnderstudyError(Exception):
    """The root of all errors raised on purpose."""


class BadInput(UnderstudyError):  # noqa: N818 - reads as what happened, like KeyError's kin
    """A public mistake that the caller can mend."""


class SourceError(BadInput):
    """The table cannot be opened: missing, unreadable, or without usable columns."""


class SchemaError(BadInput):
    """The public facts contradict themselves, or the table they describe."""


class UnknownColumn(BadInput):
    """A name that the table does not have.

    >>> print(UnknownColumn("agee", ["age", "bmi"]))
    There is no column 'agee'. Did you mean 'age'? The columns are: age, bmi.
    """

    def __init__(self, name: str, known: Iterable[str]) -> None:
        self.name = name
        self.known = tuple(known)
        near = get_close_matches(name, self.known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        super().__init__(
            f"There is no column {name!r}.{hint} The columns are: {listed(self.known)}."
        )


class NoiseTooLarge(BadInput):
    """Noise that no number here can hold, or that is none: by the price of a request alone."""


class MarginalTooLarge(BadInput):
    """One requested marginal has more cells than the limit.

    >>> print(MarginalTooLarge(("city", "job"), 10**9, 10**7))
    The marginal (city, job) has 1,000,000,000 cells; the limit is 10,000,000. Ask for fewer \
columns at once, or declare coarser bins or shorter category lists for: city, job.
    """

    def __init__(self, clique: tuple[str, ...], cells: int, limit: int) -> None:
        self.clique = clique
        self.cells = cells
        self.limit = limit
        names = ", ".join(clique)
        super().__init__(
            f"The marginal ({names}) has {cells:,} cells; the limit is {limit:,}. Ask for fewer "
            f"columns at once, or declare coarser bins or shorter category lists for: {names}."
        )


class ModelTooLarge(BadInput):
    """Marginals that together need more memory than the limit.

    >>> print(ModelTooLarge(("a", "b", "c"), [("a", "b"), ("b", "c")], 2**30, 2**25))
    A model of these marginals needs 1,024 MiB at its peak; the limit is 32 MiB. To blame: \
(a, b, c), which (a, b), (b, c) tie together. Ask for fewer of them, raise the limit, or declare \
coarser bins or shorter category lists for: a, b, c.
    """

    def __init__(
        self, clique: tuple[str, ...], within: Iterable[tuple[str, ...]], needed: int, limit: int
    ) -> None:
        self.clique = clique
        self.needed = needed
        self.limit = limit
        names = ", ".join(clique)
        tied = listed(f"({', '.join(part)})" for part in within if part)
        super().__init__(
            f"A model of these marginals needs {_memory(needed)} at its peak; the limit is "
            f"{_memory(limit)}. To blame: "
            f"({names}), which {tied} tie together. Ask for fewer of them, raise the limit, or "
            f"declare coarser bins or shorter category lists for: {names}."
        )


class ReleaseTooLarge(BadInput):
    """A release folder that needs more memory to load than the limit."""


class CheckFailed(UnderstudyError):  # noqa: N818 - as above
    """A certificate, a hashed file or a ledger is not as it was written down."""


class PrivacyRefused(UnderstudyError):  # noqa: N818 - as above
    """The promise would not hold."""


class BudgetSpent(PrivacyRefused):
    """The request costs more than is left."""


class RowsAreSealed(PrivacyRefused):
    """Rows never leave a private table: not by pickle, copy or iteration."""


def _memory(size: int) -> str:
    return f"{size / 2**20:,.0f} MiB" if size >= 2**20 else f"{size / 2**10:,.1f} KiB"


def listed(names: Iterable[str], most: int = 12) -> str:
    """Names for a message, cut after the first dozen.

    >>> listed("abc")
    'a, b, c'
    """
    names = list(names)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
