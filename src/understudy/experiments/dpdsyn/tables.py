"""The paper's four tables: its columns, cut at our own public edges.

The paper does not print its bins. These are round numbers of years, hours, money and of what
laboratories report, no more than 16 bins each, chosen once and not by any score; lists are all
values of a column.
"""

from dataclasses import dataclass
from functools import cached_property

from understudy.column import Column, Kind, Number, Role
from understudy.schema import Schema


@dataclass(frozen=True)
class Table:
    """A table of the paper."""

    name: str
    number: int
    """Of the printed table."""
    file: str
    columns: tuple[Column, ...]
    """The target last; the second of its categories is the positive class."""

    @cached_property
    def schema(self) -> Schema:
        """Public facts."""
        return Schema(self.columns)

    @property
    def target(self) -> str:
        """The column to predict."""
        return self.columns[-1].name


def _labels(name: str, *categories: str, target: bool = False) -> Column:
    role = Role.TARGET if target else Role.FEATURE
    return Column(name=name, kind=Kind.CATEGORICAL, categories=categories, null=False, role=role)


def _codes(name: str, last: int) -> Column:
    return _labels(name, *map(str, range(last + 1)))


def _bins(name: str, low: Number, high: Number, bins: int) -> Column:
    """Bins of one width."""
    return Column(name=name, kind=Kind.REAL, bounds=(low, high), bins=bins, null=False)


def _cut(name: str, *edges: Number, atoms: tuple[Number, ...] = ()) -> Column:
    """Bins between round edges."""
    ends = (edges[0], edges[-1])
    return Column(name=name, kind=Kind.REAL, bounds=ends, edges=edges, atoms=atoms, null=False)


ADULT = Table(
    "adult",
    2,
    "adult.csv.gz",
    (
        _bins("age", 15, 95, 16),
        _labels(
            "workclass",
            *("?", "Federal-gov", "Local-gov", "Never-worked", "Private", "Self-emp-inc"),
            *("Self-emp-not-inc", "State-gov", "Without-pay"),
        ),
        _bins("fnlwgt", 0, 500_000, 10),
        _bins("education-num", 0.5, 16.5, 16),
        _labels(
            "marital-status",
            *("Divorced", "Married-AF-spouse", "Married-civ-spouse", "Married-spouse-absent"),
            *("Never-married", "Separated", "Widowed"),
        ),
        _labels(
            "occupation",
            *("?", "Adm-clerical", "Armed-Forces", "Craft-repair", "Exec-managerial"),
            *("Farming-fishing", "Handlers-cleaners", "Machine-op-inspct", "Other-service"),
            *("Priv-house-serv", "Prof-specialty", "Protective-serv", "Sales"),
            *("Tech-support", "Transport-moving"),
        ),
        _labels(
            "relationship",
            *("Husband", "Not-in-family", "Other-relative", "Own-child", "Unmarried", "Wife"),
        ),
        _labels("race", "Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White"),
        _labels("sex", "Female", "Male"),
        _cut(
            "capital-gain",
            *(0, 1000, 2000, 3000, 4000, 5000, 7000, 10_000, 15_000, 20_000, 50_000, 100_000),
            atoms=(0,),
        ),
        _cut("capital-loss", 0, 1000, 1500, 1750, 2000, 2250, 2500, 3000, 5000, atoms=(0,)),
        _cut("hours-per-week", 0, 10, 20, 25, 30, 35, 40, 41, 45, 50, 55, 60, 70, 100),
        _labels(
            "native-country",
            *("?", "Cambodia", "Canada", "China", "Columbia", "Cuba", "Dominican-Republic"),
            *("Ecuador", "El-Salvador", "England", "France", "Germany", "Greece", "Guatemala"),
            *("Haiti", "Holand-Netherlands", "Honduras", "Hong", "Hungary", "India", "Iran"),
            *("Ireland", "Italy", "Jamaica", "Japan", "Laos", "Mexico", "Nicaragua"),
            *("Outlying-US(Guam-USVI-etc)", "Peru", "Philippines", "Poland", "Portugal"),
            *("Puerto-Rico", "Scotland", "South", "Taiwan", "Thailand", "Trinadad&Tobago"),
            *("United-States", "Vietnam", "Yugoslavia"),
        ),
        _labels("income", "<=50K", ">50K", target=True),
    ),
)
BR2000 = Table(
    "br2000",
    3,
    "br2000.csv.gz",
    (
        _codes("a1", 1),
        _bins("a2", -0.5, 6.5, 7),
        _bins("a3", -0.5, 15.5, 16),
        _bins("a4", -0.5, 9.5, 10),
        _bins("a5", -0.5, 15.5, 16),
        *(_codes(name, 1) for name in ("a6", "a7", "a8", "a9")),
        _codes("a10", 3),
        _bins("a11", -0.5, 15.5, 16),
        _codes("a12", 1),
        _bins("a13", -0.5, 15.5, 16),
        _labels("a14", "0", "1", target=True),
    ),
)
SMOKING = Table(
    "smoking",
    4,
    "smoking.csv.gz",
    (
        _labels("gender", "F", "M"),
        _bins("age", 17.5, 87.5, 14),
        _bins("height(cm)", 127.5, 192.5, 13),
        _bins("weight(kg)", 37.5, 117.5, 16),
        _bins("waist(cm)", 50, 130, 16),
        *(_bins(f"eyesight({side})", 0, 2, 10) for side in ("left", "right")),
        *(_labels(f"hearing({side})", "1.0", "2.0") for side in ("left", "right")),
        _bins("systolic", 80, 180, 10),
        _bins("relaxation", 40, 120, 16),
        _cut("fasting blood sugar", *range(60, 120, 10), 120, 140, 160, 200, 300, 520),
        _bins("Cholesterol", 80, 320, 12),
        _cut("triglyceride", 0, *range(40, 200, 20), 200, 250, 300, 400, 1000),
        _bins("HDL", 20, 120, 10),
        _bins("LDL", 0, 240, 12),
        _bins("hemoglobin", 9, 19, 10),
        _labels("Urine protein", *(f"{degree}.0" for degree in range(1, 7))),
        _bins("serum creatinine", 0.35, 1.95, 16),
        _cut("AST", 0, 10, 15, 20, 25, 30, 35, 40, 50, 60, 80, 100, 1500),
        _cut("ALT", 0, 10, 15, 20, 25, 30, 40, 50, 60, 80, 100, 200, 3000),
        _cut("Gtp", 0, 10, 15, 20, 25, 30, 40, 50, 60, 80, 100, 150, 200, 300, 1000),
        _labels("dental caries", "0", "1"),
        _labels("tartar", "N", "Y"),
        _labels("smoking", "0", "1", target=True),
    ),
)
_ENZYMES = (0, 15, 20, 25, 30, 40, 50, 60, 80, 100, 150, 200, 300, 500, 1000)
LPD = Table(
    "lpd",
    5,
    "liver_patient_lpd.csv.gz",
    (
        _bins("age_of_the_patient", 0, 90, 15),
        _labels("gender_of_the_patient", "Female", "Male"),
        _cut("total_bilirubin", 0, 0.6, 0.8, 1, 1.2, 1.5, 2, 3, 4, 6, 8, 12, 20, 80),
        _cut("direct_bilirubin", 0, 0.15, 0.25, 0.35, 0.5, 0.8, 1, 1.5, 2, 3, 5, 8, 12, 20),
        _cut(
            "alkphos_alkaline_phosphotase",
            0,
            100,
            125,
            150,
            175,
            200,
            225,
            250,
            300,
            400,
            500,
            700,
            1000,
            2500,
        ),
        _cut("sgpt_alamine_aminotransferase", *_ENZYMES, 2000),
        _cut("sgot_aspartate_aminotransferase", *_ENZYMES, 5000),
        _bins("total_protiens", 2, 10, 16),
        _bins("alb_albumin", 0.75, 5.75, 10),
        _bins("a_g_ratio_albumin_and_globulin_ratio", 0.2, 2, 9),
        _labels("result", "2", "1", target=True),
    ),
)
TABLES = (ADULT, BR2000, SMOKING, LPD)


def table_named(name: str) -> Table:
    """The table with this name."""
    return next(table for table in TABLES if table.name == name)
