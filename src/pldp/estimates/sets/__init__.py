"""Shares of items and of sets of items."""
