"""What a kind of question must offer so that its answers can be simulated."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from pldp.errors import SimulationError
from pldp.mechanisms.arrays import FloatArray, IntArray, Values
from pldp.survey import Choice, Choices, Question

Q = TypeVar("Q", bound=Question)
L = TypeVar("L", bound=Choice | Choices)


class SimulatedKind(ABC, Generic[Q]):
    """The values of many people who answer a question of one kind."""

    @abstractmethod
    def encode(self, question: Q, answers: Sequence[Any]) -> Values:
        """Return the values of people who would answer so, or as floats their places between two values."""

    def draw(self, question: Q, people: int, shares: FloatArray | None, generator: np.random.Generator) -> Values:
        """Draw the values of so many people from shares; a falling 1/rank pattern where none are given."""
        size = question.channels[0].size
        weights = rank_weights(size) if shares is None else shares
        return generator.choice(places(size), people, p=distribution(weights, size, f"shares of {question.name}"))

    def count(self, question: Q, values: Values) -> IntArray:
        """Return how many people have each label or bucket."""
        return np.bincount(values, minlength=question.channels[0].size)

    @abstractmethod
    def truth(self, question: Q, shares: FloatArray) -> dict[str, Any]:
        """Return the truth behind these shares as plain data: rows as results have them."""

    def weights(self, question: Q, given: Sequence[float] | Mapping[str, float]) -> FloatArray:
        """Return shares in the order of labels or buckets; labels that are left out have none."""
        if isinstance(given, Mapping):
            raise SimulationError(f"{_kind(question)} and has no labels")
        return np.asarray(given, np.float64)

    def repeat(self, question: Q, counts: Mapping[str, int] | Sequence[int]) -> Values:
        """Return the values of exactly so many people of each label, in order."""
        raise SimulationError(f"counts are for choices of one label; {_kind(question)}")

    def split(self, question: Q, values: Values, mix: Mapping[str, Any]) -> Iterator[tuple[Values, Mapping[str, Any]]]:
        """Yield, for each label of a level mix by label, who has it and the weights of their levels."""
        rule = "a level_mix by value is for choices of one label"
        raise SimulationError(f"{rule}; {_kind(question)}: give one weight per level")


def _kind(question: Question) -> str:
    return f"question {question.name!r} is of kind {question.kind}"


def rank_weights(size: int) -> FloatArray:
    """Return weights that fall like 1/rank."""
    return 1 / np.arange(1, size + 1)


def places(size: int) -> Values:
    """Return 0 … size−1 in the smallest type."""
    return np.arange(size, dtype=np.min_scalar_type(size - 1))


def distribution(weights: npt.ArrayLike, size: int, name: str) -> FloatArray:
    """Return weights scaled to sum to 1; refuse what are none."""
    numbers = np.asarray(weights, np.float64)
    if numbers.shape != (size,) or not np.isfinite(numbers).all() or (numbers < 0).any() or numbers.sum() <= 0:
        raise SimulationError(f"{name} must be {size} finite weights, none negative, not all zero")
    return np.asarray(numbers / numbers.sum())


class LabelKind(SimulatedKind[L]):
    """What all kinds of questions with labels share."""

    def weights(self, question: L, given: Sequence[float] | Mapping[str, float]) -> FloatArray:
        """Look up the labels where they are named."""
        if not isinstance(given, Mapping):
            return super().weights(question, given)
        ordered = np.zeros(len(question.values))
        for label, share in given.items():
            ordered[question.value_index(label)] = share
        return ordered

    def truth(self, question: L, shares: FloatArray) -> dict[str, Any]:
        """Return the true share of people who have each label."""
        rows = zip(question.values, shares.tolist(), strict=True)
        return {"rows": [{"label": label, "true": share} for label, share in rows]}
