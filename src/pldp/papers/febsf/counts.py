"""Methods that need only counts, over many runs at once.

The bits of symmetric unary encoding are independent given the value. So the number of ones of a bit, among people of
one level, is a sum of two binomial numbers, and labels are multinomial: the law is that of people who report one by
one, at a thousandth of the cost. Arrays have an axis of runs first, then levels, then values.

Two forms of each method: as the paper prints it, and as in the code that its authors published, where levels below
zero are cut and everything is divided by its sum ("of the code").
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pldp.estimates import norm_sub
from pldp.mechanisms import PureChannel, RandomizedResponse
from pldp.mechanisms.arrays import FloatArray
from pldp.papers import febsf
from pldp.papers.febsf.setting import Setting

IntArray = npt.NDArray[np.int64]

EXTRA_BITS: Final = {"ppda_one": 1, "ppda": 16}
"""Always-zero bits that PPDA appends; the paper gives no number, and the weakest PPDA has one."""


@dataclass(frozen=True)
class Rates:
    """How often a report of each level supports the true value and any other one."""

    truth: FloatArray
    other: FloatArray

    @classmethod
    def of(cls, channels: Sequence[PureChannel]) -> "Rates":
        """Read the rates from the channels."""
        truth, other = (
            [float(getattr(each, name)) for each in channels] for name in ("truth_support", "other_support")
        )
        return cls(np.array(truth), np.array(other))

    @property
    def contrast(self) -> FloatArray:
        """The difference p − q."""
        return self.truth - self.other


@dataclass(frozen=True)
class Counted:
    """What the reports of many runs add up to: people by level and value, and the ones of each bit by level."""

    setting: Setting
    people: IntArray
    ones: IntArray

    @classmethod
    def draw(cls, setting: Setting, runs: int, generator: np.random.Generator) -> "Counted":
        """Let everybody choose a level and report."""
        counts = setting.counts
        people = generator.multinomial(counts, setting.mix, size=(runs, len(counts))).transpose(0, 2, 1)
        rates = Rates.of(setting.channels)
        others = people.sum(axis=2, keepdims=True) - people
        ones = generator.binomial(people, rates.truth[:, None]) + generator.binomial(others, rates.other[:, None])
        return cls(setting, people, ones)

    @property
    def level_sizes(self) -> IntArray:
        """People of each level."""
        return np.asarray(self.people.sum(axis=2))

    @property
    def rate(self) -> FloatArray:
        """The rate of ones of each bit over all levels."""
        return np.asarray(self.ones.sum(axis=1) / self.setting.counts.sum())

    def label_shares(self, micro: int, generator: np.random.Generator) -> FloatArray:
        """Let everybody report their level with k-RR; return ρ̂ of equation (4)."""
        channel = RandomizedResponse.of(len(self.setting.budgets), micro)
        truth, other = float(channel.truth_support), float(channel.other_support)
        rows = np.full((len(self.setting.budgets),) * 2, other)
        np.fill_diagonal(rows, truth)
        rows /= rows.sum(axis=1, keepdims=True)  # what rounding left
        labels = generator.multinomial(self.level_sizes, rows).sum(axis=1)
        return np.asarray((labels / self.setting.counts.sum() - other) / (truth - other))


def equation_5(rate: FloatArray, levels: FloatArray, rates: Rates) -> FloatArray:
    """Return p̃ as printed: (rate − Σρ̂q) / Σρ̂(p−q), whatever ρ̂ is."""
    return np.asarray((rate - (levels @ rates.other)[:, None]) / (levels @ rates.contrast)[:, None])


def cut(shares: FloatArray) -> FloatArray:
    """Return what is left of shares above zero, divided by its sum; equal shares where nothing is left."""
    above = np.maximum(shares, 0.0)
    above[above.sum(axis=-1) == 0] = 1.0
    return np.asarray(above / above.sum(axis=-1, keepdims=True))


def emoa_of_code(rate: FloatArray, rates: Rates) -> FloatArray:
    """Return EMOA as the authors' code computes it: each bit by itself, from 10⁻⁶ to 1, then divided by the sum.

    Its objective for a bit is Σ_τ [rate·log(q_τ + x·d_τ) + (1 − rate)·log(1 − q_τ − x·d_τ)] over the share x: every
    report counts for all levels alike. Neither labels nor ρ enter, so the answer is right only where the levels that
    people chose happen to weigh like that.
    """
    low, high = np.full(rate.shape, 1e-6), np.ones(rate.shape)
    for _ in range(30):
        middle = (low + high) / 2
        expected = rates.other + middle[..., None] * rates.contrast
        slope = ((rate[..., None] - expected) * rates.contrast / (expected * (1 - expected))).sum(axis=-1)
        low, high = np.where(slope > 0, middle, low), np.where(slope > 0, high, middle)
    return np.asarray(low / low.sum(axis=-1, keepdims=True))


def hidden_methods(counted: Counted, micro: int, generator: np.random.Generator) -> Iterator[tuple[str, FloatArray]]:
    """Estimate without exact levels: runs × values by method; at other ε_p than the main one, AUEM only."""
    setting = counted.setting
    rates, rate = Rates.of(setting.channels), counted.rate
    levels = counted.label_shares(micro, generator)
    shares = equation_5(rate, levels, rates)
    yield "auem", shares
    if micro != setting.main:
        return
    yield "auem_projected", project(shares)
    yield "emoa_of_code", emoa_of_code(rate, rates)
    if setting.values:
        # With more values than in the authors' figures, the sum comes close to zero and the ratio has no mean.
        of_code = equation_5(rate, cut(levels), rates)
        yield "auem_of_code", of_code / of_code.sum(axis=1, keepdims=True)
    if len(setting.budgets) == 2:
        assumed = generator.dirichlet(np.ones(2), len(rate))
        yield "pbp", equation_5(rate, assumed, rates)


def shown_methods(counted: Counted, generator: np.random.Generator) -> Iterator[tuple[str, FloatArray]]:
    """Estimate with exact levels, or, by PPDA, with extra bits instead."""
    setting, channels = counted.setting, counted.setting.channels
    rates, rate = Rates.of(channels), counted.rate
    mix = np.broadcast_to(setting.mix, counted.level_sizes.shape)
    yield "known_mix", equation_5(rate, mix, rates)
    combined = combine(channels, counted.ones, counted.level_sizes)
    yield "rcf", combined
    yield "rcf_projected", project(combined)
    yield "rcf_of_code", cut(combined)
    adaptive = [febsf.apldp_channel(len(setting.counts), micro) for micro in setting.budgets]
    supports = counted.ones.copy()
    for place, channel in enumerate(adaptive):
        if isinstance(channel, RandomizedResponse):
            supports[:, place] = _responses(channel, counted.people[:, place], generator)
    mixed = combine(adaptive, supports, counted.level_sizes)
    yield "apldp", mixed
    yield "apldp_of_code", cut(mixed)
    for name, extra in EXTRA_BITS.items():
        zeros = generator.binomial(counted.level_sizes * extra, rates.other).sum(axis=1, keepdims=True)
        q = zeros / (extra * setting.counts.sum())
        shares = (rate - q) / (1 - 2 * q)  # febsf.ppda, over runs
        yield name, shares
        yield f"{name}_of_code", cut(shares)


def combine(channels: Sequence[PureChannel], supports: IntArray, sizes: IntArray) -> FloatArray:
    """Return the shares of all levels, weighed by their inverse variances at equal shares (`febsf.rcf`)."""
    rates = Rates.of(channels)
    weights = sizes / np.array([channel.equal_variance for channel in channels])
    weights /= weights.sum(axis=1, keepdims=True)
    shares = (supports / sizes[:, :, None] - rates.other[:, None]) / rates.contrast[:, None]
    return np.asarray((weights[:, :, None] * shares).sum(axis=1))


def project(shares: FloatArray) -> FloatArray:
    """Return the nearest shares that could be true, in every run."""
    return np.array([norm_sub(each) for each in shares])


def _responses(channel: Any, people: IntArray, generator: np.random.Generator) -> IntArray:
    """Draw the outputs of k-RR: the truth with p − q, otherwise any value."""
    kept = generator.binomial(people, float(channel.truth_support - channel.other_support))
    anything = people.sum(axis=1) - kept.sum(axis=1)
    return np.asarray(kept + generator.multinomial(anything, np.full(people.shape[1], 1 / people.shape[1])))
