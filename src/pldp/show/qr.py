"""QR codes of links as SVG, with the standard library only: bytes, versions 1 to 20, error correction M (15 %).

The code follows ISO/IEC 18004: data and Reed–Solomon codewords in interleaved blocks, written in a zigzag around the
fixed patterns, under the mask with the least penalty.
"""

from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import Final

from pldp.errors import UsageError

# Of versions 1, 2, … at error correction M: check codewords of a block, and blocks.
_CHECKS: Final = (10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22, 24, 24, 28, 28, 26, 26, 26)
_BLOCKS: Final = (1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9, 9, 10, 10, 11, 13, 14, 16)
_POLYNOMIAL: Final = 0x11D  # of the field of 256 elements
_FORMAT: Final = 0x537  # generator of the BCH code of the format …
_FORMAT_MASK: Final = 0x5412
_VERSION: Final = 0x1F25  # … and of that of the version
_QUIET: Final = 4  # modules of empty border

Grid = list[list[bool]]
_MASKS: Final[tuple[Callable[[int, int], int], ...]] = (
    lambda y, x: (y + x) % 2,
    lambda y, _: y % 2,
    lambda _, x: x % 3,
    lambda y, x: (y + x) % 3,
    lambda y, x: (y // 2 + x // 3) % 2,
    lambda y, x: y * x % 2 + y * x % 3,
    lambda y, x: (y * x % 2 + y * x % 3) % 2,
    lambda y, x: ((y + x) % 2 + y * x % 3) % 2,
)
"""A module is inverted where its mask is 0."""


def qr_svg(text: str, label: str = "") -> str:
    """Return the QR code of a text as SVG, black on white on any page; `label` describes it to screen readers.

    >>> qr_svg("https://survey.example/")[:73]
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 33 33" role="img" ar'
    """
    grid = qr_modules(text)
    size = len(grid) + 2 * _QUIET
    path = "".join(
        f"M{x + _QUIET} {y + _QUIET}h1v1h-1z" for y, row in enumerate(grid) for x, dark in enumerate(row) if dark
    )
    name = escape(label or f"QR code of {text}", quote=True)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {size}" role="img" aria-label="{name}" '
        f'shape-rendering="crispEdges"><path fill="#fff" d="M0 0h{size}v{size}H0z"/>'
        f'<path fill="#000" d="{path}"/></svg>'
    )


def qr_modules(text: str, mask: int | None = None) -> Grid:
    """Return the modules of a QR code, dark ones true; with the best mask unless one is given.

    >>> len(qr_modules("https://survey.example/"))
    25
    """
    content = text.encode()
    version = next((each for each in range(1, len(_CHECKS) + 1) if _fits(content, each)), 0)
    if not version:
        raise UsageError(f"a QR code holds at most {_room(len(_CHECKS)) - 3} bytes, not {len(content)}")
    empty, fixed = _patterns(version)
    words = _interleaved(_data_words(content, version), version)
    masks = range(len(_MASKS)) if mask is None else (mask,)
    return min((_masked(empty, fixed, words, each) for each in masks), key=_penalty)


def _total(version: int) -> int:
    """Return the codewords that a version holds: its area without the fixed patterns."""
    size = 17 + 4 * version
    aligned = version // 7 + 2 if version > 1 else 0
    taken = 3 * 64 + 31 + 2 * (size - 16)  # finders with borders, format, timing
    if aligned:
        taken += 25 * (aligned * aligned - 3) - 10 * (aligned - 2)  # those on a timing line cover five of it
    return (size * size - taken - 36 * (version > 6)) // 8


def _room(version: int) -> int:
    return _total(version) - _CHECKS[version - 1] * _BLOCKS[version - 1]


def _fits(content: bytes, version: int) -> bool:
    return len(content) + (2 if version < 10 else 3) <= _room(version)


def _data_words(content: bytes, version: int) -> list[int]:
    """Return mode, length, bytes, end and padding as codewords."""
    width, room = (8 if version < 10 else 16), _room(version)
    bits = f"0100{len(content):0{width}b}" + "".join(f"{byte:08b}" for byte in content)
    bits = bits.ljust(min(len(bits) + 4, 8 * room), "0")
    bits = bits.ljust(-(-len(bits) // 8) * 8, "0")
    words = [int(bits[at : at + 8], 2) for at in range(0, len(bits), 8)]
    return words + [(0xEC, 0x11)[place % 2] for place in range(room - len(words))]


def _multiply(one: int, two: int) -> int:
    product = 0
    for bit in range(7, -1, -1):
        product = product << 1 ^ (product >> 7) * _POLYNOMIAL
        product ^= (two >> bit & 1) * one
    return product


def _generator(degree: int) -> list[int]:
    """Return the coefficients of Π (x − 2ⁱ) below the first, highest power first."""
    found, root = [0] * (degree - 1) + [1], 1
    for _ in range(degree):
        for place in range(degree):
            after = found[place + 1] if place + 1 < degree else 0
            found[place] = _multiply(found[place], root) ^ after
        root = _multiply(root, 2)
    return found


def _remainder(words: Sequence[int], generator: Sequence[int]) -> list[int]:
    found = [0] * len(generator)
    for word in words:
        factor = word ^ found.pop(0)
        found.append(0)
        found = [own ^ _multiply(each, factor) for own, each in zip(found, generator, strict=True)]
    return found


def _interleaved(words: Sequence[int], version: int) -> list[int]:
    """Cut into blocks, add the check codewords of each, and take one of each block in turn."""
    count, generator = _BLOCKS[version - 1], _generator(_CHECKS[version - 1])
    short, longer = divmod(len(words), count)
    blocks, at = [], 0
    for place in range(count):
        size = short + (place >= count - longer)
        blocks.append(list(words[at : at + size]))
        at += size
    checks = [_remainder(block, generator) for block in blocks]
    data = [block[place] for place in range(short + 1) for block in blocks if place < len(block)]
    return data + [check[place] for place in range(len(generator)) for check in checks]


def _patterns(version: int) -> tuple[Grid, Grid]:
    """Return the fixed patterns, and where they are; the format is left open."""
    size = 17 + 4 * version
    grid, fixed = ([[False] * size for _ in range(size)] for _ in range(2))

    def put(y: int, x: int, dark: bool) -> None:  # noqa: FBT001 - one module
        if 0 <= y < size and 0 <= x < size:
            grid[y][x], fixed[y][x] = dark, True

    for at in range(size):
        put(6, at, at % 2 == 0)
        put(at, 6, at % 2 == 0)
    for top, left in ((3, 3), (3, size - 4), (size - 4, 3)):
        for y in range(-4, 5):
            for x in range(-4, 5):
                put(top + y, left + x, max(abs(y), abs(x)) in {0, 1, 3})
    for y, x in _alignments(version):
        for down in range(-2, 3):
            for right in range(-2, 3):
                put(y + down, x + right, max(abs(down), abs(right)) != 1)
    for place, y, x in _format_places(size):
        put(y, x, place < 0)
    if version > 6:
        bits = _coded(version, _VERSION, 12)
        for place in range(18):
            put(place // 3, size - 11 + place % 3, bool(bits >> place & 1))
            put(size - 11 + place % 3, place // 3, bool(bits >> place & 1))
    return grid, fixed


def _alignments(version: int) -> Iterator[tuple[int, int]]:
    if version < 2:
        return
    count, last = version // 7 + 2, 10 + 4 * version
    step = -(-(last - 6) // (count - 1) // 2) * 2
    lines = [6, *(last - step * place for place in range(count - 2, -1, -1))]
    corners = {(6, 6), (6, last), (last, 6)}
    yield from ((y, x) for y in lines for x in lines if (y, x) not in corners)


def _format_places(size: int) -> Iterator[tuple[int, int, int]]:
    """Yield each bit of the format with its two places, and −1 with the module that is always dark."""
    for place in range(8):
        yield place, (place if place < 6 else place + 1), 8
        yield place, 8, size - 1 - place
    for place in range(8, 15):
        yield place, 8, (7 if place == 8 else 14 - place)
        yield place, size - 15 + place, 8
    yield -1, size - 8, 8


def _coded(number: int, generator: int, checks: int) -> int:
    """Return a number with the check bits of a BCH code behind it."""
    rest = number << checks
    for bit in range(rest.bit_length() - 1, checks - 1, -1):
        rest ^= (rest >> bit & 1) * (generator << (bit - checks))
    return number << checks | rest


def _zigzag(size: int) -> Iterator[tuple[int, int]]:
    """Yield all modules in the order of the data: two columns up, two down, from the right; column 6 is a pattern."""
    columns = [x for x in range(size - 1, -1, -1) if x != 6]
    for turn, right in enumerate(columns[::2]):
        rows = range(size - 1, -1, -1) if turn % 2 == 0 else range(size)
        yield from ((y, x) for y in rows for x in (right, columns[2 * turn + 1]))


def _masked(empty: Grid, fixed: Grid, words: Sequence[int], mask: int) -> Grid:
    """Write the codewords around the patterns under a mask, and name the mask in the format."""
    grid = [list(row) for row in empty]
    bits = iter("".join(f"{word:08b}" for word in words))
    for y, x in _zigzag(len(grid)):
        if not fixed[y][x]:
            grid[y][x] = (next(bits, "0") == "1") != (_MASKS[mask](y, x) == 0)
    code = _coded(mask, _FORMAT, 10) ^ _FORMAT_MASK  # error correction M is written 00
    for place, y, x in _format_places(len(grid)):
        grid[y][x] = place < 0 or bool(code >> place & 1)
    return grid


def _penalty(grid: Grid) -> int:
    """Return how hard a code is to read: runs, squares, what looks like a finder, and a lack of balance."""
    size = len(grid)
    lines = [*("".join("01"[dark] for dark in row) for row in grid)]
    lines += ["".join("01"[grid[y][x]] for y in range(size)) for x in range(size)]
    runs = sum(
        max(0, len(run) - 2) if len(run) >= 5 else 0
        for line in lines
        for run in line.replace("01", "0 1").replace("10", "1 0").split()
    )
    squares = sum(
        grid[y][x] == grid[y + 1][x] == grid[y][x + 1] == grid[y + 1][x + 1]
        for y in range(size - 1)
        for x in range(size - 1)
    )
    finders = sum(_count(line, "10111010000") + _count(line, "00001011101") for line in lines)
    dark = sum(map(sum, grid))
    balance = abs(20 * dark - 10 * size * size) // (size * size)
    return runs + 3 * squares + 40 * finders + 10 * balance


def _count(line: str, piece: str) -> int:
    return sum(line.startswith(piece, at) for at in range(len(line)))
