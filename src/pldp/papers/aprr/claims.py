"""What the paper on scores and levels claims, the rules that judge it, and its tables and figures."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Final

import numpy as np

from pldp.mechanisms import epsilon_text
from pldp.papers.aprr import aprr
from pldp.papers.aprr.experiment import ITEM_LEVELS, METHODS, ONE_PROBABILITY, SUPPORTS, TABLE_3, TOTAL_EPSILON, run
from pldp.papers.paper import ILLUSTRATION, Curves, Exhibit, Paper, Result, Row, Table, Verdicts, words


def judge(result: Result) -> Verdicts:
    """Judge every claim: of Tables 2 and 3, then of Figure 3."""
    table, measures = result["table_2"], result["table_3"]
    theirs, groups = measures["aprr"]["computed"], measures["gr_ppfm"]["computed"]
    own = measures["aprr"]["with_own_q"]
    protected = aprr([level for level in ITEM_LEVELS if level], TOTAL_EPSILON)
    kept_to = all(float(row["aprr_epsilon_one"]) <= float(row["budget_one"]) for row in table)
    shown = ", ".join(f"level {row['level']} {row['aprr_epsilon_one']} > {row['budget_one']}" for row in table)
    gap = max(max(abs(row[f"aprr_{bit}"] - row[f"printed_{bit}"]) for bit in ("zero", "one")) for row in table)
    means = [measures[method]["mean_probability"] for method in ("aprr", "gr_ppfm")]
    verdicts = {
        "LDP-APRR satisfies ε-LDP: value i keeps its budget ε_i (Lemma 1)": (
            kept_to,
            f'true ε of a "1" against its budget: {shown}; infinite for the open items; all protected items of a '
            f"basket together {epsilon_text(protected.micro_epsilon)}, total budget {epsilon_text(TOTAL_EPSILON)}",
        ),
        "Table 2 follows from Equations (2) and (3)": (
            gap <= 0.0075,
            f"with a total ε of 9 (not printed), split 2/3 : 1/3, all probabilities agree within {gap:.4f}",
        ),
        "maxPrivacy, avgPrivacy and overallPrivacy of LDP-APRR are 71.8, 40.2 and 43.4 % (Equations 6 to 11)": (
            bool(np.allclose(TABLE_3["aprr"], list(theirs.values()), atol=5e-4)),
            _percent(theirs),
        ),
        "avgPrivacy of GR-PPFM is 35.9 %": (
            abs(groups["average"] - TABLE_3["gr_ppfm"][2]) < 5e-4,
            f"{100 * groups['average']:.1f} % with the paper's own probabilities and shares ({_percent(groups)})",
        ),
        "The average perturbation probability of all three methods is .84": (
            max(abs(mean - ONE_PROBABILITY) for mean in means) < 0.005,
            f"LDP-APRR {means[0]:.4f}, GR-PPFM {means[1]:.4f}, whose overallPrivacy is then "
            f"{100 * measures['gr_ppfm']['overall_at_mean']:.1f} %",
        ),
        "LDP-APRR raises maxPrivacy by 1.2 and avgPrivacy by 4.3 points over GR-PPFM": (
            own["maximum"] - groups["maximum"] >= 0.0115 and own["average"] - groups["average"] >= 0.0425,
            f"with Equation (7), which takes q = 1 − p: {_difference(theirs, groups)}; with the q of its own channel: "
            f"{_difference(own, groups)}",
        ),
    }
    return verdicts | _figure_verdicts(result["rows"])


def _percent(measures: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {100 * number:.1f} %" for name, number in measures.items())


def _difference(one: Mapping[str, float], other: Mapping[str, float]) -> str:
    parts = [f"{name} {100 * (one[name] - other[name]):+.1f}" for name in ("maximum", "average")]
    return ", ".join(parts) + " points"


def _figure_verdicts(rows: Sequence[Row]) -> Verdicts:
    found = {(row["min_support"], row["method"]): row for row in rows}

    def curve(method: str, name: str) -> list[float]:
        return [found[least, method][name] for least in SUPPORTS]

    def curve_text(method: str, name: str) -> str:
        return f"{method} " + " ".join(f"{number:.0f}" for number in curve(method, name))

    def falls(name: str) -> bool:
        pairs = zip(pairwise(curve("aprr", name)), pairwise(curve("aprr", f"{name}_error")), strict=True)
        return all(later - earlier <= 3 * float(np.hypot(*spread)) for (earlier, later), spread in pairs)

    grid = " ".join(f"{least:g}" for least in SUPPORTS)
    rates = ("theta_minus", "theta_plus")
    errors = {method: float(sum(np.mean(curve(method, name)) for name in rates)) for method in METHODS}
    falling = {
        f"The {word} rate {sign} of LDP-APRR falls as minSup grows (no rise beyond 3 standard errors)": (
            falls(name),
            f"{sign} in % at minSup {grid}: {curve_text('aprr', name)}; {curve_text('gr_ppfm', name)}",
        )
        for name, word, sign in (("theta_plus", "overestimation", "θ⁺"), ("theta_minus", "underestimation", "θ⁻"))
    }
    better = {
        f"LDP-APRR identifies frequent sets better than {name} (sum of θ⁻ and θ⁺, mean over minSup)": (
            errors["aprr"] < errors[method],
            f"aprr {errors['aprr']:.1f} %, {method} {errors[method]:.1f} %; aprr_safe, which alone keeps "
            f"the budgets, {errors['aprr_safe']:.1f} %",
        )
        for method, name in (("gr_ppfm", "GR-PPFM"), ("mask", "MASK"))
    }
    return falling | better


_MINERS: Final = {"aprr": "LDP-APRR", "gr_ppfm": "GR-PPFM", "mask": "MASK"}


def _kept_bits(result: Result) -> Table:
    kept = [head for bit in (0, 1) for head in (f"keeps {bit}: printed", "computed")]
    heads = ("level", "items", *kept, 'budget of a "1"', "true ε")
    names = ("level", "items", "printed_zero", "aprr_zero", "printed_one", "aprr_one", "budget_one", "aprr_epsilon_one")
    computed = {"aprr_zero", "aprr_one"}
    rows = [[f"{row[name]:.3f}" if name in computed else row[name] for name in names] for row in result["table_2"]]
    return Table(heads, rows)


def _privacy(result: Result) -> Table:
    names = ("minimum", "maximum", "average", "overall")
    rows = []
    for method, found in result["table_3"].items():
        for kind in ("printed", "computed", "with_own_q"):
            if kind in found:
                cells = (f"{100 * found[kind][name]:.1f} %" if name in found[kind] else "–" for name in names)
                rows.append((_MINERS[method], words(kind), *cells))
    return Table(("method", "numbers", *(f"{name} privacy" for name in names)), rows)


PAPER: Final = Paper(
    name="aprr",
    citation="Zhang, Zhang, Zhang, Zhang. Adaptive Personalized Randomized Response Method Based on Local Differential "
    "Privacy",
    datasets=("basket",),
    run=run,
    judge=judge,
    notes=lambda result: [result["baskets"]],
    exhibits=(
        Exhibit("Table 1", "the algorithm", reason="it is `pldp.papers.aprr`"),
        Exhibit("Figure 1", "the mining process", reason=ILLUSTRATION),
        Exhibit("Figure 2", "the channel with three values", reason=ILLUSTRATION),
        Exhibit("Table 2", "Probabilities to keep a bit, and what they really promise.", _kept_bits),
        Exhibit(
            "Table 3", "The paper's measures of privacy: as printed, by its formulas, and with its own q.", _privacy
        ),
        Exhibit(
            "Figure 3",
            "Sets overestimated (θ⁺) and underestimated (θ⁻), in percent of the frequent ones.",
            Curves(
                itemgetter("min_support"),
                "least support",
                {"theta_plus": "θ⁺ in %", "theta_minus": "θ⁻ in %"},
                _MINERS,
                {"aprr_safe": "APRR that keeps its budgets"},
                log=False,
            ),
        ),
    ),
)
