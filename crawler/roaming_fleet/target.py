"""A store as the LIB argument of the commands, such as `roaming search STORE WORDS`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from mkdocs_roaming.errors import LibraryError, UsageError
from mkdocs_roaming.library.grep import GrepResult
from mkdocs_roaming.library.library import Library, Origin
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.library.targets import (
    OPEN_SITES,
    REFRESH_SECONDS,
    Candidate,
    LibraryTarget,
    ResolvedAddress,
    SearchFactory,
    TargetHit,
    branch_id,
)
from roaming_fleet.collection import Collection, is_store
from roaming_fleet.records import site_info
from roaming_fleet.tools import CHARS_PER_TOKEN, INSTRUCTIONS, StoreNavigator, grep_sites, resolve_site


def open_store_target(
    where: str,
    *,
    search: SearchFactory = Search,
    trust_rules: bool = False,
    open_sites: int = OPEN_SITES,
    refresh_seconds: float = REFRESH_SECONDS,
) -> LibraryTarget | None:
    """Return a store; None for other folders and URLs (entry point `roaming.libraries`)."""
    if not is_store(where):
        return None
    return StoreTarget(Collection(where, search=search, open_sites=open_sites, refresh_seconds=refresh_seconds))


class StoreTarget:
    """A store of many sites: a `LibraryTarget` that is its own `Store`."""

    instructions = INSTRUCTIONS

    def __init__(self, collection: Collection) -> None:
        """Use the sites of a store."""
        self.collection = collection
        self.where = collection.where
        self.store = self

    def open_site(self) -> Library:
        """Raise UsageError, because a store has no single site."""
        raise self._store_given_error()

    def resolve(self, addresses: Iterable[str]) -> list[ResolvedAddress]:
        """Return the sites of sections, and the addresses in them."""
        resolved = []
        for address in addresses:
            key, rest = resolve_site(self.collection, address)
            if key is None:
                raise self._no_site_error(address) if ":" in address else self._store_given_error()
            if not rest:
                hint = f"`roaming outline {self.where} {key}` shows what is in it"
                raise UsageError(f"{self.where}: {key} is a site; {hint}")
            site = self.collection.open(key)
            resolved.append(ResolvedAddress(site.library, rest.removesuffix("+"), site_info(site.key, site.entry)))
        return resolved

    def resolve_branch(self, branch: str | None) -> ResolvedAddress:
        """Return the site of a branch of an outline, and the branch's id; a site's key alone is the whole outline."""
        key, rest = resolve_site(self.collection, branch or "")
        if key is None:
            raise self._no_site_error(branch) if branch else self._store_given_error()
        site = self.collection.open(key)
        return ResolvedAddress(site.library, branch_id(site.library, rest), site_info(site.key, site.entry))

    def search(self, query: str, limit: int) -> list[TargetHit]:
        """Return the best sections of the best sites for a query."""
        return self.collection.find(query, limit=limit)

    def grep(self, pattern: str, limit: int) -> GrepResult:
        """Return the sections with lines that contain a string, of the site that the pattern names or of all."""
        return grep_sites(self.collection, pattern, limit=limit)

    def candidates(self, question: str, page: str | None, *, warn: Callable[[str], None]) -> Iterator[Candidate]:
        """Yield the best sites for a question."""
        from mkdocs_roaming.answer.conversation import check_question

        collection = self.collection
        where = self.where
        bare_question = collection.strip_site(question)
        check_question(bare_question)
        if not collection.keys:
            raise LibraryError(f"{where}: no sites in it; crawl some: `roaming crawl --many FILE -o {where}`")
        if not collection.crawled and not collection.named_site(question):
            raise LibraryError(f"{where}: none of its sites could be crawled yet; `roaming sites {where}` shows why")
        if page:
            warn(f"{where}: contains many sites; the page is ignored")
        for site in collection.choose(question):
            info = site_info(site.key, site.entry)
            yield Candidate(collection.open_plain(site.key), bare_question, None, info)

    @property
    def server(self) -> tuple[str, str]:
        """The name of an MCP server for the store, and the extra of this package that opens it."""
        return self.where.rstrip("/").rpartition("/")[2], "crawl"

    def list_sites(self, budget: int) -> tuple[str, Origin, str]:
        """Return the sites as text within a token budget, the label of that text, and the catalog's generation."""
        listing = StoreNavigator(self.collection, cap=budget * CHARS_PER_TOKEN).list_sites()
        return listing.text, listing.origin, self.collection.generation

    def render_index(self, max_bytes: int) -> tuple[str, str]:
        """Raise UsageError, because the index is that of one site."""
        raise self._store_given_error()

    def toolset(self) -> StoreNavigator:
        """Return the tools over all sites."""
        return StoreNavigator(self.collection)

    def create_app(self, config: Any) -> Any:
        """Return the ASGI application of the store."""
        from roaming_fleet.app import create_store_app

        return create_store_app(self.collection, config.policy, metrics_place=config.serve.metrics)

    def _store_given_error(self) -> UsageError:
        where = self.where
        return UsageError(f"{where}: contains many sites; name one of them: {where}/SITE (`roaming sites {where}`)")

    def _no_site_error(self, address: str) -> UsageError:
        site = f"in it has the address {address}" if "://" in address else address.partition(":")[0].strip()
        return UsageError(f"{self.where}: no site {site}; `roaming sites {self.where}` lists them")
