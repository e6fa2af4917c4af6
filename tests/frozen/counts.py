"""What is frozen of draws, exact ε and tallies: names of cases, each with the function that computes it again.

Results are plain data: numbers, texts, lists, mappings, arrays. Arrays of whole numbers are kept as `digest`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from frozen import api

FOLDER = Path(__file__).parent
SURVEYS = ("commute", "health", "shopping", "every_kind", "hidden", "capped")
PEOPLE = 3000
MILLION = 1_000_000

PURE = ("krr", "sue", "oue", "lh")
BY_VALUE = ("iprr", "idue", "aprr", "prr")
NUMBERS = ("laplace", "sr", "pm", "hm", "sw")
SETS = "item_set"

Cases = dict[str, Callable[[], Any]]

MIXED = (100_000, 500_000, MILLION, MILLION, 3 * MILLION)
OPEN = (100_000, 500_000, MILLION, api.INFINITE, api.INFINITE)
EQUAL = (MILLION,) * 4

CHANNELS: dict[str, tuple[str, int, Any]] = {
    f"{name} of {size} at {micro / MILLION:g}": (name, size, micro)
    for names, sizes in ((PURE, (2, 5, 40, 1500)), (NUMBERS, (2, 16, 64, 1024)))
    for name, size, micro in product(names, sizes, (300_000, MILLION, 4 * MILLION))
} | {
    f"{name} with {words} budgets": (name, len(budgets), budgets)
    for name, words, budgets in (
        *product((*BY_VALUE, SETS), ("mixed",), (MIXED,)),
        *product(("iprr", "aprr", SETS), ("open",), (OPEN,)),
        *product((*BY_VALUE, SETS), ("equal",), (EQUAL,)),
        *product(("iprr", "idue", SETS), ("many",), (MIXED * 20,)),
    )
}
"""Name, number of values or items, budget or budgets."""

CATEGORICAL = [
    name for name, (mechanism, size, _) in CHANNELS.items() if mechanism not in (*NUMBERS, SETS) and size <= 40
]


@cache
def channel(name: str) -> Any:
    return api.build_channel(*CHANNELS[name])


def stream(name: str) -> Callable[[int], bytes]:
    """Random bytes that depend on the name only."""
    state = hashlib.shake_256(name.encode())

    def read(length: int) -> bytes:
        state.update(b".")
        return state.digest(length)

    return read


def some_values(name: str, size: int, people: int = PEOPLE) -> np.ndarray:
    """Values of people, the smaller the more frequent."""
    raw = np.frombuffer(stream(name)(8 * people), "<u8") >> 11
    return ((raw / 2.0**53) ** 2 * size).astype(np.int64)


def some_sets(name: str, size: int, people: int = PEOPLE) -> np.ndarray:
    """Packed rows, later items rarer."""
    raw = np.frombuffer(stream(name)(people * size), np.uint8).reshape(people, size)
    return np.packbits(raw < 160 / np.arange(1, size + 1) ** 0.5, axis=1, bitorder="little")


def digest(array: np.ndarray) -> list[Any]:
    """Type, shape, SHA-256 of the bytes, and the first numbers."""
    whole = np.ascontiguousarray(array)
    return [whole.dtype.str, list(whole.shape), hashlib.sha256(whole).hexdigest(), whole.ravel()[:8].tolist()]


def digests(arrays: api.Arrays) -> dict[str, Any]:
    return {name: digest(array) for name, array in arrays.items()}


# --- draws of devices ---


def device_draws(name: str) -> Any:
    built, random = channel(name), stream(name)
    mechanism, size, _ = CHANNELS[name]
    values = 1 << size if mechanism == SETS else size
    drawn = [api.draw(built, number * 2_654_435_761 % values, random) for number in range(50)]
    if isinstance(drawn[0], str) and len(drawn[0]) > 16:
        return [drawn[0][:16], hashlib.sha256("".join(map(str, drawn)).encode()).hexdigest()]
    return drawn


ANSWERS: dict[str, dict[str, Any]] = {
    "commute": {"mode": "bike", "late": "no"},
    "shopping": {"basket": ["milk", "beer"], "reason": "a cold", "spent": 55.5},
    "hidden": {"krr": "b", "sue": "1", "oue": "2", "lh": "7"},
}


def device_answers(survey: str, level: str) -> Any:
    random = stream(f"{survey} {level}")
    return [api.answers(load(survey), ANSWERS[survey], level, random) for _ in range(5)]


def draws() -> Iterator[tuple[str, Callable[[], Any]]]:
    for name in CHANNELS:
        yield name, partial(device_draws, name)
    for survey, level in (("commute", "strict"), ("commute", "open"), ("shopping", "open"), ("hidden", "standard")):
        yield f"device, {survey}, {level}", partial(device_answers, survey, level)


# --- draws of many people ---


def many_draws(name: str) -> Any:
    built = channel(name)
    mechanism, size, _ = CHANNELS[name]
    if mechanism == SETS:
        rows = some_sets(name, size)
        return [digest(api.perturb(built, rows, 1)), digest(api.perturb_sets(built, rows, 2))]
    values = some_values(name, size)
    if mechanism in NUMBERS:
        return [digest(api.perturb(built, values, 1)), digest(api.perturb_numbers(built, values, 2))]
    return digest(api.perturb(built, values, 1))


def draws_of_levels(mechanism: str) -> Any:
    channels = [api.build_channel(mechanism, 12, micro) for micro in (500_000, 4 * MILLION)]
    level = some_values(f"levels {mechanism}", 2)
    return digest(api.perturb(channels, some_values(mechanism, 12), 3, level))


def personal_epsilons(mechanism: str) -> np.ndarray:
    return 0.5 + some_values(f"epsilons {mechanism}", 64) / 16


def personal_draws(mechanism: str) -> np.ndarray:
    return api.perturb_personal(mechanism, some_values(mechanism, 10), 10, personal_epsilons(mechanism), 4)


def count_draws(name: str) -> Any:
    return digests(api.perturb_counts(channel(name), np.bincount(some_values(name, CHANNELS[name][1])), 5))


MIXES = {"every_kind": {"strict": 1, "open": 2}}


def simulated(survey: str) -> api.Arrays:
    return api.simulate_columns(load(survey), PEOPLE, 6, MIXES.get(survey))


def many() -> Iterator[tuple[str, Callable[[], Any]]]:
    for name in CHANNELS:
        yield name, partial(many_draws, name)
    for mechanism in ("krr", "sue", "oue"):
        yield f"levels of {mechanism}", partial(draws_of_levels, mechanism)
        yield f"personal {mechanism}", lambda mechanism=mechanism: digest(personal_draws(mechanism))
    for name in (
        "krr of 5 at 1",
        "sue of 5 at 1",
        "oue of 40 at 1",
        "iprr with mixed budgets",
        "idue with mixed budgets",
    ):
        yield f"counts of {name}", partial(count_draws, name)
    for survey in SURVEYS:
        yield f"reports of {survey}", lambda survey=survey: digests(simulated(survey))


# --- exact ε ---


def exact(name: str) -> Any:
    built = channel(name)
    mechanism, size, _ = CHANNELS[name]
    found = {"weights": api.weights(built), **api.epsilons(built)}
    if size <= 16:
        found["law"] = hashlib.sha256("\n".join(api.law(built)).encode()).hexdigest()
    if mechanism in NUMBERS:
        found["numbers"] = hashlib.sha256("\n".join(api.unbiased_numbers(built)).encode()).hexdigest()
    return found


def leaks(mechanism: str) -> Any:
    channels = [api.build_channel(mechanism, 16, micro) for micro in (100_000, 150_000, 200_000)]
    together = [api.value_and_level_epsilon(channels, label) for label in (0, 500_000)]
    return [api.level_leak(channels), *together]


def survey_case(survey: str) -> Any:
    name, document = api.survey_bytes(load(survey))
    return {
        "hash": name,
        "document": hashlib.sha256(document).hexdigest(),
        **api.survey_facts(load(survey)),
    }


def epsilon() -> Iterator[tuple[str, Callable[[], Any]]]:
    for name in CHANNELS:
        yield name, partial(exact, name)
    for mechanism in PURE:
        yield f"leaks of {mechanism}", partial(leaks, mechanism)
    for survey in SURVEYS:
        yield f"survey {survey}", partial(survey_case, survey)


# --- the frozen reports and their tallies ---


@cache
def load(survey: str) -> Any:
    return api.load_survey(FOLDER / "surveys" / f"{survey}.toml")


@cache
def frozen_reports(survey: str) -> api.Arrays:
    with np.load(FOLDER / "reports.npz") as arrays:
        whole = [name for name in arrays.files if name.startswith(f"{survey} ")]
        return {name.removeprefix(f"{survey} "): arrays[name] for name in whole}


PAIRS = {
    "every_kind": [("krr", "oue"), ("lh", "sue"), ("mixed", "iprr"), ("idue", "auto")],
    "commute": [("late", "mode")],
    "health": [("smoker", "sleep")],
}


@cache
def counted(survey: str, *, patterns: bool = False) -> Any:
    reports = api.reports_of(load(survey), frozen_reports(survey))
    return api.count(load(survey), reports, patterns=patterns, pairs=PAIRS.get(survey, ()))


def tally_case(survey: str, *, patterns: bool) -> Any:
    found = counted(survey, patterns=patterns)
    return {"reports": api.tally_size(found), **digests(api.tally_arrays(found))}


SERVICES = ("sr", "pm", "sw", "laplace", "hm")


@cache
def fused(*mechanisms: str) -> Any:
    """Services with some people in common; values are those of a smooth bump."""
    raw = np.frombuffer(stream("fused")(4 * 8 * PEOPLE), "<u8").reshape(4, PEOPLE) >> 11
    values = (raw / 2.0**53).mean(axis=0) * 64
    services = []
    for place, mechanism in enumerate(mechanisms):
        built = api.build_channel(mechanism, 64, (1 + place) * MILLION)
        keys = np.arange(PEOPLE)[place * PEOPLE // 8 : PEOPLE - place * PEOPLE // 16]
        random = stream(mechanism)
        outputs = np.array([api.draw(built, int(value), random) for value in values[keys]])
        services.append((built, keys, outputs))
    return api.fused(services, (0.0, 64.0))


FUSED = (("sr",), ("sr", "sw"), ("pm", "sw", "laplace"), SERVICES)


def tally_cases() -> Iterator[tuple[str, Callable[[], Any]]]:
    for survey, patterns in product(SURVEYS, (False, True)):
        words = f"{survey} with rows" if patterns else survey
        yield words, partial(tally_case, survey, patterns=patterns)
    for services in FUSED:
        yield " + ".join(services), lambda services=services: digests(api.fused_arrays(fused(*services)))
