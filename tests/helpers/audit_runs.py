"""Audits in processes of their own: forks of one program that loads everything once.

Coverage would make them take three times as long. What is made of answers tells nothing more, so
fits are cut short, few rows are drawn of models; and a bug may be planted.
"""

import importlib
import itertools
import json
import math
import os
import subprocess
import sys
import traceback

import numpy as np

from understudy.curator.audit import audit as audit_module
from understudy.curator.audit.audit import evidence, judged
from understudy.curator.audit.cases import BY_RISK, cases
from understudy.curator.audit.likelihood import claimed_mu, noise_log_ratio
from understudy.curator.audit.pair import RARE
from understudy.mechanisms import copula, dpdsyn, kernel_labels
from understudy.model import estimate
from understudy.privacy import budget, ledger, people
from understudy.privacy.answers import CommonValues
from understudy.privacy.unit import Person
from understudy.privacy.weights import UNIT

# What every audit loads, loaded once.
for name in ("ibis.backends.duckdb", "pandas"):
    importlib.import_module(name)
DELTA = 1e-5


class Audits:
    """The program that forks a child for each audit: python -m helpers.audit_runs."""

    def __init__(self):
        environment = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("COV_", "COVERAGE_"))
        }
        environment |= {"PYTHONPATH": os.pathsep.join(sys.path), "OPENBLAS_NUM_THREADS": "1"}
        self._program = subprocess.Popen(
            [sys.executable, "-m", "helpers.audit_runs"],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __call__(self, name, runs, *, epsilon=4.0, risk=1e-6, plant=None):
        """What the audit found, as `Audited.to_json` writes it."""
        return self._ask("audit", plant, name=name, runs=runs, epsilon=epsilon, risk=risk)

    def of_less_weight(self, runs, *, epsilon=4.0, plant=None):
        """See `canary_of_less_weight`."""
        told = self._ask("canary_of_less_weight", plant, runs=runs, epsilon=epsilon)
        return [np.array(numbers) for numbers in told]

    def _ask(self, what, plant, **how):
        self._program.stdin.write(json.dumps({"what": what, "plant": plant, "how": how}) + "\n")
        self._program.stdin.flush()
        told = json.loads(self._program.stdout.readline())
        assert "failed" not in told, told["failed"]
        return told["found"]

    def close(self):
        self._program.stdin.close()
        assert self._program.wait(30) == 0
        self._program.stdout.close()


def audit(name, runs, epsilon, risk):
    (case,) = cases(name, epsilon, DELTA)
    sides = [evidence(case, runs, canary=canary) for canary in (False, True)]
    return judged(case, *sides, risk=risk).to_json()


def canary_of_less_weight(runs, epsilon):
    """By run with the canary: how far it stands out, by its weight, and what was seen of that.

    Also what was claimed, its weight, and how far apart the two tables' exact answers are.
    """
    (case,) = cases(f"measure, {BY_RISK}, record", epsilon, DELTA)
    found = []
    for run in audit_module._runs(case, runs, canary=True):
        first, second = (entry.event for entry in run.events)
        own = run.measurements[-1][2]
        score = sum(table.scores[RARE] for table in own.tables)
        weight = own.weights[sum(limit <= score for limit in own.thresholds)] / UNIT
        # Stage 1 in full, and of what comes after by the square of the weight.
        squared = 3 / first.scale**2 + weight**2 * 3 / second.scale**2
        counted = sum(
            float(np.sum(np.square((a - b) / answer.scale)))
            for answer, groups, look in run.measurements
            for a, b in [[case.pair.counts(answer.clique, groups, look, canary=c) for c in (0, 1)]]
        )
        apart = math.sqrt(squared)
        seen = (noise_log_ratio(run, case.pair) - squared / 2) / apart
        found.append((apart, seen, claimed_mu(run.events), weight, math.sqrt(counted)))
    return list(zip(*found, strict=True))


def halve(function, place):
    """Halve the noise scale that the ledger hands to one of its functions."""
    whole = getattr(ledger, function)

    def weak(*arguments):
        arguments = list(arguments)
        arguments[place] /= 2
        return whole(*arguments)

    setattr(ledger, function, weak)


def tell_of_one_person():
    above = CommonValues.above
    CommonValues.above = lambda *told: above(2, *told[1:])


def forget_rows_of_a_person():
    Person.squared = lambda _, bound: bound.one


def count_all_rows_of_a_person():
    whole = people.keep_per_person
    for module in [module for name, module in sys.modules.items() if "understudy" in name]:
        if getattr(module, "keep_per_person", None) is whole:
            module.keep_per_person = lambda codes, person, _, also=(): whole(
                codes, person, 10**9, also
            )


def take_the_decimal_logarithm():
    budget._overhead = lambda x, delta: -math.log1p(1 / x) - (math.log1p(x) + math.log10(delta)) / x


def sharpen_later_choices():
    whole, calls = ledger.exponential_choice, itertools.cycle((1, 1000))
    ledger.exponential_choice = lambda scores, scale, *rest: whole(
        scores, scale / next(calls), *rest
    )


PLANTS = {
    "noise of counts": lambda: halve("all_with_gaussian_noise", 1),
    "noise of sums": lambda: halve("with_gaussian_noise", 1),
    "noise of training": lambda: halve("train", 2),
    "noise of choices": lambda: halve("exponential_choice", 1),
    "a low threshold": tell_of_one_person,
    "one row of a person": forget_rows_of_a_person,
    "all rows of a person": count_all_rows_of_a_person,
    "a wrong logarithm": take_the_decimal_logarithm,
    "noise of later choices": sharpen_later_choices,
}


ASKED = {"audit": audit, "canary_of_less_weight": canary_of_less_weight}


def answer(order):
    whole, short = estimate._followed, estimate.Stopping(iterations=1)
    estimate._followed = lambda points, _: whole(points, short)
    dpdsyn._DRAWN = copula._DRAWN = kernel_labels._DRAWN = 500
    if order["plant"] is not None:
        PLANTS[order["plant"]]()
    return ASKED[order["what"]](**order["how"])


def main():
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                told = {"found": answer(json.loads(line))}
            except BaseException:  # noqa: BLE001 - whatever it is, the test is to show it
                told = {"failed": traceback.format_exc()}
            sys.stdout.write(json.dumps(told) + "\n")
            sys.stdout.flush()
            os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
