"""What is asked and which protections may be chosen: the file that devices and collectors share."""

from pldp.survey.file import load, loads, survey_from_mapping
from pldp.survey.kinds import KINDS, Choice, Choices, Number
from pldp.survey.model import SCHEMA, Survey
from pldp.survey.question import Question
from pldp.survey.signature import Signature, make_key, sign, verify

__all__ = [
    "KINDS",
    "SCHEMA",
    "Choice",
    "Choices",
    "Number",
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
