"""One idea stands in one place: how many modules an estimate passes, and how often its parts are written down."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from pldp import Survey, estimate, tally, two_way
from pldp.estimates import estimate_fused
from pldp.simulate import Population, simulate_reports
from pldp.tallies import join_services, keyed_reports

ESTIMATES = Path(__file__).parents[2] / "src" / "pldp" / "estimates"

MOST_MODULES, MOST_LINES = 51, 13_260
"""What the package of estimates may have: it gets less, not more."""

TESTS_OF_LEVELS, FORGED_REPORTS, QUESTIONS_ABOUT_HIDING, LARGEST_KNOT = 2, 2, 27, 4


def survey(hidden: bool) -> Survey:
    content: dict[str, Any] = {
        "pldp": 1,
        "title": "t",
        "levels": {"strict": 1, "open": 3},
        "questions": [
            {"name": "a", "values": ["x", "y", "z"]},
            {"name": "b", "values": ["u", "v"]},
            {"name": "s", "kind": "choices", "values": ["k", "l", "m"]},
        ],
    }
    return Survey.read(content | ({"hide_level": {"epsilon": 1}} if hidden else {}))


def reports_of(asked: Survey, seed: int) -> Any:
    return simulate_reports(asked, Population.of_shares(asked, 3000, seed=1), seed=seed)


def modules_of(work: Callable[[], object]) -> set[str]:
    """The modules of estimates whose functions are called."""
    work()  # what is imported late is there
    seen: set[str] = set()

    def look(frame: FrameType, event: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and ESTIMATES in path.parents:
            seen.add(path.relative_to(ESTIMATES).as_posix())

    sys.setprofile(look)
    try:
        work()
    finally:
        sys.setprofile(None)
    return seen


def test_a_share_passes_at_most_eighteen_modules() -> None:
    asked = survey(hidden=False)
    counted = tally(asked, reports_of(asked, 1))
    assert len(modules_of(lambda: estimate(counted, "a"))) <= 18


def test_a_hidden_table_passes_at_most_nineteen_modules() -> None:
    asked = survey(hidden=True)
    counted = tally(asked, reports_of(asked, 1), pairs=[("a", "b")])
    assert len(modules_of(lambda: two_way(counted, "a", "b"))) <= 19


def test_a_joined_hidden_set_passes_at_most_twenty_one_modules() -> None:
    asked = survey(hidden=True)
    services = enumerate(("shop", "bank"))
    parts = [keyed_reports(name, asked, reports_of(asked, seed), range(3000)) for seed, name in services]
    fused = join_services(parts)["s"]
    assert len(modules_of(lambda: estimate_fused(fused, largest=1))) <= 21


def sources() -> list[Path]:
    return sorted(ESTIMATES.rglob("*.py"))


def test_estimates_do_not_grow() -> None:
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in sources())
    assert len(sources()) <= MOST_MODULES
    assert lines <= MOST_LINES


def occurrences(pattern: str) -> list[str]:
    found = re.compile(pattern)
    return [
        f"{path.relative_to(ESTIMATES)}:{number}"
        for path in sources()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if found.search(line) and ">>>" not in line
    ]


def test_levels_are_tested_in_few_places() -> None:
    places = occurrences(r"Homogeneity(\.of)?\(")
    assert len([each for each in places if not each.startswith("results/facts.py")]) <= TESTS_OF_LEVELS


def test_forged_reports_are_weighed_in_few_places() -> None:
    assert len(occurrences(r"def manipulation\(")) <= FORGED_REPORTS


ABOUT_HIDING = re.compile(r"hidden|visible|level_channel|label_channel|hides|^mixed(_services)?$")


def asks_about_hiding(test: ast.expr) -> bool:
    """Tell whether a condition depends on whether levels are hidden: by a name, or by `mix is None`."""
    for node in ast.walk(test):
        name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
        if ABOUT_HIDING.search(name):
            return True
        if isinstance(node, ast.Compare) and any(getattr(each, "value", 0) is None for each in node.comparators):
            left = node.left
            if (left.attr if isinstance(left, ast.Attribute) else getattr(left, "id", "")) == "mix":
                return True
    return False


def conditions(tree: ast.AST) -> list[ast.expr]:
    tests: list[ast.expr] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.If | ast.IfExp | ast.While | ast.Assert):
            tests.append(node.test)
        elif isinstance(node, ast.comprehension):
            tests += node.ifs
        elif isinstance(node, ast.BoolOp):
            tests.append(node)
    return tests


def test_few_places_ask_whether_levels_are_hidden() -> None:
    asking = {
        (path, test.lineno)
        for path in sources()
        for test in conditions(ast.parse(path.read_text(encoding="utf-8")))
        if asks_about_hiding(test)
    }
    assert len(asking) <= QUESTIONS_ABOUT_HIDING


def imports(path: Path) -> set[str]:
    """Return the modules that a module may name in its imports, those for types included."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{each.name}" for each in node.names}
        elif isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
    return found


def largest_knot(graph: dict[str, set[str]]) -> set[str]:
    """Return the largest set of modules that all reach each other."""
    reached = {name: (others & set(graph)) - {name} for name, others in graph.items()}
    for middle in graph:
        for others in reached.values():
            if middle in others:
                others.update(reached[middle])
    knots = [{other for other in others if name in reached[other]} for name, others in reached.items()]
    return max(knots, key=len)


def test_imports_have_no_large_knots() -> None:
    package = ESTIMATES.parents[1]
    names = {path: ".".join(path.relative_to(package).with_suffix("").parts) for path in sources()}
    knot = largest_knot({name.removesuffix(".__init__"): imports(path) for path, name in names.items()})
    assert len(knot) <= LARGEST_KNOT, knot


def test_a_knot_is_seen() -> None:
    assert largest_knot({"a": {"b"}, "b": {"c", "x"}, "c": {"a"}, "d": {"a"}}) == {"a", "b", "c"}


def filled_from_bags(tree: ast.AST) -> list[str]:
    """Return the calls of classes that take their fields from a mapping of anything."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    bags = (call for call in calls if any(each.arg is None for each in call.keywords))
    return [ast.unparse(call) for call in bags if ast.unparse(call.func).split(".")[-1][0].isupper()]


def test_no_class_is_filled_from_a_bag_of_fields() -> None:
    """Except the options that a caller gives, which `Options` reads."""
    found = [call for path in sources() for call in filled_from_bags(ast.parse(path.read_text(encoding="utf-8")))]
    assert [call for call in found if not call.startswith("Options(")] == []


def test_a_bag_of_fields_is_seen() -> None:
    assert filled_from_bags(ast.parse("Shares(shares=one, **self._about())")) != []
    assert filled_from_bags(ast.parse("Shares(shares=one); replace(found, **about)")) == []


@pytest.mark.parametrize(
    "code",
    [
        "if survey.level_channel is None: pass",
        "x = 1 if self.mix is None else 2",
        "if source.label_channel is None: pass",
        "if mixed_services(fused): pass",
    ],
)
def test_the_rule_sees_who_asks(code: str) -> None:
    assert any(map(asks_about_hiding, conditions(ast.parse(code))))
