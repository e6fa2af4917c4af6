"""The verb `audit`: try to refute the promise of a survey, of a mechanism of this package, or of any function."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from pldp.auditing.calls import call
from pldp.auditing.catalogue import LABEL, NAMES, mechanism_survey
from pldp.auditing.columns import columns_of, columns_of_arrays
from pldp.auditing.result import TOO_FEW, Audit, Row
from pldp.auditing.sampled import LEAST_SAMPLES, Bound, lower_bound
from pldp.auditing.settings import DEFAULT, AuditSettings
from pldp.auditing.surveys import HIDDEN, SAMPLES, audit_document, audit_survey, words_against
from pldp.auditing.timing import compare_times
from pldp.errors import AuditError
from pldp.survey import Survey

CALLS: Final = 20_000
"""Calls per value of a function, unless another number is asked for."""


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
        Calls per value, or people per value on the Python device; 0 audits a survey exactly and samples nothing.
    rounds
        With more than 1, `mechanism()` makes a person, and that person's answers to `rounds` times the same value are
        the output: what many rounds tell together is held against the same ε.
    vectorised
        The function takes an array of places in `values` and returns an array of outputs (integers, floats, or rows of
        packed bits): ten million samples per value take seconds.
    settings
        Confidence, time limit, the JavaScript client, progress.

    Examples
    --------
    A coin that lies too seldom:

    >>> import random
    >>> found = audit(lambda value: value if random.random() < 0.8 else 1 - value, [0, 1], epsilon=1.0)
    >>> found.holds, found.rows[0].sampled.epsilon > 1.2
    (False, True)

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
    if vectorised:
        bound, timing = _vectorised(target, len(values), count, epsilon, settings.confidence), None
    else:
        observed = target if rounds == 1 else _person(target, rounds)
        called = call(
            observed, values, count, timeout=settings.timeout, clock=settings.clock, progress=settings.progress
        )
        columns = columns_of(called.observations(timed=settings.timed))
        bound = lower_bound(columns, count, len(values), epsilon, confidence=settings.confidence)
        timing = compare_times(called.times) if settings.timed else None
    few = f"{TOO_FEW} to conclude: ε below {bound.detectable:.3g} would not have been seen"
    notes = () if bound.conclusive else (few,)
    row = Row(name, "", "", "callable", float(epsilon), None, bound, timing, words_against(bound, timing), notes)
    return Audit(name, "", (row,))


def _count(samples: int, least: int = LEAST_SAMPLES) -> int:
    if type(samples) is not int or samples < least:
        raise AuditError(f"samples must be a whole number of at least {least}, not {samples!r}")
    if 0 < samples < LEAST_SAMPLES:
        raise AuditError(f"samples must be 0 or at least {LEAST_SAMPLES} to conclude anything, not {samples}")
    return samples


def _audit_known(target: Survey | str | Mapping[str, Any] | None, samples: int, settings: AuditSettings) -> Audit:
    """Audit what this package knows."""
    if isinstance(target, Survey):
        return Audit(target.title, target.hash, tuple(audit_survey(target, samples, settings)))
    if isinstance(target, Mapping):
        return Audit(str(target.get("title", "survey")), "", tuple(audit_document(target)))
    if target is not None and not isinstance(target, str):
        kind = type(target).__name__
        raise AuditError(f"target must be a survey, the name of a mechanism, or a function, not {kind}")
    rows: list[Row] = []
    for name in NAMES if target is None else (target,):
        found = audit_survey(mechanism_survey(name), samples, replace(settings, progress=None))
        rows += [row for row in found if (row.level == HIDDEN) == (name == LABEL)]
        if settings.progress is not None:
            settings.progress(NAMES.index(name) + 1, len(NAMES))
    return Audit(target or "every mechanism", "", tuple(rows))


def _person(make: Callable[[], Callable[[Any], Any]], rounds: int) -> Callable[[Any], list[Any]]:
    """Let a new person answer the same in every round."""

    def answers(value: Any) -> list[Any]:
        person = make()
        return [person(value) for _ in range(rounds)]

    return answers


def _vectorised(mechanism: Callable[[Any], Any], values: int, samples: int, epsilon: float, confidence: float) -> Bound:
    try:
        outputs = [np.asarray(mechanism(np.full(samples, value))) for value in range(values)]
    except Exception as error:  # noqa: BLE001 - whatever it raises is the finding
        raise AuditError(f"the vectorised mechanism raised {type(error).__name__}") from None
    if any(part.shape[:1] != (samples,) for part in outputs):
        raise AuditError(f"a vectorised mechanism must return {samples:,} outputs for as many values; it did not")
    return lower_bound(columns_of_arrays(outputs), samples, values, epsilon, confidence=confidence)
