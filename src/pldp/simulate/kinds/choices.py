"""People who choose any number of labels: a value is a row of packed bits, bit i for label i."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pldp.errors import SimulationError
from pldp.mechanisms.arrays import FloatArray, IntArray, Values
from pldp.simulate.kinds.kind import LabelKind, rank_weights
from pldp.simulate.sampling import pack_baskets
from pldp.survey import Choices


class SimulatedChoices(LabelKind[Choices]):
    """A set of labels each."""

    def encode(self, question: Choices, answers: Sequence[Any]) -> Values:
        """Pack each set of labels."""
        return pack_baskets(answers, question.values)

    def draw(self, question: Choices, people: int, shares: FloatArray | None, generator: np.random.Generator) -> Values:
        """Draw every label independently, with the share of people who have it."""
        size = len(question.values)
        chances = rank_weights(size) / 2 if shares is None else shares
        if chances.shape != (size,) or not ((chances >= 0) & (chances <= 1)).all():
            raise SimulationError(f"shares of {question.name} must be {size} numbers from 0 to 1")
        return np.packbits(generator.random((people, size)) < chances, axis=1, bitorder="little")

    def count(self, question: Choices, values: Values) -> IntArray:
        """Return how many people have each label."""
        bits = np.unpackbits(values, axis=1, count=len(question.values), bitorder="little")
        return np.asarray(bits.sum(axis=0, dtype=np.int64))
