"""The odds in words, for the person who answers. The word "anonymous" does not occur."""

from pldp.device.kinds import BY_KIND
from pldp.device.ledger import Ledger
from pldp.device.wording import times
from pldp.mechanisms import epsilon_text
from pldp.survey import FRESH, ONCE, Lottery, Question, Survey, hidden_prices, prices


def explain_level(survey: Survey, question: Question, level: int) -> str:
    """Say what a level does to an answer, what a report can tell, what shows of the level, and what repeating costs."""
    head = f'Level "{question.levels[level].name}", question "{question.name}":'
    words = BY_KIND[question.kind].explain(question, level)
    return "\n".join([head, *words, _about_the_level(survey, question), _about_repeats(survey, question, level)])


def _about_the_level(survey: Survey, question: Question) -> str:
    leak, joint = survey.level_leak(), survey.value_and_level_epsilon(question.name)
    if survey.lottery is not None:
        return _about_the_lottery(survey.lottery, survey.levels[0].name, survey.levels[-1].name)
    if leak is None or joint is None:
        return "Your report shows the level that you chose."
    asked = survey.ask or len(survey.questions)
    answers = "this answer" if asked == 1 else f"all {asked} answers at one level"
    return (
        f"Your level is hidden: label and {answers} together change the odds between any two levels at most "
        f"{times(leak)};\nlabel and this answer, between any two pairs of answer and level, at most {times(joint)}."
    )


def _about_the_lottery(lottery: Lottery, strictest: str, most_open: str) -> str:
    return (
        "Your device may answer more strictly than you chose, and then changes these odds less. Your report shows the "
        f'level that it used. Who sees "{strictest}" cannot know that you chose it; who sees "{most_open}" can.\n'
        "For a stricter choice, all your reports together change the odds at most "
        f"{times(lottery.true_micro_epsilon)}."
    )


def _about_repeats(survey: Survey, question: Question, level: int) -> str:
    if survey.repeat == ONCE:
        return "Asked again, you send the same report or none."
    if survey.level_channel is not None:
        first, later = (epsilon_text(micro) for _, micro in hidden_prices(survey, question))
        return f"Every round is a new draw: the first costs ε = {first} with the label, every further one ε = {later}."
    found = prices(survey.repeat, question, level)
    if survey.repeat == FRESH:
        return f"Every round is a new draw and costs ε = {epsilon_text(found[0].micro_epsilon)} again."
    return f"Asked again, you pay: {'; '.join(f'{what} ε = {epsilon_text(micro)}' for what, micro in found)}."


def explain_cap(survey: Survey, ledger: Ledger, level_cap: int) -> str:
    """Say where the device stops."""
    whom = "the signer of this survey" if survey.account else "all surveys without a signature that it trusts"
    spent = epsilon_text(ledger.spent_by(survey.account))
    words = f"Your device stops at ε = {epsilon_text(ledger.cap)} for {whom}; {spent} is spent."
    if survey.lottery is not None:
        kept = (
            "The level that it uses is drawn once for the signer of this survey: later reports use it again."
            if survey.signer
            else "This survey is not signed: over its editions nothing is promised about your level, as each draws one."
        )
        return f"{words}\n{kept}"
    if survey.level_channel is None:
        return words
    kept = (
        "The label is drawn once for the signer of this survey: later reports repeat it, whatever level you choose."
        if survey.signer
        else "This survey is not signed: over its editions nothing is promised about your level, as each draws a label."
    )
    stops = f"Your device stops before reports tell more than ε = {epsilon_text(level_cap)} about your level."
    return f"{words}\n{kept}\n{stops}"
