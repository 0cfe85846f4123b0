"""Figures of a plan for the eye."""

from collections.abc import Sequence

from understudy.report.pages import plain


def short(value: float) -> str:
    """Three digits are enough for noise; whole numbers stay whole.

    >>> short(80.7123), short(1344)
    ('80.7', '1,344')
    """
    return plain(float(f"{value:.3g}")) if isinstance(value, float) else f"{value:,}"


def spread(numbers: Sequence[float]) -> str:
    """The least and the greatest, where they look different.

    >>> spread([2, 21]), spread([9.14])
    ('2 to 21', '9.14')
    """
    least, greatest = short(min(numbers)), short(max(numbers))
    return least if least == greatest else f"{least} to {greatest}"
