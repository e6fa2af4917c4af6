"""What is asked and which protections may be chosen: the file that devices and collectors share."""

from pldp.survey.budgets import Share, share_of
from pldp.survey.dead_ends import dead_ends
from pldp.survey.file import load, loads, survey_from_document, survey_from_mapping
from pldp.survey.hidden_prices import (
    LEVEL_CAP,
    add_pairs,
    affordable_reports,
    affordable_sets,
    largest_pairs,
    level_told,
    most_told,
    report_price,
)
from pldp.survey.hiding import leak_warnings
from pldp.survey.kinds import KINDS, Choice, Choices, Number
from pldp.survey.languages import language_warnings
from pldp.survey.logo import Logo, read_logo
from pldp.survey.lookalikes import refuse_unclear, unclear_texts
from pldp.survey.lottery import Lottery
from pldp.survey.model import SCHEMA, Survey
from pldp.survey.names import name_warnings
from pldp.survey.parsing import LONGEST_JSON, parse_json, parse_toml
from pldp.survey.question import Question, hash_of
from pldp.survey.repeat import (
    FRESH,
    LIFETIME_CAP,
    ONCE,
    TRACKED,
    Price,
    affordable_rounds,
    charge,
    dearest_report,
    hidden_prices,
    prices,
    repeat_mapping,
    report_epsilon,
)
from pldp.survey.signature import Signature, make_key, sign, verify

__all__ = [
    "FRESH", "KINDS", "LEVEL_CAP", "LIFETIME_CAP", "LONGEST_JSON", "ONCE", "SCHEMA", "TRACKED", "Choice", "Choices",
    "Logo", "Lottery", "Number", "Price", "Question", "Share", "Signature", "Survey", "add_pairs", "affordable_reports",
    "affordable_rounds", "affordable_sets", "charge", "dead_ends", "dearest_report", "hash_of", "hidden_prices",
    "language_warnings", "largest_pairs", "leak_warnings", "level_told", "load", "loads", "make_key", "most_told",
    "name_warnings", "parse_json", "parse_toml", "prices", "read_logo", "refuse_unclear", "repeat_mapping",
    "report_epsilon", "report_price", "share_of", "sign", "survey_from_document", "survey_from_mapping",
    "unclear_texts", "verify",
]  # fmt: skip
