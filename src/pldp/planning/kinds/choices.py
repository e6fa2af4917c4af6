"""Plan a choice of several labels: the share of people who have each label."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pldp.errors import PlanError
from pldp.estimates import expected_items
from pldp.mechanisms import (
    LARGEST_EPSILON,
    MICRO,
    Channel,
    Micro,
    build_whole_set,
    family,
    names,
    planned_share,
)
from pldp.mechanisms.arrays import FloatArray, SetArrays, arrays
from pldp.planning.kinds.kind import (
    NEARLY_ALL,
    Expected,
    Family,
    Given,
    Hidden,
    OneReport,
    PlannedKind,
    as_numbers,
    disproportion,
    earlier_rows,
    order_shares,
    unprotected_labels,
)
from pldp.survey import Choices


class PlannedChoices(PlannedKind[Choices]):
    """A share per label, each put together over levels by itself."""

    options = "boxes"

    def shares(self, question: Choices, given: Given) -> FloatArray:
        """Return the shares of people who have each label: by default one half, each label by itself.

        Equal ones are less where few labels may be ticked: those that mechanisms are compared at.
        """
        size = len(question.values)
        if given is None or isinstance(given, str):
            return np.full(size, 0.5 if given is None else planned_share(size, question.at_most))
        shares = as_numbers(question, order_shares(question, question.values, given))
        if shares.shape != (size,) or not ((shares >= 0) & (shares <= 1)).all():
            raise PlanError(f"shares of {question.name} must be {size} numbers from 0 to 1, one for each label")
        return shares

    def guess(self, question: Choices) -> str:
        """A label that half of the people have is about as hard as it gets."""
        return "half of the people have the label, each label by itself"

    def earlier(self, question: Choices, entry: Mapping[str, Any]) -> Given:
        """Return the nearest shares that could be true."""
        return {label: min(1.0, max(0.0, found)) for label, found in earlier_rows(question, entry).items()}

    def families(self, question: Choices) -> Sequence[Family]:
        """Every label has any share: its error depends on no other."""
        size = len(question.values)

        def words(share: float) -> str:
            return f"{'everybody has' if share > NEARLY_ALL else f'{100 * share:.0f} % of the people have'} the label"

        return [Family(lambda share: np.full(size, share), words)]

    def rows(self, question: Choices, shares: FloatArray) -> dict[str, float]:
        """Return the share of people who have each label."""
        return dict(zip(question.values, shares.tolist(), strict=True))

    def one_report(self, question: Choices, channel: Channel, shares: FloatArray) -> OneReport:
        """Return the variance of the weight of each label's bit."""
        form: SetArrays = arrays(channel)
        variance = form.variance(shares)
        return OneReport(variance, variance, form.forged)

    def hidden(self, question: Choices, levels: Hidden, shares: FloatArray) -> Expected:
        """Return what to expect of labels, the error of the mix of levels included."""
        found = expected_items(levels.channels, levels.label, levels.mix, shares, levels.differ, levels.counted)
        return Expected.decoded(found, levels.people)

    def remarks(self, question: Choices) -> tuple[str, ...]:
        """Name labels without protection."""
        return unprotected_labels(question)

    def special(self, question: Choices) -> str | None:
        """Budgets of labels that are other fractions at other levels are special."""
        return disproportion(question)

    def rivals(self, question: Choices, channel: Channel) -> tuple[str, ...]:
        """Return all mechanisms for sets, unless labels have budgets of their own or are tracked."""
        return () if question.budgets or question.stages else names(channel.domain)

    def rival(self, question: Choices, name: str, level: int) -> Channel:
        """Build another mechanism that costs no more: one budget for the whole set, as large as those of all labels."""
        cost = min(question.charge(level), LARGEST_EPSILON * MICRO)
        return build_whole_set(name, len(question.values), cost, question.at_most)

    def rescale(self, question: Choices, channel: Channel, budgets: tuple[Micro, ...]) -> Channel:
        """Keep the most labels that may be ticked where one budget protects the whole set."""
        if question.sides:
            return family(channel.mechanism).build(channel.size, _scaled_sides(question, channel, budgets))
        if not question.whole:
            return super().rescale(question, channel, budgets)
        return build_whole_set(channel.mechanism, channel.size, int(budgets[0]), question.at_most)

    def advice(self, question: Choices, levels: Sequence[Mapping[str, float]]) -> str | None:
        """Say how much more accurate one budget for the whole set is, where each label has one."""
        if question.whole or not levels or len(levels[0]) < 2:
            return None
        own = [next(each[name] for name in each if family(name).per_value) for each in levels]
        best = [min(each[name] for name in each if not family(name).per_value) for each in levels]
        ratios = sorted(one / other for one, other in zip(best, own, strict=True))
        if ratios[-1] >= 1:
            return None
        reach = f"{ratios[0]:.2f}" if len(ratios) == 1 else f"{ratios[0]:.2f} to {ratios[-1]:.2f}"
        return f'one budget for the whole set (budget = "set") that costs no more has {reach} times the standard error'


def _scaled_sides(question: Choices, channel: Channel, budgets: tuple[Micro, ...]) -> list[Any]:
    """Scale both sides of every label as its budget, the larger one of them, is scaled."""
    sides = question.sides[question.channels.index(channel)]
    return [
        pair if own == math.inf else tuple(max(1, round(side * own / max(pair))) for side in pair)
        for pair, own in zip(sides, budgets, strict=True)
    ]
