"""Shares where every person has an ε of their own, known to the collector: no levels, plain NumPy arrays."""

import numpy as np
import numpy.typing as npt

from pldp.errors import EstimateError
from pldp.estimates.notes import UNTESTED_EPSILON, assume
from pldp.estimates.shares.shares import Shares
from pldp.mechanisms.arrays import personal_arrays


def personal_frequencies(
    mechanism: str,
    outputs: npt.ArrayLike,
    epsilon: npt.ArrayLike,
    values: int | tuple[str, ...],
    *,
    name: str = "value",
) -> Shares:
    """Return shares from outputs whose ε differs from person to person.

    Each person's unbiased contribution (support − q_u)/(p_u − q_u) gets the weight 1/variance at equal shares,
    which does not depend on the reports. Assumes that ε does not depend on the value.

    Parameters
    ----------
    mechanism
        `krr` (outputs are integers); `sue`, `oue` or `subset` (outputs are packed rows, people × bytes).
    outputs, epsilon
        One output and one ε per person.
    values
        The labels, or their number.

    Examples
    --------
    >>> from pldp.simulate import perturb_personal
    >>> generator = np.random.default_rng(7)
    >>> truth, epsilon = generator.integers(0, 4, 100_000), generator.uniform(0.5, 3, 100_000)
    >>> estimate = personal_frequencies("krr", perturb_personal("krr", truth, 4, epsilon, generator), epsilon, 4)
    >>> bool((abs(estimate.shares - 0.25) < 5 * estimate.standard_error).all())
    True
    """
    labels = tuple(map(str, range(values))) if isinstance(values, int) else values
    size, reported = len(labels), np.asarray(outputs)
    people = len(reported)
    if people == 0:
        raise EstimateError("outputs must hold at least one report, not none")
    form = personal_arrays(mechanism, size).fitted_to_outputs(reported)
    truth, other = form.personal_weights(form.checked_epsilons(epsilon, people))
    other /= form.total
    contrast = truth / form.total - other
    level = other + contrast / size
    gain = contrast / (level * (1 - level))  # weight / contrast, the weight being contrast² / (level (1 − level))
    gain /= float(gain @ contrast)
    shares = form.weighted_support(reported, gain) - float(gain @ other)
    # Σ_u gain_u² π_u(1−π_u) with π_u = q_u + f·d_u, as a quadratic in f.
    squared, feasible = gain * gain, np.clip(shares, 0.0, 1.0)
    constant = float(squared @ (other * (1 - other)))
    linear = float(squared @ (contrast * (1 - 2 * other)))
    square = float(squared @ (contrast * contrast))
    return Shares(
        question=name,
        values=labels,
        shares=shares,
        standard_error=np.sqrt(constant + linear * feasible - square * feasible * feasible),
        reports=people,
        method=f"unbiased, {mechanism} with an ε per person, weighted by precision",
        target="population",
        manipulation=float(people * np.max(gain * (1 - other))),
        assumptions=assume("population", UNTESTED_EPSILON),
        notes=(),
    )
