"""Whole populations, vectorised and seeded. For research, tests and demonstrations; never used on a device."""

from pldp.simulate.counting import perturb_counts
from pldp.simulate.population import Population, simulate_reports
from pldp.simulate.sampling import perturb, perturb_personal

__all__ = ["Population", "perturb", "perturb_counts", "perturb_personal", "simulate_reports"]
