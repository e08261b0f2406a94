"""What agents read, by the access log of a web server or a content delivery network.

Each line is in the combined format of nginx, Apache and others, or is a JSON object as Caddy, Cloudflare, Netlify and
Vercel write it; `report.toml` has the names of agents and fields. Addresses of clients are not read.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cache, lru_cache
from importlib import resources
from math import log10
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.report.log import iter_lines

KINDS = ("llms.txt", "Markdown", "HTML", "failed")
"""What requests are counted as: the kind of the file, or a status that is an error."""

_COMBINED = re.compile(
    r'\[(?P<time>[^\]]+)\] "(?P<method>[A-Z]+) (?P<path>\S+)[^"]*" (?P<status>\d{3}) \S+ '
    r'"(?:[^"\\]|\\.)*" "(?P<agent>(?:[^"\\]|\\.)*)"'
)


class _Request(Struct, frozen=True):
    time: datetime
    path: str
    status: int
    agent: str


class AccessReport(Struct, frozen=True):
    """What agents read.

    Attributes:
        requests: Number of requests, those of browsers included.
        agents: Number of requests of each agent, by one of `KINDS`; those with most requests first.
        skipped: Number of lines that could not be read.
    """

    requests: int
    agents: Mapping[str, Mapping[str, int]]
    skipped: int = 0


@cache
def load_tables() -> Mapping[str, Any]:
    """Return the tables of `report.toml`."""
    tables: Mapping[str, Any] = msgspec.toml.decode(resources.files(__package__).joinpath("report.toml").read_bytes())
    return tables


def count_requests(paths: Iterable[Path], *, since: datetime | None = None) -> AccessReport:
    """Count the requests of agents.

    Args:
        paths: Access logs, compressed or not.
        since: Older requests are left out.

    Raises:
        UsageError: A file cannot be read, or no line of it is a request.
    """
    counts = defaultdict[str, Counter[str]](Counter)
    total = skipped = 0
    for path in dict.fromkeys(paths):
        found = unread = 0
        for line in iter_lines(path):
            requests = list(_iter_requests(line))
            found += len(requests)
            unread += not requests and bool(line.strip())
            for request in requests:
                if since is None or request.time >= since:
                    total += 1
                    _count(counts, request)
        if unread and not found:
            raise UsageError(f"{path}: no line is a request, in the combined format or as JSON of a known server")
        skipped += unread
    agents = sorted(counts.items(), key=lambda pair: (-pair[1].total(), pair[0]))
    return AccessReport(total, dict(agents), skipped)


def _count(counts: Mapping[str, Counter[str]], request: _Request) -> None:
    name = _find_agent(request.agent)
    kind = _find_kind(urlsplit(request.path).path)
    if name and kind:
        counts[name][kind if request.status < 400 else "failed"] += 1


@lru_cache(4_096)
def _find_agent(user_agent: str) -> str:
    """Return the name of the agent with a user agent; empty for browsers and others."""
    names = (name for names in load_tables()["agents"].values() for name in names)
    return next((name for name in names if re.search(rf"(?i)(?<![a-z]){re.escape(name)}(?![a-z])", user_agent)), "")


@lru_cache(4_096)
def _find_kind(path: str) -> str:
    """Return what an address is; empty for other files, and for addresses that scanners try."""
    kinds = load_tables()["files"].items()
    return next((kind for kind, pattern in kinds if re.search(pattern, path)), "").removeprefix("ignored")


def _iter_requests(line: bytes) -> Iterator[_Request]:
    """Yield the requests of a line: several of a JSON array, none if its form is not known."""
    try:
        match = _COMBINED.search(line.decode("utf-8", "replace"))
        data = match.groupdict() if match else msgspec.json.decode(line)
        for record in data if isinstance(data, list) else [data]:
            time, path, status, agent = (_find_field(record, names) for names in load_tables()["fields"].values())
            path = re.sub(r"^[A-Z]+ | HTTP/[\d.]+$", "", str(path))
            yield _Request(_parse_time(time), path, int(status), str(agent))
    except (msgspec.DecodeError, ValueError, OverflowError, OSError, RecursionError):
        return


def _find_field(record: object, names: Iterable[str]) -> str | float:
    """Return the first field that a record has, or the first item of its list; an empty string for none."""
    for name in names:
        value: Any = record
        for key in name.split("."):
            value = value.get(key) if isinstance(value, Mapping) else None
        value = value[0] if isinstance(value, list) and value else value
        if isinstance(value, str | int | float) and value != "":
            return value
    return ""


def _parse_time(value: str | float) -> datetime:
    """Return a time: seconds, milliseconds or nanoseconds since 1970, ISO 8601, or the form of Apache."""
    if isinstance(value, int | float):
        return datetime.fromtimestamp(value / 1000 ** max(0, int(log10(value or 1) - 8) // 3), UTC)
    time = datetime.strptime(value, "%d/%b/%Y:%H:%M:%S %z") if "/" in value[:4] else datetime.fromisoformat(value)
    return time if time.tzinfo else time.replace(tzinfo=UTC)
