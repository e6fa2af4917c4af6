"""Tables of two and three questions of any kinds, with levels shown or hidden."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from itertools import combinations, product
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from helpers.claims import mean_is, runs
from helpers.samples import law
from helpers.tables import pair_counts
from pldp import Device, Survey, Tally, tally
from pldp.errors import EstimateError, TallyError
from pldp.estimates import Margin, Table, cross, estimate, three_way, two_way
from pldp.estimates.kinds.association import Spread, cell_covariance
from pldp.estimates.kinds.cells import Cells
from pldp.estimates.kinds.sides import ItemSide, LabelSide, RangeSide, Side
from pldp.estimates.linear.evidence import LabelChances, label_chances
from pldp.estimates.linear.pooling import Linear
from pldp.estimates.results.consistency import nearest_tables, with_margins
from pldp.mechanisms import build
from pldp.mechanisms.arrays import arrays
from pldp.simulate import Population, perturb, simulate_reports

BUCKETS = 48
QUESTIONS = {
    "a": {"values": ["x", "y", "z"]},
    "b": {"values": ["u", "v"]},
    "s": {"kind": "choices", "values": ["i", "j", "k"]},
    "t": {"kind": "choices", "values": ["m", "n", "o", "p"], "budget": "set"},
    "w": {"kind": "choices", "values": ["e", "f", "g", "h"], "budget": "set", "at_most": 2},
    "n": {"kind": "number", "low": 0, "high": 12, "buckets": BUCKETS},
}


def form(names: str, epsilon: float = 2, **keys: object) -> Survey:
    questions = [{"name": name, **QUESTIONS[name]} for name in names]
    levels = {"strict": epsilon, "open": 2 * epsilon}
    return Survey.read({"pldp": 1, "title": "t", "levels": levels, "questions": questions, **keys})


def everybody(number: int, seed: int) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Dependent answers as values of a simulation, and as indicators (people × labels, items or quarters)."""
    generator = np.random.default_rng(seed)
    number_of = generator.beta(2, 3, number)
    b = (generator.random(number) < 0.1 + 0.8 * number_of).astype(int)
    a = np.where(generator.random(number) < 0.4, b, generator.choice(3, number, p=[0.5, 0.3, 0.2]))
    ticks = {
        "s": generator.random((number, 3)) < np.where(b, 0.6, 0.2)[:, None],
        "t": generator.random((number, 4)) < np.where(a == 0, 0.5, 0.2)[:, None],
        "w": np.eye(4, dtype=bool)[generator.choice(4, number, p=[0.4, 0.3, 0.2, 0.1])] & (a == 0)[:, None],
    }
    bucket = (number_of * BUCKETS).astype(int)
    values = {"a": a, "b": b, "n": bucket}
    values |= {name: np.packbits(own, axis=1, bitorder="little") for name, own in ticks.items()}
    indicators = {"a": np.eye(3)[a], "b": np.eye(2)[b], "n": np.eye(4)[bucket * 4 // BUCKETS]}
    return values, indicators | {name: own.astype(float) for name, own in ticks.items()}


def shares_of(indicators: dict[str, np.ndarray], names: tuple[str, ...]) -> np.ndarray:
    letters = "ijk"[: len(names)]
    terms = ",".join(f"p{letter}" for letter in letters)
    people = len(indicators[names[0]])
    return np.einsum(f"{terms}->{letters}", *(indicators[name] for name in names), optimize=True) / people


@cache
def true_shares(names: tuple[str, ...]) -> np.ndarray:
    return shares_of(true_people(), names)


@cache
def true_people() -> dict[str, np.ndarray]:
    return everybody(400_000, 0)[1]


def counted(survey: Survey, names: tuple[str, ...], number: int, seed: int, **how: object) -> Tally:
    values, _ = everybody(number, seed + 1)
    generator = np.random.default_rng([seed, 5])
    level = generator.integers(0, 2, number, dtype=np.uint8)
    some = {name: values[name] for name in names}
    levels = {name: level if how.get("same") else generator.integers(0, 2, number, dtype=np.uint8) for name in some}
    return tally(survey, simulate_reports(survey, Population(some, levels), seed=seed), pairs=[names])


KINDS = [("a", "s"), ("s", "t"), ("a", "w"), ("b", "n"), ("a", "b", "s"), ("b", "t", "n")]


@pytest.mark.parametrize("names", KINDS, ids="×".join)
def test_tables_of_all_kinds_are_unbiased_and_cover(names: tuple[str, ...]) -> None:
    """95 % intervals cover as often as they say, all cells together; those made 2.5 times narrower do not.

    Whether or not people of all levels are taken to be alike; in the short form the twin's are five times narrower.
    """
    survey, truth = form("".join(names)), true_shares(names)
    found = [cross(counted(survey, names, 4000, seed), names) for seed in range(runs(10, 1000))]
    for tables in (found, [table.alike for table in found]):
        z = np.array([(table.shares - truth) / table.standard_error for table in tables])
        # A cell's mean z over r runs has the error 1/√r; 5.3 of them are passed once in 10⁷.
        assert np.abs(z.mean(axis=0)).max() < 5.3 / np.sqrt(len(found)) + 0.1
        covered = [float((np.abs(each) <= 1.96).mean()) for each in z]
        assert mean_is(covered, 0.95) or np.mean(covered) > 0.95
        assert not mean_is([float((np.abs(each) <= runs(2, 4) / 5).mean()) for each in z], 0.95)


@cache
def small_table(names: tuple[str, ...]) -> Table:
    return cross(counted(form("".join(names)), names, 1500, 3), names)


@pytest.mark.parametrize("alike", [False, True])
@pytest.mark.parametrize("names", KINDS, ids="×".join)
def test_the_consistent_table_fits_every_question(names: tuple[str, ...], alike: bool) -> None:
    """Tables and their margins count levels in the same way."""
    table = small_table(names).alike if alike else small_table(names)
    found = table.consistent()
    assert found.min() >= 0
    assert found.shape == table.shares.shape
    for axis, margin in enumerate(table.margins):
        others = tuple(place for place in range(found.ndim) if place != axis)
        if all(table.margins[place].exclusive for place in others):
            np.testing.assert_allclose(found.sum(axis=others), margin.consistent(), atol=1e-9)
        for place in others:  # whoever has both has each
            least = found.max(axis=place) if found.ndim == 2 else found.max(axis=others)
            assert (least <= margin.consistent() + 1e-9).all()


def test_questions_can_be_asked_for_in_any_order() -> None:
    names = ("b", "t", "n")
    reports = counted(form("btn"), names, 2000, 1)
    one = three_way(reports, *names)
    for order in ((2, 0, 1), (1, 0, 2), (2, 1, 0)):
        other = three_way(reports, *(names[place] for place in order))
        for turned, table in ((other, one), (other.alike, one.alike)):
            np.testing.assert_allclose(turned.shares, table.shares.transpose(order))
            np.testing.assert_allclose(turned.standard_error, table.standard_error.transpose(order))
            np.testing.assert_allclose(turned.consistent(), table.consistent().transpose(order), atol=1e-9)
            assert turned.labels[0] == tuple(table.labels[0][place] for place in order)


def test_the_counts_of_three_questions_hold_those_of_two() -> None:
    """The whole of the third question is the pair: the same marks, and the same shares."""
    survey = form("abs")
    values, _ = everybody(3000, 4)
    levels = {name: np.zeros(3000, np.uint8) for name in "abs"}
    people = Population({name: values[name] for name in "abs"}, levels)
    reports = tally(survey, simulate_reports(survey, people, seed=4), pairs=[("a", "b"), ("a", "b", "s")])
    three, two = three_way(reports, "a", "b", "s"), two_way(reports, "a", "b")
    np.testing.assert_allclose(three.decoded[..., -1][:-1, :-1], two.shares, atol=1e-12)


def side(size: int, form: object, *, exclusive: bool) -> Side:
    values, equal = tuple(map(str, range(size))), np.full(size, 1 / size)
    margin = Margin("q", values, equal, equal, 1, exclusive)
    return (LabelSide if exclusive else ItemSide)(margin=margin, forms=[form])


SIDES = {
    **{
        name: lambda name=name: side(4, arrays(build(name, 4, 1_000_000)), exclusive=True)
        for name in ("krr", "oue", "subset", "lh")
    },
    "tiers": lambda: side(5, arrays(build("subset_items", 5, [500_000] * 4 + [np.inf])), exclusive=True),
    "item_set": lambda: side(3, arrays(form("s").question("s").channels[0]), exclusive=False),
    "boxes": lambda: side(4, arrays(form("t").question("t").channels[0]), exclusive=False),
    "privset": lambda: side(4, arrays(form("w").question("w").channels[0]), exclusive=False),
}


@pytest.mark.parametrize("name", SIDES)
def test_what_patterns_count_is_unbiased_and_they_come_as_often_as_stated(name: str) -> None:
    """By many draws from one value: a value counts 1 or 0 on average, patterns come as the law says (7 errors)."""
    tested = SIDES[name]()
    people, generator, channel = 40_000, np.random.default_rng(1), tested.forms[0].channel
    if tested.margin.exclusive:
        values, own = np.full(people, 2), np.eye(tested.size)[2]
        tested = replace(tested, margin=replace(tested.margin, possible=own))  # which tier others are of
    else:
        values, own = np.repeat(np.array([[0b010]], np.uint8), people, axis=0), np.eye(tested.size)[1]
    marks = arrays(channel).marked(perturb(channel, values, generator)).astype(float)
    shown = tested.read(np.concatenate([marks, np.ones((people, 1))], axis=1).T, 0)  # values × patterns × people
    np.testing.assert_allclose(shown.sum(axis=1), 1)
    weights = (shown * tested.patterns.weights[0, -1][:, :, None]).sum(axis=1)
    assert (np.abs(weights.mean(axis=1) - own) <= 7 * weights.std(axis=1) / np.sqrt(people) + 1e-9).all()
    states = tested.states(np.append(own, 1.0))
    law = np.broadcast_to(tested.patterns.law[0], (tested.size, *tested.patterns.law.shape[2:]))
    chances = np.einsum("ixc,ix->ic", law, states)
    error = np.sqrt(chances * (1 - chances) / people)
    assert (np.abs(shown.mean(axis=2) - chances) <= 7 * error + 1e-9).all()
    if tested.margin.exclusive:
        seen = shown.reshape(-1, people)
        products = tested.given(0)[2]
        assert (np.abs(seen @ seen.T / people - products) <= 7 * 0.5 / np.sqrt(people) + 1e-9).all()


@pytest.mark.parametrize("hide", [None, {"epsilon": 2}])
def test_intervals_of_ranges_hold_beside_an_atom_and_those_of_the_smooth_curve_often_do_not(hide: dict | None) -> None:
    """A quarter of the people have the number right above the edge at 3: a smooth curve spreads them to both ranges."""
    survey = form("bn", 0.5, **({} if hide is None else {"hide_level": hide}))
    shares = np.zeros(BUCKETS)
    shares[((np.arange(10) + 0.5) / 10 * BUCKETS).astype(int)] = stats.binom.pmf(np.arange(10), 9, 0.3)
    truth = np.multiply.outer([0.3, 0.7], shares.reshape(4, -1).sum(axis=1)).ravel()
    smooth, times, number = 0, runs(6 if hide is None else 2, 40), runs(8_000, 20_000)
    for seed in range(times):
        people = Population.of_shares(survey, number, {"b": [0.3, 0.7], "n": shares}, seed=seed)
        table = two_way(tally(survey, simulate_reports(survey, people, seed=seed), pairs=[("b", "n")]), "b", "n")
        for each in (table, table.alike):
            low, high = (np.ravel(end) for end in each.interval(0.95))
            assert ((low <= truth) & (truth <= high)).all()
            assert each.conservative.all()
            assert "conservative-intervals" in {note.code for note in each.notes}
            rows = each.records()
            assert all(row["low"] <= row["smooth_low"] <= row["smooth_high"] <= row["high"] for row in rows)
        low, high = (np.ravel(end) for end in table.alike.interval(0.95, smooth=True))
        smooth += int(((low <= truth) & (truth <= high)).all())
    # With 8,000 people the smooth curve's hold in about 3 of 10 runs, so in all six in 1 of 2,000.
    assert hide is not None or smooth <= runs(times - 1, times // 2)
    turned = cross(tally(survey, simulate_reports(survey, people, seed=seed), pairs=[("b", "n")]), ("n", "b"))
    np.testing.assert_allclose(turned.interval(0.95).low, np.asarray(table.interval(0.95).low).reshape(2, 4).T)


def test_ranges_are_unbiased_where_shares_change_in_straight_lines_and_say_how_wrong_a_jump_makes_them() -> None:
    """Exactly, without any draw: the mean weight over buckets times a line, and times a jump at every place."""
    shares = np.random.default_rng(1).dirichlet(np.full(BUCKETS, 3.0))
    fitted = SimpleNamespace(bounds=(0.0, 12.0), shares=shares, smooth=None, log_root=np.zeros((BUCKETS, 1)), people=1)
    channel = build("sw", BUCKETS, 1_000_000, domain="numbers")
    numbers = replace(RangeSide.of("n", [arrays(channel)], fitted, None, [0, 3, 6, 12]), knots=5)
    mean = (numbers.weights @ numbers.chances)[0]
    for line in numbers.hats:
        np.testing.assert_allclose(mean @ (shares * line), numbers.member @ (shares * line), atol=1e-9)
    jumps = [np.arange(BUCKETS) >= place for place in range(BUCKETS)]
    off = [np.abs((mean - numbers.member) @ (shares * jump)).max() for jump in jumps]
    assert max(off) == pytest.approx(numbers.jump_bias[0])
    assert numbers.jump_bias[0] > 1e-3


def test_a_bent_relation_is_noticed_and_a_straight_one_is_not() -> None:
    survey = form("bn", 4)

    def codes(share: np.ndarray, seed: int) -> set[str]:
        generator = np.random.default_rng(seed)
        bucket = generator.integers(0, BUCKETS, 60_000)
        answer = (generator.random(len(bucket)) < share[bucket]).astype(int)
        people = Population({"b": answer, "n": bucket}, dict.fromkeys("bn", np.zeros(len(bucket), np.uint8)))
        reports = tally(survey, simulate_reports(survey, people, seed=seed), pairs=[("b", "n")])
        return {note.code for note in two_way(reports, "b", "n").notes}

    place = np.arange(BUCKETS)
    assert "bent-ranges" not in codes(0.2 + 0.6 * place / BUCKETS, 1)
    assert "bent-ranges" in codes(np.where(place % 8 < 4, 0.95, 0.05), 1)


def hidden(names: str, **keys: object) -> Survey:
    return form(names, 1, hide_level={"epsilon": 1}, **keys)


@pytest.mark.parametrize("same", [True, False], ids=["one level for all", "a level for each"])
def test_hidden_levels_are_unbiased_and_cover(same: bool) -> None:
    """With and without the assumption about levels; intervals made 2.5 times narrower do not cover."""
    survey, truth = hidden("ab"), true_shares(("a", "b"))
    people = runs(6_000, 20_000)
    found = [two_way(counted(survey, ("a", "b"), people, seed, same=same), "a", "b") for seed in range(runs(20, 1000))]
    for tables in ([table.alike for table in found], found):
        z = np.array([(table.shares - truth) / table.standard_error for table in tables])
        assert np.abs(z.mean(axis=0)).max() < 5.3 / np.sqrt(len(found)) + 0.1
        assert 0.6 < (z**2).mean() < 1.6
        covered = [float((np.abs(each) <= 1.96).mean()) for each in z]
        assert mean_is(covered, 0.95) or np.mean(covered) > 0.95
    assert not mean_is([float((np.abs(each) <= 0.8).mean()) for each in z], 0.95)


def test_margins_of_hidden_levels_count_levels_as_their_table_does() -> None:
    reports, margins = counted(hidden("ab"), ("a", "b"), 4_000, 1, same=True), []
    for differ in (None, 0):
        table = two_way(reports, "a", "b", differ=differ)
        for margin in table.margins:
            alone = estimate(reports, margin.question, differ=differ)
            np.testing.assert_allclose(margin.consistent(), alone.consistent(), atol=1e-12)
        margins.append(table.margins[0].consistent())
    assert np.abs(margins[0] - margins[1]).max() > 1e-3


RARE = [0.97, 0.025, 0.005]


@cache
def rare_table(seed: int, hide: float | None) -> Table:
    """Cells with one person in 1,600 to 40,000: among so few people mostly nobody."""
    survey = form("as", 8, **({} if hide is None else {"hide_level": {"epsilon": hide}}))
    people = Population.of_shares(survey, runs(400, 2000), {"a": RARE, "s": RARE}, seed=seed)
    return two_way(tally(survey, simulate_reports(survey, people, seed=seed), pairs=[("a", "s")]), "a", "s")


def rare_hits(tables: Iterable[Table]) -> np.ndarray:
    """How often the interval of each cell holds its share."""
    truth = np.outer(RARE, RARE).ravel()
    return np.sum(
        [[row.low <= share <= row.high for row, share in zip(t.rows(), truth, strict=True)] for t in tables], 0
    )


@pytest.mark.parametrize("hide", [None, 1], ids=["shown levels", "hidden levels"])
def test_cells_that_few_reports_speak_for_cover(hide: float | None) -> None:
    """Exact binomial tests at 1e-6; the twin has normal intervals with a quarter of the errors."""
    times = runs(24, 400)
    found = [rare_table(seed, hide) for seed in range(times)]
    for tables in (found, [each.alike for each in found]):
        assert (stats.binom.cdf(rare_hits(tables), times, 0.93) > 1e-6).all()
        twins = (replace(each, rare=None, standard_error=each.standard_error / 4) for each in tables)
        assert (stats.binom.cdf(rare_hits(twins), times, 0.93) < 1e-6).any()


def test_cells_of_a_number_that_few_reports_speak_for_cover() -> None:
    """Exact binomial tests at 1e-6; the twin's normal intervals hold one cell in 6 of 10 runs: in all of 16 in 3e-4."""
    survey, times = form("an", 8), runs(16, 200)
    quarters = np.array([0.9, 0.08, 0.015, 0.005])
    truth = np.outer(RARE, quarters).ravel()
    right, alike, normal = np.zeros((3, truth.size))
    for seed in range(times):
        shares = {"a": RARE, "n": np.repeat(quarters / (BUCKETS // 4), BUCKETS // 4).tolist()}
        people = Population.of_shares(survey, 2000, shares, seed=seed)
        table = two_way(tally(survey, simulate_reports(survey, people, seed=seed), pairs=[("a", "n")]), "a", "n")
        for hits, each in ((right, table), (alike, table.alike), (normal, replace(table.alike, rare=None))):
            hits += [row.low <= share <= row.high for row, share in zip(each.rows(), truth, strict=True)]
    assert (stats.binom.cdf([right, alike], times, 0.93) > 1e-6).all()
    assert (normal < alike).any()
    assert runs(1, 0) or (stats.binom.cdf(normal, times, 0.93) < 1e-6).any()


def test_errors_of_cells_that_few_reports_speak_for_are_those_of_the_channel(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin takes the spread of the reports that came for that of the channel: of mostly nobody."""
    right = [rare_table(seed, 1) for seed in range(5)]
    rare_table.cache_clear()
    monkeypatch.setattr(Linear, "lawful", property(lambda linear: linear.came))
    wrong = [rare_table(seed, 1) for seed in range(5)]
    rare_table.cache_clear()
    for ways in ((right, wrong), ([each.alike for each in right], [each.alike for each in wrong])):
        stated, too_small = (np.median([each.standard_error[2, 2] for each in own]) for own in ways)
        assert stated > 3 * too_small


def test_hidden_levels_that_depend_on_the_answer_are_noticed_and_do_not_bias_what_assumes_nothing() -> None:
    survey, generator = hidden("ab"), np.random.default_rng(1)
    values, indicators = everybody(100_000, 9)
    level = (generator.random(100_000) < np.where(values["a"] == 0, 0.8, 0.2)).astype(np.uint8)
    people = Population({name: values[name] for name in "ab"}, {"a": level, "b": level})
    table = two_way(tally(survey, simulate_reports(survey, people, seed=1), pairs=[("a", "b")]), "a", "b")
    truth = shares_of(indicators, ("a", "b"))
    assert table.homogeneity.rejected
    assert [each.notes[0].code for each in (table, table.alike)] == ["levels-disagree"] * 2
    assert [each.notes[0].severity for each in (table, table.alike)] == ["info", "warning"]
    assert np.abs(table.alike.shares - truth).max() > 6 * table.alike.standard_error.max()
    assert (np.abs(table.shares - truth) < 5.3 * table.standard_error).all()


def test_labels_are_those_that_devices_draw() -> None:
    """Enumerated chances of pairs of labels sum to 1, and a device's labels agree wherever levels do."""
    survey = hidden("ab")
    label = [[float(survey.level_channel.probability(s, t)) for t in (0, 1)] for s in (0, 1)]
    found = label_chances(survey, ["a", "b"])
    assert found.combinations == tuple(product((0, 1), repeat=2))
    np.testing.assert_allclose(found.matrix.sum(axis=0), 1)
    for levels, chances in zip(found.combinations, found.matrix.T, strict=True):
        first, second = levels
        alike = [label[s][first] if s == t else 0 for s, t in found.combinations]
        apart = [label[s][first] * label[t][second] for s, t in found.combinations]
        np.testing.assert_allclose(chances, alike if first == second else apart)
    np.testing.assert_allclose(found.members, [[1, 0.5, 0.5, 0], [0, 0.5, 0.5, 1]])
    for _ in range(20):
        report = Device(survey).answer_all({"a": "x", "b": "u"}, "open")
        assert len({answer.level for answer in report.answers}) == 1
    reports = counted(survey, ("a", "b"), 500, 1, same=True)
    assert all(first[1] == second[1] for (first, second), own in reports.pairs.items() if own.reports)


def test_three_hidden_questions_make_a_table() -> None:
    questions = [{"name": name, "values": ["p", "q"]} for name in "abc"]
    levels, hide = {"strict": 1, "open": 3}, {"epsilon": 1}
    survey = Survey.read({"pldp": 1, "title": "t", "levels": levels, "hide_level": hide, "questions": questions})
    generator = np.random.default_rng(2)
    cell = generator.choice(8, 60_000, p=[0.3, 0.1, 0.05, 0.15, 0.1, 0.05, 0.05, 0.2])
    values = {name: cell >> shift & 1 for name, shift in zip("abc", (2, 1, 0), strict=True)}
    people = Population(values, dict.fromkeys("abc", generator.integers(0, 2, len(cell), dtype=np.uint8)))
    table = three_way(tally(survey, simulate_reports(survey, people, seed=3), pairs=[("a", "b", "c")]), *"abc")
    truth = np.bincount(cell, minlength=8).reshape(2, 2, 2) / len(cell)
    for each in (table, table.alike):
        assert (np.abs(each.shares - truth) < 5.3 * each.standard_error).all()


def spread(table: np.ndarray, reports: int, seed: int) -> Spread:
    """A table seen through multinomial chance alone, whose V is known."""
    found = np.random.default_rng(seed).multinomial(reports, table.ravel()) / reports
    covariance = (np.diag(found) - np.outer(found, found)) / reports
    return Spread.of(found.reshape(table.shape), covariance, reports)


@pytest.mark.parametrize("strength", [0.0, 0.15, 0.6])
def test_the_interval_of_the_association_covers(strength: float) -> None:
    """V of a mixture of independence and its opposite is the part of the latter; at 0 intervals are conservative."""
    independent, same = np.full((3, 3), 1 / 9), np.eye(3) / 3
    table = (1 - strength) * independent + strength * same
    found = [spread(table, 500, seed) for seed in range(runs(150, 3000))]
    ends = np.array([each.interval(0.95) for each in found])
    covered = (ends[:, 0] <= strength) & (strength <= ends[:, 1])
    assert mean_is(covered.astype(float).tolist(), 0.95) or (strength == 0 and covered.mean() > 0.95)
    assert np.mean([each.estimate for each in found]) == pytest.approx(strength, abs=0.05)
    if strength:
        narrow = np.abs(np.array([each.estimate for each in found]) - strength) < (ends[:, 1] - ends[:, 0]) / 4
        assert not mean_is(narrow.astype(float).tolist(), 0.95)


def test_dependent_answers_are_associated_and_independent_ones_need_not_be() -> None:
    found = two_way(counted(form("bn", 4), ("b", "n"), 20_000, 1), "b", "n").association()
    assert [each.label for each in found] == [()]
    assert 0 < found[0].low < found[0].estimate < found[0].high < 1
    items = two_way(counted(form("as", 4), ("a", "s"), 20_000, 1), "s", "a").association()
    assert [each.label for each in items] == [("i",), ("j",), ("k",)]
    survey = form("ab")
    people = Population.of_shares(survey, 20_000, seed=1)
    alone = two_way(tally(survey, simulate_reports(survey, people, seed=1), pairs=[("a", "b")]), "a", "b")
    assert alone.association(0.9999)[0].low == 0


def test_the_covariance_of_a_table_is_that_of_its_cells() -> None:
    """Its diagonal is the variance that tables state; cells of k-RR are those of one multinomial, inverted."""
    first, second = (build("krr", size, 1_000_000) for size in (2, 3))
    shares, reports = np.array([[0.3, 0.1, 0.1], [0.05, 0.25, 0.2]]), 10**9
    both = np.rint(reports * law(first) @ shares @ law(second).T).astype(int)
    counts = pair_counts(int(both.sum()), both.sum(axis=1), both.sum(axis=0), both)
    margins = [Margin("q", tuple("xyz"[: len(own)]), own, own, 1) for own in (shares.sum(axis=1), shares.sum(axis=0))]
    sides = [LabelSide(margin=own, forms=[arrays(each)]) for own, each in zip(margins, (first, second), strict=True)]
    cells = Cells.of(sides, LabelChances(((0, 0),), np.eye(1), visible=True), {(0, 0): counts}, None)
    linear, _ = cells.decode(0)
    found = cell_covariance(cells, linear) * reports
    inverse, seen = np.kron(np.linalg.inv(law(first)), np.linalg.inv(law(second))), both.ravel() / reports
    exact = inverse @ (np.diag(seen) - np.outer(seen, seen)) @ inverse.T
    np.testing.assert_allclose(found, exact, atol=1e-6)
    np.testing.assert_allclose(linear.variance() * reports, np.diag(exact), rtol=1e-6)


def test_the_nearest_of_several_tables_is_the_nearest_of_each() -> None:
    generator = np.random.default_rng(1)
    tables = generator.normal(0.1, 0.2, (5, 4, 6))
    rows, columns = generator.dirichlet(np.ones(4), 5), generator.dirichlet(np.full(6, 0.3), 5)
    found = nearest_tables(tables, [rows, columns])
    np.testing.assert_allclose(
        found, [with_margins(*each) for each in zip(tables, rows, columns, strict=True)], atol=1e-9
    )
    with pytest.raises(EstimateError, match="totals differ"):
        nearest_tables(tables, [rows, 2 * columns])


REFUSED = {
    "pairs must name different questions, not 'a' twice": ("ab", [("a", "b", "a")], {}),
    "pairs must name two or three questions each": ("ab", [("a",)], {}),
    "pairs need people who answer a, b, s; this survey asks each person 2": ("abs", [("a", "b", "s")], {"ask": 2}),
}


@pytest.mark.parametrize("words", REFUSED)
def test_tables_that_cannot_be_counted_get_one_clear_line(words: str) -> None:
    names, pairs, keys = REFUSED[words]
    with pytest.raises(TallyError, match=words):
        tally(form(names, **keys), [], pairs=pairs)


def test_a_number_that_is_asked_for_its_mean_has_no_table() -> None:
    questions = [{"name": "a", "values": ["x", "y"]}, {"name": "n", **QUESTIONS["n"], "purpose": "mean"}]
    del questions[1]["buckets"]
    survey = Survey.read({"pldp": 1, "title": "t", "levels": {"l": 1}, "questions": questions})
    with pytest.raises(TallyError, match="cannot be in a table: it is asked for its mean only"):
        tally(survey, [], pairs=[("a", "n")])


RANGES = {
    "from 0 to 12, as people answer": {"n": [0, 6]},
    "two or more rising numbers": {"n": [0, 6, 6, 12]},
    "ranges are for numbers; question 'b' is of kind choice": {"b": [0, 1]},
    "'q' is no question of the table": {"q": [0, 1]},
    "48 buckets, which cannot make 100 ranges": {"n": np.linspace(0, 12, 101).tolist()},
}


@pytest.mark.parametrize("words", RANGES)
def test_ranges_that_cannot_be_get_one_clear_line(words: str) -> None:
    with pytest.raises(EstimateError, match=words):
        two_way(counted(form("bn"), ("b", "n"), 300, 1), "b", "n", ranges=RANGES[words])


def test_ranges_are_those_that_are_asked_for() -> None:
    reports = counted(form("bn"), ("b", "n"), 2000, 1)
    table = two_way(reports, "n", "b", ranges={"n": [0, 1.1, 7, 12]})
    assert [label[0] for label in table.labels[::2]] == ["0 to 1.1", "1.1 to 7", "7 to 12"]
    results = estimate(reports, ranges={"n": [0, 6, 12]})
    assert results.tables[0].shares.shape == (2, 2)
    with pytest.raises(EstimateError, match="ranges are those of numbers in tables"):
        estimate(reports, "n", ranges={"n": [0, 6, 12]})


def test_every_result_of_tables_is_shown() -> None:
    for names in KINDS:
        table = small_table(names)
        content = table.to_mapping()
        assert content["questions"] == list(names)
        assert [margin["exclusive"] for margin in content["margins"]] == [name in "abn" for name in names]
        assert bool(content["association"]) is (len(names) == 2)
        assert len(table.to_frame()) == table.shares.size
        assert all(name in table._repr_html_() for name in names)
        assert str(table).startswith(" × ".join(names))


def test_pairs_of_all_kinds_add_up_and_survive_a_file() -> None:
    for names in combinations("astwn", 2):
        whole = counted(form("".join(names)), names, 300, 2)
        again = Tally.from_bytes(whole.to_bytes())
        assert again == whole
        assert (whole + again).without(again) == whole
