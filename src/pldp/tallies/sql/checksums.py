"""Compare the checksums of a Parquet file's pages, for engines that read pages without looking at them.

Each page stands behind a header in Thrift's compact protocol, whose fields 3 and 4 are the page's size and its CRC-32
(Apache Parquet, "Parquet Format: Checksumming"). Pages without a checksum are passed over, as by any other reader.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

_SIZE, _CRC = 3, 4  # fields of a page's header
_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 0, 1, 2, 3, 7, 8, 9, 10, 11, 12
_NUMBERS: Final = {4, 5, 6}


def check_pages(file: Path, metadata: Any, names: Collection[str]) -> None:
    """Raise a `ValueError` where a page of these columns differs from its checksum."""
    with file.open("rb") as content:
        for group in range(metadata.num_row_groups):
            row_group = metadata.row_group(group)
            for place in range(row_group.num_columns):
                column = row_group.column(place)
                if metadata.schema.column(place).name not in names:
                    continue
                starts = (column.dictionary_page_offset, column.data_page_offset)
                content.seek(min(start for start in starts if start))
                _check_chunk(content.read(column.total_compressed_size))


def _check_chunk(chunk: bytes) -> None:
    """Walk over the pages of one column."""
    place, view = 0, memoryview(chunk)
    while place < len(chunk):
        try:
            fields, start = _Header(chunk, place).fields()
            size = fields[_SIZE]
        except (IndexError, KeyError):
            raise ValueError("the header of a page cannot be read") from None
        if size < 0 or start + size > len(chunk):
            raise ValueError("a page is longer than its column")
        if _CRC in fields and zlib.crc32(view[start : start + size]) != fields[_CRC] & 0xFFFFFFFF:
            raise ValueError("a page differs from its checksum")
        place = start + size


class _Header:
    """A struct in Thrift's compact protocol, from a place in some bytes on."""

    def __init__(self, content: bytes, place: int) -> None:
        self.content, self.place = content, place

    def fields(self) -> tuple[dict[int, int], int]:
        """Return the integers among the fields, and the place behind the struct."""
        found: dict[int, int] = {}
        number = 0
        while True:
            head = self._byte()
            kind = head & 15
            if kind == _STOP:
                return found, self.place
            number = number + (head >> 4) if head >> 4 else self._integer()
            if kind in _NUMBERS:
                found[number] = self._integer()
            else:
                self._skip(kind)

    def _byte(self) -> int:
        self.place += 1
        return self.content[self.place - 1]

    def _unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7

    def _integer(self) -> int:
        """Return a signed integer: the lowest bit is the sign."""
        value = self._unsigned()
        return (value >> 1) ^ -(value & 1)

    def _skip(self, kind: int) -> None:
        """Pass over a value that nobody asks for."""
        if kind in {_BYTE, _DOUBLE}:
            self.place += 1 if kind == _BYTE else 8
        elif kind == _BINARY:
            length = self._unsigned()  # moves the place, too
            self.place += length
        elif kind in {_LIST, _SET}:
            head = self._byte()
            count = head >> 4 if head >> 4 < 15 else self._unsigned()
            for _ in range(count):
                self._skip_element(head & 15)
        elif kind == _STRUCT:
            self.fields()
        elif kind in _NUMBERS:
            self._integer()
        elif kind not in {_TRUE, _FALSE}:
            raise IndexError(kind)

    def _skip_element(self, kind: int) -> None:
        """Pass over an element of a list, where truth values take a byte."""
        self._skip(_BYTE if kind in {_TRUE, _FALSE} else kind)
