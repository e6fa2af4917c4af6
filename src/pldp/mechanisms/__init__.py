"""Q(output | value) of every mechanism: exact integer weights, true ε, variance, likelihood.

Channels need the standard library only; `pldp.mechanisms.arrays` has the same channels over NumPy arrays. Names are
loaded when they are first used: a device loads only the mechanisms of its survey.

>>> from pldp.mechanisms import build, micro_epsilon
>>> response = build("krr", 4, micro_epsilon(1))
>>> response.epsilon, response.mechanism
(1.0, 'krr')
"""

from typing import TYPE_CHECKING

from pldp.lazy import lazy_exports

if TYPE_CHECKING:
    from pldp.epsilon import LARGEST_EPSILON as LARGEST_EPSILON
    from pldp.epsilon import LARGEST_TOTAL as LARGEST_TOTAL
    from pldp.epsilon import MICRO as MICRO
    from pldp.epsilon import Micro as Micro
    from pldp.epsilon import epsilon_text as epsilon_text
    from pldp.epsilon import micro_epsilon as micro_epsilon
    from pldp.epsilon import micro_epsilon_of_ratio as micro_epsilon_of_ratio
    from pldp.mechanisms.channel import CategoricalChannel as CategoricalChannel
    from pldp.mechanisms.channel import Channel as Channel
    from pldp.mechanisms.channel import Domain as Domain
    from pldp.mechanisms.channel import PureChannel as PureChannel
    from pldp.mechanisms.channel import SupportChannel as SupportChannel
    from pldp.mechanisms.channel import pure as pure
    from pldp.mechanisms.draws import BIT_TOTAL as BIT_TOTAL
    from pldp.mechanisms.draws import TOTAL as TOTAL
    from pldp.mechanisms.draws import RandomBytes as RandomBytes
    from pldp.mechanisms.form import Bits as Bits
    from pldp.mechanisms.form import Form as Form
    from pldp.mechanisms.form import Integers as Integers
    from pldp.mechanisms.form import Output as Output
    from pldp.mechanisms.form import as_int as as_int
    from pldp.mechanisms.hashing.channel import LinearHashing as LinearHashing
    from pldp.mechanisms.hybrid.channel import HybridMechanism as HybridMechanism
    from pldp.mechanisms.laplace.channel import DiscreteLaplace as DiscreteLaplace
    from pldp.mechanisms.leak import level_leak as level_leak
    from pldp.mechanisms.leak import value_and_level_epsilon as value_and_level_epsilon
    from pldp.mechanisms.number import Grid as Grid
    from pldp.mechanisms.number import NumberChannel as NumberChannel
    from pldp.mechanisms.promises import label_promises as label_promises
    from pldp.mechanisms.promises import report_promise as report_promise
    from pldp.mechanisms.promises import value_promise as value_promise
    from pldp.mechanisms.registry import AUTO as AUTO
    from pldp.mechanisms.registry import REGISTRY as REGISTRY
    from pldp.mechanisms.registry import automatic as automatic
    from pldp.mechanisms.registry import build as build
    from pldp.mechanisms.registry import family as family
    from pldp.mechanisms.registry import hideable as hideable
    from pldp.mechanisms.registry import names as names
    from pldp.mechanisms.registry import read as read
    from pldp.mechanisms.registry import suitable as suitable
    from pldp.mechanisms.response.channel import RandomizedResponse as RandomizedResponse
    from pldp.mechanisms.response.items import ItemResponse as ItemResponse
    from pldp.mechanisms.response.values import ValueResponse as ValueResponse
    from pldp.mechanisms.response.values import WeightedResponse as WeightedResponse
    from pldp.mechanisms.rounding.channel import StochasticRounding as StochasticRounding
    from pldp.mechanisms.sets.channel import ItemEpsilon as ItemEpsilon
    from pldp.mechanisms.sets.channel import ItemSet as ItemSet
    from pldp.mechanisms.sets.channel import item_places as item_places
    from pldp.mechanisms.sets.channel import places_of as places_of
    from pldp.mechanisms.sets.channel import set_of as set_of
    from pldp.mechanisms.tracking.stages import KeptBytes as KeptBytes
    from pldp.mechanisms.tracking.stages import Stages as Stages
    from pldp.mechanisms.tracking.stages import build_stages as build_stages
    from pldp.mechanisms.tracking.stages import read_stages as read_stages
    from pldp.mechanisms.unary.channel import OptimisedUnaryEncoding as OptimisedUnaryEncoding
    from pldp.mechanisms.unary.channel import SymmetricUnaryEncoding as SymmetricUnaryEncoding
    from pldp.mechanisms.unary.channel import UnaryEncoding as UnaryEncoding
    from pldp.mechanisms.unary.items import ItemUnaryEncoding as ItemUnaryEncoding
    from pldp.mechanisms.unary.optimum import IDUE_MODELS as IDUE_MODELS
    from pldp.mechanisms.unary.optimum import idue_error as idue_error
    from pldp.mechanisms.unary.optimum import idue_optimum as idue_optimum
    from pldp.mechanisms.window.channel import PiecewiseMechanism as PiecewiseMechanism
    from pldp.mechanisms.window.channel import SquareWave as SquareWave
    from pldp.mechanisms.window.channel import WindowChannel as WindowChannel

__all__, __getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "pldp.epsilon": (
            "LARGEST_EPSILON",
            "LARGEST_TOTAL",
            "MICRO",
            "Micro",
            "epsilon_text",
            "micro_epsilon",
            "micro_epsilon_of_ratio",
        ),
        "pldp.mechanisms.channel": ("CategoricalChannel", "Channel", "Domain", "PureChannel", "SupportChannel", "pure"),
        "pldp.mechanisms.draws": ("BIT_TOTAL", "TOTAL", "RandomBytes"),
        "pldp.mechanisms.form": ("Bits", "Form", "Integers", "Output", "as_int"),
        "pldp.mechanisms.hashing.channel": ("LinearHashing",),
        "pldp.mechanisms.hybrid.channel": ("HybridMechanism",),
        "pldp.mechanisms.laplace.channel": ("DiscreteLaplace",),
        "pldp.mechanisms.leak": ("level_leak", "value_and_level_epsilon"),
        "pldp.mechanisms.number": ("Grid", "NumberChannel"),
        "pldp.mechanisms.promises": ("label_promises", "report_promise", "value_promise"),
        "pldp.mechanisms.registry": (
            "AUTO",
            "REGISTRY",
            "automatic",
            "build",
            "family",
            "hideable",
            "names",
            "read",
            "suitable",
        ),
        "pldp.mechanisms.response.channel": ("RandomizedResponse",),
        "pldp.mechanisms.response.items": ("ItemResponse",),
        "pldp.mechanisms.response.values": ("ValueResponse", "WeightedResponse"),
        "pldp.mechanisms.rounding.channel": ("StochasticRounding",),
        "pldp.mechanisms.sets.channel": ("ItemEpsilon", "ItemSet", "item_places", "places_of", "set_of"),
        "pldp.mechanisms.tracking.stages": ("KeptBytes", "Stages", "build_stages", "read_stages"),
        "pldp.mechanisms.unary.channel": ("OptimisedUnaryEncoding", "SymmetricUnaryEncoding", "UnaryEncoding"),
        "pldp.mechanisms.unary.items": ("ItemUnaryEncoding",),
        "pldp.mechanisms.unary.optimum": ("IDUE_MODELS", "idue_error", "idue_optimum"),
        "pldp.mechanisms.window.channel": ("PiecewiseMechanism", "SquareWave", "WindowChannel"),
    },
)
