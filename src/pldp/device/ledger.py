"""The person's own account of what was spent, in exact micro-ε."""

from collections.abc import Iterable
from typing import NamedTuple, Self

from pldp.budgets import epsilon_text
from pldp.errors import BudgetError
from pldp.survey import LIFETIME_CAP


class Spend(NamedTuple):
    """One answer's cost: for which survey, question and round, at which level, how much, and which account pays.

    Question and level are empty where the survey hides the level: then a whole report has one price for all levels.
    """

    survey: str
    question: str
    level: str
    micro_epsilon: int
    round: int = 1
    account: str = ""


class Ledger:
    """What this person has spent, with a lifetime cap per account: one for each trusted key, one for all the others.

    It does not change: `after` returns the next one.

    >>> ledger = Ledger(cap=1_000_000).after(Spend("a" * 64, "mode", "open", 700_000))
    >>> ledger.total
    700000
    >>> ledger.after(Spend("a" * 64, "late", "open", 700_000))
    Traceback (most recent call last):
    ...
    pldp.errors.BudgetError: this answer costs epsilon 0.7 and the lifetime cap leaves 0.3 of 1
    """

    def __init__(self, spends: Iterable[Spend] = (), *, cap: int = LIFETIME_CAP) -> None:
        self.spends = tuple(spends)
        self.cap = cap

    @property
    def total(self) -> int:
        """Micro-ε spent on all surveys."""
        return sum(spend.micro_epsilon for spend in self.spends)

    def spent_on(self, survey: str) -> int:
        """Micro-ε spent on one survey (its hash)."""
        return sum(spend.micro_epsilon for spend in self.spends if spend.survey == survey)

    def spent_by(self, account: str) -> int:
        """Micro-ε that one account has paid."""
        return sum(spend.micro_epsilon for spend in self.spends if spend.account == account)

    def after(self, *spends: Spend, survey_cap: int | None = None) -> Self:
        """Return the ledger after these spends of one survey; refuse them if the person's cap or the survey's does."""
        cost = sum(spend.micro_epsilon for spend in spends)
        _refuse_above(self.cap, self.spent_by(spends[0].account), cost, "the lifetime cap")
        if survey_cap is not None:
            _refuse_above(survey_cap, self.spent_on(spends[0].survey), cost, "this survey's total_epsilon")
        return type(self)((*self.spends, *spends), cap=self.cap)


def _refuse_above(cap: int, spent: int, cost: int, name: str) -> None:
    if spent + cost > cap:
        raise BudgetError(
            f"this answer costs epsilon {epsilon_text(cost)} and {name} leaves "
            f"{epsilon_text(max(cap - spent, 0))} of {epsilon_text(cap)}"
        )
