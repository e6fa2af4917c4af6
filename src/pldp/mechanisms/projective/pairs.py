"""Hashed pairs: a report names a hash function and two of the groups that it makes."""

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

from pldp.mechanisms.contrast import Pattern, grouped, mixed
from pldp.mechanisms.output import Output, as_int
from pldp.mechanisms.projective.blocks import BlockChannel, Design, points, product, vector_of


@dataclass(frozen=True, repr=False)
class HashedPairs(BlockChannel):
    """Hash the value into one of g groups with a random linear function, and name two groups, most likely with its own.

    The digits of a value in base g (g prime) are a point of the plane over the field of g, and a function is a point u
    of as many coordinates: the group is −Σ u_i x_{t−1−i} mod g. Functions that only rename the groups count once.
    Two of five groups hold two values in five, and two of seven two in seven: between the halves, thirds and fifths of
    `projective` and `lh`, where the best share is 1/(e^ε + 1) near ε = 0.35 and 1.

    The report is one integer: (number of the function)·g(g−1)/2 + the number of the pair a < b, b(b−1)/2 + a.

    References: Ye, Barg, "Optimal Schemes for Discrete Distribution Estimation under Locally Differential Privacy"
    (2018), for subsets; Wang, Blocki, Li, Jha, "Locally Differentially Private Protocols for Frequency Estimation"
    (2017), for hashing.

    >>> channel = HashedPairs.of(1000, 350_000)
    >>> channel.order, channel.length, channel.form.count
    (5, 5, 7810)
    >>> channel.micro_epsilon
    350000
    """

    mechanism = "pairs"
    phrase = 'names two groups of answers, one of which contains "{label}"'
    least_order = 5
    largest_order = 31  # beyond, primes are close to each other
    least_length = 1

    @classmethod
    def capacity(cls, order: int, length: int) -> int:
        """All vectors."""
        return int(order**length)

    @classmethod
    def design_of(cls, order: int, length: int) -> Design:
        """Pairs of groups; those with one group; those with the groups of two values, which may be the same."""
        functions, agreeing = points(order, length), points(order, length - 1)
        pairs, own = order * (order - 1) // 2, order - 1
        return Design(functions * pairs, functions * own, agreeing * own + functions - agreeing)

    @staticmethod
    def ideal_order(odds: float) -> float:
        """Two groups hold one value in e^ε + 1."""
        return 2 * odds + 2

    def group(self, function: int, value: int) -> int:
        """Return the group that a function puts a value in."""
        vector = vector_of(self.starts, self.powers, function)
        return -product(self.powers, vector, value, self.length) % self.order

    def block(self, value: int, number: int, *, rest: bool) -> int:
        """Name the group and another one, or two of the others."""
        order = self.order
        function, place = divmod(number, (order - 1, (order - 1) * (order - 2) // 2)[rest])
        own = self.group(function, value)
        low, high = _pair_of(place)
        others = _number_of_pair(low + (low >= own), high + (high >= own))
        other = place + (place >= own)
        pair = (_number_of_pair(min(own, other), max(own, other)), others)[rest]
        return function * (order * (order - 1) // 2) + pair

    def number_of(self, block: int, value: int) -> int:
        """Undo `block`."""
        order = self.order
        function, pair = divmod(block, order * (order - 1) // 2)
        own, named = self.group(function, value), _pair_of(pair)
        if own in named:
            other = sum(named) - own
            return function * (order - 1) + other - (other > own)
        low, high = (group - (group > own) for group in named)
        return function * ((order - 1) * (order - 2) // 2) + _number_of_pair(low, high)

    def measure(self) -> dict[Pattern, Fraction]:
        """Groups of the values 0, 1 and q (of one coordinate: 0, 1, 2), by which of them a function puts together."""
        every, two, three = (points(self.order, max(0, self.length - less)) for less in range(3))
        cases = {(0, 0, 0): three, (0, 0, 1): two - three, (0, 1, 0): two - three, (0, 1, 1): two - three}
        cases[0, 1, 2] = every - sum(cases.values())
        return mixed((Fraction(count, every), grouped(same, self.order, 2)) for same, count in cases.items())

    def supports(self, output: Output, value: int) -> bool:
        """All values in the two groups are supported."""
        function, pair = divmod(as_int(output), self.order * (self.order - 1) // 2)
        return self.group(function, value) in _pair_of(pair)


def _number_of_pair(low: int, high: int) -> int:
    return high * (high - 1) // 2 + low


def _pair_of(number: int) -> tuple[int, int]:
    """Return the pair a < b of this number."""
    high = (1 + isqrt(1 + 8 * number)) // 2
    return number - high * (high - 1) // 2, high
