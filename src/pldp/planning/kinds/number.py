"""Plan a number: its mean."""

from collections.abc import Mapping

import numpy as np

from pldp.errors import PlanError
from pldp.mechanisms import Channel, Grid, names
from pldp.mechanisms.arrays import FloatArray, piecewise_arrays
from pldp.planning.kinds.kind import Given, OneReport, PlannedKind, normalise
from pldp.survey import Number


class PlannedNumber(PlannedKind[Number]):
    """One row, the mean, pooled over levels by precision."""

    def shares(self, question: Number, given: Given) -> FloatArray:
        """Return the shares of the buckets, equal by default."""
        if isinstance(given, Mapping):
            raise PlanError(f"shares of {question.name} must be a list with one weight per bucket: it has no labels")
        return normalise(question, given, question.grid.size)

    def rows(self, question: Number, shares: FloatArray) -> dict[str, float]:
        """Return the mean."""
        grid: Grid = question.grid
        return {"mean": float(shares @ (grid.low + (np.arange(grid.size) + 0.5) * grid.width))}

    def one_report(self, question: Number, channel: Channel, shares: FloatArray) -> OneReport:
        """Return the variance of the unbiased number of a random person's report.

        E[z²] − E[z]² holds both the noise and the spread of the numbers themselves; z is on [−1, 1].
        """
        form = piecewise_arrays(channel)
        numbers = form.unbiased()
        squares, means = (form.pieces().expectation(each) @ shares for each in (numbers**2, numbers))
        variance = np.array([(squares - means**2) * (self.reach(question) / 2) ** 2])
        return OneReport(variance, variance, channel.manipulation)

    def special(self, question: Number) -> str | None:
        """Its error is not one of shares."""
        return "is a number"

    def rivals(self, question: Number, channel: Channel) -> tuple[str, ...]:
        """Return all mechanisms for numbers."""
        return names(channel.domain)

    def unit(self, question: Number) -> str:
        """Return the unit of the number, which may be empty."""
        return str(question.unit)

    def reach(self, question: Number) -> float:
        """Return the distance between the bounds."""
        grid: Grid = question.grid
        return grid.high - grid.low
