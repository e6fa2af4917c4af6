"""Channels with a budget per value, small enough to be enumerated."""

from __future__ import annotations

import math

from pldp.mechanisms import (
    CategoricalChannel,
    ItemResponse,
    ItemSubset,
    ItemUnaryEncoding,
    ValueResponse,
    WeightedResponse,
)

MIXED = (100_000, 500_000, 1_000_000, 1_000_000, 3_000_000)
OPEN = (100_000, 500_000, 1_000_000, math.inf, math.inf)

CHANNELS: dict[str, CategoricalChannel] = {
    "iprr": ItemResponse.of(MIXED),
    "iprr with open values": ItemResponse.of(OPEN),
    "urr": ItemResponse.utility_optimised(4, {1, 2}, 700_000),
    "mangat": ItemResponse.of((500_000, math.inf, math.inf)),
    "subset of one tier": ItemSubset.of_tiers([(500_000, 2)] * 5),
    "subsets of two tiers": ItemSubset.of_tiers([(500_000, 2), (1_000_000, 3)] * 3 + [(1_000_000, 3)] * 2),
    "subsets, single values and open ones": ItemSubset.of_tiers(
        [(math.inf, 1), *[(300_000, 2)] * 4, (2_000_000, 1), (math.inf, 1)]
    ),
    "idue opt0": ItemUnaryEncoding.of(MIXED, "opt0"),
    "idue opt1": ItemUnaryEncoding.of(MIXED, "opt1"),
    "idue opt2": ItemUnaryEncoding.of(MIXED, "opt2"),
    "aprr": ValueResponse.of(MIXED),
    "aprr with open values": ValueResponse.of(OPEN),
    "aprr with one open value": ValueResponse.of((500_000, 1_000_000, math.inf)),
    "prr": WeightedResponse.of_sensitivities(1_000_000, (1.0, 2.5, 0.3, 4.0)),
}
"""Every form, and every way of being infinite."""
