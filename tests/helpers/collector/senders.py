"""Reports of real devices, as they travel and as they are stored."""

from __future__ import annotations

from pldp.collector import Packed, Packing
from pldp.device import Device
from pldp.reports import Report
from pldp.survey import Survey


def make_reports(survey: Survey, count: int) -> list[Report]:
    """Reports of real devices, one person each."""
    levels = [level.name for level in survey.levels]
    made = []
    for number in range(count):
        question = survey.questions[number % len(survey.questions)]
        value = question.values[number % len(question.values)]
        made.append(Device(survey).answer(question.name, value, level=levels[number % len(levels)]))
    return made


def packed(survey: Survey, reports: list[Report]) -> list[Packed]:
    packing = Packing(survey)
    return [packing.pack(report) for report in reports]
