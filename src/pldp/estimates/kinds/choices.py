"""A choice of several labels: the share of people who have each item, and the frequent sets."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Final, cast

import numpy as np

from pldp.estimates.kinds.item_search import SetReports
from pldp.estimates.kinds.item_sets import ItemReports
from pldp.estimates.kinds.item_supports import HOPELESS, Itemsets, Rule, baskets_of, search_sets
from pldp.estimates.kinds.sides import ItemSide, Margin, Side
from pldp.estimates.linear.homogeneity import check_bound
from pldp.estimates.linear.mix import name_levels
from pldp.estimates.results import notes
from pldp.estimates.results.alike import beside_alike
from pldp.estimates.results.facts import Facts, Note, PersonWeights
from pldp.estimates.results.intervals import Interval, make_rows
from pldp.estimates.results.options import Options, pooling_words
from pldp.estimates.results.result import Result
from pldp.mechanisms.arrays import FloatArray, arrays
from pldp.survey import Choices
from pldp.tallies import Tally

METHODS: Final = ()


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Sets(Result):
    """The unbiased `support` of every single item of `values`, and the frequent `sets` with theirs.

    `people` are those of each group with the weight of one of them in the support of every item, none where people may
    have given several reports or have hidden their level.
    """

    kind: ClassVar[str] = "choices"

    values: tuple[str, ...]
    support: FloatArray
    sets: Itemsets
    people: PersonWeights | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """The items."""
        return self.values

    @property
    def estimates(self) -> FloatArray:
        """The supports of the items."""
        return self.support

    @property
    def fitted(self) -> bool:
        """Whether the supports rest on a fitted mix of levels."""
        return bool(self.levels)

    def person_weights(self) -> PersonWeights | None:
        """Return the weight of each person in the support of every item, where it is known."""
        return self.people

    def rules(self, min_confidence: float = 0.5) -> list[Rule]:
        """Return association rules within the frequent sets whose estimated confidence is at least this, best first."""
        return self.sets.rules(min_confidence)

    def _extras(self, confidence: float) -> dict[str, Any]:
        found, around = self.sets, self.sets.around(self.reach(confidence))
        rows = [row._asdict() for row in make_rows(found.sets, found.support, found.standard_error, around)]
        return {
            "sets": [{"items": row.pop("label"), **row} for row in rows],
            "rules": [asdict(rule) for rule in self.rules()],
            "min_support": found.min_support,
            "promise": found.promise if self.live is None else f"{found.promise}, at a single look",
            "largest": found.largest,
        }


def estimate(tally: Tally, question: Choices, options: Options) -> Result:
    """Return the supports of all items and the frequent sets."""
    baskets, items = baskets_of(tally, question.name, mix=options.mix)
    reports = ItemReports.of(baskets, len(items), options.differ, options.target)
    names, mix = name_levels(question), baskets.mix

    def stated(differ: float | None) -> Sets:
        own, told = reports.within(differ), list[Note]()
        if differ == 0 and not mix.visible:
            told += mix.notes
        if differ:
            told.append(notes.BOUND_OF_ITEMS)
            check_bound(own.items.evidence, differ)
        linear, came = own.items, mix.counts[mix.counts > 0].astype(np.float64)
        weights = np.asarray((linear.slope * linear.evidence.shares).sum(axis=2))
        # The weight of a level is its mean weight in the supports of the items.
        groups = mix.groups_of(names, np.flatnonzero(mix.counts).tolist(), weights.mean(axis=1))
        people = PersonWeights(came, weights / came[:, None]) if groups else None
        facts = replace(
            own.facts,
            question=question.name,
            text=question.text,
            method=f"unbiased, {mix.words}{pooling_words(differ if reports.several else None)}",
            groups=groups,
            levels=mix.levels_of(names),
            notes=tuple(told),
        )
        free = reports.within(None) if differ else own
        found = state_sets(facts, own, items, options, people=people, searched=free)
        if not differ:
            return found
        told_of = own.singles[1].any(axis=(0, 2))
        bias = np.zeros(len(items))
        bias[told_of] = linear.bias
        return replace(found, bias=Interval(-bias, bias))

    return beside_alike(stated, options.differ, several=reports.several)


def state_sets(
    facts: Facts,
    reports: SetReports,
    items: tuple[str, ...],
    options: Options,
    *,
    people: PersonWeights | None = None,
    searched: SetReports | None = None,
) -> Sets:
    """Return supports and frequent sets of reports, with what only the caller knows; its notes are further ones.

    Frequent sets are those of the `searched` reports, if they are others.
    """
    singles, patterns = reports.singles
    found = reports.estimate(singles, patterns)
    frequent = search_sets(searched or reports, items, options.min_support, options.largest)
    worst = float(found.error.max())
    told = patterns[patterns.any(axis=(1, 2))].any(axis=2)  # by levels or labels that came
    untold = [items[place] for place in np.flatnonzero(~told.all(axis=0))]
    further = (
        *frequent.notes,
        *facts.notes,
        *((notes.untold_items(untold),) if untold else ()),
        *((notes.uncertain_items(worst),) if worst > HOPELESS else ()),
    )
    return Sets.of(
        replace(facts, notes=further, confidence=options.confidence),
        values=items,
        support=found.support,
        standard_error=found.error,
        rare=reports.small_counts(singles, patterns),
        sets=frequent,
        people=people,
    )


def side(tally: Tally, question: Choices, options: Options) -> Side:
    """Return what the question brings to a table: its items."""
    own = cast("Sets", estimate(tally, question, replace(options, largest=1)))
    possible, forms = np.clip(own.estimates, 0.0, 1.0), [arrays(channel) for channel in question.channels]
    return ItemSide(margin=Margin.of(own, question.values, own.estimates, possible, exclusive=False), forms=forms)
