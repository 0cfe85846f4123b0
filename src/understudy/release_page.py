"""What a person sees when a release is made: the promise, what it rests on, where the files are."""

import textwrap
from pathlib import Path
from typing import Any

from rich.console import Console

from understudy.errors import listed
from understudy.release import Release


def release_page(release: Release, folder: Path) -> dict[str, Any]:
    """A release as plain data."""
    certificate = release.certificate
    return {
        "folder": str(folder),
        "files": sorted(path.name for path in folder.iterdir()),
        "rows": release.rows.count,
        "columns": [column.name for column in release.schema.coded],
        "private": not certificate.not_private,
        # JSON knows no infinity.
        "epsilon": None if certificate.not_private else certificate.epsilon,
        "delta": certificate.delta,
        "unit": certificate.unit,
        "promise": certificate.promise,
        "public": sorted(certificate.public),
        "declared": [c.name for c in release.schema.coded if c.source == "declared"],
        "bought": list(certificate.bought),
        "notes": list(release.notes),
    }


def show(page: dict[str, Any]) -> None:
    """Print a release for the eye."""
    console = Console(markup=False, highlight=False, emoji=False)

    def say(text: str, mark: str = "") -> None:
        lines = textwrap.wrap(text, console.width - 4, break_long_words=False)
        for place, line in enumerate(lines):
            lead = mark if place == 0 else " " * len(mark)
            console.print(f"  {lead}{line}", soft_wrap=True)

    shape = f"{page['rows']:,} rows × {len(page['columns'])} columns"
    console.print(f"Release: {shape}, in {page['folder']}\n", style="bold", soft_wrap=True)
    for line in page["promise"]:
        say(line)
    console.print("\nWhat the promise takes as public", style="bold")
    say("column names, and how they are stored", "- ")
    if page["declared"]:
        say(f"the facts that the schema declares about {listed(page['declared'])}", "- ")
    choices = [name for name in page["public"] if name not in {"schema", "storage", "unit"}]
    say(f"your choices: {', '.join(choices)}", "- ")
    if page["bought"]:
        console.print("\nWhat was found out with noise, out of the same epsilon", style="bold")
        for line in page["bought"]:
            say(line, "- ")
    if page["notes"]:
        console.print("\nPlease note", style="bold")
        for note in page["notes"]:
            say(note, "- ")
    console.print(f"\nFiles: {', '.join(page['files'])}", soft_wrap=True)
    console.print(f"Check it with: understudy verify {page['folder']}", soft_wrap=True)
