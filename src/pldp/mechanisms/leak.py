"""What a report says about the level of its sender, beside what it says about the value: exact bounds.

Levels use different channels, so the output alone tells something about the level, whatever protects the label. For a
fixed value x the leak is ln max Q_τ(y|x)/Q_τ'(y|x) over outputs y and levels τ, τ'; a label of its own ε_p adds ε_p,
because label and output are drawn independently. The leak is 0 only if all levels use one channel.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations

from pldp.epsilon import micro_epsilon_of_powers
from pldp.errors import EpsilonError
from pldp.mechanisms.channel import PureChannel
from pldp.mechanisms.hashing.channel import LinearHashing
from pldp.mechanisms.response.channel import RandomizedResponse
from pldp.mechanisms.unary.channel import UnaryEncoding


def level_leak(channels: Sequence[PureChannel]) -> int:
    """Return in micro-ε how much an output tells about the level of a person with a known value, rounded up.

    >>> from pldp.mechanisms import channel
    >>> strict_and_open = [channel("krr", 16, 100_000), channel("krr", 16, 1_000_000)]
    >>> level_leak(strict_and_open)                          # ln of the ratio of truth probabilities
    804544
    >>> level_leak([channel("sue", 16, 100_000), channel("sue", 16, 1_000_000)]) > 3_000_000
    True
    """
    return max((micro_epsilon_of_powers(_same_value(one, two)) for one, two in permutations(channels, 2)), default=0)


def value_and_level_epsilon(channels: Sequence[PureChannel], label_micro_epsilon: int = 0) -> int:
    """Return in micro-ε how much output and label tell together about the pair (value, level), rounded up.

    ln max Q_τ(y|x)/Q_τ'(y|x') over outputs, values and levels, plus ε of the label where the levels differ: at least
    the largest ε of the levels.
    """
    alike = (micro_epsilon_of_powers(_other_value(each, each)) for each in channels)
    different = (micro_epsilon_of_powers(_other_value(one, two)) for one, two in permutations(channels, 2))
    return max(*alike, level_leak(channels) + label_micro_epsilon, *(leak + label_micro_epsilon for leak in different))


def _best(one: Fraction, two: Fraction) -> Fraction:
    """The larger ratio of a bit being 1 or 0 with these probabilities."""
    return max(one / two, (1 - one) / (1 - two))


def _same_form(one: PureChannel, two: PureChannel) -> PureChannel:
    """Return the perturbation that decides: the bucket's for hashing; refuse outputs of different form."""
    if isinstance(one, LinearHashing) and isinstance(two, LinearHashing) and one.buckets == two.buckets:
        return one.bucket_channel
    unary = isinstance(one, UnaryEncoding) and isinstance(two, UnaryEncoding)
    response = isinstance(one, RandomizedResponse) and isinstance(two, RandomizedResponse)
    if one.size != two.size or not (unary or response):
        raise EpsilonError("outputs of different form show the level: there is no finite leak")
    return one


def _same_value(one: PureChannel, two: PureChannel) -> list[tuple[Fraction, int]]:
    """Ratios to multiply for the output that speaks most for the first channel, the value being the same."""
    if isinstance(_same_form(one, two), RandomizedResponse):
        first, second = _responses(one, two)
        return [(max(first[0] / second[0], first[1] / second[1]), 1)]
    p, q, other_p, other_q = one.truth_support, one.other_support, two.truth_support, two.other_support
    return [(_best(p, other_p), 1), (_best(q, other_q), one.size - 1)]


def _other_value(one: PureChannel, two: PureChannel) -> list[tuple[Fraction, int]]:
    """The same, the values being different."""
    if isinstance(_same_form(one, two), RandomizedResponse):
        first, second = _responses(one, two)
        ratios = [first[0] / second[1], first[1] / second[0]]
        return [(max([*ratios, first[1] / second[1]]), 1)]
    p, q, other_p, other_q = one.truth_support, one.other_support, two.truth_support, two.other_support
    return [(_best(p, other_q), 1), (_best(q, other_p), 1), (_best(q, other_q), one.size - 2)]


def _responses(one: PureChannel, two: PureChannel) -> tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]]:
    """(truth, other) probabilities of both, of the buckets in the case of hashing."""
    inner = [each.bucket_channel if isinstance(each, LinearHashing) else each for each in (one, two)]
    first, second = ((each.truth_support, each.other_support) for each in inner)
    return first, second
