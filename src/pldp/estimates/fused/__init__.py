"""Estimates from the reports of several services about the same people, joined by a key."""
