"""Draws of many people from the mechanisms for numbers as their papers define them."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from pldp.mechanisms.arrays import FloatArray
from pldp.mechanisms.continuous.channel import (
    Continuous,
    Hybrid,
    Laplace,
    Piecewise,
    SquareWave,
    StochasticRounding,
)


def draw_continuous(made: Continuous, numbers: FloatArray, generator: np.random.Generator) -> FloatArray:
    """Draw one output per person."""
    return _DRAWS[type(made)](made, numbers, generator)


def _laplace(made: Laplace, numbers: FloatArray, generator: np.random.Generator) -> FloatArray:
    return numbers + generator.laplace(0, 2 / made.epsilon, len(numbers))


def _rounding(made: StochasticRounding, numbers: FloatArray, generator: np.random.Generator) -> FloatArray:
    top = made.reach[1]
    return np.where(generator.random(len(numbers)) < 0.5 + numbers / (2 * top), top, -top)


def _window(made: Piecewise | SquareWave, numbers: FloatArray, generator: np.random.Generator) -> FloatArray:
    low, top = made.reach
    least, largest = made.domain
    start = low + (numbers - least) / (largest - least) * (top - low - made.width)
    inside = generator.random(len(numbers)) < made.high * made.width
    other = generator.random(len(numbers)) * (top - low - made.width)
    other = low + other + np.where(low + other > start, made.width, 0.0)
    return np.where(inside, start + generator.random(len(numbers)) * made.width, other)


def _hybrid(made: Hybrid, numbers: FloatArray, generator: np.random.Generator) -> FloatArray:
    window = _window(Piecewise(made.epsilon), numbers, generator)
    rounded = _rounding(StochasticRounding(made.epsilon), numbers, generator)
    return np.where(generator.random(len(numbers)) < made.share, window, rounded)


_DRAWS: Final[Mapping[type[Continuous], Callable[[Any, FloatArray, np.random.Generator], FloatArray]]] = {
    Laplace: _laplace,
    StochasticRounding: _rounding,
    Piecewise: _window,
    SquareWave: _window,
    Hybrid: _hybrid,
}
