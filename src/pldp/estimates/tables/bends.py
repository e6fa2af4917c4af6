"""Test whether shares of other answers change in a straight line along a number, as its axis assumes.

An axis with about twice as many knots makes other, noisier shares of the same reports. Where the assumption holds, the
difference of both has the mean 0, and its variance follows from that of the difference of their weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pldp.estimates.result import Homogeneity
from pldp.estimates.tables.groups import TableGroup, along, inner
from pldp.estimates.tables.ranges import RangeAxis
from pldp.mechanisms.arrays import FloatArray


class _Finer(RangeAxis):
    """What an axis with more knots makes of a report, less what the axis itself makes of it."""

    def __init__(self, axis: RangeAxis) -> None:
        super().__init__(axis.form, axis.ranges, axis.knots)
        finer = RangeAxis(axis.form, axis.ranges, 2 * axis.knots - 1)
        self.decoder = finer.decoder - axis.decoder


def bend_test(groups: Sequence[TableGroup], weights: FloatArray, place: int, likely: FloatArray) -> Homogeneity | None:
    """Test the axis in this place, cell by cell (Bonferroni); `None` where it is no number's."""
    total, variance = 0.0, 0.0
    for group, weight in zip(groups, weights, strict=True):
        axis = group.axes[place]
        if not isinstance(axis, RangeAxis):
            return None
        other = replace(group, axes=(*group.axes[:place], _Finer(axis), *group.axes[place + 1 :]))
        expected = along(likely, [each.expected for each in group.axes])
        squares = inner(along(expected, [each.squares for each in other.axes]))
        total = total + weight * other.shares()
        variance = variance + weight**2 * squares / group.reports
    statistic = np.asarray(total) ** 2 / np.maximum(variance, 1e-300)
    return Homogeneity.of(float(statistic.max()), 1, tests=statistic.size)
