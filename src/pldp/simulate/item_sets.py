"""Perturb many sets of items at once, from packed bits to packed bits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from pldp.mechanisms.item_set import ItemSet, item_places, places_of
from pldp.mechanisms.unary_encoding import TOTAL
from pldp.simulate.bits import bernoulli_words, one_weight
from pldp.tallies.patterns import ItemColumns, transposed_bits


def pack_baskets(baskets: Iterable[Iterable[str]], items: Sequence[str]) -> npt.NDArray[np.uint8]:
    """Return baskets as packed bits, baskets × bytes; bit i of a row is item i.

    >>> pack_baskets([["milk", "beer"], []], ["beer", "bread", "milk"]).tolist()
    [[5], [0]]
    """
    places = item_places(items)
    found = [places_of(basket, places) for basket in baskets]
    who = np.repeat(np.arange(len(found)), [len(own) for own in found])
    which = np.fromiter((place for own in found for place in own), np.int64, len(who))
    rows = np.zeros((len(found), -(-len(items) // 8)), np.uint8)
    np.bitwise_or.at(rows, (who, which >> 3), np.left_shift(np.uint8(1), (which & 7).astype(np.uint8)))
    return rows


def perturb_item_sets(
    channel: ItemSet, rows: npt.NDArray[np.uint8], generator: np.random.Generator
) -> npt.NDArray[np.uint8]:
    """Draw one report per set: every bit with the weights that devices use.

    Parameters
    ----------
    channel
        The channel of everybody in `rows`; perturb groups with different channels one by one.
    rows
        True sets as packed bits (see `pack_baskets`).
    generator
        A seeded NumPy generator.

    Examples
    --------
    >>> rows = pack_baskets([["a", "c"]] * 3, ["a", "b", "c"])
    >>> perturb_item_sets(ItemSet.of([None] * 3), rows, np.random.default_rng(1)).tolist()
    [[5], [5], [5]]
    """
    columns = ItemColumns.of_rows(rows, channel.size).bits
    outputs = np.empty_like(columns)
    for column, kept, raised, output in zip(columns, channel.kept, channel.raised, outputs, strict=True):
        stay = _bits(kept, len(column), generator)
        rise = _bits(raised, len(column), generator)
        output[:] = rise ^ (rise ^ stay) & column
    return np.ascontiguousarray(transposed_bits(outputs.view(np.uint8))[: len(rows)])


def _bits(weight: int, words: int, generator: np.random.Generator) -> npt.NDArray[np.uint64]:
    """Return words whose bits are 1 with probability weight/2³², without a draw where that is 0 or 1."""
    if weight in (0, TOTAL):
        return np.full(words, np.uint64(2**64 - 1 if weight else 0))
    return bernoulli_words(one_weight(weight), words, generator)
