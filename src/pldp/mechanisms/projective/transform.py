"""The sums over all hyperplanes of a finite geometry at once, by Fourier transforms; of counts they are exact."""

import numpy as np
import numpy.typing as npt

from pldp.mechanisms.arrays import FloatArray
from pldp.mechanisms.projective.blocks import points

_ROWS_AT_ONCE = 1 << 16
_ROUNDING = 2.0**-53


def hyperplane_sums(numbers: FloatArray, order: int, length: int) -> FloatArray:
    """Return, for every point x, the sum of the numbers of the points u with Σ u_i x_{t−1−i} = 0 mod q.

    Points and hyperplanes may change places, so that this is also the sum over each hyperplane. Split off the first
    coordinate of x = (x₀, x'), which multiplies the last one of u. Points u that end before it meet x if they meet x':
    the same task with one coordinate less. All others are (w, 1) and meet x if Σ w_i x'_{t−2−i} = −x₀: `_projections`.
    It takes about five times the memory of the numbers.
    """
    if length == 1:
        return np.zeros(1)
    shorter = points(order, length - 1)
    sums = np.empty(len(numbers))
    sums[0] = numbers[:shorter].sum()  # x' = 0
    table = sums[1:].reshape(shorter, order)
    _projections(numbers[shorter:], order, length - 1, table)
    table += hyperplane_sums(numbers[:shorter], order, length - 1)[:, None]
    return sums


def _projections(numbers: FloatArray, order: int, length: int, table: FloatArray) -> None:
    """Fill table[x, s] with the sum of the numbers of the vectors w with Σ w_i x_{t−1−i} = −s, for all points x.

    Points x that end before the last coordinate do not look at w₀: add up over it.
    """
    while length:
        first = points(order, length - 1)
        _project(numbers, order, length, table[first : first + order ** (length - 1)])
        numbers = numbers.reshape(-1, order).sum(axis=1)
        length -= 1


def _project(numbers: FloatArray, order: int, length: int, table: FloatArray) -> None:
    """Fill the table for the points x = (…, 1): the Fourier transform of a projection is that of the whole on a line.

    The spectrum at λx, λ = 0 … q−1, is the transform over s. For λ and q − λ it is conjugate, so half of it is enough.
    """
    places = np.arange(order)
    if length == 1:
        table[0] = numbers[-places % order]
        return
    spectrum = np.fft.rfftn(numbers.reshape((order,) * length))
    lines = np.empty((order // 2 + 1, len(table)), np.complex128)
    for factor, line in enumerate(lines):
        turned = np.ix_(*[factor * places % order] * (length - 1))
        line[:] = spectrum[..., factor][turned].T.reshape(-1)
    del spectrum
    np.conjugate(lines, out=lines)  # −s, not s
    for start in range(0, len(table), _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        table[part] = np.fft.irfft(lines[:, part], order, axis=0).T


def exact_sums(counts: npt.NDArray[np.int64], order: int, length: int) -> FloatArray:
    """Return the same of whole numbers without any error: rounded, where the error is below a half for certain.

    Let u = 2⁻⁵³. A transform of prime length q has, relative to the Euclidean norm of its result, an error of at most
    (q+3)√q·u if it is summed term by term; by way of a convolution (Bluestein), of at most 24·log₂(4q)·u in the three
    transforms of a power of two, times at most 2√q for the multiplication in between. Both are below h = 64·q·u. Of the
    M = q^d counts a, d transforms give a spectrum of norm √M·‖a‖ with an error of at most d·h times that. A projection
    is the mean of q of its entries, turned by phases: its error is at most the norm of theirs over √q, and h more for
    its own transform. In all (d + 1)·h·√(M/q)·‖a‖. Larger counts are split into high and low digits, each one exact.
    """
    longest = order ** (length - 1)
    error = length * 64 * order * _ROUNDING * (longest / order) ** 0.5
    largest = 0.25 / error
    if float(np.linalg.norm(counts.astype(np.float64))) <= largest:
        return np.rint(hyperplane_sums(counts.astype(np.float64), order, length))
    base = 2 ** int(np.log2(largest / len(counts) ** 0.5))
    high, low = np.divmod(counts, base)
    return np.asarray(base * exact_sums(high, order, length) + exact_sums(low, order, length))
