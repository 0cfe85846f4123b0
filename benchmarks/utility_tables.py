"""The tables of `utility.py`, and the public rules by which their columns become codes.

Lists are all values that a table's description names. Numbers are cut at round edges of years,
money, marks and of what laboratories report, chosen once and not by any score; what lies outside
moves to the nearer end. Nothing is read off the rows. Columns of Adult, BR2000, smoking and LPD are
those of the DPDSyn experiment, values of the Dutch census those of PrivCI, and bounds of breast
cancer those of REPS.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from understudy.column import Column, Kind, Number, Role
from understudy.experiments.adult import ADULT_TARGET, DROPPED, EDGES, ROWS_FILE
from understudy.experiments.dpdsyn import tables as dpdsyn
from understudy.experiments.privci import tables as privci
from understudy.experiments.privci.coding import Listed
from understudy.experiments.reps import tables as reps
from understudy.schema import Schema

LEAST_ROWS = 2000
"""A table with fewer is not given to discovery, which would find nothing but noise."""
DEVELOPMENT = ("compas", "law", "german", "lpd")
"""The tables by which the rule of `auto` was chosen: means are shown without them, too."""


@dataclass(frozen=True)
class Table:
    """A public table with a column to predict."""

    name: str
    file: str
    rows: int
    """As its description says."""
    columns: tuple[Column, ...]
    """Public facts about those that are coded, the target last; its second code is positive."""
    dropped: tuple[str, ...] = ()
    """Columns that nobody is given: numbers of records, and what follows from the target."""
    raw_only: tuple[str, ...] = ()
    """Columns without a public list: left to discovery."""
    raw: bool = True
    """Whether the file has values as people write them, and not codes of another file."""
    schema: Schema = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "schema", Schema(self.columns))

    @property
    def target(self) -> str:
        """The column to predict."""
        return self.columns[-1].name

    @property
    def positive(self) -> str:
        """The label whose chances are predicted, as the file writes it."""
        last = self.columns[-1]
        return str(last.categories[1]) if last.categories else "1"

    @property
    def discovered(self) -> bool:
        """Whether the track in which nothing is declared has this table."""
        return self.raw and self.rows >= LEAST_ROWS


def _labels(name: str, *categories: str) -> Column:
    return Column(name=name, kind=Kind.CATEGORICAL, categories=categories, null=False)


def _numbered(name: str, first: int, last: int) -> Column:
    return _labels(name, *map(str, range(first, last + 1)))


def _cut(name: str, *edges: Number, null: bool = False) -> Column:
    ends = (edges[0], edges[-1])
    return Column(name=name, kind=Kind.REAL, bounds=ends, edges=edges, null=null)


def _coded(name: str, size: int) -> Column:
    """Codes of the file; cut coarser where the twelve columns of Adult are."""
    if name not in EDGES:
        return Column(name=name, kind=Kind.INTEGER, bounds=(0, size - 1), bins=size, null=False)
    return _cut(name, 0, *(last + 1 for last in EDGES[name]), size - 1)


def _values(table: privci.Table, name: str) -> tuple[str, ...]:
    coding = table.codings[name]
    assert isinstance(coding, Listed)  # noqa: S101 - of these columns all are
    return coding.values


def _nullable(columns: Iterable[Column]) -> tuple[Column, ...]:
    """Cells may be empty, but for the target's."""
    return tuple(replace(one, null=one.role is not Role.TARGET) for one in columns)


_SIZES = {
    "age": 85,
    "workclass": 9,
    "education-num": 16,
    "marital-status": 7,
    "occupation": 15,
    "relationship": 6,
    "race": 5,
    "sex": 2,
    "capital-gain": 100,
    "capital-loss": 100,
    "hours-per-week": 99,
    ADULT_TARGET: 2,
}
ADULT12 = Table(
    "adult12",
    ROWS_FILE,
    48_842,
    tuple(_coded(name, size) for name, size in _SIZES.items()),
    dropped=DROPPED,
    raw=False,
)
ADULT = Table(
    "adult",
    "adult.csv.gz",
    48_842,
    (
        _labels("education", *_values(privci.ADULT, "education")),
        *dpdsyn.ADULT.columns,
    ),
)
_COUNTS = (0, 1, 2, 3, 5, 10, 30)
COMPAS = Table(
    "compas",
    "compas.csv.gz",
    7214,
    (
        _labels("sex", "Female", "Male"),
        _cut("age", 18, 20, 22, 24, 26, 28, 30, 35, 40, 45, 50, 55, 60, 100),
        _labels("age_cat", "Less than 25", "25 - 45", "Greater than 45"),
        _labels(
            "race",
            *("African-American", "Asian", "Caucasian", "Hispanic", "Native American", "Other"),
        ),
        *(_cut(f"juv_{kind}_count", *_COUNTS) for kind in ("fel", "misd", "other")),
        _cut("priors_count", 0, 1, 2, 3, 4, 5, 7, 10, 15, 20, 40),
        _cut("days_b_screening_arrest", -500, -30, -7, -1, 0, 1, 7, 30, 1100, null=True),
        _cut("c_days_from_compas", 0, 1, 2, 3, 7, 14, 30, 60, 90, 180, 365, 10_000, null=True),
        _labels("c_charge_degree", "F", "M"),
        _numbered("decile_score", 1, 10),
        _labels("score_text", "Low", "Medium", "High"),
        _numbered("v_decile_score", 1, 10),
        _labels("v_score_text", "Low", "Medium", "High"),
        _numbered("two_year_recid", 0, 1),
    ),
    dropped=("is_recid", "is_violent_recid"),
    raw_only=("c_charge_desc",),
)
_CREDIT_EDGES: dict[str, tuple[Number, ...]] = {
    "duration": (0, 6, 9, 12, 15, 18, 21, 24, 30, 36, 48, 60, 72),
    "credit_amount": (0, 500, 1000, 1500, 2000, 2500, 3000, 4000, 5000, 7500, 10_000, 20_000),
    "age": (18, 22, 25, 30, 35, 40, 45, 50, 55, 60, 65, 75),
}
GERMAN = Table(
    "german",
    "german_credit_uci.csv.gz",
    1000,
    tuple(
        _cut(one.name, *_CREDIT_EDGES[one.name]) if one.name in _CREDIT_EDGES else one
        for one in reps.CREDIT.schema
    ),
)
_SCORES = (-7, -2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, 5)
LAW = Table(
    "law",
    "law_school.csv.gz",
    20_798,
    (
        _numbered("decile1b", 1, 10),
        _numbered("decile3", 1, 10),
        _cut("lsat", 10, 25, 28, 30, 32, 34, 36, 38, 40, 42, 44, 46, 48),
        _cut("ugpa", 1.5, 2.25, 2.5, 2.75, 3, 3.25, 3.5, 3.75, 4),
        _cut("zfygpa", *_SCORES),
        _cut("zgpa", *_SCORES),
        _numbered("fulltime", 1, 2),
        _numbered("fam_inc", 1, 5),
        _numbered("male", 0, 1),
        _numbered("tier", 1, 6),
        _labels("race", "Non-White", "White"),
        _numbered("pass_bar", 0, 1),
    ),
)
DUTCH = Table(
    "dutch",
    "dutch_census.csv.gz",
    60_420,
    tuple(
        _labels(privci.DUTCH.renamed.get(name, name), *_values(privci.DUTCH, name))
        for name in (*privci.DUTCH.columns[1:], privci.DUTCH.outcome)
    ),
)
BR2000 = Table("br2000", dpdsyn.BR2000.file, 38_000, dpdsyn.BR2000.columns)
LPD = Table("lpd", dpdsyn.LPD.file, 30_691, _nullable(dpdsyn.LPD.columns))
SMOKING = Table(
    "smoking", dpdsyn.SMOKING.file, 55_692, dpdsyn.SMOKING.columns, dropped=("ID", "oral")
)
_BREAST_EDGES: dict[str, tuple[Number, ...]] = {
    "mean_smoothness": (0.05, *reps.BANDS["mean_smoothness"], 0.12, 0.17),
    "mean_symmetry": (0.1, *reps.BANDS["mean_symmetry"], 0.23, 0.31),
    "mean_fractal_dimension": (0.045, *reps.BANDS["mean_fractal_dimension"], 0.08, 0.1),
}
BREAST = Table(
    "breast_cancer",
    "breast_cancer_wisconsin.csv.gz",
    569,
    tuple(
        _cut(one.name, *_BREAST_EDGES[one.name])
        if one.name in _BREAST_EDGES
        else (replace(one, bins=10) if one.kind.numeric else one)
        for one in reps.BREAST.schema
    ),
)
TABLES = (ADULT12, ADULT, COMPAS, GERMAN, LAW, DUTCH, BR2000, LPD, SMOKING, BREAST)
