"""People who have a number: a value is its bucket."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pldp.estimates import QUANTILES
from pldp.mechanisms.arrays import FloatArray, Values
from pldp.simulate.kinds.kind import SimulatedKind
from pldp.simulate.sampling import to_buckets
from pldp.survey import Number


class SimulatedNumber(SimulatedKind[Number]):
    """A number each, rounded to a bucket."""

    def encode(self, question: Number, answers: Sequence[Any]) -> Values:
        """Return the bucket of each number, clipped to the bounds where the question says so."""
        grid = question.grid
        numbers = np.asarray(answers, np.float64)
        return to_buckets(grid, numbers.clip(grid.low, grid.high) if question.outside == "clip" else numbers)

    def truth(self, question: Number, shares: FloatArray) -> dict[str, Any]:
        """Return mean and quantiles of the buckets, each spread evenly over its width, and the shares themselves."""
        grid = question.grid
        edges = np.linspace(grid.low, grid.high, grid.size + 1)
        numbers = [float("nan")] * (len(QUANTILES) + 1)
        if shares.any():
            mean = float(shares @ (edges[1:] + edges[:-1]) / 2)
            numbers = [mean, *np.interp(QUANTILES, [0, *np.cumsum(shares)], edges).tolist()]
        labels = ["mean", *(f"{100 * share:g} %" for share in QUANTILES)]
        return {
            "unit": question.unit,
            "rows": [{"label": label, "true": number} for label, number in zip(labels, numbers, strict=True)],
            "density": {"edges": edges.tolist(), "shares": shares.tolist()},
        }
