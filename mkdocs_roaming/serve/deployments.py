"""Bodies of sections as they were sent, kept for as long as a deployment stands: the same ones are asked for again."""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

import anyio

from mkdocs_roaming._http import FETCH_TIMEOUT, HttpClient
from mkdocs_roaming.answer._threads import run_in_thread
from mkdocs_roaming.errors import LibraryError, RoamingError
from mkdocs_roaming.library.hybrid import HybridSearch
from mkdocs_roaming.library.library import PAGE_CACHE_BYTES, Library, open_library
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.readers import MAX_MANIFEST_BYTES, read_file
from mkdocs_roaming.library.search import Finder, Search
from mkdocs_roaming.manifest.io import MANIFEST_PATH
from mkdocs_roaming.manifest.lookup import SectionRef
from mkdocs_roaming.serve.problems import ProblemError
from mkdocs_roaming.serve.redaction import strip_passwords

BODY_CACHE_BYTES = 4 * 2**20


class BodyCache:
    """Bodies by what was asked for, the least recently sent dropped when they are too many bytes."""

    def __init__(self, room: int = BODY_CACHE_BYTES) -> None:
        self._room = room
        self._size = 0
        self._kept: OrderedDict[Hashable, bytes] = OrderedDict()

    def get(self, key: Hashable) -> bytes | None:
        """Give a body, None where it is not kept."""
        body = self._kept.get(key)
        if body is not None:
            self._kept.move_to_end(key)
        return body

    def keep(self, key: Hashable, body: bytes) -> None:
        """Keep a body, and no longer what there is no room for beside it."""
        self._size += len(body) - len(self._kept.pop(key, b""))
        self._kept[key] = body
        while self._size > self._room:
            self._size -= len(self._kept.popitem(last=False)[1])


# MERGED mkdocs_roaming.serve.changes:
# Whether a published site has changed: a conditional request, or a look at the file.


class ChangeDetector(Protocol):
    """Looks at one site again and again."""

    def news(self) -> str | None:
        """Give the digest that the site says it has, empty where it says none; None where it is as at the last look.

        Raises LibraryError where nobody knows.
        """
        ...


def open_change_detector(where: str | Path, library: Library, *, seconds: float = FETCH_TIMEOUT) -> ChangeDetector:
    """Give the watch over the site that a library was opened from; `where` is what it was asked for by. A server has
    so many seconds to answer.
    """
    text = str(where)
    if text.lower().startswith(("http://", "https://")):
        direct = not library.is_published or urlsplit(text).path.endswith(".json")
        return _HttpChanges(text.partition("#")[0] if direct else library.where + MANIFEST_PATH, seconds)
    if "://" in text:
        return _VersionChanges(library)
    path = Path(where)
    return _FileChanges(path if path.is_file() else Path(library.where) / MANIFEST_PATH)


class _FileChanges:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int, int] | None = None

    def news(self) -> str | None:
        try:
            found = self._path.stat()
        except OSError as error:
            raise LibraryError(f"{self._path}: cannot be read ({error.strerror})") from None
        now = (found.st_mtime_ns, found.st_size, found.st_ino)
        if now == self._seen:
            return None
        digest = _digest(read_file(self._path, MAX_MANIFEST_BYTES))
        self._seen = now  # not before it was read: a file that could not be is news at the next look
        return digest


class _VersionChanges:
    """Compares the library's own version: for sites that a plugin opens."""

    def __init__(self, library: Library) -> None:
        self._library, self._seen = library, ""

    def news(self) -> str | None:
        now = self._library.version()
        if now and now == self._seen:
            return None
        digest = _digest(self._library.file(MANIFEST_PATH))
        self._seen = now
        return digest


class _HttpChanges:
    def __init__(self, url: str, seconds: float) -> None:
        self._url = url
        self._known: dict[str, str] = {}
        self._body = b""
        self._fetching = HttpClient(seconds=seconds)

    def news(self) -> str | None:
        found = self._fetching.get(self._url, MAX_MANIFEST_BYTES, self._known)
        if found.status == 304:
            return None
        if found.status != 200:
            raise LibraryError(f"{self._url}: answered {found.status}, not 200")
        headers = found.headers
        self._known = {
            asked: headers[told]
            for told, asked in (("etag", "If-None-Match"), ("last-modified", "If-Modified-Since"))
            if told in headers
        }
        before, self._body = self._body, hashlib.sha256(found.body).digest()
        return None if before == self._body else _digest(found.body)


def _digest(body: bytes) -> str:
    """Give the digest that a manifest says it has."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    return str(data.get("digest", "")) if isinstance(data, dict) else ""


# MERGED mkdocs_roaming.serve.deployments:
# The site as it stands now: opened, watched, and changed for a newer deployment between two answers.
#
# An answer keeps the deployment that it began with. A deployment that is only half written is not taken: the
# last good
# one goes on answering, and the next look may find the rest.


POLL_SECONDS = 60.0


"""The seconds between two looks at the site."""


INCOMPLETE_SECONDS = 600.0


"""The seconds after which a deployment is taken though it is not whole: what is wrong in it is still never served."""


_log = logging.getLogger("mkdocs_roaming.serve")


@dataclass(frozen=True, slots=True)
class Deployment:
    """A site as it stood when it was opened, with its search index; `whole` where every section fits its digest.

    It is `near` where all texts are in memory: then a section is opened in less time than a thread is begun.
    """

    library: Library
    search: Finder
    whole: bool = True
    near: bool = False
    bodies: BodyCache = field(default_factory=BodyCache, compare=False)

    @property
    def digest(self) -> str:
        """The site's digest."""
        return self.library.manifest.digest

    def navigator(self, format_error: Callable[[LibraryError], str] = str) -> Navigator:
        """Give a navigator for one conversation; `format_error` gives what is said of a section that cannot be read."""
        return Navigator(self.library, search=self.search, format_error=format_error)


class SiteWatcher:
    """The deployments of one site, one after the other. `run` opens and watches until it is cancelled.

    `current` is the one to answer from, None until the site could be opened; `problem` says in one line what is wrong
    with the site now, empty while nothing is. `taken` is called, in a thread, whenever one was changed over to.
    """

    def __init__(
        self,
        where: str | Path,
        *,
        every: float = POLL_SECONDS,
        patience: float = INCOMPLETE_SECONDS,
        trust_rules: bool = False,
        finding: Callable[[Library], Finder] = Search,
        taken: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.where = where
        self.current: Deployment | None = None
        self.problem = ""
        self.looks = self.failures = self.changes = 0
        self.every = every
        self._patience, self._trust_rules, self._clock = patience, trust_rules, clock
        self._finding, self._taken = finding, taken
        self._watch: ChangeDetector | None = None
        self._awaited: str | None = None  # the digest of a newer deployment that was seen and is not taken yet
        self._refused: tuple[str, float] | None = None
        self._next_repair = 0.0
        self._repairs = 0

    def now(self) -> Deployment:
        """Give the deployment to answer from; raises Refused while there is none."""
        if self.current is None:
            raise ProblemError(503, "no_site", "The documentation cannot be read at the moment.", retry_after=_RETRY)
        return self.current

    async def run(self) -> None:
        """Open the site, trying again until it can be opened, then look at it from time to time."""
        wait = min(1.0, self.every)
        while True:
            await self.look()
            await anyio.sleep(self.every if self.current else wait)
            wait = min(wait * 2, _LONGEST_WAIT, self.every)

    async def look(self, *, again: bool = True) -> bool:
        """Look at the site once, and change over if there is a newer deployment that is whole; tell whether one did.

        Where it is not looked at `again`, a problem is not told in the log: whoever asks for this look tells it.
        """
        self.looks += 1
        try:
            found = await run_in_thread(self._look)
        except RoamingError as error:
            self.failures += 1
            self._say_problem(" ".join(str(error).split()), aloud=again)
            return False
        except Exception as error:
            self.failures += 1
            _log.debug("looking at the site failed", exc_info=True)
            why = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
            self._say_problem(f"{self.where}: {why}", aloud=again)
            return False
        if found is not None:
            self._take(found)
            await run_in_thread(self._taken)
        elif self._awaited is not None:
            self._say_problem(f"{self.where}: a new deployment is not complete yet")
        elif self.current is not None and self.current.whole:
            self._say_well()
        return found is not None

    # One look, in a thread

    def _look(self) -> Deployment | None:
        """Give the deployment to change over to; None where there is none."""
        current = self.current
        if current is None:
            return self._opened()
        if self._watch is None:
            self._watch = open_change_detector(self.where, current.library)
        news = self._watch.news()
        if news is not None:
            self._awaited = None if news == current.digest else news
        repair = not current.whole and self._clock() >= self._next_repair
        if self._awaited is None and not repair:
            return None
        found = self._opened()
        if found.digest == current.digest:
            self._arrived(found.digest)
            return found if self._is_repaired(current, found) else None
        if found.whole or self._is_late(found.digest):
            self._arrived(found.digest)
            return found
        if self._awaited is None:
            self._awaited = found.digest
        return None

    def _arrived(self, digest: str) -> None:
        """Await nothing any more, unless one server told of a deployment and another gave the one before."""
        if self._awaited in ("", digest):
            self._awaited = None

    def _opened(self) -> Deployment:
        library = open_library(self.where)
        library.trusted = library.trusted or self._trust_rules
        library.prefetch()
        whole = is_complete(library)
        search = self._finding(library)
        if whole or self.current is None:
            _build_index(search)  # here, not while a reader waits
        near = whole and sum(page.bytes for page in library.manifest.pages) <= PAGE_CACHE_BYTES
        # A question that waits for its vector must not keep others from computing.
        library.is_local = (library.is_local or near) and not isinstance(search, HybridSearch)
        return Deployment(library, search, whole, near)

    def _is_repaired(self, current: Deployment, found: Deployment) -> bool:
        """Tell whether a deployment became whole; where it never does, it is looked at ever more seldom."""
        self._repairs += 1
        self._next_repair = self._clock() + min(self.every * 2**self._repairs, _SELDOM)
        return found.whole and not current.whole

    def _is_late(self, digest: str) -> bool:
        """Tell whether a deployment that is not whole has been so for too long to be waited for."""
        if self._refused is None or self._refused[0] != digest:
            self._refused = (digest, self._clock())
        return self._clock() - self._refused[1] >= self._patience

    # What came of it

    def _take(self, found: Deployment) -> None:
        before, self.current = self.current, found
        self._refused, self._repairs = None, 0
        self._next_repair = self._clock() + self.every
        manifest = found.library.manifest
        word = "opened" if before is None else "changed over to a new deployment of"
        _log.info("%s %s: %d sections, %s", word, manifest.site.name, len(found.library.sections), manifest.digest[:19])
        if before is not None:
            self.changes += 1
        if found.whole:
            self.problem = ""
        else:
            self._say_problem(f"{self.where}: sections are missing or do not fit the manifest, and are left out")

    def _say_problem(self, problem: str, *, aloud: bool = True) -> None:
        problem = strip_passwords(problem)  # the site's address may hold some
        if aloud and problem != self.problem:
            _log.warning("%s; %s", problem, "the last good copy goes on answering" if self.current else "trying again")
        self.problem = problem

    def _say_well(self) -> None:
        if self.problem:
            _log.info("%s: can be read again", strip_passwords(str(self.where)))
        self.problem = ""


def _build_index(search: Finder) -> None:
    """Build the index, and read the vectors; no endpoint is asked."""
    words = search
    if isinstance(search, HybridSearch):
        words = search.words
        search.vectors.load()
    words.pages("page")


def is_complete(library: Library) -> bool:
    """Tell whether every section of a site can be read and fits its digest; stops at the first that does not."""
    pages = library.manifest.pages
    try:
        for begin in range(0, len(pages), _AT_ONCE):
            batch = pages[begin : begin + _AT_ONCE]
            library.prefetch(batch)
            for page in batch:
                for at in range(len(page.sections)):
                    library.text(SectionRef(page, at))
    except LibraryError:
        return False
    return True


_AT_ONCE = 200  # pages


_RETRY = 5.0


_LONGEST_WAIT = 30.0


_SELDOM = 3_600.0


# MERGED mkdocs_roaming.serve.languages:
# A site in all its languages: whoever asks in one of them is answered from that one.
#
# The other languages are those that the site's manifest names and that lie below the site itself: no manifest
# can send us
# anywhere else. Each is opened and watched like the first; until one is open, the first answers.


MAX_LANGUAGES = 12


"""The most languages that are opened beside the first."""


class LocalizedSite:
    """The deployments of a site in each language; `main` are those it was asked for by."""

    def __init__(self, main: SiteWatcher, make: Callable[[str | Path], SiteWatcher]) -> None:
        self.main = main
        self._make = make
        self._others: dict[str, SiteWatcher] = {}

    def now(self, language: str = "") -> Deployment:
        """Give the deployment to answer from in a language; raises Refused while there is none at all."""
        main = self.main.now()
        tag = language.replace("_", "-").lower()
        own = main.library.manifest.site.language.lower()
        for wanted in (tag, tag.partition("-")[0]):
            other = self._others.get(wanted)
            if wanted == own or not wanted:
                return main
            if other is not None and other.current is not None:
                return other.current
        return main

    async def run(self) -> None:
        """Open and watch all of them, until it is cancelled."""
        async with anyio.create_task_group() as group:
            group.start_soon(self.main.run)
            while True:
                for new in self._new():
                    group.start_soon(new.run)
                await anyio.sleep(min(self.main.every, _LANGUAGE_POLL_SECONDS))

    async def look(self) -> None:
        """Look at all of them once, where nobody watches."""
        await self.main.look()
        for _ in self._new():
            pass
        for other in self._others.values():
            await other.look()

    def _new(self) -> Iterator[SiteWatcher]:
        """Take in languages that were not known yet, and give what is to be watched for each."""
        for language, where in self._places(self.main.current) if self.main.current else ():
            if language not in self._others and len(self._others) < MAX_LANGUAGES:
                self._others[language] = self._make(where)
                yield self._others[language]

    def _places(self, main: Deployment) -> Iterator[tuple[str, str | Path]]:
        """Give the other languages, and where each lies below what was opened."""
        site = main.library.manifest.site
        for other in site.alternates:
            below = other.manifest.removeprefix(site.url).lstrip("/")
            strange = any(sign in unquote(below) for sign in ("..", ":", "\\", "//"))  # each may lead elsewhere
            inside = other.manifest.startswith(site.url) and below.endswith(MANIFEST_PATH) and not strange
            if other.language and inside and below != MANIFEST_PATH and other.version in (None, site.version):
                root = main.library.where
                distant = root.lower().startswith(("http://", "https://"))
                yield other.language.lower(), root + below if distant else Path(root) / below


_LANGUAGE_POLL_SECONDS = 1.0
