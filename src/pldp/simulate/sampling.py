"""Draw many outputs, or the counts of all of them, at once from the same integer weights that devices use."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, islice

import numpy as np
import numpy.typing as npt

from pldp.errors import SimulationError
from pldp.mechanisms import Bits, Channel, Grid, ItemSet, Stages, item_places, places_of
from pldp.mechanisms.arrays import ByteArray, ChannelArrays, FloatArray, Outputs, arrays, label_arrays, personal_arrays
from pldp.mechanisms.continuous import CONTINUOUS
from pldp.tallies import BitCounts, Counts, OutputCounts

PACKED = 1 << 14
"""Baskets packed at a time."""


def perturb(
    channel: Channel | Sequence[Channel] | Sequence[Stages],
    values: npt.ArrayLike,
    generator: np.random.Generator,
    *,
    level: npt.ArrayLike | None = None,
) -> Outputs:
    """Draw one output per person.

    Parameters
    ----------
    channel
        One channel for everybody, or one per level (all with outputs of one form). Stages of a tracked answer perturb
        the values' permanent outputs.
    values
        Index of each person's value, 0 … size−1; for sets of items, rows of packed bits.
    generator
        A seeded NumPy generator.
    level
        Index of each person's channel, where there are several.

    Returns
    -------
    Integers (k-RR, LH, IPRR, APRR, numbers), or packed bits, people × bytes (unary encoding, IDUE, sets of items).

    Examples
    --------
    >>> from pldp.mechanisms import build
    >>> outputs = perturb(build("oue", 16, 1_000_000), [3, 3, 5], np.random.default_rng(1))
    >>> outputs.shape, outputs.dtype
    ((3, 2), dtype('uint8'))
    """
    forms: list[ChannelArrays] = [arrays(each) for each in ([channel] if isinstance(channel, Channel) else channel)]
    indices = forms[0].checked_values(values)
    if level is None and len(forms) == 1:
        return forms[0].draw_many(indices, generator)
    which = np.zeros(len(indices), np.uint8) if level is None else np.asarray(level)
    if which.shape != indices.shape[:1] or (len(which) and not 0 <= int(which.min()) <= int(which.max()) < len(forms)):
        raise SimulationError(f"level must hold one index below {len(forms)} per value")
    together = forms[0].draw_levels(forms[1:], indices, which, generator)
    if together is not None:
        return together
    drawn = [each.draw_many(indices[which == place], generator) for place, each in enumerate(forms)]
    if len({part.shape[1:] for part in drawn}) > 1:
        raise SimulationError("channels must have outputs of one form; perturb them one by one")
    outputs = np.empty((len(indices), *drawn[0].shape[1:]), np.result_type(*drawn))
    for place, part in enumerate(drawn):
        outputs[which == place] = part
    return outputs


def perturb_personal(
    mechanism: str, values: npt.ArrayLike, size: int, epsilon: npt.ArrayLike, generator: np.random.Generator
) -> Outputs:
    """Draw one output per person, each with an ε of their own (`"krr"`, `"sue"`, `"oue"` or `"subset"`).

    >>> generator = np.random.default_rng(1)
    >>> perturb_personal("krr", [0, 1, 2], 3, [0.5, 1.0, 7.5], generator).dtype
    dtype('uint8')
    """
    form = personal_arrays(mechanism, size)
    indices = form.checked_values(values)
    budgets = form.checked_epsilons(epsilon, len(indices))
    return form.fitted_to(budgets).draw_personal(indices, budgets, generator)


def perturb_counts(channel: Channel, people: npt.ArrayLike, generator: np.random.Generator) -> Counts:
    """Draw the counts of the reports of so many people per value, in time that does not grow with the people.

    Reports of different people are independent, so the counts of all reports have a distribution of their own:
    multinomial for direct encodings, one binomial per bit for unary ones. Drawing from it gives exactly what perturbing
    everybody and counting would, except that rows of bits, which only a likelihood needs, are not made.

    >>> import math
    >>> from pldp.mechanisms import ItemResponse
    >>> channel = ItemResponse.of([500_000, 1_000_000, math.inf])
    >>> perturb_counts(channel, [100, 300, 600], np.random.default_rng(1)).reports
    1000
    """
    numbers = np.asarray(people)
    if numbers.shape != (channel.size,) or numbers.dtype.kind not in "iu" or (numbers < 0).any():
        raise SimulationError(f"people must be {channel.size} whole numbers, none negative")
    drawn = label_arrays(channel).draw_counts(numbers.astype(np.int64), generator)
    return BitCounts(int(numbers.sum()), drawn) if isinstance(channel.form, Bits) else OutputCounts(drawn)


def to_buckets(grid: Grid, numbers: npt.ArrayLike) -> npt.NDArray[np.int32]:
    """Return the bucket of each number; numbers outside the bounds are refused.

    >>> to_buckets(Grid(0, 1, 4), [0.0, 0.3, 1.0])
    array([0, 1, 3], dtype=int32)
    """
    array = _between(numbers, grid.low, grid.high)
    return np.minimum((array - grid.low) / grid.width, grid.size - 1).astype(np.int32)


def to_positions(low: float, high: float, size: int, numbers: npt.ArrayLike) -> FloatArray:
    """Return where each number lies among so many points from low to high; numbers outside are refused.

    >>> to_positions(18, 90, 73, [18, 41.5, 90])
    array([ 0. , 23.5, 72. ])
    """
    return np.asarray((_between(numbers, low, high) - low) / (high - low) * (size - 1))


def round_positions(positions: FloatArray, generator: np.random.Generator) -> npt.NDArray[np.int32]:
    """Return one of the two whole numbers around each position, at random, so that means stay.

    >>> round_positions(np.array([0.0, 72.0]), np.random.default_rng(1))
    array([ 0, 72], dtype=int32)
    """
    below = np.floor(positions)
    return np.asarray(below + (generator.random(len(below)) < positions - below), np.int32)


def _between(numbers: npt.ArrayLike, low: float, high: float) -> FloatArray:
    array = np.asarray(numbers, np.float64)
    outside = int(array.size - ((array >= low) & (array <= high)).sum())
    if outside:
        raise SimulationError(f"numbers must lie between {low:g} and {high:g}; {outside:,} do not")
    return array


def perturb_numbers(channel: Channel, values: npt.ArrayLike, generator: np.random.Generator) -> npt.NDArray[np.int32]:
    """Draw one output per person, whose values are buckets 0 … size−1, from the integer weights of the channel.

    >>> from pldp.mechanisms import build
    >>> perturb_numbers(build("sr", 64, 1_000_000), [0, 63], np.random.default_rng(1)).dtype
    dtype('int32')
    """
    return perturb(channel, values, generator).astype(np.int32)


def perturb_continuously(
    mechanism: str, epsilon: float, values: npt.ArrayLike, generator: np.random.Generator
) -> FloatArray:
    """Draw one output per person of a mechanism as its paper defines it (`pldp.mechanisms.continuous`).

    >>> outputs = perturb_continuously("pm", 1.0, np.zeros(1000), np.random.default_rng(1))
    >>> bool(abs(outputs).max() <= 4.09)
    True
    """
    if mechanism not in CONTINUOUS:
        raise SimulationError(f"mechanism must be one of {', '.join(CONTINUOUS)}, not {mechanism!r}")
    made = CONTINUOUS[mechanism](epsilon)
    numbers = np.asarray(values, np.float64)
    if numbers.size and not made.domain[0] <= numbers.min() <= numbers.max() <= made.domain[1]:
        raise SimulationError(f"values must lie in {list(made.domain)}; some do not")
    return made.draw_many(numbers, generator)


def pack_baskets(baskets: Iterable[Iterable[str]], items: Sequence[str]) -> ByteArray:
    """Return baskets as packed bits, baskets × bytes; bit i of a row is item i.

    >>> pack_baskets([["milk", "beer"], []], ["beer", "bread", "milk"]).tolist()
    [[5], [0]]
    """
    places, length = item_places(items), -(-len(items) // 8)
    source = iter(baskets)
    parts = [np.zeros((0, length), np.uint8)]
    while part := [list(own) if not isinstance(own, str) else own for own in islice(source, PACKED)]:
        parts.append(_packed(part, places, length))
    return np.concatenate(parts)


def _packed(baskets: Sequence[Sequence[str]], places: Mapping[str, int], length: int) -> ByteArray:
    """Add up the powers of two of each byte: as many ones come out as went in if and only if no item came twice."""
    sizes = [len(own) for own in baskets]
    which = np.fromiter((places.get(name, -1) for name in chain.from_iterable(baskets)), np.int64, sum(sizes))
    cells = np.repeat(np.arange(len(baskets)) * length, sizes) + (which >> 3)
    sums = np.bincount(np.maximum(cells, 0), weights=1 << (which & 7), minlength=len(baskets) * length)
    rows = sums.astype(np.uint8).reshape(-1, length)
    right = which.min(initial=0) >= 0 and sums.max() < 256 and int(np.unpackbits(rows).sum()) == len(which)
    if not right or any(isinstance(own, str) for own in baskets):
        for own in baskets:
            places_of(own, places)  # raises for the first bad one
    return rows


def perturb_item_sets(channel: ItemSet, rows: ByteArray, generator: np.random.Generator) -> ByteArray:
    """Draw one report per set (packed bits as of `pack_baskets`): every bit with the weights that devices use.

    >>> import math
    >>> rows = pack_baskets([["a", "c"]] * 3, ["a", "b", "c"])
    >>> perturb_item_sets(ItemSet.of([math.inf] * 3), rows, np.random.default_rng(1)).tolist()
    [[5], [5], [5]]
    """
    return perturb(channel, rows, generator)
