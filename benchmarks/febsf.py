"""Hidden levels: the joint fit of shares and levels, beside a plain dense EM of the same likelihood.

No peer package fits hidden levels, so the reference is what one would write first: EM over arrays of people × levels
and people × values. Each case runs in a fresh child process.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.measure import Clock, Context, Row, memory_text, serve
from pldp.estimates import norm_sub
from pldp.estimates.likelihood.mixture import interior
from pldp.estimates.likelihood.solver import label_mixture
from pldp.mechanisms import build
from pldp.papers.datasets import load_counts
from pldp.papers.febsf.experiment import BUDGETS, hide
from pldp.papers.groups import HiddenReports, joint_likelihood, moments
from pldp.simulate import perturb

TITLE = "Hidden levels: joint likelihood of shares and ten levels (ε .1 … 1.0, label ε .3)"

MODULE = "benchmarks.febsf"
SEED = 7
LABEL = 300_000
EM_STEPS = 1000


def fit(mechanism: str, people: int, size: int, repeats: int) -> dict[str, Any]:
    """Fit hidden levels to a certified stationary point, both starts."""
    joint_likelihood(_hidden(mechanism, 2000, size))
    clock = Clock()
    hidden = _hidden(mechanism, people, size)
    found = clock.time(lambda: joint_likelihood(hidden), repeats=repeats)
    return clock.result(people, steps=found.fit.steps, gap=found.fit.gap, agree=found.starts_agree)


def plain_em(mechanism: str, people: int, size: int, repeats: int) -> dict[str, Any]:
    """Run a dense EM for some steps from the same start; report what gap it has reached by then."""
    clock = Clock()
    hidden = _hidden(mechanism, people, size)
    bits, labels = _dense(hidden)
    shares, levels = clock.time(lambda: _em(hidden, bits, labels, EM_STEPS), repeats=repeats)
    model = label_mixture(hidden.label_reports)
    gap = float(model.scores(np.concatenate([shares, levels])).max() - 1)
    return clock.result(people, steps=EM_STEPS, gap=gap)


def _hidden(mechanism: str, people: int, size: int) -> HiddenReports:
    generator = np.random.default_rng(SEED)
    shares = (
        np.array(list(load_counts("adult_education").values()), float) if size == 16 else 1 / np.arange(1.0, size + 1)
    )
    values = generator.choice(size, people, p=shares / shares.sum())
    channels = [build(mechanism, size, micro) for micro in BUDGETS]
    level = generator.integers(0, len(BUDGETS), people)
    return hide(channels, perturb(channels, values, generator, level=level), level, LABEL, generator)


def _dense(hidden: HiddenReports) -> tuple[np.ndarray, np.ndarray]:
    """One row of bits and one label per person."""
    rows = [each.packed_rows() for each in hidden.groups]
    bits = np.unpackbits(np.concatenate(rows), axis=1, count=hidden.size, bitorder="little").astype(np.float64)
    return bits, np.repeat(np.arange(len(rows)), [len(part) for part in rows])


def _em(hidden: HiddenReports, bits: np.ndarray, labels: np.ndarray, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """E-step: posterior of (level, value) of every person; M-step: their means."""
    first = moments(hidden)
    shares, levels = interior(norm_sub(first.shares)), interior(norm_sub(first.levels))
    p, q = np.array([(float(each.truth_support), float(each.other_support)) for each in hidden.channels]).T
    ones = bits.sum(axis=1)[:, None]
    base = np.exp(ones * np.log(q) + (hidden.size - ones) * np.log1p(-q)) * hidden.label_matrix[labels]
    low, high = (1 - p) / (1 - q), p / q
    for _ in range(steps):
        supported = (bits @ shares)[:, None]
        given_level = base * (low + (high - low) * supported)
        total = given_level @ levels
        posterior = given_level * levels / total[:, None]
        weight = base * levels / total[:, None]
        shares = shares * ((weight @ low).sum() + bits.T @ (weight @ (high - low))) / len(bits)
        levels = posterior.mean(axis=0)
    return shares / shares.sum(), levels / levels.sum()


def run(context: Context) -> Iterator[list[Row]]:
    """Yield the rows: Education beside the dense EM, then a million people."""
    people = 32_561
    ours = context.ours(MODULE, "fit", mechanism="sue", people=people, size=16, repeats=3)
    dense = context.ours(MODULE, "plain_em", mechanism="sue", people=people, size=16, repeats=2)
    ratio = min(dense["seconds"]) / min(ours["seconds"])
    what = f"Education, SUE, k=16, {people:,} people; reference: {EM_STEPS} steps of a dense EM"
    reached = f"{min(dense['seconds']):.2f} s, gap still {dense['gap']:.0e}"
    yield [_row(what, ours, 1.0, peer=reached, ratio=ratio)]
    million = context.people(1_000_000)
    for mechanism, target in (("krr", 1.0), ("sue", 60.0)):
        found = context.ours(MODULE, "fit", mechanism=mechanism, people=million, size=128, repeats=2)
        yield [_row(f"{mechanism}, k=128, {million:,} people", found, target)]


def _row(what: str, found: dict[str, Any], target: float, *, peer: str = "–", ratio: float | None = None) -> Row:
    seconds = min(found["seconds"])
    return Row(
        what=what,
        ours=f"{seconds:.2f} s, {found['steps']} steps, gap {found['gap']:.0e}",
        peer=peer,
        ratio=ratio,
        target=f"≤ {target:g} s",
        met=seconds <= target,
        memory=memory_text(found["peak_bytes"]),
        raw=found,
    )


if __name__ == "__main__":
    serve({"fit": fit, "plain_em": plain_em})
