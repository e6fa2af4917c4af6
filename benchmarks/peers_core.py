"""The peers' side of the core table, run by the peers' Python in a fresh process. It never imports pldp.

Both libraries perturb one person per call, so a loop over people is how they are used. They get plain Python integers,
which is faster for them than NumPy's.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from importlib import import_module, metadata
from typing import Any

import numpy as np

from benchmarks.measure import Clock, serve

EPSILON = 1.0
MULTI_FREQ = "multi-freq-ldpy"

Client = Callable[[list[int]], list[Any]]
"""Takes everybody's values and returns everybody's reports."""


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


def krr_server(peer: str, size: int, people: int, repeats: int) -> dict[str, Any]:
    """Count k-RR reports of one ε and estimate all shares; no report is checked."""
    if peer == MULTI_FREQ:
        aggregate = _multi_freq("GRR", "GRR_Aggregator_MI")
        work = lambda reports: aggregate(reports, size, EPSILON)  # noqa: E731
    else:
        server = _pure("direct_encoding", "DEServer")
        work = lambda reports: _pure_estimate(server(EPSILON, size, index_mapper=_same), reports, size)  # noqa: E731
    clock = Clock()
    reports = np.random.default_rng(1).integers(0, size, people).tolist()
    clock.time(lambda: work(reports), repeats=repeats)
    return clock.result(people)


def hash_server(peer: str, size: int, people: int, repeats: int) -> dict[str, Any]:
    """Support of all values from OLH reports; pure-ldp's estimate is unbiased, so its error is told as well."""
    truth = np.random.default_rng(1).integers(0, size, people)
    if peer == MULTI_FREQ:
        client, aggregate = _multi_freq("LH", "LH_Client"), _multi_freq("LH", "LH_Aggregator_MI")
        clock = Clock()
        reports = [client(value, size, EPSILON, True) for value in truth.tolist()]  # noqa: FBT003
        clock.time(lambda: aggregate(reports, size, EPSILON), repeats=repeats)
        return clock.result(people)
    client = _pure("local_hashing", "LHClient")(EPSILON, size, use_olh=True, index_mapper=_same)
    server = _pure("local_hashing", "LHServer")
    clock = Clock()
    reports = [client.privatise(value) for value in truth.tolist()]
    build = lambda: server(EPSILON, size, use_olh=True, index_mapper=_same)  # noqa: E731
    counts = clock.time(lambda: _pure_estimate(build(), reports, size), repeats=repeats)
    return clock.result(people, squared_error=_squared_error(counts / people, truth, size))


def hadamard(peer: str, size: int, people: int, repeats: int) -> dict[str, Any]:
    """pure-ldp's Hadamard response: server time per report, and the squared error of each repeat."""
    server = _pure("hadamard_response", "HadamardResponseServer")
    client = _pure("hadamard_response", "HadamardResponseClient")(EPSILON, size, None, index_mapper=_same)
    clock, errors = Clock(), []
    for repeat in range(repeats):
        truth = np.random.default_rng(repeat).integers(0, size, people)
        reports = [client.privatise(value) for value in truth.tolist()]
        receiver = server(EPSILON, size, index_mapper=_same)
        counts = clock.time(lambda: _pure_estimate(receiver, reports, size), repeats=1)  # noqa: B023 - runs at once
        errors.append(_squared_error(counts / people, truth, size))
    return clock.result(people, squared_errors=errors, peer=peer)


def _time_client(client: Client, values: str, people: int, repeats: int) -> dict[str, Any]:
    """Perturb a few people first, so that compilation is not counted; then all of them, reports kept in a list."""
    clock = Clock()
    own = np.load(values)[:people].tolist()
    client(own[:200])
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


def _pure_estimate(server: Any, reports: list[Any], size: int) -> Any:
    server.aggregate_all(reports)
    return server.estimate_all(range(size), suppress_warnings=True)


def _squared_error(shares: Any, truth: Any, size: int) -> float:
    return float(np.mean((shares - np.bincount(truth, minlength=size) / len(truth)) ** 2))


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
    serve({case.__name__: case for case in (versions, krr, oue, krr_server, hash_server, hadamard)})
