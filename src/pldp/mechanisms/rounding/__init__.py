"""Stochastic rounding: one of two outputs."""
