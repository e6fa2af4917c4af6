"""The verb `audit`: try to refute the promise of a survey, of a mechanism of this package, or of any function."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np

from pldp.auditing.calls import Called, call
from pldp.auditing.columns import columns_of_arrays
from pldp.auditing.devices import observe_requests
from pldp.auditing.judging import AuditSettings, Promise, judge, to_matrix
from pldp.auditing.kinds import BY_KIND
from pldp.auditing.result import HIDDEN, Audit, Row
from pldp.auditing.sampled import LEAST_SAMPLES, tightest
from pldp.auditing.search import search
from pldp.auditing.surveys import SAMPLES, audit_document, audit_survey
from pldp.errors import AuditError
from pldp.mechanisms import REGISTRY, family
from pldp.shuffling import guess_sentences, shuffle_sentences
from pldp.survey import Survey, survey_from_mapping

CALLS: Final = 20_000  # per value of a function, unless another number is asked for
DEFAULT: Final = AuditSettings()
LABEL: Final = "label"  # the mechanism that hides the level
NAMES: Final = (*REGISTRY, LABEL)
"""Names of the mechanisms that can be audited."""


def mechanism_survey(name: str, epsilon: str = "1") -> Survey:
    """Return a survey of one question that uses the mechanism: four labels, or 64 buckets, at one level of this ε.

    >>> mechanism_survey("oue").questions[0].channels[0].mechanism
    'oue'
    """
    if name not in NAMES:
        known = f"mechanism must be one of {', '.join(NAMES)}, not {name[:40]!r}"
        raise AuditError(f"{known}; a survey file is audited by pldp.audit(pldp.Survey.load(path))")
    document: dict[str, Any] = {"pldp": 1, "title": f"Audit of {name}", "levels": {"one": epsilon}}
    if name == LABEL:
        document |= {"levels": {"strict": "0.5", "one": epsilon}, "hide_level": {"epsilon": "0.5"}}
        question = {**BY_KIND["choice"].example("krr"), "name": LABEL}
    else:
        question = next(kind for kind in BY_KIND.values() if kind.domain == family(name).domain).example(name)
    return survey_from_mapping({**document, "questions": [question]})


def audit(
    target: Survey | str | Mapping[str, Any] | Callable[..., Any] | None = None,
    values: Sequence[Any] | None = None,
    *,
    epsilon: float | None = None,
    samples: int | None = None,
    rounds: int = 1,
    vectorised: bool = False,
    settings: AuditSettings = DEFAULT,
) -> Audit:
    """Try to refute a promise of ε; an audit only ever rejects.

    Parameters
    ----------
    target
        A `Survey`: every question and level, exactly and on a device. The name of a mechanism of this package, or
        nothing for all of them. A survey document as plain data: its published weights only. Or any function
        `mechanism(value)` whose output may be a number, text, bytes, or lists and tables of these.
    values
        For a function: the values between which ε is claimed, two or more.
    epsilon
        For a function: the claimed ε.
    samples
        Calls per value, or people per value on the Python device, on average: each draws a value at random.
        0 audits a survey exactly and samples nothing.
    rounds
        With more than 1, `mechanism()` makes a person, and that person's answers to `rounds` times the same value are
        the output: what many rounds tell together is held against the same ε.
    vectorised
        The function takes an array of places in `values` and returns an array of outputs (integers, floats, or rows of
        packed bits): ten million samples per value take seconds.
    settings
        Chance of a false alarm, time limit, the devices, progress.

    Examples
    --------
    A coin that lies too seldom:

    >>> import random
    >>> found = audit(lambda value: value if random.random() < 0.8 else 1 - value, [0, 1], epsilon=1.0)
    >>> found.rows[0].verdict, found.rows[0].sampled.epsilon > 1.2
    ('refuted', True)

    Published weights, exactly:

    >>> [row.exact for row in audit("krr", samples=0).rows]
    [1.0]
    """
    if not callable(target):
        return _audit_known(target, SAMPLES if samples is None else _count(samples, least=0), settings)
    if epsilon is None or values is None:
        raise AuditError("epsilon and values must be given for a function: what is claimed, and between which values")
    if not (isinstance(epsilon, int | float) and 0 <= epsilon < math.inf):
        raise AuditError(f"epsilon must be a finite number of at least 0, not {epsilon!r}")
    if len(values) < 2:
        raise AuditError(f"values must be at least 2, not {len(values)}")
    count = _count(CALLS if samples is None else samples)
    name = getattr(target, "__name__", type(target).__name__)
    claims = to_matrix(float(epsilon), len(values))
    if vectorised:
        found = _vectorised(target, count, claims, settings.false_alarm)
    else:
        take = partial(_take, target if rounds == 1 else _person(target, rounds), values, count, settings)
        every = range(len(values))
        promise = Promise(claims, every, "output")
        found = judge(take(), promise, settings, error=settings.false_alarm, more=take)
    return Audit(name, "", (Row(name, "", "", "callable", float(epsilon), **found),))


def _take(
    mechanism: Callable[[Any], Any], values: Sequence[Any], count: int, settings: AuditSettings, times: int = 1
) -> Called:
    return call(
        mechanism, values, count * times, timeout=settings.timeout, clock=settings.clock, progress=settings.progress
    )


def audit_observed(
    who: Sequence[int],
    requests: Sequence[Sequence[Mapping[str, Any]]],
    *,
    epsilon: float,
    times: Sequence[int] | None = None,
    settings: AuditSettings = DEFAULT,
) -> Audit:
    """Try to refute ε by requests that were recorded elsewhere: on a page in a browser, on a phone, at a proxy.

    `who` is the place of the value behind each person's requests; it must be drawn at random for each, all values with
    the same chance (`draw_values`). Each request is a table of `url`, `headers` (a list of pairs) and `body` (text);
    `times` are nanoseconds, where they were taken.

    >>> import random
    >>> who = [random.randrange(2) for _ in range(400)]
    >>> sent = [[{"url": "POST /v1/reports", "headers": [["x", "yes"]], "body": '{"n": %d}' % value}] for value in who]
    >>> audit_observed(who, sent, epsilon=1).rows[0].verdict
    'refuted'
    """
    values = max(who, default=0) + 1
    if len(who) != len(requests) or len(who) != len(who if times is None else times):
        raise AuditError(f"requests and times must be those of the {len(who):,} people in who; their numbers differ")
    if values < 2 or len(who) < values * LEAST_SAMPLES:
        raise AuditError(f"who must name at least 2 values and {LEAST_SAMPLES} people of each, not {len(who):,} people")
    called = Called(tuple(who), tuple(map(observe_requests, requests)), tuple(times or (0,) * len(who)))
    timed = range(values) if times is not None else ()
    promise = Promise(to_matrix(float(epsilon), values), timed)
    found = judge(called, promise, settings, error=settings.false_alarm)
    return Audit("recorded requests", "", (Row("requests", "", "", "observed", float(epsilon), **found),))


def _count(samples: int, least: int = LEAST_SAMPLES) -> int:
    if type(samples) is not int or samples < least:
        raise AuditError(f"samples must be a whole number of at least {least}, not {samples!r}")
    if 0 < samples < LEAST_SAMPLES:
        raise AuditError(f"samples must be 0 or at least {LEAST_SAMPLES} to conclude anything, not {samples}")
    return samples


def _audit_known(target: Survey | str | Mapping[str, Any] | None, samples: int, settings: AuditSettings) -> Audit:
    if isinstance(target, Survey):
        worth = (*guess_sentences(target), *shuffle_sentences(target))
        audited = tuple(audit_survey(target, samples, settings))
        return Audit(target.title, target.hash, audited, "SURVEY", worth)
    if isinstance(target, Mapping):
        return Audit(str(target.get("title", "survey")), "", tuple(audit_document(target)))
    if target is not None and not isinstance(target, str):
        kind = type(target).__name__
        raise AuditError(f"target must be a survey, the name of a mechanism, or a function, not {kind}")
    rows: list[Row] = []
    for name in NAMES if target is None else (target,):
        share = settings.false_alarm if target is not None else settings.false_alarm / len(NAMES)
        own = replace(settings, progress=None, false_alarm=share)
        found = audit_survey(mechanism_survey(name), samples, own, sequences=False)
        rows += [row for row in found if (row.level == HIDDEN) == (name == LABEL)]
        if settings.progress is not None:
            settings.progress(NAMES.index(name) + 1, len(NAMES))
    return Audit(target or "every mechanism", "", tuple(rows), target or "")


def _person(make: Callable[[], Callable[[Any], Any]], rounds: int) -> Callable[[Any], list[Any]]:
    def answers(value: Any) -> list[Any]:
        person = make()
        return [person(value) for _ in range(rounds)]

    return answers


def _vectorised(mechanism: Callable[[Any], Any], samples: int, claims: Any, error: float) -> dict[str, Any]:
    """Draw the values of all samples at once, and let the mechanism answer for all of them."""
    own = np.random.default_rng().integers(0, len(claims), samples * len(claims))
    try:
        outputs = np.asarray(mechanism(own))
    except Exception as problem:  # noqa: BLE001 - whatever it raises is the finding
        raise AuditError(f"the vectorised mechanism raised {type(problem).__name__}") from None
    if outputs.shape[:1] != own.shape:
        raise AuditError(f"a vectorised mechanism must return {len(own):,} outputs for as many values; it did not")
    bounds = search(columns_of_arrays(outputs), own, claims, error=error)
    words = tuple(str(bound) for bound in bounds if bound.refutes)
    return {
        "sampled": tightest(bounds),
        "bounds": bounds,
        "refutations": words,
        "people": len(own),
        "false_alarm": error,
    }
