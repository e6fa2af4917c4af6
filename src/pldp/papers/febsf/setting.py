"""The cells of the paper's figures: dataset and domain, how people choose budgets, and the budgets of labels."""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from pldp.mechanisms import SymmetricUnaryEncoding
from pldp.mechanisms.arrays import FloatArray
from pldp.papers.datasets import load_counts

DATASETS: Final = {"education": "adult_education", "job": "bank_job", "country": "adult_country"}
BUDGETS: Final = tuple(range(100_000, 1_100_000, 100_000))
TWO_BUDGETS: Final = (100_000, 200_000)
SIZES: Final = tuple(range(2, 10))
"""Domains of Figures 3 and 4 in the authors' code: the most frequent values, and the people who have them."""


@dataclass(frozen=True)
class Setting:
    """One cell: dataset, how budgets are chosen, which ε_p (micro) are tried, and how many values (0: all)."""

    dataset: str
    levels: str
    label_budgets: tuple[int, ...]
    values: int = 0

    @cached_property
    def counts(self) -> npt.NDArray[np.int64]:
        """People of each value, the most frequent first."""
        counts = np.array(list(load_counts(DATASETS[self.dataset]).values()), np.int64)
        return counts[: self.values or len(counts)]

    @cached_property
    def truth(self) -> FloatArray:
        """The shares to be estimated."""
        return np.asarray(self.counts / self.counts.sum())

    @property
    def budgets(self) -> tuple[int, ...]:
        """Micro-ε of each level."""
        return TWO_BUDGETS if self.levels.endswith("_two") else BUDGETS

    @property
    def main(self) -> int:
        """The ε_p (micro) at which the paper compares all methods."""
        return 100_000 if self.levels.endswith("_two") else 300_000

    @cached_property
    def channels(self) -> list[SymmetricUnaryEncoding]:
        """Basic RAPPOR (symmetric unary encoding) of each level."""
        return [SymmetricUnaryEncoding.of(len(self.counts), micro) for micro in self.budgets]

    @cached_property
    def mix(self) -> FloatArray:
        """The distribution of levels: uniform, or falling like 1/ε (people prefer small budgets)."""
        ranks = np.arange(1.0, len(self.budgets) + 1)
        weights = 1 / ranks if self.levels.startswith("power_law") else np.ones_like(ranks)
        return np.asarray(weights / weights.sum())
