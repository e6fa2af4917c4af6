"""Answers that are asked again and again: a permanent draw per value, and a fresh draw over it in every report."""
