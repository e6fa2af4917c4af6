"""Numbers, sentences and tables as people read them."""

from __future__ import annotations

import pytest

from helpers import mappings
from pldp import show
from pldp.show.numbers import amounts, percents

SENTENCES = {
    "choice": "mode: car 31 % (28 to 34 %), bike 21 % (18 to 24 %), bus, tram or underground 17 % (14 to 20 %)",
    "choices": "basket: bread 61 % (57 to 65 %), milk 42 % (38 to 46 %), beer 10 % (6 to 14 %)",
    "number": "spent: mean 66.0 euros (64.4 to 67.6 euros), median 64 euros (61 to 67 euros)",
    "change": "mode: changes of car 3.1 pp (0.7 to 5.5 pp)",
    "trend": "mode: bike 21 % → 21 %, car 31 % → 21 %, bus, tram or underground 17 % → 17 % from round 1 to round 3",
    "table": "late × mode: no and car 22 % (18 to 25 %), no and bike 15 % (11 to 18 %), no and bus, tram",
}


@pytest.mark.parametrize("kind", show.BY_KIND)
def test_every_kind_says_what_it_found_in_a_sentence(kind: str) -> None:
    sentence = show.sentence(mappings.EVERY_KIND[kind]())
    assert sentence.startswith(SENTENCES[kind])
    assert sentence.endswith("; 95 % intervals, from 1,000 reports")


@pytest.mark.parametrize("kind", show.BY_KIND)
def test_every_row_of_a_table_has_a_cell_per_head(kind: str) -> None:
    result = mappings.EVERY_KIND[kind]()
    tables = [*show.BY_KIND[kind].tables(result), show.BY_KIND[kind].bars(result), show.groups_table(result)]
    found = [table for table in tables if table is not None]
    assert sum(len(table.rows) for table in found) >= 3
    assert all(len(row) == len(table.heads) for table in found for row in table.rows)


def test_tables_have_a_digit_more_than_sentences() -> None:
    kind = show.BY_KIND["choice"]
    (table,) = kind.tables(kind.shown(mappings.choice()))
    assert table.heads == ("value", "share", "95 % interval", "std. error", "unbiased")
    assert table.rows[2] == ("car", "31.3 %", "28.9 to 33.7 %", "1.2 %", "31.3 %")


def test_sets_and_rules_are_shown_and_single_items_once() -> None:
    items, sets, rules = show.BY_KIND["choices"].tables(mappings.choices())
    assert [row[0] for row in items.rows] == ["bread", "milk", "beer"]
    assert [row[0] for row in sets.rows] == ["bread + milk"]
    assert rules.rows == [("milk", "bread", "74.0 %", "5.0 %", "1.20")]


def test_where_no_set_is_frequent_that_is_said() -> None:
    _, sets = show.BY_KIND["choices"].tables(mappings.choices(sets=[], rules=[]))
    assert sets.rows == []
    assert sets.note == "No set of two or more surely has a share of 10 %. All is well."


@pytest.mark.parametrize(
    ("error", "number", "words"),
    [
        (1200, 31_234, "31,000"),
        (0.5, 12.34, "12.3"),
        (None, 1234.5, "1,230"),
        (3e-12, 0.5, "0.500000000"),
        (0, 7, "7.00"),
    ],
)
def test_digits_follow_the_error(error: float | None, number: float, words: str) -> None:
    assert amounts(error, size=number)(number) == words


def test_per_cent_never_has_digits_that_nobody_needs() -> None:
    assert percents([1e-9])(1 / 3) == "33.333 %"
    assert percents([2.5])(1 / 3) == "33 %"
    assert percents([])(1 / 3) == "33.3 %"
    assert percents([0.01])(-0.0001) == "0 %"


def test_a_table_of_two_questions_has_its_margins() -> None:
    (table,) = show.BY_KIND["table"].tables(mappings.two_way())
    assert table.heads[0] == "late \\ mode"
    assert [row[0] for row in table.rows] == ["no", "yes", "all"]
    assert table.rows[0][3] == "18–25"
    assert table.rows[2][3] == "31"


def test_rounds_have_a_column_each_and_sure_changes_a_mark() -> None:
    rounds, before, first = show.BY_KIND["trend"].tables(mappings.trend())
    assert rounds.heads == ("value", "round 1", "round 2", "round 3")
    assert rounds.rows[2] == ("car", "31.3 (28.9 to 33.7)", "30.3 (27.9 to 32.7)", "21.3 (18.9 to 23.7)")
    assert before.heads == ("value", "round 1 → round 2", "round 2 → round 3")
    assert before.rows[2] == ("car", "−1.0 (−4.4 to 2.4)", "−9.0 (−12.4 to −5.6) *")
    assert first.heads == ("value", "round 1 → round 3")
    assert [row[0] for row in first.rows if row[1].endswith("*")] == ["car"]


def test_a_question_of_another_kind_keeps_its_labels_and_its_unit_over_rounds() -> None:
    rows = [{**row, "round": name} for name in ("a", "b") for row in mappings.number()["rows"]]
    own = {"of": "number", "unit": "euros", "rounds": [{"name": "a"}, {"name": "b"}], "since_first": []}
    (rounds, _) = show.BY_KIND["trend"].tables(mappings.trend(rows=rows, changes=[{**rows[0], "since": "a"}], **own))
    assert [row[0] for row in rounds.rows][:3] == ["mean", "5 % below", "25 % below"]
    assert rounds.rows[0][1] == "66.00 (64.43 to 67.57)"
    assert rounds.title.endswith(", in euros")
    (differences,) = show.BY_KIND["change"].tables(mappings.change(rows=mappings.number()["rows"], **own))
    assert differences.rows[3][:2] == ("median", "64.0 euros")


def test_what_stands_behind_a_result_is_said() -> None:
    levels = [{"level": "a", "mechanism": "krr", "epsilon": 1.0, "share": 0.25}]
    fit = {"converged": False, "gap": 1e-3, "steps": 1200}
    said = show.footing(mappings.choice(levels=levels, fit=fit, manipulation=None))
    assert said[0].endswith("p = 0.03: nothing speaks against it.")
    assert said[1:] == [
        "Levels are hidden in reports; estimated choices: a 25 %.",
        "Fit did NOT converge: gap 1.0e-03 after 1,200 steps.",
    ]


def test_the_worst_of_many_tests_is_named_so() -> None:
    test = {"statistic": 9.5, "degrees": 1, "p_value": 0.04, "rejected": False, "noticed": None, "tests": 20}
    said, *_ = show.footing(mappings.choices(homogeneity=test))
    assert "χ² = 9.5 on 1 degree of freedom, the worst of 20 tests, p = 0.04 for all together" in said
