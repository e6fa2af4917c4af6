"""Frequent sets of items under APRR, GR-PPFM and MASK: Tables 2 and 3 and Figure 3, and what becomes of the claims.

Setting of the paper: 940 baskets of 11 items (Basket), five levels by falling support with shares 4, 2, 2, 2, 1 of the
items, GR-PPFM with the same shares of the people. Table 2 follows from a total ε of 9, which the paper does not print.
Basket is read from the folder named by PLDP_DATA; without it, simulated baskets take its place and the result says so.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from pldp import __version__
from pldp.budgets.sensitivity import level_budget, split_budget
from pldp.datasets import data_file
from pldp.estimates.sets.itemsets import Baskets
from pldp.experiments.verdicts import Verdict
from pldp.mechanisms import BIT_TOTAL as TOTAL
from pldp.mechanisms import MICRO, ItemSet, epsilon_text
from pldp.papers import aprr
from pldp.simulate import perturb_item_sets

TOTAL_EPSILON: Final = 9 * MICRO
LEVEL_ITEMS: Final = (4, 2, 2, 2, 1)
"""Items of each level, of 11."""

GROUP_PROBABILITIES: Final = (1.0, 0.9, 0.8, 0.7, 0.6)
ONE_PROBABILITY: Final = 0.84
SUPPORTS: Final = (0.05, 0.08, 0.1, 0.15, 0.2, 0.25, 0.3)
LARGEST: Final = 3
RUNS: Final = 200
QUICK_RUNS: Final = 20
PRINTED_SUPPORT: Final = 0.2708
TABLE_2: Final = {1: (0.92, 0.77), 2: (0.86, 0.71), 3: (0.77, 0.65), 4: (0.65, 0.57)}
"""Printed probabilities to keep a "0" and a "1"."""

TABLE_3: Final = {"aprr": (0.0, 0.718, 0.402, 0.434), "gr_ppfm": (0.0, 0.706, 0.359, 0.434)}
"""Printed minPrivacy, maxPrivacy, avgPrivacy, overallPrivacy."""

METHODS: Final = ("aprr", "aprr_safe", "gr_ppfm", "mask")

Rows = npt.NDArray[np.uint8]


def run(*, quick: bool, seed: int, progress: Callable[[int, int], None] | None) -> dict[str, Any]:
    """Run all methods on the same baskets and judge the claims."""
    runs = QUICK_RUNS if quick else RUNS
    items, baskets, origin = _baskets(seed)
    truths = {least: aprr.frequent_sets(_unperturbed(baskets), items, least, largest=LARGEST) for least in SUPPORTS}
    errors: dict[tuple[float, str], list[aprr.IdentityError]] = defaultdict(list)
    for number in range(runs):
        generator = np.random.default_rng([seed, number])
        for method in METHODS:
            groups = _perturbed(method, baskets, generator)
            for least, truth in truths.items():
                found = aprr.frequent_sets(groups, items, least, largest=LARGEST)
                errors[least, method].append(aprr.identity_error(truth, found))
        if progress is not None:
            progress(number + 1, runs)
    rows = [_row(*key, found) for key, found in sorted(errors.items())]
    return {
        "experiment": "aprr",
        "version": __version__,
        "seed": seed,
        "quick": quick,
        "baskets": origin,
        "runs": runs,
        "rows": rows,
        "table_2": _table_2(),
        "table_3": _table_3(),
        "verdicts": [verdict.to_mapping() for verdict in (*_privacy_verdicts(), *_figure_verdicts(rows))],
    }


def _baskets(seed: int) -> tuple[list[str], Rows, str]:
    """Return item names by falling support, packed baskets, and where they come from."""
    path = data_file("basket.parquet")
    if path is not None:
        table = pq.read_table(path)
        names = [field.name for field in table.schema if str(field.type) == "bool"]
        bits = np.stack([table[name].to_numpy() for name in names], axis=1)
        origin = f"Basket, {len(bits)} baskets of a food supermarket (PLDP_DATA)"
    else:
        bits = _simulated(np.random.default_rng([seed, 940]))
        names = [f"item {place}" for place in range(bits.shape[1])]
        origin = f"simulated, {len(bits)} baskets: basket.parquet is not in the folder that PLDP_DATA names"
    order = np.argsort(-bits.mean(axis=0), kind="stable")
    return [names[place] for place in order], np.packbits(bits[:, order], axis=1, bitorder="little"), origin


def _simulated(generator: np.random.Generator) -> npt.NDArray[np.bool_]:
    """940 baskets of 11 items with about Basket's supports; three kinds of people each like three items more."""
    kind = generator.integers(0, 3, 940)
    liked = np.arange(11)[None, :] // 3 == kind[:, None]
    return np.asarray(generator.random((940, 11)) < np.where(liked, 0.5, np.linspace(0.24, 0.12, 11)))


def _item_levels() -> list[int]:
    """The level of every item, most frequent first: rarer items are more sensitive."""
    return [level for level, count in enumerate(LEVEL_ITEMS) for _ in range(count)]


def _unperturbed(baskets: Rows) -> Baskets:
    return [(ItemSet.of([math.inf] * sum(LEVEL_ITEMS)), baskets)]


def _perturbed(method: str, baskets: Rows, generator: np.random.Generator) -> Baskets:
    size = sum(LEVEL_ITEMS)
    if method == "gr_ppfm":
        level = generator.permutation(np.arange(len(baskets)) * size // len(baskets))
        group = np.array(_item_levels())[level]
        return [
            (channel, perturb_item_sets(channel, baskets[group == place], generator))
            for place, channel in enumerate(aprr.gr_ppfm(size, GROUP_PROBABILITIES))
        ]
    channel = {
        "aprr": lambda: aprr.aprr(_item_levels(), TOTAL_EPSILON),
        "aprr_safe": lambda: aprr.aprr_safe(_item_levels(), TOTAL_EPSILON),
        "mask": lambda: aprr.mask(size, ONE_PROBABILITY),
    }[method]()
    return [(channel, perturb_item_sets(channel, baskets, generator))]


def _row(least: float, method: str, errors: list[aprr.IdentityError]) -> dict[str, Any]:
    mean, spread = np.mean(errors, axis=0), np.std(errors, axis=0, ddof=1) / np.sqrt(len(errors))
    return {
        "min_support": least,
        "method": method,
        "theta_minus": float(mean[0]),
        "theta_plus": float(mean[1]),
        "theta_minus_error": float(spread[0]),
        "theta_plus_error": float(spread[1]),
    }


def _table_2() -> list[dict[str, Any]]:
    """Per level: budgets, printed and computed probabilities, and the true ε of the paper's and of the safe channel."""
    levels = range(1, len(LEVEL_ITEMS))
    theirs, safe = aprr.aprr(levels, TOTAL_EPSILON), aprr.aprr_safe(levels, TOTAL_EPSILON)
    rows = []
    for place, level in enumerate(levels):
        zero, one = split_budget(level_budget(TOTAL_EPSILON, level, len(LEVEL_ITEMS)))
        row = {
            "level": level,
            "items": LEVEL_ITEMS[level],
            "budget_zero": epsilon_text(zero),
            "budget_one": epsilon_text(one),
            "printed_zero": TABLE_2[level][0],
            "printed_one": TABLE_2[level][1],
        }
        for name, channel in (("aprr", theirs), ("safe", safe)):
            true = channel.item_micro_epsilon(place)
            row |= {
                f"{name}_zero": 1 - channel.raised[place] / TOTAL,
                f"{name}_one": channel.kept[place] / TOTAL,
                f"{name}_epsilon_zero": epsilon_text(true.absent),
                f"{name}_epsilon_one": epsilon_text(true.present),
            }
        rows.append(row)
    return rows


def _table_3() -> dict[str, dict[str, Any]]:
    """The privacy measures with the printed probabilities: the paper's formula, and with the channel's own q."""
    shares = [count / sum(LEVEL_ITEMS) for count in LEVEL_ITEMS]
    ones = [1.0, *(one for _, one in TABLE_2.values())]
    raised = [0.0, *(1 - zero for zero, _ in TABLE_2.values())]
    means = {
        "aprr": sum(share * (1 + p - q) / 2 for share, p, q in zip(shares, ones, raised, strict=True)),
        "gr_ppfm": sum(share * p for share, p in zip(shares, GROUP_PROBABILITIES, strict=True)),
    }
    names = aprr.Privacy._fields
    found: dict[str, dict[str, Any]] = {}
    for method, kept in (("aprr", ones), ("gr_ppfm", GROUP_PROBABILITIES)):
        measures = aprr.privacy_measures(kept, shares, PRINTED_SUPPORT, ONE_PROBABILITY)
        found[method] = {
            "printed": dict(zip(names, TABLE_3[method], strict=True)),
            "computed": measures._asdict(),
            "mean_probability": means[method],
            "overall_at_mean": aprr.privacy(means[method], PRINTED_SUPPORT),
        }
    own = aprr.privacy_measures(ones, shares, PRINTED_SUPPORT, ONE_PROBABILITY, raised)
    found["aprr"]["with_own_q"] = own._asdict()
    found["mask"] = {"computed": {"overall": aprr.privacy(ONE_PROBABILITY, PRINTED_SUPPORT)}}
    return found


def _privacy_verdicts() -> list[Verdict]:
    table, measures = _table_2(), _table_3()
    theirs, groups = measures["aprr"]["computed"], measures["gr_ppfm"]["computed"]
    own = measures["aprr"]["with_own_q"]
    protected = aprr.aprr([level for level in _item_levels() if level], TOTAL_EPSILON)
    kept_to = all(float(row["aprr_epsilon_one"]) <= float(row["budget_one"]) for row in table)
    shown = ", ".join(f"level {row['level']} {row['aprr_epsilon_one']} > {row['budget_one']}" for row in table)
    gap = max(max(abs(row[f"aprr_{bit}"] - row[f"printed_{bit}"]) for bit in ("zero", "one")) for row in table)
    means = [measures[method]["mean_probability"] for method in ("aprr", "gr_ppfm")]
    return [
        Verdict(
            "LDP-APRR satisfies ε-LDP: value i keeps its budget ε_i (Lemma 1)",
            kept_to,
            f'true ε of a "1" against its budget: {shown}; infinite for the open items; all protected items of a '
            f"basket together {epsilon_text(protected.micro_epsilon)}, total budget {epsilon_text(TOTAL_EPSILON)}",
        ),
        Verdict(
            "Table 2 follows from Equations (2) and (3)",
            gap <= 0.0075,
            f"with a total ε of 9 (not printed), split 2/3 : 1/3, all probabilities agree within {gap:.4f}",
        ),
        Verdict(
            "maxPrivacy, avgPrivacy and overallPrivacy of LDP-APRR are 71.8, 40.2 and 43.4 % (Equations 6 to 11)",
            bool(np.allclose(TABLE_3["aprr"], list(theirs.values()), atol=5e-4)),
            _percent(theirs),
        ),
        Verdict(
            "avgPrivacy of GR-PPFM is 35.9 %",
            abs(groups["average"] - TABLE_3["gr_ppfm"][2]) < 5e-4,
            f"{100 * groups['average']:.1f} % with the paper's own probabilities and shares ({_percent(groups)})",
        ),
        Verdict(
            "The average perturbation probability of all three methods is .84",
            max(abs(mean - ONE_PROBABILITY) for mean in means) < 0.005,
            f"LDP-APRR {means[0]:.4f}, GR-PPFM {means[1]:.4f}, whose overallPrivacy is then "
            f"{100 * measures['gr_ppfm']['overall_at_mean']:.1f} %",
        ),
        Verdict(
            "LDP-APRR raises maxPrivacy by 1.2 and avgPrivacy by 4.3 points over GR-PPFM",
            own["maximum"] - groups["maximum"] >= 0.0115 and own["average"] - groups["average"] >= 0.0425,
            f"with Equation (7), which takes q = 1 − p: {_difference(theirs, groups)}; with the q of its own channel: "
            f"{_difference(own, groups)}",
        ),
    ]


def _percent(measures: dict[str, float]) -> str:
    return ", ".join(f"{name} {100 * number:.1f} %" for name, number in measures.items())


def _difference(one: dict[str, float], other: dict[str, float]) -> str:
    parts = [f"{name} {100 * (one[name] - other[name]):+.1f}" for name in ("maximum", "average")]
    return ", ".join(parts) + " points"


def _figure_verdicts(rows: list[dict[str, Any]]) -> list[Verdict]:
    found = {(row["min_support"], row["method"]): row for row in rows}

    def curve(method: str, name: str) -> list[float]:
        return [found[least, method][name] for least in SUPPORTS]

    def listed(method: str, name: str) -> str:
        return f"{method} " + " ".join(f"{number:.0f}" for number in curve(method, name))

    def mean(method: str) -> float:
        return float(np.mean(curve(method, "theta_minus")) + np.mean(curve(method, "theta_plus")))

    def falls(name: str) -> bool:
        pairs = zip(pairwise(curve("aprr", name)), pairwise(curve("aprr", f"{name}_error")), strict=True)
        return all(later - earlier <= 3 * float(np.hypot(*spread)) for (earlier, later), spread in pairs)

    grid = " ".join(f"{least:g}" for least in SUPPORTS)
    errors = {method: mean(method) for method in METHODS}
    return [
        *(
            Verdict(
                f"The {word} rate {sign} of LDP-APRR falls as minSup grows (no rise beyond 3 standard errors)",
                falls(name),
                f"{sign} in % at minSup {grid}: {listed('aprr', name)}; {listed('gr_ppfm', name)}",
            )
            for name, word, sign in (("theta_plus", "overestimation", "θ⁺"), ("theta_minus", "underestimation", "θ⁻"))
        ),
        *(
            Verdict(
                f"LDP-APRR identifies frequent sets better than {name} (sum of θ⁻ and θ⁺, mean over minSup)",
                errors["aprr"] < errors[method],
                f"aprr {errors['aprr']:.1f} %, {method} {errors[method]:.1f} %; aprr_safe, which alone keeps "
                f"the budgets, {errors['aprr_safe']:.1f} %",
            )
            for method, name in (("gr_ppfm", "GR-PPFM"), ("mask", "MASK"))
        ),
    ]
