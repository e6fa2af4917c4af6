"""Fits to all reports: shares and a mix of levels by likelihood, curves of numbers, and what holds without curves.

They take the same counts as `pldp.estimates.linear`, where a linear estimate is not enough. Read in this order:

- `rows`: how likely reports are for people of every level and value: products with L, which is never built
- `mixture`: the likelihood of shares and mixes together, and that of shares alone at the best mix
- `solver`: the climb with a certified gap, and fits of labels, also of several services
- `log_density`: one curve of a number, its smoothness and roughness by marginal likelihood
- `density`: the choice among curves, with bands, quantiles and errors
- `misfit`: X² of histograms without any smoothness, and the best one with a given share
- `profile`: intervals of shares and quantiles from it
"""
