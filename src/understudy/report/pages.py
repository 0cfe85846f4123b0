"""Pages: one file each, without anything that is loaded from elsewhere."""

from decimal import ROUND_CEILING, Decimal
from functools import cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, PrefixLoader, StrictUndefined

from understudy.privacy.promise import at_most
from understudy.privacy.unit import unit_in_words
from understudy.report.words import in_order

_OURS = "understudy.report"
_BYTES = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))


@cache
def _environment(package: str) -> Environment:
    shared = PrefixLoader({"report": PackageLoader(_OURS)})
    environment = Environment(
        loader=ChoiceLoader([shared, PackageLoader(package)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Names that come with a table must not turn the words around them.
        finalize=lambda value: in_order(value) if isinstance(value, str) else value,
    )
    environment.filters |= {
        "at_most": at_most,
        "percent": percent,
        "percent_at_most": percent_at_most,
        "plain": plain,
        "sized": sized,
        "unit": unit_in_words,
    }
    return environment


def rendered(
    template: str,
    package: str = _OURS,
    **content: Any,  # noqa: ANN401 - whatever the template names
) -> str:
    """A page from a template of a package; all text in it is escaped.

    Templates may build on those of this one, such as report/base.html.
    """
    return _environment(package).get_template(template).render(**content)


def percent(share: float) -> str:
    """A share for the eye.

    >>> [percent(share) for share in (0.5, 0.034, 0.0004, 0.0, 1e-7, 0.996, 0.9996, 1.0)]
    ['50 %', '3.4 %', '0.04 %', '0 %', '< 0.01 %', '99.6 %', '> 99.9 %', '100 %']
    """
    if 0.99 < share < 1:  # noqa: PLR2004 - would round to all
        return f"{100 * share:.1f} %" if share < 0.9995 else "> 99.9 %"  # noqa: PLR2004 - as above
    for most, decimals in ((0.001, 2), (0.1, 1)):
        if 0 < share < most:
            shown = f"{100 * share:.{decimals}f} %"
            return shown if float(shown[:-2]) else "< 0.01 %"
    return f"{100 * share:.0f} %"


def percent_at_most(share: float) -> str:
    """A share that is a bound: never rounded down.

    >>> [percent_at_most(share) for share in (0.23197, 0.5, 0.00271, 0.9999)]
    ['23.2 %', '50 %', '0.28 %', '100 %']
    """
    digits = Decimal("0.01" if share < 0.01 else "0.1")  # noqa: PLR2004 - a small one needs more
    exact = 100 * Decimal(repr(share))
    return f"{float(exact.quantize(digits, rounding=ROUND_CEILING)):g} %"


def plain(value: float) -> str:
    """A number for the eye, with four digits that count.

    >>> [plain(value) for value in (1.0, 48819.3, 0.03214159, 1e-9, 123.456, 9999.7)]
    ['1', '48,819', '0.03214', '1e-09', '123.5', '10,000']
    """
    if abs(value) >= 9_999.5:  # noqa: PLR2004 - beyond four digits
        return f"{value:,.0f}"
    return f"{value:.4g}"


def sized(count: int) -> str:
    """So many bytes for the eye.

    >>> [sized(count) for count in (512, 2048, 414 * 2**20, 3 * 2**29)]
    ['512 bytes', '2 KiB', '414 MiB', '1.5 GiB']
    """
    for unit, name in _BYTES:
        if count >= unit:
            return f"{count / unit:.3g} {name}"
    return f"{count} bytes"
