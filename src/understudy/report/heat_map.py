"""A square for each pair of columns: the larger and darker, the larger the number."""

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from understudy.report.svg import drawing, element
from understudy.report.words import shortened, width

_CELL, _SMALL_CELL, _MANY = 30.0, 15.0, 24
_LETTER = 7.0
_LONGEST = 20


def heat_map(
    names: Sequence[str], values: Mapping[tuple[str, str], float], most: float, about: str
) -> Markup:
    """Numbers between 0 and `most`; a pair may be told in either order."""
    cell = _CELL if len(names) <= _MANY else _SMALL_CELL
    cut = [shortened(name, _LONGEST) for name in names]
    room = _LETTER * max(map(width, cut), default=0) + 8
    drawn = []
    for row, (name, label) in enumerate(zip(names, cut, strict=True)):
        y = room + cell * row
        drawn.append(
            element("text", label, x=room - 6, y=y + cell / 2 + 4, text_anchor="end", class_="note")
        )
        x = room + cell * (row + 0.5)
        drawn.append(
            element(
                "text",
                label,
                x=0,
                y=0,
                class_="note",
                transform=f"translate({x + 4:.0f} {room - 6:.0f}) rotate(-90)",
            )
        )
        for column, other in enumerate(names):
            value = values.get((name, other), values.get((other, name)))
            left = room + cell * column
            drawn.append(element("rect", x=left, y=y, width=cell, height=cell, class_="axis cell"))
            if value is None:
                continue
            share = min(1.0, value / most) if most else 0.0
            side = (cell - 2) * (0.15 + 0.85 * share**0.5)
            inset = (cell - side) / 2
            what = name if name == other else f"{name} and {other}"
            drawn.append(
                element(
                    "rect",
                    element("title", f"{what}: {value:.3f}"),
                    x=left + inset,
                    y=y + inset,
                    width=side,
                    height=side,
                    class_="two" if name != other else "one",
                    fill_opacity=0.35 + 0.65 * share,
                )
            )
    size = room + cell * len(names) + 4
    return drawing(*drawn, width=size, height=size, about=about, class_="heat", fluid=False)
