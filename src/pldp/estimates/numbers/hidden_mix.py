"""The mixes of hidden levels that are possible, and the one that makes reports most likely."""

from __future__ import annotations

from functools import cached_property
from typing import Final

import numpy as np

from pldp.estimates.mix import LevelMix
from pldp.estimates.solver.likelihood import interior, minus_log, ratio
from pldp.mechanisms.arrays import FloatArray

HALF: Final = 0.5
"""Reports of each corner that a fitted mix has in advance: it keeps every mix possible."""

_SETTLED: Final = 1e-9
"""Log-likelihood of all people together that a fitted mix may lack."""
_MOST_STEPS: Final = 60
_SHORTEST: Final = 1e-9
_FLAT: Final = 1e-9
"""Width of the possible mixes in a direction, relative to the widest, that is a rounding error."""


class PossibleMixes:
    """Mixes ρ = C·σ, C the corners of what is possible: the levels themselves, where nothing is known of the mix.

    What is known counts as reports (`MixBounds.pseudo_reports`), and half a report of every corner in advance.
    """

    def __init__(self, mix: LevelMix) -> None:
        self.mix, self.people = mix, mix.reports
        self.corners = mix.bounds.corners
        self._pseudo, counts = mix.bounds.pseudo_reports
        self._pseudo_weights: FloatArray = counts / self.people
        count = self.corners.shape[1]
        self._last = interior(mix.shares) if mix.bounds.nothing else np.full(count, 1 / count)

    @cached_property
    def directions(self) -> FloatArray:
        """Orthonormal directions in which the mix can change, levels × directions; none where it is known."""
        apart = self.corners - self.corners.mean(axis=1, keepdims=True)
        vectors, widths, _ = np.linalg.svd(apart)
        return np.asarray(vectors[:, : int((widths > _FLAT * max(1.0, widths.max(initial=0.0))).sum())])

    @cached_property
    def known(self) -> FloatArray:
        """What is known of the mix, as a precision along the directions; of all people together."""
        if self.mix.bounds.nothing or self.mix.bounds.known:
            return np.zeros((self.directions.shape[1],) * 2)
        return np.asarray(self.directions.T @ np.linalg.pinv(self.mix.bounds.spread, hermitian=True) @ self.directions)

    def prior(self, levels: FloatArray) -> FloatArray:
        """Return the precision of the mix without any report, per person, along the directions."""
        if not self.mix.bounds.nothing:
            return self.known / self.people
        return np.asarray(self.directions.T @ (HALF / self.people / levels[:, None] ** 2 * self.directions))

    def fit(self, table: FloatArray, weights: FloatArray) -> tuple[FloatArray, float]:
        """Return the mix ρ that maximises Σ_c w_c log (table·ρ)_c with what is known, and minus what that adds up to.

        Newton's method over σ: the logarithms of the half reports keep every σ above 0.
        """
        rows = np.concatenate([table @ self.corners, self._pseudo])
        weighed = np.concatenate([weights, self._pseudo_weights])
        prior = HALF / self.people if len(self._last) > 1 else 0.0

        def lacking(tried: FloatArray) -> float:
            return minus_log(weighed, rows @ tried) - prior * float(np.log(tried).sum())

        found, value, moves = self._last, lacking(self._last), differences(len(self._last))
        for _ in range(_MOST_STEPS if moves.size else 0):
            cells = rows @ found
            slope = moves.T @ (rows.T @ ratio(weighed, cells) + prior / found)
            moved = (rows @ moves) * (np.sqrt(weighed) / cells)[:, None]
            step = moves @ np.linalg.solve(moved.T @ moved + moves.T @ (prior / found[:, None] ** 2 * moves), slope)
            gain = float(step @ moves @ slope)
            if gain * self.people < _SETTLED:
                break
            falls = step < 0
            length = min(1.0, 0.95 * float((found[falls] / -step[falls]).min(initial=np.inf)))
            while length > _SHORTEST and (tried := lacking(found + length * step)) > value - 1e-4 * length * gain:
                length /= 3
            if length <= _SHORTEST:
                break
            found, value = found + length * step, tried
        self._last = found
        return np.asarray(self.corners @ found), value


def differences(count: int) -> FloatArray:
    """Return directions in which so many shares can change while they sum to 1, orthonormal, count × (count − 1)."""
    start = np.column_stack([np.ones(count), np.eye(count)[:, 1:]])
    return np.asarray(np.linalg.qr(start)[0][:, 1:])
