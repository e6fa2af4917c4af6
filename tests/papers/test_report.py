"""One report of all papers: every table and figure has its place, and an interrupted run goes on."""

import json
import pkgutil
import re
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from pldp import papers
from pldp.cli import main
from pldp.papers import PAPERS, load_paper
from pldp.papers.aprr.experiment import METHODS, SUPPORTS, table_2, table_3
from pldp.papers.febsf.experiment import DATASETS
from pldp.papers.mpldp.experiment import allocations
from pldp.papers.mpldp.published import TABLE_3
from pldp.papers.multiservice.experiment import checks, settings
from pldp.papers.paper import Panel, Series, Table
from pldp.papers.report import page, reproduce_all
from pldp.papers.report.chart import chart, compact_svg
from pldp.papers.report.draw import draw, styles_of

PARTS = {"__init__", "experiment", "claims"}
CLAIM = {
    "where": "Figure 3",
    "reading": "",
    "setting": "here",
    "rule": "x",
    "measured": 1.0,
    "error": 0.1,
    "power": 0.5,
}
CLAIMS = [
    CLAIM | {"number": 1, "quote": "a < b & c", "verdict": "holds", "reason": "1 < 2", "ours": False},
    CLAIM | {"number": 2, "quote": "d", "verdict": "fails", "reason": "3", "ours": False},
    CLAIM | {"number": 3, "quote": "e", "verdict": "undecided", "reason": "4", "ours": True, "where": "nowhere"},
]


def rows_of(name: str) -> list[dict[str, Any]]:
    """Rows in the shape of an experiment, with numbers made up."""
    if name == "febsf":
        methods = ("auem", "emoa", "emoa_of_code", "rcf", "ppda", "apldp", "joint", "joint_shrunk", "pbp")
        sizes = {"education": (2, 16), "job": (2, 12), "country": (2, 42)}
        choices = [("uniform", 0.3), ("uniform", 1.0), ("power_law", 0.3), ("uniform_two", 0.1), ("power_law_two", 0.1)]
        return [
            {"dataset": dataset, "values": values, "levels": levels, "epsilon_p": epsilon, "method": method}
            | {"mse": 0.1, "mse_error": 0.01, "mae": 0.2, "mae_error": 0.01}
            for dataset, (levels, epsilon), method in product(DATASETS, choices, methods)
            for values in sizes[dataset]
        ]
    if name == "mpldp":
        methods = ("brr_sum", "oc", "op_truth", "least_squares", "op_reference")
        return [
            {"n": n, "epsilon": epsilon, "budgets": budgets, "method": method}
            | {"log10_nse": 2.0, "log10_nse_error": 0.1, "log10_max_error": 3.0}
            for n, epsilon, budgets, method in product((1_000, 10_000), (1.0, 6.0), ("printed", "whole"), methods)
        ]
    if name == "ipldp":
        methods = ("iprr", "krr", "urr", "idue_opt0", "idue_opt1", "idue_opt2")
        return [
            {"experiment": number, "dataset": dataset, "sample_ratio": ratio, "non_sensitive_ratio": ratio / 2}
            | {"method": method, "estimator": estimator, "mse": 1.0, "mse_error": 0.1, "re": 2.0, "re_error": 0.1}
            | {"runs": 10}
            for number, dataset, ratio, method, estimator in product(
                (1, 2, 3, 4, 5), ("zipf", "kosarak_parts"), (0.2, 1.0), methods, ("norm_sub", "mle")
            )
        ]
    if name == "aprr":
        return [
            {"largest": largest, "min_support": least, "method": method, "theta_minus": 1.0, "theta_plus": 2.0}
            | {"theta_minus_error": 0.1, "theta_plus_error": 0.1, "runs": 50}
            for largest, least, method in product((1, 3), SUPPORTS, METHODS)
        ]
    found = []
    for kind, setting in settings(quick=True):
        row = {"dataset": setting.dataset, "n": setting.people, "services": ",".join(setting.services)}
        row |= {"figure": setting.figure, "place": setting.place, "epsilons": list(setting.epsilons), "runs": 10}
        ratio = {"ule_ratio": 0.9, "ule_ratio_error": 0.1}
        alone = [row | ratio | {"method": name, "epsilon": each} for name, each in setting.pairs]
        if kind == "means":
            methods = ("ua", "uwa", "uwa_printed", "weights")
            rows = [each | {"mse": 0.1, "mse_error": 0.0, "over_best": 1.0} for each in alone]
            found += rows + [
                row | {"method": method, "mse": 0.1, "mse_error": 0.0, "over_best": 0.5, "bias_in_errors": 0.1}
                for method in methods
            ]
        elif kind == "shapes":
            rows = [*alone, row | {"method": "ule"}]
            shape = {"js": 0.1, "js_error": 0.01, "kl": 0.1, "kl_error": 0.01}
            found += [each | shape | {"estimator": estimator} for estimator in ("em", "ems") for each in rows]
        elif kind == "smooth":
            found.append(row | {"method": "default", "js": 0.1, "js_error": 0.01})
        else:
            found.append(row | {"method": "uwa", "cpu_seconds": 1.0})
    return found


def maximum_errors() -> list[dict[str, Any]]:
    """Table 3 of the paper on many attributes, with numbers made up."""
    forms = {form: [3.0] * 21 for form in ("mended_absolute", "mended_squared", "algorithm_absolute")}
    return [{"n": people, "epsilon": total, "budgets": "printed"} | forms for people, total in TABLE_3]


@cache
def _extra(name: str) -> dict[str, Any]:
    """What a result has beside rows and claims; tables are computed, which takes a while."""
    if name == "mpldp":
        reason = "not run: adult.parquet is not here"
        return {"table_2": allocations(), "table_3": maximum_errors(), "adult": reason}
    if name == "ipldp":
        return {"datasets": {"zipf": "Zipf", "kosarak_parts": "parts"}}
    if name == "aprr":
        return {"table_2": table_2(), "table_3": table_3(), "averages": [], "basket": None}
    return {"missing": ["taobao <b>"], "checks": checks()} if name == "multiservice" else {}


def result_of(name: str) -> dict[str, Any]:
    return {"rows": rows_of(name), "claims": [claim | {"paper": name} for claim in CLAIMS]} | _extra(name)


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    names: list[str] = []

    def reproduce(name: str, *, quick: bool, seed: int, progress: Any) -> dict[str, Any]:
        names.append(name)
        if progress is not None:
            progress(1, 1)
        return result_of(name)

    monkeypatch.setattr("pldp.papers.report.reproduce", reproduce)
    # Drawing is slow and has tests of its own.
    monkeypatch.setattr(page, "chart", lambda panels, labels, about: f"<svg></svg><!-- {len(panels)} panels -->")
    monkeypatch.delenv("PLDP_DATA", raising=False)
    return names


def test_every_folder_of_a_paper_is_registered_and_has_the_same_parts() -> None:
    folders = {path.parent.name for path in Path(papers.__file__).parent.glob("*/claims.py")}
    assert folders == set(PAPERS)
    for name in PAPERS:
        assert load_paper(name).name == name
        assert {path.stem for path in (Path(papers.__file__).parent / name).glob("*.py")} >= PARTS


@pytest.mark.parametrize("name", PAPERS)
def test_every_element_of_a_paper_has_a_home_and_a_test_or_a_reason(name: str) -> None:
    elements = load_paper(name).elements
    assert elements
    tests = Path(__file__).parents[1]
    for element in elements:
        assert bool(element.home and element.test) != bool(element.reason), element
        if element.home.startswith("pldp."):
            found = pkgutil.resolve_name(element.home)
            assert found is not None
        if element.test:
            file, function = element.test.split("::")
            assert f"\ndef {function}(" in (tests / file).read_text(), element


@pytest.mark.parametrize("name", PAPERS)
def test_every_claim_names_its_place_setting_and_rule(name: str) -> None:
    """And no two claims are the same sentence in the same reading."""
    claims = load_paper(name).claims
    assert all(each.where and each.quote and each.setting and each.rule for each in claims)
    assert len({(each.where, each.quote, each.reading) for each in claims}) == len(claims)


@pytest.mark.parametrize("name", PAPERS)
def test_every_exhibit_is_drawn_or_has_a_reason(name: str) -> None:
    result = result_of(name)
    for exhibit in load_paper(name).exhibits:
        assert (exhibit.draw is None) == bool(exhibit.reason)
        if exhibit.draw is not None:
            found = exhibit.draw(result)
            assert found.rows if isinstance(found, Table) else all(panel.series for panel in found), exhibit.label


def test_labels_are_those_of_the_papers() -> None:
    labels = {name: [exhibit.label for exhibit in load_paper(name).exhibits] for name in PAPERS}
    figures = {"febsf": 8, "mpldp": 4, "multiservice": 8, "ipldp": 4, "aprr": 3}
    tables = {"febsf": 1, "mpldp": 3, "multiservice": 1, "ipldp": 2, "aprr": 3}
    for name, found in labels.items():
        for kind, count in (("Figure", figures[name]), ("Table", tables[name])):
            numbers = {text.removeprefix(f"{kind} ")[0] for text in found if text.startswith(kind)}
            assert numbers == {str(number) for number in range(1, count + 1)}, (name, kind)


def test_the_report_is_written_and_an_interrupted_run_goes_on(ran: list[str], tmp_path: Path) -> None:
    told: list[str] = []
    first = reproduce_all(tmp_path, quick=True, progress=lambda name, done, total: told.append(name))
    assert ran == told == list(PAPERS)
    written = json.loads((tmp_path / "report.json").read_text())
    assert written["papers"] == json.loads(json.dumps(first["papers"]))
    assert written["missing"] == ["adult", "basket"]
    written_page = (tmp_path / "report.html").read_text()
    drawn = [each for paper in first["papers"] for each in paper["exhibits"] if isinstance(each.get("content"), list)]
    assert written_page.count("<svg") == len(drawn) > 20
    assert "a &lt; b &amp; c" in written_page
    assert "taobao &lt;b&gt;" in written_page

    (tmp_path / "mpldp.json").unlink()
    (tmp_path / "aprr.json").write_text("{broken")
    ran.clear()
    reproduce_all(tmp_path, quick=True)
    assert ran == ["mpldp", "aprr"]
    ran.clear()
    reproduce_all(tmp_path, quick=True, seed=1)
    assert len(ran) == 5


def test_a_figure_has_a_drawing_per_panel_and_one_key() -> None:
    exhibit = next(each for each in load_paper("multiservice").exhibits if each.label == "Figure 5a–d")
    assert exhibit.draw is not None
    panels = exhibit.draw(result_of("multiservice"))
    assert not isinstance(panels, Table)
    drawn = chart(panels[:4], (), "a < b")
    before, _, key = drawn.partition("<ul>")
    assert before.count("<svg") == 4
    assert re.findall(r">(Beta[^<]*)</text>", before) == ["Beta(2, 5)", "Beta+Sin"] * 2  # measure by measure
    assert 'aria-label="a &lt; b"' in before
    assert key.count("<li>") == key.count("<svg") == len({line.label for panel in panels for line in panel.series})


def test_a_drawing_keeps_its_numbers_as_text_and_names_nothing_twice() -> None:
    panel = Panel("a < b", "x", "y", [Series("one", [0.125, 0.5], [0.001, 0.002], [1e-4, 1e-4])])
    drawn = "".join(compact_svg(draw(panel, styles_of([("one", False)]))) for _ in range(2))
    assert drawn.count(">0.001</text>") == 2
    assert "a &lt; b" in drawn
    named, used = re.findall(r' id="([^"]*)"', drawn), re.findall(r'href="#([^"]*)"', drawn)
    assert len(named) == len(set(named))
    assert set(used) == set(named)
    assert not re.search(r'd="[^"]*\d\.\d{3}', drawn)


def test_a_single_point_stands_at_its_number_among_lines_and_above_its_name_alone() -> None:
    line, point = Series("a", [0.1, 0.3], [1.0, 2.0]), Series("b", [0.3], [3.0], ours=True)
    styles = styles_of([("a", False), ("b", True)])
    beside, alone = (draw(Panel("", "x", "y", lines), styles).axes[0] for lines in ([line, point], [point]))
    assert [each.get_xdata().tolist() for each in beside.lines if len(each.get_xdata()) == 1] == [[0.3]]
    assert [tick.get_text() for tick in alone.get_xticklabels()] == ["0.3"]


def test_an_experiment_runs_again_when_its_data_came(
    ran: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reproduce_all(tmp_path, quick=True)
    monkeypatch.setenv("PLDP_DATA", str(tmp_path))
    (tmp_path / "basket.parquet").touch()
    ran.clear()
    found = reproduce_all(tmp_path, quick=True)
    assert ran == ["aprr"]
    assert found["missing"] == ["adult"]


def test_the_command_says_what_holds_and_what_is_missing(
    ran: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", "all", "--quick", "--out", str(tmp_path / "found")]) == 0
    said = capsys.readouterr().out
    assert "febsf: 2 claims: 1 holds, 1 does not hold; 1 claims of our own: 1 undecided" in said
    assert "pldp datasets --download basket" in said
    assert main(["reproduce", "aprr", "--out", "x"]) == 2
    assert main(["reproduce", "april"]) == 2
    assert "febsf, mpldp, multiservice, ipldp, aprr" in capsys.readouterr().err
