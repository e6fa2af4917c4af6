"""From a fused tally to a result: one verb for every kind of question."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final, NamedTuple, Unpack

from pldp.errors import EstimateError
from pldp.estimates.fused import numbers, sets, shares
from pldp.estimates.kinds.choice import Shares
from pldp.estimates.kinds.choices import Sets
from pldp.estimates.kinds.number_result import NumberResult
from pldp.estimates.results.options import NO_BOUND, GivenOptions, Options, check_names, check_options
from pldp.estimates.results.result import Result
from pldp.mechanisms import Domain
from pldp.tallies import Fused
from pldp.threads import one_thread
from pldp.usage import require
from pldp.words import listed


class FusedKind(NamedTuple):
    """How one kind of answers is estimated: the kind of question whose options it takes, and its methods."""

    estimate: Callable[[Fused, Options], Result]
    kind: str
    methods: Collection[str]

    def takes(self, option: str) -> bool:
        """Tell whether joined reports of this kind take an option."""
        stated = Options.stated()[option]
        return stated.joined and stated.taken_by(self.kind)


BY_DOMAIN: Final[Mapping[Domain, FusedKind]] = {
    "labels": FusedKind(shares.fused_shares, Shares.kind, shares.METHODS),
    "sets": FusedKind(sets.fused_sets, Sets.kind, sets.METHODS),
    "numbers": FusedKind(numbers.fused_number, NumberResult.kind, numbers.METHODS),
}
"""What answers are, and how they are estimated."""


def domain_of(fused: Fused) -> Domain:
    """Return what the answers are: a channel for labels may also ask for one of the buckets of a number."""
    domains = {source.channel.domain for source in fused.sources}
    if "numbers" in domains or fused.asked.limits is not None:
        return "numbers"
    return domains.pop()


@one_thread()
def estimate_fused(fused: Fused, **options: Unpack[GivenOptions]) -> Result:
    """Return shares, supports of items and sets, or mean, quantiles and density from joined reports.

    Parameters
    ----------
    fused
        What `pldp.fuse` made of the reports of several services.
    options
        See `Options`; what does not apply to joined reports of this kind is refused.

    Examples
    --------
    >>> import numpy as np
    >>> from pldp.mechanisms import build
    >>> from pldp.simulate import perturb
    >>> from pldp.tallies import Asked, Service, fuse
    >>> generator, asked = np.random.default_rng(1), Asked("mode", values=("bus", "bike"))
    >>> values, keys = np.repeat([0, 1], [6000, 4000]), np.arange(10_000)
    >>> channels = {"shop": build("krr", 2, 1_000_000), "bank": build("krr", 2, 2_000_000)}
    >>> services = [Service(name, each, keys, perturb(each, values, generator), asked=asked)
    ...     for name, each in channels.items()]
    >>> fused = fuse(services, accept_epsilon=3)
    >>> found = estimate_fused(fused)
    >>> bool(abs(found.estimates[0] - 0.6) < 4 * found.standard_error[0])
    True
    """
    require(fused, Fused, "pldp.estimates.estimate_fused(fused)")
    kind = BY_DOMAIN[domain_of(fused)]
    check_names(options)
    for name in options:
        if not kind.takes(name):
            raise EstimateError(f"{name} does not apply to {fused.asked.name!r}, which asks for {domain_of(fused)}")
    chosen = Options(**options)
    check_options(chosen.differ, chosen.target)
    if chosen.differ:
        raise EstimateError(NO_BOUND.format("joined services"))
    if chosen.method is not None and chosen.method not in kind.methods:
        raise EstimateError(
            f"method must be one of {listed(kind.methods)} for this kind of question, not {chosen.method!r}"
        )
    return kind.estimate(fused, chosen).stated_with(chosen)


def fused_applies(fused: Fused, option: str, value: object) -> bool:
    """Say whether an option with this value says anything about a fused tally."""
    kind = BY_DOMAIN[domain_of(fused)]
    return kind.takes(option) and (option != "method" or value is None or value in kind.methods)
