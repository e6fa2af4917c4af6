"""A choice of one label: the share of each value."""

from typing import Final, cast

from pldp.errors import EstimateError
from pldp.estimates.margins import correct_shares
from pldp.estimates.options import SHARE_METHODS, SHARED, Options, ShareMethod
from pldp.estimates.result import Result
from pldp.estimates.shares.frequencies import frequencies
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
