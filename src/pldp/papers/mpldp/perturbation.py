"""OP's iteration, as the paper prints it and as its proof has it, for many collections at once; and its limits.

A table has a row per value and a column per level; all functions but the last two take a stack of tables. Least
squares, (24), fits the levels to a target: the fit is the hat matrix P = T T⁺ times the target. OP moves the target.
"""

from collections.abc import Iterator
from typing import Literal

import numpy as np
from scipy.optimize import linprog

from pldp.mechanisms.arrays import FloatArray

Form = Literal["mended", "theorem", "algorithm"]
"""mended: errors are those against the reference, and the reach of a step at value k is P_jk, as the proof needs.
theorem: the same with P_jj, as (26) is printed. algorithm: P_jj, and errors against the moved target, as Algorithm 3
is printed."""


def hat_matrix(tables: FloatArray) -> FloatArray:
    """P = T T⁺."""
    return np.asarray(tables @ np.linalg.pinv(tables))


def move_targets(
    hats: FloatArray, reference: FloatArray, iterations: int, *, form: Form = "mended", pace: float = 1.0
) -> Iterator[FloatArray]:
    """Yield the targets of all tables before the first iteration, where they are the reference, and after each one.

    `pace` is the part of the largest allowed step that is taken; the paper takes all of it.
    """
    reference = np.broadcast_to(reference, hats.shape[:2])
    target = np.array(reference, np.float64)
    own = np.diagonal(hats, axis1=1, axis2=2)
    rows = np.arange(len(hats))
    yield target.copy()
    for _ in range(iterations):
        signed = (target if form == "algorithm" else reference) - fit(hats, target)
        error = np.abs(signed)
        worst = error.argmax(1)
        largest = error[rows, worst]
        reach = np.abs(hats[rows, :, worst]) if form == "mended" else own
        room = _divide(largest[:, None] - error, reach)
        room[rows, worst] = _divide(largest, own[rows, worst])
        step = room.min(1)
        target[rows, worst] += pace * np.sign(signed[rows, worst]) * np.where(np.isfinite(step), step, 0.0)
        yield target.copy()


def fit(hats: FloatArray, targets: FloatArray) -> FloatArray:
    """Return the least squares fits to the targets."""
    return np.asarray((hats @ targets[..., None])[..., 0])


def _divide(number: FloatArray, by: FloatArray) -> FloatArray:
    return np.divide(number, by, out=np.full_like(number, np.inf), where=by > 0)


def least_largest_error(table: FloatArray, reference: FloatArray) -> float:
    """Return the least largest error that any weights of the levels can have, by a linear program.

    >>> least_largest_error(np.array([[1.0], [2.0]]), np.array([1.0, 1.0])).__round__(6)
    0.333333
    """
    columns = table.shape[1]
    bounds = np.vstack([np.column_stack([sign * table, -np.ones(len(table))]) for sign in (1, -1)])
    found = linprog(
        [*[0.0] * columns, 1.0],
        A_ub=bounds,
        b_ub=np.concatenate([reference, -reference]),
        bounds=[*[(None, None)] * columns, (0, None)],
    )
    return float(found.fun)


def wedin_bound(matrix: FloatArray, right: FloatArray, relative: float) -> float:
    """Bound of Lemma 2, (20), on the relative change of a least squares solution.

    Matrix and right side change by at most the share `relative` of their norms.
    """
    solution = np.linalg.lstsq(matrix, right)[0]
    norm, condition = np.linalg.norm(matrix, 2), np.linalg.cond(matrix)
    scale = norm * np.linalg.norm(solution)
    residual = np.linalg.norm(right - matrix @ solution)
    factor = condition * relative / (1 - condition * relative)
    return float(factor * (1 + np.linalg.norm(right) / scale + condition * residual / scale))
