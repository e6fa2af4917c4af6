"""What several services collected about the same people: who gave to which, and the reports of each of them.

People of one subset gave to the same services, so a subset is to fused reports what a level is to those of one survey.

What estimates of several parts of the reports have in common are the people who were drawn: reports of one person
through several sources are independent, given what the person has. A person who has what is estimated, or not, adds
μ_k(τ) = c_kτ (1 − f) or −c_kτ f on average to the error of part k at the level τ, with Σ_τ ρ_τ c_kτ = 1. With n_kl
people in the parts k and l, of whom R_kl(τ, τ') chose these levels,

    Cov(f̂_k, f̂_l) = n_kl/(n_k n_l) · κ_kl · f(1 − f),        κ_kl = Σ_ττ' R_kl(τ, τ') c_kτ c_lτ'.

Where levels show, or nothing is assumed about the choice of them, c = 1. Careful people are careful everywhere, which
R shows. Of all weights that sum to 1, C⁻¹1/(1ᵀC⁻¹1) have the least variance.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pldp.errors import EstimateError
from pldp.estimates.linear.labels import LabelReports
from pldp.estimates.linear.mix import source_mix
from pldp.estimates.results.facts import GroupReports, LevelShare, Note
from pldp.mechanisms import MICRO, Bits, Channel, epsilon_text
from pldp.mechanisms.arrays import FloatArray, IntArray, label_arrays
from pldp.records import Record
from pldp.tallies import ABSENT, BitCounts, Counts, Fused, OutputCounts, Source
from pldp.words import listed


@dataclass(frozen=True, eq=False, repr=False)
class Subsets(Record):
    """Distinct sets of sources that people gave to, with the number of people and the tuples of each."""

    given: npt.NDArray[np.bool_]  #: Subsets × sources.
    people: IntArray
    of_tuple: npt.NDArray[np.intp]

    @classmethod
    def of(cls, fused: Fused) -> Subsets:
        """Group the tuples of a fused tally."""
        packed = np.packbits(fused.cells != ABSENT, axis=1)
        found, of_tuple = np.unique(packed, axis=0, return_inverse=True)
        of_tuple = of_tuple.ravel()
        given = np.unpackbits(found, axis=1, count=len(fused.sources)).astype(bool)
        people = np.rint(np.bincount(of_tuple, weights=fused.counts, minlength=len(found))).astype(np.int64)
        return cls(given, people, of_tuple)

    def counts(self, fused: Fused, source: int) -> FloatArray:
        """Return how often each cell of a source came, subset by subset: subsets × cells."""
        cells, count = fused.cells[:, source], fused.sources[source].count
        here = cells != ABSENT
        code = self.of_tuple[here] * count + cells[here]
        found = np.bincount(code, weights=fused.counts[here], minlength=len(self.people) * count)
        return np.asarray(found.reshape(len(self.people), count))


def label_reports(source: Source, counts: FloatArray) -> LabelReports:
    """Return the reports of a source of a choice of one label, given how often each of its cells came."""
    channels, outputs = source.channels, source.outputs
    parts = [_counted(own, outputs, counts * (source.labels == label)) for label, own in enumerate(channels)]
    return LabelReports(tuple(map(label_arrays, channels)), tuple(parts), source_mix(source, counts))


def _counted(channel: Channel, outputs: npt.NDArray[Any], counts: FloatArray) -> Counts:
    """Return the counts of listed outputs, in the order in which a channel has them."""
    some, form = counts > 0, channel.form
    numbers = np.rint(counts[some]).astype(np.int64)
    if isinstance(form, Bits):
        return BitCounts.of_rows(outputs[some], form, patterns=False, counts=numbers)
    found = np.zeros(form.count, np.int64)
    np.add.at(found, outputs[some].astype(np.int64), numbers)
    return OutputCounts(found)


def level_shares(source: Source, counts: FloatArray, shares: FloatArray | None = None) -> tuple[LevelShare, ...]:
    """Return how many people are estimated to have chosen each level of a source, none where it shows them."""
    mix, levels = source_mix(source, counts), zip(source.level_names, source.channels, strict=True)
    named = [(f"{source.name}, {name}", channel.mechanism, channel.epsilon) for name, channel in levels]
    return mix.levels_of(named, mix.unbiased if shares is None else shares)


def source_groups(fused: Fused, weights: Sequence[float]) -> list[GroupReports]:
    """Return the reports of every source with their weights."""
    return [
        GroupReports(source.name, source.channel.mechanism, source.micro_epsilon / MICRO, source.reports, weight)
        for source, weight in zip(fused.sources, weights, strict=True)
    ]


def join_note(fused: Fused) -> Note:
    """Say how many people were joined and what that costs each of them."""
    several = sum(people for services, people in fused.subsets.items() if len(services) > 1)
    text = (
        f"reports of {fused.people:,} people were joined by a key, {several:,} of whom gave to several services: "
        f"together they cost a person up to epsilon {epsilon_text(fused.micro_epsilon)}"
    )
    return Note("joined", text, "info")


def require_method(method: str | None, known: Collection[str]) -> None:
    """Refuse a method that this kind of question does not have."""
    if method is not None and method not in known:
        raise EstimateError(f"method must be one of {listed(known)} for this kind of question, not {method!r}")


class Shared(NamedTuple):
    """People in two parts: which parts, how many people, and how often they chose each pair of levels."""

    first: int
    second: int
    people: float
    levels: FloatArray


def common_drawing(shared: Sequence[Shared], reports: FloatArray, contrasts: Sequence[FloatArray]) -> FloatArray:
    """Return n_kl κ_kl/(n_k n_l) of every two parts, parts × parts × targets; 0 for each with itself."""
    parts, targets = len(reports), len(contrasts[0])
    found = np.zeros((parts, parts, targets))
    for first, second, people, levels in shared:
        together = np.einsum("it,tu,iu->i", contrasts[first], levels, contrasts[second])
        found[first, second] = found[second, first] = people / (reports[first] * reports[second]) * together
    return found


def best_weights(covariance: FloatArray, groups: npt.NDArray[np.intp], shares: FloatArray | None) -> FloatArray:
    """Return the weights of parts with the least variance, parts × targets; infinite variances count for nothing.

    With `shares` each group of parts weighs its share of the people, and weights are the best within groups.
    """
    if shares is None:
        return _least_variance(covariance)
    weights = np.zeros(covariance.shape[1:])
    for group, share in enumerate(shares):
        own = np.flatnonzero(groups == group)
        weights[own] = share * _least_variance(covariance[np.ix_(own, own)])
    return np.asarray(weights / np.maximum(weights.sum(axis=0), np.finfo(np.float64).tiny))


def _least_variance(covariance: FloatArray) -> FloatArray:
    """Return C⁻¹1/(1ᵀC⁻¹1), parts × targets; 0 where all variances are infinite."""
    each = np.moveaxis(covariance, 2, 0)
    known = np.isfinite(np.einsum("ikk->ik", each))
    both = known[:, :, None] & known[:, None]
    scale = np.where(known, np.einsum("ikk->ik", each), 1.0)
    matrix = np.where(both, each, 0.0) + np.eye(len(covariance)) * np.where(known, 0.0, 1.0)[:, :, None]
    tiny = np.maximum(scale.max(axis=1), 1e-300)[:, None] * 1e-12  # a part without any error
    raw = np.linalg.solve(matrix + np.eye(len(covariance)) * tiny[:, :, None], known[:, :, None] * 1.0)[:, :, 0]
    total = raw.sum(axis=1, keepdims=True)
    return np.asarray(np.where(total != 0, raw / np.where(total != 0, total, 1.0), 0.0).T)
