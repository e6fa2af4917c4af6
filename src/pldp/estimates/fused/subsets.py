"""People by what they gave: the sources of each tuple of outputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pldp.mechanisms.arrays import FloatArray, IntArray
from pldp.records import Record
from pldp.tallies import ABSENT, Fused


@dataclass(frozen=True, eq=False, repr=False)
class Subsets(Record):
    """Distinct sets of sources that people gave to, with the number of people and the tuples of each.

    People of one subset used the same channels, so a subset is to fused reports what a level is to those of one survey.
    """

    given: npt.NDArray[np.bool_]  #: Subsets × sources.
    people: IntArray
    of_tuple: npt.NDArray[np.intp]

    @classmethod
    def of(cls, fused: Fused) -> Subsets:
        """Group the tuples of a fused tally."""
        packed = np.packbits(fused.cells != ABSENT, axis=1)
        found, of_tuple = np.unique(packed, axis=0, return_inverse=True)
        of_tuple = of_tuple.ravel()
        given = np.unpackbits(found, axis=1, count=len(fused.sources)).astype(bool)
        people = np.bincount(of_tuple, weights=fused.counts, minlength=len(found)).astype(np.int64)
        return cls(given, people, of_tuple)

    def counts(self, fused: Fused, source: int) -> FloatArray:
        """Return how often each cell of a source came, subset by subset: subsets × cells."""
        cells, count = fused.cells[:, source], fused.sources[source].count
        here = cells != ABSENT
        code = self.of_tuple[here] * count + cells[here]
        found = np.bincount(code, weights=fused.counts[here], minlength=len(self.people) * count)
        return np.asarray(found.reshape(len(self.people), count))
