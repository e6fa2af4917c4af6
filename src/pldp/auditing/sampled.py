"""What samples say about ε: exact tests of one event between groups of values, and what they would have found.

The value behind every observation is drawn at random, each with the same chance. If an event is at most e^ε times as
likely from a value of one group as from one of the other, then, once it is seen, odds that the value was of the first
group are at most (values in the one / values in the other) · e^ε, whatever was observed before. So the number of times
that it came from the first group, of all times that it came from either, is at most binomial: the test is exact,
needs no approximation for rare events, and other programs that slow the machine down cannot deceive it.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from statistics import NormalDist
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats
from scipy.special import betainc, xlogy

from pldp.records import Brief

FALSE_ALARM: Final = 1e-5  # chance, at most, that a whole audit refutes a promise that is kept
POWER: Final = 0.9  # probability with which what is called detectable would have been refuted
LEAST_SAMPLES: Final = 100  # per value; below that nothing can be said
SHARES: Final = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002, 0.0001)
"""How likely an event is from the value that makes it likely: points of the curve."""
_LARGEST: Final = 50.0
_RARE: Final = 40  # times up to which an event is rare: all counts are gone through
_FEW_VALUES: Final = 4  # up to so many, every two are compared; beyond, each with all others, and some pairs

Floats = npt.NDArray[np.float64]


class Contrast(NamedTuple):
    """Two groups of values, by their places; an event is at most e^claim times as likely from one as from the other."""

    one: tuple[int, ...]
    two: tuple[int, ...]
    claim: float

    @property
    def prior(self) -> float:
        """Odds of the first group before anything is seen."""
        return len(self.one) / len(self.two)

    @property
    def most(self) -> float:
        """The most that the probability of the first group may be once the event is seen."""
        return 1 / (1 + math.exp(-self.claim) / self.prior)

    def __str__(self) -> str:
        return f"{_group(self.one)} and {{often}} from {_group(self.two)}"


def _group(places: tuple[int, ...]) -> str:
    return f"value number {places[0]}" if len(places) == 1 else f"the {len(places)} other values"


def compared(claims: Floats) -> list[Contrast]:
    """Return what is compared: each value with all others, and every two values where they are few.

    Between a value and several, the claims combine: where an event is at most e^c times as likely as from each of the
    others, it is at most 1 / mean(e^-c) times as likely as from one of them that is drawn at random.

    >>> [contrast.one + contrast.two for contrast in compared(np.ones((2, 2)))]
    [(0, 1), (1, 0)]
    """
    size = len(claims)
    return [*(_pairs(claims) if size <= _FEW_VALUES else ()), *(_rests(claims) if size > 2 else ())]


def _pairs(claims: Floats) -> Iterator[Contrast]:
    for one, two in permutations(range(len(claims)), 2):
        if np.isfinite(claims[one, two]):
            yield Contrast((one,), (two,), float(claims[one, two]))


def pair(claims: Floats, one: int, two: int) -> Contrast | None:
    """Return the contrast of two values, where something is claimed between them."""
    return Contrast((one,), (two,), float(claims[one, two])) if np.isfinite(claims[one, two]) else None


def _rests(claims: Floats) -> Iterator[Contrast]:
    for one in range(len(claims)):
        others = tuple(place for place in range(len(claims)) if place != one)
        forward, back = claims[one, list(others)], claims[list(others), one]
        if np.isfinite(forward).any():
            yield Contrast((one,), others, -math.log(float(np.exp(-forward).mean())))
        if np.isfinite(back).all():
            yield Contrast(others, (one,), math.log(float(np.exp(back).mean())))


@dataclass(frozen=True, repr=False)
class Bound(Brief):
    """What samples say about ε: it is at least `epsilon`, but for a chance of `error` that they are odd.

    The event, of one `family` of things that can be looked at, was `seen` so often from each group of the `contrast`,
    in `samples` tested people per value. `detectable` is the smallest ε that would have been refuted with probability
    0.9 by an event as frequent as this; `curve` gives it for events of other frequencies, and `rarest` is the frequency
    below which nothing would have been, even if the event never came from the other values. `chance` is how likely
    counts like these, or clearer ones, are at most, if the promise is kept.
    """

    epsilon: float
    contrast: Contrast
    family: str
    event: str
    seen: tuple[int, int]
    samples: int
    error: float
    chance: float

    @property
    def claimed(self) -> float:
        """ε that is claimed between the two groups."""
        return self.contrast.claim

    @property
    def refutes(self) -> bool:
        """Whether the claim is refuted."""
        return self.chance <= self.error

    @property
    def detectable(self) -> float:
        """The smallest ε that an event as frequent as this would have shown."""
        share = (self.seen[0] + 0.5) / (self.samples * len(self.contrast.one) + 1)
        return smallest_detectable(min(share, 1.0), self.samples, self.claimed, self.error)

    @property
    def curve(self) -> tuple[tuple[float, float], ...]:
        """For events of several frequencies, the smallest ε that would have been refuted with probability 0.9."""
        return detectable_curve(self.samples, self.claimed, self.error)

    @property
    def rarest(self) -> float:
        """How frequent an event that only one value makes must be to be noticed."""
        return rarest_event(self.samples, self.claimed, self.error)

    def __str__(self) -> str:
        often, seldom = self.seen
        words = str(self.contrast).format(often="never" if seldom == 0 else f"{seldom:,} times")
        return f"{self.event}: seen {often:,} times from {words}, so ε ≥ {self.epsilon:.4g}"


def make_bound(contrast: Contrast, family: str, event: str, seen: tuple[int, int], samples: int, error: float) -> Bound:
    """Test one event: how often it was seen from each group decides."""
    often, seldom = seen
    chance = float(stats.binom.sf(often - 1, often + seldom, contrast.most)) if often else 1.0
    epsilon = ratio_bound(often, seldom, error, prior=contrast.prior)
    return Bound(epsilon, contrast, family, event, seen, samples, error, chance)


def ratio_bound(often: int, seldom: int, error: float, *, prior: float = 1.0) -> float:
    """Return the lower bound of ln Pr(E|one) − ln Pr(E|two), where which of both it is was drawn with these odds.

    Of often + seldom times, E came so often from the one: an exact (Clopper–Pearson) bound of one share, and its odds.

    >>> round(ratio_bound(7311, 2689, 0.05), 3), round(ratio_bound(60, 0, 1e-6), 3)
    (0.963, 1.351)
    """
    least = float(stats.beta.ppf(error, often, seldom + 1)) if often else 0.0
    return max(0.0, math.log(least / (1 - least) / prior)) if least > 0 else 0.0


def smallest_detectable(share: float, samples: int, claimed: float, error: float = FALSE_ALARM) -> float:
    """Return the smallest ε above a claim that would be refuted with probability 0.9; infinite with too few samples.

    The event is taken to come from one value with this share and from the other e^ε times less often, and to be one
    that the search finds; `samples` people of each value test it.

    >>> round(smallest_detectable(0.5, 10_000, 1.0), 2), smallest_detectable(0.5, 50, 1.0)
    (1.15, inf)
    """

    def refuted(epsilon: float) -> bool:
        other = share * math.exp(-epsilon)
        if samples * other > _RARE:
            return ratio_bound(*_unlucky(share, epsilon, samples, claimed), error) > claimed
        seldom, needed = np.arange(3 * _RARE), _needed(claimed, error)
        chances = stats.binom.pmf(seldom, samples, other) * stats.binom.sf(needed - 1, samples, share)
        return float(chances.sum()) >= POWER

    low, high = claimed, _LARGEST
    if not refuted(high):
        return math.inf
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (low, middle) if refuted(middle) else (middle, high)
    return high


@lru_cache(maxsize=256)
def _needed(claimed: float, error: float) -> npt.NDArray[np.int64]:
    """How often an event must be seen from one value to refute, if it is seen 0, 1, 2, … times from the other."""
    most, seldom = 1 / (1 + math.exp(-claimed)), np.arange(3 * _RARE)
    low, high = np.zeros(len(seldom)), np.full(len(seldom), 1e9)
    while (high - low > 1).any():
        middle = np.floor((low + high) / 2)
        enough = betainc(middle, seldom + 1, most) <= error
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high.astype(np.int64)


def _unlucky(share: float, epsilon: float, samples: int, claimed: float) -> tuple[int, int]:
    """Counts as far against the refutation as in one of ten times; both stray in proportion to what that costs."""
    other, most = share * math.exp(-epsilon), 1 / (1 + math.exp(-claimed))
    often, seldom = samples * share, samples * other
    spreads = often * (1 - share) * (1 - most), seldom * (1 - other) * most
    spread = math.sqrt(spreads[0] * (1 - most) + spreads[1] * most)
    luck = NormalDist().inv_cdf(POWER) / spread if spread else 0.0
    return max(0, math.floor(often - luck * spreads[0])), math.ceil(seldom + luck * spreads[1] - 1e-9)


def detectable_curve(samples: int, claimed: float, error: float) -> tuple[tuple[float, float], ...]:
    """Return pairs (frequency of an event, smallest ε that it would have shown), as far as any would have been.

    >>> [(share, round(epsilon, 2)) for share, epsilon in detectable_curve(10_000, 1.0, 1e-6)][1:4]
    [(0.5, 1.17), (0.2, 1.28), (0.1, 1.41)]
    """
    points = ((share, smallest_detectable(share, samples, claimed, error)) for share in SHARES)
    return tuple((share, epsilon) for share, epsilon in points if math.isfinite(epsilon))


def rarest_event(samples: int, claimed: float, error: float) -> float:
    """Return how frequent an event that comes from one value only must be to be refuted with probability 0.9.

    >>> round(rarest_event(10_000, 1.0, 1e-6), 4)
    0.0054
    """
    needed = math.ceil(math.log(error) / -math.log1p(math.exp(-claimed)))
    low, high = 0.0, 1.0
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        enough = stats.binom.sf(needed - 1, samples, middle) >= POWER
        low, high = (low, middle) if enough else (middle, high)
    return high if stats.binom.sf(needed - 1, samples, high) >= POWER else math.inf


def evidence(often: npt.ArrayLike, seldom: npt.ArrayLike, most: npt.ArrayLike) -> Floats:
    """Nats by which counts speak against a share of at most `most`: how unlikely they are is about e^-evidence.

    Negative where the share is below what is allowed.

    >>> evidence([50, 5], [0, 10], 0.731).round(1).tolist()
    [15.7, -5.1]
    """
    first, second = np.asarray(often, np.float64), np.asarray(seldom, np.float64)
    total = np.maximum(first + second, 1e-300)
    share, limit = first / total, np.asarray(most, np.float64)
    nats = xlogy(first, share / limit) + xlogy(second, (1 - share) / (1 - limit))
    found: Floats = np.where(share >= limit, nats, -nats)
    return found


def tightest(bounds: Sequence[Bound]) -> Bound:
    """Return the bound that says most: one that refutes, else the largest ε relative to its claim."""
    return max(bounds, key=lambda bound: (bound.refutes, -bound.chance if bound.refutes else bound.epsilon))
