"""What a release takes as public: facts that were stated when the table was opened, and choices."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from understudy import demanded
from understudy.column import Column, Source
from understudy.encode.ops import NUMBER_STORAGE, Storage
from understudy.errors import listed
from understudy.mechanisms.labelling import INPUTS
from understudy.mechanisms.tailored import HOW_LABELS
from understudy.personal import BY_NAME, REGENERATE
from understudy.privacy.caps import CAPS, ToldCap
from understudy.privacy.certificate import Certificate
from understudy.privacy.facts import outline, undescribed
from understudy.privacy.individual import EACH
from understudy.privacy.promise import READING, replaces
from understudy.privacy.strays import STRAYS
from understudy.protection import CURVE, PROTECTION
from understudy.report.words import number_of, shortened
from understudy.schema import Schema
from understudy.schema_files import schema_from_toml
from understudy.twostage.rows_alone import LID

PARAMETERS = "parameters of the method"
_NO_CHOICES = {
    *("schema", "storage", READING, "unit", CURVE, CAPS, EACH, INPUTS, LID, STRAYS, BY_NAME),
}
_LONGEST = 200
"""Of a choice that is shown."""
_LONGEST_GRAPH = 20_000
"""Of the parameters, among which a whole graph may be."""


def stated(certificate: Certificate) -> Schema | None:
    """The facts that were stated when the table was opened, before any was found out."""
    text = certificate.public.get("schema")
    return None if text is None else schema_from_toml(text, folder=None)


def declared(certificate: Certificate) -> dict[str, str]:
    """By column, the facts that somebody vouches for; not what storage tells by itself."""
    schema = stated(certificate)
    if schema is None:
        return {}
    stored = certificate.public.get("storage", {})
    storage = {
        name: Storage.FLOAT if kind == NUMBER_STORAGE else Storage(kind)
        for name, kind in stored.items()
    }
    facts = {}
    for column in schema.coded:
        told = _by_storage(column, storage)
        words = [word for word in _facts(column) if word != told]
        if words and column.source is Source.DECLARED:
            facts[column.name] = ", ".join(words)
    return facts


def how_labels(certificate: Certificate) -> str:
    """Where the target's values come from, and by which columns; empty where nothing is told."""
    told = certificate.public.get(INPUTS)
    if not isinstance(told, Mapping) or told.get("by") not in tuple(HOW_LABELS):
        return ""
    columns = told.get("columns")
    names = listed(map(str, columns)) if isinstance(columns, list) and columns else "no column"
    return f"{HOW_LABELS[told['by']]}. They go by {names}."


def general(certificate: Certificate) -> Iterator[str]:
    """What is public about the table as a whole, besides the names of its columns."""
    yield from _how_read(certificate.public.get(READING))
    schema = stated(certificate)
    if schema is not None:
        left_out = [c.name for c in schema if not (c.coded or c.regenerated)]
        if left_out:
            yield f"Which columns were left out: {', '.join(left_out)}"
        invented = [column.name for column in schema if column.regenerated]
        if invented:
            yield f"Which columns hold invented values: {', '.join(invented)}"
        if schema.rows_bound is not None and schema.rows_source is Source.DECLARED:
            yield f"That the private table has at most {number_of(schema.rows_bound, 'row')}"
    if replaces(certificate.unit):
        yield "How many rows the private table has"


def _how_read(reading: object) -> Iterator[str]:
    """How a CSV file is read: what its header line and its owner say."""
    if isinstance(reading, Mapping) and reading.get("source") == "csv":
        mark = {"\t": "tabs", ",": "commas", ";": "semicolons"}.get(
            str(reading.get("delimiter")), "vertical bars"
        )
        records = "records of balanced quotes" if reading.get("multiline") else "one record a line"
        yield f"How the CSV file is written: {reading.get('encoding')}, {mark}, {records}"


def choices(certificate: Certificate) -> dict[str, str]:
    """What whoever made it has chosen, and how."""
    made = {
        name: value
        for name, value in sorted(certificate.public.items())
        if name not in _NO_CHOICES and value is not None
    }
    caps = certificate.caps
    told = {name: shortened(_told(name, value, caps), _LONGEST) for name, value in made.items()}
    facts = [f"{key} = {it}" for key, it in made.get("method", {}).get("parameters", {}).items()]
    return told | ({PARAMETERS: shortened(", ".join(facts), _LONGEST_GRAPH)} if facts else {})


def who_says(column: Column, opening: Schema | None) -> str:
    """Where the facts of a column come from, fact by fact."""
    before = next((one for one in opening or () if one.name == column.name), None)
    if Source.DATA in {column.source, None if before is None else before.source}:
        return "read off the rows"
    if column.source is Source.DECLARED:
        return "declared"
    if before is None or not (set(_facts(before)) - {str(before.kind)}):
        return "found out with noise"
    return f"declared but for {', '.join(before.silent)}, found out with noise"


def _by_storage(column: Column, storage: Mapping[str, Storage]) -> str | None:
    """The kind, where storage tells it."""
    if column.name not in storage:
        return None
    return str(outline(undescribed([column.name]), storage)[column.name].kind)


def _facts(column: Column) -> Iterator[str]:
    """What is stated about a column, a few words each."""
    if "kind" not in column.silent:
        yield str(column.kind)
    if column.categories is not None:
        yield number_of(len(column.categories), "value")
    if column.other is not None:
        yield f"{column.other!r} for all others"
    if column.bounds is not None:
        yield f"{column.bounds[0]} to {column.bounds[1]}"
    if column.bins is not None:
        yield number_of(column.bins, "bin")
    if column.edges is not None:
        yield number_of(len(column.edges) - 1, "bin")
    if column.atoms:
        yield f"often {', '.join(map(str, column.atoms))}"
    if column.null is not None:
        yield "may be missing" if column.null else "never missing"
    if column.format is not None:
        yield f"written as {column.format}"


def _told(name: str, value: Any, caps: Sequence[ToldCap]) -> str:  # noqa: ANN401 - plain data
    if name == "method":
        return str(value["name"])
    if name == PROTECTION:
        also = {cap.where: cap.text for cap in caps}
        conditions = [also.get(one, one) for one in value["where"]]
        who = [*(["rare records"] if value["risk"] else []), *conditions]
        cap = "" if value["epsilon"] is None else f", epsilon at most {value['epsilon']:g}"
        return f"{', '.join(who)}{cap}"
    if name == REGENERATE and value is True:
        value = "all identifiers and personal fields"
    if name == demanded.INDEPENDENCES:
        return "; ".join(map(str, demanded.read({name: value})))
    if name == "discovery":
        columns = number_of(len(value["columns"]), "column")
        return f"up to {value['share']:.0%} of the budget, for {columns}"
    if isinstance(value, list):
        return "; ".join(map(str, value))
    return str(value)
