"""Plan a choice of one label: the share of each label."""

from __future__ import annotations

from typing import Any

import numpy as np

from pldp.mechanisms import Channel, names
from pldp.mechanisms.arrays import FloatArray, label_arrays
from pldp.planning.hidden import hidden_variance
from pldp.planning.kinds.kind import Given, OneReport, PlannedKind, normalise, order_shares
from pldp.survey import Choice


class PlannedChoice(PlannedKind[Choice]):
    """Shares that sum to 1; levels are pooled by their mean variance at equal shares, as estimates do."""

    def shares(self, question: Choice, given: Given) -> FloatArray:
        """Return the shares of the labels, equal by default."""
        return normalise(question, order_shares(question, question.values, given), len(question.values))

    def rows(self, question: Choice, shares: FloatArray) -> dict[str, float]:
        """Return the share of each label."""
        return dict(zip(question.values, shares.tolist(), strict=True))

    def one_report(self, question: Choice, channel: Channel, shares: FloatArray) -> OneReport:
        """Return the variance of each share, also where budgets differ between labels."""
        del question
        form = label_arrays(channel)
        return OneReport(form.variance(shares), form.mean_variance, channel.manipulation)

    def special(self, question: Choice) -> str | None:
        """Budgets that differ between labels are special."""
        return "has a budget for each label" if question.budgets else None

    def rivals(self, channel: Channel) -> tuple[str, ...]:
        """Return the mechanisms with one budget for a channel with one."""
        return () if channel.per_value else names("labels", per_value=False)

    def hidden_variance(
        self, question: Choice, label_channel: Any, mix: FloatArray, reports: float, shares: FloatArray
    ) -> FloatArray:
        """Return the variances of the joint likelihood fit."""
        return np.asarray(hidden_variance(question.pure_channels, label_channel, mix, reports, shares))
