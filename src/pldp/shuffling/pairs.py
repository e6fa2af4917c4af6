"""Four values: two cases of what others answer, each with a blanket that hides more than one blanket for all.

A person's value is x or x'; z and z' are the two others. Count the pairs of other people who hold {x, x'} or {z, z'},
nobody twice, as many as there are. For any whole number R there are

- at most R pairs: all others but R hold the more frequent of x and x' or the more frequent of z and z'. What these two
  values share is a larger blanket than what all four share; the other R say the same less often;
- at least R pairs. The reports of two people who hold v and v' are in random order y and y' with probability

      ½ (Q(y|v) Q(y'|v') + Q(y'|v) Q(y|v')) ≥ √(Q(y|v) Q(y|v')) · √(Q(y'|v) Q(y'|v')) ≥ β(y) β(y'),

  the mean of two numbers being at least their geometric mean, for every β ≤ √(Q(·|v) Q(·|v')). So with probability
  (Σβ)² both come from the blanket β/Σβ. This is more than two people have one by one: 1 − tanh²(ε/2) where outputs are
  two, and 1 − tanh(ε/2) each otherwise. Everybody else is split as before.

Both cases are bounded like any blanket, and the larger bound holds. See docs/decisions/0024-shuffling.md.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations, product
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from pldp.mechanisms import Channel
from pldp.shuffling.accounting import delta_above, epsilon_above
from pldp.shuffling.crowd import Crowd, Others, crowd_of
from pldp.shuffling.laws import ROUNDING, Law, law_under

FloatArray = npt.NDArray[np.float64]

VALUES: Final = 4
MOST_OUTPUTS: Final = 64
"""Outputs that are gone through at most."""

WORTH: Final = 0.98
"""What the bound must be of the one with one blanket, for many people, to be computed at all."""

SHARES: Final = tuple(place / 100 for place in range(1, 50))
"""Numbers of pairs R that are tried, as parts of the people."""


@dataclass(frozen=True, eq=False)
class Case:
    """One case: the law under its blanket, and with what chance reports come from it."""

    law: Law
    first: float  #: Of both people of a pair together; or of one who holds one of two values.
    rest: float  #: Of anyone else.
    paired: bool

    def people(self, others: int, pairs: int, asked: float = 1.0) -> list[Others]:
        """Return the others of this case; everybody is asked with this probability."""
        first, rest = (chance * (1 - self.law.slack) * asked for chance in (self.first, self.rest))
        if self.paired:
            return [Others(pairs, first * asked, 2), Others(others - 2 * pairs, rest)]
        return [Others(others - pairs, first), Others(pairs, rest)]

    def spread(self, share: float) -> float:
        """Return Σ (Q(y|x) − Q(y|x'))²/blanket(y) per person: its root is ε among many people but for a factor."""
        often = 2 * share * self.first + (1 - 2 * share) * self.rest
        if not self.paired:
            often = (1 - share) * self.first + share * self.rest
        return float(self.law.mass @ (self.law.one - self.law.two) ** 2) / often

    @property
    def key(self) -> tuple[object, ...]:
        """What cases that are alike have in common."""
        atoms = np.round(np.stack(self.law.atoms), 9)
        shown = np.round(np.stack([self.law.shown_one, self.law.shown_two]), 9)
        order = [tuple(sorted(map(tuple, rows.T.tolist()))) for rows in (atoms, shown)]
        return (*order, round(self.first, 9), round(self.rest, 9), self.paired)


class Cover(NamedTuple):
    """Cases that are all there are, if R is this part of the others."""

    share: float
    cases: tuple[Case, ...]


@lru_cache(64)
def cover_of(channel: Channel) -> Cover | None:
    """Return the cases of a channel of four values; nothing where one blanket for all is as good."""
    if channel.domain != "labels" or channel.size != VALUES or channel.form.count > MOST_OUTPUTS:
        return None
    outputs = list(channel.outputs())
    matrix = np.array([[float(channel.probability(own, value)) for value in range(VALUES)] for own in outputs])
    cases = {case.key: case for one, two in permutations(range(VALUES), 2) for case in _cases(matrix, one, two)}
    worst, share = min((max(case.spread(share) for case in cases.values()), share) for share in SHARES)
    if worst > WORTH**2 * _spread_of_one_blanket(matrix):
        return None
    return Cover(share, tuple(sorted(cases.values(), key=lambda case: -case.spread(share))))


def _spread_of_one_blanket(matrix: FloatArray) -> float:
    least = matrix.min(axis=1)
    hidden = least > 0
    differences = (matrix[hidden, :, None] - matrix[hidden, None, :]) ** 2
    return float((differences / least[hidden, None, None]).sum(axis=0).max())


def _cases(matrix: FloatArray, one: int, two: int) -> Iterator[Case]:
    """Yield the cases of one pair of values."""
    columns = matrix.T
    third, fourth = (value for value in range(VALUES) if value not in (one, two))
    for own, other in product((one, two), (third, fourth)):
        yield _case(matrix, (one, two), np.minimum(columns[own], columns[other]), paired=False)
    means = [np.sqrt(columns[v] * columns[w]) for v, w in ((one, two), (third, fourth))]
    yield _case(matrix, (one, two), np.minimum(*means), paired=True)


def _case(matrix: FloatArray, values: tuple[int, int], blanket: FloatArray, *, paired: bool) -> Case:
    one, two = matrix.T[list(values)]
    law = law_under(one, two, blanket, ROUNDING, common=False)
    said = blanket > 0
    anyone = float((matrix[said] / (blanket[said] / law.blanket)[:, None]).min())
    return Case(law, law.blanket**2 if paired else law.blanket, anyone, paired)


def epsilon_in_pairs(cover: Cover, others: int, delta: float, most: float, *, asked: float, cut: float) -> float:
    """Return an ε that is not below the true one at this δ among so many others, at most `most`."""
    pairs = math.floor(cover.share * others)
    found = 0.0
    for case in cover.cases:
        people = [each for each in case.people(others, pairs, asked) if each.people > 0 and each.chance > 0]
        if not people:
            return most
        crowd: Crowd = crowd_of(people, delta * cut)
        if not found or delta_above(found, case.law, crowd) > delta:
            found = max(found, epsilon_above(case.law, [(1.0, crowd)], delta, most))
    return min(found, most)
