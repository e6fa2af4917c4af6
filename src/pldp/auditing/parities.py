"""Which bits, added up modulo 2, tell two groups of values apart: elimination over the field of two elements."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

MOST_BITS: Final = 1024
CHECKED: Final = 60  # rows beyond those that are needed to solve; chance agrees with 90 % of them once in 10¹⁰ times
AGREE: Final = 0.9


def learn_parity(bits: npt.NDArray[Any], one: npt.NDArray[np.bool_]) -> list[int] | None:
    """Return the places of bits whose sum modulo 2 is the same for all rows of the one group and not for the other.

    Nothing if there are none, or too few rows to tell. A sum that is right only now and then is not found: to find
    it is a hard problem (learning parity with noise).

    >>> generator = np.random.default_rng(1)
    >>> bits = generator.integers(0, 2, (500, 100))
    >>> learn_parity(bits, (bits[:, 3] ^ bits[:, 70] ^ bits[:, 99]) == 1)
    [3, 70, 99]
    >>> learn_parity(bits, bits[:, 3] + bits[:, 70] > 0) is None
    True
    """
    rows, count = bits.shape
    if count > MOST_BITS or rows < count + 1 + CHECKED:
        return None
    system = [
        int.from_bytes(row.tobytes())
        for row in np.packbits(np.hstack([bits, np.ones((rows, 1)), one[:, None]]).astype(np.uint8), axis=1)
    ]
    padding = -(count + 2) % 8
    pivots: dict[int, int] = {}
    for row in system[: count + 1 + CHECKED // 2]:
        left = row >> padding  # the lowest bit is the group, then a constant, then the bits from the last to the first
        for top, pivot in pivots.items():
            if left >> top & 1:
                left ^= pivot
        if left > 1:
            top = left.bit_length() - 1
            pivots = {place: each ^ left if each >> top & 1 else each for place, each in pivots.items()} | {top: left}
        elif left:
            return None  # two ways to say 0 that differ in the group: no sum is right
    chosen = sorted(count + 1 - top for top, pivot in pivots.items() if pivot & 1 and top > 1)
    if not chosen:
        return None
    parity = np.bitwise_xor.reduce(bits[:, chosen].astype(np.int64), axis=1)[count + 1 + CHECKED // 2 :]
    right = float((parity == one[count + 1 + CHECKED // 2 :]).mean())
    return chosen if max(right, 1 - right) >= AGREE else None
