"""An invented customer table: 5,600 rows, 20 columns, and a two-class text target.

Subscribers of a telephone company, of the shape that such tables have: many columns of two or
three labels, of which several say the same, three numbers, and 27 % of rows in the second class.
"""

import numpy as np
import pandas as pd

ROWS, SEED = 5_600, 20
TARGET = "left"
CLASSES = ("no", "yes")
POSITIVE = 0.27
_ADDED = ("security", "backup", "insurance", "support", "television", "films")


def customer_table(rows: int = ROWS, seed: int = SEED) -> pd.DataFrame:
    """Return the table with the types that a CSV reader infers."""
    rng = np.random.default_rng(seed)
    months = np.ceil(72 * rng.beta(0.8, 0.9, rows)).astype(int)
    term = _labels(("month", "one year", "two years"), 3.2 * months / 72 + rng.normal(size=rows))
    line = rng.choice(["copper", "fibre", "none"], rows, p=[0.34, 0.44, 0.22])
    columns = {
        "sex": rng.choice(["female", "male"], rows),
        "pensioner": (rng.random(rows) < 0.16).astype(int),
        "partner": _yes(rng.random(rows) < 0.35 + 0.25 * months / 72),
        "children": _yes(rng.random(rows) < 0.30),
        "months": months,
        "telephone": _yes(rng.random(rows) < 0.9),
        "line": line,
    }
    columns["second_line"] = np.where(
        columns["telephone"] == "no", "no telephone", _yes(rng.random(rows) < 0.45)
    )
    added = {name: rng.random(rows) < 0.25 + 0.3 * months / 72 for name in _ADDED}
    columns |= {
        name: np.where(line == "none", "no line", _yes(taken)) for name, taken in added.items()
    }
    several = sum(taken & (line != "none") for taken in added.values())
    base = 20 + 25 * (line != "none") + 25 * (line == "fibre") + 5 * several
    charge = np.round(base + rng.normal(0, 2, rows), 2)
    columns |= {
        "contract": term,
        "paperless": _yes(rng.random(rows) < 0.6),
        "payment": rng.choice(
            ["bank transfer", "card", "cheque by post", "electronic cheque"],
            rows,
            p=[0.22, 0.22, 0.23, 0.33],
        ),
        "charge": charge,
        "paid": np.round(charge * months * rng.uniform(0.97, 1.03, rows), 2),
    }
    columns[TARGET] = _left(columns, rng)
    return pd.DataFrame(columns)


def _yes(holds: np.ndarray) -> np.ndarray:
    return np.where(holds, CLASSES[1], CLASSES[0])


def _labels(names: tuple[str, ...], score: np.ndarray) -> np.ndarray:
    """Labels by where a score lies: more than half of all rows have the first."""
    limits = np.quantile(score, [0.55, 0.77])
    return np.array(names)[np.searchsorted(limits, score)]


def _left(columns: dict[str, np.ndarray], rng: np.random.Generator) -> np.ndarray:
    """Who left: customers with short contracts, fibre lines and few months more than others."""
    score = (
        1.6 * (columns["contract"] == "month")
        - 0.03 * columns["months"]
        + 0.9 * (columns["line"] == "fibre")
        - 0.7 * (columns["line"] == "none")
        + 0.4 * (columns["payment"] == "electronic cheque")
        + 0.3 * (columns["paperless"] == "yes")
        - 0.4 * (columns["support"] == "yes")
        + rng.logistic(size=len(columns["months"]))
    )
    return _yes(score > np.quantile(score, 1 - POSITIVE))
