"""The picture that a survey shows, from the folder of its file: small, of a known type, and what its name says."""

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from pldp.errors import SurveyError
from pldp.survey.texts import LOGO_KINDS

if TYPE_CHECKING:
    from pathlib import Path

    from pldp.survey.model import Survey

MOST_BYTES: Final = 64 << 10

_STARTS: Final = {
    "image/png": rb"\x89PNG\r\n\x1a\n",
    "image/jpeg": rb"\xff\xd8\xff",
    "image/webp": rb"RIFF....WEBP",
    "image/svg+xml": rb"\s*(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)*(<!DOCTYPE svg[^>\[]*>\s*)?<svg[\s>]",
}


class Logo(NamedTuple):
    """A picture as it is sent."""

    body: bytes
    kind: str


def read_logo(survey: "Survey", survey_path: "str | Path") -> Logo | None:
    """Return the logo of a survey from the folder of its file; `None` if the survey has none."""
    if not survey.logo:
        return None
    from pathlib import Path  # noqa: PLC0415 - a device shows no logo from a file

    path = Path(survey_path).parent / survey.logo
    try:
        with path.open("rb") as file:
            body = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise SurveyError(f"logo: {path} cannot be read ({type(error).__name__})") from None
    if len(body) > MOST_BYTES:
        raise SurveyError(f"logo: {path} must have at most {MOST_BYTES:,} bytes; make the picture smaller")
    kind = LOGO_KINDS[survey.logo.rpartition(".")[2]]
    if not re.match(_STARTS[kind], body, re.DOTALL):
        raise SurveyError(f"logo: {path} must be a picture of the type that its name says ({kind}); it is not")
    return Logo(body, kind)
