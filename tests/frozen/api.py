"""All that the frozen tests ask of the package, in plain data. Where names in the package change, only this changes.

Budgets and results are whole micro-ε; an infinite one is the word `"infinite"` here, whatever the package uses.
Reports are columns that no format of reports shapes: `Q.level` (place of the level, −1 where Q is not answered),
`Q.output` (integers, −1 where there is none) and `Q.bits` (rows of packed bits, 0 where there are none).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from pldp import Device, Survey, audit, estimates, mechanisms, plan, simulate, tallies, tally
from pldp.papers import groups, multiservice, personal, shrinkage
from pldp.planning.designs import compare_designs
from pldp.planning.levels import used_mix
from pldp.reports.columns import schema
from pldp.survey import SCHEMA

INFINITE = "infinite"
Arrays = dict[str, np.ndarray]
Random = Callable[[int], bytes]


def micro(found: int | float | None) -> int | str:
    """ε as it is kept in files."""
    return INFINITE if found is None or found == math.inf else int(found)


def _budgets(given: Sequence[int | str]) -> list[Any]:
    return [math.inf if each == INFINITE else each for each in given]


# --- channels ---


def build_channel(name: str, size: int, budgets: int | Sequence[int | str]) -> Any:
    """One budget for all values, or one per value or item."""
    return mechanisms.build(name, size, budgets if isinstance(budgets, int) else _budgets(budgets))


def weights(channel: Any) -> dict[str, Any]:
    return {name: list(part) if isinstance(part, tuple) else part for name, part in channel.weights().items()}


def draw(channel: Any, value: int, stream: Random) -> int | str:
    """One output of a device: an integer, or packed bits in hexadecimal."""
    output = channel.draw(value, stream)
    return output.hex() if isinstance(output, bytes) else output


def epsilons(channel: Any) -> dict[str, Any]:
    """Every exact ε that the channel knows; of each output, value and pair where they can be listed."""
    found: dict[str, Any] = {"plain": micro(channel.micro_epsilon)}
    values = range(channel.size)
    if isinstance(channel, mechanisms.ItemSet):
        found["item"] = [[micro(part) for part in channel.item_micro_epsilon(item)] for item in values]
        sets = [0, 1, (1 << channel.size) - 1]
        found["pair"] = [[micro(channel.pair_micro_epsilon(one, two)) for two in sets] for one in sets]
    elif isinstance(channel, mechanisms.CategoricalChannel):
        few = range(min(channel.size, 12))
        found["pair"] = [[micro(channel.pair_micro_epsilon(one, two)) for two in few] for one in few]
        found["value"] = [micro(channel.value_micro_epsilon(value)) for value in few]
    if isinstance(channel, mechanisms.CategoricalChannel) and channel.form.count <= 1024:
        found["evidence"] = [micro(channel.evidence_micro_epsilon(value)) for value in values]
        found["manipulation"] = channel.manipulation
    if not isinstance(channel, mechanisms.NumberChannel) and channel.form.count <= 1024:
        found["output"] = [micro(channel.output_micro_epsilon(output)) for output in channel.outputs()]
    return found


def law(channel: Any) -> list[str]:
    """Q(output | value), exact, of all outputs and values (or sets) of a small channel."""
    values = range(1 << channel.size if isinstance(channel, mechanisms.ItemSet) else channel.size)
    return [str(channel.probability(output, value)) for output in channel.outputs() for value in values]


def unbiased_numbers(channel: Any) -> list[str]:
    """What each output of a channel for numbers counts for, exact."""
    return [str(channel.unbiased(output)) for output in channel.outputs()]


def level_leak(channels: Sequence[Any]) -> int | str:
    return micro(mechanisms.level_leak(channels))


def value_and_level_epsilon(channels: Sequence[Any], label: int) -> int | str:
    pairs = mechanisms.pair_evidence(channels)
    return micro(max(each + label * (one != two) for one, row in enumerate(pairs) for two, each in enumerate(row)))


# --- many draws ---


def perturb(channel: Any, values: np.ndarray, seed: int, level: np.ndarray | None = None) -> np.ndarray:
    return simulate.perturb(channel, values, np.random.default_rng(seed), level=level)


def perturb_personal(mechanism: str, values: np.ndarray, size: int, epsilon: np.ndarray, seed: int) -> np.ndarray:
    return simulate.perturb_personal(mechanism, values, size, epsilon, np.random.default_rng(seed))


def perturb_sets(channel: Any, rows: np.ndarray, seed: int) -> np.ndarray:
    return simulate.perturb_item_sets(channel, rows, np.random.default_rng(seed))


def perturb_numbers(channel: Any, values: np.ndarray, seed: int) -> np.ndarray:
    return simulate.perturb_numbers(channel, values, np.random.default_rng(seed))


def perturb_counts(channel: Any, people: Sequence[int], seed: int) -> Arrays:
    return dict(simulate.perturb_counts(channel, people, np.random.default_rng(seed)).arrays())


# --- surveys, devices, reports ---


def load_survey(path: Path) -> Any:
    return Survey.load(path)


def survey_facts(survey: Any) -> dict[str, Any]:
    """What a survey has worked out: channels, prices, leaks."""
    facts: dict[str, Any] = {"leak": micro_or_none(survey, survey.level_leak()), "questions": {}}
    if survey.level_channel is not None:
        facts["label"] = weights(survey.level_channel)
    for question in survey.questions:
        facts["questions"][question.name] = {
            "leak": micro_or_none(survey, survey.level_leak(question.name)),
            "value_and_level": micro_or_none(survey, survey.value_and_level_epsilon(question.name)),
            "levels": {
                level.name: {
                    "epsilon": micro(level.micro_epsilon),
                    "charge": micro(question.charge(place)),
                    "mechanism": channel.mechanism,
                    "weights": weights(channel),
                    "epsilons": epsilons(channel),
                }
                for place, (level, channel) in enumerate(zip(question.levels, question.channels, strict=True))
            },
        }
    return facts


def micro_or_none(survey: Any, found: int | None) -> int | str | None:
    """A leak; there is none where levels show."""
    return None if survey.level_channel is None else micro(found)


def survey_bytes(survey: Any) -> tuple[str, bytes]:
    """The hash and the canonical document."""
    return survey.hash, survey.canonical


def answers(survey: Any, values: Mapping[str, Any], level: str, stream: Random) -> dict[str, Any]:
    """What leaves a device that answers everything: shown level and output of each question, without hash and id."""
    device = Device(survey, random=stream)
    device.change_cap(level_cap=1000)  # the version before had no cap on what is told about a level
    report = device.answer_all(values, level)
    stream(16)  # the version before drew the report's id here
    return {
        answer.question: [answer.level, answer.output.hex() if isinstance(answer.output, bytes) else answer.output]
        for answer in report.answers
    }


def question_names(survey: Any, kind: str) -> list[str]:
    return [question.name for question in survey.questions if question.kind == kind]


def simulate_columns(survey: Any, people: int, seed: int, level_mix: Mapping[str, float] | None = None) -> Arrays:
    """Reports of people with falling shares."""
    population = simulate.Population.of_shares(survey, people, level_mix=level_mix, seed=seed)
    batches = list(simulate.simulate_reports(survey, population, seed=seed))
    table = pa.Table.from_batches(batches).combine_chunks()
    columns: Arrays = {}
    for question in survey.questions:
        names = [level.name for level in question.levels]
        levels = table[f"{question.name}.level"].to_pylist()
        columns[f"{question.name}.level"] = np.array([-1 if name is None else names.index(name) for name in levels])
        if f"{question.name}.output" in table.column_names:
            outputs = table[f"{question.name}.output"].to_pylist()
            columns[f"{question.name}.output"] = np.array([-1 if each is None else each for each in outputs])
        if f"{question.name}.bits" in table.column_names:
            length = table.schema.field(f"{question.name}.bits").type.byte_width
            rows = [bytes(length) if row is None else row for row in table[f"{question.name}.bits"].to_pylist()]
            columns[f"{question.name}.bits"] = np.frombuffer(b"".join(rows), np.uint8).reshape(-1, length)
    return columns


def reports_of(survey: Any, columns: Arrays) -> pa.Table:
    """The reports of these columns, in the format that the package counts."""
    fields, rows = schema(survey), len(next(iter(columns.values())))
    made: dict[str, Any] = {
        "schema": [SCHEMA] * rows,
        "survey": [survey.hash] * rows,
        "id": [row.to_bytes(16, "big") for row in range(rows)],
    }
    for question in survey.questions:
        names = [*(level.name for level in question.levels), None]
        levels = columns[f"{question.name}.level"]
        made[f"{question.name}.level"] = [names[place] for place in levels]
        if f"{question.name}.output" in fields.names:
            outputs = columns[f"{question.name}.output"].tolist()
            made[f"{question.name}.output"] = [None if output < 0 else output for output in outputs]
        if f"{question.name}.bits" in fields.names:
            packed = [*(isinstance(channel.form, mechanisms.Bits) for channel in question.channels), False]
            made[f"{question.name}.bits"] = [
                row.tobytes() if packed[place] else None
                for place, row in zip(levels, columns[f"{question.name}.bits"], strict=True)
            ]
    return pa.Table.from_pydict(made, schema=fields)


# --- tallies ---


def count(survey: Any, reports: pa.Table, *, patterns: bool = False, pairs: Sequence[tuple[str, str]] = ()) -> Any:
    return tally(survey, reports, patterns=patterns, pairs=pairs)


def tally_arrays(counted: Any) -> Arrays:
    """Every count by question, level and name of the array; of pairs by both questions and levels."""
    found = {" ".join((*cell, name)): a for cell, each in counted.counts.items() for name, a in each.arrays().items()}
    for (one, two), each in counted.pairs.items():
        found |= {" ".join((*one, *two, name)): array for name, array in each.arrays().items()}
    return found


def tally_size(counted: Any) -> list[int]:
    return [counted.reports, counted.rejected]


# --- estimates ---


def _homogeneity(test: Any) -> list[float] | None:
    return None if test is None else [test.statistic, float(test.degrees), test.p_value]


def group_shares(channel: Any, outputs: np.ndarray) -> dict[str, Any]:
    """Unbiased shares from the reports of one channel, with their covariance."""
    if isinstance(channel.form, mechanisms.Bits):
        counts: Any = tallies.BitCounts.of_rows(outputs, channel.form, patterns=False)
    else:
        counts = tallies.OutputCounts(np.bincount(outputs, minlength=channel.form.count))
    group = groups.group(channel, counts)
    shares = group.shares()
    return {"shares": shares, "variance": group.variance(shares), "covariance": group.covariance(shares)}


DIFFER = {"precision": 0, "size": None}
"""What ways to pool levels say about how much they differ."""


def frequencies(counted: Any, question: str, *, method: str, pool: str = "precision", target: str) -> dict[str, Any]:
    """Shares of a question with everything that comes with them."""
    found = estimates.frequencies(counted, question, method=method, differ=DIFFER[pool], target=target)
    return {
        "shares": found.shares,
        "standard_error": found.standard_error,
        "covariance": found.covariance,
        "manipulation": found.manipulation,
        "homogeneity": _homogeneity(found.homogeneity),
        "groups": [
            [group.level, group.reports, group.weight, group.manipulation, group.shares, group.standard_error]
            for group in found.groups
        ],
        "levels": [level.share for level in found.levels],
        "interval": list(found.interval(0.9)),
        "simultaneous": list(found.interval(0.9, simultaneous=True)),
    }


def consistent(counted: Any, question: str, method: str) -> np.ndarray:
    """Shares that could be true, made of the unbiased ones."""
    found = estimates.frequencies(counted, question, method="unbiased", differ=0, target="population")
    return shrinkage.shrink(found.shares, found.covariance) if method == "shrunk" else found.consistent(method)


def personal_frequencies(mechanism: str, outputs: np.ndarray, epsilon: np.ndarray, size: int) -> dict[str, Any]:
    found = personal.personal_frequencies(mechanism, outputs, epsilon, size)
    return {"shares": found.shares, "standard_error": found.standard_error, "manipulation": found.manipulation}


def two_way(counted: Any, first: str, second: str, pool: str) -> dict[str, Any]:
    found = estimates.two_way(counted, first, second, differ=DIFFER[pool])
    return {
        "shares": found.shares,
        "standard_error": found.standard_error,
        "interval": list(found.interval(0.9)),
    }


def consistent_table(counted: Any, first: str, second: str) -> np.ndarray:
    """The nearest table that fits its margins."""
    return estimates.two_way(counted, first, second, differ=0).consistent()


def supports(counted: Any, question: str, sets: Sequence[Sequence[str]], *, target: str, pool: str) -> dict[str, Any]:
    """Supports of chosen sets of items."""
    found = estimates.supports(*estimates.baskets_of(counted, question), sets, target=target, differ=DIFFER[pool])
    return _sets(found)


def itemsets(counted: Any, question: str, least: float, *, control: str, target: str, pool: str) -> dict[str, Any]:
    """The frequent sets and the rules within them."""
    rates = estimates.Rates(0.05, control, 0.01)
    groups, items = estimates.baskets_of(counted, question)
    found = estimates.itemsets(groups, items, least, largest=3, rates=rates, target=target, differ=DIFFER[pool])
    numbers = ("support", "confidence", "confidence_error", "lift", "lift_error")
    rules = {
        f"{'+'.join(rule.antecedent)} => {'+'.join(rule.consequent)}": [getattr(rule, name) for name in numbers]
        for rule in found.rules(0.0)
    }
    examined = {str(size): number for size, number in found.examined.items()}
    return {**_sets(found), "examined": examined, "rules": rules}


def _sets(found: Any) -> dict[str, Any]:
    return {
        "sets": ["+".join(each) for each in found.sets],
        "support": found.support,
        "standard_error": found.standard_error,
        "manipulation": found.manipulation,
        "homogeneity": _homogeneity(found.homogeneity),
        "interval": list(found.interval(0.9)),
    }


def number_tally(counted: Any, question: str) -> Any:
    """What `mean` and `density` take, of a question."""
    return tallies.fused_of(counted, question)


def fused(services: Iterable[tuple[Any, np.ndarray, np.ndarray]], bounds: tuple[float, float]) -> Any:
    """The same, of services that each have a channel, keys and outputs."""
    return tallies.fuse(
        [tallies.Service(channel.mechanism, channel, keys, outputs, bounds) for channel, keys, outputs in services]
    )


def fused_arrays(fused: Any) -> Arrays:
    return {"cells": fused.cells, "counts": fused.counts}


def mean(fused: Any, *, method: str, target: str, pool: str) -> dict[str, Any]:
    found = estimates.mean(fused, method=method, target=target, differ=DIFFER[pool])
    return {
        "value": found.value,
        "standard_error": found.standard_error,
        "services": {name: list(each) for name, each in found.services.items()},
        "weights": dict(found.weights),
        "homogeneity": _homogeneity(found.homogeneity),
        "by_size": _unless_alike(fused, found, method, target) if pool == "precision" else None,
        "interval": list(found.interval(0.9)),
    }


def _unless_alike(fused: Any, found: Any, method: str, target: str) -> float | None:
    """The mean that assumes nothing, where people of different services are found to differ."""
    several = len({tuple(row) for row in (fused.cells != tallies.ABSENT).tolist()}) > 1
    if (
        not several
        or method not in {"weights", "fitted"}
        or found.homogeneity is None
        or not found.homogeneity.rejected
    ):
        return None
    return float(estimates.mean(fused, target=target).value)


def fused_likelihood(fused: Any) -> np.ndarray:
    """Shares of the buckets without any smoothing."""
    return multiservice.likelihood_fit(fused).shares


def density(fused: Any) -> dict[str, Any]:
    found = estimates.density(fused)
    return {
        "splines": found.splines,
        "shares": found.shares,
        "cumulative_error": found.cumulative_standard_error,
        "mean": [found.mean, found.mean_standard_error],
        "quantiles": [list(found.quantile(share, 0.9)) for share in (0.05, 0.25, 0.5, 0.75, 0.95)],
        "band": list(found.band(0.9)),
        "whole_band": list(found.band(0.9, simultaneous=True)),
    }


# --- plans and audits ---


def plan_numbers(survey: Any, people: int, **options: Any) -> dict[str, Any]:
    """The standard errors of a plan at equal shares, unless others are given, and its comparison of designs.

    All are those of people who are alike at all levels.
    """
    equal = {question.name: "equal" for question in survey.questions}
    planned = plan(survey, people, **options | {"shares": equal | options.get("shares", {})})
    mixes = [used_mix(planned.survey, question, planned.level_mix) for question in planned.survey.questions]
    designs = () if planned.no_designs else compare_designs(planned.survey, people, mixes, alike=True)
    return {
        "questions": {
            each.question: {
                "reports": each.reports,
                "standard_error": each.standard_error,
                "hiding_cost": each.hiding_cost,
                "manipulation": each.manipulation,
                "levels": {
                    level.level: [level.reports, level.standard_error, dict(level.mechanisms)] for level in each.levels
                },
                "interval_width": each.interval_width(0.9),
            }
            for each in (question.alike for question in planned.questions)
        },
        "designs": [[each.ask, each.split, list(each.budgets), each.squared_error] for each in designs],
        "people": {name: each.alike for name, each in planned.people_for(0.02, 0.9).items()},
    }


def audit_numbers(target: Any) -> list[Any]:
    """The exact rows of an audit of a survey or a mechanism, without words."""
    found = audit(target, samples=0)
    return [
        {
            "row": [row.mechanism, row.question, row.level, row.device],
            "claimed": row.claimed,
            "exact": row.exact if row.exact is None or row.exact < math.inf else INFINITE,
            "holds": not row.refuted,
            "details": {name: row.details[name] for name in row.details if name != "values_compared"},
        }
        for row in found.rows
        if row.rounds == 1
    ]
