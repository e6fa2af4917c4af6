"""People who have a number: a value is its bucket."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pldp.estimates import QUANTILES
from pldp.mechanisms.arrays import FloatArray, Values
from pldp.simulate.kinds.kind import SimulatedKind
from pldp.simulate.sampling import to_buckets, to_positions
from pldp.survey import Number


class SimulatedNumber(SimulatedKind[Number]):
    """A number each, rounded to a bucket."""

    def encode(self, question: Number, answers: Sequence[Any]) -> Values:
        """Return the bucket of each number, or its place between points; clipped where the question says so."""
        limits, numbers = question.limits, np.asarray(answers, np.float64)
        if question.outside == "clip":
            numbers = numbers.clip(*limits)
        return (
            to_positions(*limits, question.size, numbers) if question.for_mean else to_buckets(question.grid, numbers)
        )

    def truth(self, question: Number, shares: FloatArray) -> dict[str, Any]:
        """Return mean and quantiles of the buckets, each spread evenly over its width, and the shares themselves.

        Where only the mean is wanted, that of the points.
        """
        grid = question.grid
        edges = np.linspace(grid.low, grid.high, grid.size + 1)
        numbers = [float("nan")] * (len(QUANTILES) + 1)
        if shares.any():
            mean = float(shares @ (edges[1:] + edges[:-1]) / 2)
            numbers = [mean, *np.interp(QUANTILES, [0, *np.cumsum(shares)], edges).tolist()]
        if question.for_mean:
            return {"unit": question.unit, "rows": [{"label": "mean", "true": numbers[0]}]}
        labels = ["mean", *(f"{100 * share:g} %" for share in QUANTILES)]
        return {
            "unit": question.unit,
            "rows": [{"label": label, "true": number} for label, number in zip(labels, numbers, strict=True)],
            "density": {"edges": edges.tolist(), "shares": shares.tolist()},
        }
