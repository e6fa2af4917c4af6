"""From tallies to results with errors: one verb, `estimate`, and the verbs of each kind below it."""

from pldp.estimates.change_test import ChangeTest
from pldp.estimates.combining import Combined, combine
from pldp.estimates.consistency import base_cut, norm_cut, norm_sub, with_margins
from pldp.estimates.cross import cross, three_way, two_way
from pldp.estimates.decoder import Decoder
from pldp.estimates.forgery import Forgery, ForgeryTest, forgery_of
from pldp.estimates.fused.verb import estimate_fused, fused_applies
from pldp.estimates.groups import Group, group
from pldp.estimates.kinds.choices import Sets
from pldp.estimates.kinds.number import QUANTILES, MeanResult, NumberResult
from pldp.estimates.margins import check_known, correct_shares
from pldp.estimates.numbers.density import Density, density
from pldp.estimates.numbers.fusion import FusedLikelihood, centres, em, likelihood_fit
from pldp.estimates.numbers.hidden_means import expected_mean_variance
from pldp.estimates.numbers.means import Mean, mean, mean_bound, posterior_weights
from pldp.estimates.options import Options
from pldp.estimates.result import GroupReports, Homogeneity, Interval, LevelShare, Note, Result, Row
from pldp.estimates.results import Results
from pldp.estimates.rounds import Change, change
from pldp.estimates.sets.hidden import HiddenBaskets, hidden_item_variance
from pldp.estimates.sets.itemsets import PLAIN_RATES, Itemsets, Rates, Rule, itemsets
from pldp.estimates.sets.supports import Baskets, SetSupports, baskets_of, supports
from pldp.estimates.shares.frequencies import frequencies
from pldp.estimates.shares.hidden import HiddenReports, moments
from pldp.estimates.shares.joint import expected_covariance, joint_likelihood
from pldp.estimates.shares.personal import personal_frequencies
from pldp.estimates.shares.pooling import pooled_shares, precision_weights, size_weights
from pldp.estimates.shares.shares import GroupShares, Shares
from pldp.estimates.shares.shrinkage import shrink
from pldp.estimates.solver.likelihood import Fit, maximum_likelihood
from pldp.estimates.tables import Association, Margin, Table
from pldp.estimates.trends import Trend, trend
from pldp.estimates.verb import applies, estimate

__all__ = [
    "PLAIN_RATES", "QUANTILES", "Association", "Baskets", "Change", "ChangeTest", "Combined", "Decoder", "Density",
    "Fit", "Forgery", "ForgeryTest", "FusedLikelihood", "Group", "GroupReports", "GroupShares", "HiddenBaskets",
    "HiddenReports", "Homogeneity", "Interval", "Itemsets", "LevelShare", "Margin", "Mean", "MeanResult", "Note",
    "NumberResult", "Options", "Rates", "Result", "Results", "Row", "Rule", "SetSupports", "Sets", "Shares", "Table",
    "Trend", "applies", "base_cut", "baskets_of", "centres", "change", "check_known", "combine", "correct_shares",
    "cross", "density", "em", "estimate", "estimate_fused", "expected_covariance", "expected_mean_variance",
    "forgery_of", "frequencies", "fused_applies", "group", "hidden_item_variance", "itemsets", "joint_likelihood",
    "likelihood_fit", "maximum_likelihood", "mean", "mean_bound", "moments", "norm_cut", "norm_sub",
    "personal_frequencies", "pooled_shares", "posterior_weights", "precision_weights", "shrink", "size_weights",
    "supports", "three_way", "trend", "two_way", "with_margins",
]  # fmt: skip
