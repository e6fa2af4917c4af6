"""Which table the published integers of each mechanism make: the only list of mechanisms that an audit has."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from pldp.auditing.geometry import hyperplanes, pairs_of_groups
from pldp.auditing.number_tables import Intervals, Number
from pldp.auditing.set_tables import meeting, picked
from pldp.auditing.tables import NUMBER, Bits, Blocks, Hashed, Response, Sets, Subset, Table, Tiers
from pldp.errors import AuditError


def read_table(mechanism: str, size: int, weights: Mapping[str, Any]) -> Table:
    """Read the integers of one channel.

    >>> table = read_table("krr", 3, {"other": 2**51})
    >>> table.odds(0, table, 1)
    [(4503599627370496, 2251799813685248, 1)]
    """
    if mechanism not in MECHANISMS:
        raise AuditError(f"mechanism must be one of {', '.join(MECHANISMS)}, not {mechanism!r}")
    try:
        return MECHANISMS[mechanism](size, weights)
    except (KeyError, TypeError, IndexError, ValueError, ZeroDivisionError) as error:
        raise AuditError(f"weights of {mechanism} cannot be read ({type(error).__name__})") from None


def _krr(size: int, weights: Mapping[str, Any]) -> Response:
    return _aprr(size, {"other": [int(weights["other"])] * size})


def _iprr(size: int, weights: Mapping[str, Any]) -> Response:
    others = tuple(weights["other"])
    kept = NUMBER - sum(others)
    return Response(size, size, tuple(kept + other for other in others), others, by_output=True)


def _aprr(size: int, weights: Mapping[str, Any]) -> Response:
    others = tuple(weights["other"])
    return Response(size, size, tuple(NUMBER - (size - 1) * other for other in others), others, by_output=False)


def _unary(size: int, weights: Mapping[str, Any]) -> Bits:
    return Bits(size, (weights["truth"],) * size, (weights["other"],) * size)


def _window(size: int, weights: Mapping[str, Any]) -> Number:
    return Number(size, size + weights["width"] - 1, weights["width"], weights["inside"], weights["outside"])


def _laplace(size: int, weights: Mapping[str, Any], beyond: int = 0) -> Number:
    """Weights of noise by repeated multiplication, rounded up each time; what is left goes to the tails."""
    noise = [weights["peak"]]
    for _ in range(size + beyond - 2):
        noise.append((noise[-1] * weights["decay"] + NUMBER - 1) // NUMBER)
    tails = [(NUMBER - weights["peak"]) // 2]
    for each in noise[1:]:
        tails.append(tails[-1] - each)
    return Number(size, size + 2 * beyond, noise=tuple(noise), tails=tuple(tails), beyond=beyond)


def _intervals(size: int, weights: Mapping[str, Any]) -> Intervals:
    """The weight outside an interval is the least whole number that keeps the published odds."""
    start, stop, inside, (most, least) = (tuple(weights[name]) for name in ("start", "stop", "inside", "odds"))
    outside = tuple((weight * least + most - 1) // most for weight in inside)
    return Intervals(size, 2 * len(start) + 1, start, stop, inside, outside)


MECHANISMS: Final[Mapping[str, Callable[[int, Mapping[str, Any]], Table]]] = {
    "krr": _krr,
    "sue": _unary,
    "oue": _unary,
    "subset": lambda size, weights: Subset(size, weights["chosen"], weights["truth"]),
    "lh": lambda size, weights: Hashed(size, _krr(weights["buckets"], weights)),
    "projective": lambda size, weights: Blocks(size, weights["truth"], *hyperplanes(size, weights["order"])),
    "pairs": lambda size, weights: Blocks(size, weights["truth"], *pairs_of_groups(size, weights["order"])),
    "iprr": _iprr,
    "subset_items": lambda size, weights: Tiers(size, tuple(weights["chosen"]), tuple(weights["other"])),
    "idue": lambda size, weights: Bits(size, tuple(weights["truth"]), tuple(weights["other"])),
    "aprr": _aprr,
    "prr": _aprr,
    "item_set": lambda size, weights: Sets(size, tuple(weights["kept"]), tuple(weights["raised"])),
    "boxes": lambda size, weights: picked(size, _krr(1 << weights["boxes"], weights), weights),
    "privset": meeting,
    "laplace": _laplace,
    "laplace_wide": lambda size, weights: _laplace(size, weights, weights["beyond"]),
    "sr": lambda size, weights: Number(size, 2, first=weights["first"], step=weights["step"]),
    "pm": _window,
    "hm": lambda size, weights: Number(size, size + weights["width"] + 1, **weights),
    "sw": _window,
    "minimax": _intervals,
}
"""The mechanisms that an audit knows, and how it reads their weights."""
