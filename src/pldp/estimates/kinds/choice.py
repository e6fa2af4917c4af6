"""A choice of one label: the share of each value."""

from collections.abc import Sequence
from typing import Final, cast

from pldp.errors import EstimateError
from pldp.estimates.margins import correct_shares
from pldp.estimates.options import SHARE_METHODS, SHARED, Options, ShareMethod
from pldp.estimates.result import Result
from pldp.estimates.shares.frequencies import frequencies
from pldp.estimates.shares.shares import Shares
from pldp.estimates.tables import LabelAxis, Margin, PlainSide, Side, refuse_ranges
from pldp.mechanisms.arrays import label_arrays
from pldp.survey import Choice
from pldp.tallies import Tally

OPTIONS: Final = (*SHARED, "method", "known", "mix")

METHODS: Final = SHARE_METHODS


def estimate(tally: Tally, question: Choice, options: Options) -> Result:
    """Return the shares of the values, corrected to a known margin if there is one."""
    if options.known is not None:
        if options.mix is not None:
            raise EstimateError("mix and known do not go together: shares of hidden levels are not corrected")
        return correct_shares(
            tally,
            question.name,
            options.known,
            method=options.method,
            pool=options.pool,
            target=options.target,
        )
    progress = options.progress
    return frequencies(
        tally,
        question.name,
        method=cast("ShareMethod | None", options.method),
        pool=options.pool,
        target=options.target,
        mix=options.mix,
        progress=None if progress is None else lambda steps, _: progress(steps),
    )


def side(tally: Tally, question: Choice, options: Options, edges: Sequence[float] | None) -> Side:
    """Return what the question brings to a table: its labels."""
    refuse_ranges(question.name, question.kind, edges)
    own = frequencies(tally, question.name, pool=options.pool, target=options.target, mix=options.mix)
    # For respondents the test beside is that of their errors; tables by size test with those for the population.
    beside = own.assumption_free if options.target == "population" else None
    axes = [LabelAxis(label_arrays(channel)) for channel in question.channels]
    return PlainSide(_margin(own), axes, None if beside is None else _margin(cast("Shares", beside)))


def _margin(own: Shares) -> Margin:
    """Return the shares as the margin of a table."""
    return Margin(
        question=own.question,
        values=own.values,
        shares=own.shares,
        possible=own.consistent(),
        reports=own.reports,
        notes=own.notes,
        homogeneity=own.homogeneity,
    )
