"""Datasets that do not ship with the package: where their publishers keep them, and how to tell that they are whole.

What is checked is the content, not the file: the rows as text, one line each, cells joined by commas. So another
mirror, archive or line ending is as good, and a single changed cell is noticed.
"""

import hashlib
import io
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pldp.errors import DatasetError, UsageError
from pldp.files import atomic_write

MOST_BYTES: Final = 1 << 26
"""No published file is as large as that."""

Rows = list[list[str]]
Progress = Callable[[int, int], None]
"""Called with the bytes that came and the bytes in all (0: not known)."""


@dataclass(frozen=True)
class Published:
    """A dataset of a publisher: what it is, by whom and under which terms, and where.

    `file` is its name in the folder that `PLDP_DATA` names, `sha256` that of the content. `read` turns the publisher's
    bytes into rows of text, `table` turns these into the table that is kept.
    """

    file: str
    origin: str
    address: str
    read: Callable[[bytes], Rows]
    sha256: str
    table: Callable[[Rows], Any]


def content_sha256(rows: Iterable[Sequence[str]]) -> str:
    """Return the digest of the content of some rows.

    >>> content_sha256([["a", "b"], ["c", "d"]])[:16]
    'eafde52e304486ad'
    """
    digest = hashlib.sha256()
    for row in rows:
        digest.update(",".join(row).encode() + b"\n")
    return digest.hexdigest()


def download(name: str, folder: Path, *, address: str | None = None, progress: Progress | None = None) -> Path:
    """Fetch a dataset from its publisher, or from another address, check its content, and keep it in the folder.

    Nothing is kept of what is not whole.
    """
    if name not in PUBLISHED:
        raise UsageError(f"dataset must be one of {', '.join(PUBLISHED)}, not {name[:40]!r}")
    dataset = PUBLISHED[name]
    source = address or dataset.address
    content = _fetch(source, progress)
    try:
        rows = dataset.read(content)
    except (ValueError, KeyError, IndexError, UnicodeDecodeError, zipfile.BadZipFile):
        raise DatasetError(f"{name}: what {source} sent is not in the form of its publisher") from None
    found = content_sha256(rows)
    if found != dataset.sha256:
        expected = dataset.sha256[:12]
        raise DatasetError(f"{name}: the content at {source} must have SHA-256 {expected}…, not {found[:12]}…")
    return _keep(dataset.table(rows), Path(folder) / dataset.file)


def _fetch(source: str, progress: Progress | None) -> bytes:
    if not source.startswith(("https://", "http://127.0.0.1:", "http://localhost:")):
        raise UsageError(f"the address of a dataset must begin with https://, not {source[:60]!r}")
    try:
        with urllib.request.urlopen(source, timeout=60) as answer:  # noqa: S310 - the scheme was checked
            size = int(answer.headers.get("Content-Length") or 0)
            body = io.BytesIO()
            while chunk := answer.read(1 << 16):
                body.write(chunk)
                if body.tell() > MOST_BYTES:
                    raise DatasetError(f"{source} sends more than {MOST_BYTES:,} bytes; nothing was kept")
                if progress is not None:
                    progress(body.tell(), size)
    except urllib.error.HTTPError as error:
        raise DatasetError(f"{source} answered {error.code} {error.reason}; nothing was kept") from None
    except OSError as error:
        raise DatasetError(f"{source} cannot be reached ({getattr(error, 'reason', error)})") from None
    return body.getvalue()


def _keep(table: Any, path: Path) -> Path:
    """Write the table whole or not at all."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - only this needs it

    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        pq.write_table(table, file, compression="zstd")
    return path


ADULT_NUMBERS: Final = ("age", "fnlwgt", "education_num", "capital_gain", "capital_loss", "hours_per_week")
_ADULT_HEADER: Final = (
    "age,workclass,fnlwgt,education,education_num,marital_status,occupation,relationship,race,sex,capital_gain,"
    "capital_loss,hours_per_week,native_country,income"
)
ADULT_COLUMNS: Final = tuple(_ADULT_HEADER.split(","))


def _read_adult(content: bytes) -> Rows:
    """Both parts of the archive, each row with its part first."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {part: archive.read(f"adult.{file}").decode() for part, file in (("train", "data"), ("test", "test"))}
    rows = []
    for part, text in parts.items():
        for line in text.splitlines():
            cells = [cell.strip() for cell in line.rstrip(".").split(",")]
            if len(cells) == len(ADULT_COLUMNS):
                rows.append([part, *cells])
    return rows


def _adult_table(rows: Rows) -> Any:
    import pyarrow as pa  # noqa: PLC0415 - only this needs it

    columns: dict[str, Any] = {}
    for name, cells in zip(("split", *ADULT_COLUMNS), zip(*rows, strict=True), strict=True):
        columns[name] = (
            pa.array([int(cell) for cell in cells], pa.int32())
            if name in ADULT_NUMBERS
            else pa.array(cells).dictionary_encode()
        )
    return pa.table(columns)


_GOODS: Final = "fruitveg,freshmeat,dairy,cannedveg,cannedmeat,frozenmeal,beer,wine,softdrink,fish,confectionery"
BASKET_ITEMS: Final = tuple(_GOODS.split(","))


def _read_basket(content: bytes) -> Rows:
    return [line.split("\t") for line in content.decode().splitlines() if line]


def _basket_table(rows: Rows) -> Any:
    import pyarrow as pa  # noqa: PLC0415 - only this needs it

    return pa.table({"items": rows} | {item: [item in row for row in rows] for item in BASKET_ITEMS})


PUBLISHED: Final = {
    "adult": Published(
        file="adult.parquet",
        origin="UCI Adult (Becker and Kohavi, 1996; CC BY 4.0): all columns of 48,842 people",
        address="https://archive.ics.uci.edu/static/public/2/adult.zip",
        read=_read_adult,
        sha256="60b8a44428c0874088901a6613753e5a38a27d383a17c5aaec829b91b0023f41",
        table=_adult_table,
    ),
    "basket": Published(
        file="basket.parquet",
        origin="Basket: 940 baskets of 11 kinds of goods of a food supermarket (no terms stated)",
        address=(
            "https://raw.githubusercontent.com/PineCoffee/basket/23af72bd829123a9204c0cc08a7811bd7bf591ad/basket.txt"
        ),
        read=_read_basket,
        sha256="1d9b591bda58cdfc1382a6b9e7b8b40511e84bb4da54fc6dc4d71fee73541949",
        table=_basket_table,
    ),
}
"""Names and publishers."""
