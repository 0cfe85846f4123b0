"""The readers' task: train on synthetic rows, test on real ones; beside it, train on real rows."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from understudy.curator.kept import Kept, shares_kept
from understudy.curator.result import Result, absent, resampled
from understudy.curator.scores import (
    DIRECTIONS,
    OF_PROBABILITIES,
    ClassPredictions,
    NumberPredictions,
    class_scores,
    number_scores,
)
from understudy.curator.tables import REAL, SYNTHETIC, TEST, Tables, row_keys
from understudy.curator.target import Target
from understudy.curator.trials import BASELINE, Predictions, Trial
from understudy.curator.weighted import Values, Weights
from understudy.errors import listed

GAP = "synthetic minus real"
_DELTA_MSE = "ΔMSE (%)"
_BASELINES = {*BASELINE.values()}


@dataclass(frozen=True)
class TaskScores:
    """How well one model does."""

    model: str
    trained_on: str
    results: tuple[Result, ...]

    def __getitem__(self, name: str) -> Result:
        return next(result for result in self.results if result.name == name)


@dataclass(frozen=True)
class Task:
    """All models' scores."""

    target: str
    task: str
    positive: str | None
    scores: tuple[TaskScores, ...]
    kept: tuple[Kept, ...]
    """By model and score, what synthetic rows keep of what real rows add to guessing."""
    seen: bool
    """Whether the synthetic rows may have been made from the rows that were tested on."""
    notes: tuple[str, ...]

    @property
    def models(self) -> tuple[str, ...]:
        """The models that were trained, by whatever rows."""
        return tuple(dict.fromkeys(s.model for s in self.scores if s.model not in _BASELINES))

    @property
    def baseline(self) -> TaskScores:
        """What a reader gets without any model."""
        return next(score for score in self.scores if score.model in _BASELINES)

    def of(self, model: str, trained_on: str) -> TaskScores:
        """The scores of one model."""
        found = (s for s in self.scores if (s.model, s.trained_on) == (model, trained_on))
        return next(found)


Scored = dict[tuple[str, str], list[dict[str, Values]]]
"""By model and what it was trained on: each trial's scores, and their resampled values."""


def judge(tables: Tables, target: Target, trials: Sequence[Trial]) -> Task:
    """Scores over all trials."""
    scores, scored = scores_of(tables, target, trials)
    positive = None if target.positive is None else target.classes[target.positive]
    together = all(trial.twins_together for trial in trials)
    sides = {side for _, side in trials[0].predictions}
    notes = tuple(_notes(tables, target, sides, together=together))
    return Task(
        target.name,
        target.task,
        positive,
        tuple(scores),
        kept=tuple(_kept(scored, BASELINE[bool(target.classes)])),
        seen=tables.test is None,
        notes=notes,
    )


def scores_of(
    tables: Tables, target: Target, trials: Sequence[Trial]
) -> tuple[list[TaskScores], Scored]:
    """Each model's scores and, on the same rows, what synthetic rows lack; and single trials'."""
    first = trials[0]
    scores: list[TaskScores] = []
    scored: Scored = {}
    for model, trained_on in first.predictions:
        read = _read(tables, trained_on, trials)
        runs = [trial.predictions[model, trained_on] for trial in trials]
        why = next((run for run in runs if isinstance(run, str)), None)
        if why is not None:
            names = [name for name in DIRECTIONS if _belongs(name, target)]
            results = [absent(name, DIRECTIONS[name], read, why) for name in names]
            scores.append(TaskScores(model, trained_on, tuple(results)))
            continue
        ours = [_scored(run, trial.weights) for run, trial in zip(runs, trials, strict=True)]
        scored[model, trained_on] = ours
        values = _pooled(ours)
        if trained_on == SYNTHETIC and first.delta_mse:
            values |= _pooled([{_DELTA_MSE: trial.delta_mse[model]} for trial in trials])
        scores.append(TaskScores(model, trained_on, _results(values, read, runs[0])))
    scores.extend(_gaps(_read(tables, GAP, trials), first, scored))
    return scores, scored


def _scored(made: Predictions | str, weights: Weights) -> dict[str, Values]:
    if isinstance(made, ClassPredictions):
        return class_scores(made, weights)
    return number_scores(made, weights) if isinstance(made, NumberPredictions) else {}


def _pooled(runs: Sequence[dict[str, Values]]) -> dict[str, Values]:
    """The mean value over seeds; the resamples of all seeds show how far it varies."""
    return {
        name: np.concatenate(
            [[np.mean([run[name][0] for run in runs])], *(run[name][1:] for run in runs)]
        )
        for name in runs[0]
    }


def _results(values: dict[str, Values], read: str, made: Predictions | str) -> tuple[Result, ...]:
    results = []
    for name, score in values.items():
        why = "the test rows hold one class only, or none"
        if isinstance(made, NumberPredictions):
            why = "the test rows hold one value only"
        elif name in OF_PROBABILITIES:
            why = "a linear SVM tells no probabilities"
        results.append(resampled(name, score, DIRECTIONS[name], read, absent=why))
    return tuple(results)


def _gaps(read: str, first: Trial, scored: Scored) -> Iterator[TaskScores]:
    """What a reader loses by training on synthetic rows, on the same test rows."""
    for (model, trained_on), ours in scored.items():
        theirs = scored.get((model, REAL))
        if trained_on != SYNTHETIC or theirs is None:
            continue
        runs = [{name: a[name] - b[name] for name in a} for a, b in zip(ours, theirs, strict=True)]
        yield TaskScores(model, GAP, _results(_pooled(runs), read, first.predictions[model, REAL]))


def _kept(scored: Scored, baseline: str) -> Iterator[Kept]:
    """Of each model that was trained on both, what synthetic rows keep."""
    guessing = scored.get((baseline, REAL))
    for (model, trained_on), ours in scored.items():
        theirs = scored.get((model, REAL))
        if trained_on == SYNTHETIC and theirs is not None and guessing is not None:
            yield from shares_kept(model, ours, theirs, guessing)


def _belongs(name: str, target: Target) -> bool:
    return (name in {"MSE", "R²", _DELTA_MSE}) != bool(target.classes)


def _read(tables: Tables, trained_on: str, trials: Sequence[Trial]) -> str:
    train = "all" if tables.test is not None else "the other"
    rows = {
        SYNTHETIC: f"{tables.synthetic.count:,} synthetic rows",
        REAL: f"{train} real rows",
        GAP: "the same rows",
    }[trained_on]
    given = "rows of the test table" if tables.test is not None else "held-out real rows"
    rounds = f", {len(trials)} rounds" if len(trials) > 1 else ""
    return f"trained on {rows}, tested on {trials[0].test.count:,} {given}{rounds}"


def _notes(
    tables: Tables, target: Target, sides: Collection[str], *, together: bool
) -> Iterator[str]:
    """What a person should know about these scores; `sides` were trained on."""
    for which, rows in (
        (REAL, tables.real),
        (SYNTHETIC, tables.synthetic if SYNTHETIC in sides else None),
        (TEST, tables.test),
    ):
        if rows is None:
            continue
        known = target.known(rows)
        if not known.all():
            yield f"Rows of the {which} table without a target were left out."
        if not target.classes or not known.any():
            continue
        present = np.unique(target.codes(rows)[known])
        if len(target.classes) in present:
            yield f"Some {which} rows are of a class that no real row has."
        lacking = [c for k, c in enumerate(target.classes) if k not in present]
        if lacking:
            yield f"The {which} table has no row of the class {listed(lacking)}."
    if tables.test is None:
        yield (
            "No test table was given: the release has seen the rows that were held out here, so "
            "scores of synthetic rows may flatter. "
            + (
                "Rows that are alike were held out together."
                if together
                else "Too many rows are alike to hold these out together, so scores of real rows "
                "may flatter too."
            )
        )
    else:
        real, test = row_keys([tables.real, tables.test])
        twins = int(np.isin(test, real).sum())
        if twins:
            yield (
                f"{twins:,} of {tables.test.count:,} test rows have an equal row in the real "
                "table, which flatters models trained on real rows."
            )
