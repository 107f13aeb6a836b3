"""Load from a process of its own: `wrk` where it is installed, else raw sockets on one event loop.

`python -m bench.load press URL BODY SECONDS CONNECTIONS` and `python -m bench.load probe URL COUNT GAP` are
those processes; each prints one JSON object.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

# wrk counts every status outside 2xx and 3xx as a status error: all of ours must be.
WRK_SCRIPT = """
local file = io.open("{body}", "rb")
wrk.method, wrk.body = "POST", file:read("*a")
wrk.headers["Content-Type"] = "application/json"
function done(summary, latency, requests)
  local e = summary.errors
  io.write(string.format('\\nJSON {{"requests": %d, "seconds": %.6f, "refused": %d, "broken": %d}}\\n',
    summary.requests, summary.duration / 1e6, e.status, e.connect + e.read + e.write + e.timeout))
end
"""


@dataclass(frozen=True, slots=True)
class Load:
    """What was asked in `seconds`: every request got an answer, and every answer was a refusal."""

    requests: int
    seconds: float


def press(url: str, body: Path, *, seconds: float, connections: int) -> Load:
    """The body was posted to `url` over and over on `connections` connections, each waiting for its answer.

    Raises RuntimeError when an answer was no refusal or a connection broke.
    """
    wrk = shutil.which("wrk")
    counts = _wrk(wrk, url, body, seconds, connections) if wrk else _sockets(url, body, seconds, connections)
    if counts["broken"] or counts["refused"] != counts["requests"]:
        raise RuntimeError(f"{url}: not every request was refused: {counts}")
    return Load(int(counts["requests"]), counts["seconds"])


def probe(url: str, *, count: int, gap_seconds: float) -> list[float]:
    """How long each of `count` GET requests took, in seconds; one connection, `gap_seconds` between two."""
    found = _output(sys.executable, "-m", "bench.load", "probe", url, str(count), str(gap_seconds))
    seconds: list[float] = json.loads(found)["seconds"]
    return seconds


def generator() -> str:
    """What makes the load on this machine."""
    return "wrk" if shutil.which("wrk") else "raw sockets on asyncio"


def _wrk(wrk: str, url: str, body: Path, seconds: float, connections: int) -> dict[str, float]:
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(WRK_SCRIPT.format(body=body))
        script.flush()
        text = _output(wrk, "-t1", f"-c{connections}", f"-d{max(1, round(seconds))}s", "-s", script.name, url)
    counts: dict[str, float] = json.loads(text.rpartition("JSON ")[2])
    return counts


def _sockets(url: str, body: Path, seconds: float, connections: int) -> dict[str, float]:
    text = _output(sys.executable, "-m", "bench.load", "press", url, str(body), str(seconds), str(connections))
    counts: dict[str, float] = json.loads(text)
    return counts


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parents[1]).stdout


# ---- the processes ------------------------------------------------------------------------------


async def _press(url: str, body: bytes, seconds: float, connections: int) -> dict[str, float]:
    parts = urlsplit(url)
    request = (
        f"POST {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode() + body
    counts = {"requests": 0.0, "refused": 0.0, "broken": 0.0}
    until = time.perf_counter() + seconds

    async def one_connection() -> None:
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        while time.perf_counter() < until:
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(_content_length(head))
            counts["requests"] += 1
            counts["refused"] += head.split(b" ", 2)[1].startswith(b"4")
        writer.close()

    started = time.perf_counter()
    await asyncio.gather(*(one_connection() for _ in range(connections)))
    return {**counts, "seconds": time.perf_counter() - started}


def _content_length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    raise RuntimeError("an answer without Content-Length")


def _probe(url: str, count: int, gap_seconds: float) -> dict[str, list[float]]:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port)
    seconds = []
    for _ in range(count):
        started = time.perf_counter()
        connection.request("GET", parts.path)
        connection.getresponse().read()
        seconds.append(time.perf_counter() - started)
        time.sleep(gap_seconds)
    return {"seconds": seconds}


def main(arguments: list[str]) -> None:
    """One of the processes has run, and its JSON is on standard output."""
    match arguments:
        case ["press", url, body, seconds, connections]:
            work = _press(url, Path(body).read_bytes(), float(seconds), int(connections))
            print(json.dumps(asyncio.run(work)))
        case ["probe", url, count, gap]:
            print(json.dumps(_probe(url, int(count), float(gap))))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
