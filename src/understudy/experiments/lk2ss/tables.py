"""The paper's five tables, its sizes and wishes, and our own public facts.

Bounds are round numbers, chosen once with these public benchmarks in view and not by any score.
"""

from dataclasses import dataclass
from functools import cached_property

from understudy.column import Column, Kind, Number, Role
from understudy.experiments.lk2ss.publics import RIDGES, WIDE_RIDGES
from understudy.schema import Schema

BINS = 64


@dataclass(frozen=True)
class Table:
    """A table of the paper's Table 7."""

    name: str
    file: str
    columns: tuple[Column, ...]
    """The target last."""
    private: int
    public: int
    test: int
    alone: int
    """Test rows where the public has no rows of its own."""
    input_limit: float
    output_limit: float
    """What providers demand: at most this LID."""
    wish: float
    """What the public wishes: at least this ΔMSE."""
    ridges: tuple[float, ...] = WIDE_RIDGES

    @cached_property
    def schema(self) -> Schema:
        """Public facts."""
        return Schema(self.columns)

    @property
    def target(self) -> str:
        """The column to predict."""
        return self.columns[-1].name

    @property
    def used(self) -> int:
        """How many rows a trial draws from the file."""
        return self.private + max(self.public + self.test, self.alone)


def _labels(name: str, *categories: str) -> Column:
    return Column(name=name, kind=Kind.CATEGORICAL, categories=categories, null=False)


def _number(name: str, low: Number, high: Number, role: Role = Role.FEATURE) -> Column:
    return Column(name=name, kind=Kind.REAL, bounds=(low, high), bins=BINS, null=False, role=role)


def _target(name: str, low: Number, high: Number) -> Column:
    return _number(name, low, high, Role.TARGET)


INSURANCE = Table(
    "Insurance",
    "insurance.csv.gz",
    (
        _number("age", 18, 66),
        _number("bmi", 15, 55),
        _labels("sex", "female", "male"),
        _labels("children", *map(str, range(6))),
        _labels("smoker", "no", "yes"),
        _labels("region", "northeast", "northwest", "southeast", "southwest"),
        _target("charges", 0, 65_000),
    ),
    *(1000, 200, 138, 138),
    *(0.15, 0.02, 0.05),
)
EIA = Table(
    "EIA",
    "eia.csv.gz",
    (
        _number("RESREVENUE", 0, 400_000),
        _number("RESSALES", 0, 5_000_000),
        _number("COMREVENUE", 0, 400_000),
        _number("COMSALES", 0, 4_000_000),
        _number("INDSALES", 0, 3_000_000),
        _number("OTHREVENUE", 0, 80_000),
        _number("OTHRSALES", 0, 800_000),
        _number("TOTREVENUE", 0, 800_000),
        _number("TOTSALES", 0, 10_000_000),
        _target("INDREVENUE", 0, 200_000),
    ),
    *(1000, 300, 200, 500),
    *(0.05, 0.12, 0.50),
)
HOUSING = Table(
    "CHP",
    "california_housing.csv.gz",
    (
        _number("longitude", -125, -114),
        _number("latitude", 32, 42),
        _number("housing_median_age", 0, 60),
        _number("total_rooms", 0, 40_000),
        _number("total_bedrooms", 0, 7000),
        _number("population", 0, 40_000),
        _number("households", 0, 7000),
        _number("median_income", 0, 16),
        _labels("ocean_proximity", "<1H OCEAN", "INLAND", "ISLAND", "NEAR BAY", "NEAR OCEAN"),
        _target("median_house_value", 0, 500_000),
    ),
    *(1000, 300, 200, 500),
    *(0.12, 0.015, 0.10),
)
CENSUS = Table(
    "Census",
    "census_casc.csv.gz",
    (
        _number("AFNLWGT", 0, 700_000),
        _number("AGI", 0, 100_000),
        _number("EMCONTRB", 0, 8000),
        _number("PTOTVAL", 0, 120_000),
        _number("STATETAX", 0, 12_000),
        _number("TAXINC", 0, 90_000),
        _number("POTHVAL", 0, 110_000),
        _number("INTVAL", 0, 50_000),
        _number("PEARNVAL", 0, 100_000),
        _number("FICA", 0, 8000),
        _number("WSALVAL", 0, 100_000),
        _number("ERNVAL", 0, 100_000),
        _target("FEDTAX", 0, 22_000),
    ),
    *(800, 180, 100, 280),
    *(0.06, 0.05, 0.30),
)
TARRAGONA = Table(
    "Tarragona",
    "tarragona.csv.gz",
    (
        _number("PAID_UP_CAPITAL", 0, 1_500_000),
        _number("OPERATING_PROFIT", -300_000, 1_300_000),
        _number("GROSS_PROFIT", -300_000, 1_300_000),
        _target("NET_PROFIT", -300_000, 900_000),
    ),
    *(600, 134, 100, 234),
    *(0.05, 0.03, 0.50),
    RIDGES,
)
TABLES = (INSURANCE, EIA, HOUSING, CENSUS, TARRAGONA)


def table_named(name: str) -> Table:
    """The table with this name."""
    return next(table for table in TABLES if table.name == name)
