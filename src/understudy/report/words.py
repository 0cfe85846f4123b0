"""Text for the eye: short enough, told in the order it is written in, one and many."""

import unicodedata

_WIDE = frozenset("WF")
# Marks that turn the order of letters around, also of whatever follows them.
_TURNING = dict.fromkeys(
    [0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)], ""
)


def in_order(text: str) -> str:
    """The text without marks that would turn letters around.

    >>> in_order("salary\N{RIGHT-TO-LEFT OVERRIDE}txt")
    'salarytxt'
    """
    return text.translate(_TURNING)


def width(text: str) -> int:
    """About how many letters' room a text takes.

    >>> width("age"), width("年齢")
    (3, 4)
    """
    return sum(_width(letter) for letter in text)


def shortened(text: str, most: int) -> str:
    """A text of at most so many letters' room, cut in its middle: many names differ at their ends.

    >>> shortened("a rather long column name 12", 16)
    'a rather…name 12'
    """
    text = in_order(text)
    if width(text) <= most:
        return text
    tail = (most - 1) // 2
    return f"{_begin(text, most - 1 - tail)}…{_begin(text[::-1], tail)[::-1]}"


def number_of(count: int, one: str, many: str | None = None) -> str:
    """So many of something.

    >>> number_of(1, "row"), number_of(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def _begin(text: str, most: int) -> str:
    """As much of a text as has room."""
    room = 0
    for place, letter in enumerate(text):
        room += _width(letter)
        if room > most:
            return text[:place]
    return text


def _width(letter: str) -> int:
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in _WIDE else 1
