"""Frequent sets of items under APRR, GR-PPFM and MASK: Tables 2 and 3 and Figure 3.

Setting of the paper: 940 baskets of 11 items (Basket), five levels by falling support with shares 4, 2, 2, 2, 1 of the
items, GR-PPFM with the same shares of the people. Table 2 follows from a total ε of 9, which the paper does not print.
Basket is read from the folder named by PLDP_DATA; without it, simulated baskets take its place and the result says so.
"""

import math
from collections import defaultdict
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from pldp.budgets import level_budget, split_budget
from pldp.estimates import Baskets
from pldp.mechanisms import BIT_TOTAL as TOTAL
from pldp.mechanisms import MICRO, ItemSet, epsilon_text
from pldp.papers import aprr
from pldp.papers.datasets import data_file
from pldp.papers.running import Progress, mean_and_error, track
from pldp.simulate import perturb_item_sets

TOTAL_EPSILON: Final = 9 * MICRO
LEVEL_ITEMS: Final = (4, 2, 2, 2, 1)  # of 11
ITEM_LEVELS: Final = [level for level, count in enumerate(LEVEL_ITEMS) for _ in range(count)]
"""The level of every item, most frequent first: rarer items are more sensitive."""

GROUP_PROBABILITIES: Final = (1.0, 0.9, 0.8, 0.7, 0.6)
ONE_PROBABILITY: Final = 0.84
SUPPORTS: Final = (0.05, 0.08, 0.1, 0.15, 0.2, 0.25, 0.3)
RUNS: Final = 200
QUICK_RUNS: Final = 20
PRINTED_SUPPORT: Final = 0.2708
TABLE_2: Final = {1: (0.92, 0.77), 2: (0.86, 0.71), 3: (0.77, 0.65), 4: (0.65, 0.57)}
TABLE_3: Final = {"aprr": (0.0, 0.718, 0.402, 0.434), "gr_ppfm": (0.0, 0.706, 0.359, 0.434)}
"""As printed: probabilities to keep a "0" and a "1"; minPrivacy, maxPrivacy, avgPrivacy and overallPrivacy."""

METHODS: Final = ("aprr", "aprr_safe", "gr_ppfm", "mask")

Rows = npt.NDArray[np.uint8]


def run(*, quick: bool, seed: int, progress: Progress | None) -> dict[str, Any]:
    """Run all methods on the same baskets."""
    runs = QUICK_RUNS if quick else RUNS
    items, baskets, origin = _baskets(seed)
    exact: Baskets = [(ItemSet.of([math.inf] * sum(LEVEL_ITEMS)), baskets)]
    truths = {least: aprr.frequent_sets(exact, items, least) for least in SUPPORTS}
    errors: dict[tuple[float, str], list[aprr.IdentityError]] = defaultdict(list)
    for number in track(range(runs), runs, progress):
        generator = np.random.default_rng([seed, number])
        for method in METHODS:
            groups = perturb_baskets(method, baskets, generator)
            for least, truth in truths.items():
                errors[least, method].append(aprr.identity_error(truth, aprr.frequent_sets(groups, items, least)))
    return {
        "baskets": origin,
        "runs": runs,
        "rows": [_row(*key, found) for key, found in sorted(errors.items())],
        "table_2": table_2(),
        "table_3": table_3(),
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
        bits = simulate_baskets(np.random.default_rng([seed, 940]))
        names = [f"item {place}" for place in range(bits.shape[1])]
        origin = f"simulated, {len(bits)} baskets: basket.parquet is not in the folder that PLDP_DATA names"
    order = np.argsort(-bits.mean(axis=0), kind="stable")
    return [names[place] for place in order], np.packbits(bits[:, order], axis=1, bitorder="little"), origin


def simulate_baskets(generator: np.random.Generator) -> npt.NDArray[np.bool_]:
    """940 baskets of 11 items with about Basket's supports; three kinds of people each like three items more."""
    kind = generator.integers(0, 3, 940)
    liked = np.arange(11)[None, :] // 3 == kind[:, None]
    return np.asarray(generator.random((940, 11)) < np.where(liked, 0.5, np.linspace(0.24, 0.12, 11)))


def perturb_baskets(method: str, baskets: Rows, generator: np.random.Generator) -> Baskets:
    """Let everybody report with one of the methods; return the channels and their reports."""
    size = sum(LEVEL_ITEMS)
    if method == "gr_ppfm":
        level = generator.permutation(np.arange(len(baskets)) * size // len(baskets))
        group = np.array(ITEM_LEVELS)[level]
        return [
            (channel, perturb_item_sets(channel, baskets[group == place], generator))
            for place, channel in enumerate(aprr.gr_ppfm(size, GROUP_PROBABILITIES))
        ]
    channel = {
        "aprr": lambda: aprr.aprr(ITEM_LEVELS, TOTAL_EPSILON),
        "aprr_safe": lambda: aprr.aprr_safe(ITEM_LEVELS, TOTAL_EPSILON),
        "mask": lambda: aprr.mask(size, ONE_PROBABILITY),
    }[method]()
    return [(channel, perturb_item_sets(channel, baskets, generator))]


def _row(least: float, method: str, errors: list[aprr.IdentityError]) -> dict[str, Any]:
    minus, plus = np.array(errors).T
    rates = mean_and_error("theta_minus", minus) | mean_and_error("theta_plus", plus)
    return {"min_support": least, "method": method, **rates}


def table_2() -> list[dict[str, Any]]:
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


def table_3() -> dict[str, dict[str, Any]]:
    """The privacy measures with the printed probabilities: the paper's formula, and with the channel's own q."""
    shares = [count / sum(LEVEL_ITEMS) for count in LEVEL_ITEMS]
    ones = [1.0, *(one for _, one in TABLE_2.values())]
    raised = [0.0, *(1 - zero for zero, _ in TABLE_2.values())]
    means = {
        "aprr": sum(share * (1 + p - q) / 2 for share, p, q in zip(shares, ones, raised, strict=True)),
        "gr_ppfm": sum(share * p for share, p in zip(shares, GROUP_PROBABILITIES, strict=True)),
    }
    found: dict[str, dict[str, Any]] = {}
    for method, kept in (("aprr", ones), ("gr_ppfm", GROUP_PROBABILITIES)):
        found[method] = {
            "printed": aprr.Privacy(*TABLE_3[method])._asdict(),
            "computed": aprr.privacy_measures(kept, shares, PRINTED_SUPPORT, ONE_PROBABILITY)._asdict(),
            "mean_probability": means[method],
            "overall_at_mean": aprr.privacy(means[method], PRINTED_SUPPORT),
        }
    own = aprr.privacy_measures(ones, shares, PRINTED_SUPPORT, ONE_PROBABILITY, raised)
    found["aprr"]["with_own_q"] = own._asdict()
    found["mask"] = {"computed": {"overall": aprr.privacy(ONE_PROBABILITY, PRINTED_SUPPORT)}}
    return found
