"""MPLDP: the combinations do what the paper says, what it claims is judged, and every "fails" is computed twice."""

from __future__ import annotations

import json
import os
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from helpers.claims import mean_is, runs
from helpers.shipped import again
from pldp.cli import main
from pldp.errors import EstimateError
from pldp.mechanisms import SymmetricUnaryEncoding
from pldp.papers import load_paper, mpldp, reproduce
from pldp.papers.datasets import data_file
from pldp.papers.groups import Group, group
from pldp.papers.mpldp.adult import adult_coverage
from pldp.papers.mpldp.experiment import SIZES, Cell, Collected, allocations, collect
from pldp.papers.mpldp.perturbation import fit, hat_matrix, least_largest_error, move_targets, wedin_bound
from pldp.papers.mpldp.published import TABLE_2, TABLE_3
from pldp.tallies import BitCounts

BUDGET = 1_500_000
MANY = collect(3000, 10, BUDGET, 300, np.random.default_rng(5))


def groups_of(collected: Collected, place: int) -> list[Group]:
    """One collection as groups of counts, from which the package estimates."""
    found = []
    for level, epsilon in enumerate(collected.epsilons):
        channel = SymmetricUnaryEncoding.of(collected.size, round(1e6 * epsilon))
        keep, raised = float(channel.truth_support), float(channel.other_support)
        reports = int(collected.reports[place, level])
        ones = np.round(collected.tables[place, :, level] * (keep - raised) + reports * raised).astype(np.int64)
        found.append(group(channel, BitCounts(reports, ones)))
    return found


def test_counts_that_are_drawn_give_the_estimates_of_groups() -> None:
    """The experiment's arrays and the estimators of the package are two paths to the same numbers."""
    people = MANY.truth.sum()
    combined = MANY.combine(mpldp.oc_weights(MANY.reports, MANY.epsilons))
    hats = hat_matrix(MANY.tables)
    for place in range(3):
        groups = groups_of(MANY, place)
        assert people * mpldp.brr_sum(groups) == pytest.approx(MANY.tables[place].sum(1))
        assert people * mpldp.oc(groups) == pytest.approx(combined[place])
        *_, target = move_targets(hats[place : place + 1], MANY.truth, 10)
        assert people * mpldp.op(groups, MANY.truth / people) == pytest.approx(hats[place] @ target[0])
    assert (MANY.truth == people / MANY.size).all()


def test_adding_up_and_combining_are_unbiased_and_combining_is_better() -> None:
    added = MANY.tables.sum(2) - MANY.truth
    combined = MANY.combine(mpldp.oc_weights(MANY.reports, MANY.epsilons)) - MANY.truth
    assert mean_is(added[:, 0], 0.0)
    assert mean_is(combined[:, 0], 0.0)
    assert not mean_is(combined[:, 0] + 0.5 * combined[:, 0].std(), 0.0)
    assert np.mean(np.square(combined)) < 0.65 * np.mean(np.square(added))


def test_theorem_2_gives_the_error_that_simulation_sees() -> None:
    """(8) leaves out that the people of a level are a sample of all: Σ f(1−f)(Σ ω²/n_τ − 1/n), under 1 % here."""
    found = collect(10_000, 10, 540_000, 2000, np.random.default_rng(1))
    squares = ((found.combine(mpldp.oc_weights(found.reports, found.epsilons)) - found.truth) ** 2).sum(1)
    stated = mpldp.least_mse(10, found.reports, found.epsilons)
    sampled = 1e8 * 0.9 * ((mpldp.oc_weights(found.reports, found.epsilons) ** 2 / found.reports).sum(1) - 1e-4)
    assert mean_is(squares - stated - sampled, 0.0)
    assert not mean_is(squares - 1.2 * stated, 0.0)
    assert (sampled < 0.01 * stated).all()
    assert mpldp.combined_mse(10, mpldp.oc_weights([5, 6, 7], [1, 2, 3]), [5, 6, 7], [1, 2, 3]) == pytest.approx(
        mpldp.least_mse(10, [5, 6, 7], [1, 2, 3])
    )


@again("mpldp-23", "mpldp-24")
def test_sixty_per_cent_is_fifty_three_with_equal_levels() -> None:
    """By hand: precisions go with ε²; 1/9, 1/4 and 1 with equal shares give 9/(49/36 · 14)."""
    by_hand = 9 / (49 / 36 * 14)
    levels = np.array([1 / 3, 1 / 2, 1])
    ratio = mpldp.least_mse(5, [1, 1, 1], 1e-3 * levels) / mpldp.summed_mse(5, [1, 1, 1], 1e-3 * levels)
    assert ratio == pytest.approx(by_hand, rel=1e-6)
    assert 1 - by_hand == pytest.approx(0.528, abs=1e-3)
    for budgets in TABLE_2.values():
        assert mpldp.least_mse(1, [1, 1, 1], budgets[4] * levels) > 0.468 * mpldp.summed_mse(
            1, [1, 1, 1], budgets[4] * levels
        )


@again("mpldp-18")
def test_the_error_goes_with_the_square_of_small_budgets() -> None:
    one, two = (mpldp.least_mse(5, [1, 1, 1], np.array([0.1, 0.15, 0.3]) * times) for times in (1, 2))
    assert one / two == pytest.approx(4, rel=0.01)


@again("mpldp-5")
def test_least_squares_shrinks_as_its_closed_form_says() -> None:
    """Many values: Σ ω → s/(1+s) with s = Σ D/k², as E T Tᵀ = h a aᵀ + k diag σ² (a: shares of levels, h = n²/k)."""
    size = 400
    found = collect(100_000, size, 1_500_000, 200, np.random.default_rng(2))
    weights = fit(np.linalg.pinv(found.tables), np.broadcast_to(found.truth, (200, size)))
    sums = (weights * found.reports / 100_000).sum(1)
    strength = mpldp.precision(found.reports, found.epsilons).sum(1).mean() / size**2
    assert sums.mean() == pytest.approx(strength / (1 + strength), rel=0.05)
    assert sums.mean() < 0.5


def test_lemma_2_bounds_and_a_tenth_of_it_does_not() -> None:
    generator = np.random.default_rng(3)
    seen = []
    for _ in range(200):
        matrix, right = generator.normal(size=(6, 3)), generator.normal(size=6)
        relative = 0.3 / np.linalg.cond(matrix)
        change = generator.normal(size=(6, 3))
        change *= relative * np.linalg.norm(matrix, 2) / np.linalg.norm(change, 2)
        moved = generator.normal(size=6)
        moved *= relative * np.linalg.norm(right) / np.linalg.norm(moved)
        one, two = np.linalg.lstsq(matrix, right)[0], np.linalg.lstsq(matrix + change, right + moved)[0]
        seen.append(np.linalg.norm(one - two) / np.linalg.norm(one) / wedin_bound(matrix, right, relative))
    assert 0.1 < max(seen) <= 1


def plain_op(table: np.ndarray, truth: np.ndarray, steps: int, *, printed: bool) -> tuple[np.ndarray, np.ndarray]:
    """Algorithm 3 once more, in other code: a regression per iteration. Returns the weights and the residual."""
    target = truth.astype(float).copy()
    gram = np.linalg.inv(table.T @ table)
    for _ in range(steps):
        weights = np.linalg.lstsq(table, target)[0]
        wrong = (target if printed else truth) - table @ weights
        k = int(np.argmax(np.abs(wrong)))
        room = []
        for t in range(len(truth)):
            partner = t if printed else k
            lever = abs(table[t] @ gram @ table[partner])
            room.append((abs(wrong[k]) - (0 if t == k else abs(wrong[t]))) / lever)
        target[k] += np.sign(wrong[k]) * min(room)
    weights = np.linalg.lstsq(table, target)[0]
    return weights, target - table @ weights


def test_the_mended_iteration_is_that_of_a_regression_per_step() -> None:
    for place in range(5):
        table = MANY.tables[place]
        hats = hat_matrix(table[None])
        *_, target = move_targets(hats, MANY.truth, 12)
        weights, _ = plain_op(table, MANY.truth, 12, printed=False)
        assert table @ weights == pytest.approx(hats[0] @ target[0], rel=1e-6)


@again("mpldp-9", "mpldp-10")
def test_algorithm_3_as_printed_diverges() -> None:
    """By the regression per step, and by the arrays of the experiment; mended, no error ever grows."""
    for place in range(20):
        table = MANY.tables[place]
        (first, before), (last, after) = (plain_op(table, MANY.truth, steps, printed=True) for steps in (0, 8))
        assert np.abs(after).max() > 2 * np.abs(before).max()  # the residual that it computes
        assert np.abs(table @ last - MANY.truth).max() > 2 * np.abs(table @ first - MANY.truth).max()  # and the error
    hats = hat_matrix(MANY.tables)
    for form, grows in (("algorithm", 300), ("mended", 0)):
        path = [np.abs(fit(hats, each) - MANY.truth).max(1) for each in move_targets(hats, MANY.truth, 10, form=form)]
        assert (np.diff(path, axis=0) > 1e-9 * path[0]).any(0).sum() == grows


@again("mpldp-7")
def test_theorem_3_as_printed_has_a_counterexample_and_as_proved_none() -> None:
    """In plain matrices: of 500 random tables, the step that (26) allows raises the maximum error of some."""
    rows = np.random.default_rng(0).normal(size=(2000, 5, 3))
    truths = np.full(5, 1.0)
    grown = 0
    for table in rows[:500]:
        hat = table @ np.linalg.inv(table.T @ table) @ table.T
        wrong = truths - hat @ truths
        k = int(np.abs(wrong).argmax())
        bound = [(abs(wrong[k]) - (abs(wrong[j]) if j != k else 0)) / hat[j, j] for j in range(5)]
        moved = truths.copy()
        moved[k] += np.sign(wrong[k]) * min(bound)
        grown += np.abs(truths - hat @ moved).max() > np.abs(wrong).max() * (1 + 1e-9)
    assert grown > 0
    hats = hat_matrix(rows)
    path = [np.abs(fit(hats, each) - truths).max(1) for each in move_targets(hats, truths, 1)]
    assert (path[1] <= path[0] * (1 + 1e-12)).all()


@again("mpldp-38", "mpldp-39")
@pytest.mark.parametrize("steps", [20, 1000])
def test_op_stops_above_the_least_maximum_error(steps: int) -> None:
    """The weights of the linear program are the proof: their error is smaller, whatever OP does."""
    found = collect(1_000, 10, round(1e6 * TABLE_2[1_000, 1.0][1]), 8, np.random.default_rng(6))
    ratios = []
    for table in found.tables:
        weights, _ = plain_op(table, found.truth, steps, printed=False)
        rows = np.vstack([np.column_stack([s * table, -np.ones(10)]) for s in (1, -1)])
        limits = np.concatenate([found.truth, -found.truth])
        best = linprog([0, 0, 0, 1], A_ub=rows, b_ub=limits, bounds=[(None, None)] * 4).x[:3]
        least = np.abs(found.truth - table @ best).max()
        assert least == pytest.approx(least_largest_error(table, found.truth), rel=1e-6)
        ratios.append(np.abs(found.truth - table @ weights).max() / least)
    assert min(ratios) >= 1 - 1e-9
    assert np.mean(ratios) > 1.01


@again("mpldp-13")
def test_positive_estimates_can_have_a_negative_weight() -> None:
    """By hand: the first level is the truth plus a pattern, the second the pattern: weights of about 1 and −1."""
    truth = np.array([40.0, 50.0, 60.0, 70.0])
    pattern = np.array([10.0, -10.0, 10.0, -10.0])
    table = np.column_stack([truth + pattern + np.array([0.1, 0.2, -0.1, 0.1]), pattern])
    weights, _ = plain_op(table, truth, 200, printed=False)
    limit = np.abs(truth - table @ weights).max()
    assert 0 < limit < truth.min()
    assert (table @ weights > 0).all()
    assert weights[1] < -0.9


@again("mpldp-14")
def test_op_depends_on_more_than_the_reports() -> None:
    """The same reports, one person with another value: OC stays, OP moves."""
    groups = groups_of(MANY, 0)
    truth = MANY.truth / 3000
    other = truth + np.eye(10)[0] / 3000 - np.eye(10)[1] / 3000
    assert np.abs(mpldp.op(groups, truth) - mpldp.op(groups, other)).max() > 1e-6


@again("mpldp-27", "mpldp-28", "mpldp-29", "mpldp-32")
@pytest.mark.parametrize(("people", "total"), [(1_000, 1.0), (10_000, 3.0)])
def test_ops_squared_error_by_any_reading_is_not_slightly_above_ocs(people: int, total: float) -> None:
    """A regression per step, own formulas: with the truth far below OC; by its weights, below; scaled, far above."""
    generator = np.random.default_rng(4)
    names = ("true", "plain", "scaled")
    sums = {name: np.zeros(40) for name in (*names, "oc", "least", "summed")}
    for size, epsilon in zip(SIZES, TABLE_2[people, total], strict=True):
        found = collect(people, size, round(1e6 * epsilon), 40, generator)
        odds = np.exp(found.epsilons / 2)
        noise = odds / (odds - 1) ** 2
        for place in range(40):
            reports = found.reports[place]
            weights, _ = plain_op(found.tables[place], found.truth, 20, printed=False)
            share = weights * reports / people
            sums["true"][place] += np.sum((found.tables[place] @ weights - found.truth) ** 2)
            inverse = reports / noise / np.sum(reports / noise)
            sums["oc"][place] += np.sum((found.tables[place] @ (inverse * people / reports) - found.truth) ** 2)
            for name, each in (("plain", share), ("scaled", share / share.sum()), ("least", inverse)):
                sums[name][place] += size * people**2 * np.sum(each**2 * noise / reports)
            sums["summed"][place] += size * np.sum(reports * noise)
    assert sums["true"].mean() < 0.5 * sums["oc"].mean()
    for name in ("plain", "scaled"):
        slightly = (sums[name] >= sums["least"]) & (sums[name] <= np.sqrt(sums["least"] * sums["summed"]))
        assert slightly.mean() < 0.5
    assert (sums["scaled"] < sums["summed"]).mean() < 0.5


def test_op_never_raises_the_largest_error_against_its_reference() -> None:
    generator = np.random.default_rng(1)
    for place in range(10):
        groups = groups_of(MANY, place)
        reference = generator.dirichlet(np.full(10, 5.0))
        errors = [np.abs(mpldp.op(groups, reference, iterations=steps) - reference).max() for steps in (0, 1, 2, 5, 10)]
        assert all(later <= earlier + 1e-12 for earlier, later in pairwise(errors))


def test_a_reference_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(EstimateError, match="reference must hold 10 shares, not 3"):
        mpldp.op(groups_of(MANY, 1), np.ones(3) / 3)


@again("mpldp-19")
def test_table_2_spends_half_and_one_row_fits_nothing() -> None:
    rows = allocations()
    assert len(rows) == len(TABLE_2) == len(TABLE_3) == 22
    misfits = [(row["epsilon"], row["n"]) for row in rows if not row["fits_half"]]
    assert misfits == [(1.0, 10_000)]
    assert all(sum(row["optimum"]) == pytest.approx(row["epsilon"]) for row in rows)
    assert max(sum(printed) / total for (_, total), printed in TABLE_2.items()) < 0.6
    assert all(len(row["printed"]) == len(SIZES) for row in rows)


def test_table_3_averages_the_maxima_of_the_attributes() -> None:
    """Once more from the same draws: the maximum per attribute, then the mean of the five; not one maximum of all."""
    cell = Cell("printed", 1_000, 6.0, 30, 7)
    generator = np.random.default_rng([7, 1_000, 60, False])
    maxima = []
    for size, epsilon in zip(SIZES, TABLE_2[1_000, 6.0], strict=True):
        found = collect(1_000, size, round(1e6 * epsilon), 30, generator)
        collect(1_000, size, round(1e6 * epsilon), 30, generator)
        fits = [table @ np.linalg.lstsq(table, found.truth)[0] for table in found.tables]
        maxima.append([np.abs(each - found.truth).max() for each in fits])
    rows = {row["method"]: row for row in cell.rows()}
    path = cell.iterations()["mended_absolute"]
    assert rows["least_squares"]["log10_max_error"] == pytest.approx(np.log10(np.mean(maxima)))
    assert path[0] == pytest.approx(np.log10(np.mean(maxima)))
    assert len(path) == 21
    assert path[0] < np.log10(np.max(maxima, axis=0).mean()) - 0.1


FAILS = {
    ("Section IV-B, (24)", "the regression"),
    ("Theorem 3, Section IV-B", "(26) as printed"),
    ("Section IV-B, (42)", "Algorithm 3 as printed"),
    ("Theorem 4, Section IV-B, after the proof", ""),
    ("Theorem 5, Section V-A", "OP"),
    ("Section V-B", "proportional to 1/ε"),
    ("Table 2, Section VI-A", "the optimal allocation of ε"),
    ("Figure 3, Section VI-A", "levels equally often"),
    ("Figure 4, Section VII", ""),
    ("Figure 4, Section VI-B", "“through the weight parameters”: (8) with OP's weights scaled"),
    ("Table 3, Abstract", "after"),
}


def expected(claim: dict[str, Any]) -> str:
    """What the claim's verdict must be, if it is decided."""
    fails = any(claim["where"] == where and claim["reading"].startswith(reading) for where, reading in FAILS)
    return "fails" if fails else "holds"


@pytest.fixture
def few_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pldp.papers.mpldp.experiment.QUICK_RUNS", runs(20, 200))
    monkeypatch.setattr("pldp.papers.mpldp.experiment.QUICK_ADULT_RUNS", runs(1, 10))
    monkeypatch.setattr("pldp.papers.mpldp.theory.LIMIT", runs(100, 1000))


@pytest.mark.usefixtures("few_runs")
def test_reproduce_gives_rows_and_a_verdict_on_every_claim(capsys: pytest.CaptureFixture[str]) -> None:
    """Without data on Adult its rows are a reason; with them, one run: the next test looks at coverage."""
    assert main(["reproduce", "mpldp", "--quick", "--json", "-"]) == 0
    result = json.loads(capsys.readouterr().out)
    methods = {"brr_sum", "oc", "oc_consistent", "least_squares", "op_truth", "op_printed", "op_reference"}
    assert {row["method"] for row in result["rows"]} == methods
    assert {(row["n"], row["epsilon"]) for row in result["rows"]} == set(TABLE_2)
    assert {"n", "epsilon", "method", "log10_nse", "log10_max_error", "runs"} <= result["rows"][0].keys()
    assert [claim["quote"] for claim in result["claims"]] == [each.quote for each in load_paper("mpldp").claims]
    for claim in result["claims"]:
        assert claim["verdict"] in ("undecided", expected(claim)), claim
    assert sum(claim["verdict"] == "undecided" for claim in result["claims"]) <= 8
    assert isinstance(result["adult"], str) == (data_file("adult.parquet") is None)


@pytest.mark.skipif(not os.environ.get("PLDP_LONG"), reason="ten quick runs: with PLDP_LONG=1")
@pytest.mark.parametrize("seed", range(1, 11))
def test_no_seed_flips_a_verdict(seed: int) -> None:
    for claim in reproduce("mpldp", quick=True, seed=seed)["claims"]:
        assert claim["verdict"] in ("undecided", expected(claim)), claim


@pytest.mark.skipif(data_file("adult.parquet") is None, reason="needs adult.parquet in PLDP_DATA")
def test_intervals_of_all_categorical_columns_of_adult_cover() -> None:
    """Three levels per column: 95 % intervals cover 93.5 to 96.5 % (104 values × runs)."""
    rows = adult_coverage(runs(20, 300), 1)
    assert not isinstance(rows, str)
    assert len(rows) == 9
    values = sum(row["values"] for row in rows)
    assert 0.935 <= sum(row["coverage"] * row["values"] for row in rows) / values <= 0.965


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PLDP_DATA", raising=False)
    assert adult_coverage(1, 1) == "not run: adult.parquet is not in the folder that PLDP_DATA names"
