"""Estimates of labels by enumeration: what every report counts, and how likely it is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from helpers.samples import law
from pldp.estimates.linear.pooling import Linear
from pldp.mechanisms.arrays import LabelArrays


def numbers_of(fitted: Linear, form: LabelArrays, table: np.ndarray) -> np.ndarray:
    """What one report of each output counts by a table (shown × labels × patterns), less what is known of it.

    The result is shown × outputs × labels.
    """
    outputs = list(form.channel.outputs())
    rows = np.array(outputs) if isinstance(outputs[0], int) else np.array([list(y) for y in outputs], np.uint8)
    supports = form.supported(rows).astype(float)
    found = np.zeros((len(table), len(outputs), form.channel.size))
    for shown in range(len(found)):
        for place, support in enumerate(supports):
            counts = np.zeros_like(fitted.evidence.counts)
            counts[shown] = form.pattern_counts(support, 1.0)
            report = replace(fitted.evidence, counts=counts)
            vars(report)["levels"] = fitted.evidence.levels  # also those that this report says nothing of
            found[shown, place] = (table[shown] * counts[shown]).sum(axis=1)
            for known, gain, _ in fitted.gains:
                found[shown, place] -= gain @ known.off(report)
    return found


def chances(fitted: Linear, forms: list[LabelArrays], mix: np.ndarray) -> np.ndarray:
    """How likely people of every label send each report: shown × outputs × labels."""
    laws = np.array([law(form.channel) for form in forms])
    return np.einsum("st,t,tyx->syx", fitted.evidence.chance, mix, laws)
