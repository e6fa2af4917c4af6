"""Results as plain data, written by hand in the shape of `to_mapping()`."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any


def row(label: Any, estimate: float, error: float | None, **extra: Any) -> dict[str, Any]:
    reach = None if error is None else 1.96 * error
    low, high = (None, None) if reach is None else (estimate - reach, estimate + reach)
    return {"label": label, "estimate": estimate, "standard_error": error, "low": low, "high": high, **extra}


def result(name: str, kind: str, rows: list[dict[str, Any]], /, **extra: Any) -> dict[str, Any]:
    return {
        "name": name,
        "text": "",
        "kind": kind,
        "unit": "share",
        "reports": 1000,
        "method": "unbiased, pooled by precision",
        "target": "population",
        "confidence": 0.95,
        "rows": rows,
        "notes": [],
        "assumptions": ["devices are honest", "people are a sample"],
        "manipulation": 3.21,
        "homogeneity": {"statistic": 12.34, "degrees": 5, "p_value": 0.03, "rejected": False},
        "groups": [
            {"level": "strict", "mechanism": "krr", "epsilon": 0.5, "reports": 600, "weight": 0.2},
            {"level": "open", "mechanism": "oue", "epsilon": 2.0, "reports": 400, "weight": 0.8},
        ],
        "levels": [],
    } | extra


MODES = {"walk": 0.12, "bike": 0.21, "car": 0.3134, "bus, tram or underground": 0.17, "train": 0.15, "other": -0.006}


def choice(**extra: Any) -> dict[str, Any]:
    rows = [row(label, share, 0.012, point=max(0.0, share)) for label, share in MODES.items()]
    return result("mode", "choice", rows, **{"text": "How do you get to work?"} | extra)


def choices(**extra: Any) -> dict[str, Any]:
    rows = [row(label, share, 0.02) for label, share in {"bread": 0.61, "milk": 0.42, "beer": 0.1}.items()]
    both = row("", 0.31, 0.03)
    sets = [
        {"items": ["bread", "milk"], **{name: both[name] for name in ("estimate", "standard_error", "low", "high")}}
    ]
    rule = {"antecedent": ["milk"], "consequent": ["bread"], "confidence": 0.74, "confidence_error": 0.05, "lift": 1.2}
    return result(
        "basket",
        "choices",
        rows,
        **{"sets": sets, "rules": [rule], "min_support": 0.1, "promise": "all is well"} | extra,
    )


def number(*, low: float = 0.0, high: float = 200.0, noise: float = 0.3, **extra: Any) -> dict[str, Any]:
    bins, width = 64, (high - low) / 64
    heights = [math.exp(-(((place - 20) / 9) ** 2)) for place in range(bins)]
    shares = [height / sum(heights) for height in heights]
    quantiles = dict(zip(("5 %", "25 %", "50 %", "75 %", "95 %"), (0.14, 0.25, 0.32, 0.4, 0.52), strict=True))
    rows = [row("mean", low + 0.33 * (high - low), 0.004 * (high - low))]
    rows += [row(label, low + place * (high - low), 0.006 * (high - low)) for label, place in quantiles.items()]
    density = {
        "edges": [low + width * place for place in range(bins + 1)],
        "shares": shares,
        "low": [share * (1 - noise) for share in shares],
        "high": [share * (1 + noise) + 0.001 for share in shares],
        "roughness": 0.0,
        "converged": True,
    }
    return result("spent", "number", rows, **{"unit": "euros", "density": density, "moves": 1.234} | extra)


def two_way(**extra: Any) -> dict[str, Any]:
    rows = [
        row([late, mode], share * part, 0.015, consistent=max(0.0, share * part))
        for late, part in (("no", 0.7), ("yes", 0.3))
        for mode, share in MODES.items()
    ]
    return result("late × mode", "table", rows, **{"questions": ["late", "mode"], "groups": []} | extra)


WARNING = {"code": "levels-disagree", "text": "People of different levels answer differently", "severity": "warning"}

TEST = {"statistic": 3.2, "comparisons": 6, "p_value": 0.0082, "level": 0.05, "rejected": True}


def change(**extra: Any) -> dict[str, Any]:
    rows = [row(label, share / 10, 0.012) for label, share in MODES.items()]
    return result("mode", "change", rows, **{"of": "choice", "test": TEST, "groups": []} | extra)


def trend(**extra: Any) -> dict[str, Any]:
    """Three rounds; the car loses, for sure from the second to the third."""
    names = ("round 1", "round 2", "round 3")
    lost = dict(zip(names, (0.0, 0.01, 0.1), strict=True))
    rows = [
        row(label, share - (label == "car") * lost[name], 0.012, round=name)
        for name in names
        for label, share in MODES.items()
    ]
    changes, since_first = (
        [
            row(label, (label == "car") * (lost[since] - lost[name]), 0.017, round=name, since=since)
            for since, name in pairs
            for label in MODES
        ]
        for pairs in (pairwise(names), ((names[0], name) for name in names[1:]))
    )
    rounds = [{"name": name, "reports": 1000} for name in names]
    own = {"of": "choice", "test": TEST, "groups": [], "rounds": rounds, "changes": changes, "since_first": since_first}
    return result("mode", "trend", rows, **own | extra)


EVERY_KIND = {
    "choice": choice, "choices": choices, "number": number, "table": two_way, "change": change, "trend": trend,
}  # fmt: skip


def results() -> dict[str, Any]:
    beside = {
        "method": "unbiased, levels weighted by precision",
        "assumptions": [],
        "rows": [row(label, share + 0.02, 0.006, unseen_bias=0.04) for label, share in MODES.items()],
        "p_value": 0.3,
        "rejected": False,
        "said": True,
    }
    return {
        "survey": "0" * 64,
        "title": "How people get to work & shop",
        "reports": 1000,
        "rejected": 3,
        "rejections": {"malformed": 3},
        "questions": [choice(notes=[WARNING], alike=beside), choices(), number()],
        "tables": [two_way()],
        "missing": [{"name": "late", "reason": "no reports answer it"}],
    }
