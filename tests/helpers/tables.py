"""Counts of two questions together, made by hand."""

import numpy as np

from pldp.tallies import TableCounts


def pair_counts(reports: int, first: np.ndarray, second: np.ndarray, both: np.ndarray) -> TableCounts:
    """Return the counts of so many reports: supports of both questions, and of each alone."""
    return TableCounts(np.block([[both, np.reshape(first, (-1, 1))], [np.reshape(second, (1, -1)), reports]]))
