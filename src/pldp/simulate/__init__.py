"""Whole populations, vectorised and seeded. For research, tests and demonstrations; never used on a device."""

from pldp.simulate.item_sets import pack_baskets, perturb_item_sets
from pldp.simulate.numbers import perturb_continuously, perturb_numbers, to_buckets
from pldp.simulate.partitions import Partitions
from pldp.simulate.population import Population, simulate, simulate_reports, truth_mapping
from pldp.simulate.sampling import perturb, perturb_counts, perturb_personal

__all__ = [
    "Partitions",
    "Population",
    "pack_baskets",
    "perturb",
    "perturb_continuously",
    "perturb_counts",
    "perturb_item_sets",
    "perturb_numbers",
    "perturb_personal",
    "simulate",
    "simulate_reports",
    "to_buckets",
    "truth_mapping",
]
