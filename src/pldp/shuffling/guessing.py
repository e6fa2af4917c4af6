"""How often an observer of one report guesses the answer right."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pldp.mechanisms import Channel
from pldp.shuffling.laws import laws_of, matrix_of
from pldp.shuffling.whole import whole_report
from pldp.survey import Survey


class Guess(NamedTuple):
    """How often the best guess is right: with the report, and without it. `exact`, or else at most."""

    chance: float
    blind: float
    exact: bool

    def to_mapping(self) -> dict[str, Any]:
        """Return plain data."""
        return self._asdict()

    @property
    def words(self) -> str:
        """In words."""
        return (
            f"{'' if self.exact else 'at most '}{write_share(self.chance)} (without a report {write_share(self.blind)})"
        )


def write_share(share: float) -> str:
    """Write a share in percent, with as many digits as tell it from none and from all.

    >>> write_share(0.4754), write_share(1 / 65536), write_share(1.0)
    ('47.5 %', '0.00153 %', '100 %')
    """
    percent = 100 * share
    return f"{percent:.1f} %" if 1 <= percent < 100 else f"{percent:.3g} %"


def guess(channel: Channel, prior: Sequence[float] | None = None) -> Guess:
    """Return how often the best guess of a value from one report is right, if values are as likely as the prior says.

    Without a prior all are equally likely. Of sets, the prior is the share of each item, on its own.

    >>> from pldp.mechanisms import build
    >>> found = guess(build("krr", 4, 1_000_000))
    >>> round(found.chance, 4), found.blind, found.exact
    (0.4754, 0.25, True)
    """
    blind = _blind(channel, prior)
    found = channel.best_guess(prior)
    if found is not None:
        return Guess(min(1.0, max(found, blind)), blind, exact=True)
    matrix = matrix_of(channel)
    if matrix is not None:
        shares = np.full(channel.size, 1 / channel.size) if prior is None else np.asarray(prior, np.float64)
        return Guess(min(1.0, float((matrix * shares).max(axis=1).sum())), blind, exact=True)
    # No output is likelier than the largest ratio times the blanket, whatever the value.
    finite = math.isfinite(channel.epsilon)
    most = max(float(law.one.max()) for law in laws_of(channel)) if finite else math.inf
    return Guess(min(1.0, blind * most, blind * math.exp(min(channel.epsilon, 700.0))), blind, exact=False)


def _blind(channel: Channel, prior: Sequence[float] | None) -> float:
    if channel.domain != "sets":
        return 1 / channel.size if prior is None else float(max(prior))
    if prior is not None:
        return math.prod(max(share, 1 - share) for share in prior)
    largest = getattr(channel, "largest_set", channel.size)
    return (
        2.0**-channel.size
        if largest == channel.size
        else 1 / sum(math.comb(channel.size, n) for n in range(largest + 1))
    )


def guess_all(guesses: Sequence[Guess]) -> Guess:
    """Return how often all answers of a report are guessed right, if they do not depend on each other."""
    chance, blind = (math.prod(each) for each in zip(*((one.chance, one.blind) for one in guesses), strict=True))
    return Guess(chance, blind, exact=all(one.exact for one in guesses))


class GuessRow(NamedTuple):
    """One question at one level, or the whole report where `question` is empty.

    `equal` is if all answers are equally likely, `given` if they are as likely as assumed; answers to different
    questions do not depend on each other.
    """

    question: str
    level: str
    equal: Guess
    given: Guess | None

    def to_mapping(self) -> dict[str, Any]:
        """Return plain data."""
        given = None if self.given is None else self.given.to_mapping()
        return {"question": self.question, "level": self.level, "equal": self.equal.to_mapping(), "given": given}


def guesses(survey: Survey, priors: Mapping[str, Sequence[float]] | None = None) -> tuple[GuessRow, ...]:
    """Return how often an observer who knows the level guesses right: every answer, and whole reports.

    `priors` has the shares of a question's answers by its name; of sets, those of their labels.

    >>> row = guesses(Survey.load("examples/commute.toml"))[-1]
    >>> row.question, row.level, round(row.equal.chance, 3), round(row.equal.blind, 3)
    ('', 'open', 0.525, 0.083)
    """
    known = priors or {}
    found = {}
    for question in survey.questions:
        prior = known.get(question.name)
        for level, channel in zip(question.levels, question.channels, strict=True):
            given = None if prior is None else guess(channel, prior)
            found[question.name, level.name] = GuessRow(question.name, level.name, guess(channel), given)
    rows = list(found.values())
    if len(survey.questions) > 1:
        for level in survey.levels:
            own = [found[each.name, level.name] for each in whole_report(survey, level.name)]
            assumed = [row.given for row in own if row.given is not None]
            together = guess_all(assumed) if assumed and len(assumed) == len(own) else None
            rows.append(GuessRow("", level.name, guess_all([row.equal for row in own]), together))
    return tuple(rows)


def guess_sentences(survey: Survey) -> tuple[str, ...]:
    """Say it in words, a sentence for each question and for whole reports."""
    rows = guesses(survey)
    found = []
    for name in dict.fromkeys(row.question for row in rows):
        what = f"a report and guesses the answer to {name!r}" if name else "a whole report and guesses all of it"
        levels = "; ".join(f"{row.level} {row.equal.words}" for row in rows if row.question == name)
        found.append(f"Someone who sees {what}, all answers being equally likely, is right: {levels}.")
    return tuple(found)
