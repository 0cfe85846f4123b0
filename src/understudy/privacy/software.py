"""Code of others that a promise relies on, and which versions of it ran."""

import platform
from importlib.metadata import version

TRUSTED = (
    "OpenDP: discrete Gaussian noise up to 100,000 cells, and noisy maximum",
    "NumPy: arithmetic, and logarithms to twelve digits where our own sampler draws noise",
    "Python's decimal: logarithms to any number of digits, for the draws that need them",
    "dp-accounting: exact totals of requests that were fixed beforehand",
)
_LIBRARIES = (
    "understudy",
    "opendp",
    "dp-accounting",
    "numpy",
    "pyarrow",
    "duckdb",
    "ibis-framework",
)


def versions() -> dict[str, str]:
    """By name, the version of each library that touched rows or noise."""
    return {
        "python": platform.python_version(),
        **{name: version(name) for name in _LIBRARIES},
    }
