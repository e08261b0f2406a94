"""Configuration of a crawl."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal
from urllib.parse import urljoin

from msgspec import Meta

from mkdocs_roaming._version import __version__
from mkdocs_roaming.embeddings.config import ModelFinder
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.publish.options import PublishOptions
from roaming_crawler.scope import Scope, scope_url, url_origin

Source = Literal["auto", "html", "markdown"]
MEGABYTE = 1_000_000

EventHandler = Callable[[str, dict[str, Any]], None]
"""Callback for progress events: the event's name and its data."""


def _limit(description: str, least: float, most: float | None = None, *, option: str | None = None) -> Meta:
    return Meta(ge=least, le=most, description=description, extra={"option": option} if option else None)


@dataclass(frozen=True, slots=True)
class CrawlLimits:
    """Limits of a crawl; None means unlimited."""

    pages: Annotated[int | None, _limit("Maximum number of pages.", 1, option="max_pages")] = 5_000
    depth: Annotated[int | None, _limit("Maximum number of links followed in a row.", 0, option="max_depth")] = 20
    seconds: Annotated[float | None, _limit("Maximum duration of the crawl in seconds.", 0, option="max_seconds")] = (
        None
    )
    page_bytes: Annotated[int, _limit("Maximum size of a page, decompressed.", 1000, option="max_page_bytes")] = (
        10 * MEGABYTE
    )
    total_bytes: Annotated[int | None, _limit("Maximum size of all pages.", 1000, option="max_bytes")] = (
        1_000 * MEGABYTE
    )


@dataclass(frozen=True, slots=True)
class Politeness:
    """How a host is treated: request rate, connections, time-outs, identification."""

    delay: Annotated[float, _limit("Seconds between requests to a host.", 0)] = 1.0
    connections: Annotated[int, _limit("Simultaneous connections to a host.", 1, 8)] = 2
    seconds: Annotated[float, _limit("Maximum seconds for a response.", 0.1, option="timeout")] = 60.0
    """However slowly it arrives."""
    tries: int = 3
    max_retry_after: float = 120.0
    """Longest Retry-After, in seconds, that is waited for."""
    contact: Annotated[
        str, Meta(description="Your e-mail or web address for the User-Agent.", extra={"envvar": "ROAMING_CONTACT"})
    ] = ""
    user_agent: Annotated[str, Meta(description="User-Agent; its first word is the name in robots.txt.")] = ""

    @property
    def user_agent_header(self) -> str:
        """The User-Agent of every request."""
        contact = f"; {self.contact}" if self.contact and not self.user_agent else ""
        return self.user_agent or f"mkdocs-roaming/{__version__} (documentation crawler{contact})"


@dataclass(frozen=True, slots=True)
class ScopeConfig:
    """Which part of a site is crawled: everything below the given URL, or below `prefix`.

    Of several languages and versions, one of each is crawled: that of the start page, or `language` and `version`. The
    value `all` leaves nothing out.
    """

    prefix: Annotated[
        str,
        Meta(
            description="Crawl pages below this path or URL instead of below URL; / for the whole host.",
            extra={"metavar": "PATH"},
        ),
    ] = ""
    include: Annotated[
        tuple[str, ...], Meta(description="Crawl only matching pages.", extra={"metavar": "PATTERN"})
    ] = ()
    exclude: Annotated[
        tuple[str, ...], Meta(description="Do not crawl matching pages.", extra={"metavar": "PATTERN"})
    ] = ()
    strict: Annotated[
        bool, Meta(description="Publish nothing if a pattern matches no page; exit with 4 if a page lost words.")
    ] = False
    language: Annotated[
        str,
        Meta(
            description="Language to crawl, such as pt; all for every language (default: that of the start page).",
            extra={"metavar": "TAG"},
        ),
    ] = ""
    version: Annotated[
        str,
        Meta(
            description="Version to crawl, such as 2.x; all for every version (default: that of the start page).",
            extra={"metavar": "NAME"},
        ),
    ] = ""

    @property
    def selects_version(self) -> bool:
        """Whether the scope is chosen by the URL alone, so that it may be one of several versions."""
        return not self.prefix

    def make_scope(self, url: str) -> Scope:
        """Return the scope of a crawl that starts at a URL.

        Raises:
            UsageError: The prefix is on another host.
        """
        prefix = scope_url(urljoin(url, self.prefix))
        if url_origin(prefix) != url_origin(url):
            raise UsageError(f"--prefix {self.prefix}: not on {url_origin(url)}; give a path, or a URL on that host")
        return Scope(prefix, self.include, self.exclude)


@dataclass(frozen=True, slots=True)
class DiscoveryConfig:
    """Which published lists of pages are used."""

    manifest: Annotated[bool, Meta(description="Mirror a site with a manifest instead of crawling it.")] = True
    llms: Annotated[bool, Meta(description="Use llms.txt.")] = True
    sitemap: Annotated[bool, Meta(description="Use sitemaps.")] = True


@dataclass(frozen=True, slots=True)
class CrawlConfig:
    """Configuration of the crawl of one site."""

    name: Annotated[str | None, Meta(description="Name of the site (default: from its llms.txt or pages).")] = None
    description: Annotated[str | None, Meta(description="Description of the site for llms.txt, one sentence.")] = None
    limits: CrawlLimits = field(default_factory=CrawlLimits)
    politeness: Politeness = field(default_factory=Politeness)
    scope: ScopeConfig = field(default_factory=ScopeConfig)
    discovery: DiscoveryConfig = field(default_factory=DiscoveryConfig)
    links: Annotated[bool, Meta(description="Follow links on pages.")] = True
    source: Annotated[
        Source, Meta(description="Convert the HTML, or use the site's own Markdown; auto takes what holds more.")
    ] = "auto"
    refresh: Annotated[bool, Meta(description="Revalidate all pages with conditional requests.")] = False
    allow_private: Annotated[bool, Meta(description="Allow a private address for the host and port of URL.")] = False
    workers: Annotated[int, _limit("Number of processes that parse pages.", 0, 64)] = 2
    """0 uses a thread of this process."""
    skip_flagged: Annotated[bool, Meta(description="Leave out pages with text written for language models.")] = False
    page_copies: bool = True
    """Whether pages are written to both paths where agents look for them on a website."""
    options: PublishOptions = field(default_factory=PublishOptions)
    embeddings: ModelFinder | None = None
    """The model whose embeddings are published."""
