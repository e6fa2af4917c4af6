"""Association rules from supports, with standard errors."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from pldp.estimates.sets.groups import ItemGroups
from pldp.estimates.sets.search import SetPart
from pldp.mechanisms.arrays import FloatArray
from pldp.records import Brief
from pldp.tallies import patterns_of


@dataclass(frozen=True, repr=False)
class Rule(Brief):
    """Whoever has the antecedent has the consequent with this confidence.

    Confidence is the support of both together over that of the antecedent, lift is confidence over the support of the
    consequent; both with standard errors (delta method).
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

            signs = {whole: 1, given: -1, rest: -1}
            with np.errstate(divide="ignore", invalid="ignore"):
                relative = {(a, b): covariance(a, b) / (named[a] * named[b]) for a in named for b in named}
                confidence, lift = both / one, both / one / two
                variance = relative[whole, whole] - 2 * relative[whole, given] + relative[given, given]
                confidence_error = np.abs(confidence) * np.sqrt(np.maximum(variance, 0))
                variance = np.asarray(sum(signs[a] * signs[b] * relative[a, b] for a in named for b in named))
                lift_error = np.abs(lift) * np.sqrt(np.maximum(variance, 0))
            numbers = np.stack([both, confidence, confidence_error, lift, lift_error], axis=1).tolist()
            for number in np.flatnonzero((one > 0) & (two > 0)):
                antecedent, consequent = (tuple(items[sets[number, place]] for place in part) for part in (given, rest))
                yield Rule(antecedent, consequent, *numbers[number])
