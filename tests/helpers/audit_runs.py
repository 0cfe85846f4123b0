"""One audit, in a process of its own: python -m helpers.audit_runs '{"name": ..., "runs": ...}'.

Coverage would make it take three times as long. What is made of answers tells nothing more, so
fits are cut short; and a bug may be planted.
"""

import itertools
import json
import math
import os
import subprocess
import sys

from understudy.curator.audit.audit import evidence, judged
from understudy.curator.audit.cases import cases
from understudy.model import estimate
from understudy.privacy import budget, ledger, people
from understudy.privacy.answers import CommonValues
from understudy.privacy.unit import Person


def audited(name, runs, *, epsilon=4.0, risk=1e-6, plant=None):
    """What the audit found, as `Audited.to_json` writes it."""
    asked = {"name": name, "runs": runs, "epsilon": epsilon, "risk": risk, "plant": plant}
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith(("COV_", "COVERAGE_"))
    }
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-m", "helpers.audit_runs", json.dumps(asked)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


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


def main():
    asked = json.loads(sys.argv[1])
    whole, short = estimate._followed, estimate.Stopping(iterations=1)
    estimate._followed = lambda points, _: whole(points, short)
    if asked["plant"] is not None:
        PLANTS[asked["plant"]]()
    (case,) = cases(asked["name"], asked["epsilon"], 1e-5)
    sides = [evidence(case, asked["runs"], canary=canary) for canary in (False, True)]
    sys.stdout.write(json.dumps(judged(case, *sides, risk=asked["risk"]).to_json()))


if __name__ == "__main__":
    main()
