"""Draw many outputs of number channels, and of the continuous mechanisms, at once with a seeded generator."""

import numpy as np
import numpy.typing as npt

from pldp.errors import SimulationError
from pldp.mechanisms import Channel, Grid
from pldp.mechanisms.arrays import FloatArray
from pldp.mechanisms.continuous import CONTINUOUS
from pldp.simulate.sampling import perturb


def to_buckets(grid: Grid, numbers: npt.ArrayLike) -> npt.NDArray[np.int32]:
    """Return the bucket of each number; numbers outside the bounds are refused.

    >>> to_buckets(Grid(0, 1, 4), [0.0, 0.3, 1.0])
    array([0, 1, 3], dtype=int32)
    """
    array = np.asarray(numbers, np.float64)
    outside = int(array.size - ((array >= grid.low) & (array <= grid.high)).sum())
    if outside:
        raise SimulationError(f"numbers must lie between {grid.low:g} and {grid.high:g}; {outside:,} do not")
    return np.minimum((array - grid.low) / grid.width, grid.size - 1).astype(np.int32)


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
