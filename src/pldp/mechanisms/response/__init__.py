"""Randomized response: the truth, or another value."""
