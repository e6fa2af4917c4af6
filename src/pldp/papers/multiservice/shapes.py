"""Distributions from several services by EM: many runs at once, from counts of tuples of outputs.

Reports of different people are independent, so the counts of all tuples have a multinomial distribution: drawing them
is as good as letting everybody report, in time that does not grow with the people. Numbers are in `SIZE` buckets;
outputs of the square wave and the piecewise mechanism are put into equal buckets, as the paper does: 24, or 12 where
three services have such outputs (the number is not printed; the authors' program has 1,024 of both). Its smoothing by
(1, 2, 1)/4 spreads a step by half a squared bucket; here it spreads as far, in units of the numbers, as with `THEIRS`
buckets.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import numpy as np

from pldp.mechanisms import Channel, build, micro_epsilon
from pldp.mechanisms.arrays import FloatArray, piecewise_arrays

SIZE: Final = 64
OUTPUTS: Final = 24
TUPLES: Final = 4096
"""Most tuples of outputs that are counted."""

THEIRS: Final = 1024

SMOOTHING: Final = (SIZE / THEIRS) ** 2 / 4
"""Share that moves to each neighbour in a step of EMS: ¼ with as many buckets as the authors have."""

CHANGE: Final = 1e-3
"""EM stops when a step changes the log-likelihood of all people by less."""

MOST_STEPS: Final = 10_000

COUNTED: Final = 3
"""Services whose tuples are counted; with more, people are drawn one by one."""

ESTIMATORS: Final = {"em": 0.0, "ems": SMOOTHING}
"""As printed, and as the authors run it."""

Services = Sequence[tuple[str, float]]  # mechanism and ε of each
Shapes = dict[str, FloatArray]  # of each method, runs × buckets


def likelihood(channel: Channel) -> FloatArray:
    """Return Pr(output | number) of a channel, outputs × numbers."""
    return np.asarray(piecewise_arrays(channel).pieces().table()[:-1])


@lru_cache(maxsize=64)
def table_of(mechanism: str, epsilon: float, outputs: int = OUTPUTS) -> FloatArray:
    """Return Pr(output bucket | number), outputs × `SIZE`."""
    table = likelihood(build(mechanism, SIZE, micro_epsilon(epsilon)))
    if len(table) <= outputs:
        return table
    return np.asarray(np.add.reduceat(table, np.arange(outputs) * len(table) // outputs))


def estimate(
    services: Services, shares: FloatArray, people: int, runs: int, generator: np.random.Generator
) -> dict[str, Shapes]:
    """Return what `runs` collections give: by `em` (as printed) and `ems` (as the authors run it), joined and alone.

    Services are named by their place and mechanism, all together `ule`.
    """
    counted = len(services) <= COUNTED
    tables = [table_of(*service) for service in services]
    if counted and np.prod([len(table) for table in tables]) > TUPLES:
        tables = [table_of(*service, OUTPUTS // 2) for service in services]
    if counted:
        joint, counts = all_tuples(tables, shares, people, runs, generator)
        sizes = [len(table) for table in tables]
        cube = counts.reshape(*sizes, runs)
        others = [tuple(other for other in range(len(sizes)) if other != place) for place in range(len(sizes))]
        alone = [cube.sum(axis=axes) for axes in others]
        found = {name: {"ule": em(joint, counts, smoothing)} for name, smoothing in ESTIMATORS.items()}
    else:
        joint_runs = [own_tuples(tables, shares, people, generator) for _ in range(runs)]
        alone = [
            np.stack([np.bincount(outputs[place], minlength=len(table)) for _, outputs in joint_runs], axis=1)
            for place, table in enumerate(tables)
        ]
        ones = np.ones((people, 1))
        found = {
            name: {"ule": np.concatenate([em(joint, ones, smoothing) for joint, _ in joint_runs])}
            for name, smoothing in ESTIMATORS.items()
        }
    for name, smoothing in ESTIMATORS.items():
        for place, (service, table, counts) in enumerate(zip(services, tables, alone, strict=True)):
            found[name][f"{place} {service[0]}"] = em(table, counts, smoothing)
    return found


def all_tuples(
    tables: Sequence[FloatArray], shares: FloatArray, people: int, runs: int, generator: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return the likelihood of every tuple and the counts of every run, tuples × runs."""
    joint = np.ones((1, SIZE))
    for table in tables:
        joint = (joint[:, None] * table).reshape(-1, SIZE)
    chances = joint @ shares
    return joint, generator.multinomial(people, chances / chances.sum(), runs).T.astype(np.float64)


def own_tuples(
    tables: Sequence[FloatArray], shares: FloatArray, people: int, generator: np.random.Generator
) -> tuple[FloatArray, list[FloatArray]]:
    """Let everybody report once; return the likelihood of each person's tuple, and the outputs of each service."""
    values = np.sort(generator.choice(SIZE, people, p=shares))
    joint, drawn = np.ones((people, SIZE)), []
    for table in tables:
        levels = np.cumsum(table, axis=0)[:, values]
        outputs = (generator.random(people) * levels[-1] > levels).sum(axis=0)
        joint *= table[outputs] / table[outputs].max(axis=1, keepdims=True)
        drawn.append(outputs)
    return joint, drawn


def em(table: FloatArray, counts: FloatArray, smoothing: float) -> FloatArray:
    """Run EM from equal shares for every column of counts; return runs × buckets.

    Slopes at both ends of a step bound the change of the concave log-likelihood, so that logarithms are needed only
    near the end.
    """
    found = np.empty((counts.shape[1], table.shape[1]))
    active = np.arange(counts.shape[1])
    shares = np.full((table.shape[1], len(active)), 1 / table.shape[1])
    transposed = np.ascontiguousarray(table.T)
    cells = table @ shares
    scores = transposed @ (counts / cells)
    for _ in range(MOST_STEPS):
        moved = shares * scores
        if smoothing:
            padded = np.concatenate([moved[:1], moved, moved[-1:]])
            moved = moved + smoothing * (padded[:-2] - 2 * moved + padded[2:])
        moved /= moved.sum(axis=0)
        new_cells = table @ moved
        new_scores = transposed @ (counts / new_cells)
        step = moved - shares
        near = ((new_scores * step).sum(axis=0) < CHANGE) & ((scores * step).sum(axis=0) > -CHANGE)
        stopped = np.zeros(len(active), np.bool_)
        if near.any():
            change = (counts[:, near] * np.log(new_cells[:, near] / cells[:, near])).sum(axis=0)
            stopped[near] = np.abs(change) < CHANGE
        shares, scores, cells = moved, new_scores, new_cells
        if stopped.any():
            found[active[stopped]] = shares[:, stopped].T
            keep = ~stopped
            active, counts = active[keep], counts[:, keep]
            shares, scores, cells = shares[:, keep], scores[:, keep], cells[:, keep]
            if not len(active):
                break
    found[active] = shares.T
    return found
