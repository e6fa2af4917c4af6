"""Why a report is not counted. Every reason is counted and shown; none is silent."""

from enum import StrEnum

from pldp.errors import PldpError


class Rejection(StrEnum):
    """The reasons, with the words that tallies, logs and pages use."""

    MALFORMED = "malformed"  #: Not JSON, not an object, or a key missing or too many.
    WRONG_SCHEMA = "wrong_schema"  #: Another number of the report format.
    WRONG_SURVEY = "wrong_survey"  #: Made for another survey, or another version of it.
    BAD_ID = "bad_id"  #: The id is not 32 lower-case hexadecimal digits.
    NO_ANSWER = "no_answer"  #: No question is answered.
    UNKNOWN_QUESTION = "unknown_question"  #: A question that the survey does not ask.
    REPEATED_QUESTION = "repeated_question"  #: One question answered twice in one report.
    TOO_MANY_ANSWERS = "too_many_answers"  #: More questions answered than a person is asked.
    UNKNOWN_LEVEL = "unknown_level"  #: A level that the question does not offer.
    WRONG_TYPE = "wrong_type"  #: An output of another type than the channel makes.
    WRONG_LENGTH = "wrong_length"  #: Packed bits of another length than the channel makes.
    OUT_OF_RANGE = "out_of_range"  #: An output that the channel cannot make.
    CONFLICT = "conflict"  #: Another report with this id is stored.
    CLOSED_ROUND = "closed_round"  #: No round is open.
    WITHDRAWN = "withdrawn"  #: A report with this id was withdrawn.
    OVER_BUDGET = "over_budget"  #: The budget of the person who is enrolled does not allow it.
    UNREADABLE = "unreadable"  #: Part of a file that cannot be read, and that was to be passed over.


class ReportRejected(PldpError, ValueError):
    """A report that breaks a rule; `reason` says which."""

    def __init__(self, reason: Rejection, detail: str) -> None:
        super().__init__(f"{reason.value}: {detail}")
        self.reason = reason
