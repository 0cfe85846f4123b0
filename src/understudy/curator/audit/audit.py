"""An audit: run a mechanism many times on two tables, and see how well they are told apart."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import reduce
from multiprocessing import get_context

import numpy as np

from understudy.curator.audit.audited import CONFIDENCE, RISK, Audited
from understudy.curator.audit.bounds import (
    Mistakes,
    Numbers,
    Surprise,
    as_numbers,
    gaussian_epsilon,
    mistakes,
)
from understudy.curator.audit.cases import Case, cases
from understudy.curator.audit.likelihood import (
    allowed_mu,
    best_log_ratio,
    claimed_mu,
    law,
    noise_log_ratio,
    told_log_ratio,
)
from understudy.curator.audit.overheard import Overheard, Run
from understudy.errors import CheckFailed
from understudy.privacy.budget import Budget
from understudy.privacy.events import Exponential
from understudy.privacy.ledger import Ledger

_PLENTY = 1e9
_TESTS = 5
"""Of each case: of μ, by itself and as ε, of ε, of choices and of their law."""
_AT_ONCE = 50
"""Runs on one ledger: what it writes down grows with them."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """What runs on one of the two tables showed."""

    ratios: Numbers
    """How much likelier each run is with the canary, as a logarithm."""
    noise_ratios: Numbers
    """The same of noisy numbers alone."""
    mu: float
    """What noise on numbers claims, at most over all runs."""
    allowed: float
    """The same, as noise on whole numbers keeps it."""
    choice_epsilon: float
    """The ε of the first selection, at most over all runs; 0 without one."""
    choices: tuple[str, ...]
    """What the first selection of each run chose."""
    surprise: Surprise
    """Whether selections chose as the claim says."""

    @classmethod
    def together(cls, parts: "Sequence[Evidence]") -> "Evidence":
        """What several parts of the runs showed."""
        return cls(
            np.concatenate([part.ratios for part in parts]),
            np.concatenate([part.noise_ratios for part in parts]),
            max(part.mu for part in parts),
            max(part.allowed for part in parts),
            max(part.choice_epsilon for part in parts),
            tuple(choice for part in parts for choice in part.choices),
            reduce(Surprise.plus, (part.surprise for part in parts)),
        )


def audit(  # noqa: PLR0913 - by name
    what: str,
    *,
    epsilon: float,
    delta: float,
    runs: int,
    jobs: int = 1,
    tell: Callable[[str], None] = lambda _: None,
) -> list[Audited]:
    """Audit every case of a verb or a method, one after the other."""
    todo = cases(what, epsilon, delta)
    found = []
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        for place, case in enumerate(todo):
            tell(f"{case.name} ({place + 1} of {len(todo)})")
            if jobs == 1:
                sides = [evidence(case, runs, canary=canary) for canary in (False, True)]
            else:
                pieces = max(1, jobs // 2)
                each = -(-runs // pieces)
                asked = [(what, epsilon, delta, place, each, side) for side in (False, True)]
                done = list(pool.map(_evidence_of, [one for one in asked for _ in range(pieces)]))
                sides = [Evidence.together(done[:pieces]), Evidence.together(done[pieces:])]
            found.append(judged(case, *sides, risk=RISK / len(todo)))
    return found


def evidence(case: Case, runs: int, *, canary: bool) -> Evidence:
    """Run a case so often on one of its tables."""
    ratios, noise_ratios, choices = [], [], []
    mu = allowed = choice_epsilon = 0.0
    surprise = Surprise()
    for run in _runs(case, runs, canary=canary):
        noise_ratios.append(noise_log_ratio(run, case.pair))
        ratios.append(noise_ratios[-1] + told_log_ratio(run) + best_log_ratio(run, case.pair))
        paid = [e.event.epsilon for e in run.events if isinstance(e.event, Exponential)]
        if len(paid) != len(run.choices):
            msg = f"{case.name}: {len(run.choices)} selections, of which {len(paid)} were paid for."
            raise CheckFailed(msg)
        for choice, epsilon in zip(run.choices, paid, strict=True):
            laws = [law(choice, case.pair, epsilon, canary=side) for side in (False, True)]
            ratios[-1] += float(laws[1][0][choice.place] - laws[0][0][choice.place])
            likely, scores = laws[canary]
            surprise = surprise.after(np.exp(likely), scores, choice.place)
        # Of the first alone one may count what came out: what others choose from depends on it.
        choices += [str(choice.place) for choice in run.choices[:1]]
        choice_epsilon = max([choice_epsilon, *paid[:1]])
        mu, allowed = max(mu, claimed_mu(run.events)), max(allowed, allowed_mu(run.events))
    numbers = np.array(ratios), np.array(noise_ratios)
    return Evidence(*numbers, mu, allowed, choice_epsilon, tuple(choices), surprise)


def judged(case: Case, without: Evidence, with_it: Evidence, *, risk: float) -> Audited:
    """What the runs on both tables say about the claim."""
    epsilon, delta = case.budget.epsilon, case.budget.delta
    if case.alone:
        epsilon, delta = max(without.choice_epsilon, with_it.choice_epsilon), 0.0
    shown, risk = 1 - CONFIDENCE, risk / _TESTS  # the tests share the risk
    _, for_epsilon = mistakes(without.ratios, with_it.ratios, delta=delta, risk=shown)
    for_mu, _ = mistakes(without.noise_ratios, with_it.noise_ratios, delta=delta, risk=shown)
    mu, allowed = max(without.mu, with_it.mu), max(without.allowed, with_it.allowed)

    def as_epsilon(risk: float) -> float:
        return gaussian_epsilon(for_mu.mu_low(risk) * mu / allowed, delta)

    chosen: Mistakes | None = None
    chance = None
    if without.choices and with_it.choices:
        numbers = as_numbers(without.choices, with_it.choices)
        _, chosen = mistakes(*numbers, delta=delta, risk=shown)
        chance = min(1.0, 2 * min(without.surprise.chance, with_it.surprise.chance))
    contradicted = {
        "its answers tell the tables apart too well": for_epsilon.epsilon_low(delta, risk)
        > epsilon,
        "its noise is smaller than was paid for": mu > 0 and for_mu.mu_low(risk) > allowed,
        "noise of this size costs more": mu > 0 and as_epsilon(risk) > epsilon,
        "its choices tell the tables apart too well": chosen is not None
        and chosen.epsilon_low(delta, risk) > epsilon,
        "its choices do not follow the law that was paid for": chance is not None and chance < risk,
    }
    return Audited(
        name=case.name,
        runs=f"2 × {len(without.ratios):,}",
        epsilon=epsilon,
        delta=delta,
        mu=mu or None,
        mu_seen=for_mu.mu() if mu else None,
        mu_low=for_mu.mu_low(shown) if mu else None,
        mu_epsilon_low=as_epsilon(shown) if mu else None,
        epsilon_low=for_epsilon.epsilon_low(delta, shown),
        choice_epsilon_low=None if chosen is None else chosen.epsilon_low(delta, shown),
        choice_chance=chance,
        contradicted_by=tuple(why for why, is_so in contradicted.items() if is_so),
    )


def _runs(case: Case, runs: int, *, canary: bool) -> Iterator[Run]:
    """Runs, each with a part of one ledger that is as large as the case's budget."""
    table = case.pair.table(canary=canary)
    # What all runs together promise says nothing; what each of them promises is audited.
    thresholds = 0.9 if case.budget.thresholds else 0.0
    # Of the same order: what sampled steps cost depends on it.
    plenty = Budget(_PLENTY, 0.99, case.budget.order, thresholds)
    for start in range(0, runs, _AT_ONCE):
        with Ledger.open(table, case.pair.schema, plenty, unit=case.pair.unit) as whole:
            for _ in range(min(_AT_ONCE, runs - start)):
                before = len(whole.entries)
                (part,) = whole.split(float(case.budget.rho / whole.rest()))
                run = Run()
                case.ask(Overheard(part, run))
                run.events = whole.entries[before:]
                yield run


def _evidence_of(asked: tuple[str, float, float, int, int, bool]) -> Evidence:
    """The evidence of a case that is found again by its place, in another process."""
    what, epsilon, delta, place, runs, canary = asked
    return evidence(cases(what, epsilon, delta)[place], runs, canary=canary)
