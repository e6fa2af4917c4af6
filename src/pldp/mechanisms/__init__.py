"""Q(output | value) of every mechanism: exact integer weights, true ε, variance, likelihood. No NumPy here.

>>> from pldp.mechanisms import channel, micro_epsilon
>>> response = channel("krr", 4, micro_epsilon(1))
>>> response.epsilon, response.mechanism
(1.0, 'krr')
"""

from pldp.epsilon import (
    INFINITE,
    LARGEST_EPSILON,
    MICRO,
    epsilon_text,
    micro_epsilon,
    micro_epsilon_of_ratio,
)
from pldp.mechanisms.catalogue import (
    ITEM_MECHANISMS,
    MECHANISMS,
    channel,
    channel_from_weights,
    hideable_channels,
    item_channel,
    item_channel_from_weights,
    most_accurate,
)
from pldp.mechanisms.channel import CategoricalChannel, Channel, Output, PureChannel, RandomBytes, SupportChannel
from pldp.mechanisms.hashing.channel import LinearHashing
from pldp.mechanisms.hybrid.channel import HybridMechanism
from pldp.mechanisms.laplace.channel import DiscreteLaplace
from pldp.mechanisms.leak import level_leak, value_and_level_epsilon
from pldp.mechanisms.number import Grid, NumberChannel
from pldp.mechanisms.numbers import NUMBER_MECHANISMS, number_channel, number_channel_from_weights
from pldp.mechanisms.promises import report_promise, value_promise
from pldp.mechanisms.response.channel import RandomizedResponse
from pldp.mechanisms.response.items import ItemResponse
from pldp.mechanisms.response.values import ValueResponse, WeightedResponse
from pldp.mechanisms.rounding.channel import StochasticRounding
from pldp.mechanisms.sets.channel import ItemEpsilon, ItemSet, set_of
from pldp.mechanisms.unary.channel import OptimisedUnaryEncoding, SymmetricUnaryEncoding, UnaryEncoding
from pldp.mechanisms.unary.items import ItemUnaryEncoding
from pldp.mechanisms.unary.optimum import idue_error, idue_optimum
from pldp.mechanisms.window.channel import PiecewiseMechanism, SquareWave, WindowChannel

__all__ = [
    "INFINITE",
    "ITEM_MECHANISMS",
    "LARGEST_EPSILON",
    "MECHANISMS",
    "MICRO",
    "NUMBER_MECHANISMS",
    "CategoricalChannel",
    "Channel",
    "DiscreteLaplace",
    "Grid",
    "HybridMechanism",
    "ItemEpsilon",
    "ItemResponse",
    "ItemSet",
    "ItemUnaryEncoding",
    "LinearHashing",
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
    "channel",
    "channel_from_weights",
    "epsilon_text",
    "hideable_channels",
    "idue_error",
    "idue_optimum",
    "item_channel",
    "item_channel_from_weights",
    "level_leak",
    "micro_epsilon",
    "micro_epsilon_of_ratio",
    "most_accurate",
    "number_channel",
    "number_channel_from_weights",
    "report_promise",
    "set_of",
    "value_and_level_epsilon",
    "value_promise",
]
