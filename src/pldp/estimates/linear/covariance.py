"""Covariances across the labels of one question.

What a report that shows s adds to label i is α_si + β_si·t_i, t being the statistic that reports have in common at all
levels, and Cov_u(t) is known of every level u. So for two such tables a and b, with p_su = Λ(s|u)ρ_u,

    E a_i b_j = Σ_su p_su [ (α + β E_u t)_i (α′ + β′ E_u t)_j + β_i β′_j Cov_u(t_i, t_j) ].

Rows of bits are decoded by class, which no statistic knows; there the rows that came are summed instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from pldp.estimates.linear.pooling import Linear
from pldp.mechanisms.arrays import FloatArray, LabelArrays

_ROUNDING: Final = 1e-9
"""How far from 1 estimates that always sum to 1 are, at most."""

Places = npt.NDArray[np.intp]

Rows = tuple[npt.NDArray[np.uint8] | None, FloatArray]
"""The distinct rows of bits that came, bytes × rows, and how often each did."""


def second_moments(
    table: FloatArray, chances: FloatArray, forms: Sequence[LabelArrays], shares: FloatArray, chosen: Places
) -> FloatArray:
    """Return E g_ai g_bj of functionals a, b and chosen labels i, j: (functional, label) squared.

    `table` are functionals × shown × chosen labels × patterns; `chances` are those of (shown, level); `shares` of all
    labels are those of people of each level (levels × labels), whose `forms` make the reports.
    """
    alpha, beta = table[..., 0], table[..., -1] - table[..., 0]
    functionals, _, labels = alpha.shape
    listed = _by_output(table, chances, forms, shares, chosen)
    if listed is not None:
        added, named = listed
        flat = np.moveaxis(added, 1, 2).reshape(functionals * labels, -1)
        return (flat * named.ravel()) @ flat.T
    total = np.zeros((functionals * labels, functionals * labels))
    for level, (form, own) in enumerate(zip(forms, shares, strict=True)):
        law = form.support_law()
        mean = law.mean(own)[chosen]
        slope = law.slope[chosen]
        spread = form.covariance(own, chosen) * np.outer(slope, slope)
        for label in np.flatnonzero(chances[:, level]):
            first = (alpha[:, label] + beta[:, label] * mean).ravel()
            noise = np.einsum("ai,bj,ij->aibj", beta[:, label], beta[:, label], spread)
            total += chances[label, level] * (np.outer(first, first) + noise.reshape(total.shape))
    return total


def label_covariance(fitted: Linear, forms: Sequence[LabelArrays], chosen: Places | None = None) -> FloatArray:
    """Return the covariance of the estimates of labels (all, or the chosen ones) for a random sample of people.

    By precision people of all levels have the estimated shares; by size those of each level are its own. It is scaled
    to the stated variances, which know more of the reports that came.
    """
    evidence, places = fitted.evidence, np.arange(fitted.evidence.targets) if chosen is None else chosen
    chances = evidence.chance[:, evidence.levels] * evidence.possible_mix
    shares = np.array(_shares_by_level(fitted))
    used = [forms[level] for level in evidence.levels]
    psi = fitted.psi[None, :, places]
    mean = second_mean(psi, chances, used, shares, places)
    found = second_moments(psi, chances, used, shares, places) - np.outer(mean, mean)
    for _, gain, along in fitted.gains:
        found -= gain[places] @ along[places].T
    found = (found + found.T) / 2 / fitted.reports
    if chosen is None and abs(fitted.estimates.sum() - 1) < _ROUNDING:
        found = _summing_to_one(found)
    return scaled(found, fitted.variance()[places])


def _summing_to_one(covariance: FloatArray) -> FloatArray:
    """Return the covariance along shares that sum to 1: what is known is taken off as if all levels were alike."""
    across = covariance - covariance.mean(axis=0)
    return np.asarray(across - across.mean(axis=1, keepdims=True))


def scaled(covariance: FloatArray, variances: FloatArray) -> FloatArray:
    """Return the covariance with these variances and the same correlations."""
    scale = np.sqrt(variances / np.maximum(np.diag(covariance), np.finfo(np.float64).tiny))
    return np.asarray(covariance * np.outer(scale, scale))


def second_mean(
    table: FloatArray, chances: FloatArray, forms: Sequence[LabelArrays], shares: FloatArray, chosen: Places
) -> FloatArray:
    """Return E g_ai of functionals and chosen labels, end to end."""
    listed = _by_output(table, chances, forms, shares, chosen)
    if listed is not None:
        return np.asarray(np.einsum("asiy,sy->ai", *listed)).ravel()
    alpha, beta = table[..., 0], table[..., -1] - table[..., 0]
    means = np.array([form.support_law().mean(own)[chosen] for form, own in zip(forms, shares, strict=True)])
    return np.asarray(
        np.einsum("su,asi->ai", chances, alpha) + np.einsum("su,asi,ui->ai", chances, beta, means)
    ).ravel()


def _by_output(
    table: FloatArray, chances: FloatArray, forms: Sequence[LabelArrays], shares: FloatArray, chosen: Places
) -> tuple[FloatArray, FloatArray] | None:
    """Return what each output adds, functionals × shown × labels × outputs, and the chance of (shown, output).

    `None` where a statistic does: a report of a tier adds to all labels of other tiers, which no single label knows.
    """
    places = forms[0].output_patterns()
    if places is None:
        return None
    added = table[:, :, np.arange(len(chosen))[:, None], places[chosen]]
    named = np.array([form.forward(own, None) for form, own in zip(forms, shares, strict=True)])
    return added, chances @ named


def _shares_by_level(fitted: Linear) -> FloatArray:
    evidence = fitted.evidence
    if fitted.pool == "precision":
        return np.tile(fitted.states[:, -1], (len(evidence.levels), 1))
    joint, mix = evidence.joint[:, :, -1].T, evidence.mix
    own = [row / share if share > 0 else fitted.states[:, -1] for row, share in zip(joint, mix, strict=True)]
    return np.array([evidence.possible(shares[:, None])[:, -1] for shares in own])


def row_covariance(fitted: Linear, form: LabelArrays, rows: Sequence[Rows], classes: Places) -> FloatArray:
    """Return the covariance of labels that are decoded by classes of rows, from the rows that came.

    `rows` are those of every shown label or level. ψ is A_c + B_c b_i − f_i V_c for a row of class c, so that Σ ψ_i ψ_j
    over rows is made of weighted products of bits.
    """
    evidence, half = fitted.evidence, fitted.psi.shape[2] // 2
    total = np.zeros((evidence.targets, evidence.targets))
    shares = fitted.estimates
    top = int(np.argmax(shares))
    for label, (cells, counts) in enumerate(rows):
        if cells is None or not len(counts):
            continue
        own = classes[form.support_sum(np.ones(evidence.targets), cells).astype(np.intp)]
        # All labels are decoded alike: A, B and V are read off any of them, best the largest.
        whole = (fitted.counted - fitted.psi)[label, top] / shares[top]
        low, high = fitted.counted[label, top].reshape(2, half)
        step = high - low
        constant, gained, taken = low[own], step[own], whole[:half][own]
        total += form.weighted_products(counts * constant**2, counts * constant * gained, counts * gained**2, cells)
        mixed = np.outer((counts * taken) @ constant + form.support_total(counts * taken * gained, cells), shares)
        total += np.outer(shares, shares) * (counts @ taken**2) - mixed - mixed.T
    return scaled(total / fitted.reports**2, fitted.variance())
