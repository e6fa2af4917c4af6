"""Tallies of a round, kept up to date: only what is new is counted.

`Running` counts every report. `Shown` counts what readers may see, which is a function of what is stored now: of each
question and level only whole steps, in the order of the log; a level with fewer reports than a step is not there. So
while reports come, two readings differ by whole steps. Where anybody withdrew, a step's worth of each level is left
out, drawn by a secret from two steps, anew with each withdrawal: whichever readings before and after are compared or
added up, they differ by tens of reports that nobody can name, and not by the one that went. Counts of two questions
together always leave out as much.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pldp.collector.log_reader import Block
from pldp.collector.packing import ID_BYTES, Packing
from pldp.tallies import Pair, Tally, tally

Rows = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.int64]
Read = Callable[[int, int], Iterable[Block]]  # blocks between two numbers
Draw = Callable[[Iterable[int], int], list[int]]  # so many of these numbers, by a secret
_DRAWN_FROM: Final = 64  # two steps are drawn from the first 2, 4, 8 … of a level, as many as it has, so many at most


class Running:
    """Counts the reports of one round step by step; every step leaves an exact tally of what it has read.

    `counted` is that tally, without reports withdrawn, and `end` the number of the first report that was not read.
    """

    def __init__(self, packing: Packing, pairs: Sequence[Pair] = ()) -> None:
        self._packing = packing
        self._pairs = pairs
        self.start(0, 0)

    def start(self, number: int, withdrawn: int) -> None:
        """Begin with a round of which so many reports were withdrawn."""
        self.state = (number, withdrawn)
        self.end = 0
        self.counted = Tally.empty(self._packing.survey, pairs=self._pairs)

    def choose(self, number: int, withdrawn: int) -> None:
        """Go on with a round; where a report was withdrawn since, all are counted anew."""
        if self.state != (number, withdrawn):
            self.start(number, withdrawn)

    def read(self, blocks: Iterable[Block]) -> None:
        """Count what follows."""
        for block in blocks:
            self.counted += self.count(block)

    def count(self, block: Block) -> Tally:
        """Count some reports."""
        batch = self._packing.batch(block.ids, block.rows)
        return tally(self._packing.survey, [batch], pairs=self._pairs, repeats=False)  # ids in a store are distinct


class _Steps:
    """Sorts answers into whole steps and those that wait for more of their level.

    Each of the `parts` is stepped by itself: the column of a question, or those of two that are counted together.
    """

    def __init__(self, packing: Packing, parts: Sequence[Sequence[int]]) -> None:
        self._parts = parts
        self._others = sorted(set(packing.offsets) - {column for part in parts for column in part})
        self._width = packing.width
        # Where labels hide the level they tell no tier, and all of them are stepped together.
        self._by_level = packing.survey.level_channel is None
        self.start()

    def start(self) -> None:
        """Begin anew."""
        self.bounds: dict[tuple[int, int], list[tuple[int, int]]] = {}  # by part and level: ends of the first steps
        self._waiting: Rows = np.zeros((0, self._width), np.uint8)
        self._numbers: Numbers = np.zeros(0, np.int64)

    def _levels(self, rows: Rows, part: Sequence[int]) -> Numbers:
        """Return one number for the levels of the answers, 0 where one of them is missing."""
        chosen = rows[:, part].astype(np.int64)
        code = chosen @ (256 ** np.arange(len(part))) if self._by_level else 1
        return np.where((chosen > 0).all(axis=1), code, 0)

    def take(self, rows: Rows, numbers: Numbers, step: int) -> Rows:
        """Return the answers that make up whole steps, with those that waited; each row has nothing else."""
        rows = np.concatenate([self._waiting, rows])
        numbers = np.concatenate([self._numbers, numbers])
        rows[:, self._others] = 0
        left = rows.copy()
        for place, part in enumerate(self._parts):
            levels = self._levels(rows, part)
            taken = np.zeros(len(rows), bool)
            for level in np.unique(levels[levels > 0]).tolist():
                found = np.flatnonzero(levels == level)
                found = found[: len(found) // step * step]
                taken[found] = True
                bounds = self.bounds.setdefault((place, level), [])
                ends = found[: (_DRAWN_FROM - len(bounds)) * step].reshape(-1, step)[:, [0, -1]]
                bounds.extend((first, last) for first, last in numbers[ends].tolist())
            for column in part:
                rows[~taken, column] = 0
                left[taken | (levels == 0), column] = 0
        waits = left[:, self._columns].any(axis=1)
        self._waiting, self._numbers = left[waits], numbers[waits]
        return rows

    @property
    def _columns(self) -> list[int]:
        return [column for part in self._parts for column in part]

    def left_out(self, step: int, draw: Draw, read: Callable[[int, int], tuple[Rows, Numbers]]) -> Rows:
        """Return as many answers of each level as a step has, drawn from two steps where there are two.

        More steps do not change what is drawn until there are twice as many.
        """
        found = [np.zeros((0, self._width), np.uint8)]
        for (place, level), bounds in self.bounds.items():
            part = self._parts[place]
            some: list[Rows] = []
            for chosen in draw(range(1 << len(bounds).bit_length() - 1), 2) if bounds else ():
                first, last = bounds[chosen]
                rows, numbers = read(first, last)
                inside = (self._levels(rows, part) == level) & (numbers >= first) & (numbers <= last)
                some.append(rows[inside])
            if some:
                rows = np.concatenate(some)
                rows = rows[draw(range(len(rows)), step)]
                rows[:, [column for column in (*self._columns, *self._others) if column not in part]] = 0
                found.append(rows)
        return np.concatenate(found)


class Shown(Running):
    """Counts what readers may see of a round; `secret` draws what is left out after withdrawals."""

    def __init__(self, packing: Packing, pairs: Sequence[Pair], step: int, secret: bytes) -> None:
        column = dict(zip((each.name for each in packing.survey.questions), packing.offsets, strict=True))
        self._step = step
        self._secret = secret
        self._none: Rows = np.zeros((0, packing.width), np.uint8)
        self._single = _Steps(packing, [(each,) for each in packing.offsets])
        self._paired = {pair: _Steps(packing, [[column[name] for name in pair]]) for pair in pairs}
        self._all = (self._single, *self._paired.values())
        super().__init__(packing, pairs)

    def start(self, number: int, withdrawn: int) -> None:
        """Begin with a round of which so many reports were withdrawn."""
        super().start(number, withdrawn)
        self._left_out: tuple[Any, Tally] = ([], self.counted)  # what it depends on, and what is left out
        for steps in self._all:
            steps.start()

    def count(self, block: Block) -> Tally:
        """Count what makes up whole steps with what waited before."""
        rows, numbers = self._live(block)
        whole = self._tally(lambda steps: steps.take(rows, numbers, self._step))
        return replace(whole, reports=len(rows))  # also if only a pair has a new step

    def _live(self, block: Block) -> tuple[Rows, Numbers]:
        rows = np.frombuffer(block.rows, np.uint8).reshape(-1, self._packing.width)
        live = rows[:, self._packing.offsets].any(axis=1)
        return rows[live], block.first + np.flatnonzero(live)

    def _tally(self, rows_of: Callable[[_Steps], Rows]) -> Tally:
        single = self._count_rows(rows_of(self._single), ())
        pairs: dict[Any, Any] = {}
        for pair, steps in self._paired.items():
            pairs |= self._count_rows(rows_of(steps), [pair]).pairs
        return replace(single, pairs=pairs)

    def _count_rows(self, rows: Rows, pairs: Sequence[Pair]) -> Tally:
        batch = self._packing.batch(bytes(ID_BYTES * len(rows)), rows.tobytes())
        return tally(self._packing.survey, [batch], pairs=pairs, repeats=False)

    def shown(self, read: Read) -> Tally:
        """Return the tally; `read` gives the blocks that hold the reports between two numbers."""
        withdrawn = self.state[1]
        reports = max(0, self.counted.reports // self._step - bool(withdrawn)) * self._step

        def rows(first: int, last: int) -> tuple[Rows, Numbers]:
            none = (self._none, np.zeros(0, np.int64))  # where what was there is damaged now
            found = [none, *(self._live(block) for block in read(first, last))]
            return np.concatenate([each for each, _ in found]), np.concatenate([each for _, each in found])

        def left_out(steps: _Steps) -> Rows:
            # Of pairs always: otherwise a table and the results of its questions differ by the few who skip one.
            some = withdrawn or steps is not self._single
            return steps.left_out(self._step, self._draw, rows) if some else self._none

        sizes = [(key, len(bounds).bit_length()) for each in self._all for key, bounds in each.bounds.items()]
        if self._left_out[0] != sizes:
            self._left_out = (sizes, self._tally(left_out))
        return replace(self.counted.without(self._left_out[1]), reports=reports)

    def _draw(self, numbers: Iterable[int], count: int) -> list[int]:
        """Return so many of these numbers: others after each withdrawal, the same after a restart."""
        round_number, withdrawn = self.state

        def place(number: int) -> bytes:
            text = f"{round_number} {withdrawn} {number}"
            return blake2b(text.encode(), key=self._secret, digest_size=16, person=b"left out").digest()

        return sorted(numbers, key=place)[:count]
