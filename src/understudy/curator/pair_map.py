"""A square for each pair of columns: the larger and darker, the larger the number.

Half of a table, for a pair has no order; the numbers themselves are in a scale beside it.
"""

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from understudy.report.svg import drawing, element
from understudy.report.words import shortened

_CELL, _SMALL_CELL, _MANY = 30.0, 15.0, 24
_LETTER = 7.0
_LONGEST = 20
_SCALE = (0.0, 0.25, 0.5, 1.0)
_SCALE_ROOM = 52.0
_STEP = 92.0


def pair_map(
    names: Sequence[str], values: Mapping[tuple[str, str], float], most: float, about: str
) -> Markup:
    """Numbers between 0 and `most`; a pair may be told in either order."""
    cell = _CELL if len(names) <= _MANY else _SMALL_CELL
    labels = [shortened(name, _LONGEST) for name in names]
    room = _LETTER * max(map(len, labels)) + 8
    drawn = _scale(most)
    for row, (name, label) in enumerate(zip(names, labels, strict=True)):
        y = _SCALE_ROOM + cell * row
        drawn.append(
            element("text", label, x=room - 6, y=y + cell / 2 + 4, text_anchor="end", class_="note")
        )
        bottom = _SCALE_ROOM + cell * len(names) + 6
        left = room + cell * row
        turned = f"translate({left + cell / 2 + 4:.0f} {bottom:.0f}) rotate(-90)"
        drawn.append(element("text", label, class_="note", text_anchor="end", transform=turned))
        across = room + cell * (row + 1)
        drawn.append(element("path", d=f"M {room:.0f} {y:.0f} H {across:.0f}", class_="axis"))
        for column, other in enumerate(names[: row + 1]):
            value = values.get((name, other), values.get((other, name)))
            if value is None:
                continue
            what = label if row == column else f"{label} and {labels[column]}"
            drawn.append(
                _square(
                    (room + cell * column, y),
                    cell,
                    value / most if most else 0.0,
                    f"{what}: {value:.3f}",
                    hue="one" if row == column else "two",
                )
            )
    width = max(room + cell * len(names) + 4, _STEP * len(_SCALE))
    height = _SCALE_ROOM + cell * len(names) + room
    return drawing(*drawn, width=width, height=height, about=about, class_="heat", fluid=False)


def _scale(most: float) -> list[Markup]:
    """What squares stand for."""
    drawn = [element("text", "distance ↓", x=0, y=12, class_="note")]
    for place, part in enumerate(_SCALE):
        x = _STEP * place
        drawn.append(_square((x, 18), _CELL, part, "", hue="two"))
        drawn.append(element("text", f"{part * most:.2g}", x=x + _CELL + 4, y=37, class_="note"))
    return drawn


def _square(at: tuple[float, float], cell: float, share: float, title: str, *, hue: str) -> Markup:
    share = min(1.0, share)
    side = (cell - 2) * (0.15 + 0.85 * share**0.5)
    inset = (cell - side) / 2
    return element(
        "rect",
        *([element("title", title)] if title else []),
        x=at[0] + inset,
        y=at[1] + inset,
        width=side,
        height=side,
        class_=hue,
        fill_opacity=0.35 + 0.65 * share,
    )
