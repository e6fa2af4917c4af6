"""What reports show about targets: a few patterns, how likely people of every state show each, and what each counts.

A target i is a label, some items of a set, a cell of a table, a functional of a number. Of it a person is in one of a
few *states*, the last of which is "i is true"; a report shows one of a few *patterns* c, with the law Q_τ(c | i, x) at
level τ. A pattern counts W_τ(c | x) for a state: 1 on average for people of that state, 0 for all others.

| reports of | states | patterns |
| --- | --- | --- |
| a label | another, this one | not supported, supported |
| a label in a set of its tier | of another tier, of this tier, this one | no set of the tier, without i, with i |
| a label, as a row of bits | another, this one | (class of the number of ones, bit i) |
| m items | which of them a person has: 2^m | which of them the report shows, or that it does not tell |
| a number | – | the output, which counts for an unbiased number |
| several questions | combinations | combinations |

Of all weights W with W·Q = 1 those with the least variance at a likely mixture of states, the prior, are

    W = (QᵀV⁻¹Q)⁻¹QᵀV⁻¹,        V = diag(Q·prior).

Where there are as many patterns as states W is Q⁻¹, whatever the prior: nothing is tuned. A prior never biases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final

import numpy as np
import numpy.typing as npt

from pldp.mechanisms.arrays import FloatArray, IntArray, LabelArrays, SetPatterns, patterns_of

_SINGULAR: Final = 1e-13  # singular values below this part of the largest one count as none

LARGEST_EXACT: Final = 5  # items of a set up to which each of the 2^m parts that people can have is a state of its own

Targets = slice | npt.NDArray[np.intp]


def invert(law: FloatArray, prior: FloatArray) -> FloatArray:
    """Return W of many laws at once: … × states × patterns, from laws … × states × patterns and a prior … × states.

    >>> response = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> invert(response, np.array([0.5, 0.5])).round(9)
    array([[ 1.5, -0.5],
           [-0.5,  1.5]])
    """
    law, prior = np.asarray(law, np.float64), np.asarray(prior, np.float64)
    spread = np.maximum((law * prior[..., None]).sum(axis=-2, keepdims=True), np.finfo(np.float64).tiny)
    scaled = law / spread  # PᵀV⁻¹
    return np.asarray(np.linalg.pinv(scaled @ np.swapaxes(law, -1, -2), rcond=_SINGULAR) @ scaled)


@dataclass(frozen=True, eq=False)
class Patterns:
    """The law of patterns and what they count, of one question (or several together) at all its levels.

    `law` is levels × (targets, or 1 if all are alike) × states × patterns, `None` where no state of a person but an
    unbiased number stands behind an output. `weights` are levels × states × (targets or 1) × patterns, and those of
    all states together are 1 for every report (or 1/t where a share t of the reports tells about a target, `whole`).
    """

    law: FloatArray | None
    weights: FloatArray
    whole: FloatArray  # levels × (targets or 1) × patterns

    @classmethod
    def weighted(cls, law: FloatArray | None, weights: FloatArray) -> Patterns:
        """Take weights that are known."""
        return cls(law, weights, weights.sum(axis=1))

    @property
    def states(self) -> int:
        """Number of states."""
        return int(self.weights.shape[1])

    def chosen(self, levels: Sequence[int], targets: Targets = slice(None)) -> Patterns:
        """Return those of some levels, and of some targets where these are not all alike."""
        law = None if self.law is None else _of_targets(self.law, targets)[levels]
        weights = _of_targets(self.weights.swapaxes(1, 2), targets)[levels]
        return Patterns(law, weights.swapaxes(1, 2), _of_targets(self.whole, targets)[levels])

    def repeated(self, targets: npt.NDArray[np.intp]) -> Patterns:
        """Return those of many targets, each of which is like one of these; nothing is copied if all are alike."""
        return self.chosen(range(len(self.weights)), targets)


def _of_targets(table: FloatArray, targets: Targets) -> FloatArray:
    return table if table.shape[1] == 1 else table[:, targets]


def label_patterns(forms: Sequence[LabelArrays]) -> Patterns:
    """Return what reports of a label show of each: whether they support it, or a set or value of its tier.

    What reports count for is "another label" and "this one": the law tells more states apart, which only say how likely
    patterns are. Levels that show may tell other states, or fewer.
    """
    own = [form.pattern_law() for form in forms]
    size, states, count = (max(sizes) for sizes in zip(*(law.shape for law in own), strict=True))
    laws, weights = np.zeros((len(own), size, states, count)), np.zeros((len(own), size, count))
    for level, law in enumerate(own):
        counted = invert(law, np.full(law.shape[1], 1 / law.shape[1]))[:, -1]  # for the last state, others being alike
        others = np.repeat(law[:, :1], states - law.shape[1], axis=1)  # states that this level does not tell apart
        laws[level] = as_patterns(np.concatenate([others, law], axis=1), count)
        weights[level] = as_patterns(counted, count)
    return Patterns.weighted(laws, np.stack([1 - weights, weights], axis=1))


def label_states(forms: Sequence[LabelArrays], shares: FloatArray) -> FloatArray:
    """Return the shares of the states of each label that the level with most of them tells apart."""
    return max(forms, key=lambda form: form.pattern_law().shape[1]).pattern_states(shares)


def as_patterns(table: FloatArray, count: int) -> FloatArray:
    """Add patterns before the last that no report shows, up to so many."""
    return np.insert(table, [table.shape[-1] - 1] * (count - table.shape[-1]), 0.0, axis=-1)


def row_patterns(forms: Sequence[LabelArrays], classes: npt.NDArray[np.intp]) -> Patterns:
    """Return what rows of bits show of each label: the class of their number of ones, and the bit itself."""
    size = forms[0].channel.size
    law = np.array([form.row_law(classes) for form in forms])
    return Patterns.weighted(law, np.moveaxis(invert(law, np.array([1 - 1 / size, 1 / size])), 2, 1))


def item_patterns(forms: Sequence[SetPatterns], sets: IntArray, likely: FloatArray) -> Patterns:
    """Return what reports show of the items of each set, and what that counts: bit j of a pattern is item j of the set.

    States are the parts of the set that people can have; of large sets, which have too many, "not all of the items"
    and "all of them", the former as often each part as is `likely` (sets × parts). Where a share t of the reports tells
    about the items, the last pattern is that a report does not. It counts p_x for a state, the others
    p_x + (W(c | x) − p_x)/t: without bias for any p, and with the least variance where p are the shares of states.
    """
    items = sets.shape[1]
    had, silent = _parts_had(items, likely), any(form.telling(items) < 1 for form in forms)
    prior = part_states(items, likely)[:, :, None]
    laws, weights = [], []
    for form in forms:
        telling = form.telling(items)
        law = np.stack([form.shown(sets, np.broadcast_to(part, likely.shape)) for part in had], axis=1) * telling
        counted = _part_weights(form, sets)
        if silent:
            counted = np.concatenate([prior + (counted - prior) / telling, prior], axis=2)
            law = np.pad(law, ((0, 0), (0, 0), (0, 1)), constant_values=1 - telling)
        laws.append(law)
        weights.append(np.broadcast_to(counted, law.shape).swapaxes(0, 1))
    return Patterns.weighted(np.array(laws), np.array(weights))


def _parts_had(items: int, likely: FloatArray) -> list[FloatArray]:
    """Return how often people of each state have each part of a set."""
    alone = np.eye(1 << items)
    if items <= LARGEST_EXACT:
        return list(alone)
    rest = likely.copy()
    rest[:, -1] = 0
    return [rest / rest.sum(axis=1, keepdims=True), alone[-1]]


def part_states(items: int, likely: FloatArray) -> FloatArray:
    """Return the shares of states of `item_patterns` where people have each part of a set as often as is likely."""
    return likely if items <= LARGEST_EXACT else np.stack([1 - likely[:, -1], likely[:, -1]], axis=1)


def _part_weights(form: SetPatterns, sets: IntArray) -> FloatArray:
    """Return what every pattern counts for each state: sets (or 1) × states × patterns.

    What counts for "at least these items" is known of every form; inclusion and exclusion leave "exactly these".
    """
    whole = (1 << sets.shape[1]) - 1
    if sets.shape[1] > LARGEST_EXACT:
        every = form.pattern_weights(sets, whole)
        return np.stack([1 - every, every], axis=1)
    parts = [form.pattern_weights(sets, part) for part in range(1, whole + 1)]
    at_least = np.stack([np.ones_like(parts[0]), *parts], axis=2)  # sets × patterns × parts
    exactly = patterns_of(at_least.reshape(-1, whole + 1)).reshape(at_least.shape)
    return np.ascontiguousarray(np.swapaxes(exactly, 1, 2))


def cross_patterns(sides: Sequence[Patterns]) -> Patterns:
    """Return the patterns of several questions together, which are perturbed independently of each other.

    Targets, states and patterns of the first question change slowest. Sides must have the same levels, one for each
    combination.
    """
    laws = [side.law for side in sides if side.law is not None]
    law = reduce(_crossed, laws) if len(laws) == len(sides) else None
    weights = reduce(_crossed, (np.swapaxes(side.weights, 1, 2) for side in sides))
    whole = reduce(_crossed, (side.whole[:, :, None] for side in sides))[:, :, 0]
    return Patterns(law, np.swapaxes(weights, 1, 2), whole)


def _crossed(one: FloatArray, two: FloatArray) -> FloatArray:
    """Multiply two tables, levels × targets × states × patterns each, in every combination of the last three."""
    table = np.einsum("taxc,tbyd->tabxycd", one, two)
    levels, *sizes = table.shape
    return np.asarray(table.reshape(levels, sizes[0] * sizes[1], sizes[2] * sizes[3], sizes[4] * sizes[5]))
