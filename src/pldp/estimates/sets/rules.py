"""Association rules from supports, with standard errors."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from pldp.estimates.groups import FloatArray
from pldp.estimates.sets.groups import ItemGroups
from pldp.estimates.sets.search import SetPart
from pldp.records import Brief
from pldp.tallies import patterns_of


@dataclass(frozen=True, repr=False)
class Rule(Brief):
    """Whoever has the antecedent has the consequent with this confidence.

    Attributes
    ----------
    antecedent, consequent
        Two sets without a common item.
    support
        Estimated support of both together.
    confidence, confidence_error
        support / support of the antecedent, and its standard error (delta method).
    lift, lift_error
        confidence / support of the consequent, and its standard error.
    """

    antecedent: tuple[str, ...]
    consequent: tuple[str, ...]
    support: float
    confidence: float
    confidence_error: float
    lift: float
    lift_error: float


def rules_within(together: ItemGroups, part: SetPart, items: Sequence[str]) -> Iterator[Rule]:
    """Yield all rules within reported sets of one size; the supports of a rule are pooled with its set's weights."""
    sets, size = part.sets, part.sets.shape[1]
    if size < 2 or not len(sets):
        return
    weights = together.weights(sets)
    patterns = [patterns_of(own) for own in part.joint]

    def mean(places: Sequence[int]) -> FloatArray:
        return together.mean(weights, sets, patterns, [int(place in places) for place in range(size)])

    whole = tuple(range(size))
    both = mean(whole)
    for length in range(1, size):
        for given in combinations(whole, length):
            rest = tuple(place for place in whole if place not in given)
            one, two = mean(given), mean(rest)
            named = {whole: both, given: one, rest: two}

            def covariance(
                first: tuple[int, ...], second: tuple[int, ...], named: dict[tuple[int, ...], FloatArray] = named
            ) -> FloatArray:
                union = named[first] if first == second else both
                return together.covariance(weights, sets, patterns, first, second, (named[first], named[second], union))

            with np.errstate(divide="ignore", invalid="ignore"):
                relative = {(a, b): covariance(a, b) / (named[a] * named[b]) for a in named for b in named}
                confidence = both / one
                confidence_error = np.abs(confidence) * _root(
                    relative[whole, whole] - 2 * relative[whole, given] + relative[given, given]
                )
                lift = confidence / two
                signs = {whole: 1, given: -1, rest: -1}
                lift_error = np.abs(lift) * _root(
                    sum(signs[a] * signs[b] * relative[a, b] for a in named for b in named)
                )
            for number in np.flatnonzero((one > 0) & (two > 0)):
                own = sets[number]
                yield Rule(
                    tuple(items[own[place]] for place in given),
                    tuple(items[own[place]] for place in rest),
                    float(both[number]),
                    float(confidence[number]),
                    float(confidence_error[number]),
                    float(lift[number]),
                    float(lift_error[number]),
                )


def _root(variance: FloatArray | float) -> FloatArray:
    return np.sqrt(np.maximum(variance, 0))
