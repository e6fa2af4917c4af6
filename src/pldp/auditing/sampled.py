"""A lower bound on ε from samples of any mechanism: what it gives out more often from one value than from another.

For an event E and two values, ε ≥ ln Pr(E | one) − ln Pr(E | two). The samples of each value are parted: a quarter
learns how telling each column of the observations is, a quarter chooses two values and an event, and the other half
tests that one event, with an exact (Clopper–Pearson) bound on each side. The tested half chose nothing, so there is
one test and no correction for the many events that were looked at: a mechanism that keeps ε is refuted with probability
at most 1 − confidence.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv

from pldp.auditing.columns import Columns
from pldp.errors import AuditError
from pldp.records import Brief

CONFIDENCE: Final = 1 - 1e-6  # a mechanism that keeps its promise is refuted once in a million times at most
POWER: Final = 0.9  # probability with which the smallest detectable ε would be refuted
LEAST_SAMPLES: Final = 100  # per value; below that nothing can be said
_LARGEST: Final = 50.0
_RANKED: Final = 20_000
_PAIRED: Final = 5
_NAMED: Final = 3
_SUMMED: Final = 24
_MOST_CELLS: Final = 1 << 16

Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class Bound(Brief):
    """What samples say about ε: it is at least `epsilon`, at the confidence.

    The event (which columns it looks at) is more likely from value number `one` of those that were audited than from
    `two`: it was `seen` so often from each, in so many `samples` of each in the tested half. `claimed` is ε between the
    two, `detectable` the smallest that would have been refuted with probability 0.9 by an event as frequent as this.
    """

    epsilon: float
    one: int
    two: int
    event: str
    seen: tuple[int, int]
    samples: int
    confidence: float
    claimed: float
    detectable: float

    @property
    def refutes(self) -> bool:
        """Whether the claim is refuted."""
        return self.epsilon > self.claimed

    @property
    def conclusive(self) -> bool:
        """Whether a mechanism that tells twice what is claimed, or 1 more, would have been refuted."""
        return self.refutes or self.detectable <= max(2 * self.claimed, self.claimed + 1)

    def __str__(self) -> str:
        often, seldom = self.seen
        words = "never" if seldom == 0 else f"{seldom:,} times"
        return (
            f"{self.event}: seen {often:,} times from value number {self.one} and {words} from number {self.two} "
            f"in {self.samples:,} each, so ε ≥ {self.epsilon:.4g}"
        )


class _Look(NamedTuple):
    """Something that scores an observation: a sum of tables over (joined) columns of these sizes."""

    columns: tuple[tuple[int, ...], ...]
    tables: tuple[Floats, ...]
    sizes: tuple[tuple[int, ...], ...]


def lower_bound(
    columns: Columns, samples: int, values: int, claims: npt.ArrayLike, *, confidence: float = CONFIDENCE
) -> Bound:
    """Return the bound for the event that the first half of the samples chooses.

    `columns` hold the observations of all values, one value after the other, `samples` each, in the order in which they
    were made; `claims` are ε between any two values: a number, or a matrix of values × values, infinite where none is.

    >>> from pldp.auditing.columns import columns_of_arrays
    >>> from pldp.mechanisms import build
    >>> from pldp.simulate import perturb
    >>> generator, response = np.random.default_rng(1), build("krr", 2, 1_000_000)
    >>> sides = [perturb(response, np.full(100_000, value), generator) for value in (0, 1)]
    >>> found = lower_bound(columns_of_arrays(sides), 100_000, 2, 1.0)
    >>> 0.9 < found.epsilon <= 1, found.refutes
    (True, False)
    """
    if samples < LEAST_SAMPLES:
        raise AuditError(f"samples must be at least {LEAST_SAMPLES} of each value to conclude anything, not {samples}")
    matrix = np.broadcast_to(np.asarray(claims, np.float64), (values, values))
    quarter, half = samples // 4, samples // 2
    parts = (slice(0, quarter), slice(quarter, half), slice(half, samples))
    sides = [tuple(slice(v * samples + p.start, v * samples + p.stop) for p in parts) for v in range(values)]
    best: tuple[float, int, int, _Look, float] | None = None
    for one, two in combinations(range(values), 2):
        if not np.isfinite(matrix[one, two]) and not np.isfinite(matrix[two, one]):
            continue
        for look in _looks(columns, sides[one][0], sides[two][0]):
            scores = [_scores(columns, look, sides[side][1]) for side in (one, two)]
            for sign, (first, second) in ((1, (one, two)), (-1, (two, one))):
                if np.isfinite(matrix[first, second]):
                    own, other = scores[::sign]
                    gain, threshold = _threshold(sign * own, sign * other, confidence)
                    gain -= matrix[first, second]
                    if best is None or gain > best[0]:
                        tables = tuple(sign * table for table in look.tables)
                        best = gain, first, second, look._replace(tables=tables), threshold
    if best is None:
        raise AuditError("there are no two values between which something is claimed")
    _, first, second, look, threshold = best
    often, seldom = (int((_scores(columns, look, sides[side][2]) >= threshold).sum()) for side in (first, second))
    tested = samples - half
    names = [" and ".join(columns.names[column] for column in joined) for joined in look.columns]
    event = names[0] if len(names) == 1 else f"{', '.join(names[:_NAMED])} and {len(names)} parts in all, weighed"
    epsilon, claim = ratio_bound(often, seldom, tested, confidence), float(matrix[first, second])
    detectable = smallest_detectable((often + 0.5) / (tested + 1), tested, claim, confidence)
    return Bound(epsilon, first, second, event, (often, seldom), tested, confidence, claim, detectable)


def ratio_bound(often: int, seldom: int, samples: int, confidence: float) -> float:
    """Return the lower bound of ln Pr(E|one) − ln Pr(E|two), each side at half of the error (Clopper–Pearson).

    >>> round(ratio_bound(7311, 2689, 10_000, 0.95), 3)
    0.956
    """
    error = (1 - confidence) / 2
    least = betaincinv(often, samples - often + 1, error) if often else 0.0
    most = betaincinv(seldom + 1, samples - seldom, 1 - error) if seldom < samples else 1.0
    return max(0.0, math.log(least / most)) if least > 0 else 0.0


def smallest_detectable(share: float, samples: int, claimed: float, confidence: float = CONFIDENCE) -> float:
    """Return the smallest ε above a claim that would be refuted with probability 0.9; infinite with too few samples.

    The event is taken to come from one value with this share and from the other e^ε times less often; each count is
    allowed to be as unlucky as one in twenty.

    >>> round(smallest_detectable(0.5, 10_000, 1.0), 2), smallest_detectable(0.5, 50, 1.0)
    (1.22, inf)
    """
    luck = NormalDist().inv_cdf(1 - (1 - POWER) / 2)

    def refuted(epsilon: float) -> bool:
        other = share * math.exp(-epsilon)
        often = samples * share - luck * math.sqrt(samples * share * (1 - share))
        seldom = samples * other + luck * math.sqrt(samples * other * (1 - other))
        return ratio_bound(max(0, int(often)), min(samples, int(seldom)), samples, confidence) > claimed

    low, high = claimed, _LARGEST
    if not refuted(high):
        return math.inf
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (low, middle) if refuted(middle) else (middle, high)
    return high


def _looks(columns: Columns, one: slice, two: slice) -> list[_Look]:
    """The most telling columns one by one, in pairs, and all together with weights."""
    ranked = _ranked(columns, one, two)
    looks = [_joined(columns, ((column,),), one, two) for column in ranked]
    looks += [_joined(columns, (pair,), one, two) for pair in combinations(ranked[:_PAIRED], 2)]
    if len(ranked) > 2:
        looks.append(_joined(columns, tuple((column,) for column in ranked), one, two))
    return [look for look in looks if look is not None]


def _ranked(columns: Columns, one: slice, two: slice) -> list[int]:
    """Columns by how far χ² between the two values is above what chance gives, the most telling first."""
    if len(columns.names) <= 1:
        return [0]
    sides = [slice(side.start, min(side.stop, side.start + _RANKED)) for side in (one, two)]
    scores = []
    for column in range(len(columns.names)):
        codes = [columns.codes(column, side) for side in sides]
        size = 1 + max(int(each.max(initial=0)) for each in codes)
        first, second = (np.bincount(each, minlength=size).astype(float) for each in codes)
        both = first + second
        kinds = int((both > 0).sum())
        if kinds > 1:
            distance = float((((first - second) ** 2)[both > 0] / both[both > 0]).sum())
            scores.append(((distance - kinds + 1) / math.sqrt(2 * (kinds - 1)), column))
    return [column for _, column in sorted(scores, key=lambda each: (-each[0], each[1]))[:_SUMMED]] or [0]


def _joined(columns: Columns, groups: tuple[tuple[int, ...], ...], one: slice, two: slice) -> _Look | None:
    """Learn the table of each group of columns: the logarithm of how much more often a cell came from `one`."""
    tables, sizes = [], []
    for group in groups:
        own = tuple(1 + max(int(columns.codes(column, side).max(initial=0)) for side in (one, two)) for column in group)
        if math.prod(own) > _MOST_CELLS:
            return None
        cells = (_cells(columns, group, own, side) for side in (one, two))
        first, second = (np.bincount(each, minlength=math.prod(own) + 1) for each in cells)
        tables.append(np.log(first + 0.5) - np.log(second + 0.5))
        tables[-1][-1] = 0.0  # what the first quarter never saw
        sizes.append(own)
    return _Look(groups, tuple(tables), tuple(sizes))


def _cells(columns: Columns, group: tuple[int, ...], sizes: Sequence[int], rows: slice) -> Codes:
    """The number of each row's cell; the last one for codes that were not seen while learning."""
    cells: Codes = np.zeros(rows.stop - rows.start, np.int64)
    unseen = np.zeros(len(cells), bool)
    for column, size in zip(group, sizes, strict=True):
        codes = columns.codes(column, rows)
        unseen |= codes >= size
        cells = cells * size + codes
    cells[unseen] = math.prod(sizes)
    return cells


def _scores(columns: Columns, look: _Look, rows: slice) -> Floats:
    total = np.zeros(rows.stop - rows.start)
    for group, table, sizes in zip(*look, strict=True):
        total += table[_cells(columns, group, sizes, rows)]
    return total


def _threshold(own: Floats, other: Floats, confidence: float) -> tuple[float, float]:
    """The score above which the (approximate) bound is largest, and that bound."""
    levels = np.unique(own)
    if len(levels) > 512:
        levels = np.unique(np.quantile(own, np.linspace(0, 1, 512), method="lower"))
    size = len(own)
    often = size - np.searchsorted(np.sort(own), levels, side="left")
    seldom = size - np.searchsorted(np.sort(other), levels, side="left")
    z = NormalDist().inv_cdf(1 - (1 - confidence) / 2)
    # The other half is twice as large as this quarter.
    first, second = often / size, (seldom + 1) / (size + 1)
    errors = np.sqrt((1 - first) / (2 * size * first)), np.sqrt((1 - second) / (2 * size * second))
    apart = np.log(first / second)
    bounds = apart - z * (errors[0] + errors[1])
    # Where nothing can be bounded away from 0, the clearest difference says best what could have been found.
    clear = apart / np.maximum(np.hypot(*errors), 1e-12)
    gains = np.where(bounds > 0, bounds, np.minimum(clear, 1e3) * 1e-3 - 2)
    best = int(np.argmax(gains))
    return float(gains[best]), float(levels[best])
