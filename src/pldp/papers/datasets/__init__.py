"""Public counts that ship with the package, so that demonstrations need no download, and what publishers keep.

A dataset with a single attribute is fully described by how many people have each value.
"""

import csv
import os
from importlib.resources import files
from pathlib import Path
from typing import Final

from pldp.errors import UsageError
from pldp.papers.datasets.published import PUBLISHED, Published, content_sha256, download

__all__ = [
    "DATASETS",
    "PUBLISHED",
    "Published",
    "content_sha256",
    "data_file",
    "demo_survey_text",
    "download",
    "load_counts",
]

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
