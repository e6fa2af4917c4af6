"""What is asked and which protections may be chosen: the file that devices and collectors share."""

from pldp.survey.file import load, loads, survey_from_mapping
from pldp.survey.model import SCHEMA, Question, Survey
from pldp.survey.signature import Signature, make_key, sign, verify

__all__ = [
    "SCHEMA",
    "Question",
    "Signature",
    "Survey",
    "load",
    "loads",
    "make_key",
    "sign",
    "survey_from_mapping",
    "verify",
]
