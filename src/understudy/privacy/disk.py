"""Making sure that what was written is on the disk, and that a file is as long as it says."""

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

_MOST_HOLES = 2**30
"""Bytes of a file that were never written; no file of a release has any."""


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


def has_long_holes(path: Path) -> bool:
    """Whether gigabytes of a file were never written: read, they would be zeros without end."""
    place = holes = 0
    with opened(path, os.O_RDONLY) as handle:
        size = os.fstat(handle).st_size
        while place < size and holes <= _MOST_HOLES:
            try:
                data = os.lseek(handle, place, os.SEEK_DATA)
            except OSError as error:
                if error.errno != errno.ENXIO:  # a file system that knows no holes
                    return False
                data = size  # nothing but a hole is left
            holes += data - place
            place = size if data == size else os.lseek(handle, data, os.SEEK_HOLE)
    return holes > _MOST_HOLES
