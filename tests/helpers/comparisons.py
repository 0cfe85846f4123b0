"""Small comparisons, to try things on."""

import os

import numpy as np

from understudy.experiments.compare.outcome import Outcome
from understudy.experiments.compare.plan import Plan
from understudy.privacy.budget import Budget
from understudy.privacy.spelling import file_digest


def write_rows(path, columns):
    """A CSV file."""
    lines = [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    path.write_text("\n".join([",".join(columns), *lines]) + "\n")
    return path


def ill_by_age(path, rows=400):
    """A CSV file of people, the older the more of them ill."""
    rng = np.random.default_rng(0)
    age = rng.integers(18, 90, rows)
    ill = np.where(rng.random(rows) < age / 120, "yes", "no")
    return write_rows(path, {"age": age, "ill": ill})


def planned(data, **changes):
    """A plan for a file."""
    facts = {
        "data": str(data),
        "data_hash": file_digest(data),
        "target": "ill",
        "methods": ("independent", "mst"),
        "epsilons": (4.0, 8.0),
        "seeds": 2,
        "delta": 1e-5,
        "learners": ("logistic",),
        "schema": None,
        "text_encoding": "utf-8",
        "version": "0",
    }
    return Plan(**{**facts, **changes})


def outcome(cell, auc=0.7, failed=None, **changes):
    """What may have come of a cell."""
    rho = "0" if cell.epsilon is None else str(Budget(cell.epsilon, 1e-5).rho)
    facts = {"seconds": 1.0, "rho": rho, "failed": failed}
    if failed is None:
        facts["scores"] = {"logistic regression": {"ROC-AUC": auc, "log loss": None}}
    return Outcome(cell.method, cell.epsilon, cell.seed, **{**facts, **changes})


def end_at_once(plan, cell):
    """In place of a cell: a process that is ended in the second repetition."""
    if cell.seed == 1:
        os._exit(9)
    return outcome(cell)
