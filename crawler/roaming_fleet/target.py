"""A store of many sites as a target of the commands: `roaming search s3://bucket/store WORDS`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from itertools import chain
from typing import Any

from mkdocs_roaming.errors import LibraryError, UsageError
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.library.targets import (
    Candidate,
    LibraryTarget,
    ResolvedAddress,
    SearchFactory,
    SiteInfo,
    SiteTarget,
    TargetHit,
    branch_id,
)
from roaming_fleet.bucket_reader import open_bucket_site
from roaming_fleet.buckets.base import is_bucket_url
from roaming_fleet.collection import Collection, OpenSite, RankedSite, is_store
from roaming_fleet.tools import StoreNavigator, resolve_site


def open_store_target(
    where: str,
    *,
    search: SearchFactory = Search,
    trust_rules: bool = False,
    open_sites: int = 5,
    refresh_seconds: float = 60.0,
) -> LibraryTarget | None:
    """Return a store, or one site in a bucket; None for other folders and addresses (`roaming.libraries`)."""
    if is_store(where):
        return StoreTarget(Collection(where, finding=search, kept=open_sites, every=refresh_seconds))
    if is_bucket_url(where):
        return SiteTarget(where, search=search, trust_rules=trust_rules, opener=open_bucket_site)
    return None


class StoreTarget:
    """A store of many sites; it also is its own `Store` of servers."""

    def __init__(self, collection: Collection) -> None:
        self.collection = collection

    @property
    def where(self) -> str:
        """The store's folder or address."""
        return self.collection.where

    @property
    def store(self) -> StoreTarget:
        """The servers over all sites: this object."""
        return self

    def open_site(self) -> Library:
        """Raise UsageError: a store is not one site."""
        raise self._many_sites()

    def resolve(self, addresses: Iterable[str]) -> list[ResolvedAddress]:
        """Return the sites that addresses of sections are on, each opened once, and the addresses in them."""
        opened: dict[str, OpenSite] = {}
        resolved = []
        for address in addresses:
            key, rest = resolve_site(self.collection, address)
            if key is None:
                raise self._no_site(address) if ":" in address else self._many_sites()
            if not rest:
                hint = f"`roaming outline {self.where} {key}` shows what is in it"
                raise UsageError(f"{self.where}: {key} is a site; {hint}")
            if key not in opened:
                opened[key] = self.collection.open(key)
            site = opened[key]
            resolved.append(ResolvedAddress(site.library, rest.removesuffix("+"), _site_info(site)))
        return resolved

    def resolve_branch(self, branch: str | None) -> ResolvedAddress:
        """Return the site that a branch of an outline is on, and its id there; a key alone is a whole site."""
        if not branch:
            raise self._many_sites()
        key, rest = resolve_site(self.collection, branch)
        if key is None:
            raise self._no_site(branch)
        site = self.collection.open(key)
        return ResolvedAddress(site.library, branch_id(site.library, rest), _site_info(site))

    def search(self, query: str, limit: int) -> list[TargetHit]:
        """Return the best sections of the sites that fit a query best."""
        return [
            TargetHit(one.library, one.hit, one.score, _site_info(one.site))
            for one in self.collection.find(query, limit=limit)
        ]

    def candidates(self, question: str, page: str | None, *, warn: Callable[[str], None]) -> Iterator[Candidate]:
        """Yield the sites that fit a question best; first that of the reader's page if the question names none."""
        from mkdocs_roaming.answer.conversation import check_question

        collection, where = self.collection, self.where
        named, bare_question = collection.named(question), collection.asks(question)
        check_question(bare_question)
        if not collection.keys:
            raise LibraryError(f"{where}: there are no sites in it; crawl some: `roaming crawl --many FILE -o {where}`")
        if not collection.crawled and not named:
            raise LibraryError(f"{where}: none of its sites could be crawled yet; `roaming sites {where}` tells why")
        home, page_in_home = self._resolve_page(page, warn)
        first = collection.rank(f"{home}:") if home and not named else []
        others = (site for site in collection.choose(question) if named or site.key != home)
        for site in chain(first, others):
            own_page = page_in_home if home in (None, site.key) else None
            yield Candidate(collection.plain(site.key), bare_question, own_page, _site_info(site))

    @property
    def instructions(self) -> str:
        """The instructions of an MCP server over all sites."""
        from mkdocs_roaming.serve.mcp import STORE_INSTRUCTIONS

        return STORE_INSTRUCTIONS

    def toolset(self) -> StoreNavigator:
        """Return the tools over all sites."""
        return StoreNavigator(self.collection)

    def create_app(self, policy: Any, *, key: bytes = b"") -> Callable[..., Awaitable[None]]:
        """Return the ASGI application of the store."""
        from roaming_fleet.app import create_store_app

        return create_store_app(self.collection, policy, key=key)

    def _resolve_page(self, page: str | None, warn: Callable[[str], None]) -> tuple[str | None, str | None]:
        """Return the site of the reader's page, and the page as that site has it; a path may be any site's."""
        home, own = resolve_site(self.collection, page) if page and ":" in page else (None, "")
        if home is not None:
            return home, own.removeprefix(f"{home}:") or None
        if page and "://" in page:
            warn(f"{self.where}: no site in it has the address {page}; what is asked is asked as from no page")
        return None, page

    def _many_sites(self) -> UsageError:
        where = self.where
        return UsageError(f"{where}: holds many sites; name one of them: {where}/SITE (`roaming sites {where}`)")

    def _no_site(self, text: str) -> UsageError:
        site = f"has the address {text}" if "://" in text else ""
        if site:
            return UsageError(f"{self.where}: no site in it {site}; `roaming sites {self.where}` lists them")
        key = text.partition(":")[0].strip()
        return UsageError(f"{self.where}: no site {key}; `roaming sites {self.where}` lists them")


def _site_info(site: OpenSite | RankedSite) -> SiteInfo:
    return SiteInfo(site.key, site.entry.title, site.entry.crawled)
