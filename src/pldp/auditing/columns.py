"""What was observed, taken apart into columns of small integers that an event can be made of.

An observation is whatever a mechanism gave out: a number, text, bytes, or lists and tables of these. Every part of it
that could carry a secret becomes a column: the value of each field, its type, its length, each character of a text,
each bit of packed bits, and of a floating-point number the place of its last binary digit, which shows how it was
computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pldp.errors import AuditError

Codes = npt.NDArray[np.int64]

MOST_PARTS: Final = 4096  # fields, characters and bytes of one observation
MOST_KINDS: Final = 4096  # different contents of a column; one of more is cut into parts (numbers) or left out (texts)
BINS: Final = 64  # equal parts that a column of many different numbers is cut into


@dataclass(frozen=True)
class Columns:
    """Columns for the observations of all sides together; `codes` gives those of a column, from 0 up, for some rows."""

    names: Sequence[str]
    codes: Callable[[int, slice], Codes]

    @staticmethod
    def of_codes(held: Sequence[tuple[str, Codes]]) -> Columns:
        """Return columns that are held as they are, each with its name."""
        return Columns([name for name, _ in held], lambda column, rows: held[column][1][rows])


def columns_of_arrays(outputs: Sequence[npt.NDArray[Any]]) -> Columns:
    """Return the columns of vectorised outputs, one array per side: integers, floats, or rows of packed bits."""
    shapes = {(part.ndim, part.shape[1:], part.dtype.kind) for part in outputs}
    if len(shapes) > 1 or outputs[0].ndim not in {1, 2}:
        raise AuditError("a vectorised mechanism must return one flat array, or rows of bytes, of one type")
    together = np.concatenate(outputs)
    if together.ndim == 2:
        if together.dtype != np.uint8 or not 0 < together.shape[1] <= MOST_PARTS:
            raise AuditError(f"rows must be of 1 to {MOST_PARTS:,} bytes (uint8), not of {together.dtype}")
        # A column per bit, unpacked when asked for: bit i is in byte i//8 at place i%8 from the lowest.
        names = [f"bit {bit}" for bit in range(8 * together.shape[1])]
        return Columns(names, lambda bit, rows: (together[rows, bit >> 3] >> (bit & 7) & 1).astype(np.int64))
    if together.dtype.kind == "f":
        return Columns.of_codes(list(_float_columns("output", together)))
    if together.dtype.kind in "iub":
        low, high = int(together.min()), int(together.max())
        few = high - low < MOST_KINDS
        codes = together.astype(np.int64) - low if few else _equal_parts(together.astype(np.float64))
        return Columns.of_codes([("output", codes)])
    raise AuditError(f"outputs must be integers, floats or rows of bytes, not {together.dtype}")


def columns_of(observations: Sequence[Mapping[str, object]]) -> Columns:
    """Return the columns of any observations.

    >>> columns_of([{"id": "a1", "n": 3}, {"id": "b1", "n": 3}]).names
    ['id', 'id[0]']
    """
    held: list[tuple[str, Codes]] = []
    for path, contents in _split("", list(observations)):
        held += [(name, codes) for name, codes in _column(path, contents) if (codes != codes[0]).any()]
        if len(held) > 8 * MOST_PARTS:
            raise AuditError(f"an output must have at most {MOST_PARTS:,} parts, and some have more")
    return Columns.of_codes(held or [("output", np.zeros(len(observations), np.int64))])


class _Absent:
    """What stands where an observation lacks a part that others have."""


_ABSENT: Final = _Absent()
_KNOWN: Final = (bool, int, float, str, bytes, type(None), _Absent, Mapping, list, tuple)


def _split(path: str, contents: list[Any]) -> Iterator[tuple[str, list[Any]]]:
    """Yield every part of the observations under a path of its own, absent where one lacks it."""
    kinds = set(map(type, contents))
    if any(issubclass(kind, np.generic | np.ndarray) for kind in kinds):
        contents = [each.tolist() if isinstance(each, np.generic | np.ndarray) else each for each in contents]
        kinds = set(map(type, contents))
    strange = [kind.__name__ for kind in kinds if not issubclass(kind, _KNOWN)]
    if strange:
        raise AuditError(f"an output must be a number, text, bytes, or lists and tables of these, not {min(strange)}")
    if len(kinds) > 1:
        yield f"type of {path}", [type(content).__name__ for content in contents]
    tables = any(issubclass(kind, Mapping) for kind in kinds)
    lists = any(issubclass(kind, list | tuple) for kind in kinds)
    if tables:
        yield from _split_tables(path, [content if isinstance(content, Mapping) else {} for content in contents])
    if lists:
        yield from _split_lists(path, [content if isinstance(content, list | tuple) else () for content in contents])
    if tables or lists:
        contents = [_ABSENT if isinstance(content, Mapping | list | tuple) else content for content in contents]
    if any(content is not _ABSENT for content in contents):
        yield path, contents


def _split_tables(path: str, contents: list[Mapping[Any, Any]]) -> Iterator[tuple[str, list[Any]]]:
    orders = [tuple(content) for content in contents]
    if len(set(orders)) > 1:
        yield f"keys of {path}", [",".join(map(str, order)) for order in orders]
    for key in dict.fromkeys(key for order in dict.fromkeys(orders) for key in order):
        yield from _split(f"{path}.{key}" if path else str(key), [content.get(key, _ABSENT) for content in contents])


def _split_lists(path: str, contents: list[Sequence[Any]]) -> Iterator[tuple[str, list[Any]]]:
    lengths = [len(content) for content in contents]
    yield f"length of {path}", lengths
    if max(lengths) > MOST_PARTS:
        raise AuditError(f"an output must have at most {MOST_PARTS:,} parts, not {max(lengths):,}")
    for place in range(max(lengths)):
        found = [content[place] if place < len(content) else _ABSENT for content in contents]
        yield from _split(f"{path}[{place}]", found)


def _column(path: str, contents: list[Any]) -> Iterator[tuple[str, Codes]]:
    kinds = set(map(type, contents))
    if kinds <= {str, bytes} and (longest := max(map(len, contents))) > MOST_PARTS:
        raise AuditError(f"an output must have at most {MOST_PARTS:,} characters or bytes, not {longest:,}")
    if float in kinds and kinds <= {int, float}:
        yield from _float_columns(path, np.array(contents, np.float64))
        return
    codes = _codes(contents)
    if codes is not None:
        yield path, codes
    elif kinds == {int}:
        yield path, _equal_parts(np.array([float(content) for content in contents]))
        yield f"last digit of {path}", np.array([content & 1 for content in contents], np.int64)
    if kinds == {str} and (codes is None or codes.any()):
        yield from _places(path, contents)
    elif kinds == {bytes} and (codes is None or codes.any()):
        yield from _bits(path, contents)


def _places(path: str, texts: list[str]) -> Iterator[tuple[str, Codes]]:
    """The length of a text and each of its characters; 0 beyond its end."""
    array = np.array(texts, np.str_)
    yield f"length of {path}", np.char.str_len(array).astype(np.int64)
    characters = array.view(np.uint32).reshape(len(texts), -1)
    for place in range(characters.shape[1]):
        column = characters[:, place].astype(np.int64)
        if int(column.max()) < MOST_KINDS:
            yield f"{path}[{place}]", column - column.min()


def _bits(path: str, packed: list[bytes]) -> Iterator[tuple[str, Codes]]:
    """The length of packed bits and each bit; 0 beyond their end."""
    longest = max(map(len, packed))
    yield f"length of {path}", np.array([len(row) for row in packed], np.int64)
    rows = np.frombuffer(b"".join(row.ljust(longest, b"\0") for row in packed), np.uint8).reshape(len(packed), longest)
    bits = np.unpackbits(rows, axis=1, bitorder="little")
    for bit in range(bits.shape[1]):
        yield f"bit {bit} of {path}", bits[:, bit].astype(np.int64)


def _codes(contents: Sequence[object]) -> Codes | None:
    """Number the different contents in the order of their coming; nothing if there are too many."""
    known: dict[object, int] = {}
    codes = np.empty(len(contents), np.int64)
    for row, content in enumerate(contents):
        # 1, 1.0 and True are different things to give out.
        code = known.setdefault((type(content), content), len(known))
        if code >= MOST_KINDS:
            return None
        codes[row] = code
    return codes


def _equal_parts(numbers: npt.NDArray[np.float64]) -> Codes:
    """Cut numbers into parts that are about equally frequent."""
    finite = np.nan_to_num(numbers, nan=0.0)
    edges = np.unique(np.quantile(finite, np.linspace(0, 1, BINS + 1)[1:-1], method="lower"))
    return np.searchsorted(edges, finite, side="right").astype(np.int64)


def _float_columns(path: str, numbers: npt.NDArray[np.float64]) -> Iterator[tuple[str, Codes]]:
    """Where a number lies, what it is if there are few, and its last binary digit: 2^e divides it, 2^(e+1) does not."""
    finite = np.isfinite(numbers)
    mantissa, exponent = np.frexp(np.where(finite, numbers, 0.0))
    whole = (mantissa * 2.0**53).astype(np.int64)
    lowest = np.zeros(len(numbers))
    np.log2((whole & -whole).astype(np.float64), out=lowest, where=whole != 0)
    last = np.where(whole == 0, 0, lowest.astype(np.int64) + exponent - 53 + 1100)
    parts = _equal_parts(np.clip(np.nan_to_num(numbers), -1e300, 1e300))
    kind = np.where(finite, np.sign(np.where(finite, numbers, 0.0)) + 1, np.where(np.isnan(numbers), 3, 4))
    yield path, parts - parts.min()
    yield f"last binary digit of {path}", last - last.min()
    yield f"kind of {path}", (kind - kind.min()).astype(np.int64)
    if len(numbers) <= 2**20:
        exact, codes = np.unique(numbers, return_inverse=True)
        if len(exact) <= MOST_KINDS:
            yield f"exact {path}", codes.astype(np.int64)
