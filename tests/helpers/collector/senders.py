"""Reports of real devices, as they travel and as they are stored."""

from __future__ import annotations

from dataclasses import replace

from pldp.collector import Packed, Packing
from pldp.device import Device
from pldp.reports import Report, report_id
from pldp.survey import Survey

RECEIPTS: dict[str, str] = {}
"""The receipts of all reports that were made here, by id: only devices know them."""


def receipt_of(identity: bytes | str) -> str:
    return RECEIPTS[identity if isinstance(identity, str) else identity.hex()]


def remember(device: Device, report: Report) -> Report:
    """Note the receipt of a report, and return the report."""
    RECEIPTS[report.id] = device.receipt(report)
    return report


def make_id(survey: Survey, number: int) -> bytes:
    """The id of a report that no device made, with a receipt that is known here."""
    receipt = f"{number:064x}"
    identity = report_id(survey.hash, receipt)
    RECEIPTS[identity] = receipt
    return bytes.fromhex(identity)


def with_receipts(survey: Survey, reports: list[Report]) -> list[Report]:
    """Simulated reports under ids whose receipts are known here."""
    return [replace(report, id=make_id(survey, number).hex()) for number, report in enumerate(reports)]


def make_reports(survey: Survey, count: int) -> list[Report]:
    """Reports of real devices, one person each."""
    levels = [level.name for level in survey.levels]
    made = []
    for number in range(count):
        question = survey.questions[number % len(survey.questions)]
        value = question.values[number % len(question.values)]
        device = Device(survey)
        made.append(remember(device, device.answer(question.name, value, level=levels[number % len(levels)])))
    return made


def packed(survey: Survey, reports: list[Report]) -> list[Packed]:
    packing = Packing(survey)
    return [packing.pack(report) for report in reports]
