"""Frequent sets of items: FIMI retail, unperturbed beside a library and perturbed against fixed limits.

`rows(context)` yields the rows of the table "items" that are about sets. Without retail in the folder PLDP_DATA,
baskets of the same size are simulated, and the rows say so.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from efficient_apriori import itemsets_from_transactions

from benchmarks.measure import Clock, Context, Row, cost_text, memory_text, serve
from pldp.estimates import Rates, itemsets
from pldp.mechanisms import ItemSet
from pldp.simulate import pack_baskets, perturb_item_sets

MODULE = "benchmarks.itemsets"
SEED = 1
ITEMS = 1000
LARGEST = 3
SEARCH = {"largest": LARGEST, "target": "respondents"}
MIN_SUPPORT = 0.01
PEOPLE = 88_162


def baskets() -> tuple[list[tuple[str, ...]], list[str], str]:
    """The baskets with their most frequent items only, the items, and where they come from."""
    path = Path(os.environ.get("PLDP_DATA") or "missing", "fimi_retail.parquet")
    if path.is_file():
        full, origin = pq.read_table(path)["items"].to_pylist(), "FIMI retail"
    else:
        generator = np.random.default_rng(SEED)
        likes = 1 / np.arange(1.0, 2 * ITEMS + 1)
        drawn = generator.choice(2 * ITEMS, (PEOPLE, 10), p=likes / likes.sum())
        full, origin = drawn.tolist(), "simulated baskets"
    numbers, counts = np.unique(np.concatenate([np.unique(own) for own in full]), return_counts=True)
    names = {int(number): str(number) for number in numbers[np.argsort(-counts, kind="stable")[:ITEMS]]}
    kept = [tuple(names[item] for item in dict.fromkeys(own) if item in names) for own in full]
    return kept, list(names.values()), origin


def mine(repeats: int) -> dict[str, Any]:
    """Mine unperturbed baskets, packing included."""
    found, items, origin = baskets()
    channel = ItemSet.of([math.inf] * ITEMS)
    clock = Clock()
    result = clock.time(
        lambda: itemsets([(channel, pack_baskets(found, items))], items, MIN_SUPPORT, **SEARCH),
        repeats=repeats,
    )
    return clock.result(len(found), sets=len(result), origin=origin)


def library(repeats: int) -> dict[str, Any]:
    """The same with efficient-apriori."""
    found, _, origin = baskets()
    clock = Clock()
    result, _ = clock.time(lambda: itemsets_from_transactions(found, MIN_SUPPORT, max_length=LARGEST), repeats=repeats)
    return clock.result(len(found), sets=sum(map(len, result.values())), origin=origin)


def mine_perturbed(micro_epsilon: int, control: str, repeats: int) -> dict[str, Any]:
    """Mine perturbed reports; what was reported is compared with what is truly frequent."""
    found, items, origin = baskets()
    rows = pack_baskets(found, items)
    truth = set(itemsets([(ItemSet.of([math.inf] * ITEMS), rows)], items, MIN_SUPPORT, **SEARCH).sets)
    channel = ItemSet.of([micro_epsilon] * ITEMS)
    reports = perturb_item_sets(channel, rows, np.random.default_rng(SEED))
    clock = Clock()
    result = clock.time(
        lambda: itemsets(
            [(channel, reports)],
            items,
            MIN_SUPPORT,
            largest=LARGEST,
            target="respondents",
            rates=Rates(control=control),
        ),
        repeats=repeats,
    )
    false = len(set(result.sets) - truth)
    counts = {str(size): count for size, count in result.examined.items()}
    return clock.result(len(rows), sets=len(result), true=len(truth), false=false, examined=counts, origin=origin)


def draw(items: int, count: int, repeats: int) -> dict[str, Any]:
    """One set after another on a device."""
    channel = ItemSet.of([1_000_000 + place for place in range(items)])
    value = int.from_bytes(os.urandom(-(-items // 8)), "little") % (1 << items)
    channel.draw(value, os.urandom)
    clock = Clock()
    clock.time(lambda: [channel.draw(value, os.urandom) for _ in range(count)], repeats=repeats)
    return clock.result(count)


def rows(context: Context) -> Iterator[Row]:
    """Yield the rows about sets of items."""
    ours = context.ours(MODULE, "mine", repeats=3)
    theirs = context.ours(MODULE, "library", repeats=3)
    if ours["sets"] != theirs["sets"]:
        raise ValueError(f"ours {ours['sets']} and theirs {theirs['sets']} must be the same sets")
    ratio = min(theirs["seconds"]) / min(ours["seconds"])
    yield Row(
        what=f"{ours['origin']}, {ours['count']:,} baskets, {ITEMS} items, 1 %, ≤ {LARGEST} items, unperturbed",
        ours=f"{min(ours['seconds']):.2f} s, {ours['sets']} sets",
        peer=f"efficient-apriori {min(theirs['seconds']):.2f} s, the same sets",
        ratio=ratio,
        target="at least a third of its speed",
        met=ratio >= 1 / 3,
        memory=memory_text(ours["peak_bytes"]),
        raw={"ours": ours, "peer": theirs},
    )
    for micro, control in ((2_000_000, "any"), (1_000_000, "each")):
        found = context.ours(MODULE, "mine_perturbed", micro_epsilon=micro, control=control, repeats=1)
        seconds = min(found["seconds"])
        yield Row(
            what=f"the same perturbed, ε = {micro / 1e6:g} per item, false reports: {control} ≤ 5 %",
            ours=f"{seconds:.2f} s, {found['sets']} of {found['true']} sets, {found['false']} false",
            target="≤ 120 s and ≤ 4 GB",
            met=seconds <= 120 and found["peak_bytes"] <= 4e9,
            memory=memory_text(found["peak_bytes"]),
            raw=found,
        )
    device = context.ours(MODULE, "draw", items=ITEMS, count=2000, repeats=3)
    yield Row(what=f"one report of {ITEMS} items on a device", ours=cost_text(device, "report"), raw=device)


if __name__ == "__main__":
    serve({"mine": mine, "library": library, "mine_perturbed": mine_perturbed, "draw": draw})
