"""What several services already know: mean and distribution from reports that were made for others.

Paper: Du, Fu, Ye, Hu, "Privacy for Free: Leveraging Local Differential Privacy Perturbed Data from Multiple Services".

Services: each collects the same number with its own mechanism and ε (`pldp.mechanisms.number_channel`, or
`pldp.simulate`). Collector: `pldp.tallies.fuse`, then the functions below.

| name | of the paper |
| --- | --- |
| `ua` | unbiased averaging, equation (2) and Theorem 4.1 |
| `uwa` | user-level weighted averaging, Algorithm 2; its weights sum over the services (the print says buckets) |
| `uwa_printed` | the same with the paper's posterior for Laplace reports |
| `ule` | user-level likelihood estimation, Algorithm 3: EM until the log-likelihood moves by less than 10⁻³ |
| `ems` | what the authors run: `ule` with shares smoothed by (1, 2, 1)/4 after each step |

`pldp.estimates.mean` is as accurate as `uwa` and unbiased, `pldp.estimates.density` chooses its smoothness from the
reports; `split_dimensions` and `give_to_groups` make the paper's high-dimensional and eleven-group settings.
"""

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Final

import numpy as np
import numpy.typing as npt

from pldp.errors import EstimateError
from pldp.estimates import Fit, ShareLikelihood, centres, em, fused_likelihood, maximise, posterior_weights
from pldp.mechanisms import Channel, NumberChannel
from pldp.mechanisms.arrays import FloatArray, piecewise_arrays
from pldp.tallies import ABSENT, Fused

_TUPLES_AT_ONCE: Final = 4096

GROUPS: Final = tuple(subset for size in (2, 3, 4) for subset in combinations(range(4), size))
"""G1 … G11: the services, of four, that each group of users gives to."""


def ua(fused: Fused, *, unbias: bool = True) -> float:
    """Return the mean of all people's averages of unbiased numbers; without `unbias`, of outputs at their own place.

    Outputs of the square wave are biased at their own place, and averaging them is refused.
    """
    biased = [each.name for each in fused.sources if not isinstance(each.channel, NumberChannel) or each.channel.biased]
    if biased and not unbias:
        raise EstimateError(f"outputs to average must be unbiased; those of {', '.join(biased)} are not: unbias them")
    return _weighted_mean(fused, np.ones((len(fused.counts), len(fused.sources))))


def uwa(fused: Fused) -> float:
    """Return the mean with each user's services weighted by their inverse variance under the user's posterior."""
    return _weighted_mean(fused, posterior_weights(fused, _variances(fused)))


def uwa_printed(fused: Fused) -> float:
    """Do the same with the printed posterior of Laplace reports (`printed_posterior`)."""
    variances = _variances(fused)
    tables = [printed_posterior(source.channel) for source in fused.sources]
    weights = np.empty((len(fused.counts), len(variances)))
    for start in range(0, len(weights), _TUPLES_AT_ONCE):
        part = slice(start, start + _TUPLES_AT_ONCE)
        posterior = np.ones((len(weights[part]), fused.size))
        for table, outputs in zip(tables, fused.cells[part].T, strict=True):
            posterior *= table[outputs]
        weights[part] = posterior.sum(axis=1, keepdims=True) / (posterior @ variances.T)
    return _weighted_mean(fused, weights)


def ule(fused: Fused, *, most_steps: int = 10_000) -> Fit:
    """Return the EM estimate of the distribution over the buckets, stopped as printed."""
    return em(fused_likelihood(fused), smoothing=False, most_steps=most_steps)


def ems(fused: Fused, *, most_steps: int = 10_000) -> Fit:
    """Return the smoothed EM estimate that the authors' program computes."""
    return em(fused_likelihood(fused), smoothing=True, most_steps=most_steps)


class SharesAlone:
    """A likelihood of shares as `maximise` takes it: concave, so that its curvature is a positive matrix."""

    def __init__(self, model: ShareLikelihood) -> None:
        self.model, self.reports = model, float(model.people)
        self.blocks: Sequence[slice] = (slice(0, model.size),)
        self.objective, self.scores = model.objective, model.scores

    def curvature(self, point: FloatArray) -> Callable[[FloatArray], FloatArray]:
        """Return products with the information: a step needs hundreds, so the matrix is built where it is cheap."""
        if (matrix := self.model.information_matrix(point)) is not None:
            return lambda vector: np.asarray(matrix @ vector)
        rows, level = self.model.rows, np.ones(1)
        scale = self.model.weights / rows.forward(point)[0] ** 2
        return lambda vector: rows.backward(scale * rows.forward(vector)[0], level)

    def hessian(self, point: FloatArray) -> None:
        """Return nothing: conjugate gradients suit this matrix, which may be large."""


def likelihood_fit(fused: Fused, *, progress: Callable[[int, float], None] | None = None) -> Fit:
    """Fit the distribution over the buckets by maximum likelihood, to a certified gap (ULE, accelerated).

    Without smoothing it over-fits: it puts all weight on a few buckets. `pldp.estimates.density` does not.
    """
    model = SharesAlone(fused_likelihood(fused))
    return maximise(model, model.model.uniform, progress=progress)


def js(one: FloatArray, other: FloatArray) -> float:
    """Return the square root of the Jensen–Shannon divergence of two distributions (natural logarithms).

    >>> round(js(np.array([1.0, 0.0]), np.array([0.5, 0.5])), 4)
    0.4645
    """
    middle = (one + other) / 2

    def divergence(shares: FloatArray) -> float:
        seen = shares > 0
        return float(shares[seen] @ np.log(shares[seen] / middle[seen]))

    return float(np.sqrt(max((divergence(one) + divergence(other)) / 2, 0.0)))


def kl(truth: FloatArray, found: FloatArray) -> float:
    """Return the Kullback–Leibler divergence of an estimate from the true distribution (natural logarithms).

    It is infinite where the estimate excludes what is there.

    >>> round(kl(np.array([0.5, 0.5]), np.array([0.9, 0.1])), 4)
    0.5108
    """
    seen = truth > 0
    with np.errstate(divide="ignore"):
        return float(truth[seen] @ np.log(truth[seen] / found[seen]))


def split_dimensions(people: int, dimensions: int, generator: np.random.Generator) -> npt.NDArray[np.intp]:
    """Return the one dimension that each user reports: users are split, not ε.

    >>> np.bincount(split_dimensions(100, 3, np.random.default_rng(1))).tolist()
    [34, 33, 33]
    """
    return np.asarray(generator.permutation(np.arange(people) % dimensions))


def give_to_groups(people: int, generator: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Return which of four services each user gives to, people × 4: eleven groups of equal size, G1 … G11."""
    member = split_dimensions(people, len(GROUPS), generator)
    table = np.zeros((len(GROUPS), 4), np.bool_)
    for group, subset in enumerate(GROUPS):
        table[group, subset] = True
    return np.asarray(table[member])


def _variances(fused: Fused) -> FloatArray:
    """Var(z|t) of every service and bucket."""
    middle = centres(fused.size)
    arrays = [piecewise_arrays(source.channel) for source in fused.sources]
    return np.array([each.pieces().expectation(each.unbiased() ** 2) - middle**2 for each in arrays])


def printed_posterior(channel: Channel) -> FloatArray:
    """Return what the printed posterior multiplies for each output and value; the last row stands for no report.

    For Laplace noise (cut at the bounds or not) it is the mass within ±√|y| of the output, for every value, summing to
    1; for other channels their likelihood.
    """
    if not channel.mechanism.startswith("laplace"):
        return piecewise_arrays(channel).pieces().table()
    numbers = piecewise_arrays(channel).unbiased()[:, None]
    reach, scale = np.sqrt(np.abs(numbers)), 2 / channel.epsilon

    def below(x: FloatArray) -> FloatArray:
        return np.where(x < 0, 0.5 * np.exp(-np.abs(x) / scale), 1 - 0.5 * np.exp(-np.abs(x) / scale))

    difference = numbers - centres(channel.size)
    mass = np.maximum(below(difference + reach) - below(difference - reach), 1e-300)
    return np.concatenate([mass / mass.sum(axis=1, keepdims=True), np.ones((1, channel.size))])


def _weighted_mean(fused: Fused, weights: FloatArray) -> float:
    """Return the mean over people of Σ w z / Σ w over their services, in the units of the bounds."""
    total, norm = np.zeros(len(fused.counts)), np.zeros(len(fused.counts))
    for place, source in enumerate(fused.sources):
        outputs = fused.cells[:, place]
        own = np.where(outputs == ABSENT, 0.0, weights[:, place])
        total += own * piecewise_arrays(source.channel).unbiased()[outputs]
        norm += own
    low, high = fused.bounds
    return float(low + (fused.counts @ (total / norm) / fused.people + 1) * (high - low) / 2)
