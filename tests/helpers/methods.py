"""Methods for tests that run each of them many times."""

from understudy.mechanisms.tailored import Tailored


def quick(kind):
    """A method with its own settings, but for what takes long and asks nothing of the ledger."""
    return kind(shown=2000) if kind is Tailored else kind()
