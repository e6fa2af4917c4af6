"""Groups of simulated reports for the tests of estimates."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from pldp.estimates.linear.labels import LabelReports
from pldp.estimates.linear.mix import LevelMix, MixBounds
from pldp.mechanisms import Channel, Integers, build, micro_epsilon, names
from pldp.mechanisms.arrays import PersonalArrays, arrays, label_arrays
from pldp.papers.groups import Group, group
from pldp.simulate import perturb
from pldp.tallies import BitCounts, Counts, OutputCounts

Spec = tuple[str, str, int]
"""Mechanism, ε, people."""


PERSONAL = tuple(
    name for name in names("labels", per_value=False) if isinstance(arrays(build(name, 2, 10**6)), PersonalArrays)
)
"""Mechanisms with a fast form for an ε per person."""

LISTED = 1 << 8
"""Outputs up to which reports are drawn as counts, in a time that does not grow with the people."""


@cache
def law(channel: Channel) -> np.ndarray:
    """Q of a small channel, outputs × values."""
    return np.array([[float(channel.probability(y, x)) for x in range(channel.size)] for y in channel.outputs()])


@cache
def _rows(channel: Channel) -> np.ndarray:
    return np.frombuffer(b"".join(channel.outputs()), np.uint8).reshape(-1, channel.form.bytes)


def counts_of(channel: Channel, counts: np.ndarray, *, patterns: bool = False) -> Counts:
    """Count so many reports of each output of a small channel."""
    if isinstance(channel.form, Integers):
        return OutputCounts(counts)
    rows, seen = _rows(channel), counts > 0
    ones = counts @ np.unpackbits(rows, axis=1, count=channel.size, bitorder="little")
    return BitCounts(int(counts.sum()), ones, *((rows[seen], counts[seen]) if patterns else ()))


def hidden_counts(
    channels: Sequence[Channel],
    label_channel: Channel,
    shares: np.ndarray,
    levels: np.ndarray,
    people: int,
    generator: np.random.Generator,
) -> list[Counts]:
    """Draw what comes of people who hide their levels: how often each label came with each output."""
    outputs = np.array([law(each) @ shares for each in channels])
    together = law(label_channel) @ (np.reshape(levels, (-1, 1)) * outputs)
    drawn = generator.multinomial(people, together.ravel()).reshape(together.shape)
    return [counts_of(each, own, patterns=True) for each, own in zip(channels, drawn, strict=True)]


def counted(made_by: Channel, outputs: np.ndarray, *, patterns: bool = False):
    if outputs.ndim == 2:
        return BitCounts.of_rows(outputs, made_by.form, patterns=patterns)
    size = made_by.form.count
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
        stated = build(mechanism, len(shares), micro_epsilon(epsilon))
        own = build(used, len(shares), micro_epsilon(used_epsilon))
        if own.form.count <= LISTED:
            counts = counts_of(own, generator.multinomial(people, law(own) @ shares), patterns=patterns)
        else:
            values = generator.choice(len(shares), people, p=shares)
            counts = counted(own, perturb(own, values, generator), patterns=patterns)
        groups.append(group(stated, counts))
    return groups


def label_reports(
    channels: Sequence[Channel],
    counts: Sequence[Counts],
    chance: np.ndarray | None = None,
    bounds: MixBounds | None = None,
) -> LabelReports:
    """Take reports of one question by level, or by label, given how likely each level shows each label."""
    matrix, known = np.eye(len(channels)) if chance is None else chance, bounds or MixBounds.free(len(channels))
    mix = LevelMix.given(matrix, np.array([each.reports for each in counts]), known)
    return LabelReports(tuple(map(label_arrays, channels)), tuple(counts), mix)


def zipf(size: int, power: float = 1.0) -> np.ndarray:
    weights = 1 / np.arange(1, size + 1) ** power
    return weights / weights.sum()
