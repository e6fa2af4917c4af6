"""What random text could hide: bits of hexadecimal digits, sums of them, and pieces that come too often."""

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.int64]
Characters = npt.NDArray[np.uint32]
Bits = npt.NDArray[np.uint8]
Found = tuple[str, Codes, str]

PIECES: Final = (3, 4, 8)  # lengths of pieces of text that are counted
MOST_PIECES: Final = 63  # different pieces that are told apart
_EXCESS: Final = 8.0  # standard errors, and times, by which a piece comes more often than its characters explain
_SPACE: Final = 256


def is_random_hex(characters: Characters) -> bool:
    """Tell whether all texts are of hexadecimal digits and of one length."""
    low = characters.min(initial=0xFFFFFFFF)
    digits = (characters >= ord("0")) & (characters <= ord("9")) | (characters >= ord("a")) & (characters <= ord("f"))
    return bool(low > 0 and digits.all())


def to_bits(characters: Characters) -> Bits:
    """Return four bits per hexadecimal digit, the highest first."""
    digits = np.where(characters >= ord("a"), characters - ord("a") + 10, characters - ord("0")).astype(np.uint8)
    shifts = np.arange(3, -1, -1, dtype=np.uint8)
    return (digits[:, :, None] >> shifts & 1).reshape(len(digits), -1).astype(np.uint8)


def hex_columns(characters: Characters) -> Iterator[Found]:
    """Each bit, and the parity of all bits, of each quarter, of each place within the digits and the bytes."""
    bits = to_bits(characters)
    for bit in range(bits.shape[1]):
        yield f"bit {bit}", bits[:, bit].astype(np.int64), "bit"
    groups = {"all bits": slice(None)}
    quarter = max(1, bits.shape[1] // 4)
    groups |= {
        f"bits {start} to {start + quarter - 1}": slice(start, start + quarter)
        for start in range(0, bits.shape[1], quarter)
    }
    groups |= {f"every 4th bit from {start}": slice(start, None, 4) for start in range(4)}
    groups |= {f"every 8th bit from {start}": slice(start, None, 8) for start in range(8)}
    groups |= {"even bits": slice(0, None, 2), "odd bits": slice(1, None, 2)}
    for name, chosen in groups.items():
        yield f"parity of {name}", (bits[:, chosen].sum(axis=1) & 1).astype(np.int64), "parity"
    yield "number of ones", bits.sum(axis=1).astype(np.int64), "parity"


def repeated_pieces(characters: Characters) -> Iterator[tuple[str, Codes, list[str]]]:
    """Pieces of a text at one place that come much more often than the frequencies of their characters explain.

    Nothing comes of texts whose characters are independent. Which of these pieces a text has at a place is the code: 0
    for none.
    """
    rows, width = characters.shape
    varied = [place for place in range(width) if (characters[:, place] != characters[0, place]).any()]
    if len(varied) < min(PIECES) or int(characters.max()) >= _SPACE:
        return
    columns = characters[:, varied].astype(np.int64)
    logarithms = np.empty(columns.shape)
    for place in range(columns.shape[1]):
        logarithms[:, place] = np.log(np.bincount(columns[:, place], minlength=_SPACE) / rows + 1e-300)[
            columns[:, place]
        ]
    for length in PIECES:
        for start in range(len(varied) - length + 1):
            codes, words = _surprising(columns, logarithms, start, length)
            if len(words) > 1:
                yield f"{length} characters from {varied[start]}", codes, words


def _surprising(
    columns: Codes, logarithms: npt.NDArray[np.float64], start: int, length: int
) -> tuple[Codes, list[str]]:
    """Number the pieces at one place that come too often, the most surprising ones if they are many."""
    key = np.zeros(len(columns), np.int64)
    for offset in range(length):
        key = key * _SPACE + columns[:, start + offset]
    kinds, first, counts = np.unique(key, return_index=True, return_counts=True)
    often = np.flatnonzero(counts >= _EXCESS)
    expected = len(columns) * np.exp(logarithms[first[often], start : start + length].sum(axis=1))
    excess = (counts[often] - expected) / np.sqrt(expected + 1)
    clear = often[np.argsort(excess)][-MOST_PIECES:] if len(often) else often
    chosen = [int(kinds[at]) for at in clear if excess[often == at][0] > _EXCESS]
    codes, words = np.zeros(len(columns), np.int64), ["none"]
    for kind in chosen:
        words.append(repr("".join(chr(kind >> 8 * (length - 1 - offset) & 255) for offset in range(length))))
        codes[key == kind] = len(words) - 1
    return codes, words
