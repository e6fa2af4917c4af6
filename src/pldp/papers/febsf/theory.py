"""The paper's theorems as formulas: the parts of Theorem 5.3, letter by letter, and what reports tell of levels."""

import numpy as np

from pldp.mechanisms import PureChannel, RandomizedResponse, level_leak
from pldp.mechanisms.arrays import FloatArray
from pldp.papers.febsf.counts import Rates
from pldp.papers.febsf.setting import Setting


def variance_parts(setting: Setting, micro: int, *, restored: bool = False) -> FloatArray:
    """Return V1, V2, V3, V4 of Theorem 5.3 (rows) for each value, with the paper's A, B and N.

    The proof takes X as a count and forgets to divide it by N, so that V1 and V2 are N² times too large; `restored`
    divides them.
    """
    rates, shares, levels, n = Rates.of(setting.channels), setting.truth, setting.mix, int(setting.counts.sum())
    channel = RandomizedResponse.of(len(levels), micro)
    label_q, label_d = float(channel.other_support), float(channel.truth_support - channel.other_support)
    a = (1 - shares) * (levels @ rates.other) + shares * (levels @ rates.truth)
    named = label_q + levels * label_d
    b = n * named * (1 - named) / (n**2 * label_d**2)
    contrast, by_labels = float(levels @ rates.contrast), float(b @ rates.contrast**2)
    v1 = n * a * (1 - a) / contrast**2
    v2 = (n * a) ** 2 * by_labels / contrast**4
    v3 = np.full_like(a, float(b @ rates.other**2) / contrast**2)
    v4 = np.full_like(a, (levels @ rates.other) ** 2 * by_labels / contrast**4)
    counted = n**2 if restored else 1
    return np.array([v1 / counted, v2 / counted, v3, v4])


def variance(setting: Setting, micro: int) -> FloatArray:
    """Return the variance of p̃ for each value by the delta method, labels and covariances included.

    With p̃ = (X − q(ρ̂))/d(ρ̂), a person adds J·(b − (q_s* + f·d_s*)) where s* is what their label adds to ρ̂: the
    variance over the level, the label and the bit of that, over n.
    """
    rates, shares, levels = Rates.of(setting.channels), setting.truth, setting.mix
    channel = RandomizedResponse.of(len(levels), micro)
    label_q, label_d = float(channel.other_support), float(channel.truth_support - channel.other_support)
    matrix = np.full((len(levels),) * 2, label_q) + np.eye(len(levels)) * label_d
    weights = (np.eye(len(levels)) - label_q) / label_d  # level × label: what a label adds to the estimate of a level
    found = []
    for share in shares:
        mean = rates.other + share * rates.contrast  # of the bit, by level
        taken = mean @ weights  # by label
        bits = mean * (1 - mean) + mean**2
        second = (
            levels @ bits - 2 * float(np.einsum("i,i,is,s->", levels, mean, matrix, taken)) + levels @ matrix @ taken**2
        )
        first = levels @ mean - levels @ matrix @ taken
        # The people are given, so a bit varies around a value that is known: f(1−f)d² of drawing it does not count.
        drawn = share * (1 - share) * float(levels @ rates.contrast) ** 2
        found.append(second - first**2 - drawn)
    return np.asarray(np.array(found) / (setting.counts.sum() * float(levels @ rates.contrast) ** 2))


def pbp_mse(setting: Setting, assumed: FloatArray) -> FloatArray:
    """Return the mean squared error of PBP by the distribution of budgets that it assumes (rows), averaged over values.

    The rate of a bit varies by {(1−f)·q(1−q) + f·p(1−p)}/n with the true mean p and q; the assumed ones shift and
    stretch it.
    """
    rates, shares, levels = Rates.of(setting.channels), setting.truth, setting.mix
    p, q = float(levels @ rates.truth), float(levels @ rates.other)
    spread = ((1 - shares) * q * (1 - q) + shares * p * (1 - p)) / setting.counts.sum()
    wrong_q, wrong_d = (assumed @ rates.other)[:, None], (assumed @ rates.contrast)[:, None]
    bias = (q + shares * (p - q) - wrong_q) / wrong_d - shares
    return np.asarray((bias**2 + spread / wrong_d**2).mean(axis=1))


def total_probability(channel: PureChannel) -> float:
    """Return the sum of equation (5) over all outputs, which is 1 if it is the probability of a report.

    One output of k-RR supports a value; of all bit vectors, half do.
    """
    outputs = channel.form.count
    supporting = outputs // 2 if outputs == 2**channel.size else 1
    return supporting * float(channel.truth_support) + (outputs - supporting) * float(channel.other_support)


def bias_of_theorem_5_1(setting: Setting) -> float:
    """Return the largest |E(p̂) − p| of equation (3) with the true distribution of levels."""
    rates, shares, levels = Rates.of(setting.channels), setting.truth, setting.mix
    expected = (levels @ rates.other) * (1 - shares) + (levels @ rates.truth) * shares
    estimate = (expected - levels @ rates.other) / (levels @ rates.contrast)
    return float(np.abs(estimate - shares).max())


def report_leak(setting: Setting) -> float:
    """Return ε of what the data part of a report tells about its level to an observer who knows the value."""
    return level_leak(list(setting.channels)) / 1e6
