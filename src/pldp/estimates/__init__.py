"""From tallies to shares with errors: inversion, pooling, likelihood, consistency."""

from pldp.estimates.consistency import base_cut, norm_cut, norm_sub
from pldp.estimates.estimate import Estimate, GroupShares, Homogeneity, Interval, LevelShare
from pldp.estimates.frequencies import frequencies
from pldp.estimates.groups import Group, group
from pldp.estimates.likelihood import Fit, maximum_likelihood
from pldp.estimates.personal import personal_frequencies
from pldp.estimates.shrinkage import shrink

__all__ = [
    "Estimate",
    "Fit",
    "Group",
    "GroupShares",
    "Homogeneity",
    "Interval",
    "LevelShare",
    "base_cut",
    "frequencies",
    "group",
    "maximum_likelihood",
    "norm_cut",
    "norm_sub",
    "personal_frequencies",
    "shrink",
]
