"""Laplace noise on a grid, cut at the bounds."""
