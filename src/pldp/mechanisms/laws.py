"""How reports of one channel bear on values, in a form that can be mixed over levels: see `LabelArrays`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pldp.mechanisms.rows import FloatArray


class SupportLaw(NamedTuple):
    """The mean of a report's statistic t, one number per value: E t = constant + loading·f + slope ∘ f for shares f.

    `least` is the smallest t of a value that a report does not support; where it does, t is 1.
    """

    constant: FloatArray
    loading: FloatArray
    slope: FloatArray
    least: FloatArray

    @classmethod
    def of(
        cls, size: int, *, constant: float | FloatArray, slope: float | FloatArray, loading: float | FloatArray = 0.0
    ) -> SupportLaw:
        """Take numbers for all values, or one for each."""
        return cls(*(np.broadcast_to(np.asarray(each, np.float64), size) for each in (constant, loading, slope, 0.0)))

    def mean(self, shares: FloatArray) -> FloatArray:
        """Return E t."""
        return np.asarray(self.constant * shares.sum() + self.loading @ shares + self.slope * shares)

    def solve(self, statistic: FloatArray) -> FloatArray:
        """Return the shares, or what would be shares, whose E t less the constant is this: J·t, J below.

        J = (diag(slope) + 1·loadingᵀ)⁻¹; the statistic may have several columns.
        """
        slope = self.slope if statistic.ndim == 1 else self.slope[:, None]
        return np.asarray((statistic - self.parts @ statistic) / slope)

    @property
    def parts(self) -> FloatArray:
        """v with loading·J·t = v·t."""
        parts = self.loading / self.slope
        return np.asarray(parts / (1 + parts.sum()))


class CellLaw(NamedTuple):
    """Q(cell | value) = e^base·(low·w_value + step·v_value where the cell supports the value), up to a common factor.

    Cells of one class have the same base, low and step; the factor is the same for every level. The weights w and v of
    values are 1 unless the array form says otherwise (`LabelArrays.value_weights`).
    """

    classes: npt.NDArray[np.intp]
    base: FloatArray
    low: FloatArray
    step: FloatArray

    @classmethod
    def of(
        cls,
        classes: npt.NDArray[np.intp],
        count: int,
        *,
        base: float | FloatArray = 0.0,
        low: float | FloatArray,
        step: float | FloatArray,
    ) -> CellLaw:
        """Take numbers for all classes, or one for each."""
        return cls(classes, *(np.broadcast_to(np.asarray(each, np.float64), count) for each in (base, low, step)))
