"""A real browser for tests of pages: one Chromium, a fresh profile per visit, and everything that a visit leaves."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect, sync_playwright

from helpers.machine import lacks

SHELLS = ("chromium-headless-shell", "chrome-headless-shell")
"""The same browser without what belongs to windows: a visit costs a quarter less."""

NAMES = (*SHELLS, "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ADDRESS_BAR = ("WebUIOmniboxPopup", "WebUIOmniboxAimPopup")
"""Pages that a browser without a window prepares for its address bar at every visit: half of what a visit costs."""

AHEAD = "SpareRendererForSitePerProcess"
"""A process that the browser starts at every visit for the next page: a fifth of what an empty visit costs."""

AS_PLAYWRIGHT = (
    "AvoidCorsURLLoaderRestartOnRedirect",
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "PaintHolding",
    "PreconnectToSearch",
    "ThirdPartyStoragePartitioning",
)
"""What Playwright turns off by itself: of two such flags, the browser reads the last only."""

FLAGS = (
    f"--disable-features={','.join((*ADDRESS_BAR, AHEAD, *AS_PLAYWRIGHT))}",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
SURVEY_SCRIPT = "/pages/bundle/survey/survey.js"
"""The modules of the survey page as one script."""

LIE = """() => {
    const real = crypto.getRandomValues.bind(crypto);
    crypto.getRandomValues = (bytes) => (bytes.length % 7 === 0 ? bytes.fill(255) : real(bytes));
}"""
"""Random bytes that are all ones leave the true answer out of a report: one that has it is a leak."""

PATIENCE = 20_000
"""Milliseconds for anything that a page should do."""
expect.set_options(timeout=PATIENCE)

VIOLATIONS = """async (options) => {
    const { violations } = await axe.run(options);
    return violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target[0]}`));
}"""
"""What axe-core finds; all else that it tells stays in the page."""

STORAGE = """async () => {
    const entries = async ({ name }) => {
        const opened = await new Promise((done, failed) => {
            const opening = indexedDB.open(name);
            opening.onsuccess = () => done(opening.result);
            opening.onerror = failed;
        });
        const found = [];
        for (const store of opened.objectStoreNames) {
            const objects = opened.transaction(store).objectStore(store);
            const all = (asked) => new Promise((done) => (asked.onsuccess = () => done(asked.result)));
            found.push(await all(objects.getAllKeys()), await all(objects.getAll()));
        }
        opened.close();
        return found;
    };
    return {
        databases: await Promise.all((await indexedDB.databases()).map(entries)),
        local: { ...localStorage },
        session: { ...sessionStorage },
        cookies: document.cookie,
        caches: await caches.keys(),
        address: location.href,
        history: history.state,
        name: window.name,
    };
}"""


@dataclass
class Visit:
    """One person's browser on one page: what it asked the network for, and what it complained about."""

    page: Page
    context: BrowserContext
    requests: list[tuple[str, str, str]] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def sent(self) -> list[str]:
        """Bodies of requests."""
        return [body for _, _, body in self.requests if body]

    def stored(self) -> Any:
        """Everything that the page keeps, texts in it read as JSON."""
        return _parsed(self.page.evaluate(STORAGE))

    def forget(self) -> None:
        """Empty all that this page has stored, so that it starts as in a fresh profile the next time it is opened."""
        origin = self.page.evaluate("sessionStorage.clear(), location.origin")
        session = self.context.new_cdp_session(self.page)
        self.page.goto("about:blank")
        session.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"})
        session.detach()

    def start_anew(self) -> None:
        """Forget this page, what was answered in its place, and what it did: another person sits down."""
        self.page.unroute_all()
        if self.page.url != "about:blank":
            self.forget()
        self.requests.clear()
        self.complaints.clear()

    def barriers(self, *rules: str) -> list[str]:
        """What axe-core finds that keeps people out, by all its rules or by some."""
        if self.page.evaluate("typeof axe") == "undefined":
            session = self.context.new_cdp_session(self.page)
            session.send("Runtime.evaluate", {"expression": axe_script()})  # half the work of `page.evaluate`
            session.detach()
        options = {"resultTypes": ["violations"], **({"runOnly": list(rules)} if rules else {})}
        found: list[str] = self.page.evaluate(VIOLATIONS, options)
        return found

    def alter(self, path: str, *changes: tuple[str, str]) -> None:
        """Let the browser get another file than the collector serves."""

        def answer(route: Route) -> None:
            response = route.fetch()
            text = response.text()
            for old, new in changes:
                assert old in text, f"{path} has no {old!r}"
                text = text.replace(old, new)
            headers = {**response.headers, "cache-control": "no-store"}  # nobody else gets it from a cache
            route.fulfill(response=response, headers=headers, body=text)

        self.page.route(f"**{path}", answer)


@cache
def axe_script() -> str:
    """The text of axe-core."""
    return str(Axe().axe_script)


def find_browser(names: Sequence[str] = NAMES) -> str:
    """Return the path of the first Chromium; without one, tests fail where everything is tested, or are skipped."""
    found = next(filter(None, map(shutil.which, names)), None)
    if found is not None:
        return found
    reason = "pages are tested in Chromium, which is not installed here (for example: apt-get install chromium)"
    return lacks(reason)


@contextmanager
def open_browser() -> Iterator[Browser]:
    path = find_browser()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        browser.close()


Visits = Callable[..., Visit]


@contextmanager
def visits(browser: Browser) -> Iterator[Visits]:
    """Give a function that opens a fresh profile with one empty page."""
    contexts: list[BrowserContext] = []

    def visit(**options: Any) -> Visit:
        context = browser.new_context(
            **{"viewport": {"width": 800, "height": 900}, "reduced_motion": "reduce", **options}
        )
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        found = Visit(context.new_page(), context)
        context.on("request", lambda asked: found.requests.append((asked.method, asked.url, asked.post_data or "")))
        context.on("weberror", lambda error: found.complaints.append(str(error.error)))
        context.on(
            "console", lambda said: found.complaints.append(said.text) if said.type in {"error", "warning"} else None
        )
        return found

    yield visit
    for context in contexts:
        context.close()


def _parsed(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: _parsed(value) for key, value in content.items()}
    if isinstance(content, list):
        return [_parsed(value) for value in content]
    if isinstance(content, str) and content.startswith(("{", "[")):
        return _parsed(json.loads(content))
    return content
