"""Groups of simulated reports for the tests of estimates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pldp.estimates import Group, group
from pldp.mechanisms import Channel, LinearHashing, channel, micro_epsilon
from pldp.simulate import perturb
from pldp.tallies import BitCounts, OutputCounts

Spec = tuple[str, str, int]
"""Mechanism, ε, people."""


def counted(made_by: Channel, outputs: np.ndarray, *, patterns: bool = False):
    if outputs.ndim == 2:
        return BitCounts.of_rows(outputs, made_by.size, patterns=patterns)
    size = made_by.output_count if isinstance(made_by, LinearHashing) else made_by.size
    return OutputCounts(np.bincount(outputs, minlength=size))


def sample(
    specs: Sequence[Spec],
    shares: np.ndarray,
    generator: np.random.Generator,
    *,
    patterns: bool = False,
    really: Sequence[Spec] | None = None,
) -> list[Group]:
    """Draw people from the shares and let them report; `really` names the channels used if not those stated."""
    groups = []
    for (mechanism, epsilon, people), (used, used_epsilon, _) in zip(specs, really or specs, strict=True):
        stated = channel(mechanism, len(shares), micro_epsilon(epsilon))
        values = generator.choice(len(shares), people, p=shares)
        outputs = perturb(channel(used, len(shares), micro_epsilon(used_epsilon)), values, generator)
        groups.append(group(stated, counted(stated, outputs, patterns=patterns)))
    return groups


def zipf(size: int, power: float = 1.0) -> np.ndarray:
    weights = 1 / np.arange(1, size + 1) ** power
    return weights / weights.sum()
