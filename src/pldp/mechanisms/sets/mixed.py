"""Bits per item whose p and q depend on a level that is not known: patterns of reports of several levels together.

Of one item a mixture of channels is a channel again, with the mean p and the mean q. Of several items it is not the
product of those: people of an open level show all their items more clearly. What a pattern counts is solved from

    Σ_y W(y)·Q(y|x) = 1 where x has all items, else 0,        Q = Σ_τ w_τ ⊗_i Q_τi,

2^m equations, once for all sets whose items are protected alike. They have one solution whatever the weights: ordered
by inclusion, the chance that a report has all items of A depends on the parts of A only, and on A itself with
Σ_τ w_τ Π_{i in A} (p_τi − q_τi) > 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from pldp.mechanisms.arrays import FloatArray, IntArray
from pldp.mechanisms.sets.arrays import ItemSetArrays, SetPatterns

LARGEST_MIXED: Final = 8
"""Items of the largest sets: equations of all patterns of more would be too many, and errors hopeless."""

_LOOKED_AT: Final = 4
"""Items of sets whose least noise is computed."""

_ENTRIES: Final = 1 << 22
"""Entries of the matrices that are solved at a time."""


class MixedItemSets(SetPatterns):
    """Reports of one of several channels, each with a probability."""

    def __init__(self, forms: Sequence[ItemSetArrays], weights: FloatArray) -> None:
        self.channel = forms[0].channel
        self._forms, self._weights = tuple(forms), np.asarray(weights, np.float64)
        # level × item × (p, q); items that are protected alike at every level are of one kind
        self._chances = np.array([np.stack([form.truth_support, form.other_support], axis=1) for form in forms])
        flat = self._chances.transpose(1, 0, 2).reshape(self.channel.size, -1)
        _, self._examples, kinds = np.unique(flat, axis=0, return_index=True, return_inverse=True)
        self._kinds = kinds.reshape(-1)
        self._solved: dict[tuple[int, int], FloatArray] = {}

    @property
    def largest(self) -> int:
        """As many items as there are equations for."""
        return min(self.channel.size, LARGEST_MIXED)

    def shown(self, sets: IntArray, table: FloatArray) -> FloatArray:
        """Mix what the levels show."""
        each = zip(self._weights, self._forms, strict=True)
        return np.asarray(sum(weight * form.shown(sets, table) for weight, form in each))

    def pattern_weights(self, sets: IntArray, part: int) -> FloatArray:
        """Solve the equations of the part; one row stands for all sets where all items are protected alike."""
        size = sets.shape[1]
        chosen = [item for item in range(size) if part >> item & 1]
        patterns = np.arange(1 << size)
        bits = ((patterns >> item & 1) << place for place, item in enumerate(chosen))
        own = sum(bits, np.zeros(1 << size, np.int64))
        base = len(self._examples)
        if base == 1:
            return self._solutions([0], len(chosen))[:, own]
        kinds = (self._kinds[sets[:, item]] * base**place for place, item in enumerate(chosen))
        distinct, back = np.unique(sum(kinds, np.zeros(len(sets), np.int64)), return_inverse=True)
        return np.asarray(self._solutions(distinct.tolist(), len(chosen))[back.reshape(-1)][:, own])

    def least_noise(self, sets: IntArray) -> FloatArray:
        """Look at all that a person can have; nothing is said about sets of many items."""
        size, found = sets.shape[1], np.full(len(sets), np.inf)
        if size > _LOOKED_AT:
            return np.zeros(len(sets))
        whole = (1 << size) - 1
        for own in np.eye(1 << size):
            squares = self.moment(sets, self.shown(sets, np.tile(own, (len(sets), 1))), whole, whole)
            found = np.minimum(found, squares - own[-1])
        return found

    def showing_all(self, sets: IntArray) -> FloatArray:
        """Mix how often the levels show all items."""
        each = zip(self._weights, self._forms, strict=True)
        return np.asarray(sum(weight * form.showing_all(sets) for weight, form in each))

    def _solutions(self, codes: list[int], items: int) -> FloatArray:
        """Return W of all patterns of so many items for each code of kinds, solved once."""
        new = [code for code in codes if (items, code) not in self._solved]
        step = max(1, _ENTRIES >> 2 * items)
        for start in range(0, len(new), step):
            some = new[start : start + step]
            for code, found in zip(some, self._solve(np.array(some, np.int64), items), strict=True):
                self._solved[items, code] = found
        return np.array([self._solved[items, code] for code in codes]).reshape(len(codes), 1 << items)

    def _solve(self, codes: IntArray, items: int) -> FloatArray:
        base, matrix = len(self._examples), np.zeros((len(codes), 1 << items, 1 << items))
        kinds = [self._examples[codes // base**item % base] for item in range(items)]
        for weight, chances in zip(self._weights, self._chances, strict=True):
            product = np.full((len(codes), 1, 1), weight)
            for own in kinds:  # later items are higher bits
                p, q = chances[own].T
                bit = np.array([[1 - q, 1 - p], [q, p]]).transpose(2, 0, 1)  # output × whether the set has it
                product = np.einsum("cab,cij->caibj", bit, product).reshape(len(codes), 2 * product.shape[1], -1)
            matrix += product
        wanted = np.zeros((len(codes), 1 << items, 1))
        wanted[:, -1] = 1.0
        return np.asarray(np.linalg.solve(matrix.transpose(0, 2, 1), wanted)[:, :, 0])
