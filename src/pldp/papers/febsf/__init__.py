"""Hidden budgets.

Wu, Zhu, Zhang, Xie, "Overcoming Challenges in PLDP: A New Paradigm for Protecting Privacy Budgets and Enhancing Data
Utility".
"""

from pldp.papers.febsf.methods import (
    apldp,
    apldp_channel,
    auem,
    auem_projected,
    emoa,
    exact_likelihood,
    joint,
    pbp,
    ppda,
    rcf,
)

__all__ = [
    "apldp",
    "apldp_channel",
    "auem",
    "auem_projected",
    "emoa",
    "exact_likelihood",
    "joint",
    "pbp",
    "ppda",
    "rcf",
]
