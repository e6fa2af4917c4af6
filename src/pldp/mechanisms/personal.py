"""Array forms of mechanisms for people who each have an ε of their own."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from pldp.epsilon import LARGEST_EPSILON, MICRO
from pldp.errors import EstimateError
from pldp.mechanisms.arrays import LabelArrays, Outputs, Values, arrays
from pldp.mechanisms.channel import PureChannel
from pldp.mechanisms.registry import build, names
from pldp.mechanisms.rows import FloatArray


def personal_arrays(mechanism: str, size: int) -> PersonalArrays:
    """Return the array form of a mechanism for people who each have an ε of their own."""
    form = arrays(build(mechanism, size, MICRO)) if mechanism in names("labels", per_value=False) else None
    if not isinstance(form, PersonalArrays):
        raise EstimateError(f"{mechanism!r} has no form for an epsilon per person; krr, sue, oue and subset have")
    return form


class PersonalArrays(LabelArrays):
    """Channels for labels that are as fast with an ε per person."""

    channel: PureChannel

    @property
    def total(self) -> int:
        """What weights are counted in."""
        return self.channel.total

    def fitted_to(self, epsilon: FloatArray) -> PersonalArrays:  # noqa: ARG002 - others depend on them
        """Return the form that serves people with these ε best, where there is a choice."""
        return self

    def fitted_to_outputs(self, outputs: Outputs) -> PersonalArrays:  # noqa: ARG002 - others depend on them
        """Return the form that made these outputs, where there is a choice."""
        return self

    def checked_epsilons(self, epsilon: npt.ArrayLike, people: int) -> FloatArray:
        """Return one ε per person, all above 0 and not absurd."""
        budgets = np.asarray(epsilon, np.float64)
        if budgets.shape != (people,):
            raise EstimateError(f"epsilon must hold one number per person, {people:,} in all, not {budgets.shape}")
        # NaN fails the comparison as well.
        if people and not (float(budgets.min()) >= 1 / MICRO and float(budgets.max()) <= LARGEST_EPSILON):
            raise EstimateError(f"epsilon must be above 0 and at most {LARGEST_EPSILON} for every person; some are not")
        return budgets

    def personal_weights(self, epsilon: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return each person's p and q in whole weights, rounded towards more noise; as floats they are exact."""
        channel, size = self.channel, self.channel.size
        parts, others = channel.other_odds(size)
        other = np.exp(epsilon if parts == 1 else epsilon / parts)
        other += others
        np.divide(channel.total, other, out=other)
        np.ceil(other, out=other)
        truth = channel.truth_left(size, other, channel.total)
        if len(truth) and bool((truth <= other).any()):
            raise EstimateError(f"epsilon is too small for {size:,} values: integer weights cannot tell them apart")
        return truth, other

    @abstractmethod
    def draw_personal(self, values: Values, epsilon: FloatArray, generator: Generator) -> Outputs:
        """Draw one output per person, each with an ε of their own."""

    @abstractmethod
    def weighted_support(self, outputs: Outputs, weights: FloatArray) -> FloatArray:
        """Return, for every value, the sum of the weights of the people whose outputs support it."""
