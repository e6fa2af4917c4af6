"""Claims of papers as data: the sentence, where it stands, what decides it, and a verdict of three values.

A rule compares a number of a run with a limit, by the number's sampling error: the claim holds, or fails, only if the
number is on that side of the limit by `SURE` standard errors; otherwise it is undecided. So a verdict does not flip
with the seed of a run. Rule and limit come before the run; `Finding.power` says what the run could have told apart.

>>> at_most(0.47, 0.01, 0.5).verdict, at_most(0.47, 0.001, 0.5).verdict, at_most(0.6, 0.01, 0.5).verdict
('undecided', 'holds', 'fails')
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

Result = Mapping[str, Any]
"""What an experiment returned."""

Verdict = Literal["holds", "fails", "undecided"]

SURE: Final = 4.0
"""Standard errors from the limit that decide: wrong in 3 of 100,000 cases where the truth is on the limit."""

_EIGHTY: Final = 0.8416212335729143
"""Quantile of the normal distribution for a power of 80 %."""


@dataclass(frozen=True)
class Finding:
    """What a run says about a claim.

    `measured` is the number that decides, `error` its standard error (0 where it is computed, not sampled), and `power`
    the distance from the limit that would be decided with a probability of 80 %; `reason` says in words what was found.
    `margin` is the distance from the limit in standard errors, negative where the claim is not true.
    """

    verdict: Verdict
    reason: str
    measured: float | None = None
    error: float | None = None
    power: float | None = None
    margin: float = 0.0


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper, quoted with its qualifiers.

    `where` is its place, `setting` the data, people, runs and parameters that it is judged in, with what differs from
    the paper's, and `rule` says what decides. A sentence that can be read in several ways is a claim for each
    `reading`. `ours` marks a claim of our own, which is counted apart.
    """

    where: str
    quote: str
    setting: str
    rule: str
    decide: Callable[[Result], Finding]
    reading: str = ""
    ours: bool = False

    def judge(self, paper: str, result: Result) -> dict[str, Any]:
        """Return the claim with its verdict as plain data."""
        found = self.decide(result)
        return {
            "paper": paper,
            "where": self.where,
            "quote": self.quote,
            "reading": self.reading,
            "setting": self.setting,
            "rule": self.rule,
            "verdict": found.verdict,
            "reason": found.reason,
            "measured": found.measured,
            "error": found.error,
            "power": found.power,
            "ours": self.ours,
        }


def at_most(value: float, error: float, limit: float, words: str = "") -> Finding:
    """Decide whether a number is at most a limit."""
    return _decide(value, error, limit, limit - value, words)


def at_least(value: float, error: float, limit: float, words: str = "") -> Finding:
    """Decide whether a number is at least a limit."""
    return _decide(value, error, limit, value - limit, words)


def between(value: float, error: float, low: float, high: float, words: str = "") -> Finding:
    """Decide whether a number lies between two limits."""
    return all_of([at_least(value, error, low, words), at_most(value, error, high, words)])


def _decide(value: float, error: float, limit: float, inside: float, words: str) -> Finding:
    if not math.isfinite(value) or not math.isfinite(error):
        return Finding("undecided", words or "there is no finite number to judge by")
    margin = inside / error if error else math.copysign(math.inf, inside)
    verdict: Verdict = "undecided" if abs(margin) < SURE else "holds" if inside >= 0 else "fails"
    reason = words or f"{value:.3g} ± {error:.2g}, limit {limit:g}"
    return Finding(verdict, reason, value, error, (SURE + _EIGHTY) * error, margin)


def all_of(findings: Sequence[Finding], words: str = "") -> Finding:
    """Decide whether all of several findings hold: one that fails is enough against it.

    >>> all_of([at_most(1, 0.1, 2), at_most(1, 1, 2)]).verdict
    'undecided'
    """
    return _one_of(findings, ("fails", "undecided", "holds"), min, words)


def some_of(findings: Sequence[Finding], words: str = "") -> Finding:
    """Decide whether at least one of several findings holds."""
    return _one_of(findings, ("holds", "undecided", "fails"), max, words)


def most_of(findings: Sequence[Finding], words: str = "", share: float = 0.5) -> Finding:
    """Decide whether more than a share of several findings hold, whatever the undecided ones are.

    >>> most_of([at_most(1, 0, 2), at_most(1, 0, 2), at_most(3, 0, 2)]).verdict
    'holds'
    """
    held, failed = (sum(each.verdict == verdict for each in findings) for verdict in ("holds", "fails"))
    verdict: Verdict = "undecided"
    if held > share * len(findings):
        verdict = "holds"
    elif failed >= (1 - share) * len(findings) and findings:
        verdict = "fails"
    counts = f"{held} of {len(findings)} hold, {failed} fail"
    return Finding(verdict, f"{counts}; {words}" if words else counts, held / max(1, len(findings)))


def no_data(name: str) -> Finding:
    """Return that nothing can be said, as data are not here."""
    return Finding("undecided", f"no data: {name} is not here (pldp datasets tells how to get it)")


def ratio(value: float, error: float, other: float, other_error: float) -> tuple[float, float]:
    """Return the ratio of two means and its standard error by the delta method.

    Both are taken as independent. Methods that run on the same reports have errors that go up and down together, so
    that the ratio is known better than this says.

    >>> tuple(round(number, 3) for number in ratio(2, 0.1, 4, 0.1))
    (0.5, 0.028)
    """
    found = value / other
    return found, abs(found) * math.hypot(error / value, other_error / other) if value else other_error


def _one_of(findings: Sequence[Finding], order: Sequence[Verdict], end: Callable[..., Finding], words: str) -> Finding:
    """Return the finding that decides: of those with the first verdict in the order, that of least or most margin."""
    if not findings:
        return Finding("undecided", words or "this run has nothing to judge by")
    verdict = next(each for each in order if any(finding.verdict == each for finding in findings))
    deciding = [finding for finding in findings if finding.verdict == verdict]
    chosen = end(deciding, key=lambda finding: finding.margin)
    return replace(chosen, reason=words or chosen.reason)
