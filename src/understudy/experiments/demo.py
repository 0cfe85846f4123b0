"""The embedded table: invented hospital admissions, and who comes back within thirty days.

Nobody in it exists. Each column follows from its causes by one equation below, so that what a
release ought to preserve is known exactly. The equations count age in decades over 60.

    ethnicity ─→ insurance ─┬──────────────────→ out_of_pocket
                            ↓                          ↑
    prior_visits ─────→ readmitted ←───────────── severity ─────→ discharged_at ←─ admitted_on
        ↑                ↑      ↑                 ↑      ↑
        │                │      └───────┬─────────┘      │
        ├────────────────┘          diagnosis ─→ ward, creatinine
        │                            ↑     ↑             │
        ├────────────────────────────┘     │             │
        ├──────→ smoker ───────────────────┘             │
       age ──────────────────────────────────────────────┘

Given its five causes (`DEMO_PARENTS`), readmission is independent of every other column. Given
the admissible columns alone (diagnosis, severity, prior_visits) it still depends on ethnicity,
the protected one, by way of insurance: an unfair path for a release to close. The groups have
neutral names because the numbers make no claim about any people.

The table is untidy on purpose, as real ones are:

    patient_id      repeats: a patient has up to three admissions
    smoker          missing mostly in the emergency ward, where fewer are asked
    creatinine      missing mostly for mild cases, which nobody sends to the laboratory
    diagnosis       a few that the schema does not list, to be counted as "other"
    ward            a few written with blanks around the name
    prior_visits    0 for many; very rarely more than the declared bound
    out_of_pocket   0 for many, with a heavy tail beyond the declared bound
    discharged_at   a few from a clock that went back to 1970
"""

import datetime as dt
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.column import Column, Kind, Role
from understudy.errors import BadInput
from understudy.schema import Schema

Rng: TypeAlias = np.random.Generator
Reals: TypeAlias = NDArray[np.float64]
Truths: TypeAlias = NDArray[np.bool_]
Whole: TypeAlias = NDArray[np.int64]
"""Counts, or places in a tuple of labels."""

DEMO_TARGET = "readmitted"
DEMO_INDEPENDENCE = "readmitted _||_ ethnicity | diagnosis, severity"
"""What the release of the demo shall not tell: who comes back goes by what they have alone."""
DEMO_PARENTS = ("age", "insurance", "diagnosis", "severity", "prior_visits")
"""The direct causes of the target, in the table's order."""
MOST_ADMISSIONS = 3
"""No patient has more rows than this."""
ROWS_BOUND = 1_000_000

ETHNICITIES = ("group A", "group B", "group C")
INSURANCES = ("private", "public", "uninsured")
WARDS = ("emergency", "cardiology", "medicine", "surgery")
SEVERITIES = ("minor", "moderate", "major", "extreme")


class Diagnosis(NamedTuple):
    """What makes a diagnosis frequent, and what it does; the equations say how."""

    label: str
    frequency: float
    by_decade: float
    by_smoking: float
    on_severity: float
    on_readmission: float
    wards: tuple[int, int, int, int]


DIAGNOSES = (
    Diagnosis("heart failure", 22, 0.30, 0.2, 0.6, 0.9, (3, 6, 1, 0)),
    Diagnosis("pneumonia", 20, 0.10, 0.3, 0.3, 0.2, (4, 0, 6, 0)),
    Diagnosis("COPD", 12, 0.15, 1.2, 0.2, 0.7, (4, 0, 6, 0)),
    Diagnosis("diabetes", 18, -0.10, 0.0, -0.3, 0.0, (2, 1, 7, 0)),
    Diagnosis("kidney disease", 12, 0.10, 0.0, 0.5, 0.8, (2, 1, 6, 1)),
    Diagnosis("hip fracture", 14, 0.35, 0.0, 0.1, -0.9, (3, 0, 0, 7)),
    # Not in the schema. They act alike, so that counting them as one "other" loses nothing.
    Diagnosis("lupus", 1.0, -0.10, 0.0, 0.4, 0.3, (2, 0, 8, 0)),
    Diagnosis("sarcoidosis", 0.6, 0.00, 0.0, 0.4, 0.3, (2, 0, 8, 0)),
)
UNLISTED = 2  # how many of the last ones
KIDNEY = [diagnosis.label for diagnosis in DIAGNOSES].index("kidney disease")
_MONTHS = tuple(dt.date(2023, month, 1) for month in range(1, 13))


def demo_schema() -> Schema:
    """The public facts about the embedded table, all of them declared.

    >>> demo_schema().silent, demo_schema().target
    ({}, 'readmitted')
    """
    one_of = partial(Column, kind=Kind.CATEGORICAL, null=False)
    whole, real = partial(Column, kind=Kind.INTEGER, null=False), partial(Column, kind=Kind.REAL)
    diagnoses = tuple(diagnosis.label for diagnosis in DIAGNOSES[:-UNLISTED])
    milligrams = (0.2, 0.6, 0.8, 1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0)
    days = (*_MONTHS, dt.date(2023, 12, 31))
    midnights = tuple(dt.datetime.combine(day, dt.time()) for day in _MONTHS)
    moments = (*midnights, dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 31, 23, 59))  # noqa: DTZ001 - naive
    columns = (
        Column(name="patient_id", kind=Kind.CATEGORICAL, role=Role.ID),
        whole(name="age", edges=(18, 30, 40, 50, 60, 70, 80, 90, 100)),
        one_of(name="ethnicity", categories=ETHNICITIES, role=Role.PROTECTED),
        one_of(name="insurance", categories=INSURANCES),
        Column(name="smoker", kind=Kind.BOOLEAN, null=True),
        one_of(name="diagnosis", categories=diagnoses, other="other", role=Role.ADMISSIBLE),
        one_of(name="ward", categories=WARDS),
        one_of(name="severity", kind=Kind.ORDINAL, categories=SEVERITIES, role=Role.ADMISSIBLE),
        whole(name="prior_visits", bounds=(0, 15), bins=4, atoms=(0,), role=Role.ADMISSIBLE),
        real(name="creatinine", edges=milligrams, null=True),
        real(name="out_of_pocket", bounds=(0, 4000), bins=20, atoms=(0,), null=False),
        Column(name="admitted_on", kind=Kind.DATE, edges=days, null=False),
        Column(name="discharged_at", kind=Kind.DATETIME, edges=moments, null=False),
        Column(name=DEMO_TARGET, kind=Kind.BOOLEAN, null=False, role=Role.TARGET),
    )
    return Schema(columns, rows_bound=ROWS_BOUND)


def demo_table(rows: int = 5000, *, seed: int = 0) -> pa.Table:
    """Draw the embedded table; the same rows and seed give the same table.

    >>> demo_table(3).num_rows
    3
    """
    if not 1 <= rows <= ROWS_BOUND:
        msg = f"The embedded table cannot have {rows:,} rows; ask for 1 to {ROWS_BOUND:,}."
        raise BadInput(msg)
    if seed < 0:
        msg = f"The seed is {seed}; give 0 or a positive whole number."
        raise BadInput(msg)
    rng = np.random.default_rng(seed)

    # Facts about patients, drawn once for each and repeated in all their admissions.
    patient = _patient(rows, rng)
    ages, ethnicities = _age(rows, rng), _ethnicity(rows, rng)
    insurance = _insurance(ethnicities, rng)[patient]
    smoker = _smoker((ages - 60) / 10, rng)[patient]
    age, ethnicity = ages[patient], ethnicities[patient]

    # Facts about admissions.
    decades, uninsured = (age - 60) / 10, insurance == INSURANCES.index("uninsured")
    diagnosis = _diagnosis(decades, smoker, rng)
    ward = _ward(diagnosis, rng)
    severity = _severity(decades, diagnosis, rng)
    visits = _prior_visits(decades, rng)
    creatinine = _creatinine(diagnosis, rng)
    out_of_pocket = _out_of_pocket(insurance, uninsured, severity, rng)
    admitted_on = _admitted_on(rows, rng)
    discharged_at = _discharged_at(admitted_on, severity, rng)
    readmitted = _readmitted(decades, uninsured, diagnosis, severity, visits, rng)

    return pa.table(
        {
            # Another seed is another hospital, with patients of its own.
            "patient_id": pa.array([f"P{number:06d}" for number in (patient + seed * 10**6)]),
            "age": age,
            "ethnicity": _labels(ETHNICITIES, ethnicity),
            "insurance": _labels(INSURANCES, insurance),
            "smoker": pa.array(smoker, mask=~_smoker_asked(ward, rng)),
            "diagnosis": _labels(tuple(d.label for d in DIAGNOSES), diagnosis),
            "ward": _ward_as_written(ward, rng),
            "severity": _labels(SEVERITIES, severity),
            "prior_visits": visits,
            "creatinine": pa.array(creatinine, mask=~_creatinine_taken(severity, rng)),
            "out_of_pocket": out_of_pocket,
            "admitted_on": pa.array(admitted_on.astype(np.int32), pa.date32()),
            "discharged_at": pa.array(_clocked(discharged_at, rng), pa.timestamp("s")),
            DEMO_TARGET: readmitted,
        }
    )


def _patient(rows: int, rng: Rng) -> Whole:
    """Whose admission each row is: three in four patients come once, the others 2 or 3 times."""
    admissions = rng.choice(np.arange(1, MOST_ADMISSIONS + 1), size=rows, p=(0.75, 0.18, 0.07))
    return np.repeat(np.arange(rows), admissions)[:rows]


def _age(patients: int, rng: Rng) -> Whole:
    """Age ~ Normal(62, 17), rounded, within 18 … 100."""
    return np.clip(np.rint(rng.normal(62, 17, patients)), 18, 100).astype(np.int64)


def _ethnicity(patients: int, rng: Rng) -> Whole:
    """P(ethnicity) = 60 %, 25 %, 15 %."""
    return rng.choice(len(ETHNICITIES), size=patients, p=(0.60, 0.25, 0.15))


def _insurance(ethnicity: Whole, rng: Rng) -> Whole:
    """P(insurance | ethnicity): one row per group, in the order of `INSURANCES`."""
    chances = np.array([[0.56, 0.38, 0.06], [0.34, 0.42, 0.24], [0.28, 0.44, 0.28]])
    return _one_of(chances[ethnicity], rng)


def _smoker(decades: Reals, rng: Rng) -> Truths:
    """Logit P(smoker) = -0.7 - 0.2 · decades."""
    return _happens(-0.7 - 0.2 * decades, rng)


def _diagnosis(decades: Reals, smoker: Truths, rng: Rng) -> Whole:
    """P(d) ∝ frequency_d · exp(by_decade_d · decades + by_smoking_d · smoker)."""
    frequency, by_decade, by_smoking = np.array([d[1:4] for d in DIAGNOSES]).T
    push = np.outer(decades, by_decade) + np.outer(smoker, by_smoking)
    return _one_of(frequency * np.exp(push), rng)


def _ward(diagnosis: Whole, rng: Rng) -> Whole:
    """P(ward) ∝ wards_d, in the order of `WARDS`."""
    return _one_of(np.array([d.wards for d in DIAGNOSES], np.float64)[diagnosis], rng)


def _severity(decades: Reals, diagnosis: Whole, rng: Rng) -> Whole:
    """Burden = 0.25 · decades + on_severity_d + Logistic(0, 1); cut at -0.4, 1.2 and 2.8."""
    effect: Reals = np.array([d.on_severity for d in DIAGNOSES])[diagnosis]
    burden = rng.logistic(0.25 * decades + effect)
    return np.digitize(burden, (-0.4, 1.2, 2.8))


def _prior_visits(decades: Reals, rng: Rng) -> Whole:
    """Visits ~ Poisson(rate), rate ~ Gamma of shape 0.6 and mean 1.4 · exp(0.15 · decades)."""
    return rng.poisson(rng.gamma(0.6, 1.4 * np.exp(0.15 * decades) / 0.6))


def _creatinine(diagnosis: Whole, rng: Rng) -> Reals:
    """Log mg/dl = log 0.95 + 1.1 · kidney disease + Normal(0, 0.28)."""
    middle: Reals = np.log(0.95) + 1.1 * (diagnosis == KIDNEY)
    return rng.lognormal(middle, 0.28).round(2)


def _out_of_pocket(insurance: Whole, uninsured: Truths, severity: Whole, rng: Rng) -> Reals:
    """0 at a rate set by insurance, or log $ = 5 + 0.35 · severity + 0.9 · uninsured + Normal."""
    nothing = rng.random(len(insurance)) < np.array([0.35, 0.70, 0.05])[insurance]
    dollars = rng.lognormal(5 + 0.35 * severity + 0.9 * uninsured, 1).round(2)
    return np.where(nothing, 0.0, dollars)


def _admitted_on(rows: int, rng: Rng) -> Whole:
    """Any day of 2023, each as likely as the others; in days since 1970."""
    return (_MONTHS[0] - dt.date(1970, 1, 1)).days + rng.integers(0, 365, rows)


def _discharged_at(admitted_on: Whole, severity: Whole, rng: Rng) -> Whole:
    """1 + Poisson(2 + 2 · severity) nights later, between 9:00 and 17:00; seconds since 1970."""
    nights = 1 + rng.poisson(2 + 2 * severity)
    minutes = rng.integers(9 * 60, 17 * 60, len(severity))
    return ((admitted_on + nights) * 24 * 60 + minutes) * 60


def _readmitted(  # noqa: PLR0913, PLR0917 - one argument per cause
    decades: Reals, uninsured: Truths, diagnosis: Whole, severity: Whole, visits: Whole, rng: Rng
) -> Truths:
    """Logit P = -3.6 + own + on_readmission_d + 0.7 · severity + 0.9 · log(1 + visits).

    Where own = 0.3 · decades + 0.9 · uninsured.
    """
    own = 0.3 * decades + 0.9 * uninsured
    effect: Reals = np.array([d.on_readmission for d in DIAGNOSES])[diagnosis]
    return _happens(-3.6 + own + effect + 0.7 * severity + 0.9 * np.log1p(visits), rng)


def _smoker_asked(ward: Whole, rng: Rng) -> Truths:
    """P(asked) = 0.75 in the emergency ward, 0.97 elsewhere."""
    return rng.random(len(ward)) < np.where(ward == WARDS.index("emergency"), 0.75, 0.97)


def _creatinine_taken(severity: Whole, rng: Rng) -> Truths:
    """Logit P(taken) = 0.2 + 1.1 · severity."""
    return _happens(0.2 + 1.1 * severity, rng)


def _ward_as_written(ward: Whole, rng: Rng) -> pa.Array:
    """One in two hundred has blanks around it."""
    padded = rng.choice(2, size=len(ward), p=(0.995, 0.005))
    return _labels((*WARDS, *(f" {name} " for name in WARDS)), ward + len(WARDS) * padded)


def _clocked(moment: Whole, rng: Rng) -> Whole:
    """One in five hundred is written by the clock that went back to 1970."""
    return np.where(rng.integers(0, 500, len(moment)) == 0, 0, moment)


def _happens(logit: NDArray[np.floating[Any]], rng: Rng) -> Truths:
    chance: Reals = 1 / (1 + np.exp(-logit))
    return rng.random(len(logit)) < chance


def _one_of(weights: Reals, rng: Rng) -> Whole:
    """One place per row, drawn in proportion to the row's weights."""
    ladder = np.cumsum(weights, axis=1)
    draw = rng.random((len(weights), 1)) * ladder[:, -1:]
    return np.asarray((draw >= ladder).sum(axis=1))


def _labels(labels: tuple[str, ...], places: Whole) -> pa.Array:
    return pa.array(labels, pa.string()).take(pa.array(places))
