"""Queries as certificates record them: typed, strict, and with all that a sensitivity follows from.

`query_record` reads one record. It refuses unknown kinds, missing fields and fields that do not
belong there. Records of format 1, written by version 0.1.0, lack some of the facts: those are None.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from understudy.privacy.individual import BY_STEP, SCORES
from understudy.privacy.limits import MOST_INTEGER
from understudy.privacy.model_maps import ModelCells, ModelMerit
from understudy.privacy.row_maps import (
    ClippedMoments,
    InducingFeatures,
    NormalScores,
    RowMap,
    ScoreCells,
)
from understudy.privacy.scores import CountTV, L1Distance, Score
from understudy.privacy.spelling import fraction
from understudy.privacy.train import Loss
from understudy.privacy.weights import UNIT

_LARGEST_DOUBLE = sys.float_info.max
_LARGEST_SEED = 2**1024
_FIXED_MAPS = tuple(
    kind.__name__ for kind in (InducingFeatures, ScoreCells, ModelCells, ModelMerit)
)


@dataclass(frozen=True)
class Weighting:
    """The weights of a query's rows, in 1/1024."""

    largest: int
    capped: Mapping[str, int]
    """By condition of a cap, the largest weight of a record that meets it."""
    by_step: tuple[int, ...] | None
    """Under an individual bound, the weight of each step of the score."""


@dataclass(frozen=True)
class L1Term:
    """Some `L1Distance` candidates, the largest of which has this scale."""

    count: int
    scale: float


@dataclass(frozen=True)
class TVTerm:
    """Some `CountTV` candidates, all with or all without given columns."""

    count: int
    conditional: bool


ScoreTerm: TypeAlias = L1Term | TVTerm


@dataclass(frozen=True)
class MomentsTerm:
    """`ClippedMoments`: by column, the smallest and the largest value in whole steps."""

    ranges: tuple[tuple[int, int], ...]
    classes: int


@dataclass(frozen=True)
class NormalScoresTerm:
    """`NormalScores` of so many columns."""

    columns: int


@dataclass(frozen=True)
class FixedTerm:
    """A row map whose sensitivity is the same for all of its kind."""

    kind: str


RowMapTerm: TypeAlias = MomentsTerm | NormalScoresTerm | FixedTerm


@dataclass(frozen=True)
class MarginalsRecord:
    """Marginals that are measured together."""

    marginals: int
    weighting: Weighting | None


@dataclass(frozen=True)
class MalformedRecord:
    """The number of malformed records of a CSV file."""


@dataclass(frozen=True)
class ValuesRecord:
    """Common values of some columns."""

    columns: int


@dataclass(frozen=True)
class ScoredRecord:
    """A selection, or noisy scores, of some candidates."""

    candidates: int
    released: bool
    """Whether the scores themselves are released, with noise; of a selection, only the winner."""
    kinds: frozenset[str]
    terms: tuple[ScoreTerm, ...] | None
    """None in format 1."""
    sensitivity: Fraction
    """The largest of all candidates, as stated."""
    weighting: Weighting | None


@dataclass(frozen=True)
class SumRecord:
    """A noisy sum of a row map; None where format 1 does not state the facts."""

    row_map: RowMapTerm | None
    weighting: Weighting | None


@dataclass(frozen=True)
class TrainingRecord:
    """A training run with noisy gradients."""

    steps: int
    rate: float | None
    """The sampling rate; None for all rows at each step."""
    rate_stated: bool
    """False in format 1."""
    weighting: Weighting | None


@dataclass(frozen=True)
class BestOfRecord:
    """The best of several training runs; of each setting its steps and its noise."""

    settings: tuple[tuple[int, float], ...]
    runs: float
    weighting: Weighting | None


@dataclass(frozen=True)
class RevealRecord:
    """Rows, or facts read off them, as they are."""


QueryRecord: TypeAlias = (
    MarginalsRecord
    | MalformedRecord
    | ValuesRecord
    | ScoredRecord
    | SumRecord
    | TrainingRecord
    | BestOfRecord
    | RevealRecord
)


def score_terms(candidates: Sequence[Score]) -> list[dict[str, Any]]:
    """Return what the largest sensitivity of some candidates follows from, as plain data."""
    scales = [one.scale for one in candidates if isinstance(one, L1Distance)]
    terms: list[dict[str, Any]] = []
    if scales:
        terms.append({"kind": L1Distance.__name__, "count": len(scales), "scale": max(scales)})
    for conditional in (False, True):
        count = sum(
            isinstance(one, CountTV) and bool(one.given) == conditional for one in candidates
        )
        if count:
            terms.append({"kind": CountTV.__name__, "count": count, "conditional": conditional})
    return terms


def row_map_facts(row_map: RowMap) -> dict[str, Any]:
    """Return a row map's kind, and what its sensitivity follows from, as plain data."""
    facts: dict[str, Any] = {"row_map": type(row_map).__name__, "columns": list(row_map.columns)}
    if isinstance(row_map, ClippedMoments):
        ranges = {name: list(ends) for name, ends in row_map.ranges.items()}
        return {**facts, "ranges": ranges, "classes": row_map.classes}
    return facts


def query_record(request: Mapping[str, Any], version: int) -> QueryRecord:
    """Read the record of one query from a certificate of format `version` (1 or 2)."""
    reader = _READERS[request["door"]]
    return reader(request, version)


def _marginals(request: Mapping[str, Any], _: int) -> MarginalsRecord:
    _check_fields(request, {"cliques"}, {"weights", "merged", "strays"})
    _check_merged(request)
    _check(request.get("strays", True) is True, "a flag that is none")
    return MarginalsRecord(len(_cliques(request["cliques"])), _weighting(request))


def _malformed_records(request: Mapping[str, Any], _: int) -> MalformedRecord:
    _check_fields(request, set())
    return MalformedRecord()


def _values(request: Mapping[str, Any], _: int) -> ValuesRecord:
    _check_fields(request, {"columns"})
    columns = _object(request["columns"])
    for codes in columns.values():
        if codes is not None:
            for code in _list(codes):
                _integer(code)
    return ValuesRecord(_at_least_one(len(columns)))


def _selection(request: Mapping[str, Any], version: int) -> ScoredRecord:
    _check_fields(request, {"candidates", "scores", "sensitivity"}, {"weights", "merged"})
    candidates = _integer(request["candidates"], least=1)
    return _scored(request, candidates, version, released=False)


def _scores(request: Mapping[str, Any], version: int) -> ScoredRecord:
    _check_fields(request, {"cliques", "scores", "sensitivity"}, {"weights", "merged"})
    return _scored(request, len(_cliques(request["cliques"])), version, released=True)


def _scored(
    request: Mapping[str, Any], candidates: int, version: int, *, released: bool
) -> ScoredRecord:
    _check_merged(request)
    terms, kinds = None, [*_list(request["scores"])]
    if version > 1:
        terms = tuple(map(_term, kinds))
        kinds = [one["kind"] for one in kinds]
        _check(sum(term.count for term in terms) == candidates, "scores are not its candidates")
    known = {L1Distance.__name__, CountTV.__name__}
    _check(bool(kinds) and {_text(kind) for kind in kinds} <= known, "unknown kind of score")
    return ScoredRecord(
        candidates,
        released,
        frozenset(kinds),
        terms,
        fraction(request["sensitivity"]),
        _weighting(request),
    )


def _term(term: object) -> ScoreTerm:
    facts = _object(term)
    match facts["kind"]:
        case L1Distance.__name__:
            _check(facts.keys() == {"kind", "count", "scale"}, "facts of a score")
            return L1Term(_integer(facts["count"], least=1), _double(facts["scale"], least=0.0))
        case CountTV.__name__:
            _check(facts.keys() == {"kind", "count", "conditional"}, "facts of a score")
            _check(type(facts["conditional"]) is bool, "a flag that is none")
            return TVTerm(_integer(facts["count"], least=1), facts["conditional"])
        case _:
            raise _malformed("unknown kind of score")


def _sum(request: Mapping[str, Any], version: int) -> SumRecord:
    kind, columns = request["row_map"], _names(request["columns"])
    moments = kind == ClippedMoments.__name__ and version > 1
    facts = {"ranges", "classes"} if moments else set()
    _check_fields(request, {"row_map", "columns"} | facts, {"weights"})
    _check(bool(columns) and len({*columns}) == len(columns), "columns of a row map")
    return SumRecord(_row_map(request, kind, columns, version), _weighting(request))


def _row_map(
    request: Mapping[str, Any], kind: object, columns: list[str], version: int
) -> RowMapTerm | None:
    if kind == ClippedMoments.__name__:
        return None if version == 1 else _moments(request, columns)
    if kind == NormalScores.__name__:
        _check(len(columns) > 1, "normal scores of a single column")
        return NormalScoresTerm(len(columns))
    if kind in _FIXED_MAPS:
        return FixedTerm(_text(kind))
    raise _malformed("unknown row map")


def _moments(request: Mapping[str, Any], columns: list[str]) -> MomentsTerm:
    """The columns are those with ranges, and after them the column that tells classes, if any."""
    most, ranges = 2**ClippedMoments.BITS, _object(request["ranges"])
    ends = []
    for one in ranges.values():
        low, high = (_integer(end, least=-most, most=most) for end in _list(one))
        _check(low <= high, "a range that ends before it begins")
        ends.append((low, high))
    classes = _integer(request["classes"], least=1)
    by_class = {*columns} - ranges.keys()
    _check(
        bool(ends) and ranges.keys() <= {*columns} and len(by_class) <= 1, "ranges of its columns"
    )
    _check(bool(by_class) or classes == 1, "classes without a column that tells them")
    return MomentsTerm(tuple(ends), classes)


def _training(request: Mapping[str, Any], version: int) -> TrainingRecord:
    stated = {"rate"} if version > 1 else set()
    named = {"inputs", "target", "loss", "hidden", "steps", "clip"}
    _check_fields(request, named | stated, {"begun", "weights"})
    _check_model(request)
    rate = request.get("rate")
    return TrainingRecord(
        _integer(request["steps"], least=1),
        None if rate is None else _double(rate, least=0.0),
        version > 1,
        _weighting(request),
    )


def _best_of(request: Mapping[str, Any], _: int) -> BestOfRecord:
    _check_fields(request, {"candidates", "runs", "target", "loss", "settings"}, {"weights"})
    settings, shared = [], {name: request[name] for name in ("target", "loss")}
    named = {"inputs", "hidden", "steps", "clip", "learning_rate", "momentum", "start", "noise"}
    for one in _list(request["settings"]):
        setting = _object(one)
        _check(named <= setting.keys() <= named | {"begun"}, "settings of a training run")
        _check_model({**setting, **shared})
        _double(setting["learning_rate"])
        _double(setting["momentum"])
        _integer(setting["start"], most=_LARGEST_SEED)
        noise = _double(setting["noise"], least=0.0)
        settings.append((_integer(setting["steps"], least=1), noise))
    _check(len(settings) == _integer(request["candidates"], least=1), "settings of its candidates")
    return BestOfRecord(tuple(settings), _double(request["runs"], least=1.0), _weighting(request))


def _reveal(request: Mapping[str, Any], _: int) -> RevealRecord:
    _check_fields(request, set())
    return RevealRecord()


_READERS: Mapping[str, Callable[[Mapping[str, Any], int], QueryRecord]] = {
    "measure": _marginals,
    "malformed": _malformed_records,
    "values": _values,
    "select": _selection,
    "scores": _scores,
    "sum": _sum,
    "train": _training,
    "select_best": _best_of,
    "reveal": _reveal,
    "schema": _reveal,
}


def _weighting(request: Mapping[str, Any]) -> Weighting | None:
    if "weights" not in request:
        return None
    weights = _object(request["weights"])
    _check(
        {"most", "of"} <= weights.keys() <= {"most", "of", "capped", BY_STEP, SCORES},
        "facts of weights",
    )
    _check(_integer(weights["of"]) == UNIT, "weights count in another unit")
    largest = _integer(weights["most"], most=UNIT)
    capped = _object(weights.get("capped", {}))
    for weight in capped.values():
        _integer(weight, most=largest)
    by_step = None
    if BY_STEP in weights or SCORES in weights:
        by_step = tuple(_integer(one, most=largest) for one in _list(weights[BY_STEP]))
        _check(max(by_step, default=-1) == largest, "the largest weight is not among them")
        _text(weights[SCORES])
    return Weighting(largest, capped, by_step)


def _check_fields(
    request: Mapping[str, Any], required: set[str], optional: set[str] | None = None
) -> None:
    required = required | {"door"}
    _check(required <= request.keys() <= required | (optional or set()), "fields of a request")


def _check_merged(request: Mapping[str, Any]) -> None:
    for groups in _object(request.get("merged", {})).values():
        _integer(groups, least=1)


def _check_model(facts: Mapping[str, Any]) -> None:
    _check(bool(_names(facts["inputs"])), "a model without inputs")
    Loss(_text(facts["loss"]))
    _text(facts["target"])
    _integer(facts["hidden"])
    _check(_double(facts["clip"]) > 0, "a clipping norm")
    _check(facts.get("begun", True) is True, "a flag that is none")


def _cliques(value: object) -> list[list[str]]:
    cliques = [_names(clique) for clique in _list(value)]
    _at_least_one(len(cliques))
    return cliques


def _names(value: object) -> list[str]:
    return [_text(name) for name in _list(value)]


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise _malformed("a list is missing")
    return value


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _malformed("an object is missing")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise _malformed("text is missing")
    return value


def _integer(value: object, *, least: int = 0, most: int = MOST_INTEGER) -> int:
    if type(value) is not int or not least <= value <= most:
        raise _malformed("a whole number is missing, or out of range")
    return value


def _double(value: Any, *, least: float = -_LARGEST_DOUBLE) -> float:  # noqa: ANN401 - plain data
    # Written so that NaN is refused as well.
    if type(value) not in {int, float} or not least <= value <= _LARGEST_DOUBLE:
        raise _malformed("a number is missing, or out of range")
    return float(value)


def _at_least_one(count: int) -> int:
    _check(count > 0, "nothing was asked for")
    return count


def _check(condition: bool, what: str) -> None:  # noqa: FBT001 - reads like an assertion
    if not condition:
        raise _malformed(what)


def _malformed(what: str) -> ValueError:
    return ValueError(what)
