"""Split a total ε over several questions so that the sum of their errors is as small as possible.

Each question has a cost that falls with its ε, usually the summed variance of its shares. At the optimum all questions
gain the same from a little more ε, so one number, that common slope, decides everything; it is found by bisection.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from pldp.budgets.levels import Level
from pldp.errors import EpsilonError
from pldp.mechanisms import AUTO, LARGEST_EPSILON, MICRO, epsilon_text, family, suitable

Cost = Callable[[float], float]  #: Error of one question as a function of its ε: falling and convex.

LEVEL_FRACTIONS = {"high": Fraction(1, 3), "mid": Fraction(1, 2), "low": Fraction(1)}
"""Levels of protection as fractions of a question's ε (Feng, Zhang, "MPLDP", 2024)."""

_ROUNDS = 60
_PRECISION = 1e-9


def unary_cost(size: int) -> Cost:
    """Return the cost that OBRR uses for symmetric unary encoding: k·e^{ε/2}/(e^{ε/2}−1)².

    It is the summed variance of k shares of one report, without the part that depends on the shares.
    """
    return lambda epsilon: size * math.exp(epsilon / 2) / math.expm1(epsilon / 2) ** 2


def variance_cost(mechanism: str, size: int) -> Cost:
    """Return the summed variance of k equal shares under a mechanism (`auto`: the better of k-RR and OUE or LH).

    The formulas are those of the channels before their weights are rounded, so that slopes are smooth.
    """
    families = suitable(size) if mechanism == AUTO else [family(mechanism, "labels", per_value=False)]
    return lambda epsilon: min(each.ideal_variance(size, epsilon) for each in families)


def allocate(total_micro_epsilon: int, costs: Sequence[Cost]) -> list[int]:
    """Split a total over questions so that the sum of their costs is least; the parts sum to the total exactly.

    >>> allocate(1_000_000, [unary_cost(8), unary_cost(8)])
    [500000, 500000]
    >>> allocate(1_000_000, [unary_cost(8), unary_cost(64)])         # near the k^(1/3) rule: 1/3 and 2/3
    [333337, 666663]
    """
    if not costs:
        raise EpsilonError("costs must name at least one question, not none")
    if total_micro_epsilon < len(costs):
        text = epsilon_text(total_micro_epsilon)
        raise EpsilonError(f"total epsilon {text} is too small to split over {len(costs)} questions")
    total = total_micro_epsilon / MICRO
    if total >= LARGEST_EPSILON * len(costs):
        return _whole([1.0] * len(costs), total_micro_epsilon)
    # Beyond it costs are flat to the last digit, and e^ε overflows.
    largest = min(total, LARGEST_EPSILON)
    low = min(_gain(cost, largest) for cost in costs)
    high = max(_gain(cost, largest / (1000 * len(costs))) for cost in costs)
    # A larger common gain means smaller parts: the parts of both ends bracket those of every gain between.
    least, most = [1e-6 * total] * len(costs), [largest] * len(costs)
    for _ in range(_ROUNDS):
        middle = math.sqrt(low * high)
        parts = [_part(cost, middle, *ends) for cost, *ends in zip(costs, least, most, strict=True)]
        if sum(parts) > total:
            low, most = middle, parts
        else:
            high, least = middle, parts
        if sum(most) - sum(least) < _PRECISION * total:
            break
    return _whole(least, total_micro_epsilon)


def _gain(cost: Cost, epsilon: float) -> float:
    """How fast the cost falls with ε."""
    step = 1e-5 * epsilon
    return (cost(epsilon - step) - cost(epsilon + step)) / (2 * step)


def _part(cost: Cost, gain: float, low: float, high: float) -> float:
    """Return the ε between these ends at which the cost falls no faster than the common gain any more."""
    if _gain(cost, high) >= gain:
        return high
    precision = _PRECISION * high
    while high - low > precision:
        middle = (low + high) / 2
        low, high = (middle, high) if _gain(cost, middle) > gain else (low, middle)
    return high


def _whole(parts: Sequence[float], total: int) -> list[int]:
    """Scale to the total and round to whole micro-ε that sum to it exactly, largest remainders first."""
    scale = total / sum(parts)
    exact = [part * scale for part in parts]
    whole = [max(1, math.floor(part)) for part in exact]
    order = sorted(range(len(parts)), key=lambda place: whole[place] - exact[place])
    missing = total - sum(whole)
    for place in order[:missing] if missing >= 0 else ():
        whole[place] += 1
    if sum(whole) != total:
        raise EpsilonError(
            f"epsilon {epsilon_text(total)} leaves a question less than a millionth; ask fewer questions"
        )
    return whole


def cube_root_rule(total_micro_epsilon: int, sizes: Sequence[int]) -> list[int]:
    """Split in proportion to k^(1/3), the optimum of unary encoding for small ε.

    >>> cube_root_rule(1_000_000, [8, 64])
    [333333, 666667]
    """
    return _whole([size ** (1 / 3) for size in sizes], total_micro_epsilon)


def fraction_levels(micro_epsilon: int, fractions: Mapping[str, Fraction] = LEVEL_FRACTIONS) -> tuple[Level, ...]:
    """Return levels whose ε are fractions of a question's, rounded down, strictest first.

    >>> [str(level) for level in fraction_levels(900_000)]
    ['high (ε = 0.3)', 'mid (ε = 0.45)', 'low (ε = 0.9)']
    """
    levels = []
    for name, fraction in fractions.items():
        micro = math.floor(micro_epsilon * fraction)
        if not 0 < fraction <= 1 or micro < 1:
            rule = "must be a fraction above 0 and at most 1 that leaves a millionth of epsilon"
            raise EpsilonError(f"level {name} {rule}")
        levels.append(Level(name, micro))
    return tuple(sorted(levels, key=lambda level: level.micro_epsilon))
