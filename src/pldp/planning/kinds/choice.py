"""Plan a choice of one label: the share of each label."""

from typing import Final

import numpy as np

from pldp.errors import PlanError
from pldp.estimates import Decoder, HiddenReports, expected_covariance
from pldp.mechanisms import Bits, Channel, PureChannel, names
from pldp.mechanisms.arrays import LARGEST_DENSE, FloatArray, label_arrays
from pldp.planning.kinds.kind import Given, OneReport, PlannedKind, normalise, order_shares
from pldp.simulate import perturb
from pldp.survey import Choice
from pldp.tallies import BitCounts, Counts, OutputCounts

SAMPLED_REPORTS: Final = 20_000
"""Unary reports drawn to average the information of hidden levels: their rows cannot be listed."""


class PlannedChoice(PlannedKind[Choice]):
    """Shares that sum to 1; levels are decoded and pooled for the assumed shares, as estimates do for rough ones."""

    def shares(self, question: Choice, given: Given) -> FloatArray:
        """Return the shares of the labels, equal by default."""
        return normalise(question, order_shares(question, question.values, given), len(question.values))

    def rows(self, question: Choice, shares: FloatArray) -> dict[str, float]:
        """Return the share of each label."""
        return dict(zip(question.values, shares.tolist(), strict=True))

    def one_report(self, question: Choice, channel: Channel, shares: FloatArray) -> OneReport:
        """Return the variance of each share, also where budgets differ between labels."""
        form = label_arrays(channel)
        decoder = Decoder.plain(form, shares) if question.stages else Decoder.at(form, shares)
        return OneReport(decoder.variance(shares), decoder.least_variance, decoder.manipulation)

    def special(self, question: Choice) -> str | None:
        """Budgets that differ between labels are special."""
        return "has a budget for each label" if question.budgets else None

    def rivals(self, question: Choice, channel: Channel) -> tuple[str, ...]:
        """Return the mechanisms with one budget for a channel with one."""
        return () if channel.per_value else names("labels", per_value=False)

    def hidden_variance(
        self, question: Choice, label_channel: PureChannel, mix: FloatArray, reports: float, shares: FloatArray
    ) -> FloatArray:
        """Return the asymptotic variances of the joint likelihood fit.

        The information of one report is exact for integer outputs; for unary reports it is averaged over simulated
        ones, with a relative error of about 1 %.
        """
        if len(shares) > LARGEST_DENSE:
            raise PlanError(f"hidden levels can be planned for {LARGEST_DENSE:,} values at most, not {len(shares):,}")
        if (mix <= 0).any():
            raise PlanError("level_mix must give every level some people where levels are hidden")
        channels = question.pure_channels
        form = channels[0].form
        if isinstance(form, Bits):
            generator = np.random.default_rng(0)
            values = generator.choice(len(shares), SAMPLED_REPORTS, p=shares)
            levels = generator.choice(len(mix), SAMPLED_REPORTS, p=mix)
            rows = perturb(channels, values, generator, level=levels).astype(np.uint8)
            labels = perturb(label_channel, levels, generator)
            parts = (rows[labels == label] for label in range(len(mix)))
            counts: list[Counts] = [BitCounts.of_rows(part, form, patterns=True) for part in parts]
        else:
            counts = [OutputCounts(np.ones(form.count, np.int64))] * len(channels)
        hidden = HiddenReports.of(channels, label_channel, counts)
        return np.asarray(np.diag(expected_covariance(hidden, shares, mix)) * hidden.reports / reports)
