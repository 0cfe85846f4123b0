"""Results as files: text and pictures that may be published, for they tell of public tables."""

from pathlib import Path

from understudy.errors import BadInput


def check_writable(path: Path) -> None:
    """Refuse a file that could not be written, before the work that it is for."""
    if path.is_dir() or not path.parent.is_dir():
        msg = f"{path} cannot be written: name a file in a folder that is there."
        raise BadInput(msg)


def write_text(path: Path, text: str) -> None:
    """Write a file, over what is there."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        msg = f"{path} cannot be written: {error.strerror}."
        raise BadInput(msg) from None
