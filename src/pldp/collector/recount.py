"""Count a store that no collector serves, such as a backup."""

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from pldp.collector.database import open_database, stored_survey
from pldp.collector.saved import consistent
from pldp.collector.store import Store
from pldp.errors import StoreError
from pldp.survey import loads
from pldp.tallies import Pair, Tally


def tally_all(
    where: str | Path, number: int | None = None, pairs: Sequence[Pair] = (), note: Callable[[str], object] = str
) -> Tally:
    """Return the tally of all reports of a round in a store that no collector serves, such as a backup.

    `note` is told where single reports were deleted, and only what readers could see is left.
    """
    database = open_database(where)
    with database.translate_errors(), closing(database.connect()) as reader:
        survey = stored_survey(reader)
    if survey is None:
        raise StoreError(f"{where}: holds no survey yet, so it has no reports")
    with closing(Store(loads(survey.decode()), database, pairs=pairs, alone=True)) as store:
        if store.has_deleted(number):
            note("the single reports of this round were deleted; its tally has the steps and pairs that readers saw")
            return consistent(store.tally(number))
        return store.tally(number)
