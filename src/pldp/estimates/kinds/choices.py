"""A choice of several labels: the support of each item, and the frequent sets."""

from dataclasses import replace
from typing import Final

import numpy as np

from pldp.estimates.groups import FloatArray
from pldp.estimates.notes import uncertain_items
from pldp.estimates.options import SHARED, Options
from pldp.estimates.result import GroupReports, Result
from pldp.estimates.sets.groups import ItemGroups
from pldp.estimates.sets.itemsets import search_sets
from pldp.estimates.sets.sets import Sets
from pldp.estimates.sets.supports import HOPELESS, baskets_of, item_supports
from pldp.survey import Choices
from pldp.tallies import Tally

OPTIONS: Final = (*SHARED, "min_support", "largest")

METHODS: Final = ()


def estimate(tally: Tally, question: Choices, options: Options) -> Result:
    """Return the supports of all items and the frequent sets."""
    baskets, items = baskets_of(tally, question.name)
    together = ItemGroups.of(baskets, len(items), options.pool, options.target)
    found = item_supports(together, items)
    frequent = search_sets(together, items, options.min_support, options.largest)
    differ = found.homogeneity is not None and found.homogeneity.rejected
    by_size = item_supports(replace(together, pool="size"), items) if differ and options.pool == "precision" else None
    weights = together.weights(np.arange(len(items))[:, None])
    worst = float(found.standard_error.max())
    return Sets(
        question=question.name,
        text=question.text,
        values=tuple(items),
        support=found.support,
        standard_error=found.standard_error,
        sets=frequent,
        by_size=by_size,
        reports=found.reports,
        method=f"unbiased, pooled by {options.pool}",
        target=found.target,
        groups=_groups(tally, question, together, weights),
        weights=weights,
        homogeneity=found.homogeneity,
        assumptions=found.assumptions,
        notes=(*frequent.notes, *((uncertain_items(worst),) if worst > HOPELESS else ())),
        manipulation=found.manipulation,
        confidence=options.confidence,
    )


def _groups(tally: Tally, question: Choices, together: ItemGroups, weights: FloatArray) -> tuple[GroupReports, ...]:
    """Return the levels with reports; the weight of a level is its mean weight in the supports of the items."""
    names = [level.name for level in question.levels if tally.counts[question.name, level.name].reports]
    return tuple(
        GroupReports(name, own.channel.mechanism, own.channel.epsilon, own.reports, weight)
        for name, own, weight in zip(names, together.groups, weights.mean(axis=1).tolist(), strict=True)
    )
