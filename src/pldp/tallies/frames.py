"""Data frames of reports as Arrow tables; the libraries that make them are never imported here."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import pyarrow as pa

from pldp.errors import ReportError
from pldp.reports.columns import schema
from pldp.survey import Survey

_READERS: Final[Mapping[str, Callable[[Any], pa.Table]]] = {
    "pandas": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "polars": lambda frame: frame.to_arrow(),
}
"""How the data frames of each library become Arrow."""


def frame_table(survey: Survey, data: object) -> pa.Table | None:
    """Return a data frame of pandas or Polars as an Arrow table; nothing where it is none.

    >>> import pandas
    >>> from pldp import Survey
    >>> frame_table(Survey.load("examples/commute.toml"), pandas.DataFrame({"schema": [1, 1]})).num_rows
    2
    """
    library = type(data).__module__.partition(".")[0]
    if library not in _READERS or type(data).__name__ != "DataFrame":
        return None
    try:
        table = _READERS[library](data)
    except (pa.ArrowException, ValueError, TypeError) as error:
        words = str(error).splitlines()[0][:120]
        raise ReportError(f"the {library} data frame must hold columns of reports; Arrow says: {words}") from None
    return _with_types(survey, table)


def _with_types(survey: Survey, table: pa.Table) -> pa.Table:
    """Undo what frames do to columns with missing values: no type where all are missing, floats for integers."""
    for field in schema(survey):
        place = table.schema.get_field_index(field.name)
        if place < 0:
            continue
        column = table.column(place)
        if pa.types.is_null(column.type):
            table = table.set_column(place, field.name, pa.nulls(len(column), field.type))
        elif pa.types.is_floating(column.type) and pa.types.is_integer(field.type):
            try:
                table = table.set_column(place, field.name, column.cast(pa.int64()))
            except pa.ArrowInvalid:
                raise ReportError(f"column {field.name} must hold integers; some are not whole numbers") from None
    return table
