"""Drawing counts instead of reports: what is refused (what is drawn is tested with the estimates)."""

from __future__ import annotations

import numpy as np
import pytest

from pldp.errors import SimulationError
from pldp.mechanisms import build
from pldp.simulate import perturb_counts


@pytest.mark.parametrize("people", [[1, 2], [1.5, 2, 3], [-1, 2, 3]])
def test_people_must_be_whole_numbers_per_value(people: list[float]) -> None:
    with pytest.raises(SimulationError, match="people must be 3 whole numbers, none negative"):
        perturb_counts(build("krr", 3, 1_000_000), people, np.random.default_rng(1))


def test_a_channel_without_a_sampler_of_counts_is_named() -> None:
    with pytest.raises(SimulationError, match="no sampler of counts for lh"):
        perturb_counts(build("lh", 3, 1_000_000), [1, 2, 3], np.random.default_rng(1))


@pytest.mark.parametrize("mechanism", ["krr", "oue"])
def test_pure_channels_are_counted_too(mechanism: str) -> None:
    assert perturb_counts(build(mechanism, 3, 1_000_000), [100, 200, 300], np.random.default_rng(1)).reports == 600
