"""Only the browser that `pldp new` opened gets in, no other user of the machine, and its collector ends with it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import ClassVar

import pytest

from helpers.designers import Caller, designing_here, designing_process
from helpers.machine import lacks
from helpers.other_users import CAN_CHANGE_USER, places_read_by_others
from pldp.design import Designer

SURVEY = """pldp = 1
title = "t"
[levels]
a = 1
[[questions]]
name = "q"
values = ["x", "y"]
"""
BROWSER = """#!/bin/sh
exec > "$0.log" 2>&1
printf '%s\\n' "$$" "$@" > "$0.arguments"
read -r _ <> "$0.nothing"
"""
"""A browser that tells its process and its arguments, and runs until it is killed."""

PATIENCE = 60.0  # seconds


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user of the machine may look into, unlike those of pytest."""
    if not Path("/proc/self/cmdline").exists():
        lacks("the process list is read from /proc")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def start_collecting(caller: Caller) -> dict[str, str]:
    """Start collecting with the survey as it is saved, and give the links."""
    links: dict[str, str] = caller.do("start", form=caller.state()["form"], preview=False)
    return links


def test_another_user_finds_nothing_that_opens_the_page_where_a_secret_in_arguments_is_found(open_folder: Path) -> None:
    browser = open_folder / "browser"
    browser.write_text(BROWSER, encoding="utf-8")
    browser.chmod(0o755)
    for name in ("arguments", "nothing"):
        os.mkfifo(f"{browser}.{name}")
    (open_folder / "s.toml").write_text(SURVEY, encoding="utf-8")
    (open_folder / "public.txt").write_text("a code that all may read", encoding="utf-8")
    environment = {"BROWSER": str(browser), "TMPDIR": str(open_folder)}
    with designing_process(open_folder, "s.toml", **environment) as (_, path):
        number, *arguments = Path(f"{browser}.arguments").read_text(encoding="utf-8").splitlines()
        caller = Caller(path)
        former = f"http://{caller.address.netloc}/a-secret-in-the-arguments/"  # as `pldp new` called its browser before
        twin = subprocess.Popen([browser, former])
        try:
            assert arguments == [path.as_uri()]
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
            assert Path(f"{browser}.arguments").read_text(encoding="utf-8").splitlines() == [str(twin.pid), former]
            texts = [caller.code, caller.address.netloc, "a-secret-in-the-arguments", "a code that all may read"]
            public = [str(open_folder / "public.txt")] if CAN_CHANGE_USER else []
            assert places_read_by_others(texts, open_folder) == {f"/bin/sh\0{browser}\0{former}\0", *public}
            assert caller.enter()[0] == 200
            token = start_collecting(caller)["dashboard"].partition("#")[2]
            assert len(token) > 30
            secrets = [caller.code, caller.cookie.partition("=")[2], caller.key, token]
            assert places_read_by_others(secrets, open_folder) == set()
        finally:
            os.kill(int(number), signal.SIGKILL)
            twin.kill()
            twin.wait()


def test_the_code_works_once_and_the_file_is_deleted(tmp_path: Path) -> None:
    with designing_here(tmp_path) as path:
        caller, late = Caller(path), Caller(path)
        wrong = Caller(path)
        wrong.code = "x" * len(caller.code)
        assert wrong.enter()[0] == 403
        assert path.exists()
        status, _, headers = caller.call("POST", caller.address.path, f"code={caller.code}", {"origin": "null"})
        assert status == 200
        assert headers["set-cookie"].endswith("; Path=/; HttpOnly; SameSite=Strict")
        assert headers["cache-control"] == "no-store"
        assert not path.parent.exists()
        status, text = late.enter()
        assert status == 403
        assert "run it again" in text
        assert not late.cookie
        assert not late.key
    with designing_here(tmp_path) as path:
        assert path.exists()
    assert not path.parent.exists()  # nobody used it


def test_only_the_page_that_was_let_in_gets_anything(tmp_path: Path) -> None:
    with designing_here(tmp_path) as path:
        page, stranger = Caller(path), Caller(path)
        assert page.address.hostname == "127.0.0.1"
        assert page.enter()[0] == 200
        save = json.dumps({"form": {"levels": []}, "name": "s.toml"})
        assert (page.ask("GET", "/"), page.ask("GET", "/state")) == (200, 200)
        for wrong in ("/", "/state", "/pages/new.js", "/preview/", "/x"):
            assert stranger.ask("GET", wrong) == 403
        cookie_alone = {"pldp_key": ""}  # all that the server of another user on another port can have
        assert page.ask("GET", "/state", **cookie_alone) == 403
        assert page.ask("POST", "/save", save, **cookie_alone) == 403
        assert page.ask("POST", "/save", save, cookie="") == 403
        assert page.ask("POST", "/save", save, cookie=page.cookie[:-1]) == 403
        preview = page.state()["preview"]
        assert stranger.ask("GET", preview) == 200  # the survey page sends no cookies: its address is the secret
        assert stranger.ask("GET", preview.replace(preview[-9:-1], "x" * 8)) == 403
        assert stranger.ask("GET", preview, sec_fetch_site="same-site") == 403
        for site in ("cross-site", "same-site"):
            assert page.ask("GET", "/", sec_fetch_site=site) == 403
            assert page.ask("POST", "/save", save, sec_fetch_site=site) == 403
        for origin in ("null", "http://127.0.0.1:1", "https://evil.example"):
            assert page.ask("POST", "/save", save, origin=origin) == 403
        assert page.ask("GET", "/", host="evil.example") == 421
        assert page.ask("POST", "/enter", f"code={page.code}", host="evil.example") == 421
        assert page.ask("POST", "/save", "{}", content_type="text/plain") == 415
        assert page.ask("POST", "/save", "[]") == 400
        assert page.ask("POST", "/state", "{}") == 405
        assert page.ask("GET", "/pages/../new.html") == 404
        for name in ("../s.toml", ".s.toml", "s.txt", ""):
            assert "error" in page.do("save", form={"levels": []}, name=name)
        assert os.listdir(tmp_path) == []  # noqa: PTH208 - also hidden files
        assert page.ask("POST", "/save", save, origin=f"http://{page.address.netloc}") == 200
        assert os.listdir(tmp_path) == ["s.toml"]  # noqa: PTH208


def test_of_two_collectors_started_at_once_one_runs_and_can_be_stopped(tmp_path: Path, monkeypatch) -> None:
    running: list[object] = []

    class Collector:
        links: ClassVar[dict[str, str]] = {}

        def __init__(self, _: Path, *, preview: bool) -> None:
            assert preview
            running.append(self)

        def stop(self) -> None:
            running.remove(self)

    monkeypatch.setattr("pldp.design.app.Started", Collector)
    (tmp_path / "s.toml").write_text(SURVEY, encoding="utf-8")
    designer = Designer(tmp_path / "s.toml")
    content = {"form": designer._state()["form"], "preview": True}

    async def start_twice() -> None:
        await asyncio.gather(designer._start(content), designer._start(content))
        assert len(running) == 1
        await designer.close()

    asyncio.run(start_twice())
    assert running == []


def test_the_collector_ends_in_order_when_its_parent_is_killed(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SURVEY, encoding="utf-8")
    with designing_process(tmp_path, "--no-browser", "s.toml") as (process, path):
        caller = Caller(path)
        caller.enter()
        assert start_collecting(caller)["database"] == "s.db"
        log = tmp_path / "s.db-wal"  # a store that is closed has none
        assert log.exists()
        process.kill()
        process.wait()
        give_up = monotonic() + PATIENCE
        while log.exists() and monotonic() < give_up:
            sleep(0.02)
        assert not log.exists()
