"""Supports of chosen sets of items from perturbed baskets, with errors."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt

from pldp.errors import EstimateError
from pldp.estimates.mix import level_mix
from pldp.estimates.mix_bounds import Mix
from pldp.estimates.notes import NORMAL, assume, levels_disagree
from pldp.estimates.options import Pool, Target
from pldp.estimates.rare import Rare
from pldp.estimates.result import CONFIDENCE, Homogeneity, Interval, Note, Row, interval_around, make_rows, normal_reach
from pldp.estimates.sets.groups import ItemGroups
from pldp.estimates.sets.hidden import HiddenBaskets
from pldp.mechanisms import Channel, item_places
from pldp.mechanisms.arrays import FloatArray
from pldp.records import Record
from pldp.survey import Choices
from pldp.tallies import LARGEST_SET, BitCounts, Columns, Tally

Outputs = npt.NDArray[Any]
"""Packed rows of bits, one per report, or how often each integer came."""

Baskets = Sequence[tuple[Channel, Outputs | Columns]]
"""Groups of reports: the channel and the outputs of each, or whatever counts them (`pldp.tallies.spark`)."""

HOPELESS: Final = 0.5
"""A support with a larger standard error than this says nothing."""


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
    rare: Rare | None

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


def put_together(groups: Baskets | HiddenBaskets, size: int, pool: Pool, target: Target) -> ItemGroups:
    """Put the groups of reports about so many items together, whether levels show or are hidden."""
    if isinstance(groups, HiddenBaskets):
        return groups.together(size, pool, target)
    return ItemGroups.of(groups, size, pool, target)


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
    together = put_together(groups, len(items), pool, target)
    places = item_places(items)
    wanted = [_places(one, places) for one in sets]
    if not wanted:
        raise EstimateError("nothing to count: sets must name at least one set of items")
    return _supports(together, items, wanted, HOPELESS)


def item_supports(together: ItemGroups, items: Sequence[str]) -> SetSupports:
    """Return the support of every single item, however large its error."""
    return _supports(together, items, [[place] for place in range(len(items))])


def _supports(
    together: ItemGroups, items: Sequence[str], wanted: Sequence[Sequence[int]], largest_error: float = math.inf
) -> SetSupports:
    support, error = np.empty(len(wanted)), np.empty(len(wanted))
    rare = []
    for size in {len(one) for one in wanted}:
        chosen = [number for number, one in enumerate(wanted) if len(one) == size]
        sets = np.array([wanted[number] for number in chosen], np.int64)
        worst = float(together.expected_error(sets).max())
        if math.isinf(worst):
            raise EstimateError(
                f"a set of {size} items is too large for these channels: reports of some level tell about at most "
                f"{min(group.arrays.largest for group in together.groups)} items together; ask for smaller sets"
            )
        if worst > largest_error:
            raise EstimateError(
                f"a set of {size} items is too large for these channels: with {together.reports:,} reports its "
                f"support has a standard error of {worst:.2g}; ask for smaller sets, more people or a larger epsilon"
            )
        patterns = [columns.pattern_counts(sets) for columns in together.columns]
        support[chosen], error[chosen] = together.estimate(sets, patterns)
        rare.append((np.array(chosen), together.rare(sets, patterns)))
    names = tuple(tuple(items[place] for place in one) for one in wanted)
    return SetSupports(names, support, error, rare=Rare.joined(rare), **circumstances(together))


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


def circumstances(together: ItemGroups) -> dict[str, Any]:
    """Return what supports of these groups rest on, as fields of `SetSupports`."""
    test = together.homogeneity()
    return {
        "reports": together.reports,
        "target": together.target,
        "pool": together.pool,
        "homogeneity": test,
        "assumptions": assume(together.target, *together.about_levels, NORMAL),
        "notes": levels_disagree(test, together.pool),
        "manipulation": together.manipulation,
    }
