"""Plan a choice of several labels: the share of people who have each label."""

import numpy as np

from pldp.errors import PlanError
from pldp.mechanisms import Channel
from pldp.mechanisms.arrays import FloatArray, SetArrays, arrays
from pldp.planning.kinds.kind import Given, OneReport, PlannedKind, order_shares
from pldp.survey import Choices


class PlannedChoices(PlannedKind[Choices]):
    """A share per label, each pooled over levels by its own precision."""

    def shares(self, question: Choices, given: Given) -> FloatArray:
        """Return the shares of people who have each label, one half by default."""
        size, ordered = len(question.values), order_shares(question, question.values, given)
        shares = np.full(size, 0.5) if ordered is None else np.asarray(ordered, np.float64)
        if shares.shape != (size,) or not ((shares >= 0) & (shares <= 1)).all():
            raise PlanError(f"shares of {question.name} must be {size} numbers from 0 to 1, one for each label")
        return shares

    def rows(self, question: Choices, shares: FloatArray) -> dict[str, float]:
        """Return the share of people who have each label."""
        return dict(zip(question.values, shares.tolist(), strict=True))

    def one_report(self, question: Choices, channel: Channel, shares: FloatArray) -> OneReport:
        """Return the variance of the weight of each label's bit."""
        form: SetArrays = arrays(channel)
        variance = form.second_moment(shares) - shares**2
        return OneReport(variance, variance, form.bit_weights[:, 1])

    def special(self, question: Choices) -> str | None:
        """Its budget counts for each label."""
        return "is a choice of several labels"
