"""From supports to unbiased shares that sum to 1.

The shares f̂ = (support − q)/(p − q) of unary and hashed reports do not use that true shares sum to 1. With any fixed
parts v that sum to 1,

    f̃ = f̂ + v·(1 − Σ f̂)

is as unbiased as f̂ and sums to 1. With C the covariance of f̂, that of f̃ is C − vsᵀ − svᵀ + (1ᵀs)vvᵀ, s = C1. It is
least for v = s / 1ᵀs: the projection on Σ f = 1 in the covariance C. Reports that support a fixed number of values,
such as k-RR, give shares that sum to 1 by themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from pldp.estimates.consistency import norm_sub
from pldp.mechanisms.arrays import LARGEST_DENSE, FloatArray, LabelArrays

_NONE = 1e-9
"""Variance of the sum, in those of all shares, that is nothing but rounding."""


@dataclass(frozen=True, eq=False, repr=False)
class Decoder:
    """A channel and the part of 1 − Σ f̂ that each share takes; `None` where the sum is 1 by itself, or is not used.

    `least_variance` is the mean variance of its shares at those that it was made for. Variances and covariances are
    those of one report.
    """

    arrays: LabelArrays
    parts: FloatArray | None
    least_variance: float

    @classmethod
    def plain(cls, arrays: LabelArrays, shares: FloatArray) -> Decoder:
        """Return the decoder that does not use the sum."""
        return cls(arrays, None, float(arrays.variance(shares).mean()))

    @classmethod
    def at(cls, arrays: LabelArrays, shares: FloatArray) -> Decoder:
        """Return the decoder whose shares have the least variance if these were true.

        >>> from pldp.mechanisms import build
        >>> from pldp.mechanisms.arrays import label_arrays
        >>> equal, form = np.full(3, 1 / 3), label_arrays(build("oue", 3, 1_000_000))
        >>> round(float(Decoder.at(form, equal).shares(np.array([0.35, 0.35, 0.4])).sum()), 9)
        1.0
        >>> bool((Decoder.at(form, equal).variance(equal) < 0.7 * form.variance(equal)).all())
        True
        """
        plain, along = cls.plain(arrays, shares), arrays.sum_covariance(shares)
        if along is None:
            return plain
        along, size = np.maximum(along, 0.0), len(along)
        total = float(along.sum())
        if total > _NONE * size * plain.least_variance:
            return cls(arrays, along / total, plain.least_variance - float(along @ along) / (size * total))
        # With so many values that `sum_covariance` is left out, all parts are as good as equal.
        return replace(plain, parts=np.full(size, 1 / size)) if size > LARGEST_DENSE else plain

    def __repr__(self) -> str:
        return f"<Decoder {'without' if self.parts is None else 'with'} the sum: {self.arrays.channel!r}>"

    def shares(self, support: FloatArray) -> FloatArray:
        """Return the unbiased shares, given the share of reports that support each value."""
        shares = self.arrays.shares(support)
        return shares if self.parts is None else np.asarray(shares + self.parts * (1 - shares.sum()))

    def variance(self, shares: FloatArray) -> FloatArray:
        """Return the variance of each share if these shares were true."""
        if self.parts is None:
            return self.arrays.variance(shares)
        feasible = norm_sub(shares)
        along = self._along(feasible)
        return np.asarray(self.arrays.variance(feasible) + self.parts * (self.parts * along.sum() - 2 * along))

    def covariance(self, shares: FloatArray, chosen: npt.NDArray[np.intp] | None = None) -> FloatArray:
        """Return the covariance of the shares if these were true, of all values or of the chosen ones."""
        if self.parts is None:
            return self.arrays.covariance(shares, chosen)
        feasible = norm_sub(shares)
        along = self._along(feasible)
        some = slice(None) if chosen is None else chosen
        mixed = np.outer(self.parts[some], along[some] - along.sum() / 2 * self.parts[some])
        return np.asarray(self.arrays.covariance(feasible, chosen) - mixed - mixed.T)

    def _along(self, shares: FloatArray) -> FloatArray:
        """The covariance of each share with the sum, before the sum is used."""
        along = self.arrays.sum_covariance(shares)
        return np.zeros(len(shares)) if along is None else along

    @property
    def manipulation(self) -> float:
        """People of this level that one forged report can count as: it supports one value, and few others or none."""
        if self.parts is None:
            return self.arrays.channel.manipulation
        form, sizes = self.arrays, self.arrays.support_sizes
        fewest = 1.0 if sizes is None else float(sizes[sizes > 0].min())
        by_chance = float(np.sum(np.broadcast_to(form.other_support / form.contrast, len(self.parts))))
        alone = (1 - form.other_support) / form.contrast
        return float(np.max(alone + self.parts * (1 - fewest / form.contrast + by_chance)))
