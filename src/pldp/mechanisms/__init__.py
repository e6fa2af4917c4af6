"""Q(output | value) of every mechanism: exact integer weights, true ε, variance, likelihood.

Channels need the standard library only; `arrays(channel)` is the same channel over NumPy arrays.

>>> from pldp.mechanisms import build, micro_epsilon
>>> response = build("krr", 4, micro_epsilon(1))
>>> response.epsilon, response.mechanism
(1.0, 'krr')
"""

from pldp.epsilon import (
    LARGEST_EPSILON,
    LARGEST_TOTAL,
    MICRO,
    Micro,
    epsilon_text,
    micro_epsilon,
    micro_epsilon_of_ratio,
)
from pldp.mechanisms.channel import CategoricalChannel, Channel, Domain, PureChannel, SupportChannel, pure
from pldp.mechanisms.draws import BIT_TOTAL, TOTAL, RandomBytes
from pldp.mechanisms.form import Bits, Form, Integers, Output, as_int
from pldp.mechanisms.hashing.channel import LinearHashing
from pldp.mechanisms.hybrid.channel import HybridMechanism
from pldp.mechanisms.laplace.channel import DiscreteLaplace
from pldp.mechanisms.leak import level_leak, value_and_level_epsilon
from pldp.mechanisms.number import Grid, NumberChannel
from pldp.mechanisms.promises import label_promises, report_promise, value_promise
from pldp.mechanisms.registry import AUTO, REGISTRY, automatic, build, family, hideable, names, read
from pldp.mechanisms.response.channel import RandomizedResponse
from pldp.mechanisms.response.items import ItemResponse
from pldp.mechanisms.response.values import ValueResponse, WeightedResponse
from pldp.mechanisms.rounding.channel import StochasticRounding
from pldp.mechanisms.sets.channel import ItemEpsilon, ItemSet, item_places, places_of, set_of
from pldp.mechanisms.unary.channel import OptimisedUnaryEncoding, SymmetricUnaryEncoding, UnaryEncoding
from pldp.mechanisms.unary.items import ItemUnaryEncoding
from pldp.mechanisms.unary.optimum import idue_error, idue_optimum
from pldp.mechanisms.window.channel import PiecewiseMechanism, SquareWave, WindowChannel

__all__ = [
    "AUTO",
    "BIT_TOTAL",
    "LARGEST_EPSILON",
    "LARGEST_TOTAL",
    "MICRO",
    "REGISTRY",
    "TOTAL",
    "Bits",
    "CategoricalChannel",
    "Channel",
    "DiscreteLaplace",
    "Domain",
    "Form",
    "Grid",
    "HybridMechanism",
    "Integers",
    "ItemEpsilon",
    "ItemResponse",
    "ItemSet",
    "ItemUnaryEncoding",
    "LinearHashing",
    "Micro",
    "NumberChannel",
    "OptimisedUnaryEncoding",
    "Output",
    "PiecewiseMechanism",
    "PureChannel",
    "RandomBytes",
    "RandomizedResponse",
    "SquareWave",
    "StochasticRounding",
    "SupportChannel",
    "SymmetricUnaryEncoding",
    "UnaryEncoding",
    "ValueResponse",
    "WeightedResponse",
    "WindowChannel",
    "as_int",
    "automatic",
    "build",
    "epsilon_text",
    "family",
    "hideable",
    "idue_error",
    "idue_optimum",
    "item_places",
    "label_promises",
    "level_leak",
    "micro_epsilon",
    "micro_epsilon_of_ratio",
    "names",
    "places_of",
    "pure",
    "read",
    "report_promise",
    "set_of",
    "value_and_level_epsilon",
    "value_promise",
]
