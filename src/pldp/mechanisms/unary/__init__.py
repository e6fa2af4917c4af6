"""Unary encoding: one bit per value."""
