"""Hidden levels that may depend on the value, where values have budgets of their own.

π(level, value), the share of people who chose a level and have a value, is found in two steps that are linear in the
reports: the labels are inverted, then the statistic t of the outputs level by level (`SupportLaw`),

    π̂_τ = mean of W_τs·J_τ(t(z) − c_τ),        W = G⁻¹,

without bias whatever a level depends on. A report with label s adds Σ_τ W_τs·J_τ(t − c_τ) to the shares; covariances
are those of the reports themselves. Test and notes are those of `pldp.estimates.shares.dependence`. For IPRR, its
sets, APRR and PRR there are as many equations as unknowns; for IDUE least squares over whole rows would be sharper.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from pldp.estimates.groups import Group
from pldp.estimates.shares.dependence import Dependence
from pldp.estimates.shares.hidden import level_means
from pldp.estimates.shares.pooling import ENOUGH_SUPPORT
from pldp.mechanisms.arrays import FloatArray, SupportLaw

_BITS_AT_ONCE: Final = 1 << 22


class ItemDependence(Dependence):
    """Free shares of levels and values, by moments."""

    def _equations(self) -> Sequence[FloatArray]:
        return (self.hidden.mix.matrix,)

    @cached_property
    def _laws(self) -> list[SupportLaw]:
        return [SupportLaw(*rows) for rows in zip(*self.hidden.law, strict=True)]

    @cached_property
    def _statistics(self) -> FloatArray:
        """The sums of t over the reports of every label, labels × values, over n."""
        form = self.hidden.arrays[0]
        sums = [form.statistic(each.support) for each in self.hidden.groups]
        return np.array(sums) / self.hidden.reports

    @cached_property
    def levels(self) -> FloatArray:
        """ρ̂, the shares of the levels."""
        return self.hidden.mix.unbiased

    @cached_property
    def joint(self) -> FloatArray:
        """π̂, levels × values."""
        by_level = self.hidden.mix.inverse @ self._statistics
        rows = zip(self._laws, by_level, self.levels, strict=True)
        return np.array([law.solve(sums - law.constant * share) for law, sums, share in rows])

    @cached_property
    def standard_error(self) -> FloatArray:
        """Standard errors of the shares, for a random sample of people."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0))

    @cached_property
    def covariance(self) -> FloatArray:
        """Covariance of the shares, for a random sample of people."""
        reports, total = self.hidden.reports, np.zeros((self.hidden.size, self.hidden.size))
        for place, each in enumerate(self.hidden.groups):
            products, sums = self._products(each), self._statistics[place] * reports
            constant = self._added(place, None)
            linear = self._added(place, products)
            total += self._added(place, linear.T)
            mixed = np.outer(self._added(place, sums), constant)
            total -= mixed + mixed.T
            total += each.reports * np.outer(constant, constant)
        # What nobody reported, and noise cannot make, counts as half a report: it is not certain that nobody has it.
        own = [np.sum(weights[:, None] / self.hidden.law.slope, axis=0) for weights in self.hidden.mix.inverse.T]
        total[np.diag_indices(len(total))] += 0.5 * (self.hidden.support() == 0) * np.max(np.square(own), axis=0)
        return np.asarray((total / reports - np.outer(self.shares, self.shares)) / reports)

    def _added(self, label: int, statistic: FloatArray | None) -> FloatArray:
        """Return Σ_τ W_τs·J_τ·t of a label s, column by column; of the constants c_τ if none is given."""
        weights = self.hidden.mix.inverse[:, label]
        parts = (
            weight * law.solve(law.constant if statistic is None else statistic)
            for weight, law in zip(weights, self._laws, strict=True)
        )
        return np.asarray(sum(parts))

    def _products(self, each: Group) -> FloatArray:
        """Return the sum of t·tᵀ over the reports of a label."""
        form = each.arrays
        once = form.statistic(form.pair_support(each.cells, each.outputs))
        return form.statistic(np.ascontiguousarray(once.T))

    @property
    def manipulation(self) -> float:
        """People that one forged report can count as: the most that a report, sent or not, adds to a share, times n.

        A report that names a value adds to it; one that does not takes away from all others by their parts.
        """
        largest = 0.0
        for label in range(len(self.hidden.groups)):
            weights = self.hidden.mix.inverse[:, label]
            base = self._added(label, None)
            own, least, most = np.zeros((3, self.hidden.size))
            for weight, law in zip(weights, self._laws, strict=True):
                parts = law.parts
                own += weight * (1 - parts) / law.slope
                least += weight * (law.least - parts.max()) / law.slope
                most += weight * (law.least - parts.min()) / law.slope
            largest = max(largest, *(float(np.abs(end - base).max()) for end in (own, least, most)))
        return largest

    def _enough(self) -> npt.NDArray[np.bool_]:
        """Mark the values that enough reports of every label would name, or support by chance."""
        rho, label = self.fitted_levels, self.hidden.label_matrix
        named = np.clip(level_means(self.hidden.law, self.fitted_shares), 0, None)
        return np.asarray((self.hidden.reports * (label * rho) @ named).min(axis=0) >= ENOUGH_SUPPORT)

    def _covariance_of_test(self, chosen: npt.NDArray[np.intp], apart: FloatArray) -> FloatArray:
        """Return the covariance of θ: what every report adds to it is linear in 1, t of chosen values, and parts·t."""
        levels, reports = len(self._laws), self.hidden.reports
        tested = (levels - 1) * len(chosen)
        second, mean = np.zeros((tested, tested)), np.zeros(tested)
        for label, each in enumerate(self.hidden.groups):
            jacobian = self._jacobian(label, chosen, apart)
            products = np.zeros((jacobian.shape[1],) * 2)
            for features, counts in self._features(label, each, chosen):
                products += (features * counts[:, None]).T @ features
            second += jacobian @ products @ jacobian.T
            mean += jacobian @ products[0]
        mean /= reports
        return np.asarray((second / reports - np.outer(mean, mean)) / reports)

    def _jacobian(self, label: int, chosen: npt.NDArray[np.intp], apart: FloatArray) -> FloatArray:
        """Return what 1, t of the chosen values and parts·t of every level add to θ, values × levels as rows."""
        weights, f = self.hidden.mix.inverse[:, label], self.fitted_shares[chosen]
        count, levels = len(chosen), len(self._laws)
        found = np.zeros((count, levels - 1, 1 + count + levels))
        for place, (weight, law) in enumerate(zip(weights, self._laws, strict=True)):
            gain = weight * apart[:, place] / law.slope[chosen, None]
            found[:, :, 0] -= gain * (law.constant[chosen] - law.parts @ law.constant)[:, None]
            found[np.arange(count), :, 1 + np.arange(count)] += gain
            found[:, :, 1 + count + place] -= gain
        found[:, :, 0] -= np.outer(f, weights[:-1])
        return found.reshape(count * (levels - 1), -1)

    def _features(
        self, label: int, each: Group, chosen: npt.NDArray[np.intp]
    ) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield 1, t of the chosen values and parts·t of every level, for the cells of a label, and their counts.

        Where cells can be listed, counts are those that are expected if levels do not depend on values.
        """
        form, parts = each.arrays, np.array([law.parts for law in self._laws])
        if each.outputs is None:
            weights = self.hidden.label_matrix[label] * self.fitted_levels
            chances = [own.forward(self.fitted_shares, None) for own in self.hidden.arrays]
            counts, outputs = self.hidden.reports * weights @ np.array(chances), np.arange(form.channel.form.count)
        else:
            counts, outputs = each.cells, np.ascontiguousarray(each.outputs.T)
        step = max(1, _BITS_AT_ONCE // form.channel.size)
        for start in range(0, len(counts), step):
            some = slice(start, start + step)
            statistic = form.statistic(form.supported(outputs[some]).T.astype(np.float64))
            features = np.column_stack([np.ones(statistic.shape[1]), statistic[chosen].T, (parts @ statistic).T])
            yield features, counts[some]
