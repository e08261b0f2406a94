"""What agents read, by the access log of a web server or a content delivery network.

Each line is in the combined format of nginx, Apache and others, or is a JSON object as Caddy, Cloudflare, Netlify and
Vercel write it; `report.toml` has the names of agents and fields. Addresses of clients are not read.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import cache, lru_cache
from importlib import resources
from math import log10
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec import Struct

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.manifest.lookup import SectionRef
from mkdocs_roaming.report.log import iter_lines

MAX_COUNTED = 20_000
"""Number of different addresses that are counted; beyond it rare ones are dropped."""

_MAX_GUESSES = 500
_MAX_PATH_CHARS = 300
_MIN_SIMILARITY = 0.8
_COMBINED = re.compile(
    r'\[(?P<time>[^\]]+)\] "(?P<method>[A-Z]+) (?P<path>\S+)[^"]*" (?P<status>\d{3}) \S+ '
    r'"(?:[^"\\]|\\.)*" "(?P<agent>(?:[^"\\]|\\.)*)"'
)


class Guess(Struct, frozen=True):
    """An address that agents guessed in vain, how often, the agents, and the nearest section."""

    path: str
    count: int
    agents: tuple[str, ...]
    title: str = ""
    url: str = ""


_Request = tuple[datetime, str, str, int, str]
"""Time, method, path, status and user agent."""


class AccessReport(Struct, frozen=True):
    """What agents read.

    Attributes:
        requests: Number of requests, those of browsers included.
        agents: Number of requests of each agent by kind of file, `does not exist` or `refused`; many first.
        guesses: The addresses that agents guessed in vain.
        pages: How often agents read each page of the site: its HTML, its Markdown, or one of its sections.
        skipped: Number of lines that could not be read.
    """

    requests: int
    agents: Mapping[str, Mapping[str, int]]
    guesses: tuple[Guess, ...]
    pages: dict[str, int]
    skipped: int


@cache
def load_tables() -> Mapping[str, Any]:
    """Return the tables of `report.toml`."""
    tables: Mapping[str, Any] = msgspec.toml.decode(resources.files(__package__).joinpath("report.toml").read_bytes())
    return tables


def read_access(
    paths: Iterable[Path], library: Library | None = None, *, since: datetime | None = None
) -> AccessReport:
    """Count the requests of agents.

    Args:
        paths: Access logs, compressed or not.
        library: The site, for its pages, and for what is nearest to an address that does not exist.
        since: Older requests are left out.

    Raises:
        UsageError: A file cannot be read, or no line of it is a request.
    """
    counts = _Counts(library)
    for path in dict.fromkeys(paths):
        found, skipped = 0, counts.skipped
        for line in iter_lines(path):
            requests = list(_iter_requests(line))
            found += len(requests)
            counts.skipped += not requests and bool(line.strip())
            for request in requests:
                if since is None or request[0] >= since:
                    counts.add(*request[1:])
        if counts.skipped > skipped and not found:
            raise UsageError(f"{path}: no line is a request, in the combined format or as JSON of a known server")
    return counts.report()


class _Counts:
    """The counts of requests. Their number is limited, because clients choose the addresses."""

    def __init__(self, library: Library | None) -> None:
        self._library = library
        self._base = urlsplit(library.manifest.site.url).path.rstrip("/") + "/" if library else "/"
        self._agents = defaultdict[str, Counter[str]](Counter)
        self._guesses: Counter[tuple[str, str]] = Counter()  # by address and agent
        self._pages = Counter({page.path: 0 for page in library.manifest.pages} if library else {})
        self.skipped = self.total = 0

    def add(self, method: str, url: str, status: int, user_agent: str) -> None:
        """Count a request."""
        self.total += 1
        name = _find_agent(user_agent)
        path = unquote(urlsplit(url).path)[:_MAX_PATH_CHARS]
        kind = _find_kind(path) if name and method in ("GET", "POST") else ""
        if not kind:
            return
        outcome = kind if status < 400 else "does not exist" if status in (404, 410) else "refused"
        self._agents[name][outcome] += 1
        if outcome == "does not exist":
            self._guesses[path, name] += 1
            if len(self._guesses) > MAX_COUNTED:
                self._guesses = Counter(dict(self._guesses.most_common(MAX_COUNTED // 2)))
        elif outcome == kind and (page := self._find_page(path)) is not None:
            self._pages[page] += 1

    def _find_page(self, path: str) -> str | None:
        if self._library is None or not path.startswith(self._base):
            return None
        address = re.sub(r"(^|/)index\.html?$|^roaming/sections/(\w+)\.md$", r"\1\2", path.removeprefix(self._base))
        resolve = self._library.sections.resolve
        section = resolve(address) or resolve(address.removesuffix(".md"))
        return section.page.path if section else None

    def report(self) -> AccessReport:
        """Return what was counted."""
        agents = sorted(self._agents.items(), key=lambda pair: (-pair[1].total(), pair[0]))
        guesses, pages = tuple(self._list_guesses()), dict(self._pages.most_common())
        return AccessReport(self.total, dict(agents), guesses, pages, self.skipped)

    def _list_guesses(self) -> Iterator[Guess]:
        by_path = defaultdict[str, Counter[str]](Counter)
        for (path, name), count in self._guesses.items():
            by_path[path][name] = count
        for path in sorted(by_path, key=lambda path: (-by_path[path].total(), path))[:_MAX_GUESSES]:
            yield Guess(path, by_path[path].total(), tuple(sorted(by_path[path])), *self._find_nearest(path))

    def _find_nearest(self, path: str) -> tuple[str, ...]:
        """Return the title and the address of the page with a similar name, or of the section with its words."""
        if self._library is None:
            return ()
        sections, pages = self._library.sections, self._library.manifest.pages
        names, address = {PurePath(page.path).stem: page for page in pages}, re.sub(r"/index\.\w+$", "", path)
        if similar := get_close_matches(PurePath(address).stem, names, 1, _MIN_SIMILARITY):
            return names[similar[0]].title, sections.url(SectionRef(names[similar[0]], 0))
        words = re.findall(r"[^\W_]{3,}", re.sub(r"\.\w+$", "", address).lower())
        hits = self._library.search(" ".join(words), limit=1)
        title = " › ".join(hits[0].breadcrumb) if hits else ""
        return (title, hits[0].url) if any(word[:5] in title.lower() for word in words) else ()


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
    """Yield the requests of a line: several if it is a JSON array, none if its form is not known."""
    fields = load_tables()["fields"].values()
    try:
        match = _COMBINED.search(line.decode("utf-8", "replace"))
        data = match.groupdict() if match else msgspec.json.decode(line)
        for record in data if isinstance(data, list) else [data]:
            time, method, path, status, agent = (_find_field(record, names) for names in fields)
            path = re.sub(r"^[A-Z]+ | HTTP/[\d.]+$", "", str(path))
            yield _parse_time(time), str(method) or "GET", path, int(status), str(agent)
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
