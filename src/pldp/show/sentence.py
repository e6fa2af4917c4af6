"""What a result says in words, what stands behind it, and what a terminal shows of it."""

import math
from collections.abc import Sequence
from typing import Final

from pldp.show.kinds import BY_KIND, Kind
from pldp.show.kinds.kind import REGARDLESS
from pldp.show.numbers import as_sentence, brief, count_of
from pldp.show.table import Mapped, Table, groups_table, name_of

OFTEN: Final = "4 times in 5"
"""The probability with which `noticed` differences are noticed."""


def sentence(result: Mapped) -> str:
    """Return the result in one sentence.

    >>> row = {"label": "car", "estimate": 0.313, "standard_error": 0.01, "low": 0.29, "high": 0.33}
    >>> sentence({"name": "mode", "kind": "choice", "reports": 1000, "confidence": 0.95, "rows": [row]})
    'mode: car 31 % (29 to 33 %); 95 % intervals, from 1,000 reports'
    """
    kind = BY_KIND[result["kind"]]
    said = kind.says(kind.shown(result))
    known = any(row["low"] is not None for row in result["rows"])
    intervals = f"; {brief(100 * result['confidence'])} % intervals" if known else ""
    return f"{name_of(result)}: {said}{intervals}, from {count_of(result['reports'], 'report')}"


def conclusions(result: Mapped) -> list[str]:
    """Return in whole sentences what can be concluded from a result of any kind.

    What is said first holds no matter who chose which level, or begins with what was declared. What holds if people of
    all levels are alike follows where it is sharper and nothing speaks against it.

    >>> rows = [{"label": name, "estimate": share, "standard_error": 0.01, "low": share - 0.02, "high": share + 0.02}
    ...     for name, share in (("weekly", 0.46), ("daily", 0.44), ("never", 0.10))]
    >>> tie = {"label": "daily", "difference": 0.02, "low": -0.02, "high": 0.06, "more": 3000}
    >>> lead = {"label": "weekly", "tied": 1, "of": 3, "ties": [tie]}
    >>> print(*conclusions({"name": "often", "kind": "choice", "reports": 1000, "rows": rows, "lead": lead}))
    ... # doctest: +NORMALIZE_WHITESPACE
    Between 44 % and 48 % answer "weekly"; "weekly" and "daily" cannot be told apart; about 3,000 more answers would
    tell.
    """
    kind = BY_KIND[result["kind"]]
    shown = kind.shown(result)
    texts = kind.concludes(shown)
    if texts and (condition := _declared(kind, result)):
        texts = [f"{condition}: {texts[0]}", *texts[1:]]
    alike = result.get("alike")
    if alike and alike["said"] and not all("too_few" in row for row in alike["rows"]):
        texts = [*texts[:1], kind.beside(shown), *texts[1:]]
    return [as_sentence(text) for text in texts if text]


def _declared(kind: Kind, result: Mapped) -> str:
    """Return what was declared about people of different levels, as the beginning of a sentence."""
    if result.get("assumes_about_levels", "nothing") == "nothing":
        return ""
    if not result.get("differ"):
        return REGARDLESS
    low, high = kind.possible(result)
    most = kind.amount(result, result["differ"] * (high - low))
    return f"if people of different levels differ by at most {most} (declared)"


def in_full(result: Mapped) -> str:
    """Return the numbers of a result in words, and what can be concluded from them."""
    return " ".join((f"{sentence(result)}.", *conclusions(result)))


def footing(result: Mapped) -> list[str]:
    """Say what stands behind a result: the test of a change, and all checks."""
    return [*filter(None, (verdict(result.get("test"), result.get("names")), *checks(result)))]


def checks(result: Mapped) -> list[str]:
    """Say whether levels agree, what hidden levels are estimated at, whether the fit converged, and what is forged."""
    found = []
    if test := result.get("homogeneity"):
        degrees = "1 degree" if test["degrees"] == 1 else f"{test['degrees']:,} degrees"
        tests = test.get("tests", 1)  # results that older versions wrote have no such number
        worst = f", the worst of {tests:,} tests" if tests > 1 else ""
        together = " for all together" if worst else ""
        numbers = f"χ² = {test['statistic']:.1f} on {degrees} of freedom{worst}, p = {test['p_value']:.2g}{together}"
        found.append(f"Do people of different levels answer alike? {numbers}: {agreement(result)}.")
    if levels := result.get("levels"):
        shares = ", ".join(f"{level['level']} {brief(100 * level['share'])} %" for level in levels)
        found.append(f"Levels are hidden in reports; estimated choices: {shares}.")
    if fit := result.get("fit"):
        state = "converged" if fit["converged"] else "did NOT converge"
        found.append(f"Fit {state}: gap {fit['gap']:.1e} after {fit['steps']:,} steps.")
    found.append(_forged(result.get("forgery")))
    return [*filter(None, (*found, BY_KIND[result["kind"]].influence(result)))]


def agreement(result: Mapped) -> str:
    """Say whether levels agree; if nothing speaks against it, what the test would have noticed.

    >>> agreement({"homogeneity": {"rejected": False, "noticed": 0.0413}, "unit": "share"})
    'a difference of 4.1 percentage points would be noticed 4 times in 5, smaller ones less often'
    >>> agreement({"homogeneity": {"rejected": False, "noticed": 1.3}, "unit": "share"})
    'that says nothing: not even the largest possible difference would be noticed 4 times in 5'
    """
    test = result["homogeneity"]
    if test["rejected"]:
        return "they do NOT"
    noticed, of_shares = test.get("noticed"), result.get("unit", "share") == "share"
    if noticed is None:
        return "nothing speaks against it"
    low, high = (0, 1) if of_shares else result.get("bounds") or (0, math.inf)
    if noticed >= high - low:
        return f"that says nothing: not even the largest possible difference would be noticed {OFTEN}"
    amount = f"{100 * noticed:.2g} percentage points" if of_shares else f"{brief(noticed)} {result['unit']}".rstrip()
    return f"a difference of {amount} would be noticed {OFTEN}, smaller ones less often"


def _forged(forgery: Mapped | None) -> str:
    """Say whether reports look forged, and what was not looked at."""
    if not forgery or not forgery["tests"]:
        return ""
    count = len(forgery["tests"])
    if forgery["alarmed"]:
        findings = "; ".join(dict.fromkeys(each["finding"] for each in forgery["tests"] if each["finding"]))
        said = f"YES (p = {forgery['p_value']:.2g}): {findings}."
    else:
        tests = "1 test" if count == 1 else f"{count:,} tests"
        said = f"{tests} did not find any (false alarms: {brief(100 * forgery['false_alarm'])} %)."
    unseen = [f"{text[0].upper()}{text[1:]}." for text in forgery["unseen"]]
    return " ".join([f"Do reports look forged? {said}", *unseen])


def assumptions(result: Mapped) -> str:
    """Return what the errors assume, in one sentence."""
    return f"Errors assume: {'; '.join(result['assumptions'])}." if result.get("assumptions") else ""


def verdict(test: Mapped | None, groups: Sequence[str] | None = None) -> str:
    """Return the test of change, or of a difference of two groups, in a sentence.

    >>> verdict({"statistic": 3.2, "comparisons": 6, "p_value": 0.0082, "level": 0.05, "rejected": True})
    'Did anything change? The largest of 6 changes is 3.2 standard errors, p = 0.0082: yes, at the 5 % level.'
    """
    if not test or test["p_value"] is None:
        return ""
    count, level = f"{test['comparisons']:,}", f"at the {brief(100 * test['level'])} % level"
    what = "differences" if groups else "changes"
    asked = f"Do {' and '.join(groups)} differ?" if groups else "Did anything change?"
    numbers = f"The largest of {count} {what} is {test['statistic']:.1f} standard errors, p = {test['p_value']:.2g}"
    return f"{asked} {numbers}: {'yes' if test['rejected'] else 'not surely'}, {level}."


def heading(result: Mapped) -> str:
    """Return what a result is about and what it is made from."""
    return f"{name_of(result)}: {count_of(result['reports'], 'report')}, {result['method']}"


def tables(result: Mapped) -> list[Table]:
    """Return everything that is a table: rows, what the kind adds, bars in place of a picture, levels."""
    kind = BY_KIND[result["kind"]]
    return [*kind.tables(kind.shown(result)), *filter(None, (kind.bars(result), groups_table(result)))]
