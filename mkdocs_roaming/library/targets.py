"""What the LIB argument of a command names: one site, or a store of many sites that a plugin opens.

The commands use `LibraryTarget` alone, so they work on both. Plugins register a `LibraryFactory` in the entry-point
group `roaming.libraries`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from mkdocs_roaming.library.library import Library, open_library, open_with_plugins
from mkdocs_roaming.library.search import Finder, Hit, Search
from mkdocs_roaming.library.tools import Toolset
from mkdocs_roaming.manifest.io import MANIFEST_PATH

SearchFactory = Callable[[Library], Finder]


@dataclass(frozen=True, slots=True)
class SiteInfo:
    """A site of a store. `crawled` is the time of its last crawl, in seconds since the epoch."""

    key: str
    title: str
    crawled: float


@dataclass(frozen=True, slots=True)
class ResolvedAddress:
    """An address within one library; empty for the whole site. `site` is None outside of a store."""

    library: Library
    address: str
    site: SiteInfo | None = None


@dataclass(frozen=True, slots=True)
class TargetHit:
    """A search hit, the library it is from, and its score among the hits of all sites."""

    library: Library
    hit: Hit
    score: float
    site: SiteInfo | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A library that may answer a question, with the question and the reader's page as that library has them."""

    library: Library
    question: str
    page: str | None = None
    site: SiteInfo | None = None


class Store(Protocol):
    """What serves many sites at once."""

    @property
    def instructions(self) -> str:
        """The instructions of an MCP server for the tools over all sites."""
        ...

    def toolset(self) -> Toolset:
        """Return the three tools over all sites, with nothing opened yet."""
        ...

    def create_app(self, policy: Any, *, key: bytes = b"") -> Callable[..., Awaitable[None]]:
        """Return the ASGI application.

        Args:
            policy: A `serve.middleware.RequestPolicy`.
            key: Hashes the addresses of clients in counters.
        """
        ...


class LibraryTarget(Protocol):
    """One site or a store of sites, as the commands use it."""

    @property
    def where(self) -> str:
        """The LIB argument."""
        ...

    @property
    def store(self) -> Store | None:
        """The servers of a store of many sites; None for one site, which `serve` serves by itself."""
        ...

    def open_site(self) -> Library:
        """Return the library of the only site.

        Raises:
            UsageError: This is a store; the message says how to name one of its sites.
            LibraryError: The site cannot be opened.
        """
        ...

    def resolve(self, addresses: Iterable[str]) -> list[ResolvedAddress]:
        """Return the library and the address in it for addresses of sections, in order.

        Raises:
            UsageError: An address names no site of the store, or a whole site.
        """
        ...

    def resolve_branch(self, branch: str | None) -> ResolvedAddress:
        """Return the library and the id of a branch of the outline; None is the whole outline.

        Raises:
            UsageError: The branch names no site of the store.
        """
        ...

    def search(self, query: str, limit: int) -> Sequence[TargetHit]:
        """Return the best sections for a query, best first."""
        ...

    def candidates(self, question: str, page: str | None, *, warn: Callable[[str], None]) -> Iterator[Candidate]:
        """Yield the libraries to ask, one after the other until one has an answer.

        Args:
            question: May begin with the key of a site: `ruff: how are rules chosen?`.
            page: The page that the reader is on: its path or address.
            warn: Called with a line if the page is on no site.
        """
        ...


class LibraryFactory(Protocol):
    """An entry point of the group `roaming.libraries`.

    It is called for addresses with a scheme other than http(s), and for folders without a manifest.
    """

    def __call__(
        self,
        where: str,
        *,
        search: SearchFactory = Search,
        trust_rules: bool = False,
        open_sites: int = 5,
        refresh_seconds: float = 60.0,
    ) -> LibraryTarget | None:
        """Return the target, or None if the address or folder is not of this kind.

        Raises:
            LibraryError: It is of this kind, and cannot be read.
        """
        ...


class SiteTarget:
    """One published site, or one Markdown file; opened when it is first needed."""

    store = None

    def __init__(
        self,
        where: str,
        *,
        search: SearchFactory = Search,
        trust_rules: bool = False,
        opener: Callable[[str], Library] = open_library,
    ) -> None:
        self.where = where
        self._search, self._trust_rules, self._opener = search, trust_rules, opener

    @cached_property
    def library(self) -> Library:
        """The site's library."""
        library = self._opener(self.where)
        library.trusted = library.trusted or self._trust_rules
        return library

    def open_site(self) -> Library:
        """Return the library."""
        return self.library

    def resolve(self, addresses: Iterable[str]) -> list[ResolvedAddress]:
        """Return the addresses with this site's library."""
        return [ResolvedAddress(self.library, address) for address in addresses]

    def resolve_branch(self, branch: str | None) -> ResolvedAddress:
        """Return the id of a branch with this site's library."""
        return ResolvedAddress(self.library, branch_id(self.library, branch or ""))

    def search(self, query: str, limit: int) -> list[TargetHit]:
        """Return the best sections for a query, best first."""
        library = self.library
        return [TargetHit(library, hit, hit.score) for hit in self._search(library).find(query, limit=limit)]

    def candidates(self, question: str, page: str | None, *, warn: Callable[[str], None]) -> Iterator[Candidate]:
        """Yield this site."""
        yield Candidate(self.library, question, page)


def open_target(
    where: str,
    *,
    search: SearchFactory = Search,
    trust_rules: bool = False,
    open_sites: int = 5,
    refresh_seconds: float = 60.0,
) -> LibraryTarget:
    """Return what a LIB argument names.

    Args:
        where: A folder, a Markdown file, an http(s) address, or an address that a plugin knows (`s3://…`).
        search: Makes the search of a library.
        trust_rules: Follow the rules of a site that is not the user's own.
        open_sites: Number of sites of a store that stay open.
        refresh_seconds: Time after which a store is read again.

    Raises:
        LibraryError: No plugin knows the scheme of the address, or a store cannot be read.
    """
    if not _is_site(where):
        target: LibraryTarget | None = open_with_plugins(
            where, search=search, trust_rules=trust_rules, open_sites=open_sites, refresh_seconds=refresh_seconds
        )
        if target is not None:
            return target
    return SiteTarget(where, search=search, trust_rules=trust_rules)


def branch_id(library: Library, branch: str) -> str:
    """Return the id of a branch of the outline that may be given as an address; a `+` at its end stays."""
    bare = branch.removesuffix("+")
    section = library.sections.resolve(bare) if bare else None
    return section.id + branch[len(bare) :] if section else branch


def _is_site(where: str) -> bool:
    """Return True if `where` is one site without asking plugins; a path that does not exist is one, too."""
    if "://" in where:
        return where.lower().startswith(("http://", "https://"))
    path = Path(where)
    try:
        return not path.is_dir() or (path / MANIFEST_PATH).is_file() or (path / "manifest.json").is_file()
    except (OSError, ValueError):
        return True
