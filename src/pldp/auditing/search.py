"""Find in the first part of the samples the event of each family that speaks most against a claim; test it on the rest.

A look scores an observation by a sum of tables over (joined) columns: how much more often a cell came from one group of
values than from the other. Tables are learned on one half of the first part and judged on its other half, and the other
way round, so that a table with as many cells as samples does not win by knowing its own. The tested part chose nothing:
whatever was looked at before costs no error, only the number of families does. See docs/decisions/0025-audit-search.md.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from statistics import NormalDist
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from pldp.auditing.columns import ANSWER, FAMILIES, ID, PARITY, PIECE, Column, held
from pldp.auditing.parities import learn_parity
from pldp.auditing.sampled import LEAST_SAMPLES, Bound, Contrast, compared, evidence, make_bound, pair
from pldp.errors import AuditError

TOGETHER: Final = "together"  # the family of events about columns of several families
_RANKED: Final = 20_000  # rows by which columns are ranked
_SINGLE: Final = 5  # columns of a family that are looked at one by one, by each of two orders
_SUMMED: Final = 24  # columns that are weighed together
_ANSWERS: Final = 6  # columns of answers that are joined with others
_PARTNERS: Final = 200  # columns that answers are joined with
_CONTRASTS: Final = 6  # pairs of groups between which joined columns are looked at
_JOINED: Final = 10
_BEST_PAIRS: Final = 8  # pairs of values beside each against all others, where there are many
_MOST_CELLS: Final = 1 << 16
_AT_ONCE: Final = 1 << 16  # counts of columns that are judged in one go
_SPEAKS: Final = 6.0  # nats from which an event of the first part counts as evidence: chance gives fewer
_NAMED: Final = 3
_LISTED: Final = 4

Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Group = tuple[int, ...]


class Look(NamedTuple):
    """Groups of joined columns whose tables are summed, for one contrast."""

    contrast: Contrast
    groups: tuple[Group, ...]


class _Event(NamedTuple):
    """A look with the score from which it counts as seen, and how much that spoke against the claim."""

    gain: float
    look: Look
    tables: tuple[Floats, ...]
    threshold: float


def _gain(event: _Event) -> float:
    return event.gain


@dataclass
class _Samples:
    """Columns and the values behind the rows, and the halves of the part that is learned from."""

    columns: list[Column]
    who: Codes
    values: int
    learned: int
    _sizes: dict[int, int] = field(default_factory=dict)

    @property
    def folds(self) -> tuple[slice, slice]:
        half = self.learned // 2
        return slice(0, half), slice(half, self.learned)

    @property
    def ranked(self) -> tuple[slice, ...]:
        """The folds, or as much of each as ranking columns takes."""
        return tuple(slice(fold.start, min(fold.stop, fold.start + _RANKED // 2)) for fold in self.folds)

    def size(self, column: int) -> int:
        if column not in self._sizes:
            self._sizes[column] = 1 + int(self.columns[column].take(slice(None)).max(initial=0))
        return self._sizes[column]

    def count(self, group: Group) -> int:
        return math.prod(map(self.size, group))

    def cells(self, group: Group, rows: slice) -> Codes:
        cells = self.columns[group[0]].take(rows)
        for column in group[1:]:
            cells = cells * self.size(column) + self.columns[column].take(rows)
        return cells

    def histogram(self, group: Group, rows: slice) -> Floats:
        """How often each cell came from each value: values × cells."""
        count = self.count(group)
        found = np.bincount(self.who[rows] * count + self.cells(group, rows), minlength=self.values * count)
        return found.reshape(self.values, count).astype(np.float64)


def search(
    columns: Sequence[Column], who: npt.ArrayLike, claims: npt.ArrayLike, *, error: float, learned: int | None = None
) -> tuple[Bound, ...]:
    """Return one tested bound per family of columns, and one for columns of several families together.

    `who` gives the place of the value behind each row, drawn at random for each; `claims` are ε between any two values
    (values × values), infinite where none is. The first `learned` rows (half of them) choose, the others test. All
    tests together refute claims that are kept with a chance of at most `error`.

    >>> from pldp.auditing.columns import columns_of_arrays
    >>> from pldp.mechanisms import build
    >>> from pldp.simulate import perturb
    >>> generator, response = np.random.default_rng(1), build("krr", 2, 1_000_000)
    >>> who = generator.integers(0, 2, 200_000)
    >>> (found,) = search(columns_of_arrays(perturb(response, who, generator)), who, np.ones((2, 2)), error=1e-6)
    >>> 0.9 < found.epsilon <= 1, found.refutes
    (True, False)
    """
    matrix, places = np.asarray(claims, np.float64), np.asarray(who, np.int64)
    values, rows = len(matrix), len(places)
    if rows < LEAST_SAMPLES * values:
        raise AuditError(f"samples must be at least {LEAST_SAMPLES} of each value to conclude anything")
    samples = _Samples(list(columns), places, values, rows // 2 if learned is None else learned)
    contrasts = compared(matrix)
    if not contrasts:
        raise AuditError("there are no two values between which something is claimed")
    ranks = _Ranks.of(samples, [(column,) for column in range(len(columns))], contrasts)
    contrasts = [*contrasts, *_more_pairs(samples, ranks, matrix)]
    families = {family: [at for at, each in enumerate(columns) if each.family == family] for family in FAMILIES}
    looks = {family: [*_looks(ranks, own)] for family, own in families.items() if own}
    for at, look in enumerate(_learned_parities(samples, contrasts), len(columns)):
        looks.setdefault(PARITY, []).append(Look(look, ((at,),)))
    looks[ANSWER] = [*looks.get(ANSWER, ()), *_answer_pairs(samples, ranks, families[ANSWER], contrasts)]
    if len(columns) > len(families[ANSWER]):
        looks[TOGETHER] = [*_across(samples, ranks, families), *_sums(ranks, range(len(columns)))]
    own_error = error / sum(map(bool, looks.values()))
    events = {
        family: max((_fit(samples, look, own_error) for look in own), key=_gain) for family, own in looks.items() if own
    }
    return tuple(_test(samples, family, event, own_error) for family, event in events.items())


class _Ranks(NamedTuple):
    """How much each group speaks against each claim, and how much it tells at all (groups × contrasts)."""

    groups: list[Group]
    contrasts: list[Contrast]
    against: Floats
    telling: Floats

    @staticmethod
    def of(samples: _Samples, groups: Sequence[Group], contrasts: Sequence[Contrast]) -> "_Ranks":
        sides = [
            np.array([[v in side for v in range(samples.values)] for side in group], float)
            for group in zip(*((each.one, each.two) for each in contrasts), strict=True)
        ]
        limits = [
            np.array([[most] for most in each])
            for each in zip(*((each.most, each.prior / (1 + each.prior)) for each in contrasts), strict=True)
        ]
        kept = [group for group in groups if samples.count(group) <= _MOST_CELLS]
        against, telling = np.zeros((2, len(kept), len(contrasts)))
        for places, cells in _batches(samples, kept):
            against[places], telling[places] = _judge_crosswise(cells, sides, limits)
        return _Ranks(kept, list(contrasts), against, telling)

    def best(self, table: Floats, among: Iterable[int], count: int) -> list[tuple[int, int]]:
        """Return the groups, of these, that score highest, each with its best contrast."""
        found = [(float(table[at].max()), at) for at in among]
        return [(at, int(table[at].argmax())) for _, at in sorted(found, key=lambda each: (-each[0], each[1]))[:count]]


def _batches(samples: _Samples, groups: Sequence[Group]) -> Iterator[tuple[list[int], Floats]]:
    """Yield groups of about as many seen cells together: their places, and counts (folds × groups × values × cells)."""
    found: dict[int, list[tuple[int, Floats]]] = {}
    for place, group in enumerate(groups):
        counts = np.stack([samples.histogram(group, rows) for rows in samples.ranked])
        counts = counts[:, :, counts.any(axis=(0, 1))]
        width = 1 << max(1, counts.shape[2] - 1).bit_length()
        waiting = found.setdefault(width, [])
        waiting.append((place, counts))
        if len(waiting) * width * samples.values >= _AT_ONCE:
            yield _batch(width, found.pop(width))
    for width, waiting in found.items():
        yield _batch(width, waiting)


def _batch(width: int, waiting: list[tuple[int, Floats]]) -> tuple[list[int], Floats]:
    cells = np.zeros((2, len(waiting), waiting[0][1].shape[1], width))
    for row, (_, counts) in enumerate(waiting):
        cells[:, row, :, : counts.shape[2]] = counts
    return [place for place, _ in waiting], cells


def _judge_crosswise(cells: Floats, sides: list[Floats], limits: list[Floats]) -> list[Floats]:
    """Order the cells by one fold and judge by the other: evidence against each limit (groups × contrasts)."""
    counts = [[side @ fold for side in sides] for fold in cells]
    unseen = (cells.sum(axis=(0, 2)) == 0)[:, None]
    totals = [np.zeros((cells.shape[1], len(sides[0]))) for _ in limits]
    for own, other in (counts, counts[::-1]):
        apart = np.log(own[1] + 0.5) - np.log(own[0] + 0.5)
        # Cells that only fill a batch up come last, where they change no sum.
        order = np.argsort(np.where(unseen, np.inf, apart), axis=-1, kind="stable")
        often, seldom, again, against = (np.take_along_axis(side, order, -1).cumsum(axis=-1) for side in own + other)
        for at, limit in enumerate(limits):
            place = evidence(often, seldom, limit).argmax(axis=-1)[..., None]
            often_again, seldom_again = (np.take_along_axis(side, place, -1)[..., 0] for side in (again, against))
            totals[at] += evidence(often_again, seldom_again, limit[:, 0])
    return totals


def _more_pairs(samples: _Samples, ranks: _Ranks, claims: Floats) -> list[Contrast]:
    """Of many values, pairs that the answers' most telling columns set furthest apart."""
    if any(len(contrast.one) == len(contrast.two) == 1 for contrast in ranks.contrasts):
        return []
    scores: dict[tuple[int, int], float] = {}
    for at, _ in ranks.best(ranks.telling, range(len(ranks.groups)), _ANSWERS):
        counts = samples.histogram(ranks.groups[at], slice(0, samples.learned)) + 0.5
        for one in range(samples.values):
            for two in range(samples.values):
                if one != two and np.isfinite(claims[one, two]):
                    nats = evidence(counts[one], counts[two], 1 / (1 + math.exp(-claims[one, two]))).max()
                    scores[one, two] = max(scores.get((one, two), -math.inf), float(nats))
    best = sorted(scores, key=lambda each: -scores[each])[:_BEST_PAIRS]
    return [contrast for one, two in best if (contrast := pair(claims, one, two)) is not None]


def _looks(ranks: _Ranks, own: Sequence[int]) -> Iterator[Look]:
    """The columns of a family that speak most, one by one and weighed together."""
    places = [at for at, group in enumerate(ranks.groups) if group[0] in set(own)]
    chosen = [*ranks.best(ranks.against, places, _SINGLE), *ranks.best(ranks.telling, places, _SINGLE)]
    for at, contrast in dict.fromkeys(chosen):
        yield Look(ranks.contrasts[contrast], (ranks.groups[at],))
    yield from _sums(ranks, own)


def _sums(ranks: _Ranks, own: Iterable[int]) -> Iterator[Look]:
    """The most telling columns together, for the contrasts that they tell most about."""
    among = set(own)
    places = [at for at, group in enumerate(ranks.groups) if group[0] in among]
    if len(places) < 2:
        return
    table = ranks.telling[places]
    totals = np.sort(table, axis=0)[-_SUMMED:].sum(axis=0)
    for contrast in np.argsort(-totals)[:_NAMED]:
        best = np.argsort(-table[:, contrast], kind="stable")[:_SUMMED]
        yield Look(ranks.contrasts[contrast], tuple(ranks.groups[places[at]] for at in best))


def _answer_pairs(samples: _Samples, ranks: _Ranks, own: Sequence[int], contrasts: list[Contrast]) -> Iterator[Look]:
    """Two columns of answers together, and the best column between pairs of many values."""
    places = [at for at, group in enumerate(ranks.groups) if group[0] in set(own)]
    best = ranks.best(ranks.telling, places, _ANSWERS)
    for contrast in contrasts[len(ranks.contrasts) :]:
        for at, _ in best:
            yield Look(contrast, (ranks.groups[at],))
    pairs = [ranks.groups[one] + ranks.groups[two] for (one, _), (two, _) in combinations(best, 2)]
    yield from _joined(samples, pairs, contrasts)


def _across(samples: _Samples, ranks: _Ranks, families: dict[str, list[int]]) -> Iterator[Look]:
    """A column of an answer with one of another family: the time, say, may tell whether the answer is true.

    Pieces that come too often are joined with everything as well: they may say where to look.
    """
    places = [at for at, group in enumerate(ranks.groups) if group[0] in set(families[ANSWER])]
    # Digits of random text are many; what is rare by nature comes first.
    order = sorted((family for family in FAMILIES if family != ANSWER), key=lambda family: family == ID)
    partners = [column for family in order for column in families[family]][:_PARTNERS]
    best = ranks.best(ranks.telling, places, _ANSWERS)
    contrasts = [ranks.contrasts[at] for at in np.argsort(-ranks.telling[places].sum(axis=0))] if places else []
    anchors = [*(ranks.groups[at][0] for at, _ in best), *families[PIECE][:_ANSWERS]]
    pairs = [(anchor, partner) for anchor in anchors for partner in partners if partner != anchor]
    yield from _joined(samples, pairs, contrasts or ranks.contrasts)


def _joined(samples: _Samples, pairs: Sequence[Group], contrasts: Sequence[Contrast]) -> Iterator[Look]:
    ranks = _Ranks.of(samples, pairs, contrasts[:_CONTRASTS]) if pairs and contrasts else None
    if ranks is None or not ranks.groups:
        return
    everywhere = range(len(ranks.groups))
    chosen = [*ranks.best(ranks.against, everywhere, _JOINED), *ranks.best(ranks.telling, everywhere, _NAMED)]
    for at, contrast in dict.fromkeys(chosen):
        yield Look(ranks.contrasts[contrast], (ranks.groups[at],))


def _learned_parities(samples: _Samples, contrasts: Sequence[Contrast]) -> Iterator[Contrast]:
    """Add a column for every sum of bits, modulo 2, that tells two groups of values apart; yield the groups."""
    rows = samples.folds[0]
    binary = [at for at, each in enumerate(samples.columns) if each.family in {ID, PARITY} and samples.size(at) == 2]
    seen = set[frozenset[Group]]()
    for contrast in contrasts if binary else ():
        if frozenset(contrast[:2]) in seen:
            continue  # the other way round it is the same sum
        seen.add(frozenset(contrast[:2]))
        known = np.isin(samples.who[rows], (*contrast.one, *contrast.two))
        bits = np.stack([samples.columns[at].take(rows)[known] for at in binary], axis=1)
        chosen = learn_parity(bits, np.isin(samples.who[rows][known], contrast.one))
        if chosen is not None:
            parity = np.bitwise_xor.reduce([samples.columns[binary[at]].take(slice(None)) for at in chosen])
            name = f"parity of {samples.columns[binary[chosen[0]]].name} and {len(chosen) - 1} other bits"
            samples.columns.append(held(name, PARITY, parity))
            yield contrast


def _tables(samples: _Samples, look: Look, rows: slice) -> tuple[Floats, ...]:
    """Learn how much more often each cell came from the one group than from the other, as logarithms."""
    tables = []
    for group in look.groups:
        histogram = samples.histogram(group, rows)
        one, two = (histogram[list(side)].sum(axis=0) for side in look.contrast[:2])
        table = np.log((one + 0.5) / len(look.contrast.one)) - np.log((two + 0.5) / len(look.contrast.two))
        tables.append(np.where(one + two > 0, table, 0.0))
    return tuple(tables)


def _scores(samples: _Samples, look: Look, tables: tuple[Floats, ...], rows: slice) -> tuple[Floats, Floats]:
    """Return the scores of the rows that come from the one group, and from the other."""
    total = np.zeros(len(samples.who[rows]))
    for group, table in zip(look.groups, tables, strict=True):
        total += table[samples.cells(group, rows)]
    who = samples.who[rows]
    return tuple(total[np.isin(who, side)] for side in look.contrast[:2])  # type: ignore[return-value]


def _fit(samples: _Samples, look: Look, error: float) -> _Event:
    """Learn the tables, and the score that speaks most against the claim where each half judges the other's tables."""
    one, two = samples.folds
    halves = [_scores(samples, look, _tables(samples, look, own), other) for own, other in ((one, two), (two, one))]
    first, second = (np.concatenate(side) for side in zip(*halves, strict=True))
    gain, threshold = _threshold(first, second, look.contrast, error)
    return _Event(gain, look, _tables(samples, look, slice(0, samples.learned)), threshold)


def _threshold(own: Floats, other: Floats, contrast: Contrast, error: float) -> tuple[float, float]:
    """Return how much the best event speaks against the claim, and from which score on."""
    levels = np.unique(own)
    if len(levels) > 512:
        levels = np.unique(np.quantile(own, np.linspace(0, 1, 512), method="lower"))
    if not len(levels):
        return -math.inf, math.inf
    often = len(own) - np.searchsorted(np.sort(own), levels, side="left")
    seldom = len(other) - np.searchsorted(np.sort(other), levels, side="left")
    nats = evidence(often, seldom, contrast.most)
    # Where nothing speaks against the claim, the largest lower bound on ε says best what was seen.
    apart = np.log((often + 0.5) / (seldom + 0.5) / contrast.prior)
    spread = np.sqrt(1 / (often + 0.5) + 1 / (seldom + 0.5))
    low = apart - NormalDist().inv_cdf(1 - error) * spread - contrast.claim
    gains = np.where(nats >= _SPEAKS, nats, np.maximum(low, -1e3) - 1e3)
    best = int(np.argmax(gains))
    return float(gains[best]), float(levels[best])


def _test(samples: _Samples, family: str, event: _Event, error: float) -> Bound:
    rows = slice(samples.learned, len(samples.who))
    scores = _scores(samples, event.look, event.tables, rows)
    # Sums of logarithms in another order may differ in the last digit.
    often, seldom = (int((side >= event.threshold - 1e-9).sum()) for side in scores)
    tested = (len(samples.who) - samples.learned) // samples.values
    return make_bound(event.look.contrast, family, _words(samples, event), (often, seldom), tested, error)


def _words(samples: _Samples, event: _Event) -> str:
    groups = event.look.groups
    names = [" and ".join(samples.columns[column].name for column in group) for group in groups]
    if len(groups) > 1:
        return f"{', '.join(names[:_NAMED])} and {len(names)} parts in all, weighed"
    (group,), (table,) = groups, event.tables
    cells = np.flatnonzero(table >= event.threshold - 1e-9)
    if not len(cells):
        return names[0]
    if len(cells) > _LISTED:
        example = _cell_words(samples, group, int(cells[table[cells].argmax()]))
        return f"{len(cells)} of {len(table)} contents of {names[0]}, such as {example}"
    return " or ".join(_cell_words(samples, group, int(cell)) for cell in cells)


def _cell_words(samples: _Samples, group: Group, cell: int) -> str:
    words = []
    for column in reversed(group):
        cell, code = divmod(cell, samples.size(column))
        words.append(f"{samples.columns[column].name} = {samples.columns[column].say(code)}")
    return " and ".join(reversed(words))
