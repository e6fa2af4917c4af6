"""Draw many outputs, or the counts of all of them, at once from the same integer weights that devices use."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pldp.errors import SimulationError
from pldp.mechanisms import Bits, Channel
from pldp.mechanisms.arrays import ChannelArrays, Outputs, arrays, label_arrays, personal_arrays
from pldp.tallies import BitCounts, Counts, OutputCounts


def perturb(
    channel: Channel | Sequence[Channel],
    values: npt.ArrayLike,
    generator: np.random.Generator,
    *,
    level: npt.ArrayLike | None = None,
) -> Outputs:
    """Draw one output per person.

    Parameters
    ----------
    channel
        One channel for everybody, or one per level (all with outputs of one form).
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
    """Draw one output per person, each with an ε of their own (`"krr"`, `"sue"` or `"oue"`).

    >>> generator = np.random.default_rng(1)
    >>> perturb_personal("krr", [0, 1, 2], 3, [0.5, 1.0, 7.5], generator).dtype
    dtype('uint8')
    """
    form = personal_arrays(mechanism, size)
    indices = form.checked_values(values)
    return form.draw_personal(indices, form.checked_epsilons(epsilon, len(indices)), generator)


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
