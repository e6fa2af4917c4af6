"""What the cells of one source say of a number: their likelihood, value by value, and the unbiased number of each.

Where a service hides levels, a cell is a label s and an output y. Its number Σ_τ (G⁻¹)_τs z_τ(y) is unbiased whatever
the mix of levels is and whatever it depends on; its likelihood Σ_τ ρ_τ G(s|τ) Q_τ(y|·) is that at the estimated mix.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np

from pldp.errors import EstimateError
from pldp.estimates.linear.mix import LevelMix
from pldp.mechanisms import CategoricalChannel
from pldp.mechanisms.arrays import LARGEST_ENVELOPES, FloatArray, Pieces, piecewise_arrays
from pldp.tallies import ABSENT, Fused


def centres(size: int) -> FloatArray:
    """Return the centres of the buckets on [−1, 1]."""
    return np.asarray((2 * np.arange(size) + 1 - size) / size)


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
