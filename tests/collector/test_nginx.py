"""Behind the nginx of the guide, taken from the guide itself: one address cannot shut out the others."""

from __future__ import annotations

import os
import re
import shutil
import socket
import ssl
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest

from helpers.collector.servers import Server, report_line, running
from pldp.survey import Survey

LONG = bool(os.environ.get("PLDP_LONG"))
NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
pytestmark = pytest.mark.skipif(NGINX is None, reason="there is no nginx on this machine")


class Proxy(NamedTuple):
    server: Server
    port: int
    log: Path

    def connect(self, address: str = "127.0.0.1") -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), 20, (address, 0))

    def secure(self, address: str = "127.0.0.1") -> socket.socket:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # a certificate of our own
        return context.wrap_socket(self.connect(address))


def certificate(folder: Path) -> None:
    from cryptography import x509  # noqa: PLC0415 - only where there is an nginx
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "survey.example.org")])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now, now + timedelta(1))
    (folder / "survey.pem").write_bytes(made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "survey.key").write_bytes(key.private_bytes(*form))


def guide(folder: Path, port: int, collector: str) -> str:
    """Return the configuration of the guide with this test's ports and files."""
    page = Path("docs/production.md").read_text(encoding="utf-8")
    text, _ = re.findall(
        r"^```nginx\n(.+?)^```$", page, re.MULTILINE | re.DOTALL
    )  # the other is for several collectors
    for before, after in (
        ("listen 443 ssl;", f"listen 127.0.0.1:{port} ssl;"),
        ("server 127.0.0.1:8300;", f"server {collector};"),
        ("/etc/ssl/survey.example.org", f"{folder}/survey"),
        ("/var/log/nginx/error.log", f"{folder}/error.log"),
        ("client_header_timeout 10s;", "client_header_timeout 2s;"),
        ("send_timeout 10s;", "send_timeout 2s;"),
    ):
        assert before in text
        text = text.replace(before, after)
    room = re.findall(r"`(worker_\w+ \d+;)`", page)
    assert len(room) == 2
    events = next(line for line in room if "connections" in line)
    rest = next(line for line in room if "nofile" in line)
    temporary = "".join(
        f"{each}_temp_path {folder}/{each};" for each in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    return f"daemon off; pid {folder}/pid; {rest} events {{ {events} }} http {{ {temporary} {text} }}"


@contextmanager
def nginx(folder: Path, settings: str, port: int) -> Iterator[None]:
    """Run nginx with these settings, once it takes connections."""
    config = folder / "nginx.conf"
    config.write_text(settings)
    with (folder / "nginx.txt").open("wb") as said:
        process = subprocess.Popen([NGINX, "-c", str(config), "-e", str(folder / "error.log")], stderr=said)
    try:
        for _ in range(200):
            with suppress(OSError), closing(socket.create_connection(("127.0.0.1", port))):
                break
            assert process.poll() is None, (folder / "nginx.txt").read_text()
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait(20)


@contextmanager
def behind_nginx(folder: Path) -> Iterator[Proxy]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = ("--hosts", "survey.example.org", "--trusted-proxy", "127.0.0.1", "--connections", "100")
    with running(folder, *options) as server:
        certificate(folder)
        with nginx(folder, guide(folder, port, server.url.removeprefix("http://")), port):
            yield Proxy(server, port, folder / "error.log")


def ask(proxy: Proxy, address: str, text: bytes) -> tuple[bytes, float]:
    start = time.perf_counter()
    with closing(proxy.secure(address)) as connection:
        connection.sendall(text)
        return connection.recv(1 << 16), time.perf_counter() - start


def request(method: str, path: str, body: bytes = b"", host: str = "survey.example.org") -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}"
    return f"{head}\r\n\r\n".encode() + body


def test_one_address_cannot_shut_out_the_others(tmp_path: Path, commute: Survey) -> None:
    """Sockets that say nothing, half headers, half bodies and deaf clients of one address; another one is served."""
    count = 2050 if LONG else 300
    half = request("POST", "/v1/reports", b"{" * 500)[:-400]
    with behind_nginx(tmp_path) as proxy, ExitStack() as opened:
        for number in range(count):
            if number % 4:
                connection = opened.enter_context(closing(proxy.connect("127.0.0.2")))
                connection.sendall(b"" if number % 4 == 1 else b"\x16\x03\x01")
            elif number < 400:
                connection = opened.enter_context(closing(proxy.secure("127.0.0.2")))
                connection.sendall(half if number % 8 else request("GET", "/v1/openapi.json"))
        times = []
        for _ in range(20):
            answer, took = ask(proxy, "127.0.0.3", request("POST", "/v1/reports", report_line(commute)[1]))
            assert answer.startswith(b"HTTP/1.1 200"), answer[:200]
            assert b"strict-transport-security: max-age" in answer.lower()
            times.append(took)
        assert max(times) < 1
    assert proxy.log.read_text() == ""


def test_requests_of_one_address_at_a_time_are_bounded(tmp_path: Path, commute: Survey) -> None:
    half = request("POST", "/v1/reports", b"{" * 500)[:-400]
    with behind_nginx(tmp_path) as proxy, ExitStack() as opened:
        held = [opened.enter_context(closing(proxy.secure("127.0.0.2"))) for _ in range(40)]
        for connection in held:
            connection.sendall(half)
        time.sleep(0.3)
        answers = Counter[bytes]()
        for connection in held:
            connection.settimeout(0.01)
            try:
                answers[connection.recv(12)] += 1
            except (TimeoutError, ssl.SSLWantReadError):
                continue
            except (ConnectionResetError, ssl.SSLError):
                answers[b""] += 1
        assert answers.total() == 8
        assert answers.keys() <= {
            b"HTTP/1.1 429",
            b"",
        }  # a refused body may end the connection before its answer is read
        assert answers[b"HTTP/1.1 429"] > 0
        assert ask(proxy, "127.0.0.3", request("GET", "/healthz"))[0].startswith(b"HTTP/1.1 200")


def test_the_proxy_passes_its_host_and_hides_the_counters(tmp_path: Path) -> None:
    with behind_nginx(tmp_path) as proxy:
        assert ask(proxy, "127.0.0.1", request("GET", "/metrics"))[0].startswith(b"HTTP/1.1 403")
        assert ask(proxy, "127.0.0.1", request("GET", "/healthz", host="evil.example"))[0].startswith(b"HTTP/1.1 421")
        assert ask(proxy, "127.0.0.1", b"GET /%s HTTP/1.1\r\n\r\n" % (b"x" * 9000))[0].startswith(b"HTTP/1.1 414")
