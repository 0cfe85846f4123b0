"""What a person sees when a release is made: the promise, what it rests on, where the files are."""

from pathlib import Path
from typing import Any

from understudy.errors import listed
from understudy.inference_notes import lost_target
from understudy.personal import personal_fields
from understudy.release import Release
from understudy.report.public import PARAMETERS, choices, declared, general, how_labels
from understudy.spoken import plain_console, say


def release_page(release: Release, folder: Path) -> dict[str, Any]:
    """A release that was saved, as plain data."""
    certificate = release.certificate
    return {
        "weak": list(certificate.weak),
        "lost_target": lost_target(release.schema),
        "folder": str(folder),
        "files": sorted(path.name for path in folder.iterdir()),
        "rows": release.rows.count,
        "columns": [column.name for column in release.schema.released],
        "personal": [one.to_dict() for one in personal_fields(certificate.public, release.schema)],
        "private": not certificate.not_private,
        # JSON knows no infinity.
        "epsilon": None if certificate.not_private else certificate.epsilon,
        "delta": certificate.delta,
        "unit": certificate.unit,
        "promise": certificate.promise,
        "public": sorted(certificate.public),
        "declared": list(declared(certificate)),
        "general": list(general(certificate)),
        "choices": choices(certificate),
        "labels": how_labels(certificate),
        "bought": list(certificate.bought),
        "notes": list(release.saved_notes(folder)),
    }


def show(page: dict[str, Any]) -> None:
    """Print a release for the eye."""
    console = plain_console()
    shape = f"{page['rows']:,} rows × {len(page['columns'])} columns"
    promise = list(page["promise"])
    if page["weak"]:
        console.print(f"{promise.pop(0)}\n", style="bold", soft_wrap=True)
    if page["lost_target"]:
        console.print(f"{page['lost_target']}\n", style="bold", soft_wrap=True)
    console.print(f"Release: {shape}, in {page['folder']}\n", style="bold", soft_wrap=True)
    for line in promise:
        say(console, line)
    for title, lines in _sections(page).items():
        if lines:
            console.print(f"\n{title}", style="bold")
        for line in lines:
            say(console, line, "- ")
    console.print(f"\nFiles: {', '.join(page['files'])}", soft_wrap=True)
    console.print(f"Check it with: understudy verify {page['folder']}", soft_wrap=True)


def _sections(page: dict[str, Any]) -> dict[str, list[str]]:
    """By title, what is listed below the promise."""
    public = ["column names, and how they are stored"]
    public += [f"{line[0].lower()}{line[1:]}" for line in page["general"]]
    if page["declared"]:
        public.append(f"the facts that the schema declares about {listed(page['declared'])}")
    chosen = "; ".join(
        f"{name}: {value}" for name, value in page["choices"].items() if name != PARAMETERS
    )
    if chosen:
        public.append(f"your choices: {chosen}")
    paid = ", out of the same epsilon" if page["private"] else ""
    return {
        "How it was made": [page["labels"]] if page["labels"] else [],
        "What is taken as public": public,
        f"What was found out with noise{paid}": page["bought"],
        "Please note": [note for note in page["notes"] if note != page["lost_target"]],
    }
