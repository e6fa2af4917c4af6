"""Frequent sets of items from perturbed baskets, with errors: level-wise search and association rules."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist
from typing import Any, Literal

import numpy as np

from pldp.errors import EstimateError
from pldp.estimates.kinds.item_search import Search, SetPart
from pldp.estimates.kinds.item_supports import Baskets, HiddenBaskets, SetSupports, circumstances, item_reports
from pldp.estimates.kinds.set_reports import SetReports
from pldp.estimates.linear.small_counts import SmallCounts
from pldp.estimates.results.notes import sets_not_told
from pldp.estimates.results.options import Pool, Target
from pldp.mechanisms import item_places
from pldp.mechanisms.arrays import FloatArray
from pldp.records import Brief
from pldp.tallies import LARGEST_SET

Control = Literal["any", "each"]


@dataclass(frozen=True, repr=False)
class Rates(Brief):
    """The errors that a search may make.

    Attributes
    ----------
    false_positive, control
        Probability that `any` set is reported that has less support than asked for, or the one of `each` such set.
    miss
        Probability that a set with enough support is given up, once for the set and once for each of its subsets.
    """

    false_positive: float = 0.05
    control: Control = "any"
    miss: float = 0.01

    def __post_init__(self) -> None:
        for name in ("false_positive", "miss"):
            if not 0 < getattr(self, name) <= 0.5:
                raise EstimateError(f"{name} must be above 0 and at most 0.5, not {getattr(self, name)}")
        if self.control not in ("any", "each"):
            raise EstimateError(f"control must be any or each, not {self.control!r}")

    def thresholds(self, items: int, largest: int) -> list[float]:
        """Return how many standard errors above min_support a set of 1 … largest items must be."""
        tests = [largest * math.comb(items, size) if self.control == "any" else 1 for size in range(1, largest + 1)]
        return [-NormalDist().inv_cdf(self.false_positive / number) for number in tests]

    def promise(self, target: Target) -> str:
        """Say what is controlled, and whether it is about the population or about the people who reported."""
        whom = "in the population" if target == "population" else "among the people who reported"
        if self.control == "any":
            what = f"the probability that any reported set has less support {whom} than asked for is at most"
        else:
            what = (
                f"a set with less support {whom} than asked for, each on its own, is reported with probability at most"
            )
        return f"{what} {self.false_positive:g}"


DEFAULT_RATES = Rates()
PLAIN_RATES = Rates(0.5, "each", 0.5)
"""Estimates are compared with min_support as if they had no error, as published systems do."""


@dataclass(frozen=True, repr=False)
class Rule(Brief):
    """People who have the antecedent have the consequent with this confidence.

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


@dataclass(frozen=True, eq=False, repr=False)
class Itemsets(SetSupports):
    """The sets that a search reports with at least `min_support`, and how many sets of each size it examined.

    `largest` is the size of the largest sets that were looked for and that reports tell about.

    `promise` says which error is controlled; `every_rule` are the association rules within the sets, best first.
    """

    min_support: float
    promise: str
    examined: Mapping[int, int]
    largest: int
    every_rule: tuple[Rule, ...]

    def rules(self, min_confidence: float = 0.5) -> list[Rule]:
        """Return association rules within the reported sets whose estimated confidence is at least this, best first."""
        if not 0 <= min_confidence <= 1:
            raise EstimateError(f"min_confidence must be between 0 and 1, not {min_confidence}")
        # A confidence of exactly min_confidence may lie a rounding error below it.
        return [rule for rule in self.every_rule if rule.confidence >= min_confidence - 1e-12]


def itemsets(
    groups: Baskets | HiddenBaskets,
    items: Sequence[str],
    min_support: float,
    *,
    largest: int = 3,
    rates: Rates = DEFAULT_RATES,
    target: Target = "population",
    pool: Pool = "precision",
) -> Itemsets:
    """Find the sets of items that at least a share `min_support` of the people have.

    A set is reported when support − z·se ≥ min_support. With `Rates(control="any")` the probability that *any* set is
    reported whose true support is below min_support is at most `false_positive`: z is that of the rate divided by
    `largest` and by the number of all sets of the size (Bonferroni), whichever sets the search looks at. With
    `control="each"` the rate is that of each such set on its own, and many sets give many false ones. Both rest on the
    normal approximation, and both are about the `target`: the population that the respondents are a random sample of,
    unless asked for the respondents themselves. A set is followed further unless support + z'·se < min_support, z'
    being that of `miss`: a set with enough support loses each of its subsets, and itself, with at most that
    probability. Sets that would be reported with at most that probability, were they as frequent as their rarest subset
    can be, are not counted.
    For the respondents themselves, reports that were not perturbed are mined exactly.

    Parameters
    ----------
    groups, items
        Channel and packed rows of each group of people, or what `baskets_of` returns, and the name of each bit.
    min_support
        Share of people, above 0 and at most 1.
    largest
        Number of items of the largest sets.
    rates
        The errors that are allowed, see above.
    target, pool
        See `Options`; that groups have the same supports is tested per item.

    Examples
    --------
    >>> from pldp.mechanisms import ItemSet
    >>> from pldp.simulate import pack_baskets
    >>> items = ["beer", "bread", "milk"]
    >>> rows = pack_baskets([["beer", "bread"], ["beer", "bread", "milk"], ["milk"]], items)
    >>> found = itemsets([(ItemSet.of([math.inf] * 3), rows)], items, 0.6, target="respondents")
    >>> found.sets
    (('beer',), ('bread',), ('milk',), ('beer', 'bread'))
    >>> [(rule.antecedent, rule.consequent, rule.confidence, rule.lift) for rule in found.rules()]
    [(('beer',), ('bread',), 1.0, 1.5), (('bread',), ('beer',), 1.0, 1.5)]
    """
    item_places(items)
    return search_sets(item_reports(groups, len(items), pool, target), items, min_support, largest, rates)


def search_sets(
    reports: SetReports, items: Sequence[str], min_support: float, largest: int, rates: Rates = DEFAULT_RATES
) -> Itemsets:
    """Find the frequent sets of reports, by whichever level or label they show."""
    if not 0 < min_support <= 1:
        raise EstimateError(f"min_support must be above 0 and at most 1, not {min_support}")
    if not 1 <= largest <= LARGEST_SET:
        raise EstimateError(f"largest must be from 1 to {LARGEST_SET} items, not {largest}")
    asked = min(largest, len(items))
    largest = min(asked, reports.largest)
    thresholds, follow = rates.thresholds(len(items), largest), -NormalDist().inv_cdf(rates.miss)
    parts, examined, notes = Search(reports, min_support, thresholds, follow).run()
    about = circumstances(reports)
    about["notes"] += (*notes, *((sets_not_told(largest),) if largest < asked else ()))
    starts = np.cumsum([0, *(len(part.sets) for part in parts)])
    places = [start + np.arange(len(part.sets)) for start, part in zip(starts, parts, strict=False)]
    rare = [(place, reports.small_counts(part.sets, part.patterns)) for place, part in zip(places, parts, strict=True)]
    rules = (rule for part in parts for rule in _rules_within(reports, part, items))
    return Itemsets(
        sets=tuple(tuple(items[place] for place in one) for part in parts for one in part.sets),
        support=np.concatenate([part.support for part in parts]),
        standard_error=np.concatenate([part.error for part in parts]),
        rare=SmallCounts.joined(rare),
        min_support=min_support,
        promise=rates.promise(reports.target),
        examined=examined,
        largest=largest,
        every_rule=tuple(sorted(rules, key=lambda rule: -rule.confidence)),
        **about,
    )


def _rules_within(reports: SetReports, part: SetPart, items: Sequence[str]) -> Iterator[Rule]:
    """Yield all rules within reported sets of one size; supports of their parts come from the same reports."""
    sets, size = part.sets, part.sets.shape[1]
    if size < 2 or not len(sets):
        return
    whole = tuple(range(size))
    for length in range(1, size):
        for given in combinations(whole, length):
            rest = tuple(place for place in whole if place not in given)
            supports, covariance = reports.covariances(sets, part.patterns, (whole, given, rest))
            numbers = _rule_numbers(supports, covariance)
            for number in np.flatnonzero((supports[1] > 0) & (supports[2] > 0)):
                antecedent, consequent = (tuple(items[sets[number, place]] for place in part) for part in (given, rest))
                yield Rule(antecedent, consequent, *numbers[number])


def _rule_numbers(supports: FloatArray, covariance: FloatArray) -> Any:
    """Return support, confidence and lift with their errors (delta method), from those of both, one and the other."""
    both, one, two = supports
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = covariance / (supports[:, None] * supports)
        errors = [
            np.sqrt(np.maximum(np.einsum("a,abi,b->i", signs, relative, signs), 0))
            for signs in (np.array([1, -1, 0]), np.array([1, -1, -1]))
        ]
        confidence, lift = both / one, both / one / two
        columns = [both, confidence, np.abs(confidence) * errors[0], lift, np.abs(lift) * errors[1]]
    return np.stack(columns, axis=1).tolist()
