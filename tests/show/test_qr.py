"""QR codes read back by the rules of ISO/IEC 18004 as what they were made of; one that a reader has read is frozen."""

from __future__ import annotations

from hashlib import sha256
from itertools import pairwise

import pytest

from pldp.errors import UsageError
from pldp.show import qr, qr_svg

LINK = "https://survey.example/#"


def exponents() -> tuple[list[int], dict[int, int]]:
    powers = [1]
    for _ in range(254):
        double = powers[-1] << 1
        powers.append(double ^ 0x11D if double > 255 else double)
    return powers, {power: place for place, power in enumerate(powers)}


POWERS, LOGARITHMS = exponents()


def value_at(words: list[int], place: int) -> int:
    """The polynomial of a block at 2^place: 0 at all check places unless a codeword is wrong."""
    total = 0
    for word in words:
        total = (0 if not total else POWERS[(LOGARITHMS[total] + place) % 255]) ^ word
    return total


def read_back(grid: list[list[bool]]) -> str:
    size, version = len(grid), (len(grid) - 17) // 4
    _, fixed = qr._patterns(version)
    code = sum(grid[y][8] << place for place, y in enumerate((0, 1, 2, 3, 4, 5, 7, 8)))
    code |= sum(grid[8][x] << place for place, x in enumerate((7, 5, 4, 3, 2, 1, 0), 8))
    level, mask = divmod((code ^ 0x5412) >> 10, 8)
    assert level == 0
    bits = [grid[y][x] != (qr._MASKS[mask](y, x) == 0) for y, x in qr._zigzag(size) if not fixed[y][x]]
    words = [
        sum(bit << 7 - at for at, bit in enumerate(bits[start : start + 8])) for start in range(0, len(bits) - 7, 8)
    ]
    count, checks = qr._BLOCKS[version - 1], qr._CHECKS[version - 1]
    short = (len(words) - count * checks) // count
    data, rest = words[: len(words) - count * checks], words[len(words) - count * checks :]
    longer = len(data) - short * count
    blocks = [[data[row * count + own] for row in range(short)] for own in range(count)]
    for own, extra in enumerate(data[short * count :], count - longer):
        blocks[own].append(extra)
    for own, block in enumerate(blocks):
        whole = block + [rest[row * count + own] for row in range(checks)]
        assert not any(value_at(whole, place) for place in range(checks))
    stream = "".join(f"{word:08b}" for block in blocks for word in block)
    width = 8 if version < 10 else 16
    assert stream[:4] == "0100"
    length = int(stream[4 : 4 + width], 2)
    return bytes(int(stream[at : at + 8], 2) for at in range(4 + width, 4 + width + 8 * length, 8)).decode()


@pytest.mark.parametrize(
    "length", [1, 14, 26, 42, 62, 84, 106, 122, 152, 180, 213, 251, 287, 331, 362, 412, 450, 504, 560, 624, 666]
)
def test_a_code_of_every_version_reads_back(length: int) -> None:
    text = (LINK + "Ωabc–0123456789" * 60).encode()[:length].decode(errors="ignore")
    assert read_back(qr.qr_modules(text)) == text


def test_every_version_is_tried_and_the_longest_text_fills_the_last() -> None:
    longest = [max(n for n in range(1, 700) if qr._fits(b"x" * n, version)) for version in range(1, 21)]
    assert all(one < two for one, two in pairwise(longest))
    assert longest[0] == 14  # the table of ISO/IEC 18004 at error correction M
    assert longest[-1] == 666
    assert {len(qr.qr_modules("x" * 14)), len(qr.qr_modules("x" * 666))} == {21, 97}


def test_a_changed_module_is_noticed_by_the_reader_of_this_test() -> None:
    grid = qr.qr_modules(LINK)
    grid[-1][-3] = not grid[-1][-3]
    with pytest.raises(AssertionError):
        read_back(grid)


def test_a_code_that_another_reader_has_read_stays_as_it_is() -> None:
    """OpenCV 4 read this code as the link."""
    text = "".join("01"[dark] for row in qr.qr_modules("https://ab") for dark in row)
    assert sha256(text.encode()).hexdigest()[:16] == "1bc4371dfc1788e6"


def test_the_label_is_escaped_and_too_long_a_text_is_refused() -> None:
    assert 'aria-label="&quot;&gt;' in qr_svg(LINK, '">')
    with pytest.raises(UsageError, match="at most 666 bytes, not 667"):
        qr_svg("x" * 667)
