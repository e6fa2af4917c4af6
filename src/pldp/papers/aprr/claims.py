"""What the paper on scores and levels claims, and the rules that judge it."""

import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, Final

from scipy.stats import norm, t

from pldp.mechanisms import MICRO, epsilon_text
from pldp.papers.aprr import aprr, aprr_safe, mask
from pldp.papers.aprr.elements import ELEMENTS
from pldp.papers.aprr.exhibits import EXHIBITS, MINERS
from pldp.papers.aprr.experiment import ITEM_LEVELS, ONE_PROBABILITY, TABLE_3, TOTAL_EPSILON, run
from pldp.papers.claim import SURE, Claim, Finding, Result, all_of, at_least, at_most, between, no_data
from pldp.papers.paper import Paper, Row

_ROUNDED: Final = 5e-4  # of percentages with one decimal


def _wide(row: Row, name: str) -> float:
    """Return a standard error, wider where it comes from few runs: as sure by Student's t as SURE is by the normal."""
    return float(row[f"{name}_error"] * t.isf(norm.sf(SURE), row["runs"] - 1) / SURE)


def _each_value(result: Result) -> Finding:
    parts = [
        at_most(float(row[f"aprr_epsilon_{bit}"]), 0.0, float(row[f"budget_{bit}"]))
        for row in result["table_2"]
        for bit in ("zero", "one")
    ]
    shown = ", ".join(
        f"level {row['level']} {row['aprr_epsilon_one']} > {row['budget_one']}" for row in result["table_2"]
    )
    return all_of(parts, f'true ε of a "1" against its budget: {shown}; infinite for the open items')


def _whole_report(_: Result) -> Finding:
    protected = aprr([level for level in ITEM_LEVELS if level], TOTAL_EPSILON)
    words = (
        f"all protected items of a basket together {epsilon_text(protected.micro_epsilon)}, total budget "
        f"{epsilon_text(TOTAL_EPSILON)}; with the open items infinite"
    )
    return at_most(protected.micro_epsilon / MICRO, 0.0, TOTAL_EPSILON / MICRO, words)


def _table_2(result: Result) -> Finding:
    gap = max(abs(row[f"aprr_{bit}"] - row[f"printed_{bit}"]) for row in result["table_2"] for bit in ("zero", "one"))
    words = f"with a total ε of 9 (not printed), split 2/3 : 1/3, all probabilities agree within {gap:.4f}"
    return at_most(gap, 0.0, 0.005, words)


def _table_3(method: str) -> Callable[[Result], Finding]:
    def decide(result: Result) -> Finding:
        found = result["table_3"][method]
        gaps = [abs(found["computed"][name] - number) for name, number in found["printed"].items()]
        shown = ", ".join(f"{name} {100 * found['computed'][name]:.1f} %" for name in found["printed"])
        return at_most(max(gaps), 0.0, _ROUNDED, shown)

    return decide


def _same_mean(result: Result) -> Finding:
    means = {method: found["mean_probability"] for method, found in result["table_3"].items()}
    shown = ", ".join(f"{MINERS[method]} {mean:.4f}" for method, mean in means.items())
    return all_of(
        [between(mean, 0.0, ONE_PROBABILITY - 0.005, ONE_PROBABILITY + 0.005) for mean in means.values()], shown
    )


def _improves(kind: str) -> Callable[[Result], Finding]:
    def decide(result: Result) -> Finding:
        own, other = result["table_3"]["aprr"][kind], result["table_3"]["gr_ppfm"]["computed"]
        gains = {name: own[name] - other[name] for name in ("maximum", "average")}
        shown = ", ".join(f"{name} {100 * gain:+.1f} points" for name, gain in gains.items())
        parts = [between(gains["maximum"], 0.0, 0.0115, 0.0125), between(gains["average"], 0.0, 0.042, 0.0435)]
        return all_of(parts, shown)

    return decide


def _personal(name: str) -> Callable[[Result], Finding]:
    def decide(result: Result) -> Finding:
        has = {method: found["qualities"][name] for method, found in result["table_3"].items()}
        right = has == {"aprr": True, "gr_ppfm": False, "mask": False}
        shown = ", ".join(f"{MINERS[method]} {'yes' if found else 'no'}" for method, found in has.items())
        return at_least(float(right), 0.0, 1.0, f"probabilities differ between {name}: {shown}")

    return decide


def _which_are_private(_: Result) -> Finding:
    ours, theirs = (channel.micro_epsilon for channel in (aprr(ITEM_LEVELS, TOTAL_EPSILON), mask(11, ONE_PROBABILITY)))
    words = (
        f"a report of MASK has ε = {epsilon_text(theirs)} (1.658229 per item), one of LDP-APRR {epsilon_text(ours)}: "
        "its open items are sent as they are"
    )
    right = math.isfinite(ours) and not math.isfinite(theirs)
    return at_least(float(right), 0.0, 1.0, words)


def _exposed(_: Result) -> Finding:
    """Two assignments of levels under one ε: the same counts would be rebuilt with different probabilities."""
    one, other = (aprr([level], TOTAL_EPSILON).kept[0] / aprr([0], TOTAL_EPSILON).kept[0] for level in (1, 4))
    words = f'with ε = 9 a "1" is kept with {one:.2f} at level 1 and {other:.2f} at level 4: ε alone rebuilds nothing'
    return at_most(abs(one - other), 0.0, 0.0, words)


def _about_data(result: Result) -> Finding:
    basket = result["basket"]
    if basket is None:
        return no_data("basket")
    parts = [
        between(basket["support"], 0.0, 0.2708 - 5e-5, 0.2708 + 5e-5),
        between(basket["baskets"], 0.0, 940, 940),
        between(len(basket["items"]), 0.0, 11, 11),
        between(basket["length"], 0.0, 2.5, 3.5),
    ]
    words = f"{basket['baskets']} baskets, {len(basket['items'])} items, {basket['length']:.2f} per basket"
    return all_of(parts, f"{words}, mean support {100 * basket['support']:.2f} %")


def _falls(name: str, largest: int, *, steps: bool) -> Callable[[Result], Finding]:
    """The rate falls at each step of minSup, or from the smallest to the largest."""

    def decide(result: Result) -> Finding:
        rows = [row for row in result["rows"] if row["largest"] == largest and row["method"] == "aprr"]
        if not rows:
            return no_data("basket")
        rows.sort(key=lambda row: row["min_support"])
        pairs = list(pairwise(rows)) if steps else [(rows[0], rows[-1])]
        parts = [
            at_most(later[name] - earlier[name], math.hypot(_wide(earlier, name), _wide(later, name)), 0.0)
            for earlier, later in pairs
        ]
        shown = ", ".join(f"{row['min_support']:g}: {row[name]:.1f}" for row in rows)
        return all_of(parts, f"rate in % by minSup {shown}")

    return decide


def _fewer_errors(name: str, rival: str, largest: int) -> Callable[[Result], Finding]:
    def decide(result: Result) -> Finding:
        found = {row["method"]: row for row in result["averages"] if row["largest"] == largest}
        if not found:
            return no_data("basket")
        own, other = found["aprr"], found[rival]
        error = math.hypot(_wide(own, name), _wide(other, name))
        words = (
            f"{own[name]:.1f} ± {own[f'{name}_error']:.1f} % beside {other[name]:.1f} ± {other[f'{name}_error']:.1f} "
            f"%; the version that keeps its budgets {found['aprr_safe'][name]:.1f} %"
        )
        return at_most(own[name] - other[name], error, 0.0, words)

    return decide


def _zeros_matter(largest: int) -> Callable[[Result], Finding]:
    """Perturbing only what was not bought makes more overestimates than perturbing only what was."""

    def decide(result: Result) -> Finding:
        found = {row["method"]: row for row in result["averages"] if row["largest"] == largest}
        if not found:
            return no_data("basket")
        zeros, ones = found["zeros_only"], found["ones_only"]
        error = math.hypot(_wide(zeros, "theta_plus"), _wide(ones, "theta_plus"))
        words = f"θ⁺ {zeros['theta_plus']:.1f} % if only 0 is perturbed, {ones['theta_plus']:.1f} % if only 1 is"
        return at_least(zeros["theta_plus"] - ones["theta_plus"], error, 0.0, words)

    return decide


def _keeps(result: Result) -> Finding:
    levels = sorted(set(ITEM_LEVELS) - {0})
    channel = aprr_safe(levels, TOTAL_EPSILON)
    parts = []
    for place, row in enumerate(result["table_2"]):
        true = channel.item_micro_epsilon(place)
        parts += [
            at_most(true.present / MICRO, 0.0, float(row["budget_one"])),
            at_most(true.absent / MICRO, 0.0, float(row["budget_zero"])),
        ]
    return all_of(parts, 'the true ε of every "0" and "1" is at most its budget')


_BASKET: Final = (
    "Basket, levels by falling support; total ε = 9, groups of 30, 20, 20, 20 and 10 %, and minSup .05, .08, .1, .15, "
    ".2, .25, .3 (none of them printed, so that another grid of minSup may look different); 200 runs (quick: 50)"
)
_SIZES: Final = {1: "frequent single items, whose support the paper rebuilds", 3: "frequent sets of up to three items"}


def _figure_claims() -> Iterator[Claim]:
    over = "the frequent item overestimated rate decreases with the increase of the minimum support threshold minSup"
    under = "the frequent items underestimated rate decreases with the increase of the minimum support threshold minSup"
    for name, quote in (("theta_plus", over), ("theta_minus", under)):
        for largest, size in _SIZES.items():
            for steps, words in ((True, "at each step"), (False, "from the smallest to the largest minSup")):
                decide = _falls(name, largest, steps=steps)
                yield Claim(
                    "Figure 3, Section 6.2.2",
                    quote,
                    _BASKET,
                    f"the mean rate falls {words}",
                    decide,
                    f"{size}; {words}",
                )
    usable = (
        "the algorithm proposed in this paper is still usable and has a lower error rate under the premise of ensuring "
        "data privacy"
    )
    accurate = (
        "the overall error rate is lower, indicating that the algorithm proposed in this paper has a higher mining "
        "accuracy"
    )
    for name, quote, rate in (("theta_plus", usable, "overestimated"), ("theta", accurate, "summed")):
        for rival, text in (("gr_ppfm", "GR-PPFM"), ("mask", "MASK")):
            for largest, size in _SIZES.items():
                yield Claim(
                    "Figure 3, Section 6.2.2",
                    quote,
                    _BASKET,
                    f"smaller {rate} rate than {text}, averaged over minSup",
                    _fewer_errors(name, rival, largest),
                    f"{size}; than {text}",
                )

    for largest, size in _SIZES.items():
        yield Claim(
            "Figure 3, Section 6.2.2",
            'the increase of frequent items is mainly due to the fact that more "0" data are perturbed to "1"',
            _BASKET,
            "APRR that perturbs zeros only overestimates more than APRR that perturbs ones only, averaged over minSup",
            _zeros_matter(largest),
            size,
        )


def _printed(method: str) -> str:
    return " / ".join(f"{100 * number:g}" for number in TABLE_3[method])


_EQUATIONS: Final = "the printed probabilities, s = 27.08 %, Equations (6) to (11)"
_CHANNELS: Final = "the three methods' channels, computed"

CLAIMS: Final = (
    Claim(
        "Table 2, Section 6.1",
        "According to Eq. (2) and (3), the privacy budget for each sensitivity level is adaptively assigned, as shown "
        "in Table 2.",
        "a total ε of 9, which is not printed, and the second split by the same equations",
        "all eight probabilities follow, up to rounding to two digits",
        _table_2,
    ),
    Claim(
        "Section 4.2",
        "That is, each algorithm R_i (1 ≤ i ≤ L−1) satisfy ε_i-LDP respectively.",
        "the channel of Table 2, exactly",
        "the true ε of every value is at most its budget",
        _each_value,
        "each value keeps the budget that it was given",
    ),
    Claim(
        "Section 4.2",
        "LDP-APRR algorithm satisfies ε-LDP. (Lemma 1)",
        "one report of a whole basket, without the four open items, exactly",
        "the true ε is at most the total budget",
        _whole_report,
        "a report of all protected items keeps the total",
    ),
    Claim(
        "Section 6.1",
        "the average length of the transactions is 3, the total number of transactions is 940, and the total number of "
        "items is 11 … The average support of items in the dataset basket is 27.08%",
        "Basket",
        "these numbers",
        _about_data,
    ),
    *(
        Claim(
            "Table 3, Section 6.2.1",
            f"minPrivacy / maxPrivacy / avgPrivacy / overallPrivacy (%) of {text}: {_printed(method)}"
            if method != "mask"
            else f"Privacy (%) of {text}: {_printed(method)}",
            _EQUATIONS + ("; groups of 30, 20, 20, 20 and 10 % (not printed)" if method == "gr_ppfm" else ""),
            "they follow, up to rounding",
            _table_3(method),
        )
        for method, text in (("aprr", "LDP-APRR"), ("gr_ppfm", "GR-PPFM"), ("mask", "MASK"))
    ),
    Claim(
        "Table 3, Section 6.2.1",
        "the average perturbation frequency of the above three methods is the same, so the overallPrivacy is the same",
        "Table 2; groups of 30, 20, 20, 20 and 10 % (not printed)",
        "all are .84, up to rounding to two digits",
        _same_mean,
    ),
    *(
        Claim(
            "Table 3, Section 6.2.1",
            "Under the condition that the three methods have the same degree of the overallPrivacy, the satisfying "
            "local differential privacy method proposed in this paper improves the maxPrivacy by 1.2% and the "
            "avgPrivacy by 4.3%.",
            _EQUATIONS,
            "the differences to GR-PPFM are 1.2 and 4.3 points, up to rounding",
            _improves(kind),
            reading,
        )
        for kind, reading in (
            ("computed", "Equation (7) as printed, which takes q = 1 − p for all methods"),
            ("with_own_q", "Equation (7) with the q of LDP-APRR's own channel"),
        )
    ),
    Claim(
        "Table 3, Section 6.2.1",
        "Whether personalized attributes: LDP-APRR ✓, GR-PPFM ×, MASK ×",
        _CHANNELS,
        "only LDP-APRR's probabilities differ between items",
        _personal("attributes"),
    ),
    Claim(
        "Table 3, Section 6.2.1",
        "Whether personalized attribute values: LDP-APRR ✓, GR-PPFM ×, MASK ×",
        _CHANNELS,
        "only LDP-APRR keeps a 0 and a 1 with different probabilities",
        _personal("values"),
    ),
    Claim(
        "Table 3, Section 6.2.1",
        "Whether LDP is satisfied: LDP-APRR ✓, GR-PPFM ×, MASK ×",
        _CHANNELS,
        "a report of LDP-APRR has a finite ε, one of MASK has none",
        _which_are_private,
    ),
    Claim(
        "Table 3, Section 6.2.1",
        "The local differential privacy algorithm in this paper only needs to expose the total privacy budget ε, which "
        "is less information compared to the other two methods and has higher security.",
        _CHANNELS,
        "ε alone tells the probabilities that the support is rebuilt with",
        _exposed,
    ),
    *_figure_claims(),
    Claim(
        "Table 2, Section 6.1",
        "The version that keeps its budgets (`aprr_safe`) keeps all of them.",
        "the budgets of Table 2, exactly",
        "the true ε of every value is at most its budget",
        _keeps,
        ours=True,
    ),
)


def _notes(result: Result) -> list[str]:
    basket: dict[str, Any] | None = result["basket"]
    data = "Basket is not here: Figure 3 is not made, and what it decides stays open" if basket is None else "Basket"
    return [
        f"{data}. It is a public file without a licence and does not ship; pldp datasets --download basket gets it.",
        "The text and the captions of Figure 3 exchange its halves; rates are named here by what they are.",
    ]


PAPER: Final = Paper(
    name="aprr",
    citation="Zhang, Zhang, Zhang, Zhang. Adaptive Personalized Randomized Response Method Based on Local Differential "
    "Privacy",
    datasets=("basket",),
    run=run,
    claims=CLAIMS,
    exhibits=EXHIBITS,
    elements=ELEMENTS,
    notes=_notes,
)
