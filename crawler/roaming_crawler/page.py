"""Retrieval of one page: its HTML article, or its own Markdown with the anchors of the HTML if that holds more."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from mkdocs_roaming.html.titles import title_from_path
from mkdocs_roaming.manifest.models import Heading, NavItem
from mkdocs_roaming.publish.markdown_source import split_front_matter
from mkdocs_roaming.text.full_text import split_full_text
from roaming_crawler.config import Source
from roaming_crawler.contents import find_richer_source, shows_generator_source, sniff_kind
from roaming_crawler.fetch import FetchError, Response
from roaming_crawler.parser import SHELL, ParsedPage, split_words
from roaming_crawler.sandbox import PageParser
from roaming_crawler.scope import Scope, canonical_url, file_suffix, has_web_scheme, loose_key, page_of_markdown
from roaming_crawler.session import ACCEPT_ANY, ACCEPT_HTML, ACCEPT_MARKDOWN, LimitError, Session, find_header_ban

_IS_MARKDOWN = "is markdown, not a page"
_SOFT_404 = "status 200, but the host's page for missing pages"
_HOME_FILES = ("index.md", "README.md")
"""Markdown of a home page without HTML."""
_FORMS = ("index.md", ".md", ".html.md")
_MIN_WORDS = 20
"""With fewer words in its HTML, the Markdown of a page is fetched, too."""
_MIN_KNOWN_LINKS = 0.6
"""Share of the links of Markdown that its HTML has, too; others lead to pages that do not exist."""
_MISSING_NAMES = ("roaming-probe-7f3a91c2", "roaming-probe-b20c44de")
_MIN_COMMON_SHARE = 0.85
"""Share of the words of the pages for missing pages that another such page has."""
_MAX_OWN_SHARE = 0.15
"""Number of other words that it may have, as a share of the common ones."""
_NOT_FOUND_HEAD = 5_000
_NOT_FOUND = re.compile(
    r"\b404\b|not found|(does|could)(n.t| not) (exist|find|be found)|no longer (exist|available)|nicht gefunden"
    r"|introuvable|no encontrad|non trovat|não encontrad|nie znaleziono|не найден|未找到|找不到|見つかりません"
    r"|찾을 수 없",
    re.IGNORECASE,
)
"""What pages for missing pages say."""
_NOT_FOUND_TEXT = re.compile(r"\s*(?:---.*?---\s*)?#{0,3}\s*(?:404\b|(?:page )?not found\b)", re.IGNORECASE | re.DOTALL)
"""What Markdown for missing pages begins with, such as `# Page not found`."""
_MARKDOWN_LINK = re.compile(r"(?:(?<!!)\[[^\[\]]*\]\(\s*|^ {0,3}\[[^\[\]^]+\]:\s*)<?([^)\s>]+)", re.MULTILINE)
"""A link, such as `[Guide](guide.md "Title")`, or `[1]: guide.md`. A parser would be slower than the page is worth."""


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
    trial: str = ""
    """Why it may be no page: it has the suffix of a file, or a page names it as its canonical URL."""
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
    """A page after retrieval. Its body is stored on disk later; `key` identifies it then."""

    url: str
    path: str
    title: str
    description: str = ""
    body: PageBody = PageBody()
    key: str = ""
    markdown_url: str = ""
    is_stale: bool = False
    """Whether the contents are those of the last crawl."""
    parsed: ParsedPage = field(default_factory=ParsedPage)
    """The parsed HTML; the links are those of the Markdown if there is no HTML."""


@dataclass(frozen=True, slots=True)
class SkippedPage:
    """A page that is not published."""

    url: str
    reason: str
    links: tuple[str, ...] = ()
    nav: tuple[NavItem, ...] = ()


PageResult = FetchedPage | SkippedPage


class _Markdown(NamedTuple):
    """A page's own Markdown and its URL, which is empty if only llms-full.txt contains it."""

    text: str
    url: str
    headings: tuple[Heading, ...] = ()
    """The headings of the page's HTML with their anchors."""


@dataclass(frozen=True, slots=True)
class _Html:
    """The HTML of a page: its response, None if there is none, and what was parsed, with a reason to skip it."""

    response: Response | None = None
    parsed: ParsedPage = field(default_factory=ParsedPage)

    @property
    def has_text(self) -> bool:
        """Whether there is HTML whose text is not written by scripts."""
        return self.response is not None and self.parsed.skip_reason != SHELL


@dataclass(slots=True)
class PageFetcher:
    """Fetches the pages of one crawl, and learns from the first ones how the host serves Markdown.

    Attributes:
        full: URL of the llms-full.txt that the texts of `PageRef`s come from.
        learning: Whether all forms of Markdown are still tried, and both sources compared.
    """

    session: Session
    scope: Scope
    parser: PageParser
    source: Source
    full: str
    learning: bool = True
    _forms: list[str] = field(default_factory=list)
    """URL forms of Markdown that were found."""
    _page_suffixes: list[str] = field(default_factory=lambda: ["/", "", ".html"])
    """Suffixes that lead from the URL of Markdown to its page, the likeliest first."""
    _negotiates: bool = False
    """Whether the host answers `Accept: text/markdown`."""
    _wins: Counter[str] = field(default_factory=Counter)
    """Number of pages by their richer source: `html`, `markdown` or `both`."""
    _without_html: int = 0
    """Number of pages whose HTML has no text."""
    _not_found_pages: list[frozenset[str]] = field(default_factory=list)
    """Words of what the host returns with status 200 for missing pages."""

    async def get(self, ref: PageRef) -> PageResult:
        """Return the page, or why it is skipped."""
        markdown = None
        html = _Html()
        # The first pages tell whether HTML without text is the rule.
        lacks_html = not self.learning and self._without_html > 1 and not self._wins["html"]
        try:
            # Markdown that a list names comes first if the user prefers it, or the HTML of this host has no text.
            if self.source == "markdown" or (self.source == "auto" and lacks_html):
                markdown = await self._get_listed_markdown(ref)
            # Preferred Markdown needs the HTML, too: for its anchors, and for links. A guessed URL may be no page.
            if markdown is None or (self.source == "markdown" and not ref.guessed):
                html = await self._get_html(ref)
            # Other pages have both only if the Markdown may hold more.
            if markdown is None and self._wants_markdown(ref, html):
                markdown = await self._find_markdown(ref, html)
            # HTML that is not to be published (`noindex`) excludes its Markdown; HTML without text does not.
            parsed = html.parsed
            if parsed.skip_reason and (html.has_text or markdown is None):
                return SkippedPage(ref.url, parsed.skip_reason, parsed.all_links, parsed.nav)
            # Of two sources, the one that holds more is published.
            if markdown is not None:
                markdown = await self._choose_source(markdown, ref, html)
        except LimitError:
            return SkippedPage(ref.url, self.session.stopped)
        except FetchError as error:
            return SkippedPage(ref.url, str(error).removeprefix(f"{ref.url}: "))
        return self._make_page(ref, markdown, html)

    async def read_html(self, ref: PageRef) -> ParsedPage:
        """Return the parsed HTML of a page, an empty one if it cannot be fetched or is not HTML."""
        try:
            return (await self._get_html(ref)).parsed
        except FetchError:
            return ParsedPage()

    async def learn_not_found_page(self) -> None:
        """Fetch two URLs that cannot exist, because many hosts answer with status 200 and suggest random pages."""
        for name in _MISSING_NAMES:
            with suppress(FetchError):
                response = await self.session.get(f"{self.scope.url}{name}/", ACCEPT_HTML, probe=True)
                if not response.ok or sniff_kind(response) != "html":
                    break
                words = (await self.parser.parse(response)).words
                self._not_found_pages.append(words - split_words(f"{name} {response.url}"))

    def _is_not_found_page(self, page: ParsedPage, url: str) -> bool:
        """Return whether a page has the words of the host's page for missing pages, and few others but its URL.

        If the page says that something is missing, it may have as many others, such as random suggestions.
        """
        if not self._not_found_pages:
            return False
        common = frozenset.intersection(*self._not_found_pages)
        max_own = _MAX_OWN_SHARE * len(common)
        if _NOT_FOUND.search(page.title) or _NOT_FOUND.search(page.article[:_NOT_FOUND_HEAD]):
            max_own += 2 * max(len(words - common) for words in self._not_found_pages)
        own = page.words - common - split_words(unquote(url))
        is_similar = len(page.words & common) >= _MIN_COMMON_SHARE * len(common)
        return len(common) > 2 and is_similar and len(own) <= max_own

    def _wants_markdown(self, ref: PageRef, html: _Html) -> bool:
        """Return whether the Markdown of a page is fetched after its HTML."""
        if self.source != "auto":
            return self.source == "markdown"
        if not html.has_text:
            return True
        if html.parsed.skip_reason:
            return False
        if self.learning or self._wins["markdown"] > self._wins["html"]:
            return True
        min_words = _MIN_WORDS if ref.text is None else len(split_words(ref.text)) / 2
        return len(html.parsed.words) < min_words

    async def _choose_source(self, markdown: _Markdown, ref: PageRef, html: _Html) -> _Markdown | None:
        """Return the Markdown of a page with the headings of its HTML, or None if the HTML holds as much."""
        if not html.has_text:
            self._without_html += self.learning
            return markdown
        converted, headings = await self.parser.convert_to_compare(html.parsed)
        markdown = markdown._replace(headings=headings)
        if self.source == "markdown":
            return markdown
        in_html = {loose_key(link) for link in html.parsed.all_links}
        links = [link for link in _extract_markdown_links(markdown, ref.url) if self.scope.is_below(link)]
        known = sum(loose_key(link) in in_html for link in links)
        has_known_links = known >= _MIN_KNOWN_LINKS * len(links)
        richer = "html"
        if has_known_links and not shows_generator_source(markdown.text):
            richer = find_richer_source(markdown.text, converted, html.parsed.article)
        self._wins[richer] += self.learning
        return markdown if richer == "markdown" else None

    def _make_page(self, ref: PageRef, markdown: _Markdown | None, html: _Html) -> PageResult:
        parsed = html.parsed
        url = self.scope.localize(html.response.url if html.response else ref.url)
        canonical = self.scope.localize(parsed.canonical)
        if canonical == ref.url and loose_key(canonical) == loose_key(url):  # it opens: it redirects to this page
            url = canonical
        path = self.scope.path(url)
        if path is None:
            return SkippedPage(ref.url, "out of scope")
        if markdown is None:
            metadata = {}
            body = PageBody(parsed.article)
            is_stale = any(self.session.is_stale(ref.url + end, ACCEPT_HTML) for end in ("", "/", ".html"))
        else:
            metadata = split_front_matter(markdown.text)[1]
            body = PageBody("", markdown.text, markdown.headings)
            if not parsed.links:
                parsed = replace(parsed, links=_extract_markdown_links(markdown, url))
            if ref.text is not None:
                is_stale = self.session.is_stale(self.full, ACCEPT_ANY)
            else:
                is_stale = any(self.session.is_stale(markdown.url, accept) for accept in (ACCEPT_MARKDOWN, ACCEPT_HTML))
        title = metadata.get("title") or parsed.title or parsed.heading
        description = metadata.get("description") or ref.description
        return FetchedPage(
            url=url,
            path=path,
            title=title or ref.title or title_from_path(path),
            description=description or parsed.description,
            body=body,
            markdown_url=markdown.url if markdown else "",
            is_stale=is_stale,
            parsed=replace(parsed, canonical=canonical),
        )

    async def _get_html(self, ref: PageRef) -> _Html:
        reason = "not found"
        for suffix in tuple(self._page_suffixes) if ref.guessed else ("",):
            url = ref.url + suffix
            response = await self.session.get(
                url, ACCEPT_HTML, probe=ref.guessed, allow_redirect=self.scope.is_below_here
            )
            if not response.ok:
                reason = response.problem
                continue
            kind = sniff_kind(response)
            if kind != "html":
                reason = f"is {kind}, not a page"
                continue
            parsed = await self.parser.parse(response)
            if self.scope.path(response.url) != "" and self._is_not_found_page(parsed, response.url):
                reason = _SOFT_404
                continue
            if self.learning and ref.guessed:
                self._page_suffixes.sort(key=lambda candidate: candidate != suffix)
            if ban := find_header_ban(response.robots, self.session.agent):
                parsed = replace(parsed, skip_reason=ban)
            return _Html(response, parsed)
        return _Html(parsed=ParsedPage(skip_reason=reason))

    async def _get_listed_markdown(self, ref: PageRef) -> _Markdown | None:
        """Return the Markdown of a page that llms-full.txt contains or llms.txt names."""
        if ref.text is not None:
            return _Markdown(ref.text, ref.markdown)
        return await self._get_markdown(ref.markdown) if ref.markdown else None

    async def _find_markdown(self, ref: PageRef, html: _Html) -> _Markdown | None:
        """Return a page's Markdown: as a list or the page says, at a common URL form, or by content negotiation."""
        if listed := await self._get_listed_markdown(ref):
            return listed
        is_web = has_web_scheme(ref.url)
        is_home = is_web and self.scope.path(ref.url) == ""
        # It is a page if a list, the user or the host says so.
        if html.parsed.skip_reason == _IS_MARKDOWN and (ref.title or is_web):
            kind = "" if ref.title or is_home else "markdown"
            markdown = await self._get_markdown(ref.url, ACCEPT_HTML, kind=kind)
            pages = split_full_text(markdown.text if markdown else "", self.scope.resolver(ref.url)).pages
            if sum(self.scope.is_below(page.url or "") for page in pages) > 1:
                raise FetchError("contains several pages, each with its own URL")
            return markdown
        if html.response is None:
            for name in _HOME_FILES if is_home else ():
                if markdown := await self._get_markdown(self.scope.url + name, probe=True):
                    return markdown
            return None
        if self.scope.is_below(html.parsed.markdown):
            return await self._get_markdown(html.parsed.markdown)
        url = html.response.url
        for form in _FORMS if self.learning else self._forms:
            twin = twin_url(url, form)
            if twin and (markdown := await self._get_markdown(twin, probe=True)):
                if form not in self._forms:
                    self._forms.append(form)
                return markdown
        if not self.learning and not self._negotiates:
            return None
        markdown = await self._get_markdown(url, kind="markdown")
        self._negotiates = self._negotiates or markdown is not None
        return markdown

    async def _get_markdown(
        self, url: str, accept: str = ACCEPT_MARKDOWN, *, probe: bool = False, kind: str = ""
    ) -> _Markdown | None:
        """Return the Markdown at a URL, or None for anything else. Any declared type will do, except with `kind`."""
        try:
            response = await self.session.get(url, accept, probe=probe, allow_redirect=self.scope.is_below_here)
        except FetchError:
            return None
        if not response.ok or kind not in response.kind or sniff_kind(response) != "markdown":
            return None
        text = response.text
        return None if _NOT_FOUND_TEXT.match(text) else _Markdown(text, url)


def make_page_ref(url: str, *, title: str = "", description: str = "") -> PageRef:
    """Return the reference for a listed URL, of a page or of its Markdown."""
    page = page_of_markdown(url)
    if page == url:
        trial = "" if title else file_suffix(url)  # llms.txt gives titles to pages
        return PageRef(url, title=title, description=description, trial=trial or "")
    return PageRef(page, url, title, description, guessed=not page.endswith("/"))


def twin_url(url: str, form: str) -> str:
    """Return the URL of a page's Markdown in a form: `index.md`, `.md` or `.html.md`. Empty if it does not apply."""
    if form == "index.md":
        return url + form if url.endswith("/") else ""
    if form == ".md":
        stem = url.rstrip("/").removesuffix(".html").removesuffix(".htm")
        return stem + form if urlsplit(stem).path else ""
    if url.endswith("/"):
        return url + "index.html.md"
    return url + ".md" if url.endswith(".html") else ""


def _extract_markdown_links(markdown: _Markdown, page: str) -> tuple[str, ...]:
    hrefs = (href for href in _MARKDOWN_LINK.findall(markdown.text) if not href.startswith("#"))
    links = (canonical_url(href, markdown.url or page) for href in hrefs)
    return tuple(dict.fromkeys(link for link in links if link))
