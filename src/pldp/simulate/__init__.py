"""Whole populations, vectorised and seeded. For research, tests and demonstrations; never used on a device."""

from pldp.simulate.population import Partitions, Population, simulate, simulate_reports, truth_mapping
from pldp.simulate.rounds import CHANGE, Round, simulate_rounds
from pldp.simulate.sampling import (
    pack_baskets,
    perturb,
    perturb_continuously,
    perturb_counts,
    perturb_item_sets,
    perturb_numbers,
    perturb_personal,
    to_buckets,
)

__all__ = [
    "CHANGE",
    "Partitions",
    "Population",
    "Round",
    "pack_baskets",
    "perturb",
    "perturb_continuously",
    "perturb_counts",
    "perturb_item_sets",
    "perturb_numbers",
    "perturb_personal",
    "simulate",
    "simulate_reports",
    "simulate_rounds",
    "to_buckets",
    "truth_mapping",
]
