"""The truth about small shuffled batches, by enumeration of everything that can come."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import combinations_with_replacement, permutations, product

import numpy as np

from pldp.mechanisms import Channel

Batch = tuple[int, ...]
Law = dict[Batch, float]


def columns(channels: Sequence[Channel], labels: Sequence[float] = (1.0,), values: Iterable[int] | None = None):
    """Return Q(·|values) of all questions and the label together, one array for each combination of values."""
    tables = []
    for channel in channels:
        outputs = list(channel.outputs())
        own = values if values is not None else range(channel.size if channel.domain != "sets" else 1 << channel.size)
        tables.append([np.array([float(channel.probability(y, x)) for y in outputs]) for x in own])
    label = np.array(labels)
    return [reduce(lambda a, b: np.outer(a, b).ravel(), each, label) for each in product(*tables)]


def mixed(laws: Sequence[np.ndarray]) -> Law:
    """Return how likely each batch is: how often every output came from these people, in whatever order."""
    found: Law = {(0,) * len(laws[0]): 1.0}
    for law in laws:
        grown: Law = {}
        for batch, chance in found.items():
            for output, own in enumerate(law):
                if own:
                    key = (*batch[:output], batch[output] + 1, *batch[output + 1 :])
                    grown[key] = grown.get(key, 0.0) + chance * own
        found = grown
    return found


def others(groups: Sequence[tuple[int, Sequence[np.ndarray]]]) -> Iterator[list[np.ndarray]]:
    """Yield everything that the others can answer, group by group."""
    ways = [combinations_with_replacement(laws, people) for people, laws in groups]
    for way in product(*ways):
        yield [law for group in way for law in group]


def true_delta(own: Sequence[np.ndarray], groups: Sequence[tuple[int, Sequence[np.ndarray]]], epsilon: float) -> float:
    """Return the largest δ of any two answers, whatever the others answer."""
    return max(delta_among(rest, own, epsilon) for rest in others(groups))


def delta_among(rest: Sequence[np.ndarray], own: Sequence[np.ndarray], epsilon: float) -> float:
    """Return the largest δ of any two answers among others who hold these values."""
    grown = math.exp(epsilon)
    crowd = mixed(rest) if rest else {(0,) * len(own[0]): 1.0}
    batches = [_with(crowd, law) for law in own]
    return max(
        sum(max(0.0, chance - grown * two.get(batch, 0.0)) for batch, chance in one.items())
        for one, two in permutations(batches, 2)
    )


def _with(crowd: Law, law: np.ndarray) -> Law:
    found: Counter[Batch] = Counter()
    for batch, chance in crowd.items():
        for output, own in enumerate(law):
            found[(*batch[:output], batch[output] + 1, *batch[output + 1 :])] += chance * own
    return found


def encloses(own, groups, delta: float, low: float, high: float) -> bool:
    """Tell whether ε at δ lies between two bounds: δ is kept at the upper one, and not below the lower one."""
    kept = true_delta(own, groups, high) <= delta + 1e-12
    return kept and (low <= 0 or true_delta(own, groups, low * (1 - 1e-6)) >= delta - 1e-12)
