"""Public counts that ship with the package, so that demonstrations need no download, and what publishers keep.

A dataset with a single attribute is fully described by how many people have each value. Of others, this is where their
publishers keep them, and how to tell that they are whole. What is checked is the content, not the file: the rows as
text, one line each, cells joined by commas. So another mirror, archive or line ending is as good, and a single changed
cell is noticed.
"""

import csv
import hashlib
import io
import os
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from pldp.errors import DatasetError, UsageError
from pldp.files import atomic_write

DATASETS: Final = {
    "adult_education": (
        "UCI Adult (Becker and Kohavi, 1996; CC BY 4.0): education of the 32,561 people of the training part"
    ),
    "bank_job": "UCI Bank Marketing (Moro, Rita, Cortez, 2012; CC BY 4.0): job of 45,211 people",
    "adult_country": (
        "UCI Adult (Becker and Kohavi, 1996; CC BY 4.0): native country of all 48,842 people (? is a value)"
    ),
    "kosarak_items": (
        "Kosarak click stream of a news portal (Bodon, FIMI repository): two public parts, 554,088 of 990,002 people, "
        "one of each person's items drawn at random; the 442,901 people of the 100 items drawn most"
    ),
    "taxi_pickups": (
        "New York yellow taxis (NYC TLC open data), a 1-in-1000 sample of 2015-2019: 577,935 pick-ups by time of day, "
        "in 1,024 equal parts"
    ),
    "sf_pay": (
        "Pay and benefits of San Francisco city employees 2011-2014 (public record): the 28,719 totals from 10,000 to "
        "60,000 dollars, in 1,024 equal parts"
    ),
}
"""Names and origins."""


def load_counts(name: str) -> dict[str, int]:
    """Return the number of people of each value: of labels the most frequent first, of numbers in their order.

    >>> counts = load_counts("adult_education")
    >>> len(counts), sum(counts.values()), counts["Doctorate"]
    (16, 32561, 413)
    """
    if name not in DATASETS:
        raise UsageError(f"dataset must be one of {', '.join(DATASETS)}, not {name!r}")
    text = files(__package__).joinpath(f"{name}.csv").read_text(encoding="utf-8")
    return {row["value"]: int(row["people"]) for row in csv.DictReader(text.splitlines())}


def data_file(name: str) -> Path | None:
    """Return the path of a file in the folder that the environment variable PLDP_DATA names, if it is there."""
    folder = os.environ.get("PLDP_DATA")
    path = Path(folder, name) if folder else None
    return path if path is not None and path.is_file() else None


def demo_survey_text() -> str:
    """Return the survey file of the demonstration."""
    return files(__package__).joinpath("education.toml").read_text(encoding="utf-8")


MOST_BYTES: Final = 1 << 26  # no published file is as large as that
Rows = list[list[str]]
Progress = Callable[[int, int], None]  #: Called with the bytes that came and the bytes in all (0: not known).


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
    import pyarrow.parquet as pq  # noqa: PLC0415 - only this needs it

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
    path = Path(folder) / dataset.file
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        pq.write_table(dataset.table(rows), file, compression="zstd")
    return path


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

    def column(name: str, cells: tuple[str, ...]) -> Any:
        numbers = name in ADULT_NUMBERS
        return pa.array(map(int, cells), pa.int32()) if numbers else pa.array(cells).dictionary_encode()

    names = ("split", *ADULT_COLUMNS)
    return pa.table({name: column(name, cells) for name, cells in zip(names, zip(*rows, strict=True), strict=True)})


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
