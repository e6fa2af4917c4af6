"""A choice of several labels: the share of people who have each item, and the frequent sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Final

import numpy as np

from pldp.estimates.kinds.item_search import SetReports
from pldp.estimates.kinds.item_sets import ItemReports
from pldp.estimates.kinds.item_supports import HOPELESS, Itemsets, Rule, baskets_of, search_sets
from pldp.estimates.kinds.sides import ItemSide, Margin, Side, possible_shares, refuse_ranges
from pldp.estimates.results import notes
from pldp.estimates.results.facts import Facts, GroupReports, LevelShare, PersonWeights
from pldp.estimates.results.intervals import make_rows
from pldp.estimates.results.options import Options
from pldp.estimates.results.result import Result
from pldp.mechanisms.arrays import FloatArray, arrays
from pldp.survey import Choices
from pldp.tallies import Tally

METHODS: Final = ()


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Sets(Result):
    """The unbiased `support` of every single item of `values`, and the frequent `sets` with theirs.

    `weights` are those of each group in the support of every item (groups × items), none where people may have given
    several reports or have hidden their level.
    """

    kind: ClassVar[str] = "choices"

    values: tuple[str, ...]
    support: FloatArray
    sets: Itemsets
    weights: FloatArray | None = None

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
        if self.weights is None:
            return None
        people = np.array([group.reports for group in self.groups])
        return PersonWeights(people, self.weights / people[:, None])

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
    """Return the supports of all items and the frequent sets, and beside them what holds whatever levels depend on."""
    baskets, items = baskets_of(tally, question.name, mix=options.mix)
    reports = ItemReports.of(baskets, len(items), options.pool, options.target)
    if not reports.mix.visible:
        return _of_labels(question, reports, options)
    levels = [level.name for level in question.levels if tally.counts[question.name, level.name].reports]
    return _of_levels(question, reports, options, levels)


def _of_levels(question: Choices, reports: ItemReports, options: Options, levels: Sequence[str]) -> Sets:
    """Return supports and sets from reports that show their levels, those pooled by size beside others."""
    linear = reports.items
    weights = np.asarray((linear.slope * linear.evidence.shares).sum(axis=2))
    named = zip(levels, reports.forms, reports.mix.counts.tolist(), weights.mean(axis=1).tolist(), strict=True)
    facts = replace(
        _facts(question, reports, options),
        method=f"unbiased, pooled by {reports.pool}",
        groups=tuple(  # the weight of a level is its mean weight in the supports of the items
            GroupReports(name, form.channel.mechanism, question.answer_epsilon(name), count, weight)
            for name, form, count, weight in named
        ),
    )
    beside = _of_levels(question, reports.free(), options, levels) if reports.several else None
    return state_sets(facts, reports, question.values, options, beside=beside, weights=weights)


def _of_labels(question: Choices, reports: ItemReports, options: Options) -> Sets:
    """Return supports and sets from reports that hide their levels, and beside them those that assume nothing."""
    chosen = zip(question.levels, question.channels, reports.mix.shares.tolist(), strict=True)
    levels = tuple(
        LevelShare(level.name, channel.mechanism, question.answer_epsilon(level.name), share)
        for level, channel, share in chosen
    )
    facts = replace(_facts(question, reports, options), levels=levels)
    if not reports.several:
        method = "unbiased, hidden levels and items free to depend on each other"
        return state_sets(replace(facts, method=method), reports, question.values, options)
    free, beside = reports.free(), None
    told = (*reports.mix.notes, *notes.weak_test(reports.homogeneity))
    worst = float(free.expected_error(reports.singles[0]).max())
    if worst <= HOPELESS:
        beside = _of_labels(question, free, options)
    else:
        told = (*told, notes.no_free_shares(worst))
    method = "approximately unbiased, hidden levels, labels pooled by precision"
    return state_sets(replace(facts, method=method, notes=told), reports, question.values, options, beside=beside)


def _facts(question: Choices, reports: ItemReports, options: Options) -> Facts:
    """Return what results state of any reports of a question, but notes: these are those of a search."""
    about = replace(reports.facts, question=question.name, text=question.text)
    return replace(about, confidence=options.confidence, notes=())


def state_sets(
    facts: Facts,
    reports: SetReports,
    items: tuple[str, ...],
    options: Options,
    *,
    beside: Sets | None = None,
    weights: FloatArray | None = None,
) -> Sets:
    """Return supports and frequent sets of reports, with what only the caller knows; its notes are further ones."""
    singles, patterns = reports.singles
    found = reports.estimate(singles, patterns)
    frequent = search_sets(reports, items, options.min_support, options.largest)
    worst = float(found.error.max())
    told = (
        *frequent.notes,
        *facts.notes,
        *((notes.untold_items([items[place] for place in reports.untold]),) if reports.untold else ()),
        *((notes.uncertain_items(worst),) if worst > HOPELESS else ()),
    )
    return Sets.of(
        replace(facts, notes=told),
        values=items,
        support=found.support,
        standard_error=found.error,
        rare=reports.small_counts(singles, patterns),
        sets=frequent,
        weights=weights,
        assumption_free=beside,
    )


def side(tally: Tally, question: Choices, options: Options, edges: Sequence[float] | None) -> Side:
    """Return what the question brings to a table: its items."""
    refuse_ranges(question.name, question.kind, edges)
    own = estimate(tally, question, replace(options, largest=1))
    beside = own.assumption_free
    return ItemSide(
        margin=_margin(question, own),
        beside=None if beside is None else _margin(question, beside),
        forms=[arrays(channel) for channel in question.channels],
    )


def _margin(question: Choices, own: Result) -> Margin:
    """Return the supports as the margin of a table."""
    return Margin(
        question=question.name,
        values=question.values,
        shares=own.estimates,
        possible=possible_shares(own.estimates),
        reports=own.reports,
        exclusive=False,
        notes=own.notes,
        homogeneity=own.homogeneity,
    )
