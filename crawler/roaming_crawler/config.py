"""Configuration of a crawl."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urljoin

from mkdocs_roaming._version import __version__
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.publish.options import PublishOptions
from roaming_crawler.scope import Scope, scope_from_url, url_origin

if TYPE_CHECKING:
    from mkdocs_roaming.embeddings.store import EmbeddingsOptions

Source = Literal["auto", "html", "markdown"]
MEGABYTE = 1_000_000

EventHandler = Callable[[str, dict[str, Any]], None]
"""Callback for progress events: the event's name and its data."""


@dataclass(frozen=True, slots=True)
class CrawlLimits:
    """Limits of a crawl; None means unlimited."""

    pages: int | None = 5_000
    depth: int | None = 20
    """Maximum number of links followed in a row."""
    seconds: float | None = None
    page_bytes: int = 10 * MEGABYTE
    total_bytes: int | None = 1_000 * MEGABYTE


@dataclass(frozen=True, slots=True)
class Politeness:
    """How a host is treated: request rate, connections, time-outs, identification."""

    delay: float = 1.0
    """Seconds between the starts of two requests to one host."""
    connections: int = 2
    """Maximum number of simultaneous connections to one host."""
    seconds: float = 60.0
    """Maximum duration of one response, however slowly it arrives."""
    redirects: int = 5
    header_bytes: int = 64 * 1024
    tries: int = 3
    max_retry_after: float = 120.0
    """Longest Retry-After, in seconds, that is waited for."""
    contact: str = ""
    user_agent: str = ""
    """Replacement for the default User-Agent."""

    @property
    def user_agent_header(self) -> str:
        """The User-Agent of every request."""
        contact = f"; {self.contact}" if self.contact and not self.user_agent else ""
        return self.user_agent or f"mkdocs-roaming/{__version__} (documentation crawler{contact})"


@dataclass(frozen=True, slots=True)
class ScopeConfig:
    """Which part of a site is crawled: everything below the given URL, below `prefix`, or on the whole host.

    Of several languages and versions, one of each is crawled: that of the start page, or `language` and `version`. The
    value `all` leaves nothing out.
    """

    prefix: str = ""
    same_host: bool = False
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    strict: bool = False
    """Whether a pattern that matches no page is an error."""
    language: str = ""
    version: str = ""

    @property
    def selects_version(self) -> bool:
        """Whether the scope is chosen by the URL alone, so that it may be one of several versions."""
        return not self.prefix and not self.same_host

    def make_scope(self, url: str) -> Scope:
        """Return the scope of a crawl that starts at a URL.

        Raises:
            UsageError: The prefix is on another host.
        """
        if self.same_host:
            start = url_origin(url) + "/" if not url.startswith("file:") else scope_from_url(url).url
        elif self.prefix:
            start = scope_from_url(urljoin(url, self.prefix)).url
            if url_origin(start) != url_origin(url):
                raise UsageError(
                    f"--prefix {self.prefix}: not on {url_origin(url)}; give a path, or a URL on that host"
                )
        else:
            start = scope_from_url(url).url
        return Scope(start, self.include, self.exclude)


@dataclass(frozen=True, slots=True)
class DiscoveryConfig:
    """Which published lists of pages are used."""

    manifest: bool = True
    llms: bool = True
    sitemap: bool = True


@dataclass(frozen=True, slots=True)
class CrawlConfig:
    """Configuration of the crawl of one site."""

    name: str | None = None
    description: str | None = None
    limits: CrawlLimits = field(default_factory=CrawlLimits)
    politeness: Politeness = field(default_factory=Politeness)
    scope: ScopeConfig = field(default_factory=ScopeConfig)
    discovery: DiscoveryConfig = field(default_factory=DiscoveryConfig)
    links: bool = True
    """Whether links on pages are followed."""
    source: Source = "auto"
    """Whether a page is converted from its HTML, or its own Markdown is used (default: what holds more)."""
    resume: bool = False
    refresh: bool = False
    allow_private: bool = False
    """Whether the host and port of the start URL may have private addresses."""
    workers: int = 2
    """Number of processes that parse pages; 0 uses a thread of this process."""
    skip_flagged: bool = False
    """Whether pages with text that seems to be written for language models are left out."""
    page_copies: bool = True
    """Whether pages are written to both paths where agents look for them on a website."""
    options: PublishOptions = field(default_factory=PublishOptions)
    embeddings: EmbeddingsOptions | None = None
    """The model whose embeddings are published."""
