"""People who choose any number of labels: a value is a row of packed bits, bit i for label i."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pldp.errors import SimulationError
from pldp.mechanisms.arrays import FloatArray, IntArray, Values
from pldp.simulate.kinds.kind import LabelKind, rank_weights
from pldp.simulate.sampling import pack_baskets
from pldp.survey import Choices

_CELLS_AT_ONCE: Final = 1 << 20
"""Labels × people that are drawn at a time; smaller populations of a seed are the same in one block."""


class SimulatedChoices(LabelKind[Choices]):
    """A set of labels each."""

    def encode(self, question: Choices, answers: Sequence[Any]) -> Values:
        """Pack each set of labels."""
        packed = pack_baskets(answers, question.values)
        if question.at_most is not None and len(packed) and int(_sizes(packed).max()) > question.at_most:
            raise SimulationError(
                f"answers of {question.name} must be {question.at_most} labels at most; some are more"
            )
        bits = np.unpackbits(packed, axis=1, count=len(question.values), bitorder="little").astype(bool)
        alone = _exclusive(question)
        if (bits[:, alone].any(axis=1) & (bits.sum(axis=1) > 1)).any():
            raise SimulationError(f"answers of {question.name} must have no label beside an exclusive one; some have")
        return packed

    def draw(self, question: Choices, people: int, shares: FloatArray | None, generator: np.random.Generator) -> Values:
        """Draw every label independently, with the share of people who have it.

        Of those who would tick more labels than they may, each ticks as many as that, picked at random; an exclusive
        label takes the place of all others. Shares get smaller by this.
        """
        size = len(question.values)
        chances = rank_weights(size) / 2 if shares is None else shares
        if chances.shape != (size,) or not ((chances >= 0) & (chances <= 1)).all():
            raise SimulationError(f"shares of {question.name} must be {size} numbers from 0 to 1")
        # Block by block: a thousand labels of a hundred thousand people at once would take a gigabyte.
        step = max(1, _CELLS_AT_ONCE // size)
        blocks = [
            self._ticked(question, min(step, people - start), chances, generator) for start in range(0, people, step)
        ]
        return np.concatenate([np.zeros((0, (size + 7) // 8), np.uint8), *blocks])

    def _ticked(self, question: Choices, people: int, chances: FloatArray, generator: np.random.Generator) -> Values:
        """Return the packed labels of some people."""
        size = len(question.values)
        ticked = generator.random((people, size)) < chances
        if question.at_most is not None:
            many = ticked.sum(axis=1) > question.at_most
            order = generator.random((int(many.sum()), size)) + ~ticked[many]
            last = np.partition(order, question.at_most - 1, axis=1)[:, question.at_most - 1]
            ticked[many] = order <= last[:, None]
        if question.exclusive:
            alone = _exclusive(question)
            order = np.where(ticked & alone, generator.random((people, size)), 2.0)
            first = order.argmin(axis=1)
            single = np.flatnonzero(order[np.arange(people), first] < 1)
            ticked[single] = False
            ticked[single, first[single]] = True
        return np.packbits(ticked, axis=1, bitorder="little")

    def count(self, question: Choices, values: Values) -> IntArray:
        """Return how many people have each label."""
        bits = np.unpackbits(values, axis=1, count=len(question.values), bitorder="little")
        return np.asarray(bits.sum(axis=0, dtype=np.int64))


def _exclusive(question: Choices) -> npt.NDArray[np.bool_]:
    """Return which labels are exclusive."""
    return np.array([label in question.exclusive for label in question.values])


def _sizes(packed: Values) -> Values:
    """Return how many labels each set has."""
    return np.asarray(np.unpackbits(packed, axis=1).sum(axis=1, dtype=np.int64))
