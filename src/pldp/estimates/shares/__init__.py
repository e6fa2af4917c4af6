"""Shares of the values of a choice."""
