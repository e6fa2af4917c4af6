"""Supports of chosen sets of items from perturbed baskets, with errors."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt

from pldp.errors import EstimateError
from pldp.estimates.kinds.item_sets import ItemReports
from pldp.estimates.kinds.set_reports import SetReports
from pldp.estimates.linear.mix import LevelMix, level_mix
from pldp.estimates.linear.pooling import decode
from pldp.estimates.linear.small_counts import SmallCounts, interval_around
from pldp.estimates.results.facts import Homogeneity, Note
from pldp.estimates.results.intervals import CONFIDENCE, Interval, Row, make_rows, normal_reach
from pldp.estimates.results.notes import NORMAL, assume, levels_disagree
from pldp.estimates.results.options import Mix, Pool, Target, check_pooling
from pldp.mechanisms import CategoricalChannel, Channel, item_places
from pldp.mechanisms.arrays import FloatArray, IntArray, arrays, label_arrays
from pldp.records import Record
from pldp.survey import Choices
from pldp.tallies import LARGEST_SET, BitCounts, Columns, Tally

Outputs = npt.NDArray[Any]
"""Packed rows of bits, one per report, or how often each integer came."""

Baskets = Sequence[tuple[Channel, Outputs | Columns]]
"""Groups of reports: the channel and the outputs of each, or whatever counts them (`pldp.tallies.spark`)."""

_MANY: Final = 1 << 40
"""Reports at which expected counts are whole numbers, nearly enough."""

HOPELESS: Final = 0.5
"""A support with a larger standard error than this says nothing."""


@dataclass(frozen=True, eq=False, repr=False)
class HiddenBaskets(Record):
    """Reports of sets whose levels are hidden: the channel of every level, the labels, and the outputs of each label.

    Outputs are packed rows of bits, counts of integers, or whatever counts them; `names` are those of the levels.
    """

    channels: tuple[Channel, ...]
    mix: LevelMix
    outputs: tuple[Outputs | Columns, ...]
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class SetSupports(Record):
    """Supports of sets of items: the share of people who have all items of a set, unbiased (it can be negative).

    `manipulation` are the people that one forged report can count as in the support of one item, where it does most
    harm; `rare` are the sets that few reports speak for, with conservative intervals. The rest is as for any `Result`.
    """

    sets: tuple[tuple[str, ...], ...]
    support: FloatArray
    standard_error: FloatArray
    reports: int
    target: str
    pool: str
    homogeneity: Homogeneity | None
    assumptions: tuple[str, ...]
    notes: tuple[Note, ...]
    manipulation: float
    rare: SmallCounts | None

    def __len__(self) -> int:
        return len(self.sets)

    def interval(self, confidence: float = CONFIDENCE) -> Interval:
        """Return a normal interval for each support, not cut at 0 and 1; a conservative one where it is `rare`."""
        return self.around(normal_reach(confidence))

    def around(self, reach: float) -> Interval:
        """Return intervals that reach so many standard errors."""
        return interval_around(self.support, self.standard_error, reach, rare=self.rare)

    def rows(self, confidence: float = CONFIDENCE) -> list[Row]:
        """Return one row per set; its label is the tuple of its items."""
        return make_rows(self.sets, self.support, self.standard_error, self.interval(confidence))


def baskets_of(
    tally: Tally, question: str, *, mix: Mix | None = None
) -> tuple[list[tuple[Channel, Outputs]], tuple[str, ...]] | tuple[HiddenBaskets, tuple[str, ...]]:
    """Return what `itemsets` and `supports` take from the tally of a question of kind `choices`: groups and items.

    Where levels are hidden, reports are grouped by the label that they show; `mix` is what is known of the mix of
    levels (see `Options`).

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
    parts = [tally.counts[question, level.name] for level in asked.levels]
    if not any(counts.reports for counts in parts):
        raise EstimateError(f"question {question!r} has no reports, so there is nothing to estimate")
    outputs: list[Outputs] = [each.rows() if isinstance(each, BitCounts) else each.counts for each in parts]
    labels = level_mix(tally, question, mix)
    if labels is not None:
        names = tuple(level.name for level in asked.levels)
        return HiddenBaskets(asked.channels, labels, tuple(outputs), names), asked.values
    channels: Sequence[Channel] = asked.channels
    every = zip(channels, outputs, parts, strict=True)
    return [(channel, own) for channel, own, counts in every if counts.reports], asked.values


def item_reports(groups: Baskets | HiddenBaskets, size: int, pool: Pool, target: Target) -> ItemReports:
    """Return the reports about so many items by what they show, whether levels show or are hidden."""
    if not isinstance(groups, HiddenBaskets):
        return ItemReports.of_groups(groups, size, pool, target)
    check_pooling(pool, target)
    if pool == "size":
        raise EstimateError(
            "pool must be precision where levels are hidden, as reports do not show them: groups of one level "
            "cannot be weighted by their size; assumption_free of the result assumes nothing about the choice of "
            "levels"
        )
    return ItemReports.of_labels(groups.channels, groups.mix, groups.outputs, groups.names, size, target)


def supports(
    groups: Baskets | HiddenBaskets,
    items: Sequence[str],
    sets: Sequence[Sequence[str]],
    *,
    target: Target = "population",
    pool: Pool = "precision",
) -> SetSupports:
    """Return the unbiased supports of chosen sets with standard errors.

    Parameters
    ----------
    groups, items
        Channel and packed rows of each group of people, or what `baskets_of` returns, and the name of each bit.
    sets
        The sets, as names of items.
    target, pool
        See `Options`.

    Examples
    --------
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
    reports = item_reports(groups, len(items), pool, target)
    places = item_places(items)
    wanted = [_places(one, places) for one in sets]
    if not wanted:
        raise EstimateError("nothing to count: sets must name at least one set of items")
    return _supports(reports, items, wanted, HOPELESS)


def item_supports(reports: SetReports, items: Sequence[str]) -> SetSupports:
    """Return the support of every single item, however large its error."""
    return _supports(reports, items, [[place] for place in range(len(items))])


def _supports(
    reports: SetReports, items: Sequence[str], wanted: Sequence[Sequence[int]], largest_error: float = math.inf
) -> SetSupports:
    support, error = np.empty(len(wanted)), np.empty(len(wanted))
    rare = []
    for size in {len(one) for one in wanted}:
        chosen = np.flatnonzero([len(one) == size for one in wanted])
        sets = np.array([one for one in wanted if len(one) == size], np.int64)
        _refuse_hopeless(reports, sets, largest_error)
        patterns = [columns.pattern_counts(sets) for columns in reports.columns]
        found = reports.estimate(sets, patterns)
        support[chosen], error[chosen] = found.support, found.error
        rare.append((chosen, reports.small_counts(sets, patterns)))
    names = tuple(tuple(items[place] for place in one) for one in wanted)
    return SetSupports(names, support, error, rare=SmallCounts.joined(rare), **circumstances(reports))


def _refuse_hopeless(reports: SetReports, sets: IntArray, largest_error: float) -> None:
    """Refuse sets that reports do not tell about, or whose supports would say nothing."""
    items, worst = sets.shape[1], float(reports.expected_error(sets).max())
    if math.isinf(worst):
        raise EstimateError(
            f"a set of {items} items is too large for these channels: reports of some level tell about at most "
            f"{reports.told_by_all} items together; ask for smaller sets"
        )
    if worst > largest_error:
        raise EstimateError(
            f"a set of {items} items is too large for these channels: with {reports.reports:,} reports its "
            f"support has a standard error of {worst:.2g}; ask for smaller sets, more people or a larger epsilon"
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


def circumstances(reports: SetReports) -> dict[str, Any]:
    """Return what supports of these reports rest on, as fields of `SetSupports`."""
    test = reports.homogeneity
    return {
        "reports": reports.reports,
        "target": reports.target,
        "pool": reports.pool,
        "homogeneity": test,
        "assumptions": assume(reports.target, *reports.about_levels, NORMAL),
        "notes": levels_disagree(test, reports.pool),
        "manipulation": reports.manipulation,
    }


def hidden_item_variance(
    channels: Sequence[Channel], label_channel: CategoricalChannel, shares: FloatArray, supports: FloatArray
) -> FloatArray:
    """Return the variance of each item's support from one report, if these shares of levels and supports are true.

    Errors shrink with the root of the number of reports.

    >>> from pldp.mechanisms import ItemSet, RandomizedResponse
    >>> channels = [ItemSet.of([epsilon] * 2) for epsilon in (500_000, 2_000_000)]
    >>> label = RandomizedResponse.of(2, 1_000_000)
    >>> hidden_item_variance(channels, label, np.array([0.5, 0.5]), np.array([0.05, 0.5])).round(2)
    array([0.81, 0.93])
    """
    labels = label_arrays(label_channel).matrix() @ shares
    mix = LevelMix.of(label_channel, np.rint(labels * _MANY).astype(int).tolist())
    reports = ItemReports(tuple(map(arrays, channels)), (), mix.counts, "precision", "population", mix)
    sets = np.arange(len(supports))[:, None]
    return np.asarray(
        decode(reports.expected(sets, np.stack([1 - supports, supports], axis=1)), alike=False).variance() * mix.reports
    )
