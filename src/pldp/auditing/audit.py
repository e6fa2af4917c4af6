"""The verb `audit`: try to refute the promise of a survey, of a mechanism of this package, or of any function."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from pldp.auditing.calls import call
from pldp.auditing.columns import columns_of_arrays
from pldp.auditing.kinds import BY_KIND
from pldp.auditing.result import TOO_FEW, Audit, Row
from pldp.auditing.sampled import LEAST_SAMPLES, lower_bound
from pldp.auditing.surveys import HIDDEN, SAMPLES, AuditSettings, audit_document, audit_survey, judge
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
        found = _vectorised(target, len(values), count, epsilon, settings.confidence)
    else:
        observed = target if rounds == 1 else _person(target, rounds)
        called = call(
            observed, values, count, timeout=settings.timeout, clock=settings.clock, progress=settings.progress
        )
        found = judge(called, epsilon, range(len(values)), settings, "output")
    bound = found["sampled"]
    few = f"{TOO_FEW} to conclude: ε below {bound.detectable:.3g} would not have been seen"
    notes = () if bound.conclusive else (few,)
    return Audit(name, "", (Row(name, "", "", "callable", float(epsilon), notes=notes, **found),))


def _count(samples: int, least: int = LEAST_SAMPLES) -> int:
    if type(samples) is not int or samples < least:
        raise AuditError(f"samples must be a whole number of at least {least}, not {samples!r}")
    if 0 < samples < LEAST_SAMPLES:
        raise AuditError(f"samples must be 0 or at least {LEAST_SAMPLES} to conclude anything, not {samples}")
    return samples


def _audit_known(target: Survey | str | Mapping[str, Any] | None, samples: int, settings: AuditSettings) -> Audit:
    if isinstance(target, Survey):
        worth = (*guess_sentences(target), *shuffle_sentences(target))
        return Audit(target.title, target.hash, tuple(audit_survey(target, samples, settings)), worth)
    if isinstance(target, Mapping):
        return Audit(str(target.get("title", "survey")), "", tuple(audit_document(target)))
    if target is not None and not isinstance(target, str):
        kind = type(target).__name__
        raise AuditError(f"target must be a survey, the name of a mechanism, or a function, not {kind}")
    rows: list[Row] = []
    for name in NAMES if target is None else (target,):
        found = audit_survey(mechanism_survey(name), samples, replace(settings, progress=None), sequences=False)
        rows += [row for row in found if (row.level == HIDDEN) == (name == LABEL)]
        if settings.progress is not None:
            settings.progress(NAMES.index(name) + 1, len(NAMES))
    return Audit(target or "every mechanism", "", tuple(rows))


def _person(make: Callable[[], Callable[[Any], Any]], rounds: int) -> Callable[[Any], list[Any]]:
    def answers(value: Any) -> list[Any]:
        person = make()
        return [person(value) for _ in range(rounds)]

    return answers


def _vectorised(
    mechanism: Callable[[Any], Any], values: int, samples: int, epsilon: float, confidence: float
) -> dict[str, Any]:
    try:
        outputs = [np.asarray(mechanism(np.full(samples, value))) for value in range(values)]
    except Exception as error:  # noqa: BLE001 - whatever it raises is the finding
        raise AuditError(f"the vectorised mechanism raised {type(error).__name__}") from None
    if any(part.shape[:1] != (samples,) for part in outputs):
        raise AuditError(f"a vectorised mechanism must return {samples:,} outputs for as many values; it did not")
    bound = lower_bound(columns_of_arrays(outputs), samples, values, epsilon, confidence=confidence)
    return {"sampled": bound, "refutations": (str(bound),) if bound.refutes else ()}
