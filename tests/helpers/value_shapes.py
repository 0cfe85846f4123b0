"""The shape of a text, decided anew in plain Python: what the grid says is held against this."""

import datetime as dt
import re
from bisect import bisect_right
from decimal import Decimal

from understudy.encode import shape_grid as grid

BLANKS = " \t\n\r\v\f"
MONTHS = [dt.date(2000, month, 1).strftime("%B").lower() for month in range(1, 13)]
NUMBER = re.compile(
    r"[+-]?(([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9][0-9]?)?"
    r"|([0-9]{1,8}(\.[0-9]{0,17})?|\.[0-9]{1,17})[eE][+-]?[0-2][0-9][0-9])"
)
CLOCK = (
    r"([T ])([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(?:\.[0-9]*)?)?"
    r"( ?[APap][Mm])?( ?(?:[Zz]|[+-][0-9]{2}:?[0-9]{2}))?"
)
DATE = re.compile(rf"([0-9]{{1,4}})([-/.])([0-9]{{1,2}})([-/.])([0-9]{{1,4}})(?:{CLOCK})?")
DAY_NAMED = re.compile(rf"([0-9]{{1,2}})([ -])([A-Za-z]{{3,9}})([ -])([0-9]{{4}})(?:{CLOCK})?")
MONTH_NAMED = re.compile(rf"([A-Za-z]{{3,9}})( )([0-9]{{1,2}})(, )([0-9]{{4}})(?:{CLOCK})?")


def precision(number, text=None):
    """The row of a plain number among precisions, from its shortest digits."""
    decimals = max(-Decimal(repr(float(number))).as_tuple().exponent, 0)

    def counted(steps):
        # A double cannot count more steps than this.
        return decimals < 9 and abs(number) * steps <= 2**52

    by_decimals = {2: grid.TWO, 3: grid.THREE, 4: grid.FOUR, 5: grid.SIX, 6: grid.SIX}
    if float(number).is_integer():
        row = grid.WHOLE
    elif counted(2) and (number * 2).is_integer():
        row = grid.HALF
    elif counted(10) and decimals == 1:
        row = grid.ONE
    elif counted(4) and (number * 4).is_integer():
        row = grid.QUARTER
    else:
        row = by_decimals.get(decimals) if counted(10.0 ** min(decimals, 9)) else None
        row = grid.MANY if row is None else row
    if text is not None and "e" not in text.lower() and "." in text and text.endswith("0"):
        zero = {grid.WHOLE: grid.WHOLE_ZERO, grid.HALF: grid.HALF_ZERO, grid.ONE: grid.ONE_ZERO}
        row = zero.get(row, grid.MORE_ZERO)
    return row


def plain(number, text=None):
    """The cell of a plain number."""
    row = grid.PLAIN.row(precision(number, text))
    return row.start + bisect_right(grid.MAGNITUDES, number)


def clock_of(parts):
    """The row of a time of day; None if there is none such."""
    mark, hour, minute, second, half, _ = parts
    if mark is None:
        return grid.NO_CLOCK
    hour = int(hour)
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * (half.strip().lower() == "pm")
    if hour > 23 or int(minute) > 59 or int(second or 0) > 59:
        return None
    midnight = hour == int(minute) == int(second or 0) == 0
    if second:
        return grid.MIDNIGHT_SECONDS if midnight else grid.SECONDS
    return grid.MIDNIGHT_MINUTES if midnight else grid.MINUTES


def exists(year, month, day):
    try:
        return dt.date(int(year), int(month), int(day))
    except ValueError:
        return None


def date(text):
    """The cell of a date; -1 for what looks like one and is none; None for all else."""
    if found := DATE.fullmatch(text):
        return _numbered(found.groups())
    if found := DAY_NAMED.fullmatch(text):
        day, one, name, two, year, *parts = found.groups()
        form = f"%d{one}%b{two}%Y"
        return -1 if one != two else _named((name, day, year), form, parts)
    if found := MONTH_NAMED.fullmatch(text):
        name, _, day, _, year, *parts = found.groups()
        return _named((name, day, year), "%b %d, %Y", parts)
    return None


def _numbered(groups):
    one, mark, middle, other, last, *parts = groups
    clock, late, half, zone = clock_of(parts), parts[0] == "T", parts[4], parts[5]
    if clock is None or mark != other:
        return -1
    if len(one) == 4 and len(last) <= 2:
        if half or not exists(one, middle, last):
            return -1
        if mark == "-":
            form = "%Y-%m-%d" + "T" * late + " zone" * bool(zone)
            return cell(grid.ISO, (form, grid.CLOCKS[clock]), int(one), grid.DECADES)
        name = f"%Y{mark}%m{mark}%d"
        return -1 if late or zone else dated(name, clock, one)
    if len(last) != 4 or len(one) > 2 or late or zone:
        return -1
    day_first, month_first = exists(last, middle, one), exists(last, one, middle)
    if half:
        if not month_first or mark != "/":
            return -1
        return dated("ambiguous %p" if day_first else "%m/%d/%Y %p", clock, last)
    if day_first and month_first:
        return dated(f"ambiguous {mark}", clock, last)
    if day_first or month_first:
        first, second = ("%d", "%m") if day_first else ("%m", "%d")
        return dated(f"{first}{mark}{second}{mark}%Y", clock, last)
    return -1


def _named(words, form, parts):
    name, day, year = words
    clock = clock_of(parts)
    short = [month[:3] for month in MONTHS]
    name = name.lower()
    month = (short if name in short else MONTHS).index(name) + 1 if name in short + MONTHS else 0
    if clock is None or parts[0] == "T" or parts[4] or parts[5] or not exists(year, month, day):
        return -1
    if name not in short:
        if "-" in form:
            return -1
        form = form.replace("%b", "%B")
    return dated(form, clock, year)


def dated(name, clock, year):
    return cell(grid.DATED, (name, grid.CLOCKS[clock]), int(year), grid.PERIODS)


def cell(part, row, number, edges):
    return part.row(part.rows.index(row)).start + bisect_right(edges, number)


GROUPED = {
    "commas": (r"[1-9][0-9]{0,2}(,[0-9]{3})+(\.[0-9]*)?", ",", "."),
    "points": (r"[1-9][0-9]{0,2}((\.[0-9]{3})+,[0-9]*|(\.[0-9]{3}){2,})", ".", ","),
    "spaces": (r"[1-9][0-9]{0,2}( [0-9]{3})+(,[0-9]*)?", " ", ","),
    "spaces point": (r"[1-9][0-9]{0,2}( [0-9]{3})+\.[0-9]*", " ", "."),
    "quotes": (r"[1-9][0-9]{0,2}('[0-9]{3})+(\.[0-9]*)?", "'", "."),
}
FORM = {
    "commas": (grid.COMMAS, grid.COMMAS_POINT),
    "points": (grid.POINTS, grid.POINTS_COMMA),
    "spaces": (grid.SPACES, grid.SPACES_COMMA),
    "spaces point": (grid.SPACES, grid.SPACES_POINT),
    "quotes": (grid.QUOTES, grid.QUOTES_POINT),
}


def form_of(core):
    """The form of a number without sign and affix, and the number; None for what is none."""
    if re.fullmatch(r"[0-9]{3}( [0-9]{3}){2,}", core):
        return None
    if re.fullmatch(r"[0-9]+(\.[0-9]*)?|\.[0-9]+", core):
        decimals = len(core.partition(".")[2])
        return grid.PLAIN_WHOLE + min(decimals, 3), float(core)
    if re.fullmatch(r"[1-9][0-9]{0,2},[0-9]{3}", core):
        return grid.AMBIGUOUS, float(core.replace(",", ""))
    if re.fullmatch(r"[0-9]*,[0-9]+", core):
        decimals = len(core.partition(",")[2])
        return grid.COMMA_ONE + min(decimals, 3) - 1, float(core.replace(",", "."))
    for name, (regex, mark, decimal) in GROUPED.items():
        if re.fullmatch(regex, core):
            number = core.replace(mark, "").replace(decimal, ".")
            return FORM[name][len(number.partition(".")[2]) > 0], float(number)
    return None


def number(text):
    """The cell of a number with marks or an affix; None for what is none."""
    text = text.replace("\u00a0", " ").replace("\u202f", " ")
    befores = sorted({before.strip() for before, _ in grid.AFFIXES if before})
    afters = sorted({after.strip() for _, after in grid.AFFIXES if after})
    for before in ["", *befores]:
        for after in ["", *afters]:
            parts = re.fullmatch(
                rf"([+-]?){re.escape(before)}( ?)([+-]?)([0-9., ']*?)( ?){re.escape(after)}", text
            )
            if not parts or (before and after):
                continue
            outer, gap, inner, core, blank = parts.groups()
            if (outer and inner) or (gap and not before) or (blank and not after):
                continue
            found = form_of(core)
            if found is None:
                continue
            form, size = found
            size = -size if "-" in outer + inner else size
            if not before and not after:
                if form < grid.AMBIGUOUS:
                    continue
                row = grid.WRITTEN.row(form)
                return row.start + bisect_right(grid.COARSE_MAGNITUDES, size)
            exact = (before + gap, "") if before else ("", blank + after)
            loose = [a for a in grid.AFFIXES if (a[0].strip(), a[1].strip()) == (before, after)]
            affix = exact if exact in grid.AFFIXES else loose[-1]
            row = (affix, grid.FORMS[form])
            return cell(grid.AFFIXED, row, size, grid.DECIMAL_MAGNITUDES)
    return None


def is_phone(text):
    """Whether seven to fifteen digits are grouped as in a telephone number."""
    text = re.sub(r" ?(?:x|ext\.?|Ext\.?) ?[0-9]{1,6}$", "", text)
    digits = re.sub("[^0-9]", "", text)
    if not 7 <= len(digits) <= 15 or not text[-1:].isdigit():
        return False
    if re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,3}){3}", text):
        return False
    if not re.fullmatch(r"\+?[0-9 ()./-]+", text):
        return False
    if text[0] == "+":
        return text[1] in "(0123456789"
    if re.fullmatch(r"0[0-9]{1,5}[ /-]{1,3}[0-9]{3,9}|[0-9]{3}-[0-9]{4}", text):
        return True
    if re.fullmatch(r"\([0-9]{2,5}\) ?[0-9][0-9 -]{3,11}[0-9]", text):
        return True
    area = r"\([0-9]{1,5}\)[ ./-]{0,3}"
    groups = (
        rf"({area}|[0-9]{{1,5}}[ ./-]{{1,3}})({area}|[0-9]{{2,9}}[ ./-]{{1,3}}){{1,5}}[0-9]{{2,9}}"
    )
    return re.fullmatch(groups, text) is not None


def shape(text):  # noqa: C901, PLR0912 - one case after the other
    """The cell of any text."""
    text = "" if text is None else text.strip(BLANKS)
    if not text:
        return grid.MISSING
    if len(text) > 200:
        return grid.LONG
    if re.fullmatch("0[0-9]+", text):
        return grid.ZEROS
    if re.fullmatch(r"\+[1-9][0-9]{6,14}", text):
        return grid.PHONE
    if len(text) <= 64 and NUMBER.fullmatch(text):
        return plain(float(text), text)
    if re.fullmatch(r"[^@\s,;<>]+@[^@\s,;<>]+\.[^@\s.,;<>]+", text, re.ASCII):
        return grid.EMAIL
    if re.match(r"(?i:https?://|ftp://|www\.)\S+\Z", text, re.ASCII):
        return grid.URL
    if re.fullmatch(r"\{?[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\}?", text):
        return grid.UUID
    if len(text) > 60 or len(re.findall(r"[\t\n\f\r ]+", text)) > 6:
        return grid.LONG
    if not re.search("[0-9]", text):
        return grid.WORDS
    if len(text) > 48:
        return grid.CODES
    found = date(text)
    if found is not None:
        return grid.CODES if found < 0 else found
    found = number(text)
    if found is not None:
        return found
    return grid.PHONE if is_phone(text) else grid.CODES
