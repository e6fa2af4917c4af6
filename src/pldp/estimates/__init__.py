"""From tallies to results with errors: one verb, `estimate`, and the verbs of each kind below it."""

from pldp.estimates.combining import Combined, combine
from pldp.estimates.fused.numbers import density, mean, posterior_weights
from pldp.estimates.fused.verb import estimate_fused, fused_applies
from pldp.estimates.kinds.association import Association
from pldp.estimates.kinds.choice import GroupShares, Shares, frequencies
from pldp.estimates.kinds.choices import Sets
from pldp.estimates.kinds.item_sets import Baskets, HiddenBaskets
from pldp.estimates.kinds.item_supports import (
    PLAIN_RATES,
    Itemsets,
    Rates,
    Rule,
    SetSupports,
    baskets_of,
    hidden_item_variance,
    itemsets,
    supports,
)
from pldp.estimates.kinds.number import share_between
from pldp.estimates.kinds.number_result import QUANTILES, Mean, MeanResult, NumberResult
from pldp.estimates.kinds.sides import Margin
from pldp.estimates.kinds.table import Table, cross, three_way, two_way
from pldp.estimates.likelihood.density import Density
from pldp.estimates.likelihood.groups import Group, group, pooled_shares, precision_weights, size_weights
from pldp.estimates.likelihood.hidden import HiddenReports, moments
from pldp.estimates.likelihood.labels import expected_covariance, joint_likelihood, maximum_likelihood
from pldp.estimates.likelihood.solver import Fit
from pldp.estimates.likelihood.tuples import FusedLikelihood, em, likelihood_fit
from pldp.estimates.linear.labels import expected_reports
from pldp.estimates.linear.numbers import centres, expected_mean_variance
from pldp.estimates.margins import check_known, correct_shares
from pldp.estimates.results.consistency import base_cut, norm_cut, norm_sub, with_margins
from pldp.estimates.results.facts import GroupReports, Homogeneity, LevelShare, Note
from pldp.estimates.results.intervals import Interval, Row
from pldp.estimates.results.options import Options
from pldp.estimates.results.result import Result, Results
from pldp.estimates.rounds import Change, ChangeTest, change
from pldp.estimates.trends import Trend, trend
from pldp.estimates.verb import applies, estimate
from pldp.forgery import Forgery, ForgeryTest, forgery_of

__all__ = [
    "PLAIN_RATES", "QUANTILES", "Association", "Baskets", "Change", "ChangeTest", "Combined", "Density",
    "Fit", "Forgery", "ForgeryTest", "FusedLikelihood", "Group", "GroupReports", "GroupShares", "HiddenBaskets",
    "HiddenReports", "Homogeneity", "Interval", "Itemsets", "LevelShare", "Margin", "Mean", "MeanResult", "Note",
    "NumberResult", "Options", "Rates", "Result", "Results", "Row", "Rule", "SetSupports", "Sets", "Shares", "Table",
    "Trend", "applies", "base_cut", "baskets_of", "centres", "change", "check_known", "combine", "correct_shares",
    "cross", "density", "em", "estimate", "estimate_fused", "expected_covariance", "expected_mean_variance",
    "expected_reports", "forgery_of", "frequencies", "fused_applies", "group", "hidden_item_variance", "itemsets",
    "joint_likelihood", "likelihood_fit", "maximum_likelihood", "mean", "moments", "norm_cut", "norm_sub",
    "pooled_shares", "posterior_weights", "precision_weights", "share_between",
    "size_weights", "supports", "three_way", "trend", "two_way", "with_margins",
]  # fmt: skip
