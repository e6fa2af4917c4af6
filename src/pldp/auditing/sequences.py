"""What a sequence of reports tells about a life story: the answers of one person, round after round.

Every rule of `repeat` is a channel from stories to sequences of reports. For few values and rounds it is written down
as a table, all stories against all sequences, and ε between any two stories is read off.
"""

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from pldp.auditing.exact import audit_level
from pldp.epsilon import MICRO
from pldp.errors import AuditError
from pldp.mechanisms import Stages
from pldp.survey import ONCE, TRACKED, Question, charge

FloatArray = npt.NDArray[np.float64]
Story = tuple[int, ...]

MOST_ENTRIES: Final = 1 << 22
"""Stories × sequences that are written down."""


class Stories(NamedTuple):
    """All stories over some rounds, and ln Pr of every sequence of reports given each (stories × sequences)."""

    stories: tuple[Story, ...]
    logarithms: FloatArray

    def epsilon(self, one: int, two: int) -> float:
        """ε between two stories."""
        return float(np.abs(self.logarithms[one] - self.logarithms[two]).max())

    def epsilons(self) -> FloatArray:
        """ε between any two stories."""
        rows = self.logarithms
        return np.array([np.abs(rows - row).max(axis=1) for row in rows])


def story_probability(permanent: FloatArray, instant: FloatArray, story: Sequence[int]) -> FloatArray:
    """Pr of every sequence of reports of a tracked story: an axis per round.

    Rounds with one value share its permanent output b: Π_v Σ_b P(b|v) Π_t I(z_t|b) over the rounds t of value v.
    """
    rounds, outputs = len(story), instant.shape[1]
    total = np.ones((1,) * rounds)
    for value in set(story):
        places = [place for place, own in enumerate(story) if own == value]
        shared = np.zeros((1,) * rounds)
        for settled, chance in enumerate(permanent[value]):
            term = np.full((1,) * rounds, chance)
            for place in places:
                axis = [1] * rounds
                axis[place] = outputs
                term = term * instant[settled].reshape(axis)
            shared = shared + term
        total = total * shared
    return total


def tracked_stories(permanent: FloatArray, instant: FloatArray, rounds: int) -> Stories:
    """Write down all stories of a tracked answer."""
    values = range(len(permanent))
    stories = tuple(itertools.product(values, repeat=rounds))
    if len(stories) * instant.shape[1] ** rounds > MOST_ENTRIES:
        raise AuditError(f"{len(permanent)} values over {rounds} rounds are too many stories to write down")
    rows = [np.log(story_probability(permanent, instant, story)).ravel() for story in stories]
    return Stories(stories, np.array(rows))


def fresh_stories(table: FloatArray, rounds: int) -> Stories:
    """Write down all stories of an answer that is drawn anew in every round."""
    stories = tuple(itertools.product(range(len(table)), repeat=rounds))
    rows = [np.log(_outer([table[value] for value in story])).ravel() for story in stories]
    return Stories(stories, np.array(rows))


def once_stories(table: FloatArray, rounds: int) -> Stories:
    """Write down all stories of an answer that is drawn in the first round and never again."""
    stories = tuple(itertools.product(range(len(table)), repeat=rounds))
    return Stories(stories, np.array([np.log(table[story[0]]) for story in stories]))


def _outer(rows: Sequence[FloatArray]) -> FloatArray:
    total = np.ones(())
    for row in rows:
        total = np.multiply.outer(total, row)
    return total


def exact_sequence(rule: str, question: Question, level: int, rounds: int) -> float:
    """Return ε of a sequence of reports to a question, between the two stories that are easiest to tell apart.

    Answers without protection are left out: a report can prove them.

    Parts of a tracked answer that have more values than can be written down are judged by three: the two outermost ones
    and one between them.
    """
    if rule == TRACKED:
        parts = question.stages[level].parts()
        return float(
            question.largest_difference(
                [_part_epsilon(to_array(first), to_array(second), rounds) for first, second in parts]
            )
        )
    exact = audit_level(question, level)
    single = question.largest_difference(exact.parts, exact.absent) / MICRO
    return single if rule == ONCE else rounds * single


def _part_epsilon(permanent: FloatArray, instant: FloatArray, rounds: int) -> float:
    if not instant.all():
        return math.inf
    values = sorted({0, len(permanent) // 2, len(permanent) - 1})
    others = [output for output in range(instant.shape[1]) if output not in values]
    if len(others) > rounds and len(permanent) == instant.shape[1]:
        # Outputs that are none of these values are all alike: a sequence shows at most as many as it has rounds.
        instant = instant[:, [*values, *others[:rounds]]]
    return float(tracked_stories(permanent[values], instant, rounds).epsilons().max())


def stated_sequence(rule: str, question: Question, level: int, rounds: int) -> int:
    """Return what the ledger charges for so many rounds, in micro-ε."""
    times = 1 if rule == ONCE else rounds
    return sum(charge(rule, question, level, earlier) for earlier in range(times))


def claimed_between(rule: str, question: Question, level: int, one: Story, two: Story, single: float) -> float:
    """Return the ε claimed between two stories of two answers, of which one report tells `single`."""
    differ = sum(a != b for a, b in zip(one, two, strict=True))
    if rule == ONCE:
        return single if one[0] != two[0] else 0.0
    if rule != TRACKED:
        return differ * single
    most = differ * question.instant_charge(level)
    constant = len({*one}) == len({*two}) == 1
    return min(most, question.permanent_charge(level) if constant else most) / MICRO


def log_probability(stages: Stages, story: Sequence[int], reports: Sequence[int]) -> float:
    """ln Pr of a long sequence of reports of a tracked answer, up to what all stories share (the hash function)."""
    ((first, second),) = stages.parts()
    permanent, instant = np.log(to_array(first)), np.log(to_array(second))
    total = 0.0
    for value in set(story):
        shown = [report for own, report in zip(story, reports, strict=True) if own == value]
        total += float(np.logaddexp.reduce(permanent[value] + instant[:, shown].sum(axis=1)))
    return total


def to_array(table: Sequence[Sequence[Fraction]]) -> FloatArray:
    """Return Q as floats, values × outputs."""
    return np.array(table, np.float64)
