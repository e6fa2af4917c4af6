"""What a report counts for the moments of a number, whatever the channel.

The moments are E P_j(v), j = 1 … 4, of the numbers v on [−1, 1]: P_j is the Legendre polynomial of degree j, and P_1
the number itself. A report y counts for W_yj with Σ_y Q(y|t) W_yj = P_j(t) for every value t, and of all such weights

    W = D⁻¹Q(QᵀD⁻¹Q)⁺P,   D = Q·(equal shares),

has the least variance at equal shares. It is found by conjugate gradients on the pieces of Q (Fong, Saunders, "LSMR: An
Iterative Algorithm for Sparse Least-Squares Problems", 2011). A channel that says nothing about a moment (stochastic
rounding knows the mean alone) leaves it out.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt
from numpy.polynomial.legendre import legvander
from scipy.sparse.linalg import LinearOperator, aslinearoperator, lsmr

from pldp.estimates.numbers.sources import centres
from pldp.mechanisms import Channel
from pldp.mechanisms.arrays import FloatArray, piecewise_arrays

MOMENTS: Final = 4

_BIAS: Final = 3e-5
"""The largest bias of a moment's weights, in standard deviations of one report, with which they count as unbiased."""

_ACCURATE: Final = 1e-9
_MOST_STEPS: Final = 1000
_FEW_ENVELOPES: Final = 8
"""Envelopes up to which prefix sums are faster than a matrix."""


@lru_cache(maxsize=64)
def moment_weights(channel: Channel) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Return W of a channel, moments × outputs, and for which moments it is unbiased; other rows are 0."""
    pieces = piecewise_arrays(channel).pieces()
    size = pieces.envelopes.shape[1]
    root = np.sqrt(np.maximum(pieces.forward(np.full(size, 1 / size)), np.finfo(float).tiny))
    if len(pieces.envelopes) > _FEW_ENVELOPES:
        system = aslinearoperator(pieces.table()[:-1].T / root)
    else:
        system = LinearOperator(
            (size, len(root)),
            matvec=lambda numbers: pieces.expectation(numbers.ravel() / root),
            rmatvec=lambda numbers: pieces.forward(numbers.ravel()) / root,
            dtype=np.float64,
        )
    table, known = np.zeros((MOMENTS, len(root))), np.zeros(MOMENTS, np.bool_)
    # On n values, polynomials from degree n on are combinations of those below.
    for degree, wanted in enumerate(moment_values(size).T[: size - 1]):
        scaled = lsmr(system, wanted, atol=_ACCURATE, btol=_ACCURATE, conlim=0, maxiter=_MOST_STEPS)[0]
        bias = np.abs(pieces.expectation(scaled / root) - wanted).max()
        known[degree] = bias <= _BIAS * np.sqrt(1 + scaled @ scaled)
        table[degree] = scaled / root if known[degree] else 0.0
    return table, known


def moment_values(size: int) -> FloatArray:
    """Return P_1 … of every value, values × moments."""
    return np.asarray(legvander(centres(size), MOMENTS)[:, 1:])
