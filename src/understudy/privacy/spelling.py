"""The one spelling of plain data, and its hash: so that every change of a byte is a change."""

import hashlib
import json
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from understudy.errors import BadInput
from understudy.privacy.limits import MOST_TEXT, TooLarge

DEFECTS = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    BadInput,
)
"""What reading plain data that somebody else wrote may raise."""


def spelled(content: Mapping[str, Any]) -> bytes:
    """Plain data as JSON: names sorted, no blanks, nothing but ASCII.

    >>> spelled({"b": [1.5, True], "a": None})
    b'{"a":null,"b":[1.5,true]}'
    """
    return json.dumps(
        content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    ).encode()


def spelled_for_people(content: Mapping[str, Any]) -> bytes:
    """The same on indented lines, in the order given; as fixed, and easier to read."""
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def fraction(text: object) -> Fraction:
    """A fraction as `str` writes it; nothing else, for other spellings can be endless.

    >>> fraction("3/8")
    Fraction(3, 8)
    """
    if not isinstance(text, str):
        raise TypeError
    if len(text) > MOST_TEXT:
        msg = f"an exact number of {len(text):,} characters, and at most {MOST_TEXT:,} are verified"
        raise TooLarge(msg)
    numerator, _, denominator = text.partition("/")
    exact = Fraction(int(numerator), int(denominator or "1"))
    if str(exact) != text:
        raise ValueError(text)
    return exact


def digest(content: bytes) -> str:
    """The SHA-256 of some bytes."""
    return hashlib.sha256(content).hexdigest()


def file_digest(path: Path) -> str:
    """The SHA-256 of a file, which need not fit in memory."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
