"""Plan a number: its mean."""

from collections.abc import Mapping
from typing import Final

import numpy as np

from pldp.errors import PlanError
from pldp.mechanisms import Channel, Grid, names
from pldp.mechanisms.arrays import FloatArray, piecewise_arrays
from pldp.planning.kinds.kind import Given, OneReport, PlannedKind, normalise
from pldp.survey import Number

WORST: Final = "mean at worst"


class PlannedNumber(PlannedKind[Number]):
    """The mean, pooled over levels by precision; where only the mean is wanted, also for the worst population.

    That is half of the people at each bound, or at two other numbers as far from the middle.
    """

    def shares(self, question: Number, given: Given) -> FloatArray:
        """Return the shares of the buckets, equal by default."""
        if isinstance(given, Mapping):
            raise PlanError(f"shares of {question.name} must be a list with one weight per bucket: it has no labels")
        return normalise(question, given, question.grid.size)

    def rows(self, question: Number, shares: FloatArray) -> dict[str, float]:
        """Return the mean, and that of the worst population, which is in the middle."""
        grid: Grid = question.grid
        worst = {WORST: (grid.low + grid.high) / 2} if question.for_mean else {}
        return {"mean": float(shares @ (grid.low + (np.arange(grid.size) + 0.5) * grid.width)), **worst}

    def one_report(self, question: Number, channel: Channel, shares: FloatArray) -> OneReport:
        """Return the variance of the unbiased number of a random person's report.

        E[z²] − E[z]² holds both the noise and the spread of the numbers themselves; z is on [−1, 1]. Channels are
        symmetric, so its maximum is that of E[z²|x].
        """
        form = piecewise_arrays(channel)
        numbers = form.unbiased()
        squares, means = (form.pieces().expectation(each) for each in (numbers**2, numbers))
        worst = [squares.max()] if question.for_mean else []
        grid: Grid = question.grid
        variance = np.array([squares @ shares - (means @ shares) ** 2, *worst]) * ((grid.high - grid.low) / 2) ** 2
        return OneReport(variance, variance[:1], channel.manipulation)

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
        low, high = question.limits
        return high - low
