"""Privacy notice and data-protection annex in plain words, in English and German, with the exact numbers of a survey.

They describe what this software does. What only the collector knows (legal basis, retention, recipients) is left open
in square brackets, and `open_points` lists it.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from html import escape
from importlib.resources import files
from typing import Any, Final, NamedTuple

from pldp.design import proofs
from pldp.kit.facts import Facts
from pldp.mechanisms import epsilon_text
from pldp.show import Table, bullets, page, paragraph, table

OPEN: Final = re.compile(r"\[[^\]]+\]")
"""What the collector has to fill in."""


class Language(NamedTuple):
    """Names of files and texts of one language, from its catalogue beside this file."""

    code: str
    notice: str
    annex: str
    words: Mapping[str, Any]
    rules: Mapping[str, str]

    @classmethod
    def load(cls, code: str) -> "Language":
        """Read the catalogue of a language."""
        text = (files("pldp.kit") / f"{code}.json").read_text(encoding="utf-8")
        return cls(**json.loads(text))


LANGUAGES: Final = tuple(map(Language.load, ("en", "de")))
"""English first."""


def notice_page(facts: Facts, language: Language) -> str:
    """Return the privacy notice for people who take part."""
    say = _sayer(facts, language)
    levels = [say("level", **{**each, "sure": _sure(each["sure"], language)}).strip() for each in facts.reveals]
    body = (
        *_part(say("who"), paragraph(say("who_text"))),
        *_part(say("what"), paragraph(say("what_text")), *_proofs(facts, say), bullets(levels)),
        paragraph(_about_level(facts, say)),
        paragraph(say("spend_cap" if facts.survey.total_micro_epsilon is None else "spend")),
        paragraph(language.rules[facts.rule]),
        *_part(say("kept"), bullets(language.words["kept_list"])),
        *_part(say("rights"), bullets(language.words["rights_list"])),
        *_part(say("check"), paragraph(say("check_text"))),
    )
    return _page(say("notice"), body, language)


def annex_page(facts: Facts, language: Language) -> str:
    """Return the annex for people who judge the collection: every exact number, the certificate, the limits."""
    say = _sayer(facts, language)
    promises = Table(say("table"), tuple(language.words["heads"]), list(facts.promises), left=2)
    whole = [(each["level"], each["epsilon"], _sure(each["sure"], language)) for each in facts.reveals]
    signer = facts.survey.signer
    body = (
        *_part(say("measure"), paragraph(say("measure_text"))),
        table(promises),
        *_proofs(facts, say),
        paragraph(_about_level(facts, say)),
        table(Table(say("whole"), tuple(language.words["whole_heads"]), whole)),
        paragraph(say("spend_cap" if facts.survey.total_micro_epsilon is None else "spend")),
        *_part(say("again"), paragraph(language.rules[facts.rule])),
        *_part(say("certificate"), paragraph(say("certificate_text"))),
        paragraph(say("signed", key=signer) if signer else say("unsigned")),
        *_part(say("limits"), bullets(language.words["limits_list"])),
    )
    return _page(say("annex"), body, language)


def _proofs(facts: Facts, say: Callable[..., str]) -> list[str]:
    """Say first, in bold, which answers a report can prove."""
    lines = (
        say("proved", question=question, label=label, chances=known) for question, label, known in proofs(facts.reveals)
    )
    return [f'<p class="warning"><strong>{escape(line)}</strong></p>' for line in lines]


def _about_level(facts: Facts, say: Callable[..., str]) -> str:
    """Say whether reports show the level, or what they tell about it."""
    survey, lottery = facts.survey, facts.survey.lottery
    editions = say("editions_signed" if survey.signer else "editions_unsigned")
    if lottery is not None:
        ends = {"strictest": survey.levels[0].name, "open": survey.levels[-1].name}
        return say("lottery", lottery_epsilon=epsilon_text(lottery.true_micro_epsilon), editions=editions, **ends)
    if facts.level is None:
        return say("shown")
    return say("hidden", level_epsilon=facts.level["epsilon"], level_cap=facts.level["cap"], editions=editions)


def open_points(markup: str) -> list[str]:
    """Return what is left to fill in."""
    return OPEN.findall(markup)


def _sayer(facts: Facts, language: Language) -> Callable[..., str]:
    survey, found = facts.survey, facts.audit
    words = language.words
    samples = words["sampled"].format(people=f"{found.people:,}", chance=f"{found.false_alarm:.1e}")
    names: dict[str, Any] = {
        "title": survey.title,
        "collector": survey.collector or "[…]",
        "contact": facts.about.contact or "[…]",
        "hash": survey.hash,
        "total": facts.dearest if survey.total_micro_epsilon is None else _total(facts),
        "dearest": facts.dearest,
        "cap": facts.cap,
        "versions": ", ".join(f"{name} {version}" for name, version in found.versions.items()),
        "verdict": words["good"],
        "samples": samples if found.people else words["exact_only"],
    }
    return lambda entry, **more: str(words[entry].format(**{**names, **more}))


def _total(facts: Facts) -> str:
    micro = facts.survey.total_micro_epsilon or 0
    return f"{micro / 1e6:.6f}".rstrip("0").rstrip(".")


def _sure(text: str, language: Language) -> str:
    """Write a share as the language does."""
    return text.replace(".", ",") if language.code == "de" else text


def _part(heading: str, *content: str) -> Iterator[str]:
    yield f"<h2>{escape(heading)}</h2>"
    yield from content


def _page(title: str, body: tuple[str, ...], language: Language) -> str:
    return page(title, body).replace('<html lang="en"', f'<html lang="{language.code}"', 1)
