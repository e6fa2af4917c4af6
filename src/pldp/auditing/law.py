"""The law of a sampler, exactly: feed it chosen random numbers and see where its output changes.

A sample of any size cannot tell a threshold of w from one of w + 1 in 2⁵³. But a sampler is a function of its random
bytes, so its true weights are the numbers of random numbers between one change of the output and the next. Each
published weight is confirmed on both sides of its threshold, and between thresholds by a few numbers in the middle.
"""

import hashlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from math import comb
from typing import Any

from pldp.auditing.set_tables import Meeting, rank_bytes
from pldp.auditing.tables import BIT, INDEX, NUMBER, Bits, Blocks, Direct, Hashed, Subset, Table, Tiers
from pldp.mechanisms import Output, RandomBytes, as_int

Draw = Callable[[int, RandomBytes], Output]
"""A sampler: from a value and a source of random bytes to an output."""

MOST_BLOCKS = 64  # blocks that are looked at for each value, among those that contain it and among the others
MOST_PIECES = 4096  # changes of the output that are looked at for each value
SPARE_BITS = 3  # seven bytes hold 53 bits and these
SETS_TRIED = 8  # random numbers for which whole sets are compared


class Wrong(Exception):
    """The sampler does something else than the published weights say."""


def sampler_fault(draw: Draw, table: Table, *, sets: bool = False) -> str | None:
    """Return what a sampler does otherwise than the table says, in words, or nothing.

    >>> from pldp.auditing.published import read_table
    >>> from pldp.mechanisms import build
    >>> response = build("krr", 4, 1_000_000)
    >>> table = read_table("krr", 4, response.weights())
    >>> sampler_fault(response.draw, table) is None
    True
    >>> sampler_fault(lambda value, random: min(2, response.draw(value, random)), table)
    'value number 0: output 2 has the weight 3150316659774792, not the published 1575158329887396'
    """
    try:
        if isinstance(table, Direct):
            for value in table.kinds:
                _check_numbers(value, _by_number(draw, value), table)
        elif isinstance(table, Subset):
            _check_subset(draw, table)
        elif isinstance(table, Tiers):
            _check_tiers(draw, table)
        elif isinstance(table, Hashed):
            _check_hashes(draw, table)
        elif isinstance(table, Blocks):
            _check_blocks(draw, table)
        elif isinstance(table, Meeting):
            for value in {0, 1, (1 << table.at_most) - 1}:
                _check_subsets(draw, value, table)
        elif isinstance(table, Bits):
            _check_bits(draw, table, [0, (1 << table.size) - 1] if sets else table.kinds, sets=sets)
    except Wrong as wrong:
        return str(wrong)
    return None


class Recorder:
    """A sampler that notes what it was fed and what it drew."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self.fed: list[tuple[int, tuple[bytes, ...]]] = []
        self.drawn: list[Output] = []

    def __call__(self, value: int, random: RandomBytes) -> Output:
        """Draw."""
        parts: list[bytes] = []

        def noted(count: int) -> bytes:
            parts.append(random(count))
            return parts[-1]

        output = self._draw(value, noted)
        self.fed.append((value, tuple(parts)))
        self.drawn.append(output)
        return output

    def fault(self, others: Sequence[Any]) -> str | None:
        """Say where another sampler, fed with the same, drew something else; bytes are in hexadecimal, none is `None`.

        A sampler that draws by the published weights at every number that was looked at, and another that draws the
        same there, are as well confirmed as each other.
        """
        for (value, _), own, other in zip(self.fed, self.drawn, others, strict=True):
            if other is None:
                return f"value number {value}: the sampler asks for other numbers of random bytes than are published"
            if other != (own.hex() if isinstance(own, bytes) else own):
                return f"value number {value}: the output is not the one that the random numbers pick"
        return None


def lottery_fault(draw: Recorder, stop: int, levels: int) -> str | None:
    """Return what the draw of a level does otherwise than its published weight says, or nothing.

    Every number that stops, and every one that does not, is tried on its side of the weight, for some chosen levels.
    """
    for chosen in {0, 1, levels // 2, levels - 1}:
        for stays in range(levels):
            numbers = [*[stop] * stays, stop - 1, *[NUMBER - 1] * levels][: levels - 1]
            try:
                drawn = draw(chosen, _exactly(*((number << SPARE_BITS).to_bytes(7, "little") for number in numbers)))
            except Wrong as wrong:
                return str(wrong)
            if drawn != min(stays, chosen):
                return f"level number {chosen}: a draw does not end at a lower one for exactly {stop} of 2^53 numbers"
            if len(draw.fed[-1][1]) != levels - 1:
                return f"level number {chosen}: other numbers are drawn than one for each level but the last"
    return None


def _exactly(*parts: bytes) -> RandomBytes:
    """Random bytes that are these, part by part."""
    answers = iter(parts)

    def random(count: int) -> bytes:
        found = next(answers, b"")
        if len(found) != count:
            raise Wrong(f"the sampler asks for {count} random bytes where {len(found)} are expected")
        return found

    return random


def _by_number(draw: Draw, value: int, *before: bytes) -> Callable[[int], Output]:
    """The output as a function of the number below 2⁵³ that the sampler draws, after the bytes of a hash function."""
    return lambda number: draw(value, _exactly(*before, (number << SPARE_BITS).to_bytes(7, "little")))


def _check_numbers(value: int, drawn: Callable[[int], Output], table: Direct) -> None:
    """Walk through the numbers below 2⁵³ from one change of the output to the next and add up by output."""
    counted: Counter[int] = Counter()
    start = 0
    for _ in range(MOST_PIECES):
        output = as_int(drawn(start))
        if not 0 <= output < table.outputs:
            raise Wrong(f"value number {value}: output {output} is none of the {table.outputs} published ones")
        expected = table.weight(value, output)
        left = expected - counted[output]
        end = _end(drawn, start, output, _expected_runs(table, value, output, left))
        counted[output] += end - start
        if counted[output] > expected:
            break
        start = end
        if start == NUMBER:
            break
    for output, weight in counted.items():
        expected = table.weight(value, output)
        if weight > expected or (start == NUMBER and weight != expected):
            raise Wrong(f"value number {value}: output {output} has the weight {weight}, not the published {expected}")


def _expected_runs(table: Direct, value: int, output: int, left: int) -> Iterator[int]:
    """Yield how long a run of an output may be: all that is left of its weight, or that without the noise.

    An output may come in two runs: on purpose, and as noise, where that of another value is as likely.
    """
    yield left
    yield left - min((table.weight(other, output) for other in table.kinds if other != value), default=0)


def _end(drawn: Callable[[int], Output], start: int, output: int, expected: Iterable[int]) -> int:
    """Where the run of one output ends: as expected, if that is true, else by doubling and halving."""

    def inside(number: int) -> bool:
        return number < NUMBER and as_int(drawn(number)) == output

    for length in expected:
        within = (start + part * (length - 1) // 3 for part in (1, 2, 3))
        if length > 0 and not inside(start + length) and all(map(inside, within)):
            return start + length
    step = 1
    while inside(start + step):
        step *= 2
    last, beyond = start + step // 2, min(start + step, NUMBER)
    while beyond - last > 1:
        middle = (last + beyond) // 2
        last, beyond = (middle, beyond) if inside(middle) else (last, middle)
    return beyond


def _check_hashes(draw: Draw, table: Hashed) -> None:
    """For some functions: the bucket's law given the function, which the output shows."""
    buckets = table.buckets.size
    for place in (0, 1, 2, 0x80, 0xFF):
        for value in table.kinds:
            drawn = _by_number(draw, value, bytes([place]) * table.index_bytes)
            counted: Counter[int] = Counter()
            start = 0
            while start < NUMBER and len(counted) <= buckets:
                output = as_int(drawn(start))
                end = _end(drawn, start, output, table.buckets.other[:1])
                counted[output] += end - start
                start = end
            weights = sorted(counted.values())
            published = sorted(table.buckets.weight(0, bucket) for bucket in range(buckets))
            if weights != published or len({output // buckets for output in counted}) != 1:
                raise Wrong(f"value number {value}: buckets have the weights {weights}, not the published {published}")


def _check_subset(draw: Draw, table: Subset) -> None:
    """For some random numbers: the set that the published rule makes of them, on both sides of the true value's weight.

    The rule: one number says whether the true value is in the set; then, for m = k−d … k−1, the number ⌊u·m/2⁵³⌋ among
    the other values is taken, or number m−1 if that was taken before; the first is left out where the true value is in.
    """
    for turn in range(SETS_TRIED):
        noise = hashlib.shake_256(bytes([turn])).digest(7 * table.chosen)
        for value in {*table.kinds, turn % table.size}:
            for number in (0, table.inside - 1, table.inside, NUMBER - 1):
                first = (number << SPARE_BITS).to_bytes(7, "little")
                found = _members(draw(value, _exactly(first + noise)), table.size)
                if found != _published_set(table, value, number < table.inside, noise):
                    raise Wrong(f"value number {value}: the set is not the one that the random numbers pick")


def _check_tiers(draw: Draw, table: Tiers) -> None:
    """For some random numbers: the set that the published rule makes of them, on both sides of the weights.

    The rule: one number names a value, the truth or, by weight, any one; then, for m = s−d+1 … s−1, others of its tier
    are taken as in `_check_subset`. What is left of the random numbers is not used.
    """
    ends = list(accumulate(table.other, initial=table.kept))
    starts = {ends[place] for place in {0, *table.kinds}} - {NUMBER}
    edges = {0, NUMBER - 1, *starts, *(start - 1 for start in starts)}
    for turn in range(SETS_TRIED):
        noise = hashlib.shake_256(bytes([turn])).digest(7 * (max(table.chosen) - 1))
        for value in {*table.kinds, turn % table.size}:
            for number in edges:
                named = value if number < table.kept else bisect_right(ends, number) - 1
                first = (number << SPARE_BITS).to_bytes(7, "little")
                found = _members(draw(value, _exactly(first + noise)), table.size)
                if found != _published_tier_set(table, named, noise):
                    raise Wrong(f"value number {value}: the set is not the one that the random numbers pick")


def _published_tier_set(table: Tiers, named: int, noise: bytes) -> list[int]:
    tier, steps = table.tier(named), table.chosen[named] - 1
    others = [place for place in tier if place != named]
    taken: list[int] = []
    for place in range(steps):
        count = len(tier) - steps + place
        other = (int.from_bytes(noise[7 * place : 7 * place + 7], "little") >> SPARE_BITS) * count // NUMBER
        taken.append(count - 1 if other in taken else other)
    return sorted([named, *(others[other] for other in taken)])


def _published_set(table: Subset, value: int, has_value: bool, noise: bytes) -> list[int]:  # noqa: FBT001
    taken: list[int] = []
    for place, count in enumerate(range(table.size - table.chosen, table.size)):
        number = int.from_bytes(noise[7 * place : 7 * place + 7], "little") >> SPARE_BITS
        other = number * count // NUMBER
        if place or not has_value:
            taken.append(count - 1 if other in taken else other)
    return sorted([other + (other >= value) for other in taken] + [value] * has_value)


def _members(output: Output, size: int) -> list[int]:
    """The values in a set: those whose bit is 1, or those that are listed, whichever the length says."""
    packed = output if isinstance(output, bytes) else b""
    if len(packed) == (size + 7) // 8:
        return [value for value in range(size) if packed[value // 8] >> value % 8 & 1]
    width = ((size - 1).bit_length() + 7) // 8
    return [int.from_bytes(packed[start : start + width], "little") for start in range(0, len(packed), width)]


def _check_blocks(draw: Draw, table: Blocks) -> None:
    """On both sides of the weight: every block has its run of the 2¹²⁸ numbers, and contains the value or does not."""
    for value in table.kinds:
        for number, inside in ((0, True), (table.truth - 1, True), (table.truth, False), (NUMBER - 1, False)):
            among = table.own if inside else table.blocks - table.own
            places = range(among) if among <= MOST_BLOCKS else range(0, among, among // MOST_BLOCKS)
            last = (number << SPARE_BITS).to_bytes(7, "little")
            runs = [(-(-place * INDEX // among), -(-(place + 1) * INDEX // among) - 1) for place in places]
            found = [{as_int(draw(value, _exactly(end.to_bytes(16, "little") + last))) for end in run} for run in runs]
            outputs = set().union(*found)
            if any(not 0 <= output < table.blocks for output in outputs):
                raise Wrong(f"value number {value}: some output is none of the {table.blocks} published ones")
            if any(table.contains(output, value) is not inside for output in outputs):
                raise Wrong(f"value number {value}: blocks do not contain it for exactly {table.truth} of 2^53 numbers")
            if any(len(run) > 1 for run in found) or len(outputs) < len(runs):
                raise Wrong(f"value number {value}: blocks of one kind do not have the same number of random numbers")


def _check_subsets(draw: Draw, value: int, table: Meeting) -> None:
    """The class of a subset changes exactly at its weight, and every subset of a class has one rank."""
    filled = value | (1 << table.at_most - value.bit_count()) - 1 << table.size
    length = rank_bytes(comb(table.size + table.at_most, table.chosen))
    for number, count, meets in ((table.meets - 1, table.meeting, True), (table.meets, table.missing, False)):
        first = (number << SPARE_BITS).to_bytes(7, "little")
        ranks = range(count) if count <= MOST_PIECES else [count * part // MOST_PIECES for part in range(MOST_PIECES)]
        seen = set()
        for rank in ranks:
            noise = (-(-rank * 256**length // count)).to_bytes(length, "little")
            subset = as_int(draw(value, _exactly(first, noise)))
            if subset.bit_count() != table.chosen or bool(subset & filled) != meets:
                words = f"a subset of {table.chosen} places does not meet it for exactly {table.meets} of 2^53 numbers"
                raise Wrong(f"value number {value}: {words}")
            seen.add(subset)
        if len(seen) < len(ranks):
            raise Wrong(f"value number {value}: {len(ranks)} ranks give only {len(seen)} different subsets")


def _check_bits(draw: Draw, table: Bits, values: Iterable[int], *, sets: bool) -> None:
    """For every weight: bits change exactly where 32 random digits pass it."""
    length = (table.size + 7) // 8
    for value in values:
        weights = [
            (table.kept if value >> bit & 1 else table.raised)[bit] if sets else table.one(value, bit)
            for bit in range(table.size)
        ]
        sides = [(weight, below) for weight in sorted(set(weights)) for below in (weight - 1, weight)]
        for weight, below in sides:
            if 0 <= below < BIT:
                noise = _digits(below, length) + (b"" if sets else below.to_bytes(4, "little"))
                bits = as_int(draw(value, _exactly(noise)))
                for bit, own in enumerate(weights):
                    if own == weight and bits >> bit & 1 != (below < weight):
                        words = f"bit {bit} is not 1 for exactly {weight} of 2^32 random numbers"
                        raise Wrong(f"value number {value}: {words}")


def _digits(number: int, length: int) -> bytes:
    """Random bytes in which every bit's 32 digits say this number: a digit 0 is drawn as a 1, lowest digit first."""
    return b"".join((b"\x00" if number >> digit & 1 else b"\xff") * length for digit in range(32))
