"""Changing files that must not be changed."""

import os


def changed_bytes(path, change):
    """Change each byte of the file in turn, in place; each is put back afterwards."""
    whole = path.read_bytes()
    with path.open("r+b", buffering=0) as file:
        for place, byte in enumerate(whole):
            if change(byte) != byte:
                os.pwrite(file.fileno(), bytes([change(byte)]), place)
                yield place
                os.pwrite(file.fileno(), bytes([byte]), place)
    assert path.read_bytes() == whole
