"""Internal files: for their owner alone, and never in a folder that may be published."""

import contextlib
import os
import tempfile
from pathlib import Path

from understudy.errors import BadInput
from understudy.privacy.disk import sync_folder
from understudy.privacy.folder import CERTIFICATE

_OWNER_ONLY = 0o600


def check_internal(path: Path) -> None:
    """Refuse a file that could not be written, before the work that it is for."""
    if path.exists() or path.is_symlink():
        raise BadInput(_there(path))
    if not path.parent.is_dir():
        msg = f"{path} cannot be written: there is no such folder. Make it, or choose another."
        raise BadInput(msg)
    check_unpublished(path)


def check_unpublished(path: Path) -> None:
    """Refuse a place in a release folder, by whatever way it leads there."""
    # A link may lie in a release folder, and it may lead into one.
    for way in (path.absolute(), path.resolve()):
        if any((folder / CERTIFICATE).exists() for folder in (way, *way.parents)):
            msg = (
                f"{path} lies in a release folder, where everything may be published. "
                "Choose another."
            )
            raise BadInput(msg)


def write_internal(path: Path, text: str) -> None:
    """Write a new file that only its owner can read."""
    check_internal(path)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_ONLY)
    except FileExistsError:
        raise BadInput(_there(path)) from None
    except OSError as error:
        raise BadInput(_failed(path, error)) from None
    _fill(handle, path, text, named=path)


def replace_internal(path: Path, text: str) -> None:
    """Write a file that only its owner can read, over what is there: whole, or not at all."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".part-")
    except OSError as error:
        raise BadInput(_failed(path, error)) from None
    _fill(handle, Path(name), text, named=path)
    try:
        Path(name).replace(path)
        sync_folder(path.parent)
    except OSError as error:
        Path(name).unlink(missing_ok=True)
        raise BadInput(_failed(path, error)) from None


def _fill(handle: int, path: Path, text: str, *, named: Path) -> None:
    """Write an open file, for good; half a file is taken away again."""
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except BaseException as error:
        with contextlib.suppress(OSError):
            path.unlink()
        if isinstance(error, OSError):
            raise BadInput(_failed(named, error)) from None
        raise


def _failed(path: Path, error: OSError) -> str:
    return (
        f"{path} cannot be written: {error.strerror}. Make room, or choose a folder that is yours."
    )


def _there(path: Path) -> str:
    return f"{path} is there already, and nothing is overwritten. Name another file."
