"""How often the best guess of a value from one output is right: Σ_y max_x prior_x Q(y|x), family by family."""

from collections.abc import Callable, Sequence
from itertools import accumulate
from math import prod


def guess_by_rank(
    prior: Sequence[float], first: Callable[[int], float], inside: float, outside: float, none: float = 0.0
) -> float:
    """Guess from an output that contains some of the values, all alike: `inside` or `outside` times its measure.

    `first` is how likely an output contains the value of this rank and none before; `none`: it contains none at all.
    If an output lacks the most likely value, that one may still be the best guess.
    """
    ranked = sorted(prior, reverse=True)
    most = ranked[0]
    return (
        sum(first(rank) * max(inside * each, outside * most) for rank, each in enumerate(ranked))
        + none * outside * most
    )


def firsts(size: int, chosen: int) -> list[float]:
    """Return how likely the first of so many chosen among `size` places is each of them.

    >>> firsts(4, 2)
    [0.5, 0.3333333333333333, 0.16666666666666666, 0.0]
    """
    start = chosen / size
    steps = ((size - chosen - rank) / (size - 1 - rank) for rank in range(size - 1))
    return list(accumulate(steps, lambda chance, step: chance * max(step, 0.0), initial=start))


def largest_mean(chances: Sequence[float], high: Sequence[float], low: Sequence[float]) -> float:
    """Return the mean of the largest of independent numbers, each `high` with its chance and `low` otherwise.

    >>> largest_mean([0.5, 0.5], [2.0, 1.0], [0.0, 0.5])
    1.375
    """
    floor = max(low)
    ranked = sorted(zip(high, chances, strict=True), reverse=True)
    total, left = 0.0, 1.0
    for number, chance in ranked:
        if number <= floor:
            break
        total += left * chance * number
        left *= 1 - chance
    return total + left * floor


def guess_bits(one: Sequence[float], zero: Sequence[float], prior: Sequence[float]) -> float:
    """Guess a set from independent bits: 1 with these chances if its item is in the set, and if not."""
    return prod(
        max(share * p, (1 - share) * q) + max(share * (1 - p), (1 - share) * (1 - q))
        for p, q, share in zip(one, zero, prior, strict=True)
    )
