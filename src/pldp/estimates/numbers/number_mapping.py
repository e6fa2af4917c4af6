"""A number's estimates as plain data: mean, quantiles and density in one mapping."""

from __future__ import annotations

from typing import Any

from pldp.estimates.numbers.density import Density
from pldp.estimates.numbers.means import Mean

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def number_mapping(found: Mean, fitted: Density, confidence: float) -> dict[str, Any]:
    """Return mean, quantiles and density of a number as plain data."""
    low, high = found.interval(confidence)
    band = fitted.band(confidence)
    return {
        "reports": found.people,
        "confidence": confidence,
        "mean": {
            "value": found.value,
            "standard_error": found.standard_error,
            "low": low,
            "high": high,
            "method": found.method,
            "target": found.target,
            "by_size": found.by_size,
            "assumptions": list(found.assumptions),
        },
        "quantiles": [
            {"share": share, **dict(zip(("value", "low", "high"), fitted.quantile(share, confidence), strict=True))}
            for share in QUANTILES
        ],
        "density": {
            "edges": fitted.edges.tolist(),
            "shares": fitted.shares.tolist(),
            "low": (band.low * fitted.width).tolist(),
            "high": (band.high * fitted.width).tolist(),
            "roughness": fitted.roughness,
            "converged": fitted.converged,
        },
    }
