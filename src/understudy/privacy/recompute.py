"""What each query costs, recomputed from its record and the privacy unit.

A certificate states an event for each query. The noise of an event is a choice; its sensitivity
is not: it follows from the query and the unit. `recomputed` returns the event that a query really
is, and `audit_queries` lists where a certificate states another one. Unknown units, queries and
facts fail. The sensitivities are proven in docs/proofs.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any, assert_never

from understudy.privacy.account import Entry
from understudy.privacy.accountant import (
    integral_points,
    mean_runs,
    planned_integral_points,
    rho,
)
from understudy.privacy.certificate import Certificate
from understudy.privacy.events import (
    BestOf,
    Event,
    Exponential,
    Gaussian,
    Reveal,
    SampledGaussian,
    Threshold,
)
from understudy.privacy.individual import BY_STEP
from understudy.privacy.limits import (
    BEST_OF_EVALUATIONS,
    MOST_BEST_OF,
    MOST_COST_EVALUATIONS,
    MOST_FILES,
    MOST_QUERIES,
    MOST_SAMPLED_POINTS,
    check_number,
)
from understudy.privacy.model_maps import MERIT_SENSITIVITY, ModelMerit
from understudy.privacy.noise import RATE_GRID
from understudy.privacy.query_records import (
    BestOfRecord,
    FixedTerm,
    L1Term,
    MalformedRecord,
    MarginalsRecord,
    MomentsTerm,
    NormalScoresTerm,
    QueryRecord,
    RevealRecord,
    RowMapTerm,
    ScoredRecord,
    ScoreTerm,
    SumRecord,
    TrainingRecord,
    TVTerm,
    ValuesRecord,
    Weighting,
    query_record,
)
from understudy.privacy.row_maps import (
    CELLS_SENSITIVITY,
    FEATURES_SENSITIVITY,
    InducingFeatures,
    moments_sensitivity,
    normal_scores_sensitivity,
)
from understudy.privacy.scores import STEPS, CountTV, l1_sensitivity, tv_sensitivity
from understudy.privacy.spelling import DEFECTS
from understudy.privacy.train import CLIP_STEPS, SENSITIVITY, SMALLEST_NOISE
from understudy.privacy.unit import Person, Record, Replacement, Sensitivity, Unit
from understudy.privacy.weights import UNIT

_DIGITS = Fraction(1, 10**9)
"""Machines differ after so many digits."""
_SIX_DIGITS = 1.5e-6
"""Runs are stated to six digits after the point, the last of which may differ."""
_LONGEST = 80
"""Of a value in a message."""


class Mismatch(ValueError):  # noqa: N818 - named like the errors that users see
    """An event that does not follow from its query and the unit; the message says why."""


@dataclass
class Findings:
    """What is wrong with a certificate's queries, and what its format does not state."""

    wrong: list[str] = field(default_factory=list)
    unstated: list[str] = field(default_factory=list)


def audit_queries(
    entries: tuple[Entry, ...],
    unit: Unit,
    conditions: frozenset[str],
    *,
    bounded: bool,
    version: int,
) -> Findings:
    """Compare each event with what follows from its query.

    `conditions` are those of the certificate's caps, `bounded` says whether an individual bound
    holds: weights state no other ones.
    """
    findings = Findings()
    for place, entry in enumerate(entries, 1):
        try:
            record = query_record(entry.request, version)
            _check_weighting(record, conditions, bounded=bounded)
            findings.unstated += _unstated(record, entry.event, unit)
            _check_same(entry.event, recomputed(record, unit, entry.event))
        except Mismatch as error:
            findings.wrong.append(f"query {place}: {error}")
        except DEFECTS:
            findings.wrong.append(f"query {place}: its record is malformed")
    return findings


def check_work(certificate: Certificate) -> None:
    """Refuse a certificate that takes long to recompute; `TooLarge` says why."""
    entries, planned = certificate.entries, certificate.planned or ()
    check_number(len(entries), MOST_QUERIES, "queries")
    check_number(len(planned), MOST_QUERIES, "planned queries")
    check_number(len(certificate.files), MOST_FILES, "files")
    tried = {event for event in planned if isinstance(event, BestOf)}
    check_number(len(tried), MOST_BEST_OF, "planned selections among runs")
    bounds = [cap.budget for cap in certificate.caps]
    steps = [_stated_steps(entry) for entry in entries]
    evaluations = sum(
        (BEST_OF_EVALUATIONS if isinstance(entry.event, BestOf) else 1)
        * (1 + len(bounds) + len(one))
        for entry, one in zip(entries, steps, strict=True)
    )
    check_number(evaluations, MOST_COST_EVALUATIONS, "costs of queries")
    if certificate.each is not None:
        bounds.append(certificate.each.budget)
    orders = [budget.order for budget in (certificate.budget, *bounds)]
    weights = {(entry.event, len({*one})) for entry, one in zip(entries, steps, strict=True)}
    points = sum(
        (1 + different) * integral_points(event, order)
        for event, different in weights
        for order in orders
    )
    points += sum(map(planned_integral_points, {*planned}))
    check_number(points, MOST_SAMPLED_POINTS, "points of integrals for sampled training")


def _stated_steps(entry: Entry) -> list[int]:
    """Return the weights by step that a request states; they are checked later."""
    weights = entry.request.get("weights")
    stated = weights.get(BY_STEP) if isinstance(weights, dict) else None
    return [one for one in stated if type(one) is int] if isinstance(stated, list) else []


def recomputed(  # noqa: PLR0911 - one for each kind of query
    record: QueryRecord, unit: Unit, stated: Event
) -> Event:
    """Return the event that a query is, with the noise of the stated one."""
    match record:
        case MarginalsRecord():
            return _marginals(record, unit, _gaussian(stated))
        case MalformedRecord():
            return _malformed(unit, _gaussian(stated))
        case ValuesRecord():
            return _values(record, unit, stated)
        case ScoredRecord():
            return _scored(record, unit, stated)
        case SumRecord():
            return _sum(record, unit, _gaussian(stated))
        case TrainingRecord():
            return _training(record, unit, stated)
        case BestOfRecord():
            return _best_of(record, unit, stated)
        case RevealRecord():
            if not isinstance(stated, Reveal):
                raise Mismatch("rows were used as they are, and the event says otherwise")
            return stated
        case _:
            assert_never(record)


def _marginals(record: MarginalsRecord, unit: Unit, noise: Gaussian) -> Gaussian:
    squared = record.marginals * _share(record.weighting) ** 2
    squared = unit.squared(Sensitivity(squared, 2 * squared))
    # Only where rows count in full, and come and go one by one, do counts differ by exactly one.
    by_one = record.weighting is None and not isinstance(unit, Person)
    return Gaussian(noise.scale, squared, unit_cells=int(squared) if by_one else None)


def _malformed(unit: Unit, noise: Gaussian) -> Gaussian:
    if isinstance(unit, Person):
        raise Mismatch("malformed records belong to nobody, so no cap on their number holds")
    # One record more or less, and one for another, moves the count by one at most.
    return Gaussian(noise.scale, unit.squared(Sensitivity(Fraction(1), Fraction(1))), unit_cells=1)


def _values(record: ValuesRecord, unit: Unit, stated: Event) -> Threshold:
    if not isinstance(stated, Threshold):
        raise Mismatch("common values are counted above a threshold, and the event says otherwise")
    one_row = Sensitivity(Fraction(record.columns), Fraction(2 * record.columns))
    return Threshold(
        stated.scale, stated.threshold, unit.squared(one_row), record.columns, unit.arrivals
    )


def _scored(record: ScoredRecord, unit: Unit, stated: Event) -> Exponential | Gaussian:
    largest = None if record.weighting is None else record.weighting.largest
    if record.terms is not None:
        exact = max(term_sensitivity(term, unit, largest) for term in record.terms)
        if record.sensitivity != exact:
            raise Mismatch(f"the sensitivity of its scores is {exact}, not {record.sensitivity}")
    elif CountTV.__name__ in record.kinds:  # format 1: at least that of its kind
        least = tv_sensitivity(unit, largest, conditional=False)
        if record.sensitivity < least:
            raise Mismatch(f"the sensitivity of its scores is at least {least}")
    if record.released:
        return Gaussian(_gaussian(stated).scale, Fraction(record.candidates * STEPS**2))
    if not isinstance(stated, Exponential):
        raise Mismatch("a selection is an exponential mechanism, and the event says otherwise")
    return stated


def _sum(record: SumRecord, unit: Unit, noise: Gaussian) -> Gaussian:
    if record.row_map is None:  # format 1 states nothing that it follows from
        return Gaussian(noise.scale, noise.sensitivity_squared)
    largest = 1 if record.weighting is None else record.weighting.largest
    one_row = row_map_sensitivity(record.row_map)
    return Gaussian(noise.scale, unit.squared(one_row) * largest**2)


def term_sensitivity(term: ScoreTerm, unit: Unit, largest_weight: int | None) -> Fraction:
    """Return the largest sensitivity of some scores of one kind."""
    match term:
        case L1Term():
            return l1_sensitivity(term.scale, unit, largest_weight)
        case TVTerm():
            return tv_sensitivity(unit, largest_weight, conditional=term.conditional)
        case _:
            assert_never(term)


def row_map_sensitivity(term: RowMapTerm) -> Sensitivity:
    """Return what one row can move in the sum of a row map."""
    match term:
        case MomentsTerm():
            return moments_sensitivity(term.ranges, term.classes)
        case NormalScoresTerm():
            return normal_scores_sensitivity(term.columns)
        case FixedTerm(kind=InducingFeatures.__name__):
            return FEATURES_SENSITIVITY
        case FixedTerm(kind=ModelMerit.__name__):
            return MERIT_SENSITIVITY
        case FixedTerm():
            return CELLS_SENSITIVITY
        case _:
            assert_never(term)


def _training(record: TrainingRecord, unit: Unit, stated: Event) -> Gaussian | SampledGaussian:
    squared = _gradient_squared(unit, record.weighting)
    if isinstance(stated, SampledGaussian):
        rate = record.rate if record.rate_stated else stated.rate
        if rate is None:
            raise Mismatch("training on all rows is not sampled, and the event says otherwise")
        if (rate * RATE_GRID) % 1:
            raise Mismatch("no sampler has that sampling rate")
        if not _alone(unit):
            raise Mismatch("sampled training is accounted for one record only")
        _check_training_noise(stated.scale)
        return SampledGaussian(rate, stated.scale, squared, record.steps)
    noise = _gaussian(stated)
    if record.rate is not None:
        raise Mismatch("training is sampled, and the event says otherwise")
    _check_training_noise(noise.scale)
    return Gaussian(noise.scale, squared, record.steps)


def _best_of(record: BestOfRecord, unit: Unit, stated: Event) -> BestOf:
    if not isinstance(stated, BestOf) or len(stated.base) != 2:  # noqa: PLR2004 - run and score
        raise Mismatch("the best of several runs: each is a training and a score")
    squared = _gradient_squared(unit, record.weighting)
    largest = 1 if record.weighting is None else record.weighting.largest
    run = Gaussian(stated.base[0].scale, squared)
    score = Gaussian(stated.base[1].scale, unit.squared(MERIT_SENSITIVITY) * largest**2)
    for steps, noise in record.settings:
        scale = noise * CLIP_STEPS
        _check_training_noise(scale)
        if squared and rho(Gaussian(scale, squared, steps)) > rho(run) * (1 + _DIGITS):
            raise Mismatch("a setting costs more than the training that is stated")
    if abs(mean_runs(stated.gamma) - record.runs) > _SIX_DIGITS:
        raise Mismatch("there are as many runs as gamma says")
    return BestOf((run, score), stated.gamma)


def planned_defect(event: Event, unit: Unit) -> str | None:
    """Return why no query is such an event under this unit; None where one is.

    What was planned and never asked has no record. It can only add to the total, so it needs no
    more than to be possible.
    """
    match event:
        case Gaussian():
            cells = event.unit_cells
            counts = event.steps == 1 and cells == event.sensitivity_squared
            if cells is not None and (isinstance(unit, Person) or not counts):
                return "no counts under this unit differ by one in so many cells"
            return None
        case SampledGaussian():
            return None if _alone(unit) else "sampled training is accounted for one record only"
        case Threshold():
            exact = _values(ValuesRecord(event.columns), unit, event)
            return None if exact == event else "common values under this unit have other facts"
        case Exponential() | BestOf():
            return None
        case Reveal():
            return "a plan reveals no rows"
        case _:
            assert_never(event)


def _alone(unit: Unit) -> bool:
    """Return whether neighbouring tables differ by one record that comes or goes."""
    return isinstance(unit, Record) or (isinstance(unit, Person) and unit.rows == 1)


def _gradient_squared(unit: Unit, weighting: Weighting | None) -> Fraction:
    return unit.squared(SENSITIVITY) * _share(weighting) ** 2


def _share(weighting: Weighting | None) -> Fraction:
    """Return how much one row counts at most."""
    return Fraction(1) if weighting is None else Fraction(weighting.largest, UNIT)


def _gaussian(stated: Event) -> Gaussian:
    if not isinstance(stated, Gaussian):
        raise Mismatch("its answer gets Gaussian noise, and the event says otherwise")
    return stated


def _check_training_noise(scale: float) -> None:
    # On a coarser grid, sampled integer noise costs more than the formula says.
    if scale < SMALLEST_NOISE:
        raise Mismatch("the noise of training is too small to be accounted for")


def _check_weighting(record: QueryRecord, conditions: frozenset[str], *, bounded: bool) -> None:
    weighting: Weighting | None = getattr(record, "weighting", None)
    if weighting is None:
        return
    if not weighting.capped.keys() <= conditions:
        raise Mismatch("it states weights under a condition that is not capped")
    if bounded != (weighting.by_step is not None):
        raise Mismatch("weights are stated by step where an individual bound holds, and only there")


def _check_same(stated: Event, exact: Event) -> None:
    """Refuse an event that differs from the recomputed one, and say where."""
    if stated == exact:
        return
    named = [one.name for one in fields(exact)]
    found = [name for name in named if getattr(stated, name, None) != getattr(exact, name)]
    name = found[0] if found else "kind"
    followed, said = (_shown(getattr(one, name, None)) for one in (exact, stated))
    raise Mismatch(f"{name} is {followed} for this query and unit, and {said} is stated")


def _shown(value: Any) -> str:  # noqa: ANN401 - any field of an event
    text = ", ".join(map(_shown, value)) if isinstance(value, tuple) else str(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def _unstated(record: QueryRecord, event: Event, unit: Unit) -> Iterator[str]:
    """Return what a record of format 1 does not state."""
    match record:
        case ScoredRecord(terms=None):
            by_kind = record.kinds == {CountTV.__name__} and not isinstance(unit, Replacement)
            if not by_kind:
                yield "the sensitivity of scores"
        case SumRecord(row_map=None):
            yield "the sensitivity of moments"
        case TrainingRecord(rate_stated=False) if isinstance(event, SampledGaussian):
            yield "the sampling rate of training"
        case _:
            return
