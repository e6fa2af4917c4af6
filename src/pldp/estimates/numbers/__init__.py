"""Means, quantiles and densities of numbers."""
