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
    expected_items,
    itemsets,
    supports,
)
from pldp.estimates.kinds.number import share_between
from pldp.estimates.kinds.number_result import QUANTILES, Mean, MeanResult, NumberResult
from pldp.estimates.kinds.sides import Margin
from pldp.estimates.kinds.table import Table, cross, three_way, two_way
from pldp.estimates.likelihood.density import Density
from pldp.estimates.likelihood.mixture import ShareLikelihood, fused_likelihood
from pldp.estimates.likelihood.solver import Fit, LabelFit, em, fit_labels, maximise
from pldp.estimates.linear.labels import LabelReports, expected_reports
from pldp.estimates.linear.mix import LevelMix, MixBounds
from pldp.estimates.linear.numbers import centres, expected_mean
from pldp.estimates.linear.pooling import Linear, biased_reach, bounded_weights
from pldp.estimates.margins import check_known, correct_shares
from pldp.estimates.results.consistency import base_cut, norm_cut, norm_sub, with_margins
from pldp.estimates.results.facts import GroupReports, Homogeneity, LevelShare, Note
from pldp.estimates.results.intervals import Interval, Row
from pldp.estimates.results.options import Options, check_differ
from pldp.estimates.results.result import Result, Results
from pldp.estimates.rounds import Change, ChangeTest, change
from pldp.estimates.trends import Trend, trend
from pldp.estimates.verb import applies, estimate
from pldp.forgery import Forgery, ForgeryTest, forgery_of

__all__ = [
    "PLAIN_RATES", "QUANTILES", "Association", "Baskets", "Change", "ChangeTest", "Combined",
    "Density", "Fit", "Forgery", "ForgeryTest", "GroupReports", "GroupShares", "HiddenBaskets", "Homogeneity",
    "Interval", "Itemsets", "LabelFit", "LabelReports", "LevelMix", "LevelShare", "Linear", "Margin", "Mean",
    "MeanResult", "MixBounds", "Note", "NumberResult", "Options", "Rates", "Result", "Results", "Row", "Rule",
    "SetSupports", "Sets", "ShareLikelihood", "Shares", "Table", "Trend", "applies", "base_cut", "baskets_of",
    "biased_reach", "bounded_weights", "centres", "change", "check_differ", "check_known", "combine",
    "correct_shares", "cross", "density", "em", "estimate", "estimate_fused", "expected_items", "expected_mean",
    "expected_reports", "fit_labels", "forgery_of", "frequencies", "fused_applies", "fused_likelihood", "itemsets",
    "maximise", "mean", "norm_cut", "norm_sub", "posterior_weights", "share_between", "supports", "three_way",
    "trend", "two_way", "with_margins",
]  # fmt: skip
