"""Estimates that are linear in reports: one engine for every kind of question, whether levels show or are hidden.

A report shows s (its level, or a label of it) and, of a target i, one of a few patterns c: whether it supports a label,
which of some items it has, which number came out. Read in this order:

- `patterns`: how likely people of every level and state show each pattern, and what a pattern counts for a state
- `mix`: what reports show of levels, and what is known of how many people chose each
- `evidence`: counts of patterns by what reports show, with what undoes the labels of hidden levels
- `known`: functionals of reports whose mean is known: shares that sum to 1, a given mix of levels
- `pooling`: `decode`, from evidence to `Linear`: estimates, and ψ, what one report adds to their error
- `homogeneity`: the one test whether people of different levels are alike, with what it would have noticed
- `labels`: reports of one label, covariances across labels, and their test
- `numbers`: reports of a number as evidence of its mean and moments, and their test
- `small_counts`: intervals where few reports support a number, from the law of one report

Nothing behind `Evidence` asks whether levels were hidden.
"""
