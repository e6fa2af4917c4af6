"""Encodings of the points of small order on the curve of Ed25519, computed from its equation alone.

The curve is −x² + y² = 1 + d·x²·y² over the integers modulo p; 8 of its points P have 8·P = 0.
"""

from itertools import count
from typing import Final

P: Final = 2**255 - 19
D: Final = -121665 * pow(121666, -1, P) % P
ORDER: Final = 2**252 + 27742317777372353535851937790883648493  # of the large subgroup
NOTHING: Final = (0, 1)

Point = tuple[int, int]


def add(left: Point, right: Point) -> Point:
    """Add two points."""
    (x1, y1), (x2, y2) = left, right
    both = D * x1 * x2 * y1 * y2
    x = (x1 * y2 + x2 * y1) * pow(1 + both, -1, P)
    y = (y1 * y2 + x1 * x2) * pow(1 - both, -1, P)
    return x % P, y % P


def times(number: int, point: Point) -> Point:
    """Multiply a point."""
    total = NOTHING
    while number:
        total = add(total, point) if number % 2 else total
        point, number = add(point, point), number // 2
    return total


def _square_root(square: int) -> int | None:
    root = pow(square, (P + 3) // 8, P)
    for candidate in (root, root * pow(2, (P - 1) // 4, P) % P):
        if candidate * candidate % P == square % P:
            return candidate
    return None


def _of_order_eight() -> Point:
    """Take away the large part of points until one of order 8 is left."""
    for y in count(2):
        x = _square_root((y * y - 1) * pow(D * y * y + 1, -1, P))
        if x is not None:
            point = times(ORDER, (x, y))
            if times(4, point) != NOTHING:
                return point
    raise AssertionError


def small_order_points() -> list[Point]:
    """Return the 8 points of small order."""
    generator = _of_order_eight()
    return [times(number, generator) for number in range(8)]


def spellings(point: Point) -> set[str]:
    """Return every 32 bytes that stand for a point, in hexadecimal; y and, where x is 0, its sign have two of them."""
    x, y = point
    signs = {0, 1} if x == 0 else {x % 2}
    numbers = {y, y + P} if y + P < 2**255 else {y}
    return {(number | sign << 255).to_bytes(32, "little").hex() for number in numbers for sign in signs}
