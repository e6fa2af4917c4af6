"""Datasets of publishers: fetched whole or not at all, checked by content."""

import io
import json
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pldp.cli import main
from pldp.errors import DatasetError, UsageError
from pldp.papers import PAPERS, load_paper
from pldp.papers.datasets import (
    ADULT_COLUMNS,
    BASKET_ITEMS,
    DATASETS,
    PUBLISHED,
    content_sha256,
    data_file,
    download,
    load_counts,
)

NUMERIC = [["39", "State-gov", "1", "B", "2", "C", "D", "E", "F", "G", "3", "4", "40", "US", "<=50K"]] * 3


def archive(rows: list[list[str]], *, test_rows: list[list[str]]) -> bytes:
    """An archive as the publisher makes it: spaces after commas, a first line that is none, dots in the test part."""
    kept = io.BytesIO()
    with zipfile.ZipFile(kept, "w") as parts:
        parts.writestr("adult.data", "".join(", ".join(row) + "\n" for row in rows) + "\n")
        parts.writestr("adult.test", "|1x3 Cross validator\n" + "".join(", ".join(row) + ".\n" for row in test_rows))
    return kept.getvalue()


def baskets(rows: list[list[str]]) -> bytes:
    return "\r\n".join("\t".join(row) for row in rows).encode()


class Publisher(BaseHTTPRequestHandler):
    content: dict[str, bytes]

    def do_GET(self) -> None:
        body = self.content.get(self.path)
        self.send_response(404 if body is None else 200)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def publisher() -> Iterator[tuple[str, dict[str, bytes]]]:
    content: dict[str, bytes] = {}
    handler = type("Handler", (Publisher,), {"content": content})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", content
    server.shutdown()
    thread.join()
    server.server_close()


def expect(monkeypatch: pytest.MonkeyPatch, name: str, rows: list[list[str]]) -> None:
    monkeypatch.setitem(PUBLISHED, name, replace(PUBLISHED[name], sha256=content_sha256(rows)))


def test_an_archive_in_the_publishers_form_becomes_a_table(
    publisher: tuple[str, dict[str, bytes]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server, content = publisher
    content["/adult.zip"] = archive(NUMERIC[:2], test_rows=NUMERIC[2:])
    expect(monkeypatch, "adult", [["train", *NUMERIC[0]], ["train", *NUMERIC[1]], ["test", *NUMERIC[2]]])
    seen: list[tuple[int, int]] = []
    path = download("adult", tmp_path, address=f"{server}/adult.zip", progress=lambda *at: seen.append(at))
    table = pq.read_table(path)
    assert table.column_names == ["split", *ADULT_COLUMNS]
    assert table["split"].to_pylist() == ["train", "train", "test"]
    assert table["income"].to_pylist() == ["<=50K"] * 3
    assert table["hours_per_week"].to_pylist() == [40] * 3
    assert seen[-1] == (len(content["/adult.zip"]),) * 2


def test_baskets_become_a_table_with_a_column_per_item(
    publisher: tuple[str, dict[str, bytes]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server, content = publisher
    rows = [["beer", "fish"], ["wine"]]
    content["/basket.txt"] = baskets(rows)
    expect(monkeypatch, "basket", rows)
    table = pq.read_table(download("basket", tmp_path / "new", address=f"{server}/basket.txt"))
    assert table["beer"].to_pylist() == [True, False]
    assert set(BASKET_ITEMS) < set(table.column_names)


def test_a_changed_cell_is_noticed_and_nothing_is_kept(
    publisher: tuple[str, dict[str, bytes]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server, content = publisher
    expect(monkeypatch, "basket", [["beer", "fish"], ["wine"]])
    content["/basket.txt"] = baskets([["beer", "fish"], ["milk"]])
    with pytest.raises(DatasetError, match="must have SHA-256"):
        download("basket", tmp_path, address=f"{server}/basket.txt")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("body", [b"no archive", b"\xff\xfe", b""])
def test_what_is_no_archive_gets_one_line(body: bytes, publisher: tuple[str, dict[str, bytes]], tmp_path: Path) -> None:
    server, content = publisher
    content["/adult.zip"] = body
    with pytest.raises(DatasetError, match="not in the form of its publisher"):
        download("adult", tmp_path, address=f"{server}/adult.zip")


def test_an_absent_or_unreachable_file_gets_one_line(publisher: tuple[str, dict[str, bytes]], tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="answered 404"):
        download("basket", tmp_path, address=f"{publisher[0]}/gone")
    with pytest.raises(DatasetError, match="cannot be reached"):
        download("basket", tmp_path, address="http://127.0.0.1:9/basket.txt")
    with pytest.raises(UsageError, match="https"):
        download("basket", tmp_path, address="file:///etc/hosts")
    with pytest.raises(UsageError, match="adult, basket"):
        download("bascet", tmp_path)


def test_endless_files_are_cut_off(
    publisher: tuple[str, dict[str, bytes]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    publisher[1]["/basket.txt"] = b"x" * 200_000
    monkeypatch.setattr("pldp.papers.datasets.MOST_BYTES", 100_000)
    with pytest.raises(DatasetError, match="more than 100,000 bytes"):
        download("basket", tmp_path, address=f"{publisher[0]}/basket.txt")


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_stated_digest_is_that_of_the_real_data(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = data_file(PUBLISHED[name].file)
    if path is None:
        pytest.skip(f"{PUBLISHED[name].file} is not in the folder that PLDP_DATA names")
    table = pq.read_table(path)
    if name == "basket":
        rows = table["items"].to_pylist()
    else:
        columns = [table[column].cast("string").to_pylist() for column in table.column_names]
        rows = [list(row) for row in zip(*columns, strict=True)]
    assert content_sha256(rows) == PUBLISHED[name].sha256


def test_every_need_of_an_experiment_ships_or_has_a_publisher() -> None:
    needed = {name for paper in PAPERS for name in load_paper(paper).datasets}
    assert needed == DATASETS.keys() | PUBLISHED.keys()


def test_numbers_that_ship_are_all_there() -> None:
    assert sum(load_counts("taxi_pickups").values()) == 577_935
    assert sum(load_counts("sf_pay").values()) == 28_719
    assert len(load_counts("taxi_pickups")) == len(load_counts("sf_pay")) == 1024


def test_the_command_lists_and_fetches(
    publisher: tuple[str, dict[str, bytes]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    server, content = publisher
    monkeypatch.setenv("PLDP_DATA", str(tmp_path))
    content["/basket.txt"] = baskets([["wine"]])
    expect(monkeypatch, "basket", [["wine"]])
    assert main(["datasets", "--json", "-"]) == 0
    before = {row["dataset"]: row["where"] for row in json.loads(capsys.readouterr().out)["datasets"]}
    assert before["basket"] == "missing: pldp datasets --download basket"
    assert before["bank_job"] == "in the package"
    assert main(["datasets", "--download", "basket", "--from", f"{server}/basket.txt"]) == 0
    assert main(["datasets", "--json", str(tmp_path / "list.json")]) == 0
    after = {row["dataset"]: row["where"] for row in json.loads((tmp_path / "list.json").read_text())["datasets"]}
    assert after["basket"] == str(tmp_path / "basket.parquet")
    assert main(["datasets", "--to", str(tmp_path)]) == 2
    monkeypatch.delenv("PLDP_DATA")
    assert main(["datasets", "--download", "basket"]) == 2
    assert "--to must name a folder" in capsys.readouterr().err
