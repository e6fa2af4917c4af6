"""Many attributes: the allocation of Table 2, the errors of Figures 3 and 4, the maximum errors of Table 3.

Setting of the paper: five attributes with 5, 10, 15, 20 and 25 equally frequent values (Algorithm 4), 1,000 and 10,000
people, total ε from 1 to 6, everybody picks high, mid or low for each attribute (ε/3, ε/2, ε of the attribute's
budget). Budgets are those that Table 2 prints, which spend half of ε, and, as a second reading, the optimum that spends
all of it. How many people pick each level is not printed: here every level with probability 1/3.

Counts of ones are drawn, not people: for each value, so many people per level (multinomial), of each of whose bits a
binomial number is raised. That is the law of the counts of reports of people who are drawn one by one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from pldp.budgets import allocate, cube_root_rule, fraction_levels, unary_cost
from pldp.estimates import norm_sub
from pldp.mechanisms import MICRO, SymmetricUnaryEncoding
from pldp.mechanisms.arrays import FloatArray
from pldp.papers import mpldp
from pldp.papers.mpldp.adult import adult_coverage
from pldp.papers.mpldp.perturbation import Form, fit, hat_matrix, move_targets
from pldp.papers.mpldp.published import TABLE_2
from pldp.papers.mpldp.theory import check_theory
from pldp.papers.running import Progress, mean_and_error, track

Budgets = Literal["printed", "whole"]

SIZES: Final = (5, 10, 15, 20, 25)
COSTS: Final = [unary_cost(size) for size in SIZES]
PEOPLE: Final = (10_000, 1_000)
TOTALS: Final = tuple(np.arange(1.0, 6.5, 0.5).tolist())
READINGS: Final[tuple[Budgets, ...]] = ("printed", "whole")
ITERATIONS: Final = 20  # of OP, of which Table 3 shows ten

RUNS: Final = 2000
QUICK_RUNS: Final = 200
ADULT_RUNS: Final = 200
QUICK_ADULT_RUNS: Final = 10


def run(*, quick: bool, seed: int, progress: Progress | None) -> dict[str, Any]:
    """Run all settings; a quick run has all of them, with fewer repetitions."""
    runs, adult_runs = (QUICK_RUNS, QUICK_ADULT_RUNS) if quick else (RUNS, ADULT_RUNS)
    settings = list(product(READINGS, PEOPLE, TOTALS))
    cells = [Cell(*each, runs, seed) for each in track(settings, len(settings), progress)]
    return {
        "rows": [row for cell in cells for row in cell.rows()],
        "comparisons": [row for cell in cells for row in cell.comparisons()],
        "table_2": allocations(),
        "table_3": [cell.iterations() for cell in cells],
        "theory": check_theory(collections, max(20, runs // 10), seed),
        "adult": adult_coverage(adult_runs, seed),
    }


@dataclass(frozen=True)
class Collected:
    """Many collections of one attribute: true counts, the levels' estimated counts, and the people per level."""

    truth: FloatArray  # value
    tables: FloatArray  # collection, value, level
    reports: npt.NDArray[np.int64]  # collection, level
    epsilons: FloatArray  # level

    @property
    def size(self) -> int:
        """How many values the attribute has."""
        return len(self.truth)

    def combine(self, weights: FloatArray) -> FloatArray:
        """Estimated counts by weights ω of the levels, (2)."""
        people = self.truth.sum()
        return np.asarray((self.tables * (people * weights / self.reports)[:, None]).sum(2))


def collect(people: int, size: int, budget: int, runs: int, generator: np.random.Generator) -> Collected:
    """Let people answer one attribute, many times over."""
    truth = np.bincount(np.arange(people) * size // people, minlength=size)
    channels = [SymmetricUnaryEncoding.of(size, level.micro_epsilon) for level in fraction_levels(budget)]
    keep = np.array([float(channel.truth_support) for channel in channels])
    raised = np.array([float(channel.other_support) for channel in channels])
    split = generator.multinomial(truth, [1 / len(channels)] * len(channels), size=(runs, size))
    reports = split.sum(1)
    ones = generator.binomial(split, keep) + generator.binomial(reports[:, None] - split, raised)
    tables = (ones - reports[:, None] * raised) / (keep - raised)
    epsilons = np.array([channel.epsilon for channel in channels])
    return Collected(truth.astype(np.float64), tables, reports, epsilons)


def budgets_of(people: int, total: float, budgets: Budgets) -> list[int]:
    """Micro-ε of the five attributes: as Table 2 prints them, or the optimum of the whole total."""
    if budgets == "printed":
        return [round(epsilon * MICRO) for epsilon in TABLE_2[people, total]]
    return allocate(round(total * MICRO), COSTS)


def collections(
    people: int, total: float, budgets: Budgets, runs: int, generator: np.random.Generator
) -> Iterator[Collected]:
    """Yield all attributes of one setting."""
    for size, budget in zip(SIZES, budgets_of(people, total, budgets), strict=True):
        yield collect(people, size, budget, runs, generator)


class Cell:
    """One setting: per method and collection, errors over all attributes."""

    def __init__(self, budgets: Budgets, people: int, total: float, runs: int, seed: int) -> None:
        self.setting = {"n": people, "epsilon": total, "budgets": budgets}
        self.people, self.runs = people, runs
        self._errors: dict[str, list[FloatArray]] = {}  # method: per attribute, collection and value
        self._formulas: dict[str, FloatArray] = {}
        self._paths: dict[str, list[FloatArray]] = {}  # form: per attribute, iteration and collection
        generator = np.random.default_rng([seed, people, round(10 * total), budgets == "whole"])
        earlier = collections(people, total, budgets, runs, generator)
        for now, before in zip(collections(people, total, budgets, runs, generator), earlier, strict=True):
            self._combine(now)
            self._perturb(now, before)

    def _add(self, method: str, wrong: FloatArray) -> None:
        self._errors.setdefault(method, []).append(wrong)

    def _combine(self, now: Collected) -> None:
        """Adding up and OC, with what the formulas say of them, and OC made consistent, which needs no reference."""
        self._add("brr_sum", now.tables.sum(2) - now.truth)
        combined = now.combine(mpldp.oc_weights(now.reports, now.epsilons))
        self._add("oc", combined - now.truth)
        consistent = [self.people * norm_sub(counts / self.people) for counts in combined]
        self._add("oc_consistent", np.array(consistent) - now.truth)
        for name, formula in (("least", mpldp.least_mse), ("summed", mpldp.summed_mse)):
            stated = formula(now.size, now.reports, now.epsilons) / self.people
            self._formulas[name] = self._formulas.get(name, 0.0) + stated

    def _perturb(self, now: Collected, before: Collected) -> None:
        """Least squares and OP against the truth, OP against an earlier estimate, OP as printed."""
        hats = hat_matrix(now.tables)
        forms: dict[Form, str] = {"mended": "op_truth", "algorithm": "op_printed"}
        for form, name in forms.items():
            targets = list(move_targets(hats, now.truth, ITERATIONS, form=form))
            fits = [fit(hats, target) for target in targets]
            self._add(name, fits[-1] - now.truth)
            self._paths.setdefault(form, []).append(np.array([np.abs(each - now.truth).max(1) for each in fits]))
            if form == "mended":
                self._add("least_squares", fits[0] - now.truth)
                self._weigh(now, targets[0], targets[-1])
            else:
                residuals = [np.abs(target - each).max(1) for target, each in zip(targets, fits, strict=True)]
                self._paths.setdefault("residual", []).append(np.array(residuals))
        reference = before.combine(mpldp.oc_weights(before.reports, before.epsilons))
        *_, moved = move_targets(hats, reference, ITERATIONS)
        self._add("op_reference", fit(hats, moved) - now.truth)

    def _weigh(self, now: Collected, first: FloatArray, last: FloatArray) -> None:
        """OP's squared error "through the weight parameters": (8) with its weights, as they are and scaled to sum 1.

        And what the weights of the least squares fit, (24), sum to.
        """
        inverse = np.asarray(np.linalg.pinv(now.tables), np.float64)
        plain, weights = (fit(inverse, target) * now.reports / self.people for target in (first, last))
        for name, each in (("weights", weights), ("scaled_weights", weights / weights.sum(1, keepdims=True))):
            stated = mpldp.combined_mse(now.size, each, now.reports, now.epsilons) / self.people
            self._formulas[name] = self._formulas.get(name, 0.0) + stated
        self._formulas["sum_of_weights"] = self._formulas.get("sum_of_weights", 0.0) + plain.sum(1) / len(SIZES)

    def _squared(self, method: str) -> FloatArray:
        """NSE of each collection."""
        return np.asarray(sum((wrong**2).sum(1) for wrong in self._errors[method]) / self.people)

    def _largest(self, method: str) -> FloatArray:
        """The five attributes' maximum errors, (25), added and their average taken, of each collection."""
        return np.asarray(np.mean([np.abs(wrong).max(1) for wrong in self._errors[method]], axis=0))

    def rows(self) -> list[dict[str, Any]]:
        """Mean NSE and mean maximum error of each method."""
        return [
            self.setting
            | {"method": method}
            | _logarithm("log10_nse", self._squared(method))
            | _logarithm("log10_max_error", self._largest(method))
            | {"runs": self.runs}
            for method in self._errors
        ]

    def iterations(self) -> dict[str, Any]:
        """log10 of the maximum errors along OP's iterations, the first being the least squares fit (Table 3)."""
        forms: dict[str, Any] = {}
        for form, paths in self._paths.items():
            for name, each in (("absolute", np.array(paths)), ("squared", np.array(paths) ** 2)):
                found = [_logarithm("at", samples) for samples in each.mean(0)]
                forms[f"{form}_{name}"] = [entry["at"] for entry in found]
                forms[f"{form}_{name}_error"] = [entry["at_error"] for entry in found]
        mended = np.array(self._paths["mended"]).mean(0)
        fall = dict(zip(("fall", "fall_error"), _paired(mended[9], mended[0]), strict=True))
        return self.setting | forms | fall | {"runs": self.runs}

    def comparisons(self) -> list[dict[str, Any]]:
        """Methods beside each other on the same reports: ratios of means, and shares of collections."""
        nse = {method: self._squared(method) for method in self._errors}
        largest = {method: self._largest(method) for method in self._errors}
        stated = self._formulas
        zero = float(np.mean([-(-self.people // size) for size in SIZES]))  # the maximum error of counts that are all 0
        ratios = {
            "oc / brr_sum": (nse["oc"], nse["brr_sum"]),
            "oc / (11)": (nse["oc"], stated["least"]),
            "oc / (56)": (nse["oc"], stated["summed"]),
            "op_truth / oc": (nse["op_truth"], nse["oc"]),
            "op_truth / brr_sum": (nse["op_truth"], nse["brr_sum"]),
            "op_truth / least_squares": (nse["op_truth"], nse["least_squares"]),
            "op_reference / oc": (nse["op_reference"], nse["oc"]),
            "brr_sum / oc": (nse["brr_sum"], nse["oc"]),
            "largest op_truth / zero": (largest["op_truth"], np.full(self.runs, zero)),
            "largest op_truth / oc": (largest["op_truth"], largest["oc"]),
            "op_reference / oc_consistent": (nse["op_reference"], nse["oc_consistent"]),
            "largest op_reference / oc": (largest["op_reference"], largest["oc"]),
            "largest op_reference / oc_consistent": (largest["op_reference"], largest["oc_consistent"]),
            "largest op_truth / oc_consistent": (largest["op_truth"], largest["oc_consistent"]),
            "sum of weights": (stated["sum_of_weights"], np.ones(self.runs)),
        }
        shares = {}
        for name in ("weights", "scaled_weights"):
            halfway = np.sqrt(stated["least"] * stated["summed"])
            shares[f"{name} slightly above (11)"] = (stated[name] >= stated["least"]) & (stated[name] <= halfway)
            shares[f"{name} below (56)"] = stated[name] < stated["summed"]
        found = {name: _paired(*pair) for name, pair in ratios.items()}
        found |= {name: _share(hits) for name, hits in shares.items()}
        signed = np.concatenate(self._errors["oc"], axis=1).mean(1)
        found["bias of oc"] = _paired(signed, np.full(self.runs, np.sqrt(nse["oc"].mean() * self.people / sum(SIZES))))
        return [self.setting | {"what": what, "value": value, "error": error} for what, (value, error) in found.items()]


def _logarithm(name: str, samples: FloatArray) -> dict[str, float]:
    """log10 of a mean, with its sampling error."""
    mean, error = mean_and_error("of", samples).values()
    return {name: float(np.log10(mean)), f"{name}_error": float(error / (mean * np.log(10)))}


def _paired(one: FloatArray, two: FloatArray) -> tuple[float, float]:
    """Return the ratio of two means over the same collections, and its sampling error (delta method)."""
    ratio = one.mean() / two.mean()
    return float(ratio), float((one - ratio * two).std(ddof=1) / (abs(two.mean()) * np.sqrt(len(one))))


def _share(hits: npt.NDArray[np.bool_]) -> tuple[float, float]:
    """Return a share of collections and its error; one hit and one miss more keep it from being certain."""
    share = (hits.sum() + 1) / (len(hits) + 2)
    return float(share), float(np.sqrt(share * (1 - share) / len(hits)))


def allocations() -> list[dict[str, Any]]:
    """The printed budgets beside the k^(1/3) shares of half the total and the exact optima.

    `excess` is how much more the printed budgets cost than the optimum of what they spend.
    """
    return [_allocation(people, total, printed) for (people, total), printed in TABLE_2.items()]


def _allocation(people: int, total: float, printed: tuple[float, ...]) -> dict[str, Any]:
    half = [micro / MICRO for micro in cube_root_rule(round(total * MICRO / 2), SIZES)]
    optimum = [micro / MICRO for micro in allocate(round(total * MICRO), COSTS)]
    best = [micro / MICRO for micro in allocate(round(sum(printed) * MICRO), COSTS)]
    cost, least = (sum(cost(each) for cost, each in zip(COSTS, parts, strict=True)) for parts in (printed, best))
    return {
        "n": people,
        "epsilon": total,
        "printed": list(printed),
        "sum_of_printed": round(sum(printed), 4),
        "cube_root_of_half": half,
        "fits_half": bool(np.allclose(printed, half, rtol=0.015)),
        "optimum": optimum,
        "excess": cost / least - 1,
    }
