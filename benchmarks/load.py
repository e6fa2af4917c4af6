"""Load for an HTTP collector: keep-alive connections that each send the next body once the last was answered."""

from __future__ import annotations

import re
import secrets
import select
import socket
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks.measure import ChildError

_LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")
HEAD = "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n"


def wait_for(process: subprocess.Popen[bytes], port: int) -> None:
    """Return once the server takes connections."""
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            if process.poll() is not None:
                break
            time.sleep(0.1)
        else:
            return
    raise ChildError("the server does not start")


def make_requests(path: str, survey_hash: str, count: int, size: int) -> list[bytes]:
    """Return requests with fresh reports, one as JSON or many as JSON lines."""
    answers = '[{"question":"mode","level":"open","output":1},{"question":"late","level":"strict","output":0}]'
    made = []
    for _ in range(count):
        lines = [
            f'{{"pldp":1,"survey":"{survey_hash}","id":"{secrets.token_hex(16)}","answers":{answers}}}'
            for _ in range(size)
        ]
        body = f"[{','.join(lines)}]" if path == "/many" else "\n".join(lines)
        kind = "application/x-ndjson" if path == "/v1/reports" and size > 1 else "application/json"
        made.append((HEAD.format(path=path, kind=kind, length=len(body)) + body).encode())
    return made


class Load(NamedTuple):
    """What a load found out."""

    seconds: float
    times: list[float]
    """Of each request, sorted."""
    own_cpu: float
    """What the load itself cost, in seconds."""
    refused: int
    """Requests that were told to come again later."""


class _Connection:
    """Sends the next request as soon as the last one is answered."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sent = 0.0
        self.refused = 0
        self._answer = b""
        self._missing = 0

    def send(self, request: bytes) -> None:
        self.sent = time.perf_counter()
        self.socket.sendall(request)

    def receive(self) -> bool:
        """Read what has come; return whether the answer is complete."""
        part = self.socket.recv(1 << 18)
        if not part:
            raise RuntimeError("the server closed the connection")
        if self._missing:
            self._missing -= len(part)
            return not self._missing
        self._answer += part
        head, end, body = self._answer.partition(b"\r\n\r\n")
        if not end:
            return False
        if head.startswith(b"HTTP/1.1 503") and b"\r\nretry-after: " in head:
            self.refused += 1
        elif not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(head.split(b"\r\n")[0].decode())
        self._missing = int(_LENGTH.search(head)[1]) - len(body)
        self._answer = b""
        return not self._missing


def send(port: int, requests: list[bytes], connections: int, every: float = 0) -> Load:
    """Send all requests over so many connections: plain sockets, so that the load costs little beside the server.

    Each connection waits for its answer, and then until `every` seconds have passed since the last request of all.
    """
    count, times = len(requests), list[float]()
    opened = {each.socket.fileno(): each for each in (_Connection(port) for _ in range(connections))}
    idle = list(opened.values())
    with select.epoll() as ready:
        for number in opened:
            ready.register(number, select.EPOLLIN)
        start, cpu = time.perf_counter(), time.process_time()
        due = start
        while len(times) < count:
            while requests and idle and (not every or time.perf_counter() >= due):
                idle.pop().send(requests.pop())
                due += every
            wait = max(0, due - time.perf_counter()) if every and requests and idle else None
            for number, _ in ready.poll(wait):
                each = opened[number]
                if each.receive():
                    times.append(time.perf_counter() - each.sent)
                    idle.append(each)
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    for each in opened.values():
        each.socket.close()
    return Load(seconds, sorted(times), cpu, sum(each.refused for each in opened.values()))


def cpu_seconds(pid: int) -> float:
    """Return the CPU time that a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def peak_bytes(pid: int) -> int:
    """Return the most memory that a process has used."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
