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
    from pldp.epsilon import LARGEST_EPSILON, LARGEST_TOTAL, MICRO, Micro, epsilon_text, micro_epsilon
    from pldp.mechanisms.boxes.channel import SampledBoxes
    from pldp.mechanisms.channel import (
        CategoricalChannel,
        Channel,
        Domain,
        PureChannel,
        SupportChannel,
        categorical,
        pure,
    )
    from pldp.mechanisms.contrast import Contrast
    from pldp.mechanisms.hashing.channel import LinearHashing
    from pldp.mechanisms.hybrid.channel import HybridMechanism
    from pldp.mechanisms.laplace.channel import DiscreteLaplace
    from pldp.mechanisms.laplace.wide import WideLaplace
    from pldp.mechanisms.leak import LevelPairs, level_evidence, level_leak, pair_evidence
    from pldp.mechanisms.minimax.channel import Minimax, enough_points
    from pldp.mechanisms.number import Grid, NumberChannel, noise_at, noise_variances, position, round_at_random
    from pldp.mechanisms.output import (
        BIT_TOTAL,
        TOTAL,
        Bits,
        Form,
        Integers,
        Output,
        Places,
        RandomBytes,
        as_int,
        draw_53_bits,
    )
    from pldp.mechanisms.privset.channel import PrivSet
    from pldp.mechanisms.projective.blocks import BlockChannel
    from pldp.mechanisms.projective.channel import ProjectiveResponse
    from pldp.mechanisms.projective.pairs import HashedPairs
    from pldp.mechanisms.promises import label_promises, report_promise, value_promise
    from pldp.mechanisms.registry import (
        ANSWER_BYTES,
        AUTO,
        FOR_DISTRIBUTIONS,
        FOR_MEANS,
        REGISTRY,
        build,
        family,
        hideable,
        most_accurate,
        names,
        read,
        suitable,
    )
    from pldp.mechanisms.response.channel import RandomizedResponse
    from pldp.mechanisms.response.values import ItemResponse, ValueResponse, WeightedResponse
    from pldp.mechanisms.rounding.channel import StochasticRounding
    from pldp.mechanisms.set_channel import (
        SetChannel,
        build_whole_set,
        hideable_whole_sets,
        planned_share,
        summed_variances,
    )
    from pldp.mechanisms.set_limits import SetLimits
    from pldp.mechanisms.sets.channel import ItemEpsilon, ItemSet, item_places, places_of, set_of
    from pldp.mechanisms.subset.channel import SubsetSelection
    from pldp.mechanisms.subset.items import ItemSubset
    from pldp.mechanisms.tracking.stages import KeptBytes, Stages, build_stages, read_stages
    from pldp.mechanisms.unary.channel import OptimisedUnaryEncoding, SymmetricUnaryEncoding, UnaryEncoding
    from pldp.mechanisms.unary.items import ItemUnaryEncoding
    from pldp.mechanisms.unary.optimum import IDUE_MODELS, idue_error, idue_optimum
    from pldp.mechanisms.window.channel import PiecewiseMechanism, SquareWave, WindowChannel

__all__ = [
    "ANSWER_BYTES", "AUTO", "BIT_TOTAL", "FOR_DISTRIBUTIONS", "FOR_MEANS", "IDUE_MODELS", "LARGEST_EPSILON",
    "LARGEST_TOTAL", "MICRO", "REGISTRY", "TOTAL", "Bits", "BlockChannel", "CategoricalChannel", "Channel", "Contrast",
    "DiscreteLaplace", "Domain", "Form", "Grid", "HashedPairs", "HybridMechanism", "Integers", "ItemEpsilon",
    "ItemResponse", "ItemSet", "ItemSubset", "ItemUnaryEncoding", "KeptBytes", "LevelPairs", "LinearHashing", "Micro",
    "Minimax", "NumberChannel", "OptimisedUnaryEncoding", "Output", "PiecewiseMechanism", "Places", "PrivSet",
    "ProjectiveResponse", "PureChannel", "RandomBytes", "RandomizedResponse", "SampledBoxes", "SetChannel", "SetLimits",
    "SquareWave", "Stages", "StochasticRounding", "SubsetSelection", "SupportChannel", "SymmetricUnaryEncoding",
    "UnaryEncoding", "ValueResponse", "WeightedResponse", "WideLaplace", "WindowChannel", "as_int", "build",
    "build_stages", "build_whole_set", "categorical", "draw_53_bits", "enough_points", "epsilon_text", "family",
    "hideable", "hideable_whole_sets", "idue_error", "idue_optimum", "item_places", "label_promises", "level_evidence",
    "level_leak", "micro_epsilon", "most_accurate", "names", "noise_at", "noise_variances", "pair_evidence",
    "places_of", "planned_share", "position", "pure", "read", "read_stages", "report_promise", "round_at_random",
    "set_of", "suitable", "summed_variances", "value_promise",
]  # fmt: skip

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "pldp.epsilon": ("LARGEST_EPSILON", "LARGEST_TOTAL", "MICRO", "Micro", "epsilon_text", "micro_epsilon"),
        "pldp.mechanisms.boxes.channel": ("SampledBoxes",),
        "pldp.mechanisms.channel": (
            "CategoricalChannel",
            "Channel",
            "Domain",
            "PureChannel",
            "SupportChannel",
            "categorical",
            "pure",
        ),
        "pldp.mechanisms.contrast": ("Contrast",),
        "pldp.mechanisms.hashing.channel": ("LinearHashing",),
        "pldp.mechanisms.hybrid.channel": ("HybridMechanism",),
        "pldp.mechanisms.laplace.channel": ("DiscreteLaplace",),
        "pldp.mechanisms.laplace.wide": ("WideLaplace",),
        "pldp.mechanisms.leak": ("LevelPairs", "level_evidence", "level_leak", "pair_evidence"),
        "pldp.mechanisms.minimax.channel": ("Minimax", "enough_points"),
        "pldp.mechanisms.number": (
            "Grid",
            "NumberChannel",
            "noise_at",
            "noise_variances",
            "position",
            "round_at_random",
        ),
        "pldp.mechanisms.output": (
            "BIT_TOTAL",
            "TOTAL",
            "Bits",
            "Form",
            "Integers",
            "Output",
            "Places",
            "RandomBytes",
            "as_int",
            "draw_53_bits",
        ),
        "pldp.mechanisms.privset.channel": ("PrivSet",),
        "pldp.mechanisms.projective.blocks": ("BlockChannel",),
        "pldp.mechanisms.projective.channel": ("ProjectiveResponse",),
        "pldp.mechanisms.projective.pairs": ("HashedPairs",),
        "pldp.mechanisms.promises": ("label_promises", "report_promise", "value_promise"),
        "pldp.mechanisms.registry": (
            "ANSWER_BYTES",
            "AUTO",
            "FOR_DISTRIBUTIONS",
            "FOR_MEANS",
            "REGISTRY",
            "build",
            "family",
            "hideable",
            "most_accurate",
            "names",
            "read",
            "suitable",
        ),
        "pldp.mechanisms.response.channel": ("RandomizedResponse",),
        "pldp.mechanisms.response.values": ("ItemResponse", "ValueResponse", "WeightedResponse"),
        "pldp.mechanisms.rounding.channel": ("StochasticRounding",),
        "pldp.mechanisms.set_channel": (
            "SetChannel",
            "build_whole_set",
            "hideable_whole_sets",
            "planned_share",
            "summed_variances",
        ),
        "pldp.mechanisms.set_limits": ("SetLimits",),
        "pldp.mechanisms.sets.channel": ("ItemEpsilon", "ItemSet", "item_places", "places_of", "set_of"),
        "pldp.mechanisms.subset.channel": ("SubsetSelection",),
        "pldp.mechanisms.subset.items": ("ItemSubset",),
        "pldp.mechanisms.tracking.stages": ("KeptBytes", "Stages", "build_stages", "read_stages"),
        "pldp.mechanisms.unary.channel": ("OptimisedUnaryEncoding", "SymmetricUnaryEncoding", "UnaryEncoding"),
        "pldp.mechanisms.unary.items": ("ItemUnaryEncoding",),
        "pldp.mechanisms.unary.optimum": ("IDUE_MODELS", "idue_error", "idue_optimum"),
        "pldp.mechanisms.window.channel": ("PiecewiseMechanism", "SquareWave", "WindowChannel"),
    },
)
