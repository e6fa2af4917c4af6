"""The piecewise mechanism or stochastic rounding, by a coin."""
