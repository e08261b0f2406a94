"""Retrieval of one page: its HTML article, or its own Markdown with the anchors of the HTML if that holds more."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Protocol

from mkdocs_roaming.manifest.models import Heading, NavItem
from mkdocs_roaming.publish.markdown_source import split_front_matter
from mkdocs_roaming.sources import decode_text
from roaming_crawler.config import Source
from roaming_crawler.contents import find_richer_source, shows_generator_source, sniff_kind
from roaming_crawler.fetch import FetchError, Response
from roaming_crawler.llms_full import split_llms_full
from roaming_crawler.parser import ParsedPage, split_words
from roaming_crawler.scope import Scope, canonical_url
from roaming_crawler.session import ACCEPT_ANY, ACCEPT_HTML, ACCEPT_MARKDOWN, LimitError, Session, find_header_ban


class PageReader(Protocol):
    """Parses HTML, possibly in another process."""

    async def page(self, response: Response) -> ParsedPage:
        """Return the parsed page."""
        ...

    async def convert(self, page: ParsedPage) -> tuple[str, tuple[Heading, ...]]:
        """Return the Markdown of a page, and its headings with their anchors."""
        ...


@dataclass(slots=True)
class PageRef:
    """A page to fetch: its URL, the URL of its Markdown, and metadata from the list or link that named it."""

    url: str
    markdown: str = ""
    title: str = ""
    description: str = ""
    depth: int = 0
    guessed: bool = False
    """Whether `url` was derived from the URL of the Markdown."""
    text: str | None = None
    """The Markdown, if llms-full.txt contained it."""


@dataclass(frozen=True, slots=True)
class PageBody:
    """Contents of a page: its HTML article, or its Markdown and the headings of its HTML."""

    article: str = ""
    markdown: str | None = None
    """None if the article is converted."""
    headings: tuple[Heading, ...] = ()


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """A page after retrieval. Its body is stored on disk later; `key` and `digest` identify it then."""

    url: str
    path: str
    title: str
    description: str = ""
    body: PageBody = PageBody()
    key: str = ""
    digest: str = ""
    markdown_url: str = ""
    is_stale: bool = False
    """Whether the contents are those of the last crawl."""
    links: tuple[str, ...] = ()
    nav_links: tuple[str, ...] = ()
    nav: tuple[NavItem, ...] = ()
    parsed: ParsedPage | None = None


@dataclass(frozen=True, slots=True)
class SkippedPage:
    """A page that is not published."""

    url: str
    reason: str
    links: tuple[str, ...] = ()
    nav: tuple[NavItem, ...] = ()


@dataclass(slots=True)
class MarkdownCapabilities:
    """How a host serves Markdown, and whether it holds more than the HTML, learned from the first pages.

    Attributes:
        forms: URL forms of Markdown that were found.
        page_suffixes: Suffixes that lead from the URL of Markdown to its page, the likeliest first.
        negotiates: Whether the host answers `Accept: text/markdown`.
        learning: Whether all forms are still tried, and both sources compared.
        wins: Number of pages by their richer source: `html`, `markdown` or `both`.
        without_html: Number of pages whose HTML has no text.
        not_found_words: Words of the page that the host returns with status 200 for a missing page.
        not_found_text_words: The same for missing Markdown.
    """

    forms: list[str] = field(default_factory=list)
    page_suffixes: list[str] = field(default_factory=lambda: ["/", "", ".html"])
    negotiates: bool = False
    learning: bool = True
    wins: Counter[str] = field(default_factory=Counter)
    without_html: int = 0
    not_found_words: frozenset[str] = frozenset()
    not_found_text_words: frozenset[str] = frozenset()


@dataclass(slots=True)
class PageFetcher:
    """Fetches the pages of one crawl.

    Attributes:
        full: URL of the llms-full.txt that the texts of `PageRef`s come from.
    """

    session: Session
    scope: Scope
    reader: PageReader
    capabilities: MarkdownCapabilities = field(default_factory=MarkdownCapabilities)
    source: Source = "auto"
    full: str = ""

    async def get(self, ref: PageRef) -> FetchedPage | SkippedPage:
        """Return the page, or why it is skipped."""
        try:
            return await self._get(ref)
        except LimitError:
            return SkippedPage(ref.url, self.session.stopped)
        except FetchError as error:
            return SkippedPage(ref.url, str(error).removeprefix(f"{ref.url}: "))

    async def read_html(self, ref: PageRef) -> ParsedPage | None:
        """Return the parsed HTML of a page, or None if it cannot be fetched or is not HTML."""
        try:
            return (await self._get_html(ref))[1]
        except FetchError:
            return None

    def last_url(self, ref: PageRef) -> str:
        """Return the URL at which the last crawl found the page, or an empty string."""
        if last := self.session.last_response(ref.url, ACCEPT_HTML):
            return last.url
        return ref.url if self.session.last_response(ref.markdown, ACCEPT_MARKDOWN) else ""

    async def learn_not_found_page(self) -> None:
        """Fetch a URL that cannot exist, because many hosts answer with status 200."""
        for url, accept in (
            (self.scope.url + _MISSING_NAME + "/", ACCEPT_HTML),
            (f"{self.scope.url}{_MISSING_NAME}.md", ACCEPT_MARKDOWN),
        ):
            try:
                response = await self.session.get(url, accept, probe=True)
            except FetchError:
                continue
            if not response.ok:
                continue
            if sniff_kind(response) == "html" and accept == ACCEPT_HTML:
                self.capabilities.not_found_words = (await self.reader.page(response)).words
            elif sniff_kind(response) == "markdown":
                text = decode_text(response.body, response.charset)
                self.capabilities.not_found_text_words = split_words(text)

    async def _get(self, ref: PageRef) -> FetchedPage | SkippedPage:
        text, text_url = None, ""
        if self.source == "markdown" or (self.source == "auto" and self._has_no_html(ref)):
            text, text_url = await self._get_listed_markdown(ref)
        response, parsed, reason = None, None, ""
        if text is None or (self.source == "markdown" and not ref.guessed):
            response, parsed, reason = await self._get_html(ref)
        if text is None and self._wants_markdown(ref, parsed):
            text, text_url = await self._get_listed_markdown(ref)
            if text is None and reason == _IS_MARKDOWN and ref.title:  # a list names it as a page
                text, text_url = await self._get_markdown(ref.url), ref.url
                if text is not None and len(split_llms_full(text, ref.url).by_url()) > 1:
                    return SkippedPage(ref.url, "contains several pages, each with its own URL")
            if text is None and response is not None and parsed is not None:
                text, text_url = await self._find_markdown(response, parsed)
        if text is None and reason:
            return SkippedPage(ref.url, reason, links=_all_links(parsed), nav=parsed.nav if parsed else ())
        if parsed is not None and parsed.skip_reason and not parsed.is_shell:
            return SkippedPage(ref.url, parsed.skip_reason, links=_all_links(parsed))
        headings: tuple[Heading, ...] = ()
        if text is not None:
            text, headings = await self._choose_source(text, text_url or ref.url, parsed)
        return self._make_page(ref, text, text_url, response, parsed, headings)

    def _has_no_html(self, ref: PageRef) -> bool:
        """Return whether a page is listed as Markdown, and its HTML not needed: the first pages have none."""
        capabilities = self.capabilities
        is_listed = ref.text is not None or bool(ref.markdown)
        return (
            is_listed and not capabilities.learning and capabilities.without_html > 1 and not capabilities.wins["html"]
        )

    def _wants_markdown(self, ref: PageRef, parsed: ParsedPage | None) -> bool:
        """Return whether the Markdown of a page is fetched after its HTML."""
        if self.source != "auto":
            return self.source == "markdown"
        if parsed is None or parsed.is_shell:
            return True
        if parsed.skip_reason:
            return False
        if self.capabilities.learning or self.capabilities.wins["markdown"] > self.capabilities.wins["html"]:
            return True
        if ref.text is not None:
            return len(split_words(ref.text)) > 2 * len(parsed.words)
        return len(parsed.words) < _MIN_WORDS

    async def _choose_source(
        self, text: str, text_url: str, parsed: ParsedPage | None
    ) -> tuple[str | None, tuple[Heading, ...]]:
        """Return the Markdown of a page and the headings of its HTML, or None if the HTML holds as much."""
        learning = self.capabilities.learning
        if parsed is None or parsed.is_shell:
            self.capabilities.without_html += learning
            return text, ()
        converted, headings = await self.reader.convert(parsed)
        if self.source == "markdown":
            return text, headings
        is_usable = not shows_generator_source(text) and self._has_known_links(text, text_url, parsed)
        richer = find_richer_source(text, converted, parsed.article) if is_usable else "html"
        self.capabilities.wins[richer] += learning
        return (text, headings) if richer == "markdown" else (None, ())

    def _has_known_links(self, text: str, text_url: str, parsed: ParsedPage) -> bool:
        """Return whether most links of the Markdown within the site are on the HTML page, too."""
        known = {_link_key(link) for link in _all_links(parsed)}
        links = [link for link in _extract_markdown_links(text, text_url) if self.scope.holds(link)]
        return sum(_link_key(link) in known for link in links) >= _MIN_KNOWN_LINKS * len(links)

    async def _get_listed_markdown(self, ref: PageRef) -> tuple[str | None, str]:
        """Return the Markdown of a page that llms-full.txt contains or llms.txt names, and its URL."""
        if ref.text is not None:
            return ref.text, ref.markdown
        return (await self._get_markdown(ref.markdown), ref.markdown) if ref.markdown else (None, "")

    def _make_page(
        self,
        ref: PageRef,
        text: str | None,
        text_url: str,
        response: Response | None,
        parsed: ParsedPage | None,
        headings: tuple[Heading, ...],
    ) -> FetchedPage | SkippedPage:
        url = ref.url
        if response is not None:
            url = response.url
            if parsed is not None and self._trusts_canonical(parsed.canonical, response.url):
                url = parsed.canonical
        path = self.scope.path(url)
        if path is None:
            return SkippedPage(ref.url, "out of scope")
        parsed = parsed or ParsedPage()
        front_matter = split_front_matter(text)[1] if text is not None else {}
        title = ref.title if text is not None and not parsed.title else parsed.title or ref.title
        return FetchedPage(
            url=url,
            path=path,
            title=front_matter.get("title") or title or _title_from_path(path),
            description=front_matter.get("description") or ref.description or parsed.description,
            body=PageBody("" if text is not None else parsed.article, text, headings),
            markdown_url=text_url if text is not None else "",
            is_stale=self._is_stale(ref, text, text_url),
            links=parsed.links or _extract_markdown_links(text, text_url or url),
            nav_links=parsed.nav_links,
            nav=parsed.nav,
            parsed=parsed,
        )

    def _is_stale(self, ref: PageRef, text: str | None, text_url: str) -> bool:
        if text is None:
            return any(self.session.is_stale(url, ACCEPT_HTML) for url in (ref.url, ref.url + "/", ref.url + ".html"))
        if ref.text is not None:
            return self.session.is_stale(self.full, ACCEPT_ANY)
        return self.session.is_stale(text_url, ACCEPT_MARKDOWN)

    def _trusts_canonical(self, canonical: str, url: str) -> bool:
        """Return whether a canonical URL is plausible: many templates name the home page on every page."""
        path = self.scope.path(canonical) if canonical else None
        return bool(path) or (path == "" and self.scope.path(url) == "")

    async def _get_html(self, ref: PageRef) -> tuple[Response | None, ParsedPage | None, str]:
        """Return the response, the parsed page, and the reason if it is not published."""
        reason = "not found"
        for suffix in tuple(self.capabilities.page_suffixes) if ref.guessed else ("",):
            url = ref.url + suffix
            response = await self.session.get(url, ACCEPT_HTML, probe=ref.guessed, allow_redirect=self.scope.holds)
            if not response.ok:
                reason = "not found" if response.status in (404, 410) else f"status {response.status}"
                continue
            kind = sniff_kind(response)
            if kind != "html":
                reason = f"is {kind}, not a page"
                continue
            parsed = await self.reader.page(response)
            if ban := find_header_ban(response.robots, self.session.agent):
                parsed = replace(parsed, skip_reason=ban)
            if self.scope.path(response.url) != "" and is_similar(parsed.words, self.capabilities.not_found_words):
                reason = "status 200, but the host's page for missing pages"
                continue
            if self.capabilities.learning and ref.guessed:
                self.capabilities.page_suffixes.sort(key=lambda other: other != suffix)
            return response, parsed, parsed.skip_reason
        return None, None, reason

    async def _find_markdown(self, response: Response, parsed: ParsedPage) -> tuple[str | None, str]:
        """Return a page's Markdown and its URL: as the page says, at a common URL form, or by content negotiation."""
        named = [url for url in (parsed.markdown, _link_header_url(response)) if url and self.scope.holds(url)]
        for url in named:
            if (text := await self._get_markdown(url)) is not None:
                return text, url
        if named:
            return None, ""
        capabilities = self.capabilities
        for form in _FORMS if capabilities.learning else capabilities.forms:
            url = twin_url(response.url, form)
            if url and (text := await self._get_markdown(url, probe=True)) is not None:
                if form not in capabilities.forms:
                    capabilities.forms.append(form)
                return text, url
        if capabilities.learning or capabilities.negotiates:
            answer = await self._try_markdown(response.url, probe=False)
            if answer is not None and "markdown" in answer.kind and sniff_kind(answer) == "markdown":
                capabilities.negotiates = True
                return decode_text(answer.body, answer.charset), response.url
        return None, ""

    async def _get_markdown(self, url: str, *, probe: bool = False) -> str | None:
        """Return the Markdown at a URL, or None for anything else, whatever its declared type."""
        response = await self._try_markdown(url, probe=probe)
        if response is None or not response.ok or sniff_kind(response) != "markdown":
            return None
        text = decode_text(response.body, response.charset)
        if is_similar(split_words(text), self.capabilities.not_found_text_words) or _NOT_FOUND_TEXT.match(text):
            return None
        return text

    async def _try_markdown(self, url: str, *, probe: bool) -> Response | None:
        try:
            return await self.session.get(url, ACCEPT_MARKDOWN, probe=probe, allow_redirect=self.scope.holds)
        except FetchError:
            return None


def make_page_ref(url: str, *, title: str = "", description: str = "") -> PageRef:
    """Return the reference for a listed URL, of a page or of its Markdown."""
    if not url.endswith((".md", ".mdx", ".markdown")):
        return PageRef(url, title=title, description=description)
    stem = re.sub(r"\.(md|mdx|markdown)$", "", url)
    page = re.sub(r"(?<=/)index(\.html?)?$", "", stem)
    return PageRef(page, url, title, description, guessed=not page.endswith("/"))


def twin_url(url: str, form: str) -> str:
    """Return the URL of a page's Markdown in a form: `index.md`, `.md` or `.html.md`. Empty if it does not apply."""
    if form == "index.md":
        return url + "index.md" if url.endswith("/") else ""
    if form == ".html.md":
        return url + "index.html.md" if url.endswith("/") else url + ".md" if url.endswith(".html") else ""
    stem = re.sub(r"\.html?$", "", url.rstrip("/"))
    return "" if stem.count("/") < 3 else stem + ".md"


def is_similar(words: frozenset[str], others: frozenset[str]) -> bool:
    """Return whether two texts have nearly the same set of words."""
    if len(others) < 3 or not words:
        return False
    return len(words & others) / len(words | others) >= 0.85


def merge_page_refs(ref: PageRef, other: PageRef) -> PageRef:
    """Merge two references to one page. A listed URL takes precedence over a guessed one."""
    preferred = ref if not ref.guessed else other
    return replace(
        ref,
        url=preferred.url,
        guessed=preferred.guessed,
        markdown=ref.markdown or other.markdown,
        title=ref.title or other.title,
        description=ref.description or other.description,
        depth=min(ref.depth, other.depth),
        text=ref.text if ref.text is not None else other.text,
    )


def _link_header_url(response: Response) -> str:
    for url, parameters in _LINK_HEADER.findall(response.link):
        match = re.search(r"""rel\s*=\s*(?:"([^"]*)"|([^\s;,]+))""", parameters, re.IGNORECASE)
        relations = ((match[1] or match[2] or "") if match else "").lower().split()
        if "alternate" in relations and "text/markdown" in parameters.lower():
            return canonical_url(url, response.url) or ""
    return ""


def _extract_markdown_links(text: str | None, base: str) -> tuple[str, ...]:
    if text is None:
        return ()
    links = (canonical_url(link, base) for link in _MARKDOWN_LINK.findall(text) if not link.startswith("#"))
    return tuple(dict.fromkeys(link for link in links if link))


def _title_from_path(path: str) -> str:
    """Return a title for an untitled page, such as `Install it` for `guide/install-it.html`."""
    last = re.sub(r"\.\w+$", "", path.rstrip("/").rpartition("/")[2])
    name = " ".join(re.split(r"[-_\s]+", last)).strip()
    return f"{name[:1].upper()}{name[1:]}" or path or "Home"


def _link_key(url: str) -> str:
    """Return what the spellings of a page and of its Markdown have in common."""
    return re.sub(r"/(index)?$", "", re.sub(r"\.(html?|mdx?|markdown)$", "", url))


def _all_links(parsed: ParsedPage | None) -> tuple[str, ...]:
    return (*parsed.links, *parsed.nav_links) if parsed else ()


_MIN_WORDS = 20
_MIN_KNOWN_LINKS = 0.6
_MISSING_NAME = "roaming-asks-for-what-is-not-there"
_IS_MARKDOWN = "is markdown, not a page"
_FORMS = ("index.md", ".md", ".html.md")
_NOT_FOUND_TEXT = re.compile(r"\s*(?:---.*?---\s*)?#{0,3}\s*(?:404\b|(?:page )?not found\b)", re.IGNORECASE | re.DOTALL)
_LINK_HEADER = re.compile(r"<([^<>]*)>([^<]*)")
_MARKDOWN_LINK = re.compile(r"(?<!!)\[[^\[\]]*\]\(\s*<?([^)\s>]+)")
