"""Lemma 2, Theorems 3 to 5 and Definition 3, tried on simulated collections."""

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from pldp.mechanisms import MICRO, SymmetricUnaryEncoding
from pldp.mechanisms.arrays import FloatArray
from pldp.papers.mpldp.perturbation import Form, fit, hat_matrix, least_largest_error, move_targets, wedin_bound

SETTINGS: Final = ((10_000, 1.0), (10_000, 6.0), (1_000, 1.0), (1_000, 6.0))
LIMIT: Final = 1000  # iterations that stand for infinitely many
_ROUNDING: Final = 1e-9  # of an error: what counts as growth


def check_theory(collections: Callable[..., Iterator[Any]], runs: int, seed: int) -> dict[str, Any]:
    """Try every statement on so many collections of each attribute in each setting."""
    found: dict[str, Any] = {"runs": runs, "lemma_2": 0.0, "grows": {}, "paths": []}
    counts = {name: [0, 0] for name in ("mended", "theorem", "algorithm", "residual")}
    for people, total in SETTINGS:
        generator = np.random.default_rng([seed, 4, people, round(total)])
        for each in collections(people, total, "printed", runs, generator):
            ratio = _largest_change(each.tables[:20], each.truth, generator)
            found["lemma_2"] = max(found["lemma_2"], ratio)
            for name, (grown, of) in _growth(each).items():
                counts[name][0] += grown
                counts[name][1] += of
            found["paths"].append({"n": people, "epsilon": total, "values": each.size} | _limits(each))
    found["grows"] = {name: {"collections": of, "grow": grown} for name, (grown, of) in counts.items()}
    return found | {"op_change": _op_depends_on_one_person(), "theorem_1": _promises()}


def _largest_change(tables: FloatArray, truth: FloatArray, generator: np.random.Generator) -> float:
    """Change of a least squares solution over the bound of Lemma 2, the largest over random and aligned changes."""
    largest = 0.0
    for table in tables:
        solution = np.linalg.lstsq(table, truth)[0]
        left, _, right = np.linalg.svd(table, full_matrices=False)
        residual = truth - table @ solution
        aligned = np.outer(residual / np.linalg.norm(residual), right[-1])  # moves the weakest direction to the rest
        for share, direction in ((0.01, aligned), (0.5, -aligned), (0.5, generator.normal(size=table.shape))):
            relative = share / np.linalg.cond(table)
            change = direction / np.linalg.norm(direction, 2) * relative * np.linalg.norm(table, 2)
            moved = left[:, -1] * relative * np.linalg.norm(truth)
            other = np.linalg.lstsq(table + change, truth + moved)[0]
            seen = np.linalg.norm(solution - other) / np.linalg.norm(solution)
            largest = max(largest, float(seen / wedin_bound(table, truth, relative)))
    return largest


def _growth(collected: Any) -> dict[str, tuple[int, int]]:
    """In how many collections the maximum error grows: in the first step (Theorem 3), or anywhere in 20 iterations.

    `residual` is what Algorithm 3 computes itself, against the target that it moved.
    """
    hats = hat_matrix(collected.tables)
    found = {}
    forms: dict[Form, int] = {"mended": 20, "theorem": 1, "algorithm": 20}
    for form, steps in forms.items():
        targets = list(move_targets(hats, collected.truth, steps, form=form))
        fits = [fit(hats, target) for target in targets]
        errors: dict[str, FloatArray] = {form: np.array([np.abs(each - collected.truth).max(1) for each in fits])}
        if form == "algorithm":
            pairs = zip(targets, fits, strict=True)
            errors["residual"] = np.array([np.abs(target - each).max(1) for target, each in pairs])
        for name, path in errors.items():
            grown = np.asarray((np.diff(path, axis=0) > _ROUNDING * path[:-1]).any(0))
            found[name] = (int(grown.sum()), len(grown))
    return found


def _limits(collected: Any) -> dict[str, Any]:
    """Maximum errors of least squares, of OP after 10, 20 and very many iterations, at half the pace, and the least."""
    hats = hat_matrix(collected.tables)
    marks: dict[str, FloatArray] = {}
    targets = collected.truth
    for place, targets in enumerate(move_targets(hats, collected.truth, LIMIT)):
        if place in (0, 9, 19, LIMIT):
            name = {0: "first", 9: "tenth", 19: "twentieth", LIMIT: "limit"}[place]
            marks[name] = np.abs(fit(hats, targets) - collected.truth).max(1)
    *_, slow = move_targets(hats, collected.truth, 9, pace=0.5)
    marks["tenth_at_half_pace"] = np.abs(fit(hats, slow) - collected.truth).max(1)
    marks["least"] = np.array([least_largest_error(table, collected.truth) for table in collected.tables])
    weights = (np.linalg.pinv(collected.tables) @ targets[..., None])[..., 0]
    fitted = fit(hats, targets)
    above = collected.truth > marks["limit"][:, None]
    return {name: samples.tolist() for name, samples in marks.items()} | {
        "not_positive": int((above & (fitted <= 0)).sum()),
        "all_above": int(above.all(1).sum()),
        "all_above_with_a_negative_weight": int((above.all(1) & (weights < 0).any(1)).sum()),
    }


def _op_depends_on_one_person() -> float:
    """How far OP's counts move if one person has another value and all reports stay the same."""
    generator = np.random.default_rng(0)
    truth = np.array([120.0, 80.0, 60.0, 40.0, 30.0])
    tables = (truth[:, None] / 3 + generator.normal(scale=20, size=(5, 3)))[None]
    hats = hat_matrix(tables)
    found = []
    for counts in (truth, truth + np.array([-1, 1, 0, 0, 0])):
        *_, target = move_targets(hats, counts, 10)
        found.append(fit(hats, target)[0])
    return float(np.abs(found[0] - found[1]).max())


def _promises() -> list[dict[str, float]]:
    """ε that the channel has exactly, and ε = 2 log p/(1−p) of Theorem 1."""
    channels = [SymmetricUnaryEncoding.of(5, micro) for micro in (100_000, 500_000, 1_000_000, 3_000_000)]
    return [
        {
            "stated": 2 * float(np.log(float(channel.truth_support) / float(channel.other_support))),
            "true": channel.micro_epsilon / MICRO,
        }
        for channel in channels
    ]
