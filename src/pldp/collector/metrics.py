"""Counters as Prometheus reads them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pldp.collector.store import Round
from pldp.reports import Rejection

KIND: Final = "text/plain; version=0.0.4; charset=utf-8"


def metrics(
    rounds: Sequence[Round], rejections: Mapping[Rejection, int], problems: Mapping[str, int], waiting: int
) -> bytes:
    """Return all counters as text; every reason of a rejection is there, also one that never came.

    >>> metrics([Round(1, True, 20, 3)], {}, {"too_slow": 2}, 0).decode().splitlines()[:2]
    ['# TYPE pldp_reports gauge', 'pldp_reports{round="1"} 20']
    """
    reasons = {f'reason="{reason}"': rejections.get(reason, 0) for reason in Rejection}
    lines = [
        *_samples("pldp_reports", "gauge", {f'round="{each.number}"': each.reports for each in rounds}),
        *_samples("pldp_withdrawn", "gauge", {f'round="{each.number}"': each.withdrawn for each in rounds}),
        *_samples("pldp_rejected_total", "counter", reasons),
        *_samples("pldp_problems_total", "counter", {f'code="{code}"': count for code, count in problems.items()}),
        *_samples("pldp_waiting_reports", "gauge", {"": waiting}),
    ]
    return "\n".join([*lines, ""]).encode()


def _samples(name: str, kind: str, samples: Mapping[str, int]) -> Iterator[str]:
    yield f"# TYPE {name} {kind}"
    for labels, value in samples.items():
        yield f"{name}{{{labels}}} {value}" if labels else f"{name} {value}"
