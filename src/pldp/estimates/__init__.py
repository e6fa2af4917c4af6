"""From tallies to shares with errors: inversion, pooling, likelihood, consistency."""

from pldp.estimates.consistency import base_cut, norm_cut, norm_sub, with_margins
from pldp.estimates.groups import Group, group
from pldp.estimates.numbers.density import Density, density
from pldp.estimates.numbers.fusion import FusedLikelihood, likelihood_fit
from pldp.estimates.numbers.means import Mean, mean, mean_bound
from pldp.estimates.sets.itemsets import PLAIN_RATES, Itemsets, Rates, SetSupports, baskets_of, itemsets, supports
from pldp.estimates.sets.rules import Rule
from pldp.estimates.shares.estimate import Estimate, GroupShares, Homogeneity, Interval, LevelShare
from pldp.estimates.shares.frequencies import frequencies
from pldp.estimates.shares.personal import personal_frequencies
from pldp.estimates.shares.shrinkage import shrink
from pldp.estimates.solver.likelihood import Fit, maximum_likelihood
from pldp.estimates.tables.two_way import TwoWay, two_way

__all__ = [
    "PLAIN_RATES",
    "Density",
    "Estimate",
    "Fit",
    "FusedLikelihood",
    "Group",
    "GroupShares",
    "Homogeneity",
    "Interval",
    "Itemsets",
    "LevelShare",
    "Mean",
    "Rates",
    "Rule",
    "SetSupports",
    "TwoWay",
    "base_cut",
    "baskets_of",
    "density",
    "frequencies",
    "group",
    "itemsets",
    "likelihood_fit",
    "maximum_likelihood",
    "mean",
    "mean_bound",
    "norm_cut",
    "norm_sub",
    "personal_frequencies",
    "shrink",
    "supports",
    "two_way",
    "with_margins",
]
