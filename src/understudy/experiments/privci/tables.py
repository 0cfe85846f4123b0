"""The five tables of the paper: its columns and roles, cut at our own public edges.

The paper does not print its bins. These are round numbers of years, hours, marks, months and
money; lists are all values of a column. Nothing was tuned.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from understudy.experiments.privci.coding import Coding, Cut, Listed, numbered
from understudy.knowledge import Independence


@dataclass(frozen=True, eq=False)
class Table:
    """A table, the roles of its columns, and how they are coded."""

    name: str
    file: str
    outcome: str
    protected: str
    admissible: tuple[str, ...]
    inadmissible: tuple[str, ...]
    codings: Mapping[str, Coding]
    """By column. The second value of the outcome's list is the positive class."""
    renamed: Mapping[str, str]
    """Names in the file, where the paper has others."""

    @property
    def independence(self) -> Independence:
        """What is to hold: the outcome tells nothing about the protected, given the admissible."""
        return Independence(self.outcome, self.protected, given=self.admissible)

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns."""
        return (self.outcome, self.protected, *self.admissible, *self.inadmissible)

    @property
    def sizes(self) -> dict[str, int]:
        """By column, how many codes there are."""
        return {name: self.codings[name].size for name in self.columns}


ADULT = Table(
    "adult",
    "adult.csv.gz",
    "income",
    "gender",
    ("occupation", "education", "hours-per-week"),
    ("marital-status", "age"),
    {
        "income": Listed(("<=50K", ">50K")),
        "gender": Listed(("Female", "Male")),
        "occupation": Listed(
            (
                *("?", "Adm-clerical", "Armed-Forces", "Craft-repair", "Exec-managerial"),
                *("Farming-fishing", "Handlers-cleaners", "Machine-op-inspct", "Other-service"),
                *("Priv-house-serv", "Prof-specialty", "Protective-serv", "Sales"),
                *("Tech-support", "Transport-moving"),
            )
        ),
        "education": Listed(
            (
                *("Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th"),
                *("HS-grad", "Some-college", "Assoc-voc", "Assoc-acdm", "Bachelors", "Masters"),
                *("Prof-school", "Doctorate"),
            )
        ),
        "hours-per-week": Cut((20, 35, 40, 41, 50, 60)),
        "marital-status": Listed(
            (
                *("Divorced", "Married-AF-spouse", "Married-civ-spouse", "Married-spouse-absent"),
                *("Never-married", "Separated", "Widowed"),
            )
        ),
        "age": Cut((25, 35, 45, 55, 65)),
    },
    {"gender": "sex"},
)
COMPAS = Table(
    "compas",
    "compas.csv.gz",
    "is_recid",
    "race",
    ("age",),
    ("charge_degree", "priors_count"),
    {
        "is_recid": numbered(0, 1),
        "race": Listed(
            (
                *("African-American", "Asian", "Caucasian", "Hispanic", "Native American"),
                "Other",
            )
        ),
        "age": Cut((25, 35, 45, 55, 65)),
        "charge_degree": Listed(("F", "M")),
        "priors_count": Cut((1, 2, 4, 7, 11)),
    },
    {"charge_degree": "c_charge_degree"},
)
DUTCH = Table(
    "dutch",
    "dutch_census.csv.gz",
    "occupation",
    "sex",
    ("edu_level",),
    (
        *("economic_status", "cur_eco_activity", "household_position", "household_size", "age"),
        *("marital_status", "country_birth", "citizenship", "prev_residence"),
    ),
    {
        "occupation": numbered(0, 1),
        "sex": Listed(("female", "male")),
        "edu_level": numbered(0, 5),
        "economic_status": Listed(("111", "112", "120")),
        "cur_eco_activity": Listed(("111", "122", "124", *map(str, range(131, 140)))),
        "household_position": Listed(
            ("1110", "1121", "1122", "1131", "1132", "1140", "1210", "1220")
        ),
        "household_size": Listed(("111", "112", "113", "114", "125", "126")),
        "age": numbered(4, 15),
        "marital_status": numbered(1, 4),
        "country_birth": numbered(1, 3),
        "citizenship": numbered(1, 3),
        "prev_residence": numbered(1, 2),
    },
    {"prev_residence": "prev_residence_place"},
)
GERMAN = Table(
    "german",
    "german_credit_kaggle.csv.gz",
    "risk",
    "sex",
    ("duration", "credit_amount"),
    ("age", "job", "housing", "saving_accounts", "checking_account", "purpose"),
    {
        "risk": Listed(("good", "bad")),
        "sex": Listed(("female", "male")),
        "duration": Cut((12, 18, 24, 36)),
        "credit_amount": Cut((1000, 2000, 4000, 8000)),
        "age": Cut((25, 35, 45, 55)),
        "job": Listed(
            (
                *("unskilled_and_non-resident", "unskilled_and_resident", "skilled"),
                "highly_skilled",
            )
        ),
        "housing": Listed(("free", "own", "rent")),
        "saving_accounts": Listed(("little", "moderate", "quite rich", "rich"), missing=True),
        "checking_account": Listed(("little", "moderate", "rich"), missing=True),
        "purpose": Listed(
            (
                *("business", "car", "domestic appliances", "education", "furniture/equipment"),
                *("radio/TV", "repairs", "vacation/others"),
            )
        ),
    },
    {},
)
LAW = Table(
    "law",
    "law_school.csv.gz",
    "pass_bar",
    "race",
    ("lsat", "ugpa"),
    ("decile1b", "decile3", "zfygpa", "zgpa", "fulltime", "fam_inc", "male", "tier"),
    {
        "pass_bar": numbered(0, 1),
        "race": Listed(("Non-White", "White")),
        "lsat": Cut((25, 30, 35, 40, 45)),
        "ugpa": Cut((2.5, 2.75, 3, 3.25, 3.5, 3.75)),
        "decile1b": numbered(1, 10),
        "decile3": numbered(1, 10),
        "zfygpa": Cut((-1.5, -1, -0.5, 0, 0.5, 1, 1.5)),
        "zgpa": Cut((-1.5, -1, -0.5, 0, 0.5, 1, 1.5)),
        "fulltime": numbered(1, 2),
        "fam_inc": numbered(1, 5),
        "male": numbered(0, 1),
        "tier": numbered(1, 6),
    },
    {},
)
TABLES = (ADULT, COMPAS, DUTCH, GERMAN, LAW)
