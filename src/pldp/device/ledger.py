"""The person's own account of what was spent, in exact micro-ε."""

from collections.abc import Iterable
from dataclasses import dataclass

from pldp.budgets import compose, epsilon_text
from pldp.errors import BudgetError
from pldp.survey import LIFETIME_CAP


@dataclass(frozen=True)
class Spend:
    """One answer's cost: for which survey, question and round, at which level, how much, and which account pays.

    The level is empty where the survey hides it: then the dearest one is charged, so that the price tells nothing.
    """

    survey: str
    question: str
    level: str
    micro_epsilon: int
    round: int = 1
    account: str = ""


class Ledger:
    """What this person has spent, with a lifetime cap per account: one for each trusted key, one for all the others.

    >>> ledger = Ledger(cap=1_000_000)
    >>> ledger.spend(Spend("a" * 64, "mode", "open", 700_000), survey_cap=None)
    >>> ledger.total
    700000
    >>> ledger.spend(Spend("a" * 64, "late", "open", 700_000), survey_cap=None)
    Traceback (most recent call last):
    ...
    pldp.errors.BudgetError: this answer costs epsilon 0.7 and the lifetime cap leaves 0.3 of 1
    """

    def __init__(self, spends: Iterable[Spend] = (), *, cap: int = LIFETIME_CAP) -> None:
        self._spends = list(spends)
        self.cap = cap

    @property
    def spends(self) -> tuple[Spend, ...]:
        """Everything spent so far, oldest first."""
        return tuple(self._spends)

    @property
    def total(self) -> int:
        """Micro-ε spent on all surveys."""
        return compose(spend.micro_epsilon for spend in self._spends)

    def spent_on(self, survey: str) -> int:
        """Micro-ε spent on one survey (its hash)."""
        return compose(spend.micro_epsilon for spend in self._spends if spend.survey == survey)

    def spent_by(self, account: str) -> int:
        """Micro-ε that one account has paid."""
        return compose(spend.micro_epsilon for spend in self._spends if spend.account == account)

    def check(self, *spends: Spend, survey_cap: int | None) -> None:
        """Raise `BudgetError` if these spends of one survey together would pass the person's cap or the survey's."""
        if not spends:
            return
        cost = compose(spend.micro_epsilon for spend in spends)
        _refuse_above(self.cap, self.spent_by(spends[0].account), cost, "the lifetime cap")
        if survey_cap is not None:
            _refuse_above(survey_cap, self.spent_on(spends[0].survey), cost, "this survey's total_epsilon")

    def spend(self, *spends: Spend, survey_cap: int | None) -> None:
        """Write these spends down, or refuse them all and leave the ledger as it was."""
        self.check(*spends, survey_cap=survey_cap)
        self._spends.extend(spends)


def _refuse_above(cap: int, spent: int, cost: int, name: str) -> None:
    if spent + cost > cap:
        raise BudgetError(
            f"this answer costs epsilon {epsilon_text(cost)} and {name} leaves "
            f"{epsilon_text(max(cap - spent, 0))} of {epsilon_text(cap)}"
        )
