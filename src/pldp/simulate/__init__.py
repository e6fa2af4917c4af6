"""Whole populations, vectorised and seeded. For research, tests and demonstrations; never used on a device."""

from pldp.simulate.counting import perturb_counts
from pldp.simulate.item_sets import pack_baskets, perturb_item_sets
from pldp.simulate.population import Population, simulate_reports
from pldp.simulate.sampling import perturb, perturb_personal

__all__ = [
    "Population",
    "pack_baskets",
    "perturb",
    "perturb_counts",
    "perturb_item_sets",
    "perturb_personal",
    "simulate_reports",
]
