"""Shares where every person has an ε of their own, known to the collector: no levels, plain NumPy arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from pldp.errors import EstimateError
from pldp.estimates import Shares, norm_sub
from pldp.mechanisms.arrays import FloatArray, Outputs, PersonalArrays, personal_arrays

FIRST_ROUND: Final = 1 << 14
"""People, evenly spaced, whose reports make the rough shares that weights are computed at."""

ASSUMPTIONS: Final = (
    "the people who reported are a random sample of the population",
    "nobody's ε depends on their value (not tested)",
    "devices used the channels of the survey; how far a forged report reaches is known, and some are detected",
    "weights come from the reports themselves: shares have a bias far below their standard errors",
)


def personal_frequencies(
    mechanism: str,
    outputs: npt.ArrayLike,
    epsilon: npt.ArrayLike,
    values: int | tuple[str, ...],
    *,
    name: str = "value",
) -> Shares:
    """Return shares from outputs whose ε differs from person to person.

    Each person's unbiased contribution (support − q_u)/(p_u − q_u) gets the weight 1/variance at rough shares of a
    first round; then the shares are made to sum to 1, as those of levels are (`SumToOne`). Assumes that ε
    does not depend on the value.

    Parameters
    ----------
    mechanism
        `krr` (outputs are integers); `sue`, `oue` or `subset` (outputs are packed rows, people × bytes).
    outputs, epsilon
        One output and one ε per person.
    values
        The labels, or their number.

    Examples
    --------
    >>> from pldp.simulate import perturb_personal
    >>> generator = np.random.default_rng(7)
    >>> truth, epsilon = generator.integers(0, 4, 100_000), generator.uniform(0.5, 3, 100_000)
    >>> estimate = personal_frequencies("krr", perturb_personal("krr", truth, 4, epsilon, generator), epsilon, 4)
    >>> bool((abs(estimate.shares - 0.25) < 5 * estimate.standard_error).all())
    True
    """
    labels = tuple(map(str, range(values))) if isinstance(values, int) else values
    reported = np.asarray(outputs)
    people = len(reported)
    if people == 0:
        raise EstimateError("nothing to estimate: outputs need at least one report")
    reports = _Reports.of(personal_arrays(mechanism, len(labels)).fitted_to_outputs(reported), reported, epsilon)
    rough = reports.every(-(-people // FIRST_ROUND)).first_round()
    shares, error, manipulation = reports.estimate(rough)
    return Shares(
        question=name,
        values=labels,
        shares=shares,
        standard_error=error,
        reports=people,
        method=f"unbiased, {mechanism} with an ε per person, weighted by precision",
        target="population",
        manipulation=manipulation,
        assumptions=ASSUMPTIONS,
        notes=(),
    )


@dataclass(frozen=True, eq=False)
class _Reports:
    """Outputs with q and p − q of everybody."""

    form: PersonalArrays
    outputs: Outputs
    other: FloatArray
    contrast: FloatArray

    @classmethod
    def of(cls, form: PersonalArrays, outputs: Outputs, epsilon: npt.ArrayLike) -> _Reports:
        truth, other = form.personal_weights(form.checked_epsilons(epsilon, len(outputs)))
        other /= form.total
        return cls(form, outputs, other, truth / form.total - other)

    def every(self, step: int) -> _Reports:
        """Return every so many reports."""
        return _Reports(self.form, self.outputs[::step], self.other[::step], self.contrast[::step])

    def first_round(self) -> FloatArray:
        """Return rough shares, by the weights of equal ones."""
        size = self.form.channel.size
        shares = self._shares(self._gain(np.full(size, 1 / size)))
        # One more report of every value: none is impossible.
        return (norm_sub(shares) * len(self.outputs) + 1) / (len(self.outputs) + size)

    def _gain(self, shares: FloatArray) -> FloatArray:
        """Return weight/(p − q) of everybody; weights ∝ (p − q)² / mean of π(1−π), π = q + (p − q)f, sum to 1."""
        d, size = self.contrast, len(shares)
        level = self.other + d / size
        gain = d / (level * (1 - level) - float(np.var(shares)) * d * d)
        gain /= float(gain @ d)
        return np.asarray(gain)

    def _shares(self, gain: FloatArray) -> FloatArray:
        """Return the weighted mean of everybody's unbiased contribution."""
        return self.form.weighted_support(self.outputs, gain) - float(gain @ self.other)

    def estimate(self, rough: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """Return shares, their standard errors, and the people that one forged report can count as."""
        q, d, gain = self.other, self.contrast, self._gain(rough)
        shares, squared = self._shares(gain), gain * gain
        # Σ_u gain_u² π_u(1−π_u) with π_u = q_u + f·d_u, as a quadratic in f.
        constant = float(squared @ (q * (1 - q)))
        linear, square = float(squared @ (d * (1 - 2 * q))), float(squared @ (d * d))
        if self.form.sum_covariance(rough) is None:
            feasible = np.clip(shares, 0.0, 1.0)
            variance = constant + linear * feasible - square * feasible * feasible
            return shares, np.sqrt(variance), float(len(q) * np.max(gain * (1 - q)))
        parts = constant + (linear - square) * rough
        parts /= parts.sum()
        shares += parts * (1 - shares.sum())
        feasible = norm_sub(shares)
        # Bits are independent given the value: two different shares have the covariance −square·f_i f_j.
        along = constant + (linear - square) * feasible
        variance = along + square * feasible * (1 - feasible) + parts * (parts * along.sum() - 2 * along)
        ends = (float(parts.min()), float(parts.max()))
        forged = max(float(np.max(gain * ((len(parts) * v - 1) * q + v * d + (1 - v)))) for v in ends)
        return shares, np.sqrt(variance), len(q) * forged
