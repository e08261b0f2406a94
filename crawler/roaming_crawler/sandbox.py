"""Worker processes that parse untrusted pages during a crawl."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import anyio
import anyio.to_process
import anyio.to_thread
import msgspec

from mkdocs_roaming.html.converter import convert
from mkdocs_roaming.manifest.models import Heading, NavItem
from roaming_crawler.fetch import Response
from roaming_crawler.parser import ParsedPage, parse_page

_PARSE_TIMEOUT = 60.0
_CRASH = "crashes the parser"
_CACHED_NAVS = 64
_decode_nav = lru_cache(_CACHED_NAVS)(msgspec.msgpack.Decoder(tuple[NavItem, ...]).decode)


@dataclass(frozen=True, slots=True)
class PageParser:
    """Parses pages, and converts them for a comparison: in worker processes, or with `--workers 0` in threads."""

    site_url: str
    limiter: anyio.CapacityLimiter
    use_processes: bool

    async def parse(self, response: Response) -> ParsedPage:
        """Return the parsed page, with a reason to skip it if it cannot be parsed."""
        try:
            data = await self._run(parse_encoded_page, response, self.site_url)
            nav, page = msgspec.msgpack.decode(data, type=tuple[bytes, ParsedPage])
            return replace(page, nav=_decode_nav(nav))
        except TimeoutError:
            return ParsedPage(skip_reason=f"not parsed within {_PARSE_TIMEOUT:g} s")
        except anyio.BrokenWorkerProcess:
            return ParsedPage(skip_reason=_CRASH)

    async def convert_to_compare(self, page: ParsedPage) -> tuple[str, tuple[Heading, ...]]:
        """Return the Markdown of a page's HTML, to compare its own Markdown with, and its headings with their anchors.

        This Markdown is not published: of a page whose HTML holds more, the article is converted by `publish_crawl`,
        without what all pages repeat.
        """
        try:
            data = await self._run(convert_encoded_article, page.article, page.title)
            return msgspec.msgpack.decode(data, type=tuple[str, tuple[Heading, ...]])
        except (TimeoutError, anyio.BrokenWorkerProcess):
            return "", ()

    async def _run(self, function: Callable[..., bytes], *arguments: object) -> bytes:
        if not self.use_processes:
            return await anyio.to_thread.run_sync(function, *arguments, limiter=self.limiter)
        async with self.limiter:  # outside of the timeout: other pages may be slow
            with anyio.fail_after(_PARSE_TIMEOUT):
                own = anyio.CapacityLimiter(1)
                return await anyio.to_process.run_sync(function, *arguments, cancellable=True, limiter=own)


def parse_encoded_page(response: Response, site_url: str) -> bytes:
    """Return the encoded form of a parsed page, with its navigation apart, which pages have in common."""
    page = parse_page(response, site_url)
    return msgspec.msgpack.encode((msgspec.msgpack.encode(page.nav), replace(page, nav=())))


def convert_encoded_article(article: str, title: str) -> bytes:
    """Return the encoded Markdown of an article, and its headings with their anchors."""
    try:
        converted = convert(article, title=title)
    except Exception:  # the conversion for publication reports the problem
        return msgspec.msgpack.encode(("", ()))
    return msgspec.msgpack.encode((converted.markdown, converted.headings))
