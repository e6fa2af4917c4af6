"""The tally: what the collector keeps of the reports. It adds up, and it is a small file of its own."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any, Final
from zipfile import ZipFile

import numpy as np
import numpy.typing as npt

from pldp.errors import SurveyError, TallyError
from pldp.files import ARCHIVE, atomic_write, name_contents
from pldp.mechanisms import Channel
from pldp.records import Record
from pldp.reports import Rejection
from pldp.show import Table, panel
from pldp.survey import LONGEST_JSON, Survey, parse_json, survey_from_mapping
from pldp.tallies.counts import Counts, counts_from_arrays, no_counts
from pldp.tallies.together import Pair, PairCell, TableCounts, table_cells
from pldp.words import listed

TALLY_SCHEMA: Final = 1
LARGEST_HEADER: Final = 4 * LONGEST_JSON  # it holds the survey, a character of which may take six
LARGEST_ROWS: Final = 1 << 28
ROWS_PACKED: Final = 16
"""Bytes of whole rows (`patterns`) in any tally, and per byte of a large file: distinct rows can hardly be packed."""
ARRAY_HEADER: Final = 1 << 10

_SHOWN: Final = 3  # questions in the short form of a tally
Cell = tuple[str, str]  # question and level (as the report shows it)


@dataclass(frozen=True, eq=False, repr=False)
class Tally(Record):
    """Counts per (question, level), the number of reports, and how many were rejected for which reason.

    `pairs` holds counts of two or three questions together, where they were asked for. `two_labels` counts reports that
    show two labels of hidden levels, as older devices sent them; it is known where reports were read, not in files.
    `repeated` counts reports whose id came before among those that were read together: the sum of two tallies does not
    look for ids of one in the other.
    """

    survey: Survey
    counts: Mapping[Cell, Counts]
    reports: int = 0
    rejections: Mapping[Rejection, int] = field(default_factory=dict)
    pairs: Mapping[PairCell, TableCounts] = field(default_factory=dict)
    two_labels: int = field(default=0, compare=False)
    repeated: int = field(default=0, compare=False)

    @classmethod
    def empty(cls, survey: Survey, *, patterns: bool = False, pairs: Sequence[Pair] = ()) -> Tally:
        """Return a tally of no reports: what every other tally can be added to."""
        patterns = patterns or survey.level_channel is not None
        counts = {cell: no_counts(channel, patterns=patterns) for cell, channel in _cells(survey).items()}
        together = {cell: TableCounts.none(*channels) for cell, channels in table_cells(survey, pairs).items()}
        return cls(survey, counts, pairs=together)

    @staticmethod
    def merge(tallies: Sequence[Tally]) -> Tally:
        """Add up tallies of one survey."""
        if not tallies:
            raise TallyError("nothing to merge: need at least one tally")
        first = tallies[0]
        if any(other.survey.hash != first.survey.hash for other in tallies):
            raise TallyError("tallies to merge must be of one survey; their survey hashes differ")
        return Tally(
            first.survey,
            {cell: _merge([tally.counts[cell] for tally in tallies]) for cell in first.counts},
            sum(tally.reports for tally in tallies),
            dict(reduce(add, (Counter(tally.rejections) for tally in tallies))),
            _merge_pairs(tallies),
            sum(tally.two_labels for tally in tallies),
            sum(tally.repeated for tally in tallies),
        )

    def without(self, part: Tally) -> Tally:
        """Take reports out again that were counted before; what is left is as if they had never been counted."""
        if part.survey.hash != self.survey.hash:
            raise TallyError("a tally to take out must be of the same survey; the survey hashes differ")
        return Tally(
            self.survey,
            {cell: counts.without(part.counts[cell]) for cell, counts in self.counts.items()},
            self.reports - part.reports,
            self.rejections,
            {cell: counts.without(part.pairs[cell]) for cell, counts in self.pairs.items()},
            max(0, self.two_labels - part.two_labels),
            max(0, self.repeated - part.repeated),
        )

    def __add__(self, other: object) -> Tally:
        return Tally.merge([self, other]) if isinstance(other, Tally) else NotImplemented

    @property
    def rejected(self) -> int:
        """Number of reports that were not counted."""
        return sum(self.rejections.values())

    @property
    def repeated_words(self) -> str:
        """What readers must know about ids that came before; nothing where there are none."""
        if not self.repeated:
            return ""
        have = "report has" if self.repeated == 1 else "reports have"
        return f"{self.repeated:,} {have} an id that came before: were they sent or copied twice? They are counted."

    def _repr_html_(self) -> str:
        cells = [(question, level, f"{counts.reports:,}") for (question, level), counts in self.counts.items()]
        rejections = [(reason.value, f"{count:,}") for reason, count in sorted(self.rejections.items())]
        return panel(
            self.survey.title,
            f"{self.reports:,} reports counted, {self.rejected:,} rejected. {self.repeated_words}".rstrip(),
            Table("", ("question", "level", "reports"), cells, left=2),
            *((Table("rejected", ("reason", "reports"), rejections),) if rejections else ()),
        )

    @property
    def paired(self) -> tuple[Pair, ...]:
        """Pairs and triples of questions that were counted together."""
        return tuple(dict.fromkeys(tuple(name for name, _ in cell) for cell in self.pairs))

    @property
    def bare(self) -> tuple[Any, ...]:
        """All but the survey: what travels between machines that have it."""
        return self.counts, self.reports, self.rejections, self.pairs, self.two_labels

    def __repr__(self) -> str:
        rejected = f", {self.rejected:,} rejected" if self.rejected else ""
        lines = [f"Tally of {self.survey.title!r}: {self.reports:,} reports{rejected}"]
        answered = [f"  {name}: {answers:,} answers" for name, answers in self.answered.items()]
        more = [f"  … and {len(answered) - _SHOWN} more"] if len(answered) > _SHOWN else []
        lines += [f"  {self.repeated_words}"] if self.repeated else []
        return "\n".join([*lines, *answered[:_SHOWN], *more])

    @property
    def answered(self) -> dict[str, int]:
        """How many reports answer each question."""
        answers = dict.fromkeys((question.name for question in self.survey.questions), 0)
        for (name, _), counts in self.counts.items():
            answers[name] += counts.reports
        return answers

    def to_bytes(self) -> bytes:
        """Return the tally as the bytes of its file (a ZIP of NumPy arrays and the survey; no pickles)."""
        header = {
            "pldp_tally": TALLY_SCHEMA,
            "survey": self.survey.document,
            "reports": self.reports,
            "rejections": {reason.value: count for reason, count in self.rejections.items()},
            "pairs": [list(names) for names in self.paired],
        }
        header |= {"repeated": self.repeated} if self.repeated else {}
        arrays: dict[str, Any] = {"header": np.frombuffer(json.dumps(header).encode(), np.uint8)}
        arrays |= _named_arrays(self)
        written = io.BytesIO()
        np.savez_compressed(written, **arrays)
        return written.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> Tally:
        """Read what `to_bytes` returned; what does not fit together is refused.

        >>> from pldp import Survey
        >>> empty = Tally.empty(Survey.load("examples/commute.toml"))
        >>> Tally.from_bytes(empty.to_bytes()) == empty
        True
        """
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
                return cls._from_arrays(arrays, len(content))
        except (TallyError, SurveyError) as error:
            raise TallyError(str(error)) from None
        except Exception as error:  # noqa: BLE001 - a corrupt archive can fail anywhere inside its reader
            reason = "" if content.startswith(ARCHIVE) else name_contents(content)
            raise TallyError(f"is not a complete tally file ({reason or type(error).__name__})") from None

    def save(self, path: str | Path) -> None:
        """Write the tally to one file, whole or not at all."""
        with atomic_write(path) as file:
            file.write(self.to_bytes())

    @classmethod
    def load(cls, path: str | Path) -> Tally:
        """Read a tally file; what does not fit together is refused."""
        try:
            return cls.from_bytes(Path(path).read_bytes())
        except FileNotFoundError:
            raise TallyError(f"{path}: there is no such file") from None
        except OSError as error:
            raise TallyError(f"{path}: is not a complete tally file ({type(error).__name__})") from None
        except TallyError as error:
            raise TallyError(f"{path}: {error}") from None

    @classmethod
    def _from_arrays(cls, arrays: Any, packed: int) -> Tally:
        """Read the header, then the arrays that the survey has; nothing before the size that it unpacks to is known."""
        _check_size(arrays.zip, ["header.npy"], LARGEST_HEADER)
        header = parse_json(arrays["header"].tobytes().decode(), longest=LARGEST_HEADER)
        if header["pldp_tally"] != TALLY_SCHEMA:
            raise TallyError(f"pldp_tally must be {TALLY_SCHEMA}, not {header['pldp_tally']}")
        survey = survey_from_mapping(header["survey"])
        paired = [tuple(names) for names in header.get("pairs", ())]
        empty = cls.empty(survey, patterns=True, pairs=paired)
        needed = sum(array.nbytes + ARRAY_HEADER for array in _named_arrays(empty).values())
        _check_size(arrays.zip, arrays.zip.namelist(), needed + max(LARGEST_ROWS, packed * ROWS_PACKED))
        stored = _stored_arrays(arrays)
        cells = {
            cell: counts_from_arrays(channel, stored(f"{index}"))
            for index, (cell, channel) in enumerate(_cells(survey).items())
        }
        pairs = {
            cell: TableCounts.from_arrays(channels, stored(f"pair{index}"))
            for index, (cell, channels) in enumerate(table_cells(survey, paired).items())
        }
        rejections = {Rejection(reason): int(count) for reason, count in header["rejections"].items()}
        repeated = int(header.get("repeated", 0))
        tally = cls(survey, cells, int(header["reports"]), rejections, pairs, repeated=repeated)
        tally.check_numbers()
        return tally

    def check_numbers(self) -> None:
        """Refuse numbers of reports and answers that no reports can have."""
        for line in self._contradictions():
            raise TallyError(line)

    def _contradictions(self) -> Iterator[str]:
        """Yield a line for each rule that is broken. That a question is required binds devices, not reports."""
        reports, answered, asked = self.reports, self.answered, self.survey.ask
        for name, answers in answered.items():
            if answers > reports:
                yield f"question {name!r} has {answers:,} answers in {reports:,} reports; each answers it at most once"
        total = sum(answered.values())
        if total < reports:
            have = f"questions {listed(answered)} have" if len(answered) > 1 else f"question {name!r} has"
            yield f"{have} {total:,} answers in {reports:,} reports; each report answers at least one question"
        if asked is not None and total > asked * reports:
            yield f"{reports:,} reports have {total:,} answers; each person is asked {asked} questions"
        for cell, together in self.pairs.items():
            for name, level in cell:
                alone = self.counts[name, level].reports
                if together.reports > alone:
                    names = listed(name for name, _ in cell)
                    yield (
                        f"questions {names} have {together.reports:,} answers together, but question {name!r} has "
                        f"{alone:,} at level {level!r}"
                    )
        if min(self.rejections.values(), default=0) < 0:
            yield "the number of rejected reports must not be negative"
        if not 0 <= self.repeated <= reports:
            yield f"{self.repeated:,} of {reports:,} reports cannot have an id that came before"


def _check_size(archive: ZipFile, names: Sequence[str], most: int) -> None:
    """Refuse an archive by the sizes in its directory; what is longer than that there is not read, either."""
    size = sum(archive.getinfo(name).file_size for name in names)
    if size > most:
        raise TallyError(f"would unpack to {size:,} bytes, but a tally of its survey has at most {most:,}")


def unreadable_reports(survey: Survey, number: int) -> Tally:
    """Return the tally of so many reports that could not be read."""
    return replace(Tally.empty(survey), rejections={Rejection.UNREADABLE: number} if number else {})


def _cells(survey: Survey) -> dict[Cell, Channel]:
    return {
        (question.name, level.name): channel
        for question in survey.questions
        for level, channel in zip(question.levels, question.channels, strict=True)
    }


def _named_arrays(tally: Tally) -> dict[str, npt.NDArray[Any]]:
    """Return all counts as a file has them."""
    return {
        f"{prefix}{index}.{name}": array
        for prefix, held in (("", tally.counts), ("pair", tally.pairs))
        for index, counts in enumerate(held.values())
        for name, array in counts.arrays().items()
    }


def _stored_arrays(arrays: Any) -> Callable[[str], dict[str, npt.NDArray[Any]]]:
    """Return what reads the arrays of one cell."""
    names: dict[str, list[str]] = {}
    for file in arrays.files:
        cell, _, name = file.partition(".")
        names.setdefault(cell, []).append(name)
    return lambda cell: {name: arrays[f"{cell}.{name}"] for name in names.get(cell, ())}


def _merge_pairs(tallies: Sequence[Tally]) -> dict[PairCell, TableCounts]:
    """Add the counts of pairs that every tally with reports has."""
    filled = [tally for tally in tallies if tally.reports] or tallies
    cells = [cell for cell in filled[0].pairs if all(cell in tally.pairs for tally in filled)]
    return {cell: _merge([tally.pairs[cell] for tally in filled]) for cell in cells}


def _merge(parts: Sequence[Any]) -> Any:
    return type(parts[0]).merge(parts)
