"""What was observed, taken apart into columns of small integers that an event can be made of.

An observation is whatever a mechanism gave out: a number, text, bytes, or lists and tables of these. Every part of it
that could carry a secret becomes a column: the value of each field, its type, its length, the order of its keys, each
character of a text, each bit of packed bits, and of a floating-point number the place of its last binary digit, which
shows how it was computed. Columns come in families; the search looks at each family by itself, so that the many
columns of one (the digits of a random id) do not crowd out the few of another (the time).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pldp.auditing.texts import Found, hex_columns, is_random_hex, repeated_pieces
from pldp.errors import AuditError

Codes = npt.NDArray[np.int64]

ANSWER, ID, PARITY, PIECE, BYTES = "answer", "id", "parity", "piece", "bytes"
REQUEST, TIME = "request", "time"
FAMILIES: Final = (ANSWER, ID, PARITY, PIECE, BYTES, REQUEST, TIME)
"""What the collector sees: fields, random identifiers, sums of their bits, odd pieces, raw text, requests, times."""
_BY_ROOT: Final = {"time": TIME, "since": TIME, "body": BYTES, "headers": REQUEST, "requests": REQUEST, "url": REQUEST}

MOST_PARTS: Final = 4096  # fields, characters and bytes of one observation
MOST_KINDS: Final = 4096  # different contents of a column; one of more is cut into parts (numbers) or left out (texts)
BINS: Final = 64  # equal parts that a column of many different numbers is cut into
_LONGEST_WORD: Final = 24
_FEW: Final = 50


@dataclass(frozen=True)
class Column:
    """One thing that can be looked at: `take` gives its codes, from 0 up, for some rows; `say` a code in words."""

    name: str
    family: str
    take: Callable[[slice], Codes]
    say: Callable[[int], str]


def held(name: str, family: str, codes: Codes, say: Callable[[int], str] = str) -> Column:
    """Return a column whose codes are held as they are."""
    return Column(name, family, lambda rows: codes[rows], say)


def columns_of_arrays(outputs: npt.NDArray[Any]) -> list[Column]:
    """Return the columns of vectorised outputs: integers, floats, or rows of packed bits."""
    if outputs.ndim == 2:
        if outputs.dtype != np.uint8 or not 0 < outputs.shape[1] <= MOST_PARTS:
            raise AuditError(f"rows must be of 1 to {MOST_PARTS:,} bytes (uint8), not of {outputs.dtype}")
        return [_bit(outputs, bit) for bit in range(8 * outputs.shape[1])]
    if outputs.ndim != 1:
        raise AuditError("a vectorised mechanism must return one flat array, or rows of bytes, of one type")
    if outputs.dtype.kind == "f":
        return list(_float_columns("output", outputs))
    if outputs.dtype.kind in "iub":
        low, high = int(outputs.min()), int(outputs.max())
        if high - low < MOST_KINDS:
            return [held("output", ANSWER, outputs.astype(np.int64) - low, lambda code: str(code + low))]
        return [_cut("output", outputs.astype(np.float64))]
    raise AuditError(f"outputs must be integers, floats or rows of bytes, not {outputs.dtype}")


def _bit(rows: npt.NDArray[np.uint8], bit: int) -> Column:
    """One bit of packed rows, unpacked when asked for: bit i is in byte i//8 at place i%8 from the lowest."""
    return Column(f"bit {bit}", ANSWER, lambda some: (rows[some, bit >> 3] >> (bit & 7) & 1).astype(np.int64), str)


def columns_of(observations: Sequence[Mapping[str, object]]) -> list[Column]:
    """Return the columns of any observations.

    >>> [column.name for column in columns_of([{"id": "a1", "n": 3}, {"id": "b1", "n": 3}])]
    ['id', 'id[0]']
    """
    found: list[Column] = []
    for path, contents in _split("", list(observations)):
        found += [column for column in _columns(path, contents) if _varies(column)]
        if len(found) > 8 * MOST_PARTS:
            raise AuditError(f"an output must have at most {MOST_PARTS:,} parts, and some have more")
    return found or [held("output", ANSWER, np.zeros(len(observations), np.int64))]


def _varies(column: Column) -> bool:
    codes = column.take(slice(None))
    return bool((codes != codes[0]).any())


def family_of(path: str) -> str:
    """Return the family of a field by the name under which it was observed."""
    return next(
        (_BY_ROOT[word] for word in path.replace("[", " ").replace(".", " ").split() if word in _BY_ROOT), ANSWER
    )


class _Absent:
    """What stands where an observation lacks a part that others have."""

    def __repr__(self) -> str:
        return "absent"


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


def _columns(path: str, contents: list[Any]) -> Iterator[Column]:
    kinds = set(map(type, contents))
    longest = max(map(len, contents)) if kinds <= {str, bytes} else 0
    if longest > MOST_PARTS:
        raise AuditError(f"an output must have at most {MOST_PARTS:,} characters or bytes, not {longest:,}")
    if float in kinds and kinds <= {int, float}:
        yield from _float_columns(path, np.array(contents, np.float64))
        return
    family = family_of(path)
    known = _number(contents)
    if known is not None and longest and len(known[1]) > max(_FEW, len(contents) // 2):
        known = None  # random text: nearly all different, whatever their number
    if known is not None and kinds == {int} and len(known[1]) > max(BINS, len(contents) // 8):
        known = None  # numbers that hardly ever come twice are known by where they lie
    if known is not None and not (family == BYTES and kinds == {str} and longest > _LONGEST_WORD):
        codes, words = known
        yield held(path, family, codes, words.__getitem__)
    elif kinds == {int}:
        yield _cut(path, np.array([float(content) for content in contents]))
        yield held(f"last digit of {path}", family, np.array([content & 1 for content in contents], np.int64))
    if kinds == {str} and (known is None or known[0].any()):
        yield from _characters(path, contents, family, random=known is None)
    elif kinds == {bytes} and (known is None or known[0].any()):
        yield from _bits(path, contents)


def _characters(path: str, texts: list[str], family: str, *, random: bool) -> Iterator[Column]:
    """The length of a text, each of its characters (0 beyond its end), and pieces that come too often."""
    array = np.array(texts, np.str_)
    yield held(f"length of {path}", family, np.char.str_len(array).astype(np.int64))
    characters = array.view(np.uint32).reshape(len(texts), -1)
    own = ID if random and family == ANSWER else family
    for place in range(characters.shape[1]):
        column = characters[:, place].astype(np.int64)
        least = int(column.min())
        if int(column.max()) < MOST_KINDS and int(column.max()) > least:
            yield held(f"{path}[{place}]", own, column - least, partial(_character, least))
    hexadecimal = is_random_hex(characters)
    found: Iterator[Found] = hex_columns(characters) if hexadecimal and random else iter(())
    for name, codes, kind in found:
        yield held(f"{name} of {path}", PARITY if kind == "parity" else own, codes)
    for name, codes, words in repeated_pieces(characters) if random else ():  # of few texts, each is known by itself
        yield held(f"{name} of {path}", PIECE, codes, words.__getitem__)


def _character(least: int, code: int) -> str:
    return repr(chr(code + least))


def _bits(path: str, packed: list[bytes]) -> Iterator[Column]:
    """The length of packed bits and each bit; 0 beyond their end."""
    longest = max(map(len, packed))
    yield held(f"length of {path}", ANSWER, np.array([len(row) for row in packed], np.int64))
    rows = np.frombuffer(b"".join(row.ljust(longest, b"\0") for row in packed), np.uint8).reshape(len(packed), longest)
    bits = np.unpackbits(rows, axis=1, bitorder="little")
    for bit in range(bits.shape[1]):
        yield held(f"bit {bit} of {path}", ANSWER, bits[:, bit].astype(np.int64))


def _number(contents: Sequence[object]) -> tuple[Codes, list[str]] | None:
    """Number the different contents in the order of their coming; nothing if there are too many."""
    known: dict[tuple[type, object], int] = {}
    codes = np.empty(len(contents), np.int64)
    for row, content in enumerate(contents):
        # 1, 1.0 and True are different things to give out.
        code = known.setdefault((type(content), content), len(known))
        if code >= MOST_KINDS:
            return None
        codes[row] = code
    return codes, [repr(each[1])[:_LONGEST_WORD] for each in known]


def _edges(numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return where to cut numbers into parts that are about equally frequent."""
    return np.unique(np.quantile(numbers, np.linspace(0, 1, BINS + 1)[1:-1], method="lower"))


def _cut(name: str, numbers: npt.NDArray[np.float64]) -> Column:
    finite = np.clip(np.nan_to_num(numbers, nan=0.0), -1e300, 1e300)
    edges = _edges(finite)
    codes = np.searchsorted(edges, finite, side="right").astype(np.int64)
    bounds = [-np.inf, *edges.tolist(), np.inf]

    def say(code: int) -> str:
        return f"{bounds[code]:.6g} to {bounds[code + 1]:.6g}"

    return held(name, family_of(name), codes, say)


def _float_columns(path: str, numbers: npt.NDArray[np.float64]) -> Iterator[Column]:
    """Where a number lies, what it is if there are few, and its last binary digit: 2^e divides it, 2^(e+1) does not."""
    numbers = numbers.astype(np.float64)
    family, finite = family_of(path), np.isfinite(numbers)
    mantissa, exponent = np.frexp(np.where(finite, numbers, 0.0))
    whole = (mantissa * 2.0**53).astype(np.int64)
    lowest = np.zeros(len(numbers))
    np.log2((whole & -whole).astype(np.float64), out=lowest, where=whole != 0)
    last = np.where(whole == 0, 0, lowest.astype(np.int64) + exponent - 53 + 1100)
    kind = np.where(finite, np.sign(np.where(finite, numbers, 0.0)) + 1, np.where(np.isnan(numbers), 3, 4))
    yield _cut(path, numbers)
    yield held(f"last binary digit of {path}", family, last - last.min(), lambda code: f"2^{code + last.min() - 1100}")
    yield held(f"kind of {path}", family, (kind - kind.min()).astype(np.int64))
    if len(numbers) <= 2**20:
        exact, codes = np.unique(numbers, return_inverse=True)
        if len(exact) <= MOST_KINDS:
            yield held(f"exact {path}", family, codes.astype(np.int64), lambda code: f"{exact[code]!r}")
