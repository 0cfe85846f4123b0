"""An invented customer table with every defect that tables of real companies have.

Every value is drawn from a seed; no person, company or address is real. `messy_table` holds the
table as the text of a CSV file; `as_pandas` and `as_arrow` type it as owners of data frames and of
databases would.
"""

import contextlib
import csv
import datetime as dt
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

ROWS, SEED = 8_000, 28
TARGET = "churned"
CLASSES = ("no", "yes")
PERSONAL = ("customer_id", "email", "phone", "comment")
"""Columns that identify a person; their names say so, and so do their values."""
CONSTANT = "branch"
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

FREQUENT_COUNTRIES = ("Austria", "Belgium", "Denmark", "France", "Germany", "Italy")
RARE_COUNTRIES = (
    *("Albania", "Andorra", "Croatia", "Cyprus", "Estonia", "Finland", "Greece", "Iceland"),
    *("Ireland", "Latvia", "Malta", "Moldova", "Monaco", "Norway", "Poland", "Portugal"),
    *("Serbia", "Slovakia", "Slovenia", "Switzerland"),
)
_COUNTRY_SHARES = (0.09, 0.13, 0.08, 0.20, 0.25, 0.10)
"""Of the frequent ones; the rare ones share what is left, about 15 %, equally."""
_JOBS = {
    "actuary": 0.10,
    "baker": 0.16,
    "clerk": 0.21,
    "driver": 0.13,
    "nurse": 0.17,
    "unknown": 0.09,
    **{f"{trade} maker": 0.01 for trade in ("basket", "clock", "glove", "organ", "wig")},
    **{f"{trade} fitter": 0.01 for trade in ("boiler", "carpet", "rail", "sail", "stair")},
    "": 0.04,
}
_ORIGINS = {"Coastal": 0.10, "Highland": 0.72, "Islander": 0.02, "Northern": 0.07, "Valley": 0.09}
_FIRST = ("Ada", "Bea", "Cem", "Dov", "Eli", "Fay", "Gus", "Hal", "Ida", "Jon", "Kai", "Lea")
_LAST = ("Abelt", "Borim", "Cadow", "Dornik", "Eskel", "Fahlo", "Grubin", "Hostra", "Imrek")

GRAMMAR = {
    "signup": r"(0[1-9]|[12]\d|3[01])/(0[1-9]|1[0-2])/\d{4}",
    "last_seen": r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d",
    "renewed": rf"\d\d ({'|'.join(MONTHS)}) \d{{4}}",
    "start": r"\d{4}-\d\d-\d\d",
    "amount": r"\d{1,3}(\.\d{3})*,\d\d",
    "income": r"\$\d{1,3}(,\d{3})*",
    "discount": r"\d{1,3}(,[1-9])? %",
    "price": r"\d+\.\d\d",
    "rating": r"[0-5]\.[05]",
    "visits": r"\d+(\.0)?",
    "age": r"\d+",
    "balance": r"\d+(\.\d{1,2})?",
    "smoker": r"[YN]",
}
"""How the owner writes each column whose values have a form; a whole cell matches."""
DATES = {
    "signup": "%d/%m/%Y",
    "last_seen": "%Y-%m-%d %H:%M:%S",
    "renewed": "%d %b %Y",
    "start": "%Y-%m-%d",
}
LISTED = ("country", "job", "origin", "icd", "zip", "smoker", TARGET)
"""Columns whose values are categories."""


def messy_table(rows: int = ROWS, seed: int = SEED) -> pd.DataFrame:
    """Return the table as a CSV file holds it: every cell is text, and missing ones are empty."""
    rng = np.random.default_rng(seed)
    numbers = _numbers(rows, rng)
    columns = {
        **_personal(rows, rng),
        **_dates(rows, rng),
        **_written(numbers, rng),
        **_codes(rows, rng),
        CONSTANT: np.full(rows, "main"),
        TARGET: _churned(numbers, rng),
    }
    table = pd.DataFrame(columns, dtype=str)
    for name, share in {"income": 0.03, "start": 0.05, "renewed": 0.02}.items():
        table.loc[rng.random(rows) < share, name] = ""
    return table


def write_csv(table: pd.DataFrame, path: Path, delimiter: str = ",") -> Path:
    """Write the table as a CSV file, quoting only the cells that need it."""
    table.to_csv(path, sep=delimiter, index=False, quoting=csv.QUOTE_MINIMAL)
    return path


def as_pandas(table: pd.DataFrame) -> pd.DataFrame:
    """Type some columns as the owner of a data frame would: numbers, moments, and text."""
    frame = table.mask(table == "")
    types = {**dict.fromkeys(("rating", "visits", "balance", "price"), float), "age": int}
    frame = frame.astype({name: kind for name, kind in types.items() if name in frame})
    if "last_seen" in frame:
        frame["last_seen"] = pd.to_datetime(frame["last_seen"])
    return frame


def as_arrow(table: pd.DataFrame) -> pa.Table:
    """Type some columns as a database would: as `as_pandas`, with dates of their own type."""
    kinds = {"last_seen": pa.timestamp("us"), "start": pa.date32()}
    columns = {}
    for name, cells in as_pandas(table).items():
        found = pa.array(cells, from_pandas=True)
        text = pa.types.is_large_string(found.type)
        columns[name] = found.cast(kinds.get(name, pa.string() if text else found.type))
    return pa.table(columns)


def number_of(name: str, cell: str) -> float:
    """Return the number that the owner wrote, in a column of `GRAMMAR`."""
    if name in {"amount", "discount"}:
        cell = cell.removesuffix(" %").replace(".", "").replace(",", ".")
    if name == "income":
        cell = cell.removeprefix("$").replace(",", "")
    return float(cell)


def moment_of(name: str, cell: str) -> dt.datetime:
    """Return the date or moment that the owner wrote; ValueError if there is no such day."""
    if name != "renewed":
        return dt.datetime.strptime(cell, DATES[name])  # noqa: DTZ007 - naive as the columns
    # Names of months are English whatever the locale of the machine.
    day, month, year = cell.split(" ")
    return dt.datetime(int(year), MONTHS.index(month) + 1, int(day))  # noqa: DTZ001 - as above


def is_written(name: str, cell: str, grammar: str | None = None) -> bool:
    """Return whether the owner could have written the cell; a date has to be one."""
    if re.fullmatch(grammar or GRAMMAR[name], cell) is None:
        return False
    if name in DATES:
        with contextlib.suppress(ValueError):
            return bool(moment_of(name, cell))
        return False
    return True


def _personal(rows: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    first, last = rng.choice(_FIRST, rows), rng.choice(_LAST, rows)
    serial = rng.permutation(rows)
    ids = _distinct(100, 100_000, rows, rng)
    digits = _distinct(10**9, 10**10, rows, rng)
    tickets = _distinct(36**5, 36**6, rows, rng)
    emails = [
        f"{a.lower()}.{b.lower()}{number}@post{number % 7}.test"
        for a, b, number in zip(first, last, serial, strict=True)
    ]
    comments = [_comment(k, np.base_repr(t, 36)) for k, t in enumerate(tickets)]
    return {
        "customer_id": np.array([f"{number:06}" for number in ids]),
        "email": np.array(emails),
        "phone": np.array([_phone(f"{number:010}") for number in digits]),
        "comment": np.array(comments),
    }


def _distinct(least: int, end: int, rows: int, rng: np.random.Generator) -> np.ndarray:
    """Whole numbers in random order, no two of which are equal."""
    found = np.unique(rng.integers(least, end, 2 * rows + 100))
    return rng.permutation(found)[:rows]


def _phone(digits: str) -> str:
    """One of five ways to write a number of ten digits."""
    area, middle, last = digits[:3], digits[3:6], digits[6:]
    forms = (
        f"+49 {area} {middle}{last}",
        f"({area}) {middle}-{last}",
        f"0049-{area}-{middle}.{last}",
        f"0{area}/{middle} {last}",
        f"+49({area}){middle}{last}",
    )
    return forms[int(digits[-1]) % len(forms)]


def _comment(place: int, ticket: str) -> str:
    """Free text that no other row has, with quotes and commas."""
    forms = (
        f'Said "call me back", see ticket TK-{ticket}',
        f"Moved house, new contract, ticket TK-{ticket}",
        f"TK-{ticket}: wants a refund; was told to wait",
        f"Nothing to report. TK-{ticket}",
    )
    return forms[place % len(forms)]


def _dates(rows: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    def days(first: dt.datetime, last: dt.datetime) -> list[dt.datetime]:
        # Later days are more frequent, as customers of a growing company are.
        part = rng.beta(1.6, 1.0, rows) * (last - first).days
        return [first + dt.timedelta(days=int(day)) for day in part]

    signup = days(dt.datetime(2015, 1, 1), dt.datetime(2022, 12, 31))  # noqa: DTZ001 - naive
    seen = days(dt.datetime(2023, 1, 1), dt.datetime(2024, 6, 30))  # noqa: DTZ001
    renewed = days(dt.datetime(2019, 1, 1), dt.datetime(2024, 6, 30))  # noqa: DTZ001
    start = days(dt.datetime(2012, 1, 1), dt.datetime(2023, 12, 31))  # noqa: DTZ001
    seconds = rng.integers(6 * 3600, 23 * 3600, rows)
    seen = [day + dt.timedelta(seconds=int(s)) for day, s in zip(seen, seconds, strict=True)]
    named = [f"{day.day:02} {MONTHS[day.month - 1]} {day.year}" for day in renewed]
    return {
        "signup": np.array([day.strftime(DATES["signup"]) for day in signup]),
        "last_seen": np.array([moment.strftime(DATES["last_seen"]) for moment in seen]),
        "renewed": np.array(named),
        "start": np.array([day.strftime(DATES["start"]) for day in start]),
    }


def _numbers(rows: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """The numbers behind the text; the target follows from them."""
    age = np.clip(18 + np.floor(78 * rng.beta(1.3, 1.3, rows)), 18, 95)
    wealth = 0.02 * (age - 50) + rng.normal(size=rows)
    return {
        "age": age,
        "income": np.round(np.exp(10.4 + 0.35 * wealth)),
        "amount": np.round(np.exp(6.6 + 0.5 * wealth + 0.5 * rng.normal(size=rows)), 2),
        "discount": np.round(2 * rng.gamma(4.0, 3.0, rows).clip(0.5, 45)) / 2,
        "price": np.round(5 + 90 * rng.beta(2.0, 3.0, rows), 2),
        "rating": np.clip(np.round(2 * rng.normal(3.4, 1.1, rows)) / 2, 0.5, 5.0),
        "balance": np.round(np.minimum(900 * np.exp(1.3 * rng.normal(size=rows)), 102_127), 2),
        "visits": rng.poisson(rng.gamma(2.0, 3.0, rows)).astype(float),
        "smokes": rng.random(rows) < 0.22,
    }


def _written(numbers: dict[str, np.ndarray], rng: np.random.Generator) -> dict[str, np.ndarray]:
    """The numbers as the owner writes them."""
    marks = str.maketrans({",": ".", ".": ","})
    forms = {
        "amount": lambda x: f"{x:,.2f}".translate(marks),
        "income": lambda x: f"${x:,.0f}",
        "discount": lambda x: f"{x:g} %".translate(marks),
        "price": lambda x: f"{x:.2f}",
        "rating": lambda x: f"{x:.1f}",
        "balance": str,
        "visits": str,
        "age": lambda x: f"{x:.0f}",
    }
    written = {name: np.array([form(x) for x in numbers[name]]) for name, form in forms.items()}
    written["smoker"] = np.where(numbers["smokes"], "Y", "N")
    return written


def _codes(rows: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    rare = (1 - sum(_COUNTRY_SHARES)) / len(RARE_COUNTRIES)
    countries = (*FREQUENT_COUNTRIES, *RARE_COUNTRIES)
    shares = np.array([*_COUNTRY_SHARES, *[rare] * len(RARE_COUNTRIES)])
    # Tables of all seeds use the same codes.
    fixed = np.random.default_rng(SEED)
    icd, zips = _icd_codes(fixed), _zip_codes(fixed)
    return {
        "country": rng.choice(countries, rows, p=shares / shares.sum()),
        "job": _drawn(_JOBS, rows, rng),
        "origin": _drawn(_ORIGINS, rows, rng),
        "icd": rng.choice(icd, rows, p=_falling(len(icd))),
        "zip": rng.choice(zips, rows, p=_falling(len(zips))),
    }


def _drawn(shares: dict[str, float], rows: int, rng: np.random.Generator) -> np.ndarray:
    """Labels by their shares."""
    weights = np.array([*shares.values()])
    return rng.choice([*shares], rows, p=weights / weights.sum())


def _falling(count: int) -> np.ndarray:
    """Shares that fall like 1/k: some codes are frequent, most are rare."""
    weights = 1 / np.arange(1, count + 1)
    return weights / weights.sum()


def _icd_codes(rng: np.random.Generator) -> list[str]:
    """Diagnoses: whole numbers, numbers with a decimal, and numbers after a letter."""
    plain = [f"{code / 10:05.1f}" for code in _distinct(10, 9_999, 130, rng)]
    whole = [f"{code:03}" for code in _distinct(1, 999, 40, rng)]
    extra = [f"V{code / 10:.1f}" for code in _distinct(100, 899, 40, rng)]
    causes = [f"E{code}" for code in _distinct(800, 999, 20, rng)]
    rest = rng.permutation([*plain, *whole, *extra, *causes])
    return [*dict.fromkeys(["455.9", "V45.1", "E812", "038", *rest.tolist()])]


def _zip_codes(rng: np.random.Generator) -> list[str]:
    """Five digits; half of them begin with a zero, and the most frequent one does."""
    low, high = _distinct(501, 10_000, 200, rng), _distinct(10_000, 99_999, 200, rng)
    return [f"{code:05}" for pair in zip(low, high, strict=True) for code in pair]


def _churned(numbers: dict[str, np.ndarray], rng: np.random.Generator) -> np.ndarray:
    """The target: 27 % yes, and an area under the ROC curve of about 0.8 at best."""
    score = (
        -1.2 * (numbers["rating"] - 3.4)
        - 0.14 * (numbers["visits"] - 6)
        - 0.03 * (numbers["age"] - 56)
        + 0.8 * numbers["smokes"]
        - 0.25 * np.log(numbers["balance"] / 900)
    )
    noisy = score + rng.logistic(size=len(score))
    limit = np.quantile(noisy, 0.73)
    return np.where(noisy > limit, CLASSES[1], CLASSES[0])
