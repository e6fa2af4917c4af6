"""ε in whole millionths, converted and compared exactly.

A privacy budget is an integer number of micro-ε (`1_000_000` is ε = 1), so that budgets add up without rounding.
What a channel really costs is the logarithm of a ratio of two integers; `micro_epsilon_of_ratio` rounds it *up*.
An ε without a limit is `math.inf`, which compares and adds like any other.
"""

import math
from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, InvalidOperation
from fractions import Fraction
from functools import lru_cache

from pldp.errors import EpsilonError

MICRO = 1_000_000  #: Micro-ε in one unit of ε.

Micro = int | float  #: Whole micro-ε, or `math.inf` where there is no limit.

LARGEST_EPSILON = 20
"""Larger budgets of one answer protect nothing (odds of 485 million to one) and are refused as typing errors."""

LARGEST_TOTAL = 1000  #: The same for what many answers may cost together: totals and lifetime caps.

# 60 digits: weights have 16 to 20, so a logarithm is known far beyond the six decimals that are kept.
# Never the caller's context: its precision and rounding are not ours.
_EXACT = Context(prec=60)
_FLOOR = Context(prec=10_000, rounding=ROUND_FLOOR)
_GUARD = Decimal(1).scaleb(-40)
_UPWARD = Decimal("1e-50")


def micro_epsilon(epsilon: float | str | Decimal, *, largest: int = LARGEST_EPSILON) -> int:
    """Return ε in whole micro-ε, rounded down, i.e. towards more protection; at most `largest` is allowed.

    >>> micro_epsilon(0.1), micro_epsilon("1.5"), micro_epsilon(2)
    (100000, 1500000, 2000000)
    >>> micro_epsilon(-1)
    Traceback (most recent call last):
    ...
    pldp.errors.EpsilonError: epsilon must be a number above 0 and at most 20, not -1
    """
    rule = f"epsilon must be a number above 0 and at most {largest:,}, not"
    if isinstance(epsilon, bool):
        raise EpsilonError(f"{rule} {epsilon}")
    try:
        # str() of a float is its shortest exact spelling: 0.1 means one tenth, as the user wrote it.
        exact = Decimal(str(epsilon))
    except (InvalidOperation, ValueError):
        raise EpsilonError(f"{rule} {str(epsilon)[:40]!r}") from None
    if not exact.is_finite() or exact <= 0 or exact > largest:
        raise EpsilonError(f"{rule} {str(epsilon)[:40]}")
    micro = int(exact.scaleb(6, _FLOOR).to_integral_value(ROUND_FLOOR, _FLOOR)) if exact.adjusted() >= -6 else 0
    if micro == 0:
        raise EpsilonError(f"epsilon must be at least 0.000001, not {str(epsilon)[:40]}")
    return micro


def epsilon_text(micro: Micro) -> str:
    """Write micro-ε as a plain decimal number without trailing zeros.

    >>> epsilon_text(500_000), epsilon_text(2_000_000), epsilon_text(math.inf)
    ('0.5', '2', 'infinite')
    """
    if micro == math.inf:
        return "infinite"
    return f"{_EXACT.normalize(_EXACT.divide(Decimal(micro), Decimal(MICRO))):f}"


@lru_cache(maxsize=4096)
def exp_micro(micro: Micro, parts: int = 1) -> Decimal:
    """Return e^(ε/parts) to 60 digits."""
    return _EXACT.exp(_EXACT.divide(Decimal(micro), Decimal(MICRO * parts)))


def share_rounded_up(total: int, odds: Decimal, others: int) -> int:
    """Return the smallest integer weight that is at least total/(odds + others)."""
    return int(
        _EXACT.divide(Decimal(total), _EXACT.add(odds, Decimal(others))).to_integral_value(ROUND_CEILING, _EXACT)
    )


def checked_budgets(micro_epsilons: Sequence[Micro]) -> tuple[Micro, ...]:
    """Return the budgets of the values of a channel; refuse what is neither whole micro-ε nor `math.inf`."""
    budgets = tuple(micro_epsilons)
    if len(budgets) < 2:
        raise EpsilonError(f"budgets must be given for at least 2 values, not {len(budgets)}")
    for place, micro in enumerate(budgets):
        if micro != math.inf and (type(micro) is not int or not 0 < micro <= LARGEST_EPSILON * MICRO):
            raise EpsilonError(
                f"budgets must be whole micro-ε from 1 to {LARGEST_EPSILON * MICRO}, or math.inf; number {place} is not"
            )
    return budgets


def noise_weights(total: int, budgets: Sequence[Micro]) -> tuple[int, ...]:
    """Return the smallest integers that are at least total·r_y/(1 + Σ r), r_y = 1/(e^{ε_y}−1), and 0 without a budget.

    >>> noise_weights(1000, [693_147, 693_147, math.inf])           # ln 2: r = 1, twice
    (334, 334, 0)
    """
    ratios = {
        micro: _EXACT.divide(Decimal(1), _EXACT.subtract(exp_micro(micro), Decimal(1)))
        if micro < math.inf
        else Decimal(0)
        for micro in set(budgets)
    }
    whole = Decimal(1)
    for micro in budgets:
        whole = _EXACT.add(whole, ratios[micro])
    # The 60 digits may be short of the true weight by less than the last factor adds.
    scale = _EXACT.multiply(_EXACT.divide(Decimal(total), whole), _EXACT.add(Decimal(1), _UPWARD))
    weights = {
        micro: int(_EXACT.multiply(ratio, scale).to_integral_value(ROUND_CEILING, _EXACT))
        for micro, ratio in ratios.items()
    }
    return tuple(weights[micro] for micro in budgets)


@lru_cache(maxsize=4096)
def micro_epsilon_of_ratio(numerator: int, denominator: int) -> Micro:
    """Return the smallest whole m with numerator/denominator ≤ e^(m/10⁶); `math.inf` if the denominator is 0.

    >>> micro_epsilon_of_ratio(3, 1)          # ln 3 = 1.0986122886…
    1098613
    >>> micro_epsilon_of_ratio(1, 0)
    inf
    """
    if denominator == 0:
        return math.inf if numerator else 0
    return micro_epsilon_of_powers(((Fraction(numerator, denominator), 1),))


@lru_cache(maxsize=4096)
def _logarithm(number: int) -> Decimal:
    """Return ln of a whole number to 60 digits; the same weights come again in pair after pair of levels."""
    return _EXACT.ln(Decimal(number))


def scaled_logarithm(ratio: Fraction) -> int:
    """Return ln of a ratio above 0 in units of 10⁻⁵⁰, to compare sums of logarithms: ten digits finer than the guard.

    >>> scaled_logarithm(Fraction(3)) // 10**40                     # ln 3 = 1.0986122886…
    10986122886
    """
    difference = _EXACT.subtract(_logarithm(ratio.numerator), _logarithm(ratio.denominator))
    return int(difference.scaleb(50, _EXACT))


def micro_epsilon_of_powers(factors: Iterable[tuple[Fraction, int]]) -> Micro:
    """Return the smallest whole m ≥ 0 with Π ratio^power ≤ e^(m/10⁶); `math.inf` if one of them is divided by 0.

    A product that is 0, of an output that cannot come, is below every bound.

    >>> micro_epsilon_of_powers([(Fraction(3), 1), (Fraction(1, 2), 1)])    # ln 1.5 = 0.4054651081…
    405466
    >>> micro_epsilon_of_powers([(Fraction(3), 1), (Fraction(0), -1)])
    inf
    """
    factors = list(factors)
    if any(not ratio for ratio, _ in factors):
        return math.inf if any(not ratio and power < 0 for ratio, power in factors) else 0
    logarithm = Decimal(0)
    for ratio, power in factors:
        difference = _EXACT.subtract(_logarithm(ratio.numerator), _logarithm(ratio.denominator))
        logarithm = _EXACT.add(logarithm, _EXACT.multiply(difference, Decimal(power)))
    if logarithm <= 0:
        return 0
    # Rounding up a value that is short by less than the guard could understate it; the guard rounds against us.
    millionths = _EXACT.add(_EXACT.multiply(logarithm, Decimal(MICRO)), _GUARD)
    return int(millionths.to_integral_value(ROUND_CEILING, _EXACT))
