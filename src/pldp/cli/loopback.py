"""A collector on this machine for as long as something needs it, and the reports of everybody through it."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from queue import Queue
from threading import Event, Thread
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from pldp.cli.simulate import send_people
from pldp.collector import Sender, Settings
from pldp.errors import ReportError
from pldp.reports import Report
from pldp.simulate import Population
from pldp.survey import Survey
from pldp.tallies import Tally


class Collected(NamedTuple):
    """What came of it: the tally of the closed round, the estimate as the API gives it, how long sending took."""

    tally: Tally
    estimate: dict[str, Any]
    accepted: int
    withdrawn: int
    seconds: float


def collect(survey: Survey, people: Population, *, seed: int, withdrawing: Report, question: str) -> Collected:
    """Serve a survey, send everybody's report and one that is withdrawn, close the round, read the estimate."""
    from pldp.collector import Store, Tokens  # noqa: PLC0415 - optional

    with tempfile.TemporaryDirectory(prefix="pldp-") as folder:
        database = Path(folder) / "reports.db"
        survey.save(Path(folder) / "survey.json")
        settings = Settings(port=0, database=str(database), rate_limit=0)
        with _served(Path(folder) / "survey.json", settings) as url, closing(Sender(url)) as sender:
            token = Tokens(database).create("loopback", "admin")
            (receipt,) = sender.send([withdrawing])
            seconds = send_people(sender, survey, people, seed=seed)
            _call(url, "POST", "/v1/withdraw", {"receipt": receipt})
            closed = _call(url, "POST", "/v1/rounds/close", token=token)
            estimate = _call(url, "GET", f"/v1/estimates/{question}", token=token)
        with closing(Store(survey, database)) as store:
            return Collected(store.tally(), estimate, sender.accepted, closed["withdrawn"], seconds)


@contextmanager
def _served(survey: Path, settings: Settings) -> Iterator[str]:
    """Serve in another thread and yield the address; the collector has ended when this has."""
    from pldp.collector import serve  # noqa: PLC0415 - optional

    stop, started = Event(), Queue[str | BaseException]()

    def run() -> None:
        try:
            serve(survey, settings, started.put, stop.is_set)
        except BaseException as error:  # noqa: BLE001 - raised again by whoever waits
            started.put(error)

    thread = Thread(target=run, name="pldp-collector")
    thread.start()
    try:
        address = started.get()
        if isinstance(address, BaseException):
            raise address
        yield address
    finally:
        stop.set()
        thread.join()


def _call(url: str, method: str, path: str, content: dict[str, str] | None = None, token: str = "") -> Any:
    """Ask the API; whatever is not done ends the work."""
    body = b"" if content is None else json.dumps(content).encode()
    headers = {"content-type": "application/json", "authorization": f"Bearer {token}"}
    with closing(HTTPConnection(urlsplit(url).netloc, timeout=60)) as connection:
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        answer = json.loads(response.read())
    if response.status != 200:
        raise ReportError(f"{url}: {method} {path} got {response.status} {answer['code']}")
    return answer
