"""Records that count less: what each score costs, and what is promised."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from markupsafe import Markup

from understudy.privacy.certificate import Certificate
from understudy.privacy.spelling import fraction
from understudy.privacy.unit import Record
from understudy.protection import CURVE, PROTECTION
from understudy.report.scale import Scale
from understudy.report.svg import drawing, element
from understudy.select.rarity import STEPS_PER_NAT

_LEFT, _TOP, _RIGHT, _BOTTOM = 48.0, 12.0, 520.0, 190.0
_BEYOND = 1.25
"""The picture goes so far beyond the last change."""


@dataclass(frozen=True)
class Level:
    """Records whose score lies in one range."""

    start: float
    """From this score on, in nats."""
    weight: float
    epsilon: float
    """What such a record loses at most, given the released counts."""


@dataclass(frozen=True)
class Guarantee:
    """A public condition, and what records that meet it lose at most, whatever answers came."""

    where: str
    epsilon: float


@dataclass(frozen=True)
class Protected:
    """Who counts less, and what that is worth."""

    levels: tuple[Level, ...]
    threshold: float
    guarantees: tuple[Guarantee, ...]
    rare: bool
    """Whether rare records are weighed, or conditions alone."""
    pairs: bool
    """Whether values were rare for their class."""
    alone: bool
    """Whether a record is all that somebody has; the curve says nothing of several."""

    @property
    def picture(self) -> Markup:
        """The curve from the score to ε."""
        end = max(self.levels[-1].start * _BEYOND, self.threshold * _BEYOND, 1.0)
        across = Scale(0.0, end, _LEFT, _RIGHT)
        down = Scale(0.0, max(level.epsilon for level in self.levels) * 1.1, _BOTTOM, _TOP)
        marks = [
            element("text", label, x=place, y=_BOTTOM + 16, text_anchor="middle", class_="note")
            for place, label in across.marks(6)
        ]
        for place, label in down.marks(4):
            marks.append(element("line", x1=_LEFT, x2=_RIGHT, y1=place, y2=place, class_="axis"))
            marks.append(
                element("text", label, x=_LEFT - 6, y=place + 4, text_anchor="end", class_="note")
            )
        path, ends = "", [*(level.start for level in self.levels[1:]), end]
        for level, stop in zip(self.levels, ends, strict=True):
            verb = "L" if path else "M"
            y = down.place(level.epsilon)
            path += f"{verb} {across.place(level.start):.1f} {y:.1f} "
            path += f"L {across.place(stop):.1f} {y:.1f} "
        return drawing(
            *marks,
            element("path", d=path, class_="line one"),
            element(
                "text",
                "score (higher is rarer)",
                x=_RIGHT,
                y=_BOTTOM + 32,
                text_anchor="end",
                class_="note",
            ),
            width=_RIGHT + 16,
            height=_BOTTOM + 40,
            about="What a record loses at most, by its score, given the released counts",
            fluid=False,
        )


def protected(certificate: Certificate) -> Protected | None:
    """What the certificate tells about protection; None where everybody counts alike."""
    public = certificate.public
    if CURVE not in public or certificate.not_private:
        return None
    curve, chosen = public[CURVE], public[PROTECTION]
    spent = fraction(curve["spent_before"])
    rest = Fraction(certificate.budget.rho) - spent
    levels = []
    for start, weight in zip(curve["from_score"], curve["weight"], strict=True):
        share = Fraction(weight, curve["of"])
        loss = certificate.epsilon_of(spent + share**2 * rest)
        levels.append(Level(start / STEPS_PER_NAT, float(share), min(loss, certificate.epsilon)))
    return Protected(
        tuple(_shown(levels, chosen)),
        curve["threshold"],
        tuple(Guarantee(cap.text, cap.budget.epsilon) for cap in certificate.caps),
        rare=chosen["risk"] is not None,
        pairs=chosen["risk"] is not None and chosen["risk"]["pairs"],
        alone=certificate.unit == str(Record()),
    )


def _shown(levels: list[Level], chosen: Mapping[str, Any]) -> list[Level]:
    """Levels of scores; that of the conditions lies beyond all scores, and is told apart."""
    return levels[:-1] if chosen["where"] and len(levels) > 1 else levels
