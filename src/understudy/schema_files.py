"""Schemas in files: our TOML in and out, and the formats of neighbours.

`read_schema` takes our TOML, an mbi `domain.json` or SDV metadata JSON. In TOML each column
is a table; what is left out is left open:

    [rows]
    bound = 100000

    [columns.age]
    kind = "integer"
    bounds = [0, 120]
    null = false

    [columns.diagnosis]
    kind = "categorical"
    categories_file = "icd10.txt"      # one code per line, next to the schema
"""

import json
import re
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import fields, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from understudy.column import MOST_BINS, WHITESPACE, Column, Kind, Role, Source
from understudy.errors import BadInput, SchemaError, listed
from understudy.schema import Schema

_FACTS = tuple(field.name for field in fields(Column) if field.name != "name")
_Choice = TypeVar("_Choice", bound=StrEnum)
_LONGEST = 2**26
"""Bytes in a file, such as a list of codes."""
_MOST_PARTS = 16
_SDV_ROLES = {
    "email": Role.EMAIL,
    "phone_number": Role.PHONE,
    **dict.fromkeys(("name", "first_name", "last_name"), Role.NAME),
    **dict.fromkeys(("address", "street_address"), Role.ADDRESS),
    **dict.fromkeys(("url", "uri"), Role.URL),
    **dict.fromkeys(("ssn", "uuid4", "iban", "passport_number", "user_name"), Role.ID),
    "text": Role.FREE_TEXT,
}
# A string that is never closed goes on to the end, so that no place is looked at twice.
_STRING_OR_COMMENT = re.compile(
    r'"""(?:[^\\]|\\.)*?(?:"{3,5}|\\?\Z)|"(?:[^"\\\n]|\\[^\n])*"?'
    r"|'''.*?(?:'{3,5}|\Z)|'[^'\n]*'?|#[^\n]*",
    re.DOTALL,
)
_KEY = re.compile(r"[\w-]+(?:[ \t]*\.[ \t]*[\w-]+)*")


def read_schema(path: str | Path) -> Schema:
    """The schema in a file: our TOML, an mbi domain.json, or SDV metadata JSON."""
    path = Path(path)
    text = _read_text(path)
    if path.suffix.lower() == ".json":
        try:
            content = json.loads(text)
        except ValueError as error:  # also numbers that are too long to be read
            msg = f"{path} is not valid JSON: {error}."
            raise SchemaError(msg) from None
        except RecursionError:
            msg = f"{path} is nested too deeply for a schema."
            raise SchemaError(msg) from None
        return schema_from_json(content)
    return schema_from_toml(text, folder=path.parent)


def write_schema(schema: Schema, path: str | Path) -> None:
    """Write a schema as TOML, to be read, reviewed and edited by a person.

    A code list that does not lie beside the new file is written into it.
    """
    path = Path(path)
    columns = tuple(
        column if _lists_the_same(column, path.parent) else replace(column, categories_file=None)
        for column in schema
    )
    try:
        path.write_text(schema_to_toml(replace(schema, columns=columns)), encoding="utf-8")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", error)
        msg = f"{path} cannot be written: {why}. Choose a folder that exists and is yours."
        raise BadInput(msg) from None


def _lists_the_same(column: Column, folder: Path) -> bool:
    """Whether the column's code list, looked up from this folder, holds its categories."""
    if column.categories_file is None:
        return True
    try:
        path = _beside(folder, column.categories_file, column.name)
        return _code_list(path) == column.categories
    except SchemaError:
        return False


def schema_from_toml(text: str, *, folder: Path | None = Path()) -> Schema:
    """The schema in a TOML text; code list files are looked up in `folder`, or refused."""
    if _has_long_key(text):
        msg = f"The schema has a key of more than {_MOST_PARTS} parts between dots; quote the name."
        raise SchemaError(msg)
    try:
        content = tomllib.loads(text)
    except ValueError as error:  # also numbers that are too long to be read
        msg = f"The schema is not valid TOML: {error}."
        raise SchemaError(msg) from None
    except RecursionError:
        msg = "The schema is nested too deeply."
        raise SchemaError(msg) from None
    _check_keys(content, ("rows", "columns"), "The schema")
    rows = _table(content.get("rows", {}), "[rows]")
    _check_keys(rows, ("bound", "source"), "[rows]")
    columns = _table(content.get("columns", {}), "[columns]")
    return Schema(
        tuple(_column(name, _table(facts, name), folder) for name, facts in columns.items()),
        rows_bound=_expect(rows.get("bound"), int, "[rows]", "bound"),
        rows_source=_choice(Source, rows.get("source", Source.DECLARED), "[rows]", "source"),
    )


def _has_long_key(text: str) -> bool:
    """Whether a key has many parts: the time that `tomllib` takes grows with their square."""
    bare = _STRING_OR_COMMENT.sub(lambda found: "" if found[0][0] == "#" else "s", text)
    return any(key.count(".") > _MOST_PARTS for key in _KEY.findall(bare))


def schema_to_toml(schema: Schema) -> str:
    """The schema as TOML; `schema_from_toml` reads the same schema back."""
    import tomli_w  # noqa: PLC0415 - only writers need it

    content: dict[str, Any] = {}
    if schema.rows_bound is not None:
        content["rows"] = {"bound": schema.rows_bound, "source": str(schema.rows_source)}
    content["columns"] = {column.name: _facts(column) for column in schema}
    return tomli_w.dumps(content)


def schema_from_json(content: object) -> Schema:
    """The schema in an mbi domain (name → size) or in SDV metadata."""
    if isinstance(content, dict) and ("columns" in content or "tables" in content):
        return _from_sdv(content)
    if isinstance(content, dict) and content and all(type(k) is int for k in content.values()):
        return _from_mbi(content)
    msg = (
        "The JSON is neither an mbi domain (column name → number of codes) nor SDV metadata "
        "(with 'columns'). Write the schema as TOML instead."
    )
    raise SchemaError(msg)


def _from_mbi(sizes: Mapping[str, int]) -> Schema:
    """Each column holds codes 0 … size - 1 and is never missing."""
    odd = [name for name, size in sizes.items() if not 1 <= size <= MOST_BINS]
    if odd:
        msg = (
            f"A column may have 1 to {MOST_BINS:,} codes; the domain has others for: {listed(odd)}."
        )
        raise SchemaError(msg)
    return Schema(
        tuple(
            Column(name=name, kind=Kind.INTEGER, bounds=(0, size - 1), bins=size, null=False)
            for name, size in sizes.items()
        )
    )


def _from_sdv(content: Mapping[str, Any]) -> Schema:
    """SDV knows kinds and roles; categories, bounds and nulls stay open."""
    tables = content.get("tables")
    if tables is not None:
        if not isinstance(tables, dict) or len(tables) != 1:
            msg = "The SDV metadata describes several tables; give the metadata of one table."
            raise SchemaError(msg)
        content = _table(next(iter(tables.values())), "tables")
    columns = _table(content.get("columns", {}), "columns")
    key = content.get("primary_key")
    return Schema(
        tuple(_sdv_column(name, _table(facts, name), key) for name, facts in columns.items())
    )


def _sdv_column(name: str, facts: Mapping[str, Any], key: object) -> Column:
    sdtype = str(facts.get("sdtype"))
    if name == key or sdtype == "id":
        return Column(name=name, kind=Kind.CATEGORICAL, role=Role.ID)
    if sdtype == "numerical":
        representation = str(facts.get("computer_representation", "Float"))
        kind = Kind.INTEGER if "int" in representation.lower() else Kind.REAL
        return Column(name=name, kind=kind)
    if sdtype == "datetime":
        pattern = _expect(facts.get("datetime_format"), str, f"Column {name!r}", "datetime_format")
        kind = Kind.DATETIME if pattern is None or "%H" in pattern else Kind.DATE
        iso = pattern in {None, "%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S"}
        return Column(name=name, kind=kind, format=None if iso else pattern)
    if sdtype in {"categorical", "boolean"}:
        return Column(name=name, kind=Kind(sdtype))
    # No other sort of values is modelled: SDV invents them, too.
    role = _SDV_ROLES.get(sdtype, Role.DROP)
    return Column(name=name, kind=Kind.CATEGORICAL, role=role)


def _column(name: str, facts: Mapping[str, Any], folder: Path | None) -> Column:
    where = f"Column {name!r}"
    _check_keys(facts, _FACTS, where)
    given: dict[str, Any] = dict(facts)
    given["role"] = _choice(Role, given.get("role", Role.FEATURE), where, "role")
    given["source"] = _choice(Source, given.get("source", Source.DECLARED), where, "source")
    if "kind" not in given:
        given["kind"] = Kind.UNKNOWN if given["role"].coded else Kind.CATEGORICAL
    given["kind"] = _choice(Kind, given["kind"], where, "kind")
    _expect(given.get("categories_file"), str, where, "categories_file")
    if "categories_file" in given:
        if "categories" in given:
            msg = f"{where}: give categories or categories_file, not both."
            raise SchemaError(msg)
        if folder is None:
            msg = f"{where}: no other file may be named here."
            raise SchemaError(msg)
        given["categories"] = _code_list(_beside(folder, given["categories_file"], where))
    return Column(name=name, **given)


def _facts(column: Column) -> dict[str, Any]:
    """The stated facts of a column, in TOML's types."""
    facts: dict[str, Any] = {}
    for name in _FACTS:
        value = getattr(column, name)
        if value is None or value == () or (name == "categories" and column.categories_file):
            continue
        facts[name] = list(value) if isinstance(value, tuple) else value
        if isinstance(value, StrEnum):
            facts[name] = str(value)
    if column.edges is not None:
        del facts["bounds"]
    if column.role is Role.FEATURE:
        del facts["role"]
    return facts


def _beside(folder: Path, name: str, where: str) -> Path:
    """A file in the schema's folder: no schema may have others read and written into a release."""
    path = folder / name
    try:
        plain = stat.S_ISREG(path.lstat().st_mode)
    except (OSError, ValueError):
        plain = True  # what is not there is told when it is read
    if len(Path(name).parts) != 1 or not plain:
        msg = f"{where}: categories_file {name!r} must be a file beside the schema. Move it there."
        raise SchemaError(msg)
    return path


def _code_list(path: Path) -> tuple[str, ...]:
    """The codes in a public list: one per line, blank lines skipped."""
    lines = (line.strip(WHITESPACE) for line in _read_text(path).split("\n"))
    return tuple(line for line in lines if line)


def _read_text(path: Path) -> str:
    try:
        size, text = path.stat().st_size, None
        if size <= _LONGEST:
            text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        msg = f"{path} is not UTF-8 text. Save it as UTF-8."
        raise SchemaError(msg) from None
    except OSError as error:
        msg = f"{path} cannot be read: {error.strerror}. Check the path."
        raise SchemaError(msg) from None
    except ValueError:
        msg = f"{str(path)!r} is not the name of a file. Check the path."
        raise SchemaError(msg) from None
    if text is None:
        msg = f"{path} has {size:,} bytes, far more than a schema or a list of codes. Check it."
        raise SchemaError(msg)
    return text


def _table(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        msg = f"{where} must be a table of facts."
        raise SchemaError(msg)
    return value


def _check_keys(given: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    unknown = [key for key in given if key not in known]
    if unknown:
        msg = f"{where} has facts that nobody reads: {listed(unknown)}. Known: {', '.join(known)}."
        raise SchemaError(msg)


def _choice(choices: type[_Choice], value: object, where: str, fact: str) -> _Choice:
    try:
        return choices(str(value))
    except ValueError:
        msg = f"{where}: {fact} {value!r} is unknown; use one of {listed(choices)}."
        raise SchemaError(msg) from None


def _expect(value: Any, wanted: type[Any], where: str, fact: str) -> Any:  # noqa: ANN401 - TOML holds anything
    # bool is an int to Python, and never what a person means by a number of bins.
    if value is not None and type(value) is not wanted:
        msg = f"{where}: {fact} must be {wanted.__name__}, not {type(value).__name__}."
        raise SchemaError(msg)
    return value
