"""What the footer of a Parquet file says about sizes and compression.

Arrow reads the footer as well, but it ends the whole process where the footer names a compression
that does not exist. So the few facts that decide whether a file is decoded are read here, from the
compact protocol of Thrift. A field that comes twice, or in another type, is refused: Arrow would
take one of them, and nobody knows which.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

_MAGIC = b"PAR1"
_MOST_BYTES = 2**25
_MOST_DEPTH = 16
_MOST_VALUES = 2**22
"""Fields and elements of lists: far more than a release that fits into memory has."""
_BAD = "The Parquet file has no footer that can be read."

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
_Field = tuple[int, Any]
"""The type of a value, and the value."""


@dataclass(frozen=True)
class Chunk:
    """The values of one column in one row group."""

    codec: int
    """0 is uncompressed, 1 is Snappy; the others inflate without measure."""
    stored: int
    """How many bytes it takes in the file."""


@dataclass(frozen=True)
class Group:
    """Some rows of the file."""

    rows: int
    chunks: tuple[Chunk, ...]


def row_groups(path: Path) -> list[Group]:
    """Return the row groups that the footer of a Parquet file lists.

    Raises:
        ValueError: The file has no footer that can be read without doubt.
    """
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - 8))
        end = file.read(8)
        length = int.from_bytes(end[:4], "little")
        if end[4:] != _MAGIC or length > min(size - 8, _MOST_BYTES):
            raise ValueError(_BAD)
        file.seek(size - 8 - length)
        footer = file.read(length)
    try:
        fields = _Reader(footer).struct(0)
        return [_group(one) for one in _structs(fields, 4)]
    except (IndexError, KeyError, TypeError):
        raise ValueError(_BAD) from None


def _group(fields: dict[int, _Field]) -> Group:
    chunks = []
    for column in _structs(fields, 1):
        if set(column) - {1, 2, 3, 4, 5, 6, 7}:  # such as a key to decrypt it
            raise ValueError(_BAD)
        described = _value(column, 3, _STRUCT)
        chunks.append(Chunk(_value(described, 4, _I32), _value(described, 7, _I64)))
    return Group(_value(fields, 3, _I64), tuple(chunks))


def _structs(fields: dict[int, _Field], number: int) -> list[dict[int, _Field]]:
    kind, values = _value(fields, number, _LIST)
    if values and kind != _STRUCT:
        raise ValueError(_BAD)
    return list(values)


def _value(fields: dict[int, _Field], number: int, kind: int) -> Any:  # noqa: ANN401 - by its type
    found, value = fields[number]
    if found != kind:
        raise ValueError(_BAD)
    return value


class _Reader:
    """Thrift's compact protocol, value by value."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._place = 0
        self._values = 0

    def struct(self, depth: int) -> dict[int, _Field]:
        """Return the fields of a struct, by number."""
        if depth > _MOST_DEPTH:
            raise ValueError(_BAD)
        fields: dict[int, _Field] = {}
        number = 0
        while head := self._byte():
            kind, step = head & 15, head >> 4
            number = number + step if step else self._number()
            if number in fields:
                raise ValueError(_BAD)
            self._count(1)
            # The value of a flag stands in its type.
            fields[number] = (kind, None if kind <= _FALSE else self._any(kind, depth))
        return fields

    def _any(self, kind: int, depth: int) -> Any:  # noqa: ANN401 - by its type
        if kind in {_I16, _I32, _I64}:
            return self._number()
        if kind in {_TRUE, _FALSE, _BYTE}:
            return self._byte()
        if kind == _DOUBLE:
            return self._bytes(8)
        if kind == _BINARY:
            return self._bytes(self._varint())
        if kind in {_LIST, _SET}:
            return self._list(depth)
        if kind == _STRUCT:
            return self.struct(depth + 1)
        raise ValueError(_BAD)  # no footer has maps

    def _list(self, depth: int) -> tuple[int, list[Any]]:
        if depth > _MOST_DEPTH:
            raise ValueError(_BAD)
        head = self._byte()
        size, kind = head >> 4, head & 15
        if size == 15:  # noqa: PLR2004 - then the size follows
            size = self._varint()
        self._count(size)
        return kind, [self._any(kind, depth + 1) for _ in range(size)]

    def _count(self, values: int) -> None:
        self._values += values
        if self._values > _MOST_VALUES:
            raise ValueError(_BAD)

    def _number(self) -> int:
        """Return a whole number in zigzag order: 0, -1, 1, -2, …."""
        found = self._varint()
        return (found >> 1) ^ -(found & 1)

    def _varint(self) -> int:
        found = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            found |= (byte & 127) << shift
            if byte < 128:  # noqa: PLR2004 - the last digit
                return found
        raise ValueError(_BAD)

    def _byte(self) -> int:
        self._place += 1
        return self._content[self._place - 1]

    def _bytes(self, size: int) -> bytes:
        if size > len(self._content) - self._place:
            raise ValueError(_BAD)
        self._place += size
        return self._content[self._place - size : self._place]
