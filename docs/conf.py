"""Settings of the pages that `make docs` builds with Sphinx.

The source folder is the root of the project, not `docs/`: README, CONTRIBUTING, CHANGELOG and the benchmarks then are
pages like all others, and one relative link works on a Git host and in the built pages alike.
"""

import inspect
import itertools
import re
import shutil
import sys
from importlib import import_module
from pathlib import Path
from runpy import run_path
from typing import Any

_ROOT = Path(__file__).parent.parent
SUMMARY = "<!-- summary -->"
_START = '<!doctype html><title>pldp</title><meta http-equiv="refresh" content="0; url=docs/index.html">'

project = "pldp"
author = "the pldp contributors"
release = run_path(str(_ROOT / ".ci/version.py"))["version"]().partition("+")[0]

root_doc = "docs/index"
include_patterns = ["docs/**", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "benchmarks/README.md"]
exclude_patterns = [".*", "build", "dist", "examples", "site", "src", "tests", "benchmarks/results"]
extensions = ["myst_nb", "sphinx.ext.autodoc"]

default_role = "code"  # the docstrings write names in single backquotes
autodoc_preserve_defaults = True
autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints_format = "short"
autodoc_type_aliases = {
    name: name for name in ("npt.ArrayLike", "FloatArray", "IntArray", "ByteArray", "LevelMix", "Outputs", "Reports")
}

myst_heading_anchors = 3

nb_execution_mode = "force"  # notebooks are run anew; an error in a cell is an error of the build
nb_execution_raise_on_error = True
nb_execution_timeout = 300

html_theme = "furo"
html_title = f"pldp {release}"
html_search_scorer = str(_ROOT / "docs" / "search_scorer.js")
html_show_copyright = False
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False


def setup(app: Any) -> None:
    """Read docstrings in our own way, and let `site/index.html` lead to the first page."""
    app.connect("source-read", _link_to_report)
    app.connect("source-read", _summarise_module)
    app.connect("autodoc-process-signature", _shorten_signature)
    app.connect("autodoc-process-docstring", _read_docstring)
    app.connect("build-finished", _write_start)


def _shorten_signature(*described: Any) -> tuple[str | None, str | None]:
    """Leave out private parameters and the wrapping of type names."""
    signature, returned = described[-2:]
    if signature:
        signature = re.sub(r"TypeAliasForwardRef\('([^']+)'\)", r"\1", signature)
        signature = re.sub(r", _\w+: [^=]+= None", "", signature)
        signature = re.sub(r"~[\w.]+\.", "", signature).replace("<factory>", "{}")
    return signature, returned


def _read_docstring(app: Any, what: str, name: str, found: object, options: Any, lines: list[str]) -> None:
    """Read NumPy sections of classes and functions; find the words that stand below a constant in its own module.

    The extension `sphinx.ext.napoleon` would also take whatever stands before a colon in the first line of a property
    for its type.
    """
    from sphinx.ext.napoleon import Config, NumpyDocstring  # noqa: PLC0415 - tests import this file without Sphinx

    if what == "data":
        lines[:] = _words_below(name)
    elif what in {"class", "exception", "function", "method"}:
        settings = Config(napoleon_custom_sections=[("Attributes", "params_style")], napoleon_use_rtype=False)
        lines[:] = NumpyDocstring(lines, settings, app, what, name, found, options).lines()


def _words_below(name: str) -> list[str]:
    from sphinx.pycode import ModuleAnalyzer  # noqa: PLC0415 - tests import this file without Sphinx

    package, _, constant = name.rpartition(".")
    homes = sorted(module for module in sys.modules if module.startswith("pldp."))
    for home in sorted(homes, key=lambda module: not module.startswith(package)):
        words = ModuleAnalyzer.for_module(home).find_attr_docs().get(("", constant))
        if words:
            return list(words)
    return []


def _link_to_report(app: Any, name: str, source: list[str]) -> None:
    """Let links into the report of the papers lead to their place in it; Sphinx would offer the file as a download."""
    del app, name
    pattern = r'\[([^\]]+)\]\(([^)\s]*report\.html(?:#[\w-]+)?)(?: ("[^"]*"))?\)'
    source[0] = re.sub(
        pattern, lambda link: f'<a href="{link[2]}" title={link[3] or chr(34) * 2}>{link[1]}</a>', source[0]
    )


def _summarise_module(app: Any, name: str, source: list[str]) -> None:
    """Put a table of all names of a module, with the first sentence of each, where an API page asks for it."""
    del app
    if name.startswith("docs/api/"):
        names = re.findall(r"^\.\. auto(\w+):: (\S+)$", source[0], re.MULTILINE)
        rows = [f"| {{py:obj}}`~{full}` | {_first_sentence(kind, full)} |" for kind, full in names]
        source[0] = source[0].replace(SUMMARY, "\n".join(["| name | what it is |", "| --- | --- |", *rows]))


def _first_sentence(kind: str, full: str) -> str:
    module, _, name = full.rpartition(".")
    found = getattr(import_module(module), name, None)
    lines = _words_below(full) if kind == "data" else (inspect.getdoc(found) or "").splitlines()
    paragraph = " ".join(line.strip() for line in itertools.takewhile(str.strip, lines))
    sentence = re.split(r"(?<=[.:;])\s", paragraph, maxsplit=1)[0].rstrip(":;")
    return sentence.replace("|", "\\|")


def _write_start(app: Any, error: Exception | None) -> None:
    """Write the first page, and the report of the papers beside the pages that link to it."""
    if error is None and app.builder.format == "html":
        (Path(app.outdir) / "index.html").write_text(_START + "\n", encoding="utf-8")
        place = Path(app.outdir) / "docs" / "research"
        place.mkdir(parents=True, exist_ok=True)
        shutil.copy(_ROOT / "docs" / "research" / "report.html", place)


suppress_warnings = ["ref.python"]  # Row and Table are words of results and of audits; annotations link to either
