"""Projective geometry response: a report names a hyperplane, most likely one that contains the value."""

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from math import comb

from pldp.mechanisms.contrast import Pattern, of_counts
from pldp.mechanisms.output import Output, as_int
from pldp.mechanisms.projective.blocks import BlockChannel, Design, points, product, vector_of


@dataclass(frozen=True, repr=False)
class ProjectiveResponse(BlockChannel):
    """PGR: values are points of a projective space over the field of a prime q, and a report names a hyperplane.

    A space of t coordinates has N = (q^t − 1)/(q − 1) ≥ k points and as many hyperplanes. A point lies in c = (N − 1)/q
    of them and two points together in λ = (c − 1)/q: all hyperplanes have the same size and any two values meet equally
    often. With q near e^ε + 1 that is the accuracy of subset selection for one integer below N. With t = 2 a hyperplane
    is a point, and the channel is k-RR over q + 1 values.

    Reference: Feldman, Nelson, Nguyen, Talwar, "Private Frequency Estimation via Projective Geometry" (2022).

    >>> channel = ProjectiveResponse.of(1000, 1_000_000)
    >>> channel.order, channel.length, channel.form.count
    (3, 7, 1093)
    >>> channel.micro_epsilon
    1000000
    >>> import os
    >>> channel.draw(999, os.urandom) in range(1093)
    True
    """

    mechanism = "projective"
    phrase = 'names a group of answers that contains "{label}"'

    @classmethod
    def capacity(cls, order: int, length: int) -> int:
        """All points."""
        return points(order, length)

    @classmethod
    def design_of(cls, order: int, length: int) -> Design:
        """Hyperplanes, those through a point, those through two points."""
        return Design(*(points(order, length - less) for less in range(3)))

    @staticmethod
    def ideal_order(odds: float) -> float:
        """Blocks hold one value in e^ε + 1."""
        return odds + 1

    def _solved(self, value: int) -> tuple[int, int]:
        """Return which coordinate of a hyperplane is solved for, and those of the point that multiply the later ones.

        The last coordinate of the point is a 1, which multiplies the one that is solved for; none multiplies those
        before. The point's other coordinates are the digits of the number returned, the last one highest.
        """
        last = bisect_right(self.starts, value) - 1
        solved = self.length - 1 - last
        return solved, (value - self.starts[last]) * self.powers[solved]

    def _product(self, later: int, digits: int) -> int:
        """Return what the later coordinates of a hyperplane, which are a point, add to its product with a value."""
        return product(self.powers, vector_of(self.starts, self.powers, later), digits, self.length - 1)

    def block(self, value: int, number: int, *, rest: bool) -> int:
        """Write the number in coordinates, leave out one, and solve for it: the product is 0, or not for the rest.

        The first numbers stand for hyperplanes that end before the coordinate (or with it).
        """
        order = self.order
        solved, digits = self._solved(value)
        start, power = self.starts[solved], self.powers[solved]
        short = number + start * rest
        number -= (start, power)[rest]
        number, result = divmod(number, (1, order - 1)[rest])
        later, before = divmod(number, power)
        missing = (result + rest - self._product(max(later, 0), digits)) % order
        return (self.starts[solved + 1] + before + power * (missing + order * later), short)[number < 0]

    def number_of(self, block: int, value: int) -> int:
        """Undo `block`."""
        order = self.order
        solved, digits = self._solved(value)
        start, power, end = self.starts[solved], self.powers[solved], self.starts[solved + 1]
        if block < end:
            return block if block < start else block - start
        later, before = divmod(block - end, power * order)
        missing, before = divmod(before, power)
        number = before + power * later
        result = (missing + self._product(later, digits)) % order
        return power + number * (order - 1) + result - 1 if result else start + number

    def measure(self) -> dict[Pattern, Fraction]:
        """Hyperplanes through none, one, two and three points that are not on one line."""
        through = [points(self.order, self.length - count) if self.length >= count else 0 for count in range(4)]

        def avoiding(marked: Pattern) -> int:
            return sum((-1) ** met * comb(sum(marked), met) * through[met] for met in range(sum(marked) + 1))

        return of_counts(self.design.blocks, avoiding)

    def supports(self, output: Output, value: int) -> bool:
        """All values in the hyperplane are supported."""
        one, two = (vector_of(self.starts, self.powers, point) for point in (as_int(output), value))
        return product(self.powers, one, two, self.length) % self.order == 0
