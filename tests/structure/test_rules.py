"""The structure is a claim like any other: ladders stay in their homes, registries agree, doors are used."""

from __future__ import annotations

import ast
import gc
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from pldp.auditing.kinds import BY_KIND as AUDITING
from pldp.auditing.published import MECHANISMS as AUDITED
from pldp.device.kinds import BY_KIND as DEVICE
from pldp.estimates.kinds import BY_KIND as ESTIMATES
from pldp.mechanisms import REGISTRY, build
from pldp.mechanisms.arrays import ChannelArrays, arrays
from pldp.planning.kinds import BY_KIND as PLANNING
from pldp.simulate.kinds import BY_KIND as SIMULATE
from pldp.survey.kinds import KINDS
from pldp.survey.schema import survey_schema

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "pldp"

STAGES = {
    "device": DEVICE,
    "simulate": SIMULATE,
    "estimates": ESTIMATES,
    "planning": PLANNING,
    "auditing": AUDITING,
}

LONGEST = 450
"""Lines of a module, at most."""


LOOKED_AT = (ast.Call, ast.Compare, ast.Import, ast.ImportFrom)
Nodes = list[ast.AST]
Rule = Callable[[str, Nodes], Iterator[str]]


def nodes_of(code: str) -> Nodes:
    """The calls, comparisons and imports of a module."""
    return [node for node in ast.walk(ast.parse(code)) if isinstance(node, LOOKED_AT)]


@contextmanager
def no_collection() -> Iterator[None]:
    """Hundreds of thousands of nodes that all live on are looked through in vain, which takes longer than to parse."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@cache
def findings() -> list[tuple[Rule, str, str]]:
    """What each rule finds in each module of the package; all modules are read once."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        with no_collection():
            nodes = nodes_of(path.read_text(encoding="utf-8"))
        found += [(rule, name, text) for rule in RULES for text in rule(name, nodes)]
    return found


@cache
def channel_classes() -> set[str]:
    """Every class of channel, the abstract ones for a domain and one p and q per value among them."""
    names = {base.__name__ for family in REGISTRY.values() for base in family.__mro__}
    return names - {"Channel", "ABC", "object"}


def named(node: ast.expr) -> set[str]:
    """The last names of a class, or of several in a tuple or a union."""
    if isinstance(node, ast.Name):
        return {node.id}
    if isinstance(node, ast.Attribute):
        return {node.attr}
    return {name for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr) for name in named(child)}


def ladders_by_channel(name: str, nodes: Nodes) -> Iterator[str]:
    """Yield the lines that ask for the class of a channel."""
    classes = channel_classes()
    for node in nodes:
        asked = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
        if asked in {"isinstance", "issubclass"} and named(node.args[1]) & classes:
            yield f"{name}:{node.lineno}"


def mechanism_names(name: str, nodes: Nodes) -> Iterator[str]:
    """Yield the lines where a mechanism's name is compared or looked up; examples in docstrings are no code."""
    for node in nodes:
        compared = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
        for part in compared:
            for child in ast.walk(part):
                if isinstance(child, ast.Constant) and child.value in REGISTRY:
                    yield f"{name}:{child.lineno}"


def kind_comparisons(name: str, nodes: Nodes) -> Iterator[str]:
    """Yield the lines where something is compared with the name of a kind, or asked for its class."""
    classes = {kind.__name__ for kind in KINDS.values()}
    for node in nodes:
        asked = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
        if asked == "isinstance" and named(node.args[1]) & classes:
            yield f"{name}:{node.lineno}"
        if isinstance(node, ast.Compare):
            parts = [child for part in (node.left, *node.comparators) for child in ast.walk(part)]
            if any(isinstance(part, ast.Constant) and part.value in KINDS for part in parts):
                yield f"{name}:{node.lineno}"


def found(rule: Rule, *homes: str) -> list[str]:
    """What a rule finds outside these folders."""
    return [text for by, name, text in findings() if by is rule and not name.startswith(homes)]


def test_the_rules_look_at_the_modules() -> None:
    """Mechanisms, where it is allowed, do ask for the class of a channel."""
    assert {name.split("/")[0] for rule, name, _ in findings() if rule is ladders_by_channel} >= {"mechanisms"}


def test_only_mechanisms_and_papers_ask_for_the_class_of_a_channel() -> None:
    assert found(ladders_by_channel, "mechanisms/", "papers/") == []


def test_only_mechanisms_the_audits_own_tables_and_papers_know_mechanisms_by_name() -> None:
    assert found(mechanism_names, "mechanisms/", "auditing/published.py", "papers/") == []


def test_only_kinds_know_kinds_by_name() -> None:
    homes = ("survey/kinds/", *(f"{stage}/kinds/" for stage in STAGES), "show/kinds/")
    assert found(kind_comparisons, *homes) == []


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        (ladders_by_channel, "isinstance(channel, pldp.mechanisms.UnaryEncoding | NumberChannel)"),
        (mechanism_names, "if mechanism in {'krr', other}: pass"),
        (kind_comparisons, "if question.kind != 'choice': pass"),
        (kind_comparisons, "isinstance(question, survey.Choices)"),
    ],
)
def test_the_rules_see_a_ladder(rule: Rule, code: str) -> None:
    assert list(rule("estimates/verb.py", nodes_of(code))) == ["estimates/verb.py:1"]


@pytest.mark.parametrize("name", REGISTRY)
def test_every_mechanism_has_arrays_an_audit_table_and_a_schema_entry(name: str) -> None:
    family = REGISTRY[name]
    assert family.mechanism == name
    built = build(name, 4, (500_000,) * 4 if family.per_value else 1_000_000)
    assert isinstance(arrays(built), ChannelArrays)
    assert name in AUDITED
    assert f'"{name}"' in str(survey_schema()).replace("'", '"')


def test_what_the_registry_says_of_a_mechanism_is_what_the_class_says() -> None:
    registry = import_module("pldp.mechanisms.registry")
    assert {name: domain for name, (domain, _, _) in registry._HOMES.items()} == {
        name: family.domain for name, family in REGISTRY.items()
    }


@pytest.mark.parametrize("stage", STAGES)
def test_every_kind_has_every_stage(stage: str) -> None:
    assert set(STAGES[stage]) == set(KINDS), stage


def test_every_kind_is_shown() -> None:
    shown = import_module("pldp.show.kinds").BY_KIND
    assert set(KINDS) <= set(shown)


def test_no_module_is_too_long() -> None:
    lengths = {
        path.relative_to(SOURCE): len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCE.rglob("*.py")
    }
    assert {str(path): lines for path, lines in lengths.items() if lines > LONGEST} == {}


def packages() -> list[str]:
    return [path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()]


DOORS = re.compile(
    r"pldp\.(\w+|\w+\.kinds|mechanisms\.(arrays|continuous)|reports\.columns|survey\.schema|collector\.web|papers\.\w+"
    r"|(tallies|simulate)\.spark|tallies\.sql)"
)
"""A package, its kinds, and what needs more than the rest of its package: NumPy, Arrow, Spark, SQL, a paper's data."""


def past_doors(name: str, nodes: Nodes) -> Iterator[str]:
    """Yield imports of a module from inside another package, past its doors."""
    for node in nodes:
        asked = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        asked += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for module in asked:
            inside = module.startswith("pldp.") and module.split(".")[1] != name.split("/", maxsplit=1)[0]
            if inside and not DOORS.fullmatch(module):
                yield f"{name}:{node.lineno} {module}"


RULES: tuple[Rule, ...] = (ladders_by_channel, mechanism_names, kind_comparisons, past_doors)


def test_packages_are_entered_by_their_doors() -> None:
    assert found(past_doors) == []


@pytest.mark.parametrize(
    "code",
    [
        "from pldp.tallies.counts import BitCounts",
        "import pldp.mechanisms.sets.arrays",
        "from pldp.cli.arguments import x",
    ],
)
def test_the_rule_sees_an_import_past_a_door(code: str) -> None:
    assert list(past_doors("estimates/verb.py", nodes_of(code))) == [f"estimates/verb.py:1 {code.split()[1]}"]


def test_every_exported_name_exists() -> None:
    for package in packages():
        door = import_module(f"pldp.{package}") if package != "show" else import_module("pldp.show")
        for name in getattr(door, "__all__", ()):
            assert hasattr(door, name), f"pldp.{package}.{name}"


def test_tests_and_documentation_of_the_rules_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert re.search("^## Adding a mechanism", text, re.MULTILINE)
    assert re.search("^## Adding a kind", text, re.MULTILINE)
