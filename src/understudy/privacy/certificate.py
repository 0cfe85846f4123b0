"""What was promised, spent and declared public; and whether that still adds up.

A certificate is plain data. Whoever holds a release can compute its total again from the events,
and the hashes from the files. Hashes alone show accidents: who edits a folder can hash it again.
A signature with a key that the curator holds shows who vouches for it.
"""

import html
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, TypeVar

from understudy.privacy.account import Entry
from understudy.privacy.accountant import cost, delta, total_cost, total_delta, total_epsilon
from understudy.privacy.budget import Budget, epsilon_of_divergence, epsilon_of_rho
from understudy.privacy.caps import ToldCap, told_caps
from understudy.privacy.events import (
    BestOf,
    Event,
    Reveal,
    SampledGaussian,
    event_from_json,
    event_to_json,
)
from understudy.privacy.facts import spelled_bound
from understudy.privacy.individual import ToldBound, told_bound
from understudy.privacy.promise import (
    ANY_VALUES,
    READING,
    WEAK,
    at_most,
    promise,
    weak_line,
    weaknesses,
)
from understudy.privacy.spelling import digest, spelled
from understudy.privacy.unit import parse_unit, unit_in_words, unit_to_json

FORMATS = {"understudy certificate 1": 1, "understudy certificate 2": 2}
"""Format 1, of version 0.1.0, lacks facts that sensitivities follow from, and the unit as data."""
NOT_PRIVATE = "NOT PRIVATE"
SCHEMA = "schema"
"""What the public inputs call the schema."""
_NO_LIMIT = "infinity"


@dataclass(frozen=True)
class Certificate:
    """The promise of a release, and everything it rests on."""

    budget: Budget
    unit: str
    entries: tuple[Entry, ...]
    public: Mapping[str, Any]
    """By name, what counts as public: declared facts and choices."""
    random_source: str
    private_noise: bool
    planned: tuple[Event, ...] | None = None
    """All requests, where they were fixed before the first answer."""
    bought: tuple[str, ...] = ()
    """Facts about the table that were paid for rather than declared."""
    trusted: tuple[str, ...] = ()
    """Code of others that the promise relies on."""
    versions: Mapping[str, str] = field(default_factory=dict)
    ledger_head: str | None = None
    """The last line's hash in the table's ledger file."""
    files: Mapping[str, str] = field(default_factory=dict)
    """By name, the hash of each file of the release."""
    format_version: int = 2
    """The format that the certificate is written in."""

    @property
    def not_private(self) -> tuple[str, ...]:
        """Why there is no promise; empty where there is one."""
        seeded = () if self.private_noise else ("the noise came from a seeded source for tests",)
        reveals = (e.event.reason for e in self.entries if isinstance(e.event, Reveal))
        return (*seeded, *reveals)

    @property
    def spent(self) -> Fraction | float:
        """What the entries cost, in the budget's currency."""
        return total_cost((entry.event for entry in self.entries), self.budget.order)

    @property
    def spent_delta(self) -> Fraction:
        """What values told by a threshold used up of δ."""
        return total_delta(entry.event for entry in self.entries)

    @property
    def caps(self) -> tuple[ToldCap, ...]:
        """Public conditions under which a record loses less than others may."""
        return told_caps(self.public)

    @property
    def each(self) -> ToldBound | None:
        """What no record lost more than by itself; None where nobody was left out for it."""
        return told_bound(self.public)

    @property
    def epsilon(self) -> float:
        """The promised ε: the budget that capped adaptive requests, or the total of fixed ones.

        Of fixed ones all count, asked or not: where to stop may depend on the answers.
        """
        if self.not_private:
            return math.inf
        if self.planned is not None:
            return min(total_epsilon(self.planned, self.delta), self.budget.epsilon)
        return self.budget.epsilon

    @property
    def delta(self) -> float:
        """The promised δ."""
        return self.budget.delta

    def epsilon_of(self, cost: Fraction | float) -> float:
        """What a cost in the budget's currency is worth; not every event holds at all orders."""
        if any(isinstance(entry.event, SampledGaussian | BestOf) for entry in self.entries):
            order = self.budget.order
            return epsilon_of_divergence(order * float(cost), order, self.budget.converting)
        return epsilon_of_rho(cost, self.budget.converting)

    @property
    def promise(self) -> list[str]:
        """The promise in plain words, a sentence each."""
        caps = [(cap.text, cap.budget.epsilon, cap.budget.delta) for cap in self.caps]
        if self.each is not None:
            caps.append((ANY_VALUES, self.each.budget.epsilon, self.each.budget.delta))
        reading, bound = self.public.get(READING, {}), self._rows_bound
        return promise(self.epsilon, self.delta, self.unit, self.not_private, caps, reading, bound)

    @property
    def weak(self) -> tuple[str, ...]:
        """Why the guarantee is weak, by its numbers alone; empty where it is not, or is none."""
        if self.not_private:
            return ()
        return weaknesses(self.epsilon, self.delta, self._rows_bound)

    @property
    def warning(self) -> str:
        """Return the first line of pages about a weak guarantee; empty for others."""
        return weak_line(self.weak) if self.weak else ""

    @property
    def _rows_bound(self) -> int | None:
        return spelled_bound(self.public.get(SCHEMA))

    def _repr_html_(self) -> str:
        warning, *others = self.promise if self.weak else ("", *self.promise)
        first = f"<p><strong>{html.escape(warning)}</strong></p>" if warning else ""
        lines = "".join(f"<li>{html.escape(line)}</li>" for line in others)
        paid = f"{len(self.entries)} requests through the ledger"
        bought = "".join(f"<li>{html.escape(line)}</li>" for line in self.bought)
        facts = f"<p>Found out with noise:</p><ul>{bought}</ul>" if bought else ""
        return f"<div>{first}<strong>Certificate</strong>: {paid}<ul>{lines}</ul>{facts}</div>"

    def __str__(self) -> str:
        if self.not_private:
            return f"{NOT_PRIVATE}: {'; '.join(self.not_private)}"
        bounds = f"epsilon {at_most(self.epsilon, 4)} at delta {at_most(self.delta, 4)}"
        weak = f"{WEAK} ({'; '.join(self.weak)}): " if self.weak else ""
        return f"{weak}{bounds}, for {unit_in_words(self.unit)}"

    def with_files(self, hashes: Mapping[str, str]) -> "Certificate":
        """The certificate of a release that consists of files with these hashes."""
        return replace(self, files={name: hashes[name] for name in sorted(hashes)})

    def to_json(self) -> dict[str, Any]:
        """The certificate as plain data, with its own hash last."""
        content = {
            "format": next(
                name for name, number in FORMATS.items() if number == self.format_version
            ),
            "promise": {
                "status": NOT_PRIVATE if self.not_private else "differentially private",
                "epsilon": _number(self.epsilon),
                "delta": self.delta,
                "unit": self.unit,
                "because": list(self.not_private),
                # Format 1 has no such field; its pages compute the warning all the same.
                **({"weak": list(self.weak)} if self.weak and self.format_version > 1 else {}),
            },
            **({} if self.format_version == 1 else {"unit": unit_to_json(parse_unit(self.unit))}),
            "budget": {
                "epsilon": self.budget.epsilon,
                "delta": self.budget.delta,
                "order": self.budget.order,
                "rho": str(self.budget.rho),
                "thresholds": self.budget.thresholds,
            },
            "spent": {"rho": _number(self.spent), "delta": str(self.spent_delta)},
            "planned": None
            if self.planned is None
            else [event_to_json(event) for event in self.planned],
            "events": [
                {
                    "request": dict(entry.request),
                    "event": event_to_json(entry.event),
                    "cost": _number(cost(entry.event, self.budget.order)),
                    "delta": str(delta(entry.event)),
                }
                for entry in self.entries
            ],
            "public": {
                name: {"sha256": digest(spelled({"value": value})), "value": value}
                for name, value in self.public.items()
            },
            "bought": list(self.bought),
            "random_source": self.random_source,
            "private_noise": self.private_noise,
            "trusted": list(self.trusted),
            "versions": dict(self.versions),
            "ledger_head": self.ledger_head,
            "files": dict(self.files),
        }
        return {**content, "sha256": digest(spelled(content))}


def certificate_from_json(content: Mapping[str, Any]) -> Certificate:
    """The certificate that `Certificate.to_json` wrote; what it computes is computed again.

    Raises one of `DEFECTS` where a part has another type than it must have.
    """
    budget, planned = content["budget"], content["planned"]
    public = {name: item["value"] for name, item in content["public"].items()}
    _typed(public.get(READING, {}), dict)  # the promise is told by it
    return Certificate(
        budget=Budget(budget["epsilon"], budget["delta"], budget["order"], budget["thresholds"]),
        unit=_typed(content["promise"]["unit"], str),
        entries=tuple(
            Entry(_typed(item["request"], dict), event_from_json(item["event"]))
            for item in _typed(content["events"], list)
        ),
        public=public,
        random_source=_typed(content["random_source"], str),
        private_noise=_typed(content["private_noise"], bool),
        planned=None if planned is None else tuple(map(event_from_json, _typed(planned, list))),
        bought=tuple(_texts(content["bought"])),
        trusted=tuple(_texts(content["trusted"])),
        versions=_by_name(content["versions"]),
        ledger_head=_head(content["ledger_head"]),
        files=_by_name(content["files"]),
        format_version=FORMATS[content["format"]],
    )


_Part = TypeVar("_Part")


def _typed(value: object, kind: type[_Part]) -> _Part:
    if not isinstance(value, kind):
        raise TypeError(kind)
    return value


def _texts(value: object) -> list[str]:
    return [_typed(text, str) for text in _typed(value, list)]


def _by_name(value: object) -> dict[str, str]:
    return {name: _typed(text, str) for name, text in _typed(value, dict).items()}


def _head(value: object) -> str | None:
    return None if value is None else _typed(value, str)


def _number(value: Fraction | float) -> float | str:
    """Exact fractions as text, and infinity, which JSON lacks, too."""
    if isinstance(value, Fraction):
        return str(value)
    return value if math.isfinite(value) else _NO_LIMIT
