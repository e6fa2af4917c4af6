"""The peers' side of the core table, run by the peers' Python in a fresh process. It never imports pldp.

Both libraries perturb one person per call, so a loop over people is how they are used. They get plain Python integers,
which is faster for them than NumPy's.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from importlib import import_module, metadata
from typing import Any

import numpy as np

from benchmarks.measure import Clock, serve

EPSILON = 1.0
MULTI_FREQ = "multi-freq-ldpy"

Client = Callable[[list[int]], list[Any]]
"""Takes everybody's values and returns everybody's reports."""

Estimator = Callable[[list[Any]], Any]
"""Takes everybody's reports and returns the shares."""


def versions(peer: str) -> dict[str, Any]:
    """Return the versions of what the peers run on."""
    names = (peer, "numpy", "numba", "xxhash", "scipy")
    return {name: metadata.version(name) for name in names}


def krr(peer: str, values: str, size: int, people: int, repeats: int) -> dict[str, Any]:
    """One report per person by generalised randomized response (k-RR), ε = 1 for everybody."""
    return _time_client(_krr_client(peer, size), values, people, repeats)


def oue(peer: str, values: str, size: int, people: int, repeats: int) -> dict[str, Any]:
    """One report per person by optimised unary encoding."""
    return _time_client(_oue_client(peer, size), values, people, repeats)


def subset(peer: str, values: str, epsilons: str, size: int, people: int, repeats: int) -> dict[str, Any]:
    """One report per person by subset selection, each with their own ε, which the client takes with every call."""
    client = _multi_freq("SS", "SS_Client")
    _subset_reports(client, [0] * 100, [EPSILON] * 100, size)
    clock = Clock()
    own, budgets = np.load(values)[:people].tolist(), np.load(epsilons)[:people].tolist()
    clock.time(lambda: _subset_reports(client, own, budgets, size), repeats=repeats)
    return clock.result(people, peer=peer)


def subset_accuracy(peer: str, values: str, size: int, epsilon: float, repeats: int) -> dict[str, Any]:
    """Squared errors, summed over the values, of shares from subset selection as published: clipped, renormalised."""
    client, aggregate = _multi_freq("SS", "SS_Client"), _multi_freq("SS", "SS_Aggregator_MI")
    truth = np.load(values)
    own, shares = truth.tolist(), np.bincount(truth, minlength=size) / len(truth)
    clock, errors = Clock(), []
    for _ in range(repeats):
        reports = _subset_reports(client, own, [epsilon] * len(own), size)
        errors.append(float(((aggregate(reports, size, epsilon) - shares) ** 2).sum()))
    return clock.result(len(own), peer=peer, squared_errors=errors)


def _subset_reports(client: Callable[..., Any], own: list[int], budgets: list[float], size: int) -> list[Any]:
    return [client(value, size, epsilon) for value, epsilon in zip(own, budgets, strict=True)]


def krr_server(peer: str, size: int, people: int, repeats: int) -> dict[str, Any]:
    """Count k-RR reports of one ε and estimate all shares; no report is checked."""
    estimate = _krr_estimator(peer, size)
    estimate(list(range(size)))
    clock = Clock()
    reports = np.random.default_rng(1).integers(0, size, people).tolist()
    clock.time(lambda: estimate(reports), repeats=repeats)
    return clock.result(people)


def hash_server(peer: str, size: int, people: int, repeats: int) -> dict[str, Any]:
    """Shares of all values from OLH reports."""
    return _time_server(*_olh(peer, size), size, people, repeats)


def hadamard(peer: str, size: int, people: int, repeats: int) -> dict[str, Any]:
    """Shares of all values from Hadamard responses, which only pure-ldp has."""
    client = _pure("hadamard_response", "HadamardResponseClient")(EPSILON, size, None, index_mapper=_same)
    server = partial(_pure("hadamard_response", "HadamardResponseServer"), EPSILON, size, index_mapper=_same)
    measured = _time_server(client.privatise, partial(_pure_estimate, server, size), size, people, repeats)
    return {**measured, "peer": peer}


def _time_server(
    client: Callable[[int], Any], estimate: Estimator, size: int, people: int, repeats: int
) -> dict[str, Any]:
    """Time the estimate from new reports in every repeat, and tell its squared error (mean over all values)."""
    estimate([client(0)])
    clock, errors = Clock(), []
    for seed in range(repeats):
        truth = np.random.default_rng(seed).integers(0, size, people)
        reports = [client(value) for value in truth.tolist()]
        shares = clock.time(partial(estimate, reports), repeats=1)
        errors.append(float(np.mean((shares - np.bincount(truth, minlength=size) / people) ** 2)))
    return clock.result(people, squared_errors=errors)


def _time_client(client: Client, values: str, people: int, repeats: int) -> dict[str, Any]:
    """Perturb a few people first, so that compilation is not counted; then all of them, reports kept in a list."""
    client(list(range(100)))
    clock = Clock()
    own = np.load(values)[:people].tolist()
    clock.time(lambda: client(own), repeats=repeats)
    return clock.result(people)


def _krr_client(peer: str, size: int) -> Client:
    if peer == MULTI_FREQ:
        client = _multi_freq("GRR", "GRR_Client")
        return lambda own: [client(value, size, EPSILON) for value in own]
    privatise = _pure("direct_encoding", "DEClient")(EPSILON, size, index_mapper=_same).privatise
    return lambda own: [privatise(value) for value in own]


def _oue_client(peer: str, size: int) -> Client:
    if peer == MULTI_FREQ:
        client = _multi_freq("UE", "UE_Client")
        return lambda own: [client(value, size, EPSILON, True) for value in own]  # noqa: FBT003
    privatise = _pure("unary_encoding", "UEClient")(EPSILON, size, use_oue=True, index_mapper=_same).privatise
    return lambda own: [privatise(value) for value in own]


def _krr_estimator(peer: str, size: int) -> Estimator:
    if peer == MULTI_FREQ:
        aggregate = _multi_freq("GRR", "GRR_Aggregator_MI")
        return lambda reports: aggregate(reports, size, EPSILON)
    server = partial(_pure("direct_encoding", "DEServer"), EPSILON, size, index_mapper=_same)
    return partial(_pure_estimate, server, size)


def _olh(peer: str, size: int) -> tuple[Callable[[int], Any], Estimator]:
    if peer == MULTI_FREQ:
        client, aggregate = _multi_freq("LH", "LH_Client"), _multi_freq("LH", "LH_Aggregator_MI")
        return lambda value: client(value, size, EPSILON), lambda reports: aggregate(reports, size, EPSILON)
    client = _pure("local_hashing", "LHClient")(EPSILON, size, use_olh=True, index_mapper=_same)
    server = partial(_pure("local_hashing", "LHServer"), EPSILON, size, use_olh=True, index_mapper=_same)
    return client.privatise, partial(_pure_estimate, server, size)


def _pure_estimate(build_server: Callable[[], Any], size: int, reports: list[Any]) -> Any:
    """Shares of all values from a new pure-ldp server."""
    server = build_server()
    server.aggregate_all(reports)
    return server.estimate_all(range(size), suppress_warnings=True) / len(reports)


def _same(value: int) -> int:
    """pure-ldp counts values from 1 unless told otherwise."""
    return value


def _multi_freq(module: str, name: str) -> Any:
    return getattr(import_module(f"multi_freq_ldpy.pure_frequency_oracles.{module}"), name)


def _pure(module: str, name: str) -> Any:
    return getattr(import_module(f"pure_ldp.frequency_oracles.{module}"), name)


if __name__ == "__main__":
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002 - the generator that the peers use
    cases = (versions, krr, oue, subset, subset_accuracy, krr_server, hash_server, hadamard)
    serve({case.__name__: case for case in cases})
