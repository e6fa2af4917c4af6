"""Rules that judge the claims of the paper on a budget per item: by rows of a run, or by formulas alone."""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any, Final

import numpy as np

from pldp.mechanisms import MICRO, ItemResponse, epsilon_text
from pldp.papers import ipldp
from pldp.papers.claim import Finding, Result, all_of, at_least, at_most, between, ratio
from pldp.papers.ipldp.experiment import DATASETS, KEY, LOSS_BUDGETS, LOSS_SHARES, ZIPF_ITEMS, Cell, experiments
from pldp.papers.paper import Row

Who = tuple[str, str]  #: Method and estimator.
Decide = Callable[[Result], Finding]

NS, MLE = ipldp.ESTIMATORS
IDUE: Final = ("idue_opt0", "idue_opt1", "idue_opt2")
HALF_ORDER: Final = math.sqrt(10)
"""Half an order of magnitude: more of it counts as one order, and less as close, on a logarithmic scale."""


class Rows:
    """The rows by what identifies them."""

    def __init__(self, result: Result) -> None:
        self._rows: dict[tuple[Any, ...], Row] = {tuple(row[name] for name in KEY): row for row in result["rows"]}
        self.cells: list[Cell] = sorted({key[:4] for key in self._rows})

    def within(self, numbers: Sequence[int], dataset: str = "") -> list[Cell]:
        """Return the cells of these experiments on one dataset, or on both."""
        return [cell for cell in self.cells if cell[0] in numbers and dataset in ("", cell[1])]

    def row(self, cell: Cell, who: Who) -> Row:
        """Return one row."""
        return self._rows[(*cell, *who)]

    def ratio(self, cell: Cell, over: Who, under: Who, metric: str = "mse") -> tuple[float, float]:
        """Return a metric of one over that of another one, with its error.

        Runs of two methods have the same people and noise of their own; two estimators, the same reports. A standard
        error from few runs is too small too often: it is widened to the spread of Student's distribution.
        """
        one, two = self.row(cell, over), self.row(cell, under)
        if (over[0], over[1], under[1], metric) == (under[0], NS, MLE, "mse") and "mse_over_mle" in one:
            return one["mse_over_mle"], one["mse_over_mle_error"]
        wide = [math.sqrt((row["runs"] - 1) / max(1, row["runs"] - 3)) for row in (one, two)]
        name = f"{metric}_error"
        return ratio(one[metric], wide[0] * one[name], two[metric], wide[1] * two[name])


def _mean(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the mean of independent numbers, with its error."""
    return float(np.mean([value for value, _ in pairs])), float(np.hypot.reduce([e for _, e in pairs]) / len(pairs))


def _span(values: Sequence[float]) -> str:
    return f"{min(values):.3g} to {max(values):.3g}"


def factor(
    numbers: Sequence[int],
    pairs: Sequence[tuple[Who, Who]],
    rule: Callable[..., Finding],
    *limits: float,
    metrics: Sequence[str] = ("mse",),
    dataset: str = "",
    pooled: bool = False,
) -> Decide:
    """Decide by what one method's metric is over another's: in every cell, or as a mean over each curve."""

    def decide(result: Result) -> Finding:
        rows = Rows(result)
        findings, words = [], []
        for (over, under), metric in product(pairs, metrics):
            values: list[float] = []
            for name, number in product([dataset] if dataset else DATASETS, numbers):
                found = [rows.ratio(cell, over, under, metric) for cell in rows.within([number], name)]
                used = [_mean(found)] if pooled else found
                findings += [rule(*pair, *limits) for pair in used]
                values += [value for value, _ in used]
            words.append(f"{metric.upper()} {_label(over, under)} {_span(values)}")
        return all_of(findings, "; ".join(words))

    return decide


NAMES: Final = {
    "zipf": "Zipf",
    "kosarak_parts": "Kosarak",
    "krr": "k-RR",
    "urr": "URR",
    "iprr": "IPRR",
    "idue_opt0": "IDUE opt0",
    "idue_opt1": "IDUE opt1",
    "idue_opt2": "IDUE opt2",
    NS: "NS",
    MLE: "MLE",
}


def _label(over: Who, under: Who) -> str:
    """Return what is over what: two methods with one estimator, or two estimators of one method."""
    one, two = ((NAMES[method], NAMES[estimator]) for method, estimator in (over, under))
    return f"{one[0]} / {two[0]} ({one[1]})" if one[1] == two[1] else f"{one[0]} {one[1]} / {two[1]}"


def rivals(names: Sequence[str], estimators: Sequence[str] = tuple(ipldp.ESTIMATORS)) -> list[tuple[Who, Who]]:
    """Return each rival over IPRR, for each estimator."""
    return [((name, estimator), ("iprr", estimator)) for name, estimator in product(names, estimators)]


def less_gain_of_likelihood(result: Result) -> Finding:
    """Decide whether norm-sub over maximum likelihood is closer to 1 in experiment 2 than in 1."""
    rows = Rows(result)
    findings, words = [], []
    for dataset in DATASETS:
        gains = []
        for number in (1, 2):
            pairs = [rows.ratio(cell, ("iprr", NS), ("iprr", MLE)) for cell in rows.within([number], dataset)]
            gains.append(_mean(pairs))
        findings.append(at_least(gains[0][0] - gains[1][0], math.hypot(gains[0][1], gains[1][1]), 0.0))
        words.append(f"{NAMES[dataset]} {gains[0][0]:.3g} and {gains[1][0]:.3g}")
    return all_of(findings, f"MSE of norm-sub / maximum likelihood in #1 and #2: {', '.join(words)}")


def mixed_is_close(result: Result) -> Finding:
    """Decide whether all curves of experiment 3 are within half an order of magnitude of those of experiment 1."""
    rows = Rows(result)
    findings, values = [], []
    for dataset, method, estimator in product(DATASETS, ("iprr", "krr", "urr"), ipldp.ESTIMATORS):
        pairs = []
        for cell in rows.within([1], dataset):
            one, two = (rows.row((number, *cell[1:]), (method, estimator)) for number in (3, 1))
            pairs.append(ratio(one["mse"], one["mse_error"], two["mse"], two["mse_error"]))
        value, error = _mean(pairs)
        findings.append(between(value, error, 1 / HALF_ORDER, HALF_ORDER))
        values.append(value)
    return all_of(findings, f"MSE of #3 / #1, means of curves: {_span(values)}")


def falls_with_people(metric: str, per_person: float = 0.0) -> Decide:
    """Decide whether the loss in experiment 1 is smaller with all people than with a fifth of them.

    `per_person` = 1 turns the MSE of counts, (25), into that of shares: a further division by the people.
    """

    def decide(result: Result) -> Finding:
        rows = Rows(result)
        findings, words = [], []
        for dataset, method, estimator in product(DATASETS, ("iprr", "krr", "urr"), ipldp.ESTIMATORS):
            cells = rows.within([1], dataset)
            last, first = (rows.row(cell, (method, estimator)) for cell in (cells[-1], cells[0]))
            name = f"{metric}_error"
            value, error = ratio(last[metric], last[name], first[metric], first[name])
            scale = (first["people"] / last["people"]) ** per_person
            findings.append(at_most(scale * value, scale * error, 1.0))
            words.append((scale * value, f"{NAMES[dataset]} {NAMES[method]} {NAMES[estimator]}"))
        low, high = min(words), max(words)
        return all_of(findings, f"all people / a fifth: {low[0]:.2g} ({low[1]}) to {high[0]:.2g} ({high[1]})")

    return decide


_APART: Final = 0.4  # shares of open items that are compared


def falls_with_open_items(methods: Sequence[str], estimators: Sequence[str], metrics: Sequence[str]) -> Decide:
    """Decide whether metrics fall wherever the share of open items grows by .4 (experiment 4)."""

    def decide(result: Result) -> Finding:
        rows = Rows(result)
        findings, words = [], []
        for dataset, method, estimator, metric in product(DATASETS, methods, estimators, metrics):
            cells = rows.within([4], dataset)
            for one, two in [(one, two) for one, two in product(cells, cells) if round(two[3] - one[3], 1) == _APART]:
                low, high = (rows.row(cell, (method, estimator)) for cell in (two, one))
                name = f"{metric}_error"
                value, error = ratio(low[metric], low[name], high[metric], high[name])
                findings.append(at_most(value, error, 1.0))
                where = (
                    f"{NAMES[dataset]} {NAMES[method]} {NAMES[estimator]} {metric.upper()} "
                    f"from NR = {one[3]:g} to {two[3]:g}"
                )
                words.append((value, where))
        return all_of(findings, "largest ratio {:.2f}: {}".format(*max(words)))

    return decide


def more_items_favour_unary(result: Result) -> Finding:
    """Decide whether IDUE over IPRR (norm-sub) is smaller on Kosarak's 100 items than on Zipf's 20."""
    rows = Rows(result)
    found = {
        dataset: _mean(
            [rows.ratio(cell, (model, NS), ("iprr", NS)) for cell in rows.within([5], dataset) for model in IDUE]
        )
        for dataset in DATASETS
    }
    (few, few_error), (many, many_error) = found.values()
    words = f"MSE of IDUE / IPRR: {few:.2g} on Zipf, {many:.2g} on Kosarak"
    return at_least(few - many, math.hypot(few_error, many_error), 0.0, words)


def theorem_3(result: Result, place: int) -> Finding:
    """Decide whether a loss that is seen is the stated one within 3 %."""
    seen, error, stated = (result["theorem_3"][name][place] for name in ("seen", "error", "stated"))
    words = f"seen / stated: {seen / stated:.4f} ± {error / stated:.4f}"
    return between(seen / stated, error / stated, 0.97, 1.03, words)


def _settings() -> Iterator[tuple[tuple[Any, ...], int]]:
    """Budgets of all experiments and datasets, with the place of the first sensitive item."""
    for each in experiments(quick=False):
        for items, open_ in product((ZIPF_ITEMS, 100), each.open_ratios):
            budgets = ipldp.level_budgets(items, each.smallest, each.largest, non_sensitive=open_)
            yield budgets, sum(micro == math.inf for micro in budgets)


def bounds_below(rival: str) -> Finding:
    """Decide whether the bounds (19) and (20) of IPRR are below those of a rival, in all settings of Table 2."""
    ratios = []
    for budgets, open_ in _settings():
        least = min(budgets)
        other = [math.inf] * open_ + [least] * (len(budgets) - open_) if rival == "urr" else [least] * len(budgets)
        ratios += [bound(budgets, 1) / bound(other, 1) for bound in (ipldp.l2_bound, ipldp.l1_bound)]
    return at_most(max(ratios), 0.0, 1.0, f"bound of IPRR / of {NAMES[rival]}: {_span(ratios)}")


def much_below_urr(kind: Callable[..., float], number: int) -> Finding:
    """Decide whether a bound of IPRR is at most half of URR's in the regime of an experiment."""
    experiment = experiments(quick=False)[number - 1]
    ratios = []
    for items in (ZIPF_ITEMS, 100):
        budgets = ipldp.level_budgets(items, experiment.smallest, experiment.largest, non_sensitive=0.5)
        other = [micro if micro == math.inf else experiment.smallest for micro in budgets]
        ratios.append(kind(budgets, 1) / kind(other, 1))
    return at_most(max(ratios), 0.0, 0.5, f"IPRR / URR: {_span(ratios)}")


def lemma_1(*, reverse: bool) -> Finding:
    """Decide whether larger budgets give the larger loss, or the smaller one."""
    losses = [ipldp.l2_loss([times * micro for micro in LOSS_BUDGETS], LOSS_SHARES, 1000) for times in (1, 2)]
    words = f"expected squared loss with budgets {losses[0]:.3g}, with all of them doubled {losses[1]:.3g}"
    small, large = reversed(losses) if reverse else losses
    return at_most(small / large, 0.0, 1.0, words)


def worst_case_is_reached() -> Finding:
    """Decide whether the bounds (19) and (20) are the largest losses: reached at p*, and not exceeded anywhere."""
    generator = np.random.default_rng(0)
    largest = 0.0
    for bound, loss in ((ipldp.l2_bound, ipldp.l2_loss), (ipldp.l1_bound, ipldp.l1_loss)):
        for budgets, _ in _settings():
            limit = bound(budgets, 1)
            reached = loss(budgets, ipldp.worst_shares(budgets), 1) / limit
            tried = [loss(budgets, generator.dirichlet(np.full(len(budgets), 0.3)), 1) / limit for _ in range(20)]
            largest = max(largest, *tried, reached, 2 - reached)
    return at_most(largest, 0.0, 1 + 1e-9, "reached at p*, exceeded nowhere that was tried")


SMALL: Final = ipldp.level_budgets(ZIPF_ITEMS, 100, 1000, non_sensitive=0.5)
"""Budgets of experiment 1 a thousand times smaller: close to 0, as Theorem 5 has them."""
UNEVEN: Final = (100_000, 10_000_000, 10_000_000)
"""Unequal budgets above the limit of Theorem 6, ln 1."""


def approximates(stated: float, true: float, words: str) -> Finding:
    """Decide whether a formula is within 5 % of what it stands for."""
    return between(stated / true, 0.0, 0.95, 1.05, f"{words}: {stated / true:.3g}")


def theorem_5_typeset(people: int) -> float:
    """(22) as it is typeset: the root over the constants, the sum of pairs outside."""
    inverse = np.array([MICRO / micro for micro in SMALL if micro < math.inf])
    pairs = inverse.sum() ** 2 - (inverse**2).sum()
    return float(np.sqrt(2 * len(inverse) / (people * math.pi)) * pairs)


def both_sides(budgets: Sequence[Any] = LOSS_BUDGETS) -> Finding:
    """Decide whether any two items keep the smaller of their budgets."""
    channel = ItemResponse.of(budgets)
    pair = channel.pair_micro_epsilon(2, 7)
    return at_most(
        pair / min(budgets[2], budgets[7]),
        0.0,
        1.0,
        f"items with budgets {epsilon_text(budgets[2])} and {epsilon_text(budgets[7])}: true ε between them "
        f"{epsilon_text(pair)}; between either and a non-sensitive item "
        f"{epsilon_text(channel.pair_micro_epsilon(0, 7))}",
    )


def one_side() -> Finding:
    """Decide whether no report costs more than its item's budget, in all settings of Table 2."""
    excess = [
        channel.output_micro_epsilon(place) - micro
        for budgets, _ in _settings()
        for channel in [ItemResponse.of(budgets)]
        for place, micro in enumerate(budgets)
        if micro < math.inf
    ]
    return at_most(max(excess) / MICRO, 0.0, 1e-6, f"largest ε of a report above its budget: {max(excess) / MICRO:g}")


def open_items_are_not_reported_falsely() -> Finding:
    """Decide whether open items are reported only by those who have them, and by them with some probability."""
    false, true = 0.0, 1.0
    for budgets, open_ in _settings():
        channel = ItemResponse.of(budgets)
        false = max([false, *map(float, channel.other_supports[:open_])])
        true = min([true, *map(float, channel.truth_supports[:open_])])
    return all_of([at_most(false, 0.0, 0.0), at_least(true, 0.0, 1e-9)])


def evidence_is_kept(budgets: Sequence[Any]) -> Finding:
    """Decide whether no report speaks for a sensitive item by more than its budget."""
    channel = ItemResponse.of(budgets)
    places = [place for place, micro in enumerate(budgets) if micro < math.inf]
    excess = max(channel.evidence_micro_epsilon(place) - budgets[place] for place in places) / MICRO
    return at_most(excess, 0.0, 1e-6, f"largest evidence above the budget: {excess:g}")


def largest_budget_is_plain() -> Finding:
    """Decide whether plain ε of IPRR without open items is its largest budget."""
    budgets = ipldp.level_budgets(ZIPF_ITEMS, 100_000, 10_000_000)
    plain = ItemResponse.of(budgets).micro_epsilon
    words = f"budgets .1 to 10: plain ε {epsilon_text(plain)}"
    return between(plain / max(budgets), 0.0, 0.999, 1 + 1e-6, words)


def idue_relaxes_to_twice_the_least() -> Finding:
    """Decide whether the plain ε of all IDUE models is at most twice the smallest budget."""
    channels = ipldp.item_channels(ipldp.level_budgets(ZIPF_ITEMS, 100_000, 10_000_000))
    plain = {name: channels[name].micro_epsilon / MICRO for name in IDUE}
    return at_most(
        max(plain.values()), 0.0, 0.2 + 1e-6, f"plain ε of IDUE with budgets .1 to 10: {max(plain.values()):g}"
    )


def same_promise(result: Result) -> Finding:
    """Decide whether IPRR and IDUE keep the same ε between two items in experiment 5."""
    channels = ipldp.item_channels(ipldp.level_budgets(ZIPF_ITEMS, 100_000, 10_000_000))
    true = {name: channels[name].micro_epsilon for name in ("iprr", "idue_opt0")}
    rows = Rows(result)
    kept = []
    for dataset in DATASETS:
        # An IPRR that keeps IDUE's promise is k-RR at the smallest budget, which URR without open items is, too.
        plain = rows.row(rows.within([4], dataset)[0], ("urr", NS))["mse"]
        cell = rows.within([5], dataset)[-1]
        kept.append(f"{NAMES[dataset]} {plain / min(rows.row(cell, (model, NS))['mse'] for model in IDUE):.2g}")
    words = ", ".join(f"{NAMES[name]} {epsilon_text(micro)}" for name, micro in true.items())
    return at_most(
        true["iprr"] / true["idue_opt0"],
        0.0,
        1.01,
        f"largest true ε between two values: {words}. An IPRR that keeps IDUE's promise is k-RR at the smallest "
        f"budget; norm-sub, MSE of that / best IDUE: {', '.join(kept)}",
    )


def honest_where_sensitive() -> Finding:
    """Decide whether the probability of an honest answer falls with the budget, in Figure 1."""
    channel = ItemResponse.of(ipldp.FIGURE_1)
    honest = [float(share) for share in channel.truth_supports[:3]]
    words = f"honest answers with budgets .1, .5, 1: {', '.join(f'{share:.4f}' for share in honest)}"
    return at_most(max(honest[1] / honest[0], honest[2] / honest[1]), 0.0, 1.0, words)


def equal_budgets_give(rival: str) -> Finding:
    """Decide whether IPRR with equal budgets is k-RR, or URR where items are open."""
    open_ = [math.inf] * 3 if rival == "urr" else []
    channels = ipldp.item_channels([*open_, *[700_000] * 4])
    pairs = zip(channels["iprr"].truth_supports, channels[rival].truth_supports, strict=True)
    difference = max(abs(float(one) - float(two)) for one, two in pairs)
    return at_most(difference, 0.0, 1e-9, f"largest difference of a probability: {difference:.1g}")
