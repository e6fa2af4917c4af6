"""Frequent sets of items from perturbed baskets, with errors: supports, level-wise search, association rules."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any, Literal

import numpy as np

from pldp.errors import EstimateError
from pldp.estimates.assumptions import BY_SIZE, HONEST_DEVICES, about_people
from pldp.estimates.groups import FloatArray
from pldp.estimates.sets.groups import ItemGroups, Pool, Target
from pldp.estimates.sets.rules import Rule, rules_within
from pldp.estimates.sets.search import Search
from pldp.estimates.shares.estimate import Homogeneity, Interval
from pldp.estimates.shares.pooling import TEST_LEVEL
from pldp.mechanisms.arrays import ByteArray, IntArray
from pldp.mechanisms.sets.channel import ItemSet, item_places
from pldp.tallies import Tally
from pldp.tallies.counts import BitCounts
from pldp.tallies.patterns import LARGEST_SET, Columns

Control = Literal["any", "each"]
Baskets = Sequence[tuple[ItemSet, ByteArray | Columns]]
"""Groups of reports: the channel and the packed rows of each, or whatever counts them (`pldp.tallies.spark`)."""

SAME_SUPPORTS = "people of every group have the same supports (tested per item; see homogeneity)"
NORMAL = "supports are nearly normal: rare sets in few reports have rougher errors"

HOPELESS = 0.5
"""A support with a larger standard error than this says nothing."""


@dataclass(frozen=True)
class Rates:
    """The errors that a search may make.

    Attributes
    ----------
    false_positive
        Probability of reporting a set that has less support than asked for.
    control
        Whether that is the probability that `any` such set is reported, or the one of `each` such set.
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

    @property
    def promise(self) -> str:
        """What is controlled, in words."""
        if self.control == "any":
            what = "the probability that any reported set has less support than asked for is at most"
        else:
            what = "a set with less support than asked for, each on its own, is reported with probability at most"
        return f"{what} {self.false_positive:g}"


DEFAULT_RATES = Rates()
PLAIN_RATES = Rates(0.5, "each", 0.5)
"""Estimates are compared with min_support as if they had no error, as published systems do."""


@dataclass(frozen=True, eq=False)
class SetSupports:
    """Supports of sets of items: the share of people who have all items of a set.

    Attributes
    ----------
    sets
        Names of the items of each set.
    support, standard_error
        Unbiased support (it can be negative) and its standard error.
    reports, target, pool
        Number of reports; whose supports; how groups were put together.
    homogeneity
        Test whether the groups agree, where there are several.
    assumptions, warnings
        What must hold for the errors to be right; what a reader must know first.
    manipulation
        People that one forged report can count as in the support of one item, where it does most harm.
    """

    sets: tuple[tuple[str, ...], ...]
    support: FloatArray
    standard_error: FloatArray
    reports: int
    target: str
    pool: str
    homogeneity: Homogeneity | None
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...]
    manipulation: float

    def __len__(self) -> int:
        return len(self.sets)

    def interval(self, confidence: float = 0.95) -> Interval:
        """Return a normal interval for each support, not cut at 0 and 1."""
        if not 0 < confidence < 1:
            raise EstimateError(f"confidence must be between 0 and 1, not {confidence}")
        reach = NormalDist().inv_cdf((1 + confidence) / 2) * self.standard_error
        return Interval(self.support - reach, self.support + reach)

    def rows(self, confidence: float = 0.95) -> list[dict[str, Any]]:
        """Return one plain record per set: items, support, standard_error, low, high."""
        low, high = self.interval(confidence)
        columns = (self.support, self.standard_error, low, high)
        names = ("support", "standard_error", "low", "high")
        return [
            {"items": list(items), **dict(zip(names, map(float, numbers), strict=True))}
            for items, *numbers in zip(self.sets, *columns, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class Itemsets(SetSupports):
    """The sets that a search reports, and what it examined.

    Attributes
    ----------
    min_support
        The support that is asked for.
    promise
        Which error is controlled, in words.
    examined
        Number of sets examined, by size.
    """

    min_support: float = 0.0
    promise: str = ""
    examined: Mapping[int, int] = field(default_factory=dict)
    _rules: Callable[[], list[Rule]] = field(default=list, repr=False)

    def rules(self, min_confidence: float = 0.5) -> list[Rule]:
        """Return association rules within the reported sets whose estimated confidence is at least this, best first."""
        if not 0 <= min_confidence <= 1:
            raise EstimateError(f"min_confidence must be between 0 and 1, not {min_confidence}")
        # A confidence of exactly min_confidence may lie a rounding error below it.
        chosen = [rule for rule in self._rules() if rule.confidence >= min_confidence - 1e-12]
        return sorted(chosen, key=lambda rule: -rule.confidence)

    def to_mapping(self, confidence: float = 0.95) -> dict[str, Any]:
        """Return everything as plain data for JSON."""
        return {
            "reports": self.reports,
            "min_support": self.min_support,
            "promise": self.promise,
            "manipulation": self.manipulation,
            "confidence": confidence,
            "warnings": list(self.warnings),
            "assumptions": list(self.assumptions),
            "rows": self.rows(confidence),
            "rules": [vars(rule) for rule in self.rules()],
        }


def baskets_of(tally: Tally, question: str) -> tuple[list[tuple[ItemSet, ByteArray]], tuple[str, ...]]:
    """Return what `itemsets` and `supports` take from the tally of a question of kind `choices`: groups and items.

    >>> from pldp import Survey, tally
    >>> from pldp.simulate import Population, simulate_reports
    >>> survey = Survey.load("examples/shopping.toml")
    >>> people = Population.of_shares(survey, 20_000, seed=1)
    >>> counted = tally(survey, simulate_reports(survey, people, seed=1))
    >>> found = itemsets(*baskets_of(counted, "basket"), 0.2)
    >>> found.sets[0]
    ('bread',)
    """
    asked = tally.survey.question(question)
    if asked.kind != "choices":
        raise EstimateError(f"question {question!r} must be of kind choices to have sets of items, not {asked.kind}")
    groups = []
    for level, channel in zip(asked.levels, asked.channels, strict=True):
        counts = tally.counts[question, level.name]
        if counts.reports and isinstance(channel, ItemSet) and isinstance(counts, BitCounts):
            groups.append((channel, counts.rows()))
    if not groups:
        raise EstimateError(f"question {question!r} has no reports, so there is nothing to estimate")
    return groups, asked.values


def supports(
    groups: Baskets,
    items: Sequence[str],
    sets: Sequence[Sequence[str]],
    *,
    target: Target = "respondents",
    pool: Pool = "precision",
) -> SetSupports:
    """Return the unbiased supports of chosen sets with standard errors.

    Parameters
    ----------
    groups
        Channel and packed rows of each group of people.
    items
        Name of each bit.
    sets
        The sets, as names of items.
    target, pool
        As for `itemsets`.

    Examples
    --------
    >>> from pldp.simulate import pack_baskets, perturb_item_sets
    >>> items = ["beer", "bread", "milk"]
    >>> truth = pack_baskets([["beer", "bread"]] * 4000 + [["milk"]] * 6000, items)
    >>> channel = ItemSet.of([1_000_000] * 3)
    >>> found = supports([(channel, perturb_item_sets(channel, truth, np.random.default_rng(1)))], items,
    ...     [["beer", "bread"], ["beer", "milk"]])
    >>> low, high = found.interval(0.999)
    >>> [bool(a < truth < b) for a, truth, b in zip(low, (0.4, 0.0), high)]
    [True, True]
    """
    together = ItemGroups.of(groups, len(items), pool, target)
    places = item_places(items)
    wanted = [_places(one, places) for one in sets]
    if not wanted:
        raise EstimateError("sets must hold at least one set of items, not none")
    support, variance = np.empty(len(wanted)), np.empty(len(wanted))
    for size in {len(one) for one in wanted}:
        chosen = [number for number, one in enumerate(wanted) if len(one) == size]
        matrix = np.array([wanted[number] for number in chosen], np.int64)
        _refuse_hopeless(together, matrix)
        counted = [group.columns.pattern_counts(matrix).counts for group in together.groups]
        support[chosen], variance[chosen] = together.estimate(matrix, counted)
    return SetSupports(
        sets=tuple(tuple(items[place] for place in one) for one in wanted),
        support=support,
        standard_error=np.sqrt(variance),
        **_circumstances(together),
    )


def itemsets(
    groups: Baskets,
    items: Sequence[str],
    min_support: float,
    *,
    largest: int = 3,
    rates: Rates = DEFAULT_RATES,
    target: Target = "respondents",
    pool: Pool = "precision",
) -> Itemsets:
    """Find the sets of items that at least a share `min_support` of the people have.

    A set is reported when support − z·se ≥ min_support. With `Rates(control="any")` the probability that *any* set is
    reported whose true support is below min_support is at most `false_positive`: z is that of the rate divided by
    `largest` and by the number of all sets of the size (Bonferroni), whichever sets the search looks at. With
    `control="each"` the rate is that of each such set on its own, and many sets give many false ones. Both rest on the
    normal approximation. A set is followed further unless support + z'·se < min_support, z' being that of `miss`: a
    set with enough support loses each of its subsets, and itself, with at most that probability. Sets that would be
    reported with at most that probability, were they as frequent as their rarest subset can be, are not counted.
    Reports that were not perturbed are mined exactly.

    Parameters
    ----------
    groups
        Channel and packed rows of each group of people.
    items
        Name of each bit.
    min_support
        Share of people, above 0 and at most 1.
    largest
        Number of items of the largest sets.
    rates
        The errors that are allowed, see above.
    target
        `respondents`: supports among exactly these people. `population`: errors include that they are a random sample.
    pool
        `precision` weights groups by inverse variance and assumes that they have the same supports, which is tested per
        item; `size` weights by the number of reports and needs no such assumption.

    Examples
    --------
    >>> from pldp.simulate import pack_baskets
    >>> items = ["beer", "bread", "milk"]
    >>> rows = pack_baskets([["beer", "bread"], ["beer", "bread", "milk"], ["milk"]], items)
    >>> found = itemsets([(ItemSet.of([math.inf] * 3), rows)], items, 0.6)
    >>> found.sets
    (('beer',), ('bread',), ('milk',), ('beer', 'bread'))
    >>> [(rule.antecedent, rule.consequent, rule.confidence, rule.lift) for rule in found.rules()]
    [(('beer',), ('bread',), 1.0, 1.5), (('bread',), ('beer',), 1.0, 1.5)]
    """
    item_places(items)
    if not 0 < min_support <= 1:
        raise EstimateError(f"min_support must be above 0 and at most 1, not {min_support}")
    if not 1 <= largest <= LARGEST_SET:
        raise EstimateError(f"largest must be from 1 to {LARGEST_SET} items, not {largest}")
    together = ItemGroups.of(groups, len(items), pool, target)
    largest = min(largest, len(items))
    follow = -NormalDist().inv_cdf(rates.miss)
    search = Search(together, min_support, rates.thresholds(len(items), largest), follow)
    found, examined, notes = search.run()
    sets = [tuple(items[place] for place in one) for part in found for one in part.sets]
    circumstances = _circumstances(together)
    circumstances["warnings"] += notes
    return Itemsets(
        sets=tuple(sets),
        support=np.concatenate([part.supports.support for part in found]),
        standard_error=np.sqrt(np.concatenate([part.supports.variance for part in found])),
        min_support=min_support,
        promise=rates.promise,
        examined=examined,
        _rules=lambda: [rule for part in found for rule in rules_within(together, part, items)],
        **circumstances,
    )


def _places(names: Sequence[str], places: Mapping[str, int]) -> list[int]:
    if isinstance(names, str) or not names:
        raise EstimateError("a set must name at least one item, as a list of names")
    unknown = [name for name in names if name not in places]
    if unknown:
        raise EstimateError(f"a set must name known items; {unknown[0]!r} is not among the {len(places)}")
    if len(set(names)) < len(names):
        raise EstimateError(f"a set must name each item once, not {', '.join(names)}")
    if len(names) > LARGEST_SET:
        raise EstimateError(f"a set must have at most {LARGEST_SET} items, not {len(names)}")
    return sorted(places[name] for name in names)


def _refuse_hopeless(together: ItemGroups, sets: IntArray) -> None:
    worst = float(together.expected_error(sets).max())
    if worst > HOPELESS:
        raise EstimateError(
            f"a set of {sets.shape[1]} items is too large for these channels: with {together.reports:,} reports its "
            f"support has a standard error of {worst:.2g}; ask for smaller sets, more people or a larger epsilon"
        )


def _circumstances(together: ItemGroups) -> dict[str, Any]:
    test = together.homogeneity()
    warnings: tuple[str, ...] = ()
    if test is not None and test.rejected:
        advice = 'use pool="size"' if together.pool == "precision" else "the supports are pooled by size"
        differ = f"people of different groups have different supports (p = {test.p_value:.2g} < {TEST_LEVEL})"
        warnings = (f"{differ}: {advice}",)
    by_precision = together.pool == "precision" and len(together.groups) > 1
    return {
        "reports": together.reports,
        "target": together.target,
        "pool": together.pool,
        "homogeneity": test,
        "assumptions": (
            about_people(together.target),
            SAME_SUPPORTS if by_precision else BY_SIZE,
            HONEST_DEVICES,
            NORMAL,
        ),
        "warnings": warnings,
        "manipulation": together.manipulation,
    }
