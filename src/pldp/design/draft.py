"""A survey file that is being written: read as plain data, saved whole, and never over changes made elsewhere."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from pldp.design.comments import Comments, read_comments
from pldp.design.fields import EXPLANATIONS
from pldp.design.writing import paths_of, write_toml
from pldp.errors import SurveyError
from pldp.files import atomic_write
from pldp.survey import parse_json, parse_toml

START: Final[Mapping[str, Any]] = {
    "pldp": 1,
    "title": "",
    "levels": {
        "strict": {"epsilon": Decimal("0.5"), "text": "Hardly anything can be learned about you."},
        "standard": {"epsilon": 1, "text": "A good balance."},
        "open": {"epsilon": 2, "text": "Helps the survey most."},
    },
    "questions": [],
}
"""What a new survey begins with: three levels that most surveys can keep."""


class ChangedError(SurveyError):
    """A file that changed on the disk since it was read, or that is there already."""


@dataclass
class Draft:
    """A survey file, new or opened. `document` is the plain data of the file as it is on the disk."""

    path: Path
    document: Mapping[str, Any] = field(default_factory=lambda: START)
    comments: Comments = field(default_factory=dict)
    seen: str = ""  # hash of the bytes on the disk; empty: there was no file

    @classmethod
    def open(cls, path: str | Path) -> "Draft":
        """Read a file, or begin a new one where there is none. What is in it need not be a valid survey yet."""
        path = Path(path)
        if path.suffix not in {".toml", ".json"}:
            raise SurveyError(f"{path}: the name of a survey file must end in .toml or .json")
        try:
            content = path.read_bytes()
            text = content.decode()
        except FileNotFoundError:
            return cls(path)
        except (OSError, UnicodeDecodeError) as error:
            raise SurveyError(f"{path}: cannot be read as UTF-8 text ({type(error).__name__})") from None
        document = _read(path, text)
        if "signature" in document:
            raise SurveyError(
                f"{path}: is signed, and no change would keep the signature; open the file that it was signed from"
            )
        comments = {} if path.suffix == ".json" else read_comments(text)
        return cls(path, document, comments, sha256(content).hexdigest())

    def text(self, document: Mapping[str, Any]) -> str:
        """Return what would be saved."""
        if self.path.suffix == ".json":
            return json.dumps(document, indent=1, ensure_ascii=False, default=_plain) + "\n"
        known = paths_of(self.document) if self.seen else ()
        explanations = {
            path: EXPLANATIONS[path[-1]]
            for path in paths_of(document)
            if path not in known and path[-1] in EXPLANATIONS and (len(path) == 1 or path[-1] != "levels")
        }
        return write_toml(document, self.comments, explanations)

    def save(self, document: Mapping[str, Any], *, overwrite: bool = False) -> None:
        """Write the file whole or not at all; one that changed since it was read is kept unless told otherwise."""
        document = _restored(document, self.document)
        content = self.text(document).encode()
        on_disk = _hash_of(self.path)
        if on_disk != self.seen and not overwrite:
            what = "changed on the disk since it was opened" if self.seen else "exists already"
            raise ChangedError(f"{self.path.name} {what}; save under another name, or overwrite it")
        with atomic_write(self.path, sync=True) as file:
            file.write(content)
        self.document, self.seen = document, sha256(content).hexdigest()
        self.comments = {} if self.path.suffix == ".json" else read_comments(content.decode())


def _read(path: Path, text: str) -> dict[str, Any]:
    try:
        found = parse_json(text) if path.suffix == ".json" else parse_toml(text)
    except SurveyError as error:
        raise SurveyError(f"{path}: {error}") from None
    if not isinstance(found, dict):
        raise SurveyError(f"{path}: must be a table of keys")
    return found


def _hash_of(path: Path) -> str:
    try:
        return sha256(path.read_bytes()).hexdigest()
    except FileNotFoundError:
        return ""


def _plain(value: object) -> object:
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, date):
        return value.isoformat()
    raise SurveyError(f"a survey file cannot hold a {type(value).__name__}")


def to_json(document: Mapping[str, Any]) -> str:
    """Return a document as JSON; dates become text, which `save` turns back where nobody changed them."""
    return json.dumps(document, ensure_ascii=False, default=_plain)


def _restored(value: Any, before: Any) -> Any:
    """Return a value with the dates that were in the file, where it has the same text now."""
    if isinstance(before, date) and value == before.isoformat():
        return before
    if isinstance(value, Mapping):
        own = before if isinstance(before, Mapping) else {}
        return {key: _restored(each, own.get(key)) for key, each in value.items()}
    if isinstance(value, list) and isinstance(before, list):
        return [_restored(each, before[at] if at < len(before) else None) for at, each in enumerate(value)]
    return value
