"""A choice of several labels: the share of people who have each item, and the frequent sets."""

from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Final, TypeVar

import numpy as np

from pldp.estimates.kinds.item_rules import Itemsets, Rule, search_sets
from pldp.estimates.kinds.item_sets import ItemReports
from pldp.estimates.kinds.item_supports import HOPELESS, baskets_of, item_reports, item_supports
from pldp.estimates.kinds.set_reports import SetReports
from pldp.estimates.kinds.sides import ItemSide, Margin, Side
from pldp.estimates.linear.mix import LevelMix
from pldp.estimates.results import notes
from pldp.estimates.results.facts import GroupReports, LevelShare, PersonWeights
from pldp.estimates.results.intervals import make_rows
from pldp.estimates.results.options import Options
from pldp.estimates.results.result import Result
from pldp.mechanisms.arrays import FloatArray, arrays
from pldp.survey import Choices
from pldp.tallies import Asked, Tally

METHODS: Final = ()

Some = TypeVar("Some", bound="Sets")


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Sets(Result):
    """The unbiased `support` of every single item of `values`, and the frequent `sets` with theirs.

    `weights` are those of each level in the support of every item (levels × items), none where levels are hidden.
    """

    kind: ClassVar[str] = "choices"

    values: tuple[str, ...]
    support: FloatArray
    sets: Itemsets
    weights: FloatArray

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
        """Return the weight of each person in the support of every item; hidden levels leave it unknown."""
        if not self.groups:
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
            "min_support": self.sets.min_support,
            "promise": found.promise if self.live is None else f"{found.promise}, at a single look",
            "largest": self.sets.largest,
        }


def estimate(tally: Tally, question: Choices, options: Options) -> Result:
    """Return the supports of all items and the frequent sets."""
    baskets, items = baskets_of(tally, question.name, mix=options.mix)
    reports = item_reports(baskets, len(items), options.pool, options.target)
    if reports.mix is not None:
        return _hidden(question, reports, reports.mix, options)
    weights = reports.weights
    levels = [level.name for level in question.levels if tally.counts[question.name, level.name].reports]
    return make_sets(
        Sets,
        question,
        reports,
        options,
        assumption_free=estimate(tally, question, replace(options, pool="size")) if reports.several else None,
        method=f"unbiased, pooled by {options.pool}",
        weights=weights,
        groups=tuple(  # the weight of a level is its mean weight in the supports of the items
            GroupReports(name, form.channel.mechanism, question.answer_epsilon(name), count, weight)
            for name, form, count, weight in zip(
                levels, reports.forms, reports.counts.tolist(), weights.mean(axis=1).tolist(), strict=True
            )
        ),
    )


def make_sets(result: type[Some], asked: Choices | Asked, reports: SetReports, options: Options, **about: Any) -> Some:
    """Return supports and frequent sets of reports, with what only the caller knows."""
    items = asked.values
    found = item_supports(reports, items)
    frequent = search_sets(reports, items, options.min_support, options.largest)
    worst = float(found.standard_error.max())
    further = (
        *about.pop("notes", ()),
        *((notes.untold_items([items[place] for place in reports.untold]),) if reports.untold else ()),
        *((notes.uncertain_items(worst),) if worst > HOPELESS else ()),
    )
    return result(
        question=asked.name,
        text=asked.text,
        values=items,
        support=found.support,
        standard_error=found.standard_error,
        rare=found.rare,
        sets=frequent,
        target=found.target,
        homogeneity=found.homogeneity,
        notes=(*frequent.notes, *further),
        manipulation=found.manipulation,
        confidence=options.confidence,
        **{"reports": found.reports, "assumptions": found.assumptions, **about},
    )


def _hidden(question: Choices, reports: ItemReports, mix: LevelMix, options: Options) -> Sets:
    """Return the same where levels are hidden, and beside it what holds whatever the choice of a level depends on."""
    chosen = zip(question.levels, question.channels, mix.shares.tolist(), strict=True)
    about: dict[str, Any] = {
        "levels": tuple(
            LevelShare(level.name, own.mechanism, question.answer_epsilon(level.name), share)
            for level, own, share in chosen
        ),
        "weights": np.zeros((0, len(question.values))),
    }
    free, beside = reports.free(), None
    worst = float(free.expected_error(np.arange(len(question.values))[:, None]).max())
    if worst <= HOPELESS:
        method = "unbiased, hidden levels and items free to depend on each other"
        beside = make_sets(Sets, question, free, options, method=method, **about)
    return make_sets(
        Sets,
        question,
        reports,
        options,
        method="approximately unbiased, hidden levels, labels pooled by precision",
        assumption_free=beside,
        notes=(
            *reports.notes,
            *notes.weak_test(reports.homogeneity),
            *(() if beside else (notes.no_free_shares(worst),)),
        ),
        **about,
    )


def side(tally: Tally, question: Choices, options: Options) -> Side:
    """Return what the question brings to a table: its items."""
    own = estimate(tally, question, replace(options, largest=1))
    possible, forms = np.clip(own.estimates, 0.0, 1.0), [arrays(channel) for channel in question.channels]
    return ItemSide(margin=Margin.of(own, question.values, own.estimates, possible, exclusive=False), forms=forms)
