"""What becomes of a table's values, step by step, for somebody who sees it for the first time."""

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
from rich.box import SIMPLE_HEAD
from rich.padding import Padding
from rich.table import Table

from understudy.column import Column
from understudy.encode import Encoding
from understudy.schema import Schema
from understudy.spoken import plain_console

_LOOKED_THROUGH = 5000
"""Rows among which examples are looked for; enough to meet every kind of untidy cell."""
_BEFORE = (
    "The table below is invented: admissions to a hospital, and who comes back within thirty "
    "days. Its schema states in public what each column may hold, so no row has to be read to "
    "learn it. By the schema alone every value becomes the code of a cell, and a code comes back "
    "as a value drawn anew from that cell."
)
_AFTER = "No cell raises an error, however untidy, for an error would tell about its row."


def walkthrough(table: pa.Table, schema: Schema, seed: int) -> dict[str, Any]:
    """The schema in words, one row with its codes and back, and one untidy cell of each sort."""
    record, untidy = _examples(table, Encoding(schema), seed)
    return {
        "about": _BEFORE,
        "rows": len(table),
        "rows_bound": schema.rows_bound,
        "seed": seed,
        "schema": _described(schema),
        "record": record,
        "untidy": untidy,
        "next": _AFTER,
    }


def show(content: dict[str, Any]) -> None:
    """Print a walkthrough for the eye."""
    console = plain_console()

    def show_table(title: str, headings: tuple[str, ...], lines: list[dict[str, Any]]) -> None:
        grid = Table(box=SIMPLE_HEAD, collapse_padding=True, pad_edge=False)
        for heading in headings:
            grid.add_column(
                heading,
                justify="right" if heading in {"code", "cells"} else "left",
                style="cyan" if heading == "column" else "",
                # Prose may be broken over several lines; names, numbers and dates stay whole.
                no_wrap=heading not in {"values", "value", "cell"},
                min_width=len("2023-01-01 00:00") if heading == "value" else None,
            )
        for line in lines:
            grid.add_row(*(_text(line[heading]) for heading in headings))
        console.print(title, style="bold")
        console.print(grid)

    null = {True: "yes", False: "no", None: None}
    console.print(Padding(content["about"], (1, 0)))
    show_table(
        f"The schema: public facts, declared for up to {content['rows_bound']:,} rows",
        ("column", "kind", "role", "values", "cells", "null"),
        [{**line, "null": null[line["null"]]} for line in content["schema"]],
    )
    journey = ("column", "value", "code", "cell", "back")
    show_table(
        "One row: its values, their codes, and values drawn back", journey, content["record"]
    )
    show_table(
        "Untidy cells have their place too",
        journey,
        [{**line, "value": _with_reason(line)} for line in content["untidy"]],
    )
    console.print(content["next"])


def _described(schema: Schema) -> list[dict[str, Any]]:
    """What the schema says of each column, in words; the number of cells is null if uncoded."""
    sizes = Encoding(schema).domain.sizes
    return [
        {
            "column": column.name,
            "kind": str(column.kind),
            "role": str(column.role),
            "values": _values(column),
            "cells": sizes.get(column.name),
            "null": column.null,
        }
        for column in schema
    ]


def _values(column: Column) -> str:
    """The values that a column may hold, in words."""
    if not column.coded:
        return "not coded, not released"
    if column.categories is not None:
        rest = [] if column.other is None else [f"rest as {column.other!r}"]
        return ", ".join([*(str(label) for label in column.categories), *rest])
    if column.bounds is None:
        return "False, True"
    alone = "".join(f", {_text(atom)} on its own" for atom in column.atoms)
    least, greatest = (_text(end) for end in column.bounds)
    return f"{least} to {greatest}{alone}"


def _examples(
    table: pa.Table, encoding: Encoding, seed: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """All cells of one tidy row, and the first untidy cell of each sort in each column."""
    table = table.slice(0, _LOOKED_THROUGH)
    codes = encoding.codes(table)
    back = encoding.decode(codes, np.random.default_rng(seed))
    values = {name: table[name].to_pylist() for name in codes}
    untidiness = {
        name: [_untidiness(value, encoding.schema[name]) for value in column]
        for name, column in values.items()
    }

    def example(name: str, row: int) -> dict[str, Any]:
        code = int(codes[name][row])
        return {
            "row": row,
            "column": name,
            "value": values[name][row],
            "what": untidiness[name][row],
            "code": code,
            "cell": encoding.cells[name].describe(code),
            "back": back[name][row].as_py(),
        }

    tidy = (
        row for row in range(len(table)) if not any(sorts[row] for sorts in untidiness.values())
    )
    first = next(tidy, 0)
    untidy = [
        example(name, sorts.index(sort))
        for name, sorts in untidiness.items()
        for sort in dict.fromkeys(sorts)
        if sort is not None
    ]
    return [example(name, first) for name in codes], untidy


def _untidiness(value: Any, column: Column) -> str | None:  # noqa: ANN401 - a cell of any kind
    """What is unusual about a cell, if anything."""
    if value is None:
        return "missing"
    if isinstance(value, str) and value != value.strip():
        return "blanks around it"
    if column.categories is not None and value not in column.categories:
        return "not on the list"
    if column.bounds is not None and not column.bounds[0] <= value <= column.bounds[1]:
        return "out of bounds"
    return None


def _with_reason(line: dict[str, Any]) -> str:
    """An untidy value, and what is untidy about it."""
    return line["what"] if line["value"] is None else f"{_text(line['value'])}, {line['what']}"


def _text(value: Any) -> str:  # noqa: ANN401 - a cell of any kind
    """A value as people write it."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.2f}".rstrip("0").rstrip(".")
    if isinstance(value, dt.datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    if isinstance(value, str) and value != value.strip():
        return repr(value)
    return str(value)
