"""Draw the counts of a channel's outputs at once, in time that does not grow with the number of people.

Reports of different people are independent, so the counts of all reports have a distribution of their own: multinomial
for direct encodings, one binomial per bit for unary ones. Drawing from it gives exactly what perturbing everybody and
counting would, except that rows of bits, which only a likelihood needs, are not made.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pldp.errors import SimulationError
from pldp.mechanisms import Bits, Channel
from pldp.mechanisms.arrays import label_arrays
from pldp.tallies import BitCounts, Counts, OutputCounts


def perturb_counts(channel: Channel, people: npt.ArrayLike, generator: np.random.Generator) -> Counts:
    """Draw the counts of the reports of so many people per value.

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
    if isinstance(channel.form, Bits):
        return BitCounts(int(numbers.sum()), drawn)
    return OutputCounts(drawn)
