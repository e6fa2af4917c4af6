"""Draw the counts of a channel's outputs at once, in time that does not grow with the number of people.

Reports of different people are independent, so the counts of all reports have a distribution of their own: multinomial
for direct encodings, one binomial per bit for unary ones. Drawing from it gives exactly what perturbing everybody and
counting would, except that rows of bits, which only a likelihood needs, are not made.
"""

from __future__ import annotations

from functools import singledispatch

import numpy as np
import numpy.typing as npt

from pldp.errors import SimulationError
from pldp.mechanisms import Channel, ItemResponse, ItemUnaryEncoding, RandomizedResponse, UnaryEncoding
from pldp.tallies import BitCounts, Counts, OutputCounts


def perturb_counts(channel: Channel, people: npt.ArrayLike, generator: np.random.Generator) -> Counts:
    """Draw the counts of the reports of so many people per value.

    >>> from pldp.mechanisms import ItemResponse
    >>> channel = ItemResponse.of([500_000, 1_000_000, None])
    >>> perturb_counts(channel, [100, 300, 600], np.random.default_rng(1)).reports
    1000
    """
    numbers = np.asarray(people)
    if numbers.shape != (channel.size,) or numbers.dtype.kind not in "iu" or (numbers < 0).any():
        raise SimulationError(f"people must be {channel.size} whole numbers, none negative")
    return _draw(channel, numbers.astype(np.int64), generator)


@singledispatch
def _draw(channel: Channel, people: npt.NDArray[np.int64], generator: np.random.Generator) -> Counts:  # noqa: ARG001
    raise SimulationError(f"there is no sampler of counts for {channel.mechanism}")


@_draw.register(RandomizedResponse)
@_draw.register(ItemResponse)
def _(
    channel: RandomizedResponse | ItemResponse, people: npt.NDArray[np.int64], generator: np.random.Generator
) -> Counts:
    """Say the truth with p − q, which all values share, else any value by its q."""
    noise = np.array([float(q) for q in channel.other_supports])
    kept = generator.binomial(people, 1 - noise.sum())
    return OutputCounts(kept + generator.multinomial(int(people.sum() - kept.sum()), noise / noise.sum()))


@_draw.register(UnaryEncoding)
@_draw.register(ItemUnaryEncoding)
def _(
    channel: UnaryEncoding | ItemUnaryEncoding, people: npt.NDArray[np.int64], generator: np.random.Generator
) -> Counts:
    """Given the values all bits are independent."""
    total = int(people.sum())
    truth = np.array([float(p) for p in channel.truth_supports])
    other = np.array([float(q) for q in channel.other_supports])
    return BitCounts(total, generator.binomial(people, truth) + generator.binomial(total - people, other))
