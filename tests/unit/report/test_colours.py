"""Colours of pages can be told from what they lie on."""

import re
from pathlib import Path

import pytest

import understudy.report

BASE = Path(understudy.report.__file__).parent / "templates" / "base.html"
SCHEMES = [
    dict(re.findall(r"--([a-z-]+): (#[0-9a-f]+)", block))
    for block in re.findall(r":root \{(.*?)\}", BASE.read_text(), flags=re.DOTALL)
]


def light(colour):
    """Relative luminance, as WCAG 2 defines it."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[k : k + 2], 16) / 255 for k in (0, 2, 4)]
    linear = [
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one, other):
    high, low = sorted((light(one), light(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", SCHEMES, ids=["light", "dark", "print"])
def test_text_and_bars_stand_out(scheme):
    for ground in ("page", "card"):
        for text in ("ink", "soft", "one", "two", "three", "four", "five"):
            assert contrast(scheme[text], scheme[ground]) >= 4.5, (text, ground)
        assert contrast(scheme["rest"], scheme[ground]) >= 3
    # Numbers in a segment have the colour of the page.
    assert contrast(scheme["rest"], scheme["page"]) >= 4.5
    assert contrast(scheme["warn"], scheme["warn-page"]) >= 4.5
