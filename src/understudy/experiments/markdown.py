"""Pieces of a text in Markdown."""

from collections.abc import Iterable, Mapping, Sequence

from understudy.curator.coded_task import Mean


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table with a head."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def shown(mean: Mean | None, places: int = 3) -> str:
    """A mean with its interval; nothing where there is none."""
    if mean is None:
        return ""
    interval = "" if mean.repetitions == 1 else f" ± {mean.half:.{places}f}"
    return f"{mean.value:.{places}f}{interval}"


def figure_file(paper: str, number: int) -> str:
    """The name of a figure's file, beside the text."""
    return f"{paper}-figure-{number}.svg"


def figure_section(paper: str, figures: Mapping[int, tuple[str, str]]) -> str:
    """The figures, shown; nothing where there are none."""
    if not figures:
        return ""
    lines = [
        "## Figures\n",
        "Ours, with 95 % intervals; the print's figures are not in its text.\n",
    ]
    for number, (about, _) in figures.items():
        lines.append(f"Figure {number}. {about}.\n\n![{about}]({figure_file(paper, number)})\n")
    return "\n".join(lines)


def figure_files(paper: str, figures: Mapping[int, tuple[str, str]]) -> dict[str, str]:
    """The figures as files."""
    return {figure_file(paper, number): picture for number, (_, picture) in figures.items()}
