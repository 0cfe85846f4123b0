"""The readers' task: train on synthetic rows, test on real ones; beside it, train on real rows."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.curator.models import Inputs, Learner, fitting
from understudy.curator.persons import Persons
from understudy.curator.result import Result, absent, resampled
from understudy.curator.scores import (
    DIRECTIONS,
    ClassPredictions,
    NumberPredictions,
    class_scores,
    number_scores,
)
from understudy.curator.split import held_out
from understudy.curator.tables import Rows, Tables, joined, row_keys
from understudy.curator.target import Target
from understudy.curator.weighted import RESAMPLES, Values, Weights, ratio, resampling

SYNTHETIC, REAL, GAP = "synthetic", "real", "synthetic minus real"
BASELINE = {True: "majority class", False: "mean"}
OWN_ROWS = 200
"""How many real rows a reader holds before the release arrives, for ΔMSE."""
_DELTA_MSE = "ΔMSE (%)"
_MOST_WEIGHTS = 2 * 10**7
_FEW_ROWS = 10
"""Fewer rows of a class, and none can be held back while training."""

Predictions = ClassPredictions | NumberPredictions


@dataclass(frozen=True, eq=False)
class Trial:
    """One split, and what models trained on either side of it say about its test rows."""

    test: Rows
    weights: Weights
    predictions: dict[tuple[str, str], Predictions | str]
    """By model and by what it was trained on; or why there are none."""
    delta_mse: dict[str, Values]
    """By model, what adding synthetic rows to a few own ones takes off the error, in percent."""


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
    notes: tuple[str, ...]

    def of(self, model: str, trained_on: str) -> TaskScores:
        """The scores of one model."""
        found = (s for s in self.scores if (s.model, s.trained_on) == (model, trained_on))
        return next(found)


def run_trials(  # noqa: PLR0913, PLR0917 - one per choice
    tables: Tables,
    target: Target,
    learners: Sequence[Learner],
    seeds: int,
    tell: Callable[[str], None] = lambda _: None,
    persons: Persons | None = None,
) -> list[Trial]:
    """Split, train and predict, once per seed; `persons` of the real rows stay together."""
    inputs = Inputs(
        tuple(c.name for c in tables.columns if c.sort.counted and c.name != target.name),
        tuple(c.name for c in tables.columns if not c.sort.counted and c.name != target.name),
    )
    trials: list[Trial] = []
    for seed, (train, test, rng) in enumerate(_splits(tables, target, seeds, persons)):
        resamples = int(np.clip(_MOST_WEIGHTS // max(test.count, 1), 100, RESAMPLES))
        trial = Trial(test, resampling(test.count, rng, resamples), {}, {})
        synthetic = tables.synthetic.take(target.known(tables.synthetic))
        for learner in learners:
            model = learner.described(classes=bool(target.classes))
            tell(f"Fitting {model}, round {seed + 1} of {seeds}")
            for trained_on, rows in ((SYNTHETIC, synthetic), (REAL, train)):
                key = (model, trained_on)
                if seed and tables.test is not None and not learner.drawn:
                    trial.predictions[key] = trials[0].predictions[key]
                else:
                    trial.predictions[key] = _predict(inputs, target, learner, seed, rows, test)
            if not target.classes:
                own = train.take(rng.permutation(train.count)[:OWN_ROWS])
                trial.delta_mse[model] = _delta_mse(
                    inputs, target, learner, seed, own, synthetic, trial
                )
        trial.predictions[BASELINE[bool(target.classes)], REAL] = _baseline(target, train, test)
        trials.append(trial)
    return trials


def judge(tables: Tables, target: Target, trials: Sequence[Trial]) -> Task:
    """Scores over all trials."""
    first = trials[0]
    scores: list[TaskScores] = []
    scored: dict[tuple[str, str], list[dict[str, Values]]] = {}
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
    positive = None if target.positive is None else target.classes[target.positive]
    return Task(target.name, target.task, positive, tuple(scores), tuple(_notes(tables, target)))


def _splits(
    tables: Tables, target: Target, seeds: int, persons: Persons | None
) -> Iterator[tuple[Rows, Rows, np.random.Generator]]:
    """Real rows to train on, and rows to test on: those that were given, or some held out."""
    known = target.known(tables.real)
    real = tables.real.take(known)
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        if tables.test is not None:
            yield real, tables.test.take(target.known(tables.test)), rng
        else:
            out = held_out(real, rng, None if persons is None else persons[known])
            yield real.take(~out), real.take(out), rng


def _predict(  # noqa: PLR0913, PLR0917 - one fit
    inputs: Inputs, target: Target, learner: Learner, seed: int, train: Rows, test: Rows
) -> Predictions | str:
    if not train.count:
        return "there are no rows to train on"
    if not test.count:
        return "there are no rows to test on"
    if not target.classes:
        numbers = _predicted_numbers(inputs, target, learner, seed, train, test)
        return NumberPredictions(target.numbers(test), numbers)
    codes = target.codes(train)
    counts = np.bincount(codes, minlength=len(target.classes))
    present = np.flatnonzero(counts)
    if len(present) == 1:
        return _shares(target, counts, test)
    model = inputs.classifier(learner, seed, hold_back=int(counts[present].min()) >= _FEW_ROWS)
    with fitting():
        model.fit(inputs.matrix(train), codes)
    matrix = inputs.matrix(test)
    scores = np.zeros((test.count, len(target.classes)))
    probabilities = None
    if hasattr(model, "predict_proba"):
        scores[:, present] = model.predict_proba(matrix)
        probabilities = scores
    else:
        decided = model.decision_function(matrix)
        scores[:, present] = decided if decided.ndim > 1 else np.column_stack([-decided, decided])
    predicted = present[np.argmax(scores[:, present], axis=1)]
    return ClassPredictions(target.codes(test), predicted, scores, probabilities, target.positive)


def _predicted_numbers(  # noqa: PLR0913, PLR0917 - one fit
    inputs: Inputs, target: Target, learner: Learner, seed: int, train: Rows, test: Rows
) -> NDArray[np.float64]:
    model = inputs.regressor(learner, seed, hold_back=train.count >= 10 * _FEW_ROWS)
    with fitting():
        model.fit(inputs.matrix(train), target.numbers(train))
    return np.asarray(model.predict(inputs.matrix(test)), np.float64)


def _delta_mse(  # noqa: PLR0913, PLR0917 - two fits
    inputs: Inputs,
    target: Target,
    learner: Learner,
    seed: int,
    own: Rows,
    synthetic: Rows,
    trial: Trial,
) -> Values:
    """LK-2SS's measure: what synthetic rows take off the error of a reader's own few rows."""
    errors = []
    for train in (own, joined([own, synthetic])):
        made = _predict(inputs, target, learner, seed, train, trial.test)
        if not isinstance(made, NumberPredictions):
            return np.full(len(trial.weights), np.nan)
        errors.append(number_scores(made, trial.weights)["MSE"])
    alone, together = errors
    return 100 * (1 - ratio(together, alone))


def _baseline(target: Target, train: Rows, test: Rows) -> Predictions | str:
    """What a reader gets without looking at any input."""
    if not train.count or not test.count:
        return (
            "there are no rows to train on" if not train.count else "there are no rows to test on"
        )
    if target.classes:
        counts = np.bincount(target.codes(train), minlength=len(target.classes))
        return _shares(target, counts, test)
    middle = np.full(test.count, target.numbers(train).mean())
    return NumberPredictions(target.numbers(test), middle)


def _shares(target: Target, counts: NDArray[np.int64], test: Rows) -> ClassPredictions:
    """Predicts each class by its share, and so always the most common one."""
    shares = np.tile(counts / counts.sum(), (test.count, 1))
    most = np.full(test.count, int(np.argmax(counts)))
    return ClassPredictions(target.codes(test), most, shares, shares, target.positive)


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
        elif name in {"log loss", "Brier score"}:
            why = "a linear SVM tells no probabilities"
        results.append(resampled(name, score, DIRECTIONS[name], read, absent=why))
    return tuple(results)


def _gaps(
    read: str, first: Trial, scored: Mapping[tuple[str, str], list[dict[str, Values]]]
) -> Iterator[TaskScores]:
    """What a reader loses by training on synthetic rows, on the same test rows."""
    for (model, trained_on), ours in scored.items():
        theirs = scored.get((model, REAL))
        if trained_on != SYNTHETIC or theirs is None:
            continue
        runs = [{name: a[name] - b[name] for name in a} for a, b in zip(ours, theirs, strict=True)]
        yield TaskScores(model, GAP, _results(_pooled(runs), read, first.predictions[model, REAL]))


def _belongs(name: str, target: Target) -> bool:
    return (name in {"MSE", "R²", _DELTA_MSE}) != bool(target.classes)


def _read(tables: Tables, trained_on: str, trials: Sequence[Trial]) -> str:
    train = (
        tables.real.count if tables.test is not None else tables.real.count - trials[0].test.count
    )
    rows = {
        SYNTHETIC: f"{tables.synthetic.count:,} synthetic rows",
        REAL: f"about {train:,} real rows",
        GAP: "the same rows",
    }[trained_on]
    given = "rows of the test table" if tables.test is not None else "held-out real rows"
    rounds = f", {len(trials)} rounds" if len(trials) > 1 else ""
    return f"trained on {rows}, tested on {trials[0].test.count:,} {given}{rounds}"


def _notes(tables: Tables, target: Target) -> Iterator[str]:
    """What a person should know about these scores."""
    for which, rows in (
        ("real", tables.real),
        ("synthetic", tables.synthetic),
        ("test", tables.test),
    ):
        if rows is None:
            continue
        known = target.known(rows)
        if not known.all():
            yield f"Rows of the {which} table without a target were left out."
        if not target.classes or not known.any():
            continue
        present = np.unique(target.codes(rows)[known])
        lacking = [c for k, c in enumerate(target.classes) if k not in present]
        if lacking:
            yield f"The {which} table has no row of the class {', '.join(lacking)}."
    if tables.test is None:
        yield (
            "No test table was given: the release has seen the rows that were held out here, so "
            "scores of synthetic rows may flatter. Rows that are alike were held out together."
        )
    else:
        real, test = row_keys([tables.real, tables.test])
        twins = int(np.isin(test, real).sum())
        if twins:
            yield (
                f"{twins:,} of {tables.test.count:,} test rows have an equal row in the real "
                "table, which flatters models trained on real rows."
            )
