"""Supports of chosen sets, frequent sets and the association rules within them, with errors."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import NormalDist
from typing import Any, Final, Literal, Self, cast

import numpy as np

from pldp.errors import EstimateError
from pldp.estimates.kinds.item_search import Search, SetPart, SetReports
from pldp.estimates.kinds.item_sets import Baskets, HiddenBaskets, ItemReports
from pldp.estimates.linear.mix import LevelMix, mix_of
from pldp.estimates.linear.pooling import Linear, decode
from pldp.estimates.linear.small_counts import SmallCounts, interval_around
from pldp.estimates.results.facts import Facts
from pldp.estimates.results.intervals import CONFIDENCE, Interval, Row, make_rows, normal_reach
from pldp.estimates.results.notes import sets_not_told
from pldp.estimates.results.options import Mix, Target
from pldp.mechanisms import CategoricalChannel, Channel, item_places
from pldp.mechanisms.arrays import FloatArray, IntArray, arrays, label_arrays
from pldp.records import Brief, Record, describe
from pldp.survey import Choices
from pldp.tallies import LARGEST_SET, BitCounts, Tally

Control = Literal["any", "each"]

HOPELESS: Final = 0.5
"""A support with a larger standard error than this says nothing."""

_MANY: Final = 1 << 40
"""Reports at which expected counts are whole numbers, nearly enough."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SetSupports(Facts, Record):
    """Supports of sets of items: the share of people who have all items of a set, unbiased (it can be negative).

    `manipulation` are the people that one forged report can count as in the support of one item, where it does most
    harm; `rare` are the sets that few reports speak for, with conservative intervals. The rest is as for any `Result`.
    """

    sets: tuple[tuple[str, ...], ...]
    support: FloatArray
    standard_error: FloatArray
    rare: SmallCounts | None

    @classmethod
    def of_parts(
        cls,
        facts: Facts,
        reports: SetReports,
        items: Sequence[str],
        parts: Sequence[SetPart],
        places: IntArray | None = None,
        **further: Any,
    ) -> Self:
        """Return what was found of sets of one size after the other; `places` are theirs in the result."""
        names = [tuple(items[place] for place in one) for part in parts for one in part.sets.tolist()]
        places = np.arange(len(names)) if places is None else places
        support, error = (np.concatenate(own) for own in zip(*(part.found[:2] for part in parts), strict=True))
        own_places = np.split(places, np.cumsum([len(part.sets) for part in parts])[:-1])
        rare = [reports.small_counts(part.sets, part.patterns) for part in parts]
        order = np.argsort(places)
        return cls.of(
            facts,
            sets=tuple(names[place] for place in order.tolist()),
            support=support[order],
            standard_error=error[order],
            rare=SmallCounts.joined([*zip(own_places, rare, strict=True)]),
            **further,
        )

    def __len__(self) -> int:
        return len(self.sets)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(sets={describe(self.sets)}, reports={self.reports}, method={self.method!r})"

    def interval(self, confidence: float = CONFIDENCE) -> Interval:
        """Return a normal interval for each support, not cut at 0 and 1; a conservative one where it is `rare`."""
        return self.around(normal_reach(confidence))

    def around(self, reach: float) -> Interval:
        """Return intervals that reach so many standard errors."""
        return interval_around(self.support, self.standard_error, reach, rare=self.rare)

    def rows(self, confidence: float = CONFIDENCE) -> list[Row]:
        """Return one row per set; its label is the tuple of its items."""
        return make_rows(self.sets, self.support, self.standard_error, self.interval(confidence))


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

    `largest` is the size of the largest sets that were looked for and that reports tell about, `promise` says which
    error is controlled, and `every_rule` are the association rules within the sets, best first.
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


@dataclass(frozen=True, repr=False)
class Rates(Brief):
    """The errors that a search may make.

    `false_positive` is the probability that `any` set is reported that has less support than asked for, or the one of
    `each` such set (`control`); `miss` that a set with enough support is given up, once for the set and once for each
    of its subsets.
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

    def promise(self, target: str) -> str:
        """Say what is controlled, and whether it is about the population or about the people who reported."""
        whom = "in the population" if target == "population" else "among the people who reported"
        less, rate = f"less support {whom} than asked for", f"{self.false_positive:g}"
        if self.control == "any":
            return f"the probability that any reported set has {less} is at most {rate}"
        return f"a set with {less}, each on its own, is reported with probability at most {rate}"


DEFAULT_RATES = Rates()
PLAIN_RATES = Rates(0.5, "each", 0.5)
"""Estimates are compared with min_support as if they had no error, as published systems do."""


def baskets_of(tally: Tally, question: str, *, mix: Mix | None = None) -> tuple[HiddenBaskets, tuple[str, ...]]:
    """Return what `itemsets` and `supports` take from the tally of a question of kind `choices`: groups and items.

    Reports are grouped by the level that they show, or by the label of a hidden one; `mix` is what is known of the mix
    of levels (see `Options`).

    >>> from pldp import Survey, tally
    >>> from pldp.simulate import Population, simulate_reports
    >>> survey = Survey.load("examples/shopping.toml")
    >>> people = Population.of_shares(survey, 20_000, seed=1)
    >>> counted = tally(survey, simulate_reports(survey, people, seed=1))
    >>> groups, items = baskets_of(counted, "basket")
    >>> supports(groups, items, [["bread", "milk"]]).sets
    (('bread', 'milk'),)
    """
    asked = cast("Choices", tally.survey.question(question))  # or another kind whose answer is a set
    if asked.domain != "sets":
        raise EstimateError(f"question {question!r} must be of kind choices to have sets of items, not {asked.kind}")
    known = mix_of(tally, question, mix)
    if not known.reports:
        raise EstimateError(f"question {question!r} has no reports, so there is nothing to estimate")
    counts = (tally.counts[question, level.name] for level in asked.levels)
    outputs = tuple(each.rows() if isinstance(each, BitCounts) else each.counts for each in counts)
    return HiddenBaskets(asked.channels, known, outputs), asked.values


def supports(
    groups: Baskets | HiddenBaskets,
    items: Sequence[str],
    sets: Sequence[Sequence[str]],
    *,
    target: Target = "population",
    differ: float | None = None,
) -> SetSupports:
    """Return the unbiased supports of chosen sets (names of items) with standard errors.

    `groups` are the channel and the packed rows of each group of people, `items` the name of each bit, or both what
    `baskets_of` returns; for `target` and `differ` see `Options`.

    >>> from pldp.mechanisms import ItemSet
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
    reports = ItemReports.of(groups, len(items), differ, target)
    places = item_places(items)
    wanted = [_places(one, places) for one in sets]
    if not wanted:
        raise EstimateError("nothing to count: sets must name at least one set of items")
    sizes, parts = np.array([len(one) for one in wanted]), []
    for size in np.unique(sizes).tolist():
        own = np.array([one for one in wanted if len(one) == size], np.int64)
        _refuse_hopeless(reports, own)
        parts.append(SetPart.of(reports, own))
    return SetSupports.of_parts(reports.facts, reports, items, parts, np.argsort(sizes, kind="stable"))


def _refuse_hopeless(reports: ItemReports, sets: IntArray) -> None:
    """Refuse sets that reports do not tell about, or whose supports would say nothing."""
    size, worst = sets.shape[1], float(reports.expected_error(sets).max())
    text = f"a set of {size} items is too large for these channels:"
    if math.isinf(worst):
        most = min(form.largest for form in reports.forms)
        raise EstimateError(
            f"{text} reports of some level tell about at most {most} items together; ask for smaller sets"
        )
    if worst > HOPELESS:
        raise EstimateError(
            f"{text} with {reports.mix.reports:,} reports its support has a standard error of {worst:.2g}; ask for "
            "smaller sets, more people or a larger epsilon"
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


def itemsets(
    groups: Baskets | HiddenBaskets,
    items: Sequence[str],
    min_support: float,
    *,
    largest: int = 3,
    rates: Rates = DEFAULT_RATES,
    target: Target = "population",
    differ: float | None = None,
) -> Itemsets:
    """Find the sets of items that at least a share `min_support` of the people have, and the rules within them.

    A set is reported when support − z·se ≥ min_support, and followed further unless support + z'·se < min_support; z
    and z' are those of `rates`, z divided by `largest` and by the number of all sets of the size (Bonferroni) where
    *any* false set counts. Both rest on the normal approximation, and are about the `target`. Sets that would be
    reported with at most the probability `miss`, were they as frequent as their rarest subset can be, are not counted.
    For the respondents themselves, reports that were not perturbed are mined exactly.

    The other parameters are those of `supports`; `largest` is the number of items of the largest sets.

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
    return search_sets(ItemReports.of(groups, len(items), differ, target), items, min_support, largest, rates)


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
    facts = reports.facts
    told = (*facts.notes, *notes, *((sets_not_told(largest),) if largest < asked else ()))
    rules = (rule for part in parts for rule in _rules_within(reports, part, items))
    return Itemsets.of_parts(
        replace(facts, notes=told),
        reports,
        items,
        parts,
        min_support=min_support,
        promise=rates.promise(facts.target),
        examined=examined,
        largest=largest,
        every_rule=tuple(sorted(rules, key=lambda rule: -rule.confidence)),
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
                antecedent, consequent = (tuple(items[sets[number, place]] for place in own) for own in (given, rest))
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


def expected_items(
    channels: Sequence[Channel],
    label_channel: CategoricalChannel,
    shares: FloatArray,
    supports: FloatArray,
    differ: float | None = 0.0,
    reports: float | None = None,
) -> Linear:
    """Return what would be decoded of each item, if these shares of levels and supports are true.

    As `expected_reports` for labels: its variance times its reports is that of one report.

    >>> from pldp.mechanisms import ItemSet, RandomizedResponse
    >>> channels = [ItemSet.of([epsilon] * 2) for epsilon in (500_000, 2_000_000)]
    >>> label = RandomizedResponse.of(2, 1_000_000)
    >>> found = expected_items(channels, label, np.array([0.5, 0.5]), np.array([0.05, 0.5]))
    >>> (found.variance() * found.reports).round(2)
    array([0.81, 0.93])
    """
    labels = label_arrays(label_channel).matrix() @ shares
    mix = LevelMix.of(label_channel, np.rint(labels * (reports or _MANY)).astype(int).tolist())
    items = ItemReports(tuple(map(arrays, channels)), (), mix, differ, "population")
    expected = items.expected(np.arange(len(supports))[:, None], np.stack([1 - supports, supports], axis=1))
    return decode(expected, differ, alike=False)
