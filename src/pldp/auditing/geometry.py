"""The blocks of finite geometries once more, from the rules of the wire format alone: how many, and what is in them."""

from collections.abc import Callable, Sequence

Contains = Callable[[int, int], bool]
"""Whether a block, an output, contains a value."""


def hyperplanes(size: int, order: int) -> tuple[int, int, Contains]:
    """Return how many hyperplanes there are, how many contain a given value, and which values each contains."""
    length = 2
    while _points(order, length) < size:
        length += 1

    def contains(output: int, value: int) -> bool:
        return _meet(order, length, _coordinates(order, output), _coordinates(order, value))

    return _points(order, length), _points(order, length - 1), contains


def pairs_of_groups(size: int, order: int) -> tuple[int, int, Contains]:
    """Return the same for pairs of the groups of a hash function: parallel hyperplanes that contain (value, 1)."""
    length = 1
    while order**length < size:
        length += 1
    functions = _points(order, length)
    pairs = [(low, high) for high in range(order) for low in range(high)]

    def contains(output: int, value: int) -> bool:
        function, pair = divmod(output, len(pairs))
        point = [*(value // order**place % order for place in range(length)), 1]
        return any(_meet(order, length + 1, [group, *_coordinates(order, function)], point) for group in pairs[pair])

    return functions * len(pairs), functions * (order - 1), contains


def _points(order: int, length: int) -> int:
    return sum(order**place for place in range(length))


def _coordinates(order: int, point: int) -> list[int]:
    """Return the coordinates of a point: number 0 is (1), and number 1 + x + q·h is (x, and the coordinates of h)."""
    found = []
    while point:
        point, digit = divmod(point - 1, order)
        found.append(digit)
    return [*found, 1]


def _meet(order: int, length: int, plane: Sequence[int], point: Sequence[int]) -> bool:
    """Tell whether Σ u_i x_{t−1−i} is 0 in the field; coordinates that are missing are 0."""
    opposite = ((coordinate, length - 1 - place) for place, coordinate in enumerate(plane))
    return sum(coordinate * point[place] for coordinate, place in opposite if place < len(point)) % order == 0
