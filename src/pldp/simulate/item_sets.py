"""Perturb many sets of items at once, from packed bits to packed bits."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, islice

import numpy as np
import numpy.typing as npt

from pldp.mechanisms import ItemSet, item_places, places_of
from pldp.mechanisms.arrays import SetArrays, arrays

PACKED = 1 << 14
"""Baskets packed at a time."""


def pack_baskets(baskets: Iterable[Iterable[str]], items: Sequence[str]) -> npt.NDArray[np.uint8]:
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


def _packed(baskets: Sequence[Sequence[str]], places: Mapping[str, int], length: int) -> npt.NDArray[np.uint8]:
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


def perturb_item_sets(
    channel: ItemSet, rows: npt.NDArray[np.uint8], generator: np.random.Generator
) -> npt.NDArray[np.uint8]:
    """Draw one report per set (packed bits as of `pack_baskets`): every bit with the weights that devices use.

    Groups of people with different channels are perturbed one by one.

    >>> import math
    >>> rows = pack_baskets([["a", "c"]] * 3, ["a", "b", "c"])
    >>> perturb_item_sets(ItemSet.of([math.inf] * 3), rows, np.random.default_rng(1)).tolist()
    [[5], [5], [5]]
    """
    form: SetArrays = arrays(channel)
    return form.draw_many(rows, generator)
