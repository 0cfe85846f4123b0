"""Making sure that what was written is on the disk."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def opened(path: Path, flags: int) -> Iterator[int]:
    """A file handle, for the owner alone where it makes the file."""
    handle = os.open(path, flags | os.O_CLOEXEC, 0o600)
    try:
        yield handle
    finally:
        os.close(handle)


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk."""
    with opened(folder, os.O_RDONLY) as handle:
        os.fsync(handle)
