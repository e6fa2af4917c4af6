"""Split a total ε over several questions so that the sum of their errors is as small as possible.

Each question has a cost that falls with its ε, usually the summed variance of what is estimated. At the optimum all
questions gain the same from a little more ε, so one number, that common gain, decides everything; it is found by
bisection. Where each person is asked only some of the questions, any of them may be asked together: the largest parts
of so many must fit into the total, and all other parts are as large as the least of those for free.

Costs are the least of several mechanisms, and so not convex everywhere. `exchange` then moves ε between two questions
as long as that lowers the sum.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache

from pldp.budgets.levels import Level
from pldp.curves import log_cubic
from pldp.errors import EpsilonError
from pldp.mechanisms import AUTO, LARGEST_EPSILON, MICRO, epsilon_text, family, suitable

Cost = Callable[[float], float]  #: Error of one question as a function of its ε: falling, and nearly convex.

LEVEL_FRACTIONS = {"high": Fraction(1, 3), "mid": Fraction(1, 2), "low": Fraction(1)}
"""Levels of protection as fractions of a question's ε (Feng, Zhang, "MPLDP", 2024)."""

STEP = 50_000
"""Micro-ε that `exchange` moves at last: no transfer of so much lowers the sum of the costs."""

_ROUNDS = 60
_PRECISION = 1e-9
_FLAT = 1e-12  #: Part of the sum of all costs that a transfer must save: less is rounding.
_MOST_TRANSFERS = 1000
_MOST_PAIRED = 60  #: Questions that are tried as givers and as takers, where not every transfer keeps to the total.
_LEAST_PLACE, _PLACES = 0.02, 40  #: ε at which `tabulate` begins, and how many it computes up to the largest.


def unary_cost(size: int) -> Cost:
    """Return the cost that OBRR uses for symmetric unary encoding: k·e^{ε/2}/(e^{ε/2}−1)².

    It is the summed variance of k shares of one report, without the part that depends on the shares.
    """
    return lambda epsilon: size * math.exp(epsilon / 2) / math.expm1(epsilon / 2) ** 2


@lru_cache(maxsize=64)
def variance_cost(mechanism: str, size: int) -> Cost:
    """Return the summed variance of k equal shares under a mechanism (`auto`: the better of k-RR and OUE or LH).

    The formulas are those of the channels before their weights are rounded, so that slopes are smooth.
    What is computed is kept: questions with as many labels ask for the same few ε, and so do surveys read again.
    """
    families = suitable(size) if mechanism == AUTO else [family(mechanism, "labels", per_value=False)]
    return lru_cache(maxsize=1024)(lambda epsilon: min(each.ideal_variance(size, epsilon) for each in families))


def tabulate(cost: Cost) -> Cost:
    """Return a smooth curve through a cost, which is computed for a few ε only; an ε without a channel is left out.

    >>> exact, curve = unary_cost(8), tabulate(unary_cost(8))
    >>> max(abs(curve(epsilon) / exact(epsilon) - 1) for epsilon in (0.01, 0.3, 1.7, 7.0)) < 0.001
    True
    """
    ratio = (LARGEST_EPSILON / _LEAST_PLACE) ** (1 / (_PLACES - 1))
    found, wrong = [], None
    for place in range(_PLACES):
        epsilon = _LEAST_PLACE * ratio**place
        try:
            found.append((math.log(epsilon), cost(epsilon)))
        except EpsilonError as error:
            wrong = error
    if len(found) < 2:
        raise wrong or EpsilonError("a cost must be known for at least two epsilons")
    curve = log_cubic(*zip(*found, strict=True))
    return lambda epsilon: curve(math.log(epsilon))


def allocate(
    total_micro_epsilon: int, costs: Sequence[Cost], *, largest: Sequence[int] | None = None, ask: int | None = None
) -> list[int]:
    """Split a total over questions so that the sum of their costs is least.

    The parts sum to the total exactly; with `ask`, any so many parts sum to the total at most.

    Parameters
    ----------
    total_micro_epsilon, costs
        What is split, and the cost of each question by its ε.
    largest
        Micro-ε that each question can use at most; those of one answer by default.
    ask
        How many of the questions each person is asked; all by default.

    Examples
    --------
    >>> allocate(1_000_000, [unary_cost(8), unary_cost(8)])
    [500000, 500000]
    >>> allocate(1_000_000, [unary_cost(8), unary_cost(64)])         # near the k^(1/3) rule: 1/3 and 2/3
    [333337, 666663]
    >>> allocate(1_000_000, [unary_cost(8), unary_cost(64)], ask=1)
    [1000000, 1000000]
    >>> allocate(1_000_000, [unary_cost(8), unary_cost(8), unary_cost(64)], ask=2)
    [386491, 386491, 613509]
    """
    if not costs:
        raise EpsilonError("nothing to allocate: costs must name at least one question")
    if total_micro_epsilon < len(costs):
        text = epsilon_text(total_micro_epsilon)
        raise EpsilonError(f"total epsilon {text} is too small to split over {len(costs)} questions")
    asked = len(costs) if ask is None else min(ask, len(costs))
    most = list(largest or [LARGEST_EPSILON * MICRO] * len(costs))
    if total_micro_epsilon >= sum(sorted(most)[-asked:]):
        return _whole([float(each) for each in most], total_micro_epsilon) if asked == len(costs) else most
    if asked == 1:
        return [min(total_micro_epsilon, each) for each in most]
    parts, floor = _common_gain(total_micro_epsilon / MICRO, costs, [each / MICRO for each in most], asked)
    if asked == len(costs):
        whole = _fill(_whole(parts, total_micro_epsilon), most)
        return _exchange(whole, costs, most, asked, _wide_steps(total_micro_epsilon))
    above = [math.floor((part - floor) * MICRO) for part in parts]
    above = [each if each > _PRECISION * total_micro_epsilon * 10 else 0 for each in above]
    least = (total_micro_epsilon - sum(above)) // asked
    whole = [min(least + each, limit) for each, limit in zip(above, most, strict=True)]
    return _exchange(whole, costs, most, asked, _wide_steps(total_micro_epsilon))


def exchange(
    parts: Sequence[int], costs: Sequence[Cost], *, largest: Sequence[int] | None = None, ask: int | None = None
) -> list[int]:
    """Move ε between questions, `STEP` at a time, until no move lowers the sum of the costs.

    It begins where `allocate` ends, with costs that are exact and not smooth: those of the channels as they are built.

    >>> exchange([300_000, 700_000], [unary_cost(8), unary_cost(8)])
    [500000, 500000]
    """
    most = list(largest or [LARGEST_EPSILON * MICRO] * len(costs))
    return _exchange(list(parts), costs, most, len(costs) if ask is None else min(ask, len(costs)), [STEP])


def _common_gain(total: float, costs: Sequence[Cost], most: Sequence[float], asked: int) -> tuple[list[float], float]:
    """Return the parts at which every question gains the same, and the least part that is had for free."""
    largest = [min(total, each) for each in most]
    ends = list(zip(costs, largest, strict=True))
    low = max(min(_gain(cost, end) for cost, end in ends), 1e-300)
    high = max(_gain(cost, end / (1000 * len(costs))) for cost, end in ends) * len(costs) / asked
    # A larger common gain means smaller parts: the parts of both ends bracket those of every gain between.
    least, most_parts, floor = [1e-6 * total] * len(costs), largest, total / asked
    for _ in range(_ROUNDS):
        middle = math.sqrt(low * high)
        parts = [_part(cost, middle, *between) for cost, *between in zip(costs, least, most_parts, strict=True)]
        own = min(parts) if asked == len(costs) else _free_part(costs, parts, middle, asked, min(largest))
        if asked * own + sum(max(0.0, part - own) for part in parts) > total:
            low, most_parts = middle, parts
        else:
            high, least, floor = middle, parts, own
        if sum(most_parts) - sum(least) < _PRECISION * total:
            break
    return [max(part, floor) for part in least], floor


def _free_part(costs: Sequence[Cost], parts: Sequence[float], gain: float, asked: int, largest: float) -> float:
    """Return the least part t of any question: raising it costs `asked`·t and serves all questions that have it.

    There the gains of all questions together, each at most the common one, are `asked` times the common one.
    """
    low, high = min(*parts, largest), largest
    while high - low > _PRECISION * high:
        middle = (low + high) / 2
        together = sum(
            gain if part > middle else min(gain, _gain(cost, middle)) for cost, part in zip(costs, parts, strict=True)
        )
        low, high = (middle, high) if together > asked * gain else (low, middle)
    return low


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


def _wide_steps(total: int) -> list[int]:
    """Return the transfers that cross a place where costs are not convex, widest first."""
    return [step for step in (total >> shift for shift in range(2, 10)) if step >= 1]


def _exchange(
    parts: list[int], costs: Sequence[Cost], most: Sequence[int], asked: int, steps: Sequence[int]
) -> list[int]:
    known = [lru_cache(maxsize=None)(lambda micro, cost=cost: _cost_at(cost, micro)) for cost in costs]
    allowed = sum(sorted(parts)[-asked:])
    for step in steps:
        for _ in range(_MOST_TRANSFERS):
            moved = next(_transfers(parts, known, most, step, asked, allowed), None)
            if moved is None:
                break
            parts = moved
    return parts


def _cost_at(cost: Cost, micro: int) -> float:
    try:
        return cost(micro / MICRO)
    except EpsilonError:  # there is no channel for so small or so large an ε
        return math.inf


def _transfers(
    parts: list[int], known: Sequence[Callable[[int], float]], most: Sequence[int], step: int, asked: int, allowed: int
) -> Iterator[list[int]]:
    """Yield the parts after each transfer that lowers the sum of the costs, the best first."""
    now = [cost(part) for cost, part in zip(known, parts, strict=True)]
    places = range(len(parts))
    gained = {at: now[at] - known[at](parts[at] + step) for at in places if parts[at] + step <= most[at]}
    lost = {at: known[at](parts[at] - step) - now[at] for at in places if parts[at] > step}
    least = _FLAT * math.fsum(now)
    some = 2 if asked == len(parts) else _MOST_PAIRED  # then any two may trade
    takers = sorted(gained, key=lambda at: -gained[at])[:some]
    givers = sorted(lost, key=lost.__getitem__)[:some]
    pairs = sorted(
        ((gained[taker] - lost[giver], taker, giver) for taker in takers for giver in givers if giver != taker),
        key=lambda pair: -pair[0],
    )
    for saved, taker, giver in pairs:
        if not saved > least:
            return
        moved = list(parts)
        moved[taker] += step
        moved[giver] -= step
        if asked == len(parts) or sum(sorted(moved)[-asked:]) <= allowed:
            yield moved


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


def _fill(parts: list[int], most: Sequence[int]) -> list[int]:
    """Give what is beyond the largest part of a question to those that can still use it."""
    filled = [min(part, limit) for part, limit in zip(parts, most, strict=True)]
    rest = sum(parts) - sum(filled)
    for place in sorted(range(len(parts)), key=lambda place: most[place] - filled[place]):
        added = min(rest, most[place] - filled[place])
        filled[place] += added
        rest -= added
    return filled


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
