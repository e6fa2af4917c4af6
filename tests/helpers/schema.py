"""The JSON Schema of survey files, read and compiled once."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from pldp.survey.schema import PATH


@cache
def _validator() -> Draft202012Validator:
    return Draft202012Validator(json.loads(PATH.read_text(encoding="utf-8")))


def validate(document: Any) -> None:
    """Raise `jsonschema.ValidationError` unless the shipped schema takes the document."""
    _validator().validate(document)
