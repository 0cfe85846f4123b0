"""Rounds of the readers' task: split, train on synthetic and real rows, predict the same rows."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from understudy.curator.models import Inputs, Learner, fitting
from understudy.curator.persons import Persons
from understudy.curator.scores import ClassPredictions, NumberPredictions, number_scores
from understudy.curator.split import held_out, linked
from understudy.curator.tables import REAL, SYNTHETIC, Rows, Tables, Tell, joined, row_keys
from understudy.curator.target import Target
from understudy.curator.weighted import RESAMPLES, Values, Weights, ratio, resampling

BASELINE = {True: "majority class", False: "mean"}
"""What a reader gets without looking at any input, for classes and for a number."""
OWN_ROWS = 200
"""How many real rows a reader holds before the release arrives, for ΔMSE."""
_OWN_SHARE = 0.3
"""At most this share of the rows that there are to test on."""
_MOST_WEIGHTS = 2 * 10**7
_FEWEST_RESAMPLES = 100
_FEW_ROWS = 10
"""Fewer rows of a class, and none can be held back while training."""

Predictions = ClassPredictions | NumberPredictions


@dataclass(frozen=True, eq=False)
class Trial:
    """One split, and what models trained on either side of it say about its test rows."""

    test: Rows
    places: NDArray[np.intp]
    """Where its test rows stand in their table: the test table, else the real one."""
    weights: Weights
    predictions: dict[tuple[str, str], Predictions | str]
    """By model and by what it was trained on; or why there are none."""
    delta_mse: dict[str, Values]
    """By model, what adding synthetic rows to a few own ones takes off the error, in percent."""
    twins_together: bool = True
    """Whether rows that are alike are all tested on or all trained on."""

    def among(self, chosen: NDArray[np.bool_], model: str) -> "Trial":
        """What one model says about some of the test rows, marked in their table."""
        here = chosen[self.places]
        predictions = {
            key: made if isinstance(made, str) else made.take(here)
            for key, made in self.predictions.items()
            if key[0] == model
        }
        return replace(
            self,
            test=self.test.take(here),
            places=self.places[here],
            weights=self.weights[:, here],
            predictions=predictions,
            delta_mse={},
        )


@dataclass(frozen=True, eq=False)
class _Split:
    train: Rows
    test: Rows
    places: NDArray[np.intp]
    own: Rows
    """A few rows more that are not tested on: what a reader has without the release."""
    whole: bool


def run_trials(  # noqa: PLR0913, PLR0917 - one per choice
    tables: Tables,
    target: Target,
    learners: Sequence[Learner],
    seeds: int,
    tell: Tell = lambda _: None,
    persons: Persons | None = None,
    sides: Collection[str] = (SYNTHETIC, REAL),
) -> list[Trial]:
    """Split, train and predict, once per seed; `persons` of the real rows stay together.

    `sides` are the rows that models are trained on.
    """
    inputs = Inputs(
        tuple(c.name for c in tables.columns if c.sort.counted and c.name != target.name),
        tuple(c.name for c in tables.columns if not c.sort.counted and c.name != target.name),
    )
    classes = bool(target.classes)
    # A test table is the same in every round, but for the own rows of a task with numbers.
    same_test = tables.test is not None and classes
    synthetic = tables.synthetic.take(target.known(tables.synthetic))
    trials: list[Trial] = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        split = _split(tables, target, inputs, persons, rng)
        if same_test and trials:
            weights = trials[0].weights
        else:
            resamples = _MOST_WEIGHTS // max(split.test.count, 1)
            resamples = int(np.clip(resamples, _FEWEST_RESAMPLES, RESAMPLES))
            weights = resampling(split.test.count, rng, resamples)
        trial = Trial(split.test, split.places, weights, {}, {}, split.whole)
        for learner in learners:
            model = learner.described(classes=classes)
            tell(f"Fitting {model}, round {seed + 1} of {seeds}")
            fit = _Fit(inputs, target, learner, seed)
            for trained_on, rows in ((SYNTHETIC, synthetic), (REAL, split.train)):
                if trained_on not in sides:
                    continue
                key = (model, trained_on)
                if same_test and trials and not learner.drawn:
                    trial.predictions[key] = trials[0].predictions[key]
                else:
                    trial.predictions[key] = fit.predict(rows, split.test)
            if not classes and SYNTHETIC in sides:
                trial.delta_mse[model] = _delta_mse(fit, split.own, synthetic, trial)
        trial.predictions[BASELINE[classes], REAL] = _baseline(target, split.train, split.test)
        trials.append(trial)
    return trials


def _split(
    tables: Tables,
    target: Target,
    inputs: Inputs,
    persons: Persons | None,
    rng: np.random.Generator,
) -> _Split:
    """Real rows to train on, and rows to test on: those that were given, or some held out."""
    known = np.flatnonzero(target.known(tables.real))
    real = tables.real.take(known)
    whole = True
    if tables.test is not None:
        train, tested, places = real, tables.test, np.flatnonzero(target.known(tables.test))
    else:
        # Alike are rows with equal inputs: with equal targets too, a model could learn that what
        # it has seen is *not* in the test rows.
        alike = row_keys([real.only({*inputs.numbers, *inputs.labels})])[0]
        owners = None if persons is None else persons[known]
        out, whole = held_out(alike if owners is None else linked(alike, owners), rng)
        if owners is not None and not whole:
            out, _ = held_out(owners, rng)  # persons stay together, whatever else does not
        train, tested, places = real.take(~out), tables.real, known[out]
    own = places[:0]
    if not target.classes:
        places = places[rng.permutation(len(places))]
        own, places = np.split(places, [min(OWN_ROWS, int(_OWN_SHARE * len(places)))])
    return _Split(train, tested.take(places), places, tested.take(own), whole)


@dataclass(frozen=True)
class _Fit:
    """A model to be fitted."""

    inputs: Inputs
    target: Target
    learner: Learner
    seed: int

    def predict(self, train: Rows, test: Rows) -> Predictions | str:
        """What the model says about test rows, trained on these; or why it says nothing."""
        if not train.count:
            return "there are no rows to train on"
        if not test.count:
            return "there are no rows to test on"
        if not self.inputs:
            return _baseline(self.target, train, test)
        try:
            with fitting(train.count):
                if self.target.classes:
                    return self._classes(train, test)
                return self._numbers(train, test)
        except ValueError:
            # Of odd tables scikit-learn finds more than can be foreseen; others go on.
            return "scikit-learn cannot fit this model to these rows"

    def _classes(self, train: Rows, test: Rows) -> ClassPredictions:
        target = self.target
        codes = target.codes(train)
        # One more than the classes, for synthetic rows of a class that no real row has.
        counts = np.bincount(codes, minlength=len(target.classes) + 1)
        present = np.flatnonzero(counts)
        if len(present) == 1:
            return _shares(target, counts, test)
        hold_back = int(counts[present].min()) >= _FEW_ROWS
        model = self.inputs.classifier(self.learner, self.seed, hold_back=hold_back)
        learn, apply = self.inputs.matrices(train, test)
        model.fit(learn, codes)
        scores = np.zeros((test.count, len(counts)))
        probabilities = None
        if hasattr(model, "predict_proba"):
            scores[:, present] = model.predict_proba(apply)
            probabilities = scores[:, :-1]
        else:
            decided = model.decision_function(apply)
            both = decided if decided.ndim > 1 else np.column_stack([-decided, decided])
            scores[:, present] = both
        predicted = present[np.argmax(scores[:, present], axis=1)]
        return ClassPredictions(
            target.codes(test), predicted, scores, probabilities, target.positive
        )

    def _numbers(self, train: Rows, test: Rows) -> NumberPredictions:
        hold_back = train.count >= 10 * _FEW_ROWS
        model = self.inputs.regressor(self.learner, self.seed, hold_back=hold_back)
        learn, apply = self.inputs.matrices(train, test)
        model.fit(learn, self.target.numbers(train))
        predicted = np.asarray(model.predict(apply), np.float64)
        return NumberPredictions(self.target.numbers(test), predicted)


def _delta_mse(fit: _Fit, own: Rows, synthetic: Rows, trial: Trial) -> Values:
    """LK-2SS's measure: what synthetic rows take off the error of a reader's own few rows."""
    errors = []
    for train in (own, joined([own, synthetic])):
        made = fit.predict(train, trial.test)
        if not isinstance(made, NumberPredictions):
            return np.full(len(trial.weights), np.nan)
        errors.append(number_scores(made, trial.weights)["MSE"])
    alone, together = errors
    return 100 * (1 - ratio(together, alone))


def _baseline(target: Target, train: Rows, test: Rows) -> Predictions | str:
    """What a reader gets without looking at any input."""
    if not train.count:
        return "there are no rows to train on"
    if not test.count:
        return "there are no rows to test on"
    if target.classes:
        counts = np.bincount(target.codes(train), minlength=len(target.classes) + 1)
        return _shares(target, counts, test)
    middle = np.full(test.count, target.numbers(train).mean())
    return NumberPredictions(target.numbers(test), middle)


def _shares(target: Target, counts: NDArray[np.int64], test: Rows) -> ClassPredictions:
    """Predicts each class by its share, and so always the most common one."""
    shares = np.tile(counts / counts.sum(), (test.count, 1))
    most = np.full(test.count, int(np.argmax(counts)))
    return ClassPredictions(target.codes(test), most, shares, shares[:, :-1], target.positive)
