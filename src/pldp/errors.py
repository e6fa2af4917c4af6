"""Every error that pldp raises on purpose; catch `PldpError` to catch them all.

A message says what is wrong, what is allowed and what to do. It never contains a raw answer.

>>> issubclass(EpsilonError, PldpError) and issubclass(EpsilonError, ValueError)
True
"""

from __future__ import annotations


class PldpError(Exception):
    """Base of every error below."""


class CallError(PldpError, TypeError):
    """An argument of the wrong type, or in the wrong place; the message names the right call."""


class EpsilonError(PldpError, ValueError):
    """An ε that is not a number, not positive, absurdly large, or that no integer weights can keep."""


class SurveyError(PldpError, ValueError):
    """A survey file that breaks a rule; the message names the key or the line."""

    def __init__(self, message: str = "") -> None:
        """Say it in one line: names in a file, which errors repeat, may have several."""
        super().__init__(" ".join(message.splitlines()))


class SignatureError(SurveyError):
    """A survey whose signature is missing or does not fit its content or the trusted key."""


class AnswerError(PldpError, ValueError):
    """A question, value or level that the survey does not know. The value itself is never repeated."""


class BudgetError(PldpError):
    """An answer that would spend more than the person's ledger allows."""


class DeviceStateError(PldpError):
    """A device's state file that cannot be read or belongs to something else."""


class ReportError(PldpError, ValueError):
    """Reports that cannot be read at all: a truncated file, a missing column, a wrong column type."""


class UnreadableError(ReportError):
    """A Parquet file that is truncated, corrupt or something else; `path` says which."""

    def __init__(self, path: str, reason: str) -> None:
        first = (reason.splitlines() or ["it does not say why"])[0][:160]
        super().__init__(f"{path}: is not a complete Parquet file of reports ({first})")
        self.path, self.reason = path, first

    def __reduce__(self) -> tuple[type[UnreadableError], tuple[str, str]]:
        return UnreadableError, (self.path, self.reason)


class TallyError(PldpError, ValueError):
    """Tallies that cannot be read or added, or that lack what an estimate needs."""


class EstimateError(PldpError, ValueError):
    """An estimate that the tally cannot give: no reports, an unknown question or method."""


class SimulationError(PldpError, ValueError):
    """A population or a level mix that makes no sense."""


class PlanError(PldpError, ValueError):
    """A plan that makes no sense: no people, shares or a level mix that do not fit the survey."""


class ShuffleError(PldpError, ValueError):
    """What shuffling adds cannot be said."""


class AuditError(PldpError, ValueError):
    """An audit that cannot be made: a mechanism that fails, never answers, or is unknown; too few samples."""


class DatasetError(PldpError):
    """A dataset cannot be had, or is not what its publisher published."""


class StoreError(PldpError):
    """A store that cannot be opened, read or written now."""


class StoreFullError(StoreError):
    """A store without room for more; nothing was stored and what was stored is safe."""


class ClusterError(PldpError):
    """A Spark cluster that cannot be reached, or whose machines cannot do the work."""


class UsageError(PldpError, ValueError):
    """A command line that asks for something that cannot be done."""
