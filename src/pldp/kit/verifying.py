"""A page that verifies a certificate by itself: the JavaScript device is inside, and nothing is loaded."""

import json
import re
from base64 import b64encode
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Final

from pldp.auditing import Audit
from pldp.collector.web import Asset, assets
from pldp.plain import json_text
from pldp.show import bullets, page
from pldp.survey import Survey

PREFIX: Final = "/pages/device/"
HEADS: Final = ("question", "level", "promised ε", "recomputed ε", "certificate's ε", "")
_IMPORT: Final = re.compile(r'(\bfrom\s*|\bimport\s*\(\s*|\bimport\s+)"(\.{1,2}/[^"]+)"')
_STYLE_ONLY: Final = "style-src 'unsafe-inline'"

WHAT: Final = (
    "It reads the published survey with the code of people's devices, which refuses weights that do not keep the "
    "promised ε.",
    "It computes the hash of the survey, and the ε of every question and level from the published integers, exactly, "
    "and compares both with the certificate.",
    "Where the survey is signed, it checks the signature (this needs a browser that knows Ed25519).",
)
WHAT_NOT: Final = (
    "It does not run a device, and does not repeat the samples of the audit. Do that with: pldp audit survey.json",
    "It does not compute again what labels of hidden levels tell, nor sequences of reports over rounds.",
    "It leaves out labels that the survey does not protect: they have no ε, and a report can prove them.",
    "It cannot show that a collector really serves this survey. Compare the hash with the one at the foot of the "
    "survey page, or save the survey from there (v1/survey) and open it above.",
    "Anyone who can change this file can change what it says. Get it from a place that you trust, or compare it with "
    "the sources of pldp.",
)


def verify_page(survey_text: str, survey: Survey, found: Audit) -> str:
    """Return the page. `survey_text` is the published file, signed or spelled out."""
    modules = {f"pldp/{path.removeprefix(PREFIX)}": asset.body.decode() for path, asset in _device().items()}
    imports = {name: _data_url(_bare(name, text)) for name, text in modules.items()}
    script = Path(__file__).with_name("verify.js").read_text(encoding="utf-8")
    maps = json.dumps({"imports": imports})
    # In a data block nothing but its end tag has a meaning.
    data = json_text({"survey": survey_text, "certificate": found.to_mapping()}).replace("<", "\\u003c")
    rows = "".join(f'<th scope="col">{head}</th>' for head in HEADS[:-1]) + "<td></td>"
    body = (
        '<p id="verdict" class="note" role="status">This page needs JavaScript to compute everything again.</p>',
        f"<p>Survey <b>{escape(survey.title)}</b></p>",
        '<ul id="findings"></ul>',
        f'<div class="scroll" tabindex="0"><table><thead><tr>{rows}</tr></thead>',
        '<tbody id="rows"></tbody></table></div>',
        '<p><label for="other">Verify another copy of the survey against this certificate:</label> '
        '<input id="other" type="file" accept=".json,application/json"></p>',
        "<h2>What this page does</h2>",
        bullets(WHAT),
        "<h2>What it does not do</h2>",
        bullets(WHAT_NOT),
    )
    made = page(f"Verify the privacy certificate: {survey.title}", body)
    allowed = f"{_STYLE_ONLY}; script-src data: {_source(maps)} {_source(script)}"
    scripts = (
        f'<script type="importmap">{maps}</script><script id="data" type="application/json">{data}</script>'
        f'<script type="module">{script}</script></body>'
    )
    return made.replace(_STYLE_ONLY, allowed, 1).replace("</body>", scripts, 1)


def _device() -> dict[str, Asset]:
    return {path: asset for path, asset in assets().items() if path.startswith(PREFIX) and path.endswith(".js")}


def _bare(name: str, text: str) -> str:
    """Turn relative imports into names of the import map."""
    folder = name.split("/")[:-1]

    def absolute(found: re.Match[str]) -> str:
        parts = list(folder)
        for part in found[2].split("/"):
            if part == "..":
                parts.pop()
            elif part != ".":
                parts.append(part)
        return f'{found[1]}"{"/".join(parts)}"'

    return _IMPORT.sub(absolute, text)


def _data_url(text: str) -> str:
    return f"data:text/javascript;base64,{b64encode(text.encode()).decode()}"


def _source(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
