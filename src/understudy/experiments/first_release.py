"""The main job on the embedded table: its files, a release of it, and the two side by side.

Only because the table is invented may its real counts stand beside the synthetic ones.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv
from rich.box import SIMPLE_HEAD
from rich.table import Table

from understudy.encode import Encoding
from understudy.errors import BadInput
from understudy.experiments.demo import DEMO_INDEPENDENCE, DEMO_TARGET, MOST_ADMISSIONS, demo_schema
from understudy.pipeline import Teller, synthesize
from understudy.privacy.unit import Person
from understudy.release import Release
from understudy.schema_files import write_schema
from understudy.spoken import plain_console

TABLE, SCHEMA, RELEASE = FILES = ("patients.csv", "schema.toml", "release")
EPSILON = 1.0
_COMPARED = ("diagnosis", "severity", DEMO_TARGET)


def check_free(folder: Path) -> None:
    """Refuse a folder in which something would be overwritten."""
    if folder.exists() and not folder.is_dir():
        msg = f"{folder} is not a folder. Give --out a folder, old or new."
        raise BadInput(msg)
    taken = [name for name in FILES if (folder / name).exists()]
    if taken:
        msg = (
            f"{folder} already holds {' and '.join(taken)}, and nothing is overwritten. Give --out "
            f"another folder, or move what is there."
        )
        raise BadInput(msg)


def first_release(table: pa.Table, folder: Path, tell: Teller | None = None) -> Release:
    """Write the table and its schema, make a release of them as a user would, and save it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / TABLE).open("xb") as file:
            csv.write_csv(table, file, csv.WriteOptions(quoting_style="needed"))
    except OSError as error:
        msg = f"{folder} cannot be written: {error.strerror}. Give --out another folder."
        raise BadInput(msg) from None
    write_schema(demo_schema(), folder / SCHEMA)
    release = synthesize(
        folder / TABLE,
        schema=folder / SCHEMA,
        target=DEMO_TARGET,
        epsilon=EPSILON,
        unit=Person("patient_id", MOST_ADMISSIONS),
        constraints=[DEMO_INDEPENDENCE],
        tell=tell,
    )
    release.save(folder / RELEASE)
    return release


def side_by_side(table: pa.Table, release: Release) -> list[dict[str, Any]]:
    """The shares of values in a few columns, in the invented table and in the release."""
    encoding = Encoding(release.schema)
    real, synthetic = encoding.codes(table), encoding.codes(release.table)
    return [
        {
            "column": name,
            "value": encoding.cells[name].describe(code),
            "table": float(np.mean(real[name] == code)),
            "release": float(np.mean(synthetic[name] == code)),
        }
        for name in _COMPARED
        for code in range(encoding.domain.sizes[name])
    ]


def show(lines: list[dict[str, Any]]) -> None:
    """Print the comparison for the eye."""
    console = plain_console()
    console.print("\nThe invented table and the release, side by side", style="bold")
    grid = Table("column", "value", box=SIMPLE_HEAD, pad_edge=False)
    for heading in ("table", "release"):
        grid.add_column(heading, justify="right")
    before = None
    for line in lines:
        name = "" if line["column"] == before else line["column"]
        before = line["column"]
        grid.add_row(name, line["value"], f"{line['table']:.1%}", f"{line['release']:.1%}")
    console.print(grid)
