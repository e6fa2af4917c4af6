"""Frequent sets of items under APRR, GR-PPFM and MASK: Tables 2 and 3 and Figure 3.

Setting of the paper: 940 baskets of 11 items (Basket), five levels by falling support with shares 4, 2, 2, 2, 1 of the
items. Not printed: the total ε (9 gives Table 2), the shares of GR-PPFM's groups (30, 20, 20, 20 and 10 % give both the
printed mean probability and the printed avgPrivacy), and the least supports of Figure 3. Basket is read from the folder
named by PLDP_DATA; it has no licence and does not ship, and without it Figure 3 is not made.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
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
GROUP_SHARES: Final = (0.3, 0.2, 0.2, 0.2, 0.1)
ONE_PROBABILITY: Final = 0.84
SUPPORTS: Final = (0.05, 0.08, 0.1, 0.15, 0.2, 0.25, 0.3)
RUNS: Final = 200
QUICK_RUNS: Final = 50
PRINTED_SUPPORT: Final = 0.2708
TABLE_2: Final = {1: (0.92, 0.77), 2: (0.86, 0.71), 3: (0.77, 0.65), 4: (0.65, 0.57)}
TABLE_3: Final = {"aprr": (0.0, 0.718, 0.402, 0.434), "gr_ppfm": (0.0, 0.706, 0.359, 0.434), "mask": (0.434,)}
"""As printed: probabilities to keep a "0" and a "1"; minPrivacy, maxPrivacy, avgPrivacy and overallPrivacy."""

METHODS: Final = ("aprr", "aprr_safe", "gr_ppfm", "mask", "zeros_only", "ones_only")
"""The last two are APRR that perturbs only the items that were not bought, or only those that were."""

LARGEST: Final = (1, 3)
"""Sets of up to so many items: the paper rebuilds supports of single items and speaks of frequent item sets."""

Rows = npt.NDArray[np.uint8]


def run(*, quick: bool, seed: int, progress: Progress | None) -> dict[str, Any]:
    """Run all methods on the same baskets."""
    runs = QUICK_RUNS if quick else RUNS
    found = {"runs": runs, "rows": [], "averages": [], "basket": None, "table_2": table_2(), "table_3": table_3()}
    path = data_file("basket.parquet")
    if path is None:
        return found
    items, baskets = read_baskets(path)
    exact: Baskets = [(ItemSet.of([math.inf] * sum(LEVEL_ITEMS)), baskets)]
    cells = list(product(LARGEST, SUPPORTS))
    truths = {(largest, least): aprr.frequent_sets(exact, items, least, largest=largest) for largest, least in cells}
    errors: dict[tuple[int, float, str], list[aprr.IdentityError]] = defaultdict(list)
    for number in track(range(runs), runs, progress):
        generator = np.random.default_rng([seed, number])
        for method in METHODS:
            groups = perturb_baskets(method, baskets, generator)
            for (largest, least), truth in truths.items():
                mined = aprr.frequent_sets(groups, items, least, largest=largest)
                errors[largest, least, method].append(aprr.identity_error(truth, mined))
    bits = np.unpackbits(baskets, axis=1, bitorder="little")[:, : len(items)]
    return found | {
        "basket": {"baskets": len(bits), "items": items, "length": float(bits.sum(axis=1).mean())}
        | {"support": float(bits.mean())},
        "rows": [_row(*key, len(truths[key[:2]]), each) for key, each in sorted(errors.items())],
        "averages": [_average(largest, method, errors) for largest, method in product(LARGEST, METHODS)],
    }


def read_baskets(path: Path) -> tuple[list[str], Rows]:
    """Return item names by falling support, and packed baskets."""
    table = pq.read_table(path)
    names = [field.name for field in table.schema if str(field.type) == "bool"]
    bits = np.stack([table[name].to_numpy() for name in names], axis=1)
    order = np.argsort(-bits.mean(axis=0), kind="stable")
    return [names[place] for place in order], np.packbits(bits[:, order], axis=1, bitorder="little")


def perturb_baskets(method: str, baskets: Rows, generator: np.random.Generator) -> Baskets:
    """Let everybody report with one of the methods; return the channels and their reports."""
    size = sum(LEVEL_ITEMS)
    if method == "gr_ppfm":
        ends = np.round(np.cumsum(GROUP_SHARES) * len(baskets))
        group = generator.permutation(np.searchsorted(ends, np.arange(len(baskets)), side="right"))
        return [
            (channel, perturb_item_sets(channel, baskets[group == place], generator))
            for place, channel in enumerate(aprr.gr_ppfm(size, GROUP_PROBABILITIES))
        ]
    whole = aprr.aprr(ITEM_LEVELS, TOTAL_EPSILON)
    channel = {
        "zeros_only": lambda: ItemSet(size, (TOTAL,) * size, whole.raised),
        "ones_only": lambda: ItemSet(size, whole.kept, (0,) * size),
        "aprr": lambda: aprr.aprr(ITEM_LEVELS, TOTAL_EPSILON),
        "aprr_safe": lambda: aprr.aprr_safe(ITEM_LEVELS, TOTAL_EPSILON),
        "mask": lambda: aprr.mask(size, ONE_PROBABILITY),
    }[method]()
    return [(channel, perturb_item_sets(channel, baskets, generator))]


def _row(
    largest: int, least: float, method: str, frequent: int, errors: Sequence[aprr.IdentityError]
) -> dict[str, Any]:
    minus, plus = np.array(errors).T
    rates = mean_and_error("theta_minus", minus) | mean_and_error("theta_plus", plus)
    rates |= mean_and_error("theta", minus + plus)
    return {
        "largest": largest,
        "min_support": least,
        "method": method,
        "frequent": frequent,
        "runs": len(errors),
        **rates,
    }


def _average(
    largest: int, method: str, errors: Mapping[tuple[int, float, str], Sequence[aprr.IdentityError]]
) -> dict[str, Any]:
    """Return the rates averaged over the least supports, run by run: one run's rates come from the same reports."""
    minus, plus = np.mean([np.array(errors[largest, least, method]) for least in SUPPORTS], axis=0).T
    rates = mean_and_error("theta_minus", minus) | mean_and_error("theta_plus", plus)
    return {"largest": largest, "method": method, "runs": len(minus), **rates, **mean_and_error("theta", minus + plus)}


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
        "gr_ppfm": sum(share * p for share, p in zip(GROUP_SHARES, GROUP_PROBABILITIES, strict=True)),
    }
    found: dict[str, dict[str, Any]] = {}
    for method, kept, parts in (("aprr", ones, shares), ("gr_ppfm", GROUP_PROBABILITIES, GROUP_SHARES)):
        found[method] = {
            "printed": aprr.Privacy(*TABLE_3[method])._asdict(),
            "computed": aprr.privacy_measures(kept, parts, PRINTED_SUPPORT, ONE_PROBABILITY)._asdict(),
            "mean_probability": means[method],
        }
    own = aprr.privacy_measures(ones, shares, PRINTED_SUPPORT, ONE_PROBABILITY, raised)
    found["aprr"]["with_own_q"] = own._asdict()
    found["mask"] = {
        "printed": {"overall": TABLE_3["mask"][0]},
        "computed": {"overall": aprr.privacy(ONE_PROBABILITY, PRINTED_SUPPORT)},
        "mean_probability": ONE_PROBABILITY,
    }
    for method, rows in qualities().items():
        found[method]["qualities"] = rows
    return found


def qualities() -> dict[str, dict[str, Any]]:
    """What the channels of the three methods are, for the rows of Table 3 without numbers.

    `epsilon` is the plain ε of one report of all items, infinite where an item is open; `rebuild` is what the collector
    must know to rebuild supports.
    """
    size = sum(LEVEL_ITEMS)
    channels = {
        "aprr": [aprr.aprr(ITEM_LEVELS, TOTAL_EPSILON)],
        "gr_ppfm": aprr.gr_ppfm(size, GROUP_PROBABILITIES),
        "mask": [aprr.mask(size, ONE_PROBABILITY)],
    }
    rebuild = {
        "aprr": "D, ε, and the level of every item",
        "gr_ppfm": "D, and p of every group with its share; to pool by group, who is in which",
        "mask": "D, p",
    }
    return {
        method: {
            "attributes": any(len(set(channel.kept)) > 1 for channel in each),
            "values": any(
                kept != TOTAL - raised
                for channel in each
                for kept, raised in zip(channel.kept, channel.raised, strict=True)
            ),
            "epsilon": epsilon_text(max(channel.micro_epsilon for channel in each)),
            "item_epsilon": epsilon_text(
                max(max(channel.item_micro_epsilon(item)) for channel in each for item in range(size))
            ),
            "rebuild": rebuild[method],
        }
        for method, each in channels.items()
    }
