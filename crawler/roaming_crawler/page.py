"""Gets one page: as Markdown where its site has any, with the anchors of its HTML; else as an article to convert."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Protocol
from urllib.parse import urljoin

from mkdocs_roaming.manifest.models import Heading, NavItem
from mkdocs_roaming.publish.markdown_source import split_front_matter
from roaming_crawler.fetch import FetchError, Response
from roaming_crawler.llms_full import split_llms_full
from roaming_crawler.parser import ParsedPage
from roaming_crawler.scope import Scope, canonical_url
from roaming_crawler.session import ACCEPT_ANY, ACCEPT_HTML, ACCEPT_MARKDOWN, LimitError, Session
from roaming_crawler.sniff import decode_text, sniff_kind


class PageReader(Protocol):
    """Reads HTML, in another process or here."""

    async def page(self, answer: Response) -> ParsedPage:
        """Give what a page says."""
        ...

    async def headings(self, seen: ParsedPage) -> tuple[Heading, ...]:
        """Give a page's headings, with their anchors."""
        ...


@dataclass(slots=True)
class PageRef:
    """A page to get: its address, its Markdown's where something told it, and what was said of it."""

    url: str
    markdown: str = ""
    title: str = ""
    description: str = ""
    depth: int = 0
    guessed: bool = False
    """Whether the page's own address was made out of its Markdown's."""
    text: str | None = None
    """Its Markdown, where llms-full.txt had it."""


@dataclass(frozen=True, slots=True)
class PageBody:
    """What a page holds: its article, or its Markdown and the headings of its HTML. It is kept apart from the rest."""

    article: str = ""
    markdown: str | None = None
    """None where the article is to be converted."""
    headings: tuple[Heading, ...] = ()


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """A page as it was got."""

    url: str
    path: str
    title: str
    description: str = ""
    body: PageBody = PageBody()
    key: str = ""
    """What the body is found by, once it is kept apart; `digest` is then the body's."""
    digest: str = ""
    markdown_url: str = ""
    kept: bool = False
    """Whether what it holds is what an earlier crawl got."""
    links: tuple[str, ...] = ()
    nav_links: tuple[str, ...] = ()
    nav: tuple[NavItem, ...] = ()
    seen: ParsedPage | None = None


@dataclass(frozen=True, slots=True)
class SkippedPage:
    """A page that is not published, and why. `gone` says that its address has nothing any more."""

    url: str
    why: str
    gone: bool = False
    links: tuple[str, ...] = ()
    nav: tuple[NavItem, ...] = ()


@dataclass(slots=True)
class MarkdownCapabilities:
    """How a host gives Markdown, learned on its first pages: which spellings of a twin, whether it negotiates."""

    forms: list[str] = field(default_factory=list)
    negotiates: bool = False
    learning: bool = True
    missing: frozenset[str] = frozenset()
    """The words of the page that the host shows for an address that does not exist, where it says 200 of it."""
    missing_text: frozenset[str] = frozenset()
    """The same of its Markdown."""


@dataclass(slots=True)
class PageFetcher:
    """Gets the pages of one crawl."""

    session: Session
    scope: Scope
    reader: PageReader
    ways: MarkdownCapabilities = field(default_factory=MarkdownCapabilities)
    prefer_markdown: bool = True
    anchors: bool = True
    full: str = ""
    """The llms-full.txt that texts of entries were taken from."""

    async def get(self, entry: PageRef) -> FetchedPage | SkippedPage:
        """Give the page of an entry, or why there is none."""
        try:
            return await self._get(entry)
        except LimitError:
            return SkippedPage(entry.url, self.session.stopped)
        except FetchError as error:
            return SkippedPage(entry.url, str(error).removeprefix(f"{entry.url}: "))

    def knew(self, entry: PageRef) -> str:
        """Give where the last crawl had the page of an entry; nothing where it did not."""
        if found := self.session.before(entry.url, ACCEPT_HTML):
            return found.url
        return entry.url if self.session.before(entry.markdown, ACCEPT_MARKDOWN) else ""

    async def learn_what_is_missing(self) -> None:
        """See what the host answers for an address that cannot exist: many say 200."""
        for url, accept in (
            (self.scope.url + _NOWHERE + "/", ACCEPT_HTML),
            (f"{self.scope.url}{_NOWHERE}.md", ACCEPT_MARKDOWN),
        ):
            try:
                answer = await self.session.get(url, accept, probe=True)
            except FetchError:
                continue
            if not answer.good:
                continue
            if sniff_kind(answer) == "html" and accept == ACCEPT_HTML:
                self.ways.missing = (await self.reader.page(answer)).words
            elif sniff_kind(answer) == "markdown":
                self.ways.missing_text = _words(decode_text(answer.body, answer.charset))

    async def _get(self, entry: PageRef) -> FetchedPage | SkippedPage:
        text, at = entry.text, entry.markdown
        if text is None and entry.markdown and self.prefer_markdown:
            text = await self._markdown(entry.markdown)
        found, seen, why = None, None, ""
        if text is None or self.anchors or not entry.guessed:
            found, seen, why = await self._html(entry)
        if text is None and why == _TEXT and entry.title and self.prefer_markdown:  # a list names it as a page
            text, at = await self._markdown(entry.url), entry.url
            if text is not None and len(split_llms_full(text, entry.url).by_url()) > 1:
                return SkippedPage(entry.url, "holds several pages, each with an address of its own")
        if text is None and found is not None and seen is not None and self.prefer_markdown:
            text, at = await self._twin(entry, found, seen)
        if text is None and why:
            return SkippedPage(entry.url, why, gone=why == _GONE, links=_all(seen), nav=seen.nav if seen else ())
        if text is not None and seen is not None and seen.left_out and "JavaScript" not in seen.left_out:
            return SkippedPage(entry.url, seen.left_out, links=_all(seen))
        headings = await self.reader.headings(seen) if text is not None and seen is not None else ()
        return self._page(entry, text, at, found, seen, headings)

    def _page(
        self,
        entry: PageRef,
        text: str | None,
        at: str,
        found: Response | None,
        seen: ParsedPage | None,
        headings: tuple[Heading, ...],
    ) -> FetchedPage | SkippedPage:
        url = entry.url
        if found is not None:
            url = found.url
            if seen is not None and self._is_believed(seen.canonical, found.url):
                url = seen.canonical
        path = self.scope.path(url)
        if path is None:
            return SkippedPage(entry.url, "lies outside of what is crawled")
        seen = seen or ParsedPage()
        front = split_front_matter(text)[1] if text is not None else {}
        title = entry.title if text is not None and not seen.title else seen.title or entry.title
        return FetchedPage(
            url=url,
            path=path,
            title=front.get("title") or title or _spoken(path),
            description=front.get("description") or entry.description or seen.description,
            body=PageBody("" if text is not None else seen.article, text, headings),
            markdown_url=at if text is not None else "",
            kept=self._is_kept(entry, text, at),
            links=seen.links or _markdown_links(text, at or url),
            nav_links=seen.nav_links,
            nav=seen.nav,
            seen=seen,
        )

    def _is_kept(self, entry: PageRef, text: str | None, at: str) -> bool:
        if text is None:
            return any(self.session.stood_in(url, ACCEPT_HTML) for url in _spellings(entry))
        return self.session.stood_in(*((self.full, ACCEPT_ANY) if entry.text is not None else (at, ACCEPT_MARKDOWN)))

    def _is_believed(self, canonical: str, url: str) -> bool:
        """Tell whether a page has the address that it says: many templates say the home page's on every page."""
        path = self.scope.path(canonical) if canonical else None
        return bool(path) or (path == "" and self.scope.path(url) == "")

    async def _html(self, entry: PageRef) -> tuple[Response | None, ParsedPage | None, str]:
        """Give the page's HTML, what it says, and why it counts for nothing where that is so."""
        why = "nothing there"
        for url in _spellings(entry):
            answer = await self.session.get(url, ACCEPT_HTML, probe=entry.guessed, stays=self._stays)
            if not answer.good:
                why = _GONE if answer.status in (404, 410) else f"answers {answer.status}"
                continue
            kind = sniff_kind(answer)
            if kind != "html":
                why = f"is {kind}, not a page"
                continue
            seen = await self.reader.page(answer)
            if self.scope.path(answer.url) != "" and is_similar(seen.words, self.ways.missing):
                why = "says 200, but shows what this host shows for pages that do not exist"
                continue
            return answer, seen, seen.left_out
        return None, None, why

    async def _twin(self, entry: PageRef, found: Response, seen: ParsedPage) -> tuple[str | None, str]:
        """Give the page's Markdown and where it was: as the page says, by a twin's name, by negotiation."""
        named = [url for url in (seen.markdown, _link_header(found)) if url and self.scope.holds(url)]
        for url in named:
            if (text := await self._markdown(url)) is not None:
                return text, url
        if named:
            return None, ""
        forms = _FORMS if self.ways.learning else self.ways.forms
        for form in forms:
            url = twin_url(found.url, form)
            if url and (text := await self._markdown(url, probe=True)) is not None:
                if form not in self.ways.forms:
                    self.ways.forms.append(form)
                return text, url
        if self.ways.learning or self.ways.negotiates:
            answer = await self._quietly(found.url, probe=False)
            if answer is not None and "markdown" in answer.kind and sniff_kind(answer) == "markdown":
                self.ways.negotiates = True
                return decode_text(answer.body, answer.charset), found.url
        return None, ""

    async def _markdown(self, url: str, *, probe: bool = False) -> str | None:
        """Give the Markdown at an address; None where there is anything else, whatever it calls itself."""
        answer = await self._quietly(url, probe=probe)
        if answer is None or not answer.good or sniff_kind(answer) != "markdown":
            return None
        text = decode_text(answer.body, answer.charset)
        if is_similar(_words(text), self.ways.missing_text) or _NOT_FOUND.match(text):
            return None
        return text

    async def _quietly(self, url: str, *, probe: bool) -> Response | None:
        try:
            return await self.session.get(url, ACCEPT_MARKDOWN, probe=probe, stays=self._stays)
        except FetchError:
            return None

    def _stays(self, url: str) -> bool:
        return self.scope.holds(url)


def make_page_ref(url: str, *, title: str = "", description: str = "") -> PageRef:
    """Give the entry of an address that something lists: a page's, or its Markdown's."""
    if not url.endswith((".md", ".mdx", ".markdown")):
        return PageRef(url, title=title, description=description)
    stem = re.sub(r"\.(md|mdx|markdown)$", "", url)
    page = re.sub(r"(?<=/)index(\.html?)?$", "", stem)
    return PageRef(page, url, title, description, guessed=not page.endswith("/"))


def twin_url(url: str, form: str) -> str:
    """Give the address that a page's Markdown would have in a form: `…/index.md`, `….md`, `….html.md`."""
    if form == "index.md":
        return url + "index.md" if url.endswith("/") else ""
    if form == ".html.md":
        return url + "index.html.md" if url.endswith("/") else url + ".md" if url.endswith(".html") else ""
    stem = re.sub(r"\.html?$", "", url.rstrip("/"))
    return "" if stem.count("/") < 3 else stem + ".md"


def is_similar(words: frozenset[str], others: frozenset[str]) -> bool:
    """Tell whether two texts are of nearly the same words."""
    if len(others) < 3 or not words:
        return False
    return len(words & others) / len(words | others) >= 0.85


def merge_page_refs(entry: PageRef, other: PageRef) -> PageRef:
    """Give two entries of one page as one: what something tells wins over what was guessed."""
    known = entry if not entry.guessed else other
    return replace(
        entry,
        url=known.url,
        guessed=known.guessed,
        markdown=entry.markdown or other.markdown,
        title=entry.title or other.title,
        description=entry.description or other.description,
        depth=min(entry.depth, other.depth),
        text=entry.text if entry.text is not None else other.text,
    )


_NOWHERE = "roaming-asks-for-what-is-not-there"
_GONE = "not found"
_TEXT = "is markdown, not a page"
_FORMS = ("index.md", ".md", ".html.md")
_NOT_FOUND = re.compile(r"\s*(?:---.*?---\s*)?#{0,3}\s*(?:404\b|(?:page )?not found\b)", re.IGNORECASE | re.DOTALL)
_LINK = re.compile(r"<([^<>]*)>([^<]*)")
_MARKDOWN_LINK = re.compile(r"(?<!!)\[[^\[\]]*\]\(\s*<?([^)\s>]+)")


def _spellings(entry: PageRef) -> list[str]:
    """Give the addresses that a page may have, where only its Markdown's is known."""
    if not entry.guessed:
        return [entry.url]
    return [entry.url + "/", entry.url, entry.url + ".html"]


def _link_header(answer: Response) -> str:
    for url, parameters in _LINK.findall(answer.link):
        rel = re.search(r"""rel\s*=\s*(?:"([^"]*)"|([^\s;,]+))""", parameters, re.IGNORECASE)
        words = ((rel[1] or rel[2] or "") if rel else "").lower().split()
        if "alternate" in words and "text/markdown" in parameters.lower():
            return canonical_url(urljoin(answer.url, url)) or ""
    return ""


def _markdown_links(text: str | None, base: str) -> tuple[str, ...]:
    if text is None:
        return ()
    links = (canonical_url(link, base) for link in _MARKDOWN_LINK.findall(text) if not link.startswith("#"))
    return tuple(dict.fromkeys(link for link in links if link))


def _spoken(path: str) -> str:
    """Give a name for a page that has none: `Install it` of `guide/install-it.html`."""
    last = re.sub(r"\.\w+$", "", path.rstrip("/").rpartition("/")[2])
    name = " ".join(re.split(r"[-_\s]+", last)).strip()
    return f"{name[:1].upper()}{name[1:]}" or path or "Home"


def _all(seen: ParsedPage | None) -> tuple[str, ...]:
    return (*seen.links, *seen.nav_links) if seen else ()


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text.casefold()))
