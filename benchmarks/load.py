"""Load for an HTTP collector: keep-alive connections that each send the next body once the last was answered."""

from __future__ import annotations

import asyncio
import secrets
import time
from pathlib import Path

HEAD = "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n"


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


async def _connection(port: int, requests: list[bytes], times: list[float]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
    while requests:
        request = requests.pop()
        start = time.perf_counter()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(head.split(b"\r\n")[0].decode())
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        await reader.readexactly(length)
        times.append(time.perf_counter() - start)
    writer.close()


def send(port: int, requests: list[bytes], connections: int) -> tuple[float, list[float]]:
    """Send all requests; return the seconds it took and those of each request, sorted."""
    times: list[float] = []

    async def all_connections() -> None:
        await asyncio.gather(*(_connection(port, requests, times) for _ in range(connections)))

    start = time.perf_counter()
    asyncio.run(all_connections())
    return time.perf_counter() - start, sorted(times)


def cpu_seconds(pid: int) -> float:
    """Return the CPU time that a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def peak_bytes(pid: int) -> int:
    """Return the most memory that a process has used."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
