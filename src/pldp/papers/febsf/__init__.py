"""PLDP-FEBSF: frequency estimation where users pick a privacy budget and hide that choice, and its rivals.

Paper: Wu, Zhu, Zhang, Xie, "Overcoming Challenges in PLDP: A New Paradigm for Protecting Privacy Budgets and Enhancing
Data Utility". Its rivals, as that paper describes them:

- RCF: Nie, Yang, Huang, Xie, Zhao, Wang, "A Utility-Optimized Framework for Personalized Private Histogram Estimation".
- APLDP: Song, Shen, Zhao, He, Wu, Xiong, Zhang, "APLDP: Adaptive personalized local differential privacy data
  collection in mobile crowdsensing".
- PPDA: Wang, Huang, Tian, Yang, Xu, Guo, "Personalized privacy-preserving data aggregation for histogram estimation".
- PBP: Takagi, Cao, Yoshikawa, "POSTER: Data Collection via Local Differential Privacy with Secret Parameters".

Client: each user picks a level τ, perturbs the value with the channel of τ and the level with k-RR of ε_p
(`Device` with a survey that sets `hide_level`, or `pldp.simulate`). Server: the functions below.

| name | what it knows of the level |
| --- | --- |
| `auem`, `emoa` | a perturbed label |
| `pbp` | an assumed distribution of levels |
| `ppda` | nothing; extra zero bits instead |
| `rcf`, of APLDP (`apldp_channel`) too | everything |

`pldp.papers.groups.joint_likelihood` is what the paper's EM should have been: the full likelihood of label and report,
over shares and levels; `pldp.papers.groups.maximum_likelihood` is the reference that exposes everything.
"""

import warnings
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from pldp.errors import EstimateError
from pldp.estimates import norm_sub
from pldp.mechanisms import PureChannel, RandomizedResponse, SymmetricUnaryEncoding, UnaryEncoding
from pldp.mechanisms.arrays import FloatArray
from pldp.papers.groups import Group, HiddenReports, group, moments, pooled_shares, precision_weights
from pldp.tallies import BitCounts


def auem(hidden: HiddenReports) -> FloatArray:
    """Approximately unbiased shares (AUEM), not normalised: (support/n − Σρ̂q) / Σρ̂(p−q)."""
    return moments(hidden).shares


def emoa(hidden: HiddenReports) -> FloatArray:
    """EMOA as printed (equations 12, 14, 15 and Algorithm 1), normalised after each step; kept for the record.

    Equation (15) is not an EM update and equation (5) is not the likelihood of a unary report: the shares move to the
    uniform distribution. Use `pldp.papers.groups.joint_likelihood`.
    """
    warnings.warn("EMOA as printed converges to equal shares; use joint_likelihood instead", UserWarning, stacklevel=2)
    *_, last = emoa_steps(hidden)
    return last[0]


def emoa_steps(hidden: HiddenReports) -> Iterator[tuple[FloatArray, float]]:
    """Yield the shares of every step of EMOA, the start first, and log ℒ of equation (6) per report there."""
    q, d = supports_of(hidden)
    first = moments(hidden)
    shares, levels = norm_sub(first.shares), norm_sub(first.levels)
    used = [each for each in hidden.groups if each.reports]
    for _ in range(200):
        new_shares, new_levels = np.zeros_like(shares), np.zeros_like(levels)
        objective = 0.0
        for each in used:
            # Equation (5): Pr(z | x_j, ε_i) "=" q_i + d_i z_j, whose mean over the shares is q_i + d_i S(z).
            mixture = levels * (q + d * each.support_sum(shares)[:, None])
            observed = mixture.sum(axis=1, keepdims=True)
            objective += float(each.cells @ np.log(observed[:, 0]))
            posterior = mixture / observed * each.cells[:, None]
            new_levels += posterior.sum(axis=0)
            new_shares += posterior.sum(axis=0) @ q + each.support_total(posterior @ d)
        yield shares, objective / hidden.reports
        new_shares /= new_shares.sum()
        new_levels /= new_levels.sum()
        moved = np.abs(new_shares - shares).max()
        shares, levels = new_shares, new_levels
        if moved < 1e-5:
            break


def pbp(hidden: HiddenReports, assumed: FloatArray) -> FloatArray:
    """Shares with an assumed distribution of levels (parameter blending privacy): wrong levels give wrong shares."""
    if len(assumed) != len(hidden.channels) or abs(float(np.sum(assumed)) - 1) > 1e-9:
        raise EstimateError(f"assumed must be {len(hidden.channels)} shares that sum to 1")
    q, d = supports_of(hidden)
    return np.asarray((hidden.support() / hidden.reports - assumed @ q) / float(assumed @ d))


def supports_of(hidden: HiddenReports) -> tuple[FloatArray, FloatArray]:
    """Return q and p − q of every level, which the paper's mechanisms have in common for all values."""
    return hidden.law.constant[:, 0], hidden.law.slope[:, 0]


def ppda(ones: npt.NDArray[np.int64], reports: int, size: int) -> FloatArray:
    """Shares from symmetric unary reports with extra bits that are always zero before perturbation (PPDA).

    The rate of ones among the extra bits estimates the mean q of all users; p is 1 − q.
    `ones` counts those of each bit: first of the `size` values, then of the extra bits.
    """
    if len(ones) <= size:
        raise EstimateError(f"ones must hold extra bits after the {size} values, not {len(ones)} bits in all")
    rate = np.asarray(ones, np.float64) / reports
    q = float(rate[size:].mean())
    return np.asarray((rate[:size] - q) / (1 - 2 * q))


def rcf(groups: Sequence[Group], *, recycle: np.random.Generator | None = None) -> FloatArray:
    """Shares per exact level, combined with inverse-variance weights (RCF, the recycle and combination framework).

    With `recycle`, each report is also perturbed further down to every stricter level and counted there. Recycled
    reports carry nothing new and depend on the originals, so combination alone (the default) is more accurate.
    """
    used = [each for each in groups if each.reports]
    used = used if recycle is None else _recycle(used, recycle)
    return pooled_shares(used, precision_weights(used))


def apldp_channel(size: int, micro_epsilon: int) -> PureChannel:
    """Return the better of k-RR and symmetric unary encoding for one level, by variance at equal shares (APLDP).

    APLDP combines the levels like `rcf` without recycling.
    """
    choices = (RandomizedResponse.of(size, micro_epsilon), SymmetricUnaryEncoding.of(size, micro_epsilon))
    return min(choices, key=lambda channel: channel.variance(1 / size))


def _recycle(groups: Sequence[Group], generator: np.random.Generator) -> list[Group]:
    """Give every level the reports of all looser levels, perturbed down to its own symmetric unary channel."""
    ordered = sorted(groups, key=lambda each: each.channel.epsilon)
    recycled = []
    for place, target in enumerate(ordered):
        if not isinstance(target.channel, SymmetricUnaryEncoding):
            raise EstimateError("recycling is defined for symmetric unary reports")
        rows = [_downgrade(each, target.channel, generator) for each in ordered[place:]]
        counts = BitCounts.of_rows(np.concatenate(rows), target.channel.size, patterns=False)
        recycled.append(group(target.channel, counts))
    return recycled


def _downgrade(each: Group, target: UnaryEncoding, generator: np.random.Generator) -> npt.NDArray[np.uint8]:
    """Flip each bit with the probability r that turns p into the target's: p(1−r) + (1−p)r."""
    rows = each.packed_rows()
    p, wanted = each.arrays.truth_support, float(target.truth_support)
    flip = (p - wanted) / (2 * p - 1)
    if flip <= 0:
        return rows
    noise = np.packbits(generator.random((len(rows), target.size)) < flip, axis=1, bitorder="little")
    return np.asarray(rows ^ noise)
