"""What a result says in words, and what stands behind it."""

from pldp.show.kinds import BY_KIND
from pldp.show.numbers import brief
from pldp.show.table import Mapped, name_of


def sentence(result: Mapped) -> str:
    """Return the result in one sentence.

    >>> row = {"label": "car", "estimate": 0.313, "standard_error": 0.01, "low": 0.29, "high": 0.33}
    >>> sentence({"name": "mode", "kind": "choice", "reports": 1000, "confidence": 0.95, "rows": [row]})
    'mode: car 31 % (29 to 33 %); 95 % intervals, from 1,000 reports'
    """
    said = BY_KIND[result["kind"]].says(result)
    known = any(row["low"] is not None for row in result["rows"])
    intervals = f"; {brief(100 * result['confidence'])} % intervals" if known else ""
    return f"{name_of(result)}: {said}{intervals}, from {result['reports']:,} reports"


def footing(result: Mapped) -> list[str]:
    """Say what stands behind a result: agreement of the levels, hidden levels, the fit, forged reports."""
    found = [
        verdict(result.get("test")),
        _agreement(result.get("homogeneity")),
        _hidden(result),
        _fit(result.get("fit")),
    ]
    return [*filter(None, (*found, BY_KIND[result["kind"]].influence(result)))]


def assumptions(result: Mapped) -> str:
    """Return what the errors assume, in one sentence."""
    return f"Errors assume: {'; '.join(result['assumptions'])}." if result.get("assumptions") else ""


def verdict(test: Mapped | None) -> str:
    """Return the test of change in a sentence.

    >>> verdict({"statistic": 3.2, "comparisons": 6, "p_value": 0.0082, "level": 0.05, "rejected": True})
    'Did anything change? The largest of 6 changes is 3.2 standard errors, p = 0.0082: yes, at the 5 % level.'
    """
    if not test or test["p_value"] is None:
        return ""
    count, level = f"{test['comparisons']:,}", f"at the {brief(100 * test['level'])} % level"
    numbers = f"The largest of {count} changes is {test['statistic']:.1f} standard errors, p = {test['p_value']:.2g}"
    return f"Did anything change? {numbers}: {'yes' if test['rejected'] else 'no sign of it'}, {level}."


def _agreement(test: Mapped | None) -> str:
    if not test:
        return ""
    verdict = "they do NOT agree" if test["rejected"] else "no sign that they disagree"
    degrees = "1 degree" if test["degrees"] == 1 else f"{test['degrees']:,} degrees"
    numbers = f"χ² = {test['statistic']:.1f} on {degrees} of freedom, p = {test['p_value']:.2g}"
    return f"Do people of different levels answer alike? {numbers}: {verdict}."


def _hidden(result: Mapped) -> str:
    shares = ", ".join(f"{level['level']} {brief(100 * level['share'])} %" for level in result.get("levels") or ())
    return f"Levels are hidden in reports; estimated choices: {shares}." if shares else ""


def _fit(fit: Mapped | None) -> str:
    if not fit:
        return ""
    state = "converged" if fit["converged"] else "did NOT converge"
    return f"Fit {state}: gap {fit['gap']:.1e} after {fit['steps']:,} steps."
