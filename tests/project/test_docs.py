"""The pages say what the code does: nothing public is missing, every link leads somewhere, every command runs."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from importlib.resources import files
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from pldp.cli import main, make_parser
from pldp.collector.answers import estimate as estimate_mapping
from pldp.papers import PAPERS
from pldp.reports import Rejection
from pldp.simulate import Population, simulate_reports
from pldp.survey import Survey, loads
from pldp.tallies import tally

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
PUBLIC = (
    "pldp",
    "pldp.mechanisms",
    "pldp.budgets",
    "pldp.survey",
    "pldp.device",
    "pldp.reports",
    "pldp.tallies",
    "pldp.tallies.spark",
    "pldp.tallies.sql",
    "pldp.estimates",
    "pldp.simulate",
    "pldp.planning",
    "pldp.shuffling",
    "pldp.auditing",
    "pldp.collector",
    "pldp.papers",
    *(f"pldp.papers.{name}" for name in PAPERS),
    "pldp.papers.datasets",
    "pldp.errors",
)
PAGES = sorted(
    path
    for path in (
        *DOCS.glob("**/*.md"),
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/README.md")),
    )
    if path.exists()
)
# The words are put together here, so that this file does not contain them.
FORBIDDEN = (
    re.compile("seed " + "00"),
    re.compile("work" + "place", re.IGNORECASE),
    re.compile(r"(?<![\w.~-])/" + "work/"),
)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def public_names(module: str) -> list[str]:
    found = importlib.import_module(module)
    if hasattr(found, "__all__"):
        return list(found.__all__)
    own = (name for name, value in vars(found).items() if getattr(value, "__module__", None) == module)
    return [name for name in own if not name.startswith("_")]


def section(page: str, heading: str) -> str:
    """Return what stands below a heading, up to the next one of its kind."""
    return page.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]


def api_page(module: str) -> Path:
    return DOCS / "api" / f"{module}.md"


def api_pages() -> str:
    return "\n".join(map(read, sorted((DOCS / "api").iterdir())))


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_is_on_the_page_of_its_module(module: str) -> None:
    if module.endswith(".spark"):
        pytest.importorskip("pyspark", reason="install 'pldp[spark]'")
    words = read(api_page(module))
    missing = [
        name
        for name in public_names(module)
        if not re.search(rf":: {re.escape(module)}\.{name}$", words, re.MULTILINE)
        and not re.search(rf"`({re.escape(module)}\.)?{name}`", words)
    ]
    assert not missing


def test_the_table_of_modules_lists_every_page_of_one() -> None:
    listed = re.findall(r"^\| \[`([\w.]+)`\]\(api/\1\.md\) \|", read(DOCS / "api.md"), re.MULTILINE)
    assert sorted(listed) == sorted(path.stem for path in (DOCS / "api").iterdir())
    assert set(PUBLIC) <= set(listed)


def test_the_api_pages_name_nothing_that_does_not_exist() -> None:
    kinds = {"autoclass": inspect.isclass, "autoexception": inspect.isclass, "autofunction": callable}
    described = re.findall(r"^\.\. (auto\w+):: (pldp[\w.]*)\.(\w+)$", api_pages(), re.MULTILINE)
    assert described
    for kind, module, name in described:
        if module.endswith(".spark") and not find_spec("pyspark"):
            continue
        if kind == "automodule":
            importlib.import_module(f"{module}.{name}")
            continue
        assert name in public_names(module), f"{module}.{name}"
        assert kinds.get(kind, lambda _: True)(getattr(importlib.import_module(module), name)), f"{kind} {name}"


def test_the_api_pages_describe_nothing_twice() -> None:
    described = re.findall(r"^\.\. auto\w+:: (\S+)$", api_pages(), re.MULTILINE)
    assert sorted(described) == sorted(set(described))


def note_codes(source: str) -> set[str]:
    """The codes of the notes that a module makes: texts, or constants of the module that hold one."""
    if "Note(" not in source:
        return set()
    tree = ast.parse(source)
    simple = [node for node in tree.body if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Constant)]
    constants = {node.target.id: node.value.value for node in simple}
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Note"]
    codes = [call.args[0] for call in calls]
    return {code.value if isinstance(code, ast.Constant) else constants[code.id] for code in codes}


def test_the_page_of_codes_lists_exactly_the_codes_of_notes_that_occur() -> None:
    made = set[str]().union(*(note_codes(read(path)) for path in (ROOT / "src" / "pldp").rglob("*.py")))
    listed = re.findall(r"^\| `([a-z-]+)` \|", section(read(DOCS / "codes.md"), "Notes"), re.MULTILINE)
    assert sorted(listed) == sorted(made)
    assert "levels-disagree" in made  # a code that is a constant


def test_the_json_of_an_estimate_on_the_collector_page_has_the_keys_of_one() -> None:
    (example,) = re.findall(r"^```json\n(\{\"survey\".+?)^```$", read(DOCS / "collector.md"), re.MULTILINE | re.DOTALL)
    survey = Survey.load(ROOT / "examples" / "commute.toml")
    people = Population.of_shares(survey, 1000, seed=1)
    made = estimate_mapping(tally(survey, simulate_reports(survey, people, seed=1)), "late", 50)
    shown = json.loads(example)
    assert shown.keys() == made.keys()
    for part in ("rows", "groups"):
        assert shown[part][0].keys() == made[part][0].keys()


def test_every_rejection_has_a_heading_on_the_wire_format_page_and_is_on_the_page_of_codes() -> None:
    headings = re.findall(r"^### (\w+)$", read(DOCS / "wire-format.md"), re.MULTILINE)
    assert [heading for heading in headings if heading in set(Rejection)] == [reason.value for reason in Rejection]
    listed = re.findall(r"\[`(\w+)`\]\(wire-format\.md#\1\)", section(read(DOCS / "codes.md"), "Rejections"))
    assert listed == [reason.value for reason in Rejection]


def property_names(schema: object) -> Iterator[str]:
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
        for below in schema.values():
            yield from property_names(below)
    elif isinstance(schema, list):
        for below in schema:
            yield from property_names(below)


@pytest.mark.parametrize(
    ("package", "schema", "page"),
    [
        ("pldp.survey", "survey.schema.json", "survey-file.md"),
        ("pldp.reports", "report.schema.json", "wire-format.md"),
    ],
)
def test_every_key_of_a_schema_is_on_its_page(package: str, schema: str, page: str) -> None:
    names = set(property_names(json.loads(files(package).joinpath(schema).read_text(encoding="utf-8"))))
    assert len(names) > 5
    assert not {name for name in names if f"`{name}`" not in read(DOCS / page)}


def test_the_complete_example_of_a_survey_file_is_one() -> None:
    (example,) = re.findall(r"^```toml\n(pldp = 1\n.+?)^```$", read(DOCS / "survey-file.md"), re.MULTILINE | re.DOTALL)
    assert [question.name for question in loads(example).questions] == ["mode", "illness"]


def test_the_command_line_page_is_what_the_parser_says_now() -> None:
    spec = spec_from_file_location("make_cli_page", DOCS / "make_cli_page.py")
    assert spec is not None
    assert spec.loader is not None
    maker = module_from_spec(spec)
    spec.loader.exec_module(maker)
    assert read(DOCS / "cli.md") == maker.make_page(), "run: .venv/bin/python docs/make_cli_page.py"


def test_the_pictures_of_concepts_are_those_that_their_script_draws(tmp_path: Path, monkeypatch) -> None:
    spec = spec_from_file_location("make_concept_pictures", DOCS / "make_concept_pictures.py")
    assert spec is not None
    assert spec.loader is not None
    maker = module_from_spec(spec)
    spec.loader.exec_module(maker)
    monkeypatch.setattr(sys.modules["pictures.draw"], "FOLDER", tmp_path)
    maker.draw_all()
    drawn = sorted(tmp_path.iterdir())
    assert len(drawn) == len(maker.DRAWN)
    assert [read(path) for path in drawn] == [read(DOCS / "images" / path.name) for path in drawn]


def run(command: str) -> None:
    """Run one line of a page in this process: words, comments, `> FILE` and `"$(cat FILE)"`, no other shell."""
    filled = re.sub(r'"\$\(cat (\S+)\)"', lambda found: read(Path(found[1])).strip(), command)
    verb, *words = shlex.split(filled, comments=True)
    assert verb == "pldp"
    if words[0] == "serve":  # it would not end; tests/collector starts it
        assert make_parser("serve").parse_args(words).verb == "serve"
        return
    words, target = (words[:-2], words[-1]) if ">" in words else (words, os.devnull)
    with Path(target).open("w", encoding="utf-8") as out, redirect_stdout(out):
        assert main(words) == 0, command


def pages_with_commands() -> Iterator[Any]:
    """Pages whose commands need the cluster belong to its group of tests."""
    for page in (page for page in PAGES if "$ pldp " in read(page)):
        marks = [pytest.mark.xdist_group("spark")] if "--engine spark" in read(page) else []
        yield pytest.param(page, marks=marks, id=name_of(page))


@pytest.mark.parametrize("page", list(pages_with_commands()))
def test_every_command_that_a_page_shows_runs(page: Path, tmp_path: Path, monkeypatch, capsys, request) -> None:
    """The commands of one page share a folder; what they print is not compared, but nothing may be wrong."""
    if page.name == "spark.md":
        request.getfixturevalue("spark")
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    for name, content in re.findall(
        r"^Save this as `([\w.]+)`.+?^```\w+\n(.+?)^```$", read(page), re.MULTILINE | re.DOTALL
    ):
        Path(name).write_text(content, encoding="utf-8")
    for command in re.findall(r"^\$ (pldp .+)$", read(page), re.MULTILINE):
        run(command)
        assert not re.sub(r"^pldp: note: .*$", "", capsys.readouterr().err, flags=re.MULTILINE).strip(), command


def without_code(page: Path) -> str:
    return re.sub(r"^```.+?^```$", "", read(page), flags=re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The anchors that Git hosts and Sphinx give to headings, or those that a page has itself."""
    if page.suffix == ".html":
        return set(re.findall(r' id="([^"]+)"', read(page)))
    headings = re.findall(r"^#{1,6} (.+)$", without_code(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(page: Path) -> Iterator[str]:
    yield from re.findall(r'\]\(([^)\s]+)(?: "[^"]*")?\)', re.sub(r"`[^`\n]+`", "", without_code(page)))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_relative_link_points_to_a_file(page: Path) -> None:
    for link in links(page):
        if re.match(r"[a-z]+:", link):
            continue
        target, _, anchor = link.partition("#")
        found = (page.parent / target).resolve() if target else page
        assert found.exists(), link
        assert not anchor or anchor in anchors(found), link


def project_files() -> list[Path]:
    """Files that Git tracks or would track; without Git, those of the folders that are published."""
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            check=True,
        ).stdout.decode()
        paths = [ROOT / name for name in listed.split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        paths = [path for folder in ("src", "docs", "tests", "examples") for path in (ROOT / folder).rglob("*")]
        paths += [*ROOT.glob("*.md"), ROOT / "pyproject.toml"]
    return [path for path in paths if path.is_file() and "__pycache__" not in path.parts]


def test_no_file_speaks_of_where_it_was_written() -> None:
    searched = project_files()
    assert len(searched) > 50
    found = [
        f"{name_of(path)}: {pattern.pattern}"
        for path in searched
        for pattern in FORBIDDEN
        if pattern.search(path.read_bytes().decode(errors="ignore"))
    ]
    assert not found


def test_the_search_finds_what_it_looks_for() -> None:
    samples = ("see seed " + "003", "the Work" + "place", "cd /" + "work/main", 'open("/' + 'work/data")')
    assert all(any(pattern.search(sample) for pattern in FORBIDDEN) for sample in samples)
    harmless = ("seed 0", "get to work", "src/work/main", "https://example.org/work/")
    assert not any(pattern.search(sample) for sample in harmless for pattern in FORBIDDEN)


def test_no_page_promises_to_make_people_unknown() -> None:
    """The word for that would be a promise that ε does not keep."""
    promise = re.compile("anony" + "m", re.IGNORECASE)
    assert not [name_of(page) for page in PAGES if promise.search(read(page))]


def test_decisions_are_numbered_and_listed_with_their_titles() -> None:
    folder = DOCS / "decisions"
    notes = sorted(folder.glob("0*.md"))
    titles = [read(path).split("\n", 1)[0] for path in notes]
    for path, title in zip(notes, titles, strict=True):
        assert title.startswith(f"# {int(path.name[:4])}. "), path.name
    listed = re.findall(r"^(\d+\. )\[(.+)\]\((.+)\)$", read(folder / "README.md"), re.MULTILINE)
    expected = [(title.removeprefix("# "), path.name) for title, path in zip(titles, notes, strict=True)]
    assert [(number + title, name) for number, title, name in listed] == expected
