"""Several services: tally, likelihood, density and mean, beside a straightforward dense EM of the same likelihood.

No peer package joins services, so the reference is what one would write first: EM over a matrix people × buckets. Each
case runs in a fresh child process; the simulation is not part of the times.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.measure import Clock, Context, Row, memory_text, serve
from pldp.estimates import ShareLikelihood, density, fused_likelihood, mean
from pldp.mechanisms import Grid, build, micro_epsilon
from pldp.mechanisms.arrays import piecewise_arrays
from pldp.papers.multiservice import js, likelihood_fit
from pldp.simulate import perturb_numbers, to_buckets
from pldp.tallies import Fused, Service, fuse

TITLE = "Several services: one number, Beta(2, 5), 1,024 buckets"

MODULE = "benchmarks.services"
SEED = 7
SIZE = 1024
EM_STEPS = 5


def services(names: list[str], epsilon: float, people: int) -> tuple[list[Service], np.ndarray]:
    generator = np.random.default_rng(SEED)
    values = to_buckets(Grid(0, 1, SIZE), generator.beta(2, 5, people))
    keys = generator.permutation(people)
    channels = [build(name, SIZE, micro_epsilon(epsilon)) for name in names]
    made = [
        Service(f"{channel.mechanism}{place}", channel, keys, perturb_numbers(channel, values, generator), (0, 1))
        for place, channel in enumerate(channels)
    ]
    return made, np.bincount(values, minlength=SIZE) / people


def tallied(names: list[str], epsilon: float, people: int) -> dict[str, Any]:
    """Time of the tally alone."""
    made, _ = services(names, epsilon, people)
    clock = Clock()
    fused = clock.time(lambda: fuse(made), repeats=1)
    return clock.result(people, tuples=len(fused.counts))


def estimated(names: list[str], epsilon: float, people: int, what: str) -> dict[str, Any]:
    """Time of one estimate after the tally."""
    made, truth = services(names, epsilon, people)
    fused = fuse(made)
    del made
    density(fused.thin(1000))
    clock = Clock()
    if what == "mean":
        found = clock.time(lambda: mean(fused, target="respondents"), repeats=1)
        return clock.result(people, error=found.standard_error)
    if what == "density":
        smooth = clock.time(lambda: density(fused), repeats=1)
        return clock.result(people, js=js(truth, smooth.shares), splines=smooth.splines, converged=smooth.converged)
    fit = clock.time(lambda: likelihood_fit(fused), repeats=1)
    return clock.result(people, gap=fit.gap, steps=fit.steps, converged=fit.converged)


def em_beside_dense(names: list[str], epsilon: float, people: int) -> dict[str, Any]:
    """The same EM steps with prefix sums and with a dense matrix, and how far the iterates differ."""
    fused = fuse(services(names, epsilon, people)[0])
    model = fused_likelihood(fused)
    clock = Clock()
    ours = clock.time(lambda: _em(model, EM_STEPS), repeats=3)
    start = Clock()
    theirs = start.time(lambda: _dense_em(fused, EM_STEPS), repeats=2)
    return start.result(people, ours=min(clock.seconds), difference=float(np.abs(ours - theirs).max()))


def _em(model: ShareLikelihood, steps: int) -> np.ndarray:
    shares = model.uniform
    for _ in range(steps):
        shares = shares * model.scores(shares)
    return shares


def _dense_em(fused: Fused, steps: int) -> np.ndarray:
    """One row of likelihoods per person, built once; two products with it per step."""
    outputs = np.repeat(fused.cells, fused.counts, axis=0)
    matrix = np.ones((len(outputs), fused.size))
    for place, source in enumerate(fused.sources):
        matrix *= piecewise_arrays(source.channel).pieces().table()[outputs[:, place]]
    shares = np.full(fused.size, 1 / fused.size)
    for _ in range(steps):
        shares = shares * (matrix.T @ (1 / (matrix @ shares))) / len(matrix)
    return shares


def run(context: Context) -> Iterator[list[Row]]:
    """Yield the rows."""
    three, four = ["sr", "pm", "sw"], ["sr", "laplace", "pm", "sw"]
    many = context.people(10_000_000)
    joined = context.ours(MODULE, "tallied", names=three, epsilon=0.3, people=many)
    yield [_row(f"tally, SR+PM+SW at ε .3, {many:,} people", joined, None, f"{joined['tuples']:,} tuples")]
    for people in (many // 100, many // 10, many):
        fit = context.ours(MODULE, "estimated", names=three, epsilon=0.3, people=people, what="likelihood")
        text = f"{fit['steps']} steps, gap {fit['gap']:.0e}"
        yield [_row(f"maximum likelihood (ULE) after the tally, {people:,} people", fit, 60.0, text)]
        smooth = context.ours(MODULE, "estimated", names=three, epsilon=0.3, people=people, what="density")
        text = f"JS {smooth['js']:.3f}, {smooth['splines']} splines"
        yield [_row(f"density (default) after the tally, {people:,} people", smooth, 15.0, text)]
    people = many // 100
    both = context.ours(MODULE, "em_beside_dense", names=three, epsilon=0.3, people=people)
    yield [_beside(f"{EM_STEPS} EM steps, {people:,} people; reference: dense EM", both)]
    million = context.people(1_000_000)
    wide = context.ours(MODULE, "estimated", names=three * 5, epsilon=0.1, people=million, what="likelihood")
    yield [_row(f"15 services at ε .1, {million:,} people, ULE", wide, 60.0, f"gap {wide['gap']:.0e}")]
    average = context.ours(MODULE, "estimated", names=four, epsilon=0.3, people=many, what="mean")
    yield [_row(f"mean of 4 services, {many:,} people", average, 10.0, f"standard error {average['error']:.1e}")]


def _row(what: str, found: dict[str, Any], target: float | None, text: str) -> Row:
    seconds = min(found["seconds"])
    return Row(
        what=what,
        ours=f"{seconds:.2f} s, {text}",
        target="–" if target is None else f"≤ {target:g} s",
        met=None if target is None else seconds <= target and found.get("converged", True),
        memory=memory_text(found["peak_bytes"]),
        raw=found,
    )


def _beside(what: str, found: dict[str, Any]) -> Row:
    ratio = min(found["seconds"]) / found["ours"]
    return Row(
        what=what,
        ours=f"{found['ours']:.3f} s, iterates within {found['difference']:.0e}",
        peer=f"{min(found['seconds']):.2f} s",
        ratio=ratio,
        target="≥ 100 ×",
        met=ratio >= 100 and found["difference"] < 1e-9,
        memory=memory_text(found["peak_bytes"]),
        raw=found,
    )


if __name__ == "__main__":
    serve({"tallied": tallied, "estimated": estimated, "em_beside_dense": em_beside_dense})
