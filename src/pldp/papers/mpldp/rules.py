"""Rules that judge the claims of the paper on many attributes, from what the experiment returned."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np

from pldp.mechanisms.arrays import FloatArray
from pldp.papers import mpldp
from pldp.papers.claim import Finding, Result, all_of, at_least, at_most, between, no_data, some_of
from pldp.papers.paper import Row


def cells(result: Result, what: str, budgets: str = "") -> Iterator[Row]:
    """Comparisons of this name in all cells, or in those of one reading of the budgets."""
    for row in result["comparisons"]:
        if row["what"] == what and budgets in ("", row["budgets"]):
            yield row


def _pooled(result: Result, what: str, budgets: str = "") -> tuple[float, float]:
    """Mean of a comparison over all cells, with its error; cells are independent."""
    rows = list(cells(result, what, budgets))
    return (
        float(np.mean([row["value"] for row in rows])),
        float(np.sqrt(sum(row["error"] ** 2 for row in rows)) / len(rows)),
    )


Rule = Callable[..., Finding]

_NAMES: Final = {
    "largest": "maximum error,",
    "op_truth": "OP with the truth",
    "op_reference": "OP with an earlier estimate",
    "oc_consistent": "consistent OC",
    "oc": "OC",
    "brr_sum": "BRR",
    "least_squares": "least squares with the truth",
    "zero": "zeros",
    "weights": "(8) with OP's weights",
    "scaled_weights": "(8) with OP's scaled weights",
}


def _words(what: str) -> str:
    """Return the name of a comparison as people would write it."""
    if what == "sum of weights":
        return what
    return " ".join(_NAMES.get(word, word) for word in what.split(" "))


def everywhere(what: str, rule: Rule, *limits: float, budgets: str = "") -> Callable[[Result], Finding]:
    """Decide whether a comparison is on the right side of its limits in all cells."""

    def decide(result: Result) -> Finding:
        rows = list(cells(result, what, budgets))
        findings = [rule(row["value"], row["error"], *limits) for row in rows]
        low, high = (end(row["value"] for row in rows) for end in (min, max))
        return all_of(findings, f"{_words(what)}: {low:.3g} to {high:.3g} over {len(rows)} cells")

    return decide


def on_average(
    what: str, rule: Rule, *limits: float, budgets: str = "", words: str = "{0:.3g} ± {1:.1g} on average over all cells"
) -> Callable[[Result], Finding]:
    """Decide by the mean over all cells."""

    def decide(result: Result) -> Finding:
        value, error = _pooled(result, what, budgets)
        return rule(value, error, *limits, f"{_words(what)}: {words.format(value, error)}")

    return decide


def half(what: str) -> Callable[[Result], Finding]:
    """Decide whether something is so in at least half of all collections."""
    return on_average(what, at_least, 0.5, words="{0:.1%} ± {1:.1%} of all collections")


def sixty(result: Result, budgets: str) -> Finding:
    """Decide whether OC lowers the error by about 60 %, mean of all cells."""
    value, error = _pooled(result, "oc / brr_sum", budgets)
    return between(1 - value, error, 0.55, 0.65, f"OC lowers the error by {1 - value:.1%} ± {error:.1%}")


def sixty_at_best(_: Result) -> Finding:
    """Decide whether any shares of the levels let OC lower the error by about 60 %."""
    levels = [0.4286 * fraction for fraction in (1 / 3, 1 / 2, 1)]
    found = [
        1 - float(mpldp.least_mse(5, reports, levels) / mpldp.summed_mse(5, reports, levels))
        for reports in ((1, 1, 1), (1, 0.001, 1))
    ]
    words = f"{found[1]:.1%} if half of the people pick high and half low; {found[0]:.1%} with equal shares"
    return at_least(found[1], 0.0, 0.55, words)


def falls(result: Result, methods: Sequence[str], column: str) -> Finding:
    """Decide whether a column falls from ε = 1 to ε = 6 for each n, method and reading."""
    rows = {(row["budgets"], row["n"], row["method"], row["epsilon"]): row for row in result["rows"]}
    findings = []
    for budgets, people, method in dict.fromkeys(key[:3] for key in rows):
        if method in methods:
            one, two = rows[budgets, people, method, 1.0], rows[budgets, people, method, 6.0]
            error = float(np.hypot(one[f"{column}_error"], two[f"{column}_error"]))
            change = two[column] - one[column]
            findings.append(
                at_most(change, error, 0.0, f"{_words(method)}, n = {people:,}: {change:+.2f} from ε = 1 to 6")
            )
    worst = max(findings, key=lambda each: each.measured or 0.0)
    return all_of(findings, f"log10 changes least for {worst.reason}")


def slope(result: Result, low: float, high: float) -> Finding:
    """Slope of log OC error over log ε, all ε of the optimal budgets."""
    slopes, errors = [], []
    for people in (10_000, 1_000):
        rows = [row for row in result["rows"] if (row["method"], row["budgets"], row["n"]) == ("oc", "whole", people)]
        x = np.log10([row["epsilon"] for row in rows])
        centred = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
        slopes.append(float(centred @ [row["log10_nse"] for row in rows]))
        errors.append(float(np.sqrt((centred**2) @ np.square([row["log10_nse_error"] for row in rows]))))
    slope, error = float(np.mean(slopes)), math.hypot(*errors) / 2
    return between(slope, error, low, high, f"the error goes with ε to the power {slope:.2f} ± {error:.2f}")


def table_2(result: Result, *, half: bool) -> Finding:
    """Decide whether the printed budgets spend ε, or are the best for what they spend."""
    rows = result["table_2"]
    if not half:
        spent = [row["sum_of_printed"] / row["epsilon"] for row in rows]
        return at_least(min(spent), 0.0, 0.99, f"the rows spend {min(spent):.1%} to {max(spent):.1%} of ε")
    excess = max(row["excess"] for row in rows)
    odd = [f"n = {row['n']:,}, ε = {row['epsilon']:g}" for row in rows if not row["fits_half"]]
    words = f"cost above the least for what a row spends: at most {excess:.2%}; not half of ε: {'; '.join(odd)}"
    return at_most(excess, 0.0, 0.001, words)


def _paths(result: Result, *names: str) -> list[FloatArray]:
    """Maximum errors of all collections, all settings and attributes together, each over its collections' least."""
    scale = [np.mean(path["least"]) for path in result["theory"]["paths"]]
    return [
        np.concatenate(
            [np.array(path[name]) / unit for path, unit in zip(result["theory"]["paths"], scale, strict=True)]
        )
        for name in names
    ]


def _ratio_of(one: FloatArray, two: FloatArray) -> tuple[float, float]:
    value = float(one.mean() / two.mean())
    return value, float((one - value * two).std(ddof=1) / (abs(two.mean()) * np.sqrt(len(one))))


def minimises(result: Result, name: str) -> Finding:
    """Decide whether OP reaches the least maximum error."""
    one, least = _paths(result, name, "least")
    value, error = _ratio_of(one, least)
    return at_most(value, error, 1.01, f"{value:.3f} ± {error:.3f} times the least possible (a linear program)")


def rapid(result: Result) -> Finding:
    """Decide whether ten iterations do half of what all do."""
    first, tenth, limit = _paths(result, "first", "tenth", "limit")
    value, error = _ratio_of(first - tenth, first - limit)
    return at_least(value, error, 0.5, f"{value:.0%} ± {error:.0%} of the way to the limit is done in 10 iterations")


def pace(result: Result) -> Finding:
    """Decide whether the step matters for any attribute."""
    findings = []
    for path in result["theory"]["paths"]:
        value, error = _ratio_of(np.array(path["tenth_at_half_pace"]), np.array(path["tenth"]))
        words = f"half the step, {path['values']} values: maximum error × {value:.3f} ± {error:.3f}"
        findings += [at_least(value, error, 1.01, words), at_most(value, error, 0.99, words)]
    return some_of(findings)


def grows(result: Result, form: str) -> Finding:
    """Decide by counting: a theorem holds in all collections or not at all."""
    found = result["theory"]["grows"][form]
    return at_most(found["grow"], 0.0, 0, f"it grows in {found['grow']} of {found['collections']:,} collections")


def iterations(result: Result) -> Finding:
    """Decide whether the maximum error of Table 3 falls in all cells."""
    findings = [at_most(row["fall"], row["fall_error"], 1.0) for row in result["table_3"]]
    falls = [row["fall"] for row in result["table_3"]]
    return all_of(findings, f"tenth over first iteration: {min(falls):.3f} to {max(falls):.3f}")


def count(result: Result, name: str, words: str, of: str = "") -> Finding:
    """Decide that something never happens."""
    paths = result["theory"]["paths"]
    count = sum(path[name] for path in paths)
    total = f" of {sum(path[of] for path in paths)}" if of else ""
    return at_most(count, 0.0, 0, f"{count}{total} {words}")


def limit(result: Result) -> Finding:
    """Decide whether the error limit C is positive."""
    (limits,) = _paths(result, "limit")
    return at_least(float(limits.min()), 0.0, 1e-6, f"least C: {limits.min():.3g} of the mean least maximum error")


def near_zeros(result: Result) -> Finding:
    """Decide whether OP is hardly better than zeros, at 1,000 people and the printed budgets."""
    rows = [row for row in cells(result, "largest op_truth / zero", "printed") if row["n"] == 1_000]
    low, high = (end(row["value"] for row in rows) for end in (min, max))
    return all_of([at_least(row["value"], row["error"], 0.85) for row in rows], f"OP / zeros: {low:.2f} to {high:.2f}")


def adult(result: Result) -> Finding:
    """Decide whether 95 % intervals of all columns of Adult cover."""
    rows = result["adult"]
    if isinstance(rows, str):
        return no_data("adult")
    values = np.array([row["values"] for row in rows]) / sum(row["values"] for row in rows)
    value = float(values @ [row["coverage"] for row in rows])
    error = float(np.sqrt(values**2 @ np.square([row["error"] for row in rows])))
    return between(value, error, 0.935, 0.965, f"{value:.1%} ± {error:.1%} of 95 % intervals cover")


def least_by_search() -> float:
    """The smallest (8) over (11) that a search over weights that sum to 1 finds."""
    levels = [0.4286 * fraction for fraction in (1 / 3, 1 / 2, 1)]
    reports = (3300, 3400, 3300)
    first, second = np.meshgrid(np.linspace(-0.5, 1.5, 401), np.linspace(-0.5, 1.5, 401))
    weights = np.stack([first, second, 1 - first - second], axis=-1)
    return float(mpldp.combined_mse(5, weights, reports, levels).min() / mpldp.least_mse(5, reports, levels))
