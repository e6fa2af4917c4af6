"""A choice of several labels: the share of people who have each item, and the frequent sets."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Final, TypeVar

import numpy as np

from pldp.estimates import notes
from pldp.estimates.options import SHARED, Options
from pldp.estimates.result import GroupReports, LevelShare, PersonWeights, Result, make_rows
from pldp.estimates.sets.groups import ItemGroups
from pldp.estimates.sets.hidden import HiddenGroups
from pldp.estimates.sets.itemsets import Itemsets, Rule, search_sets
from pldp.estimates.sets.supports import HOPELESS, baskets_of, item_supports, put_together
from pldp.estimates.tables import ItemAxis, Margin, PlainSide, Side, possible_shares, refuse_ranges
from pldp.mechanisms.arrays import FloatArray, arrays
from pldp.survey import Choices
from pldp.tallies import Asked, Tally

OPTIONS: Final = (*SHARED, "min_support", "largest", "mix")

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
    together = put_together(baskets, len(items), options.pool, options.target)
    if isinstance(together, HiddenGroups):
        return _hidden(question, together, options)
    together_by_precision = options.pool == "precision" and len(together.groups) > 1
    weights = together.weights(np.arange(len(items))[:, None])
    levels = [level.name for level in question.levels if tally.counts[question.name, level.name].reports]
    return make_sets(
        Sets,
        question,
        together,
        options,
        assumption_free=estimate(tally, question, replace(options, pool="size")) if together_by_precision else None,
        method=f"unbiased, pooled by {options.pool}",
        weights=weights,
        groups=tuple(  # the weight of a level is its mean weight in the supports of the items
            GroupReports(name, own.channel.mechanism, question.answer_epsilon(name), own.reports, weight)
            for name, own, weight in zip(levels, together.groups, weights.mean(axis=1).tolist(), strict=True)
        ),
    )


def make_sets(result: type[Some], asked: Choices | Asked, together: ItemGroups, options: Options, **about: Any) -> Some:
    """Return supports and frequent sets of reports that were put together, with what only the caller knows."""
    items = asked.values
    found = item_supports(together, items)
    frequent = search_sets(together, items, options.min_support, options.largest)
    worst = float(found.standard_error.max())
    further = (
        *about.pop("notes", ()),
        *((notes.untold_items([items[place] for place in together.untold]),) if together.untold else ()),
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


def _hidden(question: Choices, together: HiddenGroups, options: Options) -> Sets:
    """Return the same where levels are hidden, and beside it what holds whatever the choice of a level depends on."""
    mix, free = together.mix, together.free()
    chosen = zip(question.levels, question.channels, mix.shares.tolist(), strict=True)
    about: dict[str, Any] = {
        "levels": tuple(
            LevelShare(level.name, own.mechanism, question.answer_epsilon(level.name), share)
            for level, own, share in chosen
        ),
        "weights": np.zeros((0, len(question.values))),
    }
    singles = np.arange(len(question.values))[:, None]
    worst = float(free.expected_error(singles).max())
    beside = None
    if worst <= HOPELESS:
        method = "unbiased, hidden levels and items free to depend on each other"
        beside = make_sets(Sets, question, free, options, method=method, **about)
    return make_sets(
        Sets,
        question,
        together,
        options,
        method="approximately unbiased, hidden levels, labels pooled by precision",
        assumption_free=beside,
        notes=(
            *together.notes(),
            *notes.weak_test(together.dependence),
            *(() if beside else (notes.no_free_shares(worst),)),
        ),
        **about,
    )


def side(tally: Tally, question: Choices, options: Options, edges: Sequence[float] | None) -> Side:
    """Return what the question brings to a table: its items."""
    refuse_ranges(question.name, question.kind, edges)
    own = estimate(tally, question, replace(options, largest=1))
    axes = [ItemAxis(arrays(channel)) for channel in question.channels]
    beside = own.assumption_free
    return PlainSide(_margin(question, own), axes, None if beside is None else _margin(question, beside))


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
