"""The one spelling of plain data, and its hash: so that every change of a byte is a change."""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any


def spelled(content: Mapping[str, Any]) -> bytes:
    """Plain data as JSON: names sorted, no blanks, nothing but ASCII.

    >>> spelled({"b": [1.5, True], "a": None})
    b'{"a":null,"b":[1.5,true]}'
    """
    return json.dumps(
        content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    ).encode()


def spelled_for_people(content: Mapping[str, Any]) -> bytes:
    """The same on indented lines, in the order given; as fixed, and easier to read."""
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def digest(content: bytes) -> str:
    """The SHA-256 of some bytes."""
    return sha256(content).hexdigest()
