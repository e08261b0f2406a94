"""The site as it stands now: opened, watched, and changed for a newer deployment between two answers.

An answer keeps the deployment that it began with. A deployment that is only half written is not taken: the last good
one goes on answering, and the next look may find the rest.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from mkdocs_roaming.answer.threads import in_thread
from mkdocs_roaming.errors import LibraryError, RoamingError
from mkdocs_roaming.places import Place
from mkdocs_roaming.roam.library import KEPT, Library, open_library
from mkdocs_roaming.roam.meaning import Finder, Hybrid
from mkdocs_roaming.roam.navigator import Navigator
from mkdocs_roaming.roam.search import Search
from mkdocs_roaming.serve.bodies import Bodies
from mkdocs_roaming.serve.changes import Watch, watch
from mkdocs_roaming.serve.problems import Refused
from mkdocs_roaming.serve.redaction import without_passwords

EVERY = 60.0
"""The seconds between two looks at the site."""
PATIENCE = 600.0
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
    bodies: Bodies = field(default_factory=Bodies, compare=False)

    @property
    def digest(self) -> str:
        """The site's digest."""
        return self.library.manifest.digest

    def navigator(self, telling: Callable[[LibraryError], str] = str) -> Navigator:
        """Give a navigator for one conversation; `telling` gives what is said of a section that cannot be read."""
        return Navigator(self.library, search=self.search, telling=telling)


class Deployments:
    """The deployments of one site, one after the other. `run` opens and watches until it is cancelled.

    `current` is the one to answer from, None until the site could be opened; `problem` says in one line what is wrong
    with the site now, empty while nothing is. `taken` is called, in a thread, whenever one was changed over to.
    """

    def __init__(
        self,
        where: str | Path,
        *,
        every: float = EVERY,
        patience: float = PATIENCE,
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
        self._watch: Watch | None = None
        self._awaited: str | None = None  # the digest of a newer deployment that was seen and is not taken yet
        self._refused: tuple[str, float] | None = None
        self._next_repair = 0.0
        self._repairs = 0

    def now(self) -> Deployment:
        """Give the deployment to answer from; raises Refused while there is none."""
        if self.current is None:
            raise Refused(503, "no_site", "The documentation cannot be read at the moment.", retry_after=_RETRY)
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
            found = await in_thread(self._look)
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
            await in_thread(self._taken)
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
            self._watch = watch(self.where, current.library)
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
        whole = is_whole(library)
        search = self._finding(library)
        if whole or self.current is None:
            _prepare(search)  # here, not while a reader waits
        near = whole and sum(page.bytes for page in library.manifest.pages) <= KEPT
        # A question that waits for its vector must not keep others from computing.
        library.near = (library.near or near) and not isinstance(search, Hybrid)
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
        _log.info("%s %s: %d sections, %s", word, manifest.site.name, len(found.library.places), manifest.digest[:19])
        if before is not None:
            self.changes += 1
        if found.whole:
            self.problem = ""
        else:
            self._say_problem(f"{self.where}: sections are missing or do not fit the manifest, and are left out")

    def _say_problem(self, problem: str, *, aloud: bool = True) -> None:
        problem = without_passwords(problem)  # the site's address may hold some
        if aloud and problem != self.problem:
            _log.warning("%s; %s", problem, "the last good copy goes on answering" if self.current else "trying again")
        self.problem = problem

    def _say_well(self) -> None:
        if self.problem:
            _log.info("%s: can be read again", without_passwords(str(self.where)))
        self.problem = ""


def _prepare(search: Finder) -> None:
    """Build the index, and read the vectors; no endpoint is asked."""
    words = search
    if isinstance(search, Hybrid):
        words = search.words
        search.meaning.load()
    words.pages("page")


def is_whole(library: Library) -> bool:
    """Tell whether every section of a site can be read and fits its digest; stops at the first that does not."""
    pages = library.manifest.pages
    try:
        for begin in range(0, len(pages), _AT_ONCE):
            batch = pages[begin : begin + _AT_ONCE]
            library.prefetch(batch)
            for page in batch:
                for at in range(len(page.sections)):
                    library.text(Place(page, at))
    except LibraryError:
        return False
    return True


_AT_ONCE = 200  # pages
_RETRY = 5.0
_LONGEST_WAIT = 30.0
_SELDOM = 3_600.0
