"""What users touch: `import pldp` is enough, everything shows itself in a few lines, is copied and compared."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import is_dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

import pldp
from pldp.budgets import Level
from pldp.device import Ledger, Spend
from pldp.errors import CallError, PldpError
from pldp.estimates import HiddenBaskets, Rates, baskets_of, density, estimate_fused, itemsets, mean
from pldp.estimates.linear.mix import LevelMix
from pldp.mechanisms import REGISTRY, build, build_stages
from pldp.papers.groups import HiddenReports, group, joint_likelihood, maximum_likelihood
from pldp.simulate import Partitions, Population, simulate
from pldp.tallies import Asked, BitCounts, HiddenLevels, ItemColumns, OutputCounts, TableCounts, fused_of

SIZE = 1000
MOST_LINES = 5
MOST_CHARACTERS = 600

LABELS = [f"value number {place}" for place in range(SIZE)]
WIDE = {
    "pldp": 1,
    "title": "A survey of many values " * 4,
    "levels": {"strict": 0.5, "open": 2},
    "questions": [
        {"name": "one", "values": LABELS, "mechanism": "oue"},
        {"name": "two", "values": LABELS[:40]},
        {"name": "three", "values": LABELS[:30]},
        {"name": "several", "kind": "choices", "values": LABELS[:200]},
        {"name": "number", "kind": "number", "low": 0, "high": 1, "buckets": 128},
    ],
}


@cache
def survey() -> pldp.Survey:
    return pldp.Survey.read(WIDE)


@cache
def tally() -> pldp.Tally:
    reports = simulate(survey(), 1000, seed=1)
    return pldp.tally(survey(), reports, patterns=True, pairs=[("two", "three")])


@cache
def commute(people: int = 2000, seed: int = 1) -> pldp.Tally:
    asked = pldp.Survey.load("examples/commute.toml")
    return pldp.tally(asked, simulate(asked, people, seed=seed), patterns=True, pairs=[("late", "mode")])


@cache
def shopping(people: int = 2000, seed: int = 1) -> pldp.Tally:
    asked = pldp.Survey.load("examples/shopping.toml")
    return pldp.tally(asked, simulate(asked, people, seed=seed))


@cache
def results(seed: int = 1) -> pldp.Results:
    return pldp.estimate(commute(seed=seed))


@cache
def planned(people: int = 1000) -> pldp.Plan:
    return pldp.plan(survey(), people)


@cache
def planned_choice(people: int = 1000) -> pldp.Plan:
    return pldp.plan(commute().survey, people)


def ages(seed: int) -> pldp.Result:
    question = {"name": "age", "kind": "number", "low": 18, "high": 90, "purpose": "mean"}
    asked = pldp.Survey.read({"pldp": 1, "title": "t", "levels": {"only": 1}, "questions": [question]})
    return pldp.estimate(pldp.tally(asked, simulate(asked, 1000, seed=seed)), "age")


def channel(name: str, micro_epsilon: int = 1_000_000) -> Any:
    size = min(SIZE, REGISTRY[name].most)
    return build(name, size, (micro_epsilon,) * size if REGISTRY[name].per_value else micro_epsilon)


def fused_shares(seed: int, method: str = "unbiased") -> pldp.Result:
    drawn = np.random.default_rng(seed).integers(0, 3, 300)
    services = [pldp.Service(name, build("krr", 3, 1_000_000), np.arange(300), drawn[::step]) for name, step in ONWARD]
    return estimate_fused(pldp.fuse(services), method=method)


ONWARD = (("a", 1), ("b", -1))


def hidden() -> HiddenReports:
    label, response = build("krr", 2, 500_000), [build("krr", SIZE, budget) for budget in (1_000_000, 4_000_000)]
    return HiddenReports.of(response, label, [OutputCounts(np.ones(SIZE, np.int64))] * 2)


def hidden_baskets(reports: int) -> HiddenBaskets:
    label, channels = build("krr", 2, 500_000), [build("item_set", SIZE, budget) for budget in (1_000_000, 4_000_000)]
    outputs = (rows(reports), rows(reports))
    return HiddenBaskets(tuple(channels), LevelMix.of(label, [reports, reports]), outputs)


def rows(reports: int) -> np.ndarray:
    return np.arange(reports * 125, dtype=np.uint8).reshape(reports, 125)


MADE: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "hidden baskets": (lambda: hidden_baskets(8), lambda: hidden_baskets(16)),
    "survey": (survey, lambda: commute().survey),
    **{
        f"question {name}": (lambda name=name: survey().question(name), lambda: survey().question("two"))
        for name in ("one", "several", "number")
    },
    **{
        f"channel {name}": (lambda name=name: channel(name), lambda name=name: channel(name, 2_000_000))
        for name in REGISTRY
    },
    **{
        f"stages {name}": (
            lambda name=name: build_stages(name, 4, 500_000, domain=REGISTRY[name].domain),
            lambda name=name: build_stages(name, 4, 600_000, domain=REGISTRY[name].domain),
        )
        for name in ("krr", "lh", "item_set", "sr")
    },
    "asked": (lambda: Asked("mode", values=tuple(LABELS)), lambda: Asked("late", values=tuple(LABELS))),
    "hidden levels": (
        lambda: HiddenLevels(("a", "b"), (channel("krr"), channel("krr", 2_000_000)), build("krr", 2, 500_000)),
        lambda: HiddenLevels(("a", "b"), (channel("oue"), channel("oue", 2_000_000)), build("krr", 2, 500_000)),
    ),
    "level": (lambda: Level.of("strict", "0.5"), lambda: Level.of("strict", "0.6")),
    "report": (lambda: pldp.Device(survey()).answer_all({"one": LABELS[0], "two": LABELS[1]}, "open"), None),
    "tally": (tally, commute),
    "tally of pairs": (commute, lambda: commute(seed=2)),
    "results": (results, lambda: results(2)),
    "shares": (lambda: pldp.estimate(tally(), "one"), lambda: pldp.estimate(tally(), "two")),
    "sets": (lambda: pldp.estimate(tally(), "several"), lambda: pldp.estimate(shopping(), "basket")),
    "number": (lambda: pldp.estimate(tally(), "number"), lambda: pldp.estimate(shopping(), "spent")),
    "mean of a number": (lambda: ages(1), lambda: ages(2)),
    "table": (lambda: pldp.two_way(tally(), "two", "three"), lambda: pldp.two_way(commute(), "late", "mode")),
    "change": (lambda: rounds()[1] - rounds()[0], lambda: rounds()[0] - rounds()[1]),
    "combined groups": (
        lambda: pldp.combine(dict(zip("ab", rounds()[:2], strict=True)), {"a": 0.5, "b": 0.5}),
        lambda: pldp.combine(dict(zip("ab", rounds()[:2], strict=True)), {"a": 0.4, "b": 0.6}),
    ),
    "trend": (lambda: pldp.trend(rounds()), lambda: pldp.trend(rounds()[::-1])),
    "trend of a table": (lambda: pldp.trend([results(each).tables[0] for each in (1, 2)]), None),
    "results of changes": (lambda: results(2) - results(), None),
    "itemsets": (lambda: itemsets(*baskets_of(shopping(), "basket"), 0.1), None),
    "density": (lambda: density(fused_of(shopping(), "spent")), lambda: density(fused_of(shopping(seed=2), "spent"))),
    "mean": (lambda: mean(fused_of(shopping(), "spent")), lambda: mean(fused_of(shopping(seed=2), "spent"))),
    "plan": (planned, lambda: planned(1001)),
    "plan of a choice": (planned_choice, lambda: planned_choice(1001)),
    "plan of a question": (
        lambda: planned().questions[0],
        lambda: planned(1001).questions[0],
    ),
    "plan of a level": (
        lambda: planned().questions[1].levels[0],
        lambda: planned(1001).questions[1].levels[0],
    ),
    "design": (lambda: planned_choice().designs[0], None),
    "people needed": (
        lambda: planned_choice().people_for(0.02)["mode"],
        lambda: planned_choice().people_for(0.03)["mode"],
    ),
    "worst shares": (
        lambda: planned().questions[0].worst,
        lambda: planned(1001).questions[0].worst,
    ),
    "threshold": (lambda: planned_choice().questions[0].thresholds[0], None),
    "audit": (lambda: pldp.audit(commute().survey, samples=0), lambda: pldp.audit("krr", samples=0)),
    "audit with samples": (lambda: pldp.audit("oue", samples=100), lambda: pldp.audit("oue", samples=0)),
    "row of an audit": (lambda: pldp.audit("krr", samples=0).rows[0], lambda: pldp.audit("oue", samples=0).rows[0]),
    "population": (lambda: Population.of_shares(survey(), 100), lambda: Population.of_shares(survey(), 100, seed=1)),
    "partitions": (lambda: Partitions(survey(), 100), lambda: Partitions(survey(), 101)),
    "scoring": (lambda: scored(9), lambda: scored(8)),
    "service": (lambda: service(1), lambda: service(2)),
    "fused": (lambda: pldp.fuse([service(1)]), lambda: pldp.fuse([service(2)])),
    "source": (lambda: pldp.fuse([service(1)]).sources[0], None),
    "fused number": (lambda: estimate_fused(pldp.fuse([service(1)])), lambda: estimate_fused(pldp.fuse([service(2)]))),
    "fused shares": (lambda: fused_shares(1), lambda: fused_shares(2)),
    "fused likelihood": (lambda: fused_shares(1, "likelihood"), lambda: fused_shares(2, "likelihood")),
    "counts of outputs": (lambda: OutputCounts(np.arange(SIZE)), lambda: OutputCounts(np.ones(SIZE, np.int64))),
    "counts of bits": (
        lambda: BitCounts.of_rows(rows(9), SIZE, patterns=True),
        lambda: BitCounts.of_rows(rows(8), SIZE, patterns=True),
    ),
    "margin of a table": (
        lambda: pldp.two_way(commute(), "late", "mode").margins[0],
        lambda: pldp.two_way(commute(), "late", "mode").margins[1],
    ),
    "counts of pairs": (
        lambda: next(iter(commute().pairs.values())),
        lambda: TableCounts.none(build("krr", 6, 1_000_000), build("krr", 2, 1_000_000)),
    ),
    "columns of items": (lambda: ItemColumns.of_rows(rows(9), SIZE), lambda: ItemColumns.of_rows(rows(8), SIZE)),
    "fit": (
        lambda: maximum_likelihood([group(channel("krr"), OutputCounts(np.arange(SIZE)))]),
        lambda: maximum_likelihood([group(channel("krr"), OutputCounts(np.ones(SIZE, np.int64)))]),
    ),
}
"""An object of every public class, and another one that is not equal, where there is one."""

SHOWN_ONLY = {
    "device": lambda: pldp.Device(survey()),
    "ledger": lambda: Ledger([Spend("a" * 64, "one", "open", 1)] * 100),
    "group": lambda: group(channel("oue"), BitCounts.of_rows(rows(9), SIZE, patterns=True)),
    "hidden reports": hidden,
    "reports by label": lambda: hidden().label_reports,
    "fit of labels": lambda: joint_likelihood(hidden()),
    "mix of levels": lambda: hidden().mix,
    "bounds of a mix": lambda: hidden().mix.bounds,
}


def rounds() -> list[pldp.Result]:
    return [results(seed)["mode"] for seed in (1, 2, 3)]


def scored(epsilon: int) -> pldp.budgets.Scoring:
    return pldp.budgets.score_values({"a": [9, 9], "b": [4, 5], "c": [3, 3]}, epsilon * 1_000_000)


def service(seed: int) -> pldp.Service:
    outputs = np.random.default_rng(seed).integers(0, 2, SIZE)
    return pldp.Service("one", build("sr", SIZE, 1_000_000), np.arange(SIZE), outputs)


@cache
def made_once(name: str) -> Any:
    return MADE[name][0]()


@pytest.mark.parametrize("name", [*MADE, *SHOWN_ONLY])
def test_everything_shows_itself_in_five_lines(name: str) -> None:
    shown = repr(SHOWN_ONLY[name]() if name in SHOWN_ONLY else made_once(name))
    assert len(shown.splitlines()) <= MOST_LINES
    assert len(shown) <= MOST_CHARACTERS
    assert "array(" not in shown


PARTS = {
    "Bits", "Bound", "Called", "ChangeTest", "Choice", "Choices", "Exact", "FrameService", "Grid", "GroupReports",
    "GroupShares", "Homogeneity", "Integers", "LevelShare", "Note", "Places", "Rates", "Rule", "SetSupports",
    "Signature", "Spend", "Timing", "Answer", "AuditSettings", "JavaScript", "Options", "OutputColumns",
    "Question", "Number", "Forgery", "ForgeryTest", "ScoredValue", "SetLimits", "Share", "Linear",
}  # fmt: skip
"""Small ones, options, and those that are seen within others."""


def test_no_public_data_class_is_forgotten() -> None:
    made = {base.__name__ for name in MADE for base in type(made_once(name)).__mro__}
    made |= {type(make()).__name__ for make in SHOWN_ONLY.values()}
    doors = (pldp.auditing, pldp.budgets, pldp.device, pldp.estimates, pldp.mechanisms, pldp.planning, pldp.reports)
    public = {
        name
        for door in (*doors, pldp.simulate, pldp.survey, pldp.tallies)
        for name in door.__all__
        if is_dataclass(getattr(door, name)) and not isinstance(getattr(door, name), Rates)
    }
    assert public - made - PARTS == set()


@pytest.mark.parametrize("name", MADE)
def test_everything_is_pickled_copied_and_compared(name: str) -> None:
    made, make_other = made_once(name), MADE[name][1]
    assert pickle.loads(pickle.dumps(made)) == made  # noqa: S301 - made here
    assert copy.deepcopy(made) == made
    assert made != "something else"
    if make_other is not None:
        other = make_other()
        assert made != other
        assert not (made == other)  # noqa: SIM201 - both operators


CALLS: dict[str, tuple[Callable[[], Any], type[PldpError], str]] = {
    "estimate a survey": (
        lambda: pldp.estimate(commute().survey),
        CallError,
        "pldp.estimate(tally, question) needs a Tally, not Survey: count reports with pldp.tally(survey, reports)",
    ),
    "estimate several": (
        lambda: pldp.estimate(commute(), ["mode"]),
        CallError,
        "takes the name of one question, not list; without a name it gives every question",
    ),
    "estimate swapped": (lambda: pldp.estimate("mode", commute()), CallError, "needs a Tally, not str"),
    "change of tallies": (
        lambda: pldp.change(commute(), commute(seed=2)),
        CallError,
        "pldp.change(later, earlier) needs two Result, or two Results, of pldp.estimate",
    ),
    "trend of tallies": (lambda: pldp.trend([commute()] * 2), CallError, "needs a list of Result, or of Results"),
    "two_way swapped": (lambda: pldp.two_way("late", "mode", commute()), CallError, "needs a Tally, not str"),
    "tally without survey": (lambda: pldp.tally([]), CallError, "pldp.tally(survey, reports) needs a Survey, not list"),
    "tally without reports": (lambda: pldp.tally(survey()), PldpError, "reports must be many"),
    "tally of a path": (lambda: pldp.tally("a.toml", []), CallError, "read one with pldp.Survey.load(path)"),
    "tally swapped": (lambda: pldp.tally([], survey()), CallError, "needs a Survey, not list"),
    "device of a path": (lambda: pldp.Device("a.toml"), CallError, "read one with pldp.Survey.load(path)"),
    "plan of a path": (lambda: pldp.plan("a.toml", 1000), CallError, "read one with pldp.Survey.load(path)"),
    "plan swapped": (lambda: pldp.plan(1000, survey()), CallError, "needs a Survey, not int"),
    "plan for text": (lambda: pldp.plan(survey(), "1000"), PldpError, "at least 1, not '1000'"),
    "simulate swapped": (lambda: simulate(1000, survey()), CallError, "needs a Survey, not int"),
    "simulate text": (lambda: simulate(survey(), "many"), PldpError, "people must be a whole number"),
    "audit of a path": (lambda: pldp.audit("a.toml"), PldpError, "pldp.audit(pldp.Survey.load(path))"),
    "fuse of surveys": (lambda: pldp.fuse([survey()]), CallError, "needs a Service, not Survey"),
    "load a dictionary": (lambda: pldp.Survey.load({}), CallError, "pldp.Survey.read(source) takes text"),
    "read a path": (lambda: pldp.Survey.read("a.toml"), CallError, "pldp.Survey.load(path) reads a file"),
}


@pytest.mark.parametrize("wrong", CALLS)
def test_a_wrong_call_gets_one_line_that_names_the_right_one(wrong: str) -> None:
    call, error, words = CALLS[wrong]
    with pytest.raises(error) as raised:
        call()
    assert words in str(raised.value)
    assert len(str(raised.value).splitlines()) == 1


def test_a_survey_is_read_from_file_text_and_dictionary_alike(tmp_path) -> None:
    whole = commute().survey
    whole.save(tmp_path / "survey.json")
    text = whole.canonical.decode()
    assert pldp.Survey.load(tmp_path / "survey.json") == pldp.Survey.read(text) == pldp.Survey.read(whole.document)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("frequencies", "; use pldp.estimate(tally, question), or pldp.estimates.frequencies"),
        ("mean", "; use pldp.estimate(tally, question), or pldp.estimates.mean"),
        ("Estimate", "; use pldp.Result, which every estimate is"),
        ("channel", "; use pldp.mechanisms.build(name, size, budgets)"),
        ("Population", "; use pldp.simulate.Population"),
        ("estimat", "; did you mean 'estimate'?"),
        ("weather", ""),
        ("__wrapped__", ""),
    ],
)
def test_a_wrong_name_says_which_is_right(name: str, hint: str) -> None:
    with pytest.raises(AttributeError) as raised:
        getattr(pldp, name)
    assert str(raised.value) == f"module 'pldp' has no attribute {name!r}{hint}"


def test_every_name_that_a_hint_names_exists() -> None:
    for package, names in pldp._ELSEWHERE.items():
        for name in names:
            assert hasattr(getattr(pldp, package), name), f"pldp.{package}.{name}"


def loaded(*arguments: str) -> set[str]:
    """The modules that a fresh interpreter has after it ran this."""
    code = f"import sys\n{arguments[0]}\nprint(*sys.modules, file=sys.stderr)"
    run = subprocess.run([sys.executable, "-c", code, *arguments[1:]], capture_output=True, text=True, check=True)
    return set(run.stderr.split())


RUN = "from pldp.cli import main\ntry:\n    main()\nexcept SystemExit:\n    pass"
HEAVY = {"numpy", "threadpoolctl", "scipy", "pyarrow", "rich", "matplotlib", "pandas"}


def test_one_import_reaches_every_package() -> None:
    code = "import pldp\nfor name in ('simulate.Population', 'mechanisms.build', 'estimates.mean', 'papers.PAPERS'):\n"
    code += "    package, inner = name.split('.')\n    getattr(getattr(pldp, package), inner)"
    assert {"pldp.simulate", "pldp.mechanisms", "pldp.estimates", "pldp.papers"} <= loaded(code)
    assert not loaded("import pldp") & HEAVY


def test_a_device_loads_only_what_it_needs() -> None:
    found = loaded("import pldp.device")
    assert not found & (HEAVY | {"statistics", "random", "tomllib", "difflib", "pathlib", "urllib.parse", "argparse"})
    families = {name.split(".")[2] for name in found if name.startswith("pldp.mechanisms.") and name.count(".") > 2}
    assert families <= {"response"}  # the mechanism that hides levels
    assert not {"pldp.show", "pldp.tallies", "pldp.estimates", "pldp.simulate"} & found


@pytest.mark.parametrize("flag", ["--version", "--help"])
def test_a_word_from_the_command_loads_nothing_heavy(flag: str) -> None:
    assert not loaded(RUN, flag) & (HEAVY | {"pldp.survey", "pldp.estimates"})
