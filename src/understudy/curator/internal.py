"""Internal files: for their owner alone, and never written over."""

import os
from pathlib import Path

from understudy.errors import BadInput
from understudy.privacy.folder import CERTIFICATE

_OWNER_ONLY = 0o600


def check_internal(path: Path) -> None:
    """Refuse a file that could not be written, before the work that it is for."""
    if path.exists() or path.is_symlink():
        raise BadInput(_there(path))
    if not path.parent.is_dir():
        msg = f"{path} cannot be written: there is no such folder. Make it, or choose another."
        raise BadInput(msg)
    if any((folder / CERTIFICATE).exists() for folder in path.absolute().parents):
        msg = f"{path} lies in a release folder, where everything may be published. Choose another."
        raise BadInput(msg)


def write_internal(path: Path, text: str) -> None:
    """Write a new file that only its owner can read."""
    check_internal(path)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_ONLY)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise BadInput(_there(path)) from None
    except OSError as error:
        msg = f"{path} cannot be written: {error.strerror}. Choose a folder that is yours."
        raise BadInput(msg) from None


def _there(path: Path) -> str:
    return f"{path} is there already, and nothing is overwritten. Name another file."
