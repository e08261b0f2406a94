"""The current deployment of a site: opened, checked for changes, and replaced between two answers.

An answer keeps the deployment that it started with. An incomplete deployment (half uploaded) is not used: the last good
one stays current, and a later check may find the rest.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from string import ascii_letters, digits
from urllib.parse import urlsplit

import anyio

from mkdocs_roaming._http import FETCH_TIMEOUT, HttpClient
from mkdocs_roaming._json import decode_json
from mkdocs_roaming.answer.budget import run_in_thread
from mkdocs_roaming.answer.links import load_parser
from mkdocs_roaming.errors import LibraryError, RoamingError, UsageError
from mkdocs_roaming.library.library import PAGE_CACHE_BYTES, Library
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.readers import INSTALLED_SCHEME, MAX_MANIFEST_BYTES, read_file
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.library.targets import SearchFactory, open_library
from mkdocs_roaming.manifest.io import MANIFEST_PATH
from mkdocs_roaming.manifest.lookup import Scope, SectionRef
from mkdocs_roaming.serve.log import strip_passwords
from mkdocs_roaming.serve.requests import ProblemError

POLL_SECONDS = 60.0
"""Time between two checks of a site."""
INCOMPLETE_SECONDS = 600.0
"""Time after which an incomplete deployment is used. Sections that do not match their digest are never served."""
MAX_LANGUAGES = 12
"""Maximum number of further languages of a site."""
_LANGUAGE_POLL_SECONDS = 1.0
_NO_SITE_RETRY_SECONDS = 5.0
_MAX_RETRY_SECONDS = 30.0
_CHECKS_PER_REPAIR = 10  # checks of an incomplete deployment between two attempts to read all of the site again
_PAGES_PER_BATCH = 200
_FOLDER_CHARS = frozenset(f"{ascii_letters}{digits}_.~-")
"""Characters of folders with a language: none that may lead elsewhere."""
_WEB_SCHEMES = ("http://", "https://")
_log = logging.getLogger("mkdocs_roaming.serve")


@dataclass(frozen=True, slots=True)
class Deployment:
    """A version of a site, with its search index.

    Attributes:
        is_complete: Every section matches its digest.
        in_memory: All texts fit into memory, so that opening a section is faster than starting a thread.
    """

    library: Library
    search: Search
    is_complete: bool = True
    in_memory: bool = False

    @property
    def digest(self) -> str:
        """The digest of the site."""
        return self.library.manifest.digest

    def restrict(self, scope: Scope) -> Deployment:
        """Return the part of the deployment in a scope. Raise ProblemError if no page is in it."""
        try:
            library = self.library.restrict(scope)
        except UsageError as error:
            raise ProblemError("empty_scope", f"`scope`: {error}.") from None
        return self if library is self.library else replace(self, library=library, search=self.search.restrict(library))

    def navigator(self, format_error: Callable[[LibraryError], str] = str) -> Navigator:
        """Return a navigator for one conversation; `format_error` makes the message for an unreadable section."""
        return Navigator(self.library, search=self.search, format_error=format_error)


@dataclass(eq=False)
class SiteWatcher:
    """Opens a site and keeps its deployment current.

    Attributes:
        target: The site: a URL, a folder, or a Markdown file.
        look_every: Time between two checks.
        incomplete_seconds: Time after which an incomplete deployment is used.
        trust_rules: Follow the rules of the site, also if it is not a local folder.
        search_factory: Makes the search of a deployment.
        on_change: Called in a thread whenever the deployment changed.
        clock: Returns seconds.
        current: The deployment to answer from; None until the site could be opened.
        problem: What is wrong with the site now, in one line; empty if nothing is.
        failures: Number of failed checks.
        changes: Number of new deployments after the first one.
    """

    target: str | Path
    look_every: float = POLL_SECONDS
    incomplete_seconds: float = INCOMPLETE_SECONDS
    trust_rules: bool = False
    search_factory: SearchFactory = Search
    on_change: Callable[[], None] = lambda: None
    clock: Callable[[], float] = time.monotonic
    current: Deployment | None = None
    problem: str = ""
    failures: int = 0
    changes: int = 0
    _detector: ChangeDetector | None = None
    _published: str = ""  # digest of the manifest that was read last
    _incomplete: str = ""  # digest of an incomplete deployment
    _incomplete_since: float = 0.0
    _next_repair: float = 0.0

    def now(self) -> Deployment:
        """Return the current deployment. Raise ProblemError if there is none yet."""
        if self.current is None:
            detail = "The documentation cannot be read at the moment."
            raise ProblemError("no_site", detail, retry_after=_NO_SITE_RETRY_SECONDS)
        return self.current

    async def run(self) -> None:
        """Open the site, retrying until it succeeds, then check it for changes. Runs until cancelled."""
        retry_seconds = min(1.0, self.look_every)
        while True:
            await self.check()
            await anyio.sleep(self.look_every if self.current else retry_seconds)
            retry_seconds = min(retry_seconds * 2, _MAX_RETRY_SECONDS, self.look_every)

    async def check(self, *, log_problem: bool = True) -> bool:
        """Check the site once. Return whether the deployment changed."""
        try:
            deployment = await run_in_thread(self._find_deployment)
        except Exception as error:
            self.failures += 1
            problem = " ".join(str(error).split())
            if not isinstance(error, RoamingError):
                _log.debug("checking the site failed", exc_info=True)
                problem = f"{self.target}: {type(error).__name__}: {problem[:200]}"
            self._set_problem(problem, log=log_problem)
            return False
        if deployment is not None:
            self._use(deployment)
            await run_in_thread(self.on_change)
        elif self.current is not None and self._published != self.current.digest:
            self._set_problem(f"{self.target}: a new deployment is not complete yet")
        elif self.problem and self.current is not None and self.current.is_complete:
            _log.info("%s: can be read again", strip_passwords(str(self.target)))
            self.problem = ""
        return deployment is not None

    # One check, in a thread

    def _find_deployment(self) -> Deployment | None:
        """Return the deployment that should become current, None for no change."""
        current = self.current
        if current is None:
            return self._open()
        if self._detector is None:
            self._detector = open_change_detector(self.target, current.library)
        digest = self._detector.poll()
        if digest is not None:
            self._published = digest
        is_current = self._published == current.digest
        if is_current and (current.is_complete or self.clock() < self._next_repair):
            return None
        deployment = self._open()
        self._published = self._published or deployment.digest
        if deployment.digest == current.digest:  # perhaps the rest of it; servers behind one URL may differ for a while
            self._next_repair = self.clock() + _CHECKS_PER_REPAIR * self.look_every
            is_better = deployment.is_complete and not current.is_complete
        else:
            is_better = deployment.is_complete or self._is_overdue(deployment.digest)
        return deployment if is_better else None

    def _open(self) -> Deployment:
        library = open_library(self.target)
        library.trusted = library.trusted or self.trust_rules
        library.prefetch()
        complete = is_complete(library)
        search = self.search_factory(library)
        if complete or self.current is None:
            search.load()  # before a client waits for it
            load_parser()
        in_memory = complete and sum(page.bytes for page in library.manifest.pages) <= PAGE_CACHE_BYTES
        # A search that waits for the vector of a question must not block the limiter for computations.
        library.is_local = (library.is_local or in_memory) and search.published is None
        return Deployment(library, search, complete, in_memory)

    def _is_overdue(self, digest: str) -> bool:
        """Return whether a deployment has been incomplete for too long to wait for it."""
        if self._incomplete != digest:
            self._incomplete = digest
            self._incomplete_since = self.clock()
        return self.clock() - self._incomplete_since >= self.incomplete_seconds

    # The result of a check

    def _use(self, deployment: Deployment) -> None:
        is_first = self.current is None
        self.current = deployment
        self._incomplete = ""
        self._next_repair = self.clock() + self.look_every
        site = deployment.library.manifest.site.name
        count = len(deployment.library.sections)
        event = "opened" if is_first else "changed to a new deployment of"
        level = logging.DEBUG if is_first else logging.INFO
        _log.log(level, "%s %s: %d sections, %s", event, site, count, deployment.digest[:19])
        self.changes += not is_first
        if deployment.is_complete:
            self.problem = ""
        else:
            self._set_problem(f"{self.target}: some sections are missing or do not match the manifest; not served")

    def _set_problem(self, problem: str, *, log: bool = True) -> None:
        problem = strip_passwords(problem)  # the address of the site may contain some
        if log and problem != self.problem:
            _log.warning("%s; %s", problem, "the last good copy is served" if self.current else "retrying")
        self.problem = problem


def is_complete(library: Library) -> bool:
    """Return whether every section of a site can be read and matches its digest."""
    pages = library.manifest.pages
    try:
        for start in range(0, len(pages), _PAGES_PER_BATCH):
            batch = pages[start : start + _PAGES_PER_BATCH]
            library.prefetch(batch)
            for page in batch:
                for index in range(len(page.sections)):
                    library.text(SectionRef(page, index))
    except LibraryError:
        return False
    return True


class LocalizedSite:
    """A site in its languages; `main` watches the one that was opened.

    The other languages are those that the manifest names and that are below the site itself, so that no manifest can
    refer to another server. Each is opened and checked like the first one, which answers until then.
    """

    def __init__(self, main: SiteWatcher, create_watcher: Callable[[str | Path], SiteWatcher]) -> None:
        self.main = main
        self._create_watcher = create_watcher
        self._translations: dict[str, SiteWatcher] = {}

    def now(self, language: str = "") -> Deployment:
        """Return the current deployment in a language. Raise ProblemError if there is none at all."""
        main = self.main.now()
        tag = language.replace("_", "-").lower()
        for candidate in (tag, tag.partition("-")[0]):
            if not candidate or candidate == main.library.manifest.site.language.lower():
                return main
            watcher = self._translations.get(candidate)
            if watcher is not None and watcher.current is not None:
                return watcher.current
        return main

    async def run(self) -> None:
        """Open and check all languages. Runs until cancelled."""
        async with anyio.create_task_group() as group:
            group.start_soon(self.main.run)
            while True:
                for watcher in self._add_languages():
                    group.start_soon(watcher.run)
                await anyio.sleep(min(self.main.look_every, _LANGUAGE_POLL_SECONDS))

    async def check(self) -> None:
        """Check all languages once."""
        await self.main.check()
        self._add_languages()
        for watcher in self._translations.values():
            await watcher.check()

    def _add_languages(self) -> list[SiteWatcher]:
        """Return new watchers for the languages that are new in the manifest and below the opened site."""
        added: list[SiteWatcher] = []
        if self.main.current is None:
            return added
        library = self.main.current.library
        site = library.manifest.site
        for alternate in site.alternates:
            language = (alternate.language or "").lower()
            path = alternate.manifest.removeprefix(site.url).lstrip("/")
            is_below = alternate.manifest.startswith(site.url) and _is_plain(path.removesuffix(MANIFEST_PATH))
            is_new = language and language not in self._translations and len(self._translations) < MAX_LANGUAGES
            if is_new and is_below and path.endswith(MANIFEST_PATH) and alternate.version in (None, site.version):
                is_remote = library.where.lower().startswith(_WEB_SCHEMES)
                watcher = self._create_watcher(library.where + path if is_remote else Path(library.where) / path)
                self._translations[language] = watcher
                added.append(watcher)
        return added


def _is_plain(path: str) -> bool:
    """Return whether a path ends with a slash and leads through folders only: `de/`, but not `../` and not `//`."""
    *folders, end = path.split("/")
    is_plain = all(folder and folder[0] != "." and _FOLDER_CHARS.issuperset(folder) for folder in folders)
    return bool(folders) and is_plain and not end


# Change detection: `poll` returns the digest in the manifest (empty if it has none), or None if the manifest has not
# changed since the last call. It raises LibraryError if the manifest cannot be read.


def open_change_detector(target: str | Path, library: Library, *, seconds: float = FETCH_TIMEOUT) -> ChangeDetector:
    """Return a detector for the site that a library was opened from. A server has some seconds to answer."""
    text = str(target)
    if text.lower().startswith(_WEB_SCHEMES):
        is_file = not library.is_published or urlsplit(text).path.endswith(".json")
        client = HttpClient(text, seconds=seconds)
        return _HttpChanges(text.partition("#")[0] if is_file else library.where + MANIFEST_PATH, client)
    if "://" in text or text.startswith(INSTALLED_SCHEME):  # a plugin opened it, or there are several folders
        return _VersionChanges(library.version, lambda: library.file(MANIFEST_PATH))
    path = Path(target) if Path(target).is_file() else Path(library.where) / MANIFEST_PATH
    return _VersionChanges(lambda: _file_version(path), lambda: read_file(path, MAX_MANIFEST_BYTES))


class _VersionChanges:
    """Reads the manifest if its version changed."""

    def __init__(self, version: Callable[[], object], read: Callable[[], bytes]) -> None:
        self._version = version
        self._read = read
        self._seen: object = None

    def poll(self) -> str | None:
        version = self._version()
        if version and version == self._seen:
            return None
        digest = _parse_digest(self._read())
        self._seen = version  # only now: a manifest that could not be read is new at the next check
        return digest


def _file_version(path: Path) -> tuple[int, int, int]:
    try:
        status = path.stat()
    except OSError as error:
        raise LibraryError(f"{path}: cannot be read ({error.strerror})") from None
    return status.st_mtime_ns, status.st_size, status.st_ino


class _HttpChanges:
    """Sends conditional requests."""

    def __init__(self, url: str, client: HttpClient) -> None:
        self._url = url
        self._client = client
        self._conditions: dict[str, str] = {}

    def poll(self) -> str | None:
        response = self._client.get(self._url, MAX_MANIFEST_BYTES, self._conditions)
        if response.status == 304:
            return None
        if response.status != 200:
            raise LibraryError(f"{self._url}: status {response.status}, expected 200")
        validators = {"etag": "If-None-Match", "last-modified": "If-Modified-Since"}
        self._conditions = {
            condition: response.headers[name] for name, condition in validators.items() if name in response.headers
        }
        return _parse_digest(response.body)


ChangeDetector = _VersionChanges | _HttpChanges


def _parse_digest(body: bytes) -> str:
    """Return the digest that a manifest declares, without checking it."""
    try:
        data: object = decode_json(body)
    except ValueError:
        return ""
    return str(data.get("digest", "")) if isinstance(data, dict) else ""
