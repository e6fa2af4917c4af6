"""The standard errors to expect where levels are hidden."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pldp.errors import PlanError
from pldp.estimates import HiddenReports, expected_covariance
from pldp.mechanisms import Bits, PureChannel
from pldp.mechanisms.arrays import LARGEST_DENSE, FloatArray
from pldp.simulate import perturb
from pldp.tallies import BitCounts, OutputCounts

SAMPLED_REPORTS = 20_000
"""Unary reports drawn to average the information of hidden levels: their rows cannot be listed."""


def hidden_variance(
    channels: Sequence[PureChannel],
    label_channel: PureChannel,
    mix: FloatArray,
    reports: float,
    shares: FloatArray,
    *,
    seed: int = 0,
) -> FloatArray:
    """Return the asymptotic variance of the joint likelihood fit where levels are hidden.

    The information of one report is exact for integer outputs; for unary reports it is averaged over simulated ones,
    with a relative error of about 1 %.
    """
    if len(shares) > LARGEST_DENSE:
        raise PlanError(f"hidden levels can be planned for {LARGEST_DENSE:,} values at most, not {len(shares):,}")
    if (mix <= 0).any():
        raise PlanError("level_mix must give every level some people where levels are hidden")
    if isinstance(channels[0].form, Bits):
        hidden = _sampled(channels, label_channel, mix, shares, seed)
    else:
        one_each = OutputCounts(np.ones(channels[0].form.count, np.int64))
        hidden = HiddenReports.of(channels, label_channel, [one_each] * len(channels))
    covariance = expected_covariance(hidden, shares, mix)
    return np.asarray(np.diag(covariance) * hidden.reports / reports)


def _sampled(
    channels: Sequence[PureChannel], label_channel: PureChannel, mix: FloatArray, shares: FloatArray, seed: int
) -> HiddenReports:
    generator = np.random.default_rng(seed)
    values = generator.choice(len(shares), SAMPLED_REPORTS, p=shares)
    levels = generator.choice(len(mix), SAMPLED_REPORTS, p=mix)
    rows = perturb(channels, values, generator, level=levels)
    labels = perturb(label_channel, levels, generator)
    counts = [
        BitCounts.of_rows(rows[labels == label].astype(np.uint8), len(shares), patterns=True)
        for label in range(len(mix))
    ]
    return HiddenReports.of(channels, label_channel, counts)
