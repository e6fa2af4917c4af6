"""What the cells of one source say of a number: their likelihood, value by value, and the unbiased number of each.

Where a service hides levels, a cell is a label s and an output y. Its number Σ_τ (G⁻¹)_τs z_τ(y) is unbiased whatever
the mix of levels is and whatever it depends on; its likelihood Σ_τ ρ_τ G(s|τ) Q_τ(y|·) is that at the estimated mix.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np

from pldp.errors import EstimateError
from pldp.estimates.mix import LevelMix
from pldp.mechanisms import CategoricalChannel
from pldp.mechanisms.arrays import LARGEST_ENVELOPES, FloatArray, Pieces, piecewise_arrays
from pldp.tallies import ABSENT, Fused


def source_mix(fused: Fused, place: int) -> LevelMix:
    """Return the labels that the reports of a source with hidden levels show."""
    source = fused.sources[place]
    if source.hidden is None or source.listed is None or source.listed.labels is None:
        raise EstimateError(f"source {source.name!r} does not hide its levels")
    cells = fused.cells[:, place]
    here = cells != ABSENT
    labels = source.listed.labels[cells[here]]
    shown = np.bincount(labels, weights=fused.counts[here], minlength=len(source.hidden.channels))
    return LevelMix.of(cast("CategoricalChannel", source.hidden.label), np.rint(shown).astype(int).tolist())


def source_pieces(fused: Fused, place: int) -> Pieces:
    """Return the likelihood of every cell of a source; the last row stands for no report."""
    source = fused.sources[place]
    if source.listed is None:
        return piecewise_arrays(source.channel).pieces()
    size, count = source.channel.size, source.count
    if (count + 1) * size > LARGEST_ENVELOPES:
        raise EstimateError(f"source {source.name!r}: {count:,} outputs on {size:,} buckets are too many to fuse")
    outputs = np.asarray(source.listed.outputs, np.int64)
    if source.hidden is None or source.listed.labels is None:
        table = piecewise_arrays(source.channel).pieces().table()[outputs]
    else:
        mix = source_mix(fused, place)
        chances = mix.matrix[source.listed.labels] * mix.shares
        table = np.zeros((count, size))
        for level, channel in enumerate(source.hidden.channels):
            table += chances[:, level, None] * piecewise_arrays(channel).pieces().table()[outputs]
    found = Pieces.none(size, count)
    found.envelope[:-1] = np.arange(1, count + 1)
    return replace(found, envelopes=np.concatenate([found.envelopes, table]))


def source_numbers(fused: Fused, place: int) -> FloatArray:
    """Return the unbiased number on [−1, 1] of every cell of a source."""
    source = fused.sources[place]
    if source.listed is None:
        return piecewise_arrays(source.channel).unbiased()
    if source.hidden is None or source.listed.labels is None:
        return np.asarray(piecewise_arrays(source.channel).unbiased()[source.listed.outputs.astype(np.int64)])
    numbers = np.array([piecewise_arrays(channel).unbiased() for channel in source.hidden.channels])
    undo = source_mix(fused, place).inverse[:, source.listed.labels]
    return np.asarray((undo * numbers[:, source.listed.outputs.astype(np.int64)]).sum(axis=0))


def power_mean(fused: Fused, place: int, numbers: FloatArray, power: int) -> FloatArray:
    """Return the mean of a power of a source's numbers for every value, over all its outputs, seen or not."""
    source = fused.sources[place]
    if source.hidden is None or source.listed is None:
        return source_pieces(fused, place).expectation(numbers**power)
    mix = source_mix(fused, place)
    own = np.array([piecewise_arrays(channel).unbiased() for channel in source.hidden.channels])
    total = np.zeros(source.channel.size)
    for level, channel in enumerate(source.hidden.channels):
        rows = piecewise_arrays(channel).pieces()
        for label in range(len(own)):
            number = mix.inverse[:, label] @ own
            total += mix.shares[level] * mix.matrix[label, level] * rows.expectation(number**power)
    return total
