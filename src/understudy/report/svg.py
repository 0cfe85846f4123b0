"""Pictures as inline SVG. Colours are classes, so that a page may be light, dark or printed."""

from markupsafe import Markup, escape

from understudy.report.words import in_order


def element(name: str, *inside: str | Markup, **attributes: str | float) -> Markup:
    """An element; text inside is escaped, `class_` is class, `text_anchor` is text-anchor.

    >>> print(element("text", "a < b", x=1.5, class_="note"))
    <text x="1.5" class="note">a &lt; b</text>
    """
    told = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(in_order(_short(value)))}"'
        for key, value in attributes.items()
    )
    content = "".join(escape(in_order(part)) for part in inside)
    return Markup(f"<{name}{told}>{content}</{name}>")  # noqa: S704 - escaped above


def drawing(
    *inside: Markup, width: float, height: float, about: str, class_: str = "", fluid: bool = True
) -> Markup:
    """A picture with a name for those who hear it; fluid ones shrink with the page."""
    size: dict[str, str | float] = {} if fluid else {"width": width, "height": height}
    return element(
        "svg",
        element("title", about),
        *inside,
        viewBox=f"0 0 {_short(width)} {_short(height)}",
        role="img",
        class_=class_ or "picture",
        **size,
    )


def _short(value: str | float) -> str:
    """Numbers with no more digits than a screen can show."""
    return value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")
