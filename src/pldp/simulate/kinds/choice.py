"""People who choose one label: a value is its index."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pldp.errors import SimulationError
from pldp.mechanisms.arrays import Values
from pldp.simulate.kinds.kind import LabelKind, places
from pldp.survey import Choice


class SimulatedChoice(LabelKind[Choice]):
    """One label each."""

    def encode(self, question: Choice, answers: Sequence[Any]) -> Values:
        """Look up each label."""
        return np.array([question.value_index(label) for label in answers], places(len(question.values)).dtype)

    def repeat(self, question: Choice, counts: Mapping[str, int] | Sequence[int]) -> Values:
        """Return each label as often as it counts."""
        size, numbers = len(question.values), self.weights(question, counts).astype(np.int64)
        if numbers.shape != (size,) or (numbers < 0).any():
            raise SimulationError(f"counts of {question.name} must be {size} numbers of people, none negative")
        return np.repeat(places(size), numbers)

    def split(
        self, question: Choice, values: Values, mix: Mapping[str, Any]
    ) -> Iterator[tuple[Values, Mapping[str, Any]]]:
        """Yield who has each label."""
        if set(question.values) - set(mix):
            raise SimulationError(f"level_mix must name all {len(question.values)} labels of {question.name}")
        for label, weights in mix.items():
            yield values == question.value_index(label), weights if isinstance(weights, Mapping) else {}
