"""Put a trust kit together: everything that people need to judge a survey, in one folder, made whole or not at all."""

import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from pldp.auditing import Audit, AuditSettings, audit, write_certificate
from pldp.errors import AuditError, UsageError
from pldp.kit.facts import NOTHING, About, Facts
from pldp.kit.invitations import Invitation, invitation_page, invitation_table
from pldp.kit.texts import LANGUAGES, annex_page, notice_page, open_points
from pldp.kit.verifying import verify_page
from pldp.show import qr_svg
from pldp.survey import Survey, loads, sign

SECRET: Final = ("invitations.csv", "invitations.html")
"""Files that hold links of single people."""

OWNER_ONLY: Final = 0o600
DEFAULT: Final = AuditSettings()


@dataclass(frozen=True)
class Kit:
    """What was made: the files with what they are, and what the collector still has to fill in."""

    folder: Path
    files: dict[str, str]
    open_points: dict[str, list[str]]
    audit: Audit

    def to_mapping(self) -> dict[str, Any]:
        """Return plain data."""
        certificate = {"refuted": self.audit.refuted, "survey_hash": self.audit.survey_hash}
        return {
            "folder": str(self.folder),
            "files": self.files,
            "open_points": self.open_points,
            "secret": [name for name in SECRET if name in self.files],
            "certificate": certificate,
        }


def make_kit(
    survey: Survey,
    folder: str | Path,
    *,
    key: str | None = None,
    about: About = NOTHING,
    samples: int | None = None,
    invite: Callable[[], Sequence[Invitation]] | None = None,
    settings: AuditSettings = DEFAULT,
) -> Kit:
    """Write the kit of a survey into a new folder.

    Parameters
    ----------
    survey
        The survey; with a private `key` (hexadecimal) it is signed.
    folder
        It must not exist; it appears once everything in it is written.
    about
        What the survey itself does not say: the address of its page, and whom to ask.
    samples
        People per value that answer in the audit, as in `pldp.audit`.
    invite
        Makes the invitations; it is called last, when everything else is made.

    Examples
    --------
    >>> import tempfile
    >>> from pldp.survey import load
    >>> with tempfile.TemporaryDirectory() as place:
    ...     made = make_kit(load("examples/commute.toml"), f"{place}/kit", samples=0)
    >>> list(made.files)[:3]
    ['survey.json', 'certificate.json', 'certificate.html']
    """
    target = Path(folder)
    if target.exists():
        raise UsageError(f"{target}: exists already; a kit is made in a new folder")
    published = survey.canonical.decode() + "\n" if key is None else sign(survey, key)
    signed = loads(published)
    found = audit(survey, samples=samples, settings=settings)
    found = replace(found, source="survey.json")
    if found.refuted:
        lines = "; ".join(text for row in found.rows for text in row.refutations)
        raise AuditError(f"no kit is made, as the audit refutes a promise: {lines[:300]}")
    facts = Facts.of(signed, found, about)
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        files = _write(fresh, published, facts)
        if invite is not None:
            files |= _invite(fresh, survey.title, invite())
        points = {
            name: points
            for name in files
            if name.endswith(".html") and (points := open_points((fresh / name).read_text(encoding="utf-8")))
            and any(name in {each.notice, each.annex} for each in LANGUAGES)
        }  # fmt: skip
        (fresh / "README.txt").write_text(_readme(survey, files, points), encoding="utf-8")
        fresh.chmod(0o777 & ~_umask())
        fresh.rename(target)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise
    return Kit(target, {**files, "README.txt": "what is in this folder"}, points, found)


def _write(folder: Path, published: str, facts: Facts) -> dict[str, str]:
    survey, signed = facts.survey, bool(facts.survey.signer)
    (folder / "survey.json").write_text(published, encoding="utf-8")
    write_certificate(facts.audit, folder / "certificate.json")
    files = {
        "survey.json": f"the survey, {'signed' if signed else 'spelled out, not signed'}, for pldp serve and devices",
        "certificate.json": "the audit certificate, for programs",
        "certificate.html": "the audit certificate, for people",
    }
    for language in LANGUAGES:
        (folder / language.notice).write_text(notice_page(facts, language), encoding="utf-8")
        (folder / language.annex).write_text(annex_page(facts, language), encoding="utf-8")
        files[language.notice] = f"privacy notice for people who take part ({language.code})"
        files[language.annex] = f"data-protection annex with every exact number ({language.code})"
    (folder / "verify.html").write_text(verify_page(published, survey, facts.audit), encoding="utf-8")
    files["verify.html"] = "a page where everybody can verify the certificate; it needs no server"
    if facts.about.link:
        (folder / "link.svg").write_text(qr_svg(facts.about.link), encoding="utf-8")
        files["link.svg"] = f"QR code of {facts.about.link}"
    return files


def _invite(folder: Path, title: str, invitations: Sequence[Invitation]) -> dict[str, str]:
    texts = {"invitations.csv": invitation_table(invitations), "invitations.html": invitation_page(title, invitations)}
    for name, text in texts.items():
        handle = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
    return {
        "invitations.csv": "SECRET: names and links of invited people",
        "invitations.html": "SECRET: the same with QR codes, to print",
    }


def _readme(survey: Survey, files: dict[str, str], points: dict[str, list[str]]) -> str:
    lines = [f"Trust kit of {survey.title}", f"survey {survey.hash}", ""]
    lines += [f"{name:28} {words}" for name, words in files.items()]
    if points:
        lines += ["", "Fill in what stands in square brackets before you publish:"]
        lines += [f"{name}: {point}" for name, own in points.items() for point in own]
    return "\n".join(lines) + "\n"


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
