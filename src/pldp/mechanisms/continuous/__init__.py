"""The mechanisms for numbers as their papers define them: densities on an interval, for research."""

from pldp.mechanisms.continuous.arrays import draw_continuous
from pldp.mechanisms.continuous.channel import (
    CONTINUOUS,
    Continuous,
    Hybrid,
    Laplace,
    Piecewise,
    SquareWave,
    StochasticRounding,
    printed_square_wave,
)

__all__ = [
    "CONTINUOUS",
    "Continuous",
    "Hybrid",
    "Laplace",
    "Piecewise",
    "SquareWave",
    "StochasticRounding",
    "draw_continuous",
    "printed_square_wave",
]
