"""From a tally to results: one verb for every kind of question."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Unpack, overload

from pldp.errors import CallError, EstimateError, TallyError
from pldp.estimates.kinds import BY_KIND
from pldp.estimates.kinds.table import check_ranges, cross
from pldp.estimates.linear.mix import check_mix
from pldp.estimates.margins import uncorrected_notes
from pldp.estimates.results.facts import Note
from pldp.estimates.results.notes import TABLE_NOT_CORRECTED, TABLE_WITHOUT_BOUND, forged_reports, repeated_ids
from pldp.estimates.results.options import GivenOptions, Options, check_names
from pldp.estimates.results.result import Result, Results
from pldp.estimates.rounds import distinct_people
from pldp.forgery import forgery_of
from pldp.survey import Question
from pldp.tallies import Tally
from pldp.threads import one_thread
from pldp.usage import require


@overload
def estimate(tally: Tally, question: None = None, **options: Unpack[GivenOptions]) -> Results: ...


@overload
def estimate(tally: Tally, question: str, **options: Unpack[GivenOptions]) -> Result: ...


@one_thread()
def estimate(tally: Tally, question: str | None = None, **options: Unpack[GivenOptions]) -> Result | Results:
    """Return the result of one question, or of every question and tallied pair or triple, whatever their kinds.

    Parameters
    ----------
    tally
        The counted reports.
    question
        Name of a question; without it, the whole survey. A question that cannot be estimated, one without reports, say,
        is then named in `Results.missing` with the reason.
    options
        See `Options`; what does not apply to the question, or to any question of the survey, is refused.

    Examples
    --------
    >>> from pldp import Survey, tally
    >>> from pldp.simulate import Population, simulate_reports
    >>> survey = Survey.load("examples/shopping.toml")
    >>> people = Population.of_shares(survey, 20_000, seed=1)
    >>> results = estimate(tally(survey, simulate_reports(survey, people, seed=1)))
    >>> {name: result.kind for name, result in results.items()}
    {'basket': 'choices', 'reason': 'choice', 'spent': 'number'}
    >>> results["basket"].rows()[0].label
    'bread'
    """
    require(tally, Tally, "pldp.estimate(tally, question)")
    check_mix(tally.survey, options.get("mix"))
    check_names(options)
    if question is None:
        return _estimate_all(tally, options)
    if not isinstance(question, str):
        one = f"takes the name of one question, not {type(question).__name__}"
        raise CallError(f"pldp.estimate(tally, question) {one}; without a name it gives every question")
    asked = tally.survey.question(question)
    if "ranges" in options:
        raise EstimateError(
            "ranges are those of numbers in tables: use two_way or three_way, or estimate without a name"
        )
    _refuse_others(options, {asked.kind}, f"question {question!r} is of kind {asked.kind}")
    return _estimate(tally, asked, options)


def _estimate_all(tally: Tally, options: GivenOptions) -> Results:
    """Return every question and tallied pair; those that an option does not apply to say so."""
    chosen, questions = Options(**options), tally.survey.questions
    kinds = sorted({asked.kind for asked in questions})
    if chosen.method is not None and not any(applies(asked, "method", chosen.method) for asked in questions):
        known = sorted({name for kind in kinds for name in BY_KIND[kind].METHODS})
        raise EstimateError(f"method must be one of {', '.join(known)}, not {chosen.method!r}")
    _refuse_others(options, set(kinds), f"this survey has questions of kind {', '.join(kinds)} only")
    check_ranges(tally, chosen.ranges)
    uncorrected = {} if chosen.known is None else uncorrected_notes(tally, chosen.known)
    results: dict[str, Result] = {}
    missing: dict[str, str] = {}
    for asked in questions:
        own: dict[str, Any] = {name: value for name, value in options.items() if applies(asked, name, value)}
        about = []
        if asked.name in uncorrected:
            own.pop("known", None)
            about.append(uncorrected[asked.name])
        if chosen.method is not None and "method" not in own:
            text = f"the method {chosen.method!r} does not apply to this kind of question"
            about.append(Note("other-method", text, "info"))
        try:
            found = _estimate(tally, asked, own)
            results[asked.name] = replace(found, notes=(*found.notes, *about))
        except (EstimateError, TallyError) as error:
            missing[asked.name] = str(error)
    tables = []
    for names in tally.paired:
        try:
            edges = {name: own for name, own in (chosen.ranges or {}).items() if name in names}
            table = cross(
                tally,
                names,
                differ=None if chosen.differ else chosen.differ,
                target=chosen.target,
                ranges=edges,
                mix=chosen.mix,
            )
            about = [] if chosen.known is None else [TABLE_NOT_CORRECTED]
            about += [TABLE_WITHOUT_BOUND] if chosen.differ else []
            tables.append(replace(table, notes=(*table.notes, *about)).stated_with(chosen))
        except EstimateError as error:
            missing[" × ".join(names)] = str(error)
    rejections = {reason.value: count for reason, count in sorted(tally.rejections.items())}
    return Results(tally.survey.hash, tally.survey.title, tally.reports, rejections, results, tuple(tables), missing)


def _estimate(tally: Tally, question: Question, options: Mapping[str, Any]) -> Result:
    chosen, forgery = Options(**options), forgery_of(tally, question)
    found = BY_KIND[question.kind].estimate(tally, question, chosen)
    noted = replace(found, notes=(*forged_reports(forgery), *repeated_ids(tally), *found.notes))
    return noted.stated_with(chosen, distinct=distinct_people(tally.survey), forgery=forgery)


def applies(question: Question, option: str, value: object) -> bool:
    """Say whether an option with this value says anything about a question; each kind has methods of its own."""
    methods = BY_KIND[question.kind].METHODS
    return _takes(question.kind, option) and (option != "method" or value is None or value in methods)


def _takes(kind: str, option: str) -> bool:
    """Tell whether a kind takes an option; a kind without methods takes none."""
    return Options.stated()[option].taken_by(kind) and (option != "method" or bool(BY_KIND[kind].METHODS))


def _refuse_others(options: Mapping[str, Any], kinds: set[str], reason: str) -> None:
    """Refuse options that none of these kinds takes."""
    for name in options:
        takers = [kind for kind in BY_KIND if _takes(kind, name)]
        if takers and not kinds & set(takers):
            raise EstimateError(f"{name} applies to questions of kind {' and '.join(takers)}; {reason}")
