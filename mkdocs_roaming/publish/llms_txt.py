"""llms.txt and llms-full.txt, and the pointers to them in the HTML and the Markdown of each page.

llms.txt follows llmstxt.org. A list that would be longer than agents read is split into nested files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from posixpath import relpath
from typing import TYPE_CHECKING
from urllib.parse import quote

from mkdocs_roaming.manifest.models import Manifest, NavEntry, Site, markdown_path, path_to_url
from mkdocs_roaming.text.markdown import to_single_line, truncate_at_word

if TYPE_CHECKING:
    from mkdocs_roaming.manifest.builder import PublishedPage

LLMS_TXT = "llms.txt"
LLMS_FULL = "llms-full.txt"

MAX_CHARS = 50_000
"""Maximum length of a file. Agents truncate longer ones."""

MAX_DESCRIPTION_CHARS = 200


# llms.txt


def build_llms_txt(manifest: Manifest, *, section_files: bool = True) -> dict[str, str]:
    """Return the llms.txt files by path: one file, or a root and the nested files that it lists.

    Args:
        manifest: The manifest of the site.
        section_files: Whether the site publishes a file for each section, which llms.txt then mentions.
    """
    nav = manifest.nav or tuple(NavEntry(page.title, page.id, page.path) for page in manifest.pages)
    about = (
        "Every link below leads to a page as Markdown.\n"
        f"A collapsed outline of all sections is at {manifest.site.url}roaming/outline.md"
        + (f", each section at {manifest.site.url}roaming/sections/<id>.md.\n" if section_files else ".\n")
    )
    name = to_single_line(manifest.site.name)
    summary = to_single_line(manifest.site.description) or f"All pages of {name}, as Markdown."
    builder = _LlmsTxtBuilder(manifest)
    builder.add(LLMS_TXT, _Part(manifest.site.name, summary, about, nav))
    return builder.files


@dataclass(frozen=True, slots=True)
class _Part:
    """The content of one llms.txt."""

    title: str
    summary: str
    about: str
    nav: tuple[NavEntry, ...]

    @property
    def head(self) -> str:
        return f"# {to_single_line(self.title)}\n\n> {self.summary}\n\n{self.about}"


class _LlmsTxtBuilder:
    def __init__(self, manifest: Manifest) -> None:
        self.files: dict[str, str] = {}
        self._site = manifest.site
        self._pages = {page.path: page for page in manifest.pages}

    def add(self, path: str, part: _Part) -> None:
        """Add a part: as one file, with its groups as nested files, or else split by length."""
        text = part.head + "".join(self._section(title, entries) for title, entries in _flatten(part.nav))
        if len(text) >= MAX_CHARS and any(_is_group(entry) for entry in part.nav):
            text = part.head + self._nest(part)
        if len(text) < MAX_CHARS:
            self.files[path] = text
        else:
            self._split(path, part, text.removeprefix(part.head))

    def _nest(self, part: _Part) -> str:
        """Add a file for each group; return the list of these files, after the pages outside of groups."""
        ungrouped = [entry for entry in part.nav if not _is_group(entry)]
        lines = [self._section("Pages", ungrouped)] if ungrouped else []
        lines.append("\n## Sections\n\n")
        for entry in part.nav:
            if not _is_group(entry):
                continue
            folder = f"roaming/nav/{entry.id}/"
            own_page = (NavEntry(entry.title, entry.id, entry.page),) if entry.page is not None else ()
            summary = f"A part of {to_single_line(self._site.name)}."
            about = f"The whole list is at [llms.txt]({self._site.url}llms.txt).\n"
            title = f"{part.title}: {entry.title}"
            self.add(folder + LLMS_TXT, _Part(title, summary, about, (*own_page, *entry.children)))
            url = path_to_url(self._site.url, folder)
            lines.append(f"- [{_label(entry.title)}]({url}llms.txt): {_count_pages(entry)} pages\n")
        return "".join(lines)

    def _split(self, path: str, part: _Part, body: str) -> None:
        """Add a list that is too long and has no groups as `llms.txt`, `llms-2.txt`, …, linked from the first."""
        room = MAX_CHARS - len(part.head) - 2_000 - 120 * (len(body) // (MAX_CHARS // 2) + 1)
        bodies = [""]
        heading = ""
        for line in body.splitlines(keepends=True):
            heading = line if line.startswith("## ") else heading
            if len(bodies[-1]) + len(line) > room:
                bodies.append("" if line.startswith("## ") else f"\n{heading}\n")
            bodies[-1] += line
        further = [path.removesuffix(".txt") + f"-{number}.txt" for number in range(2, len(bodies) + 1)]
        links = "".join(
            f"- [{_label(part.title)}, part {number}]({path_to_url(self._site.url, name)})\n"
            for number, name in enumerate(further, 2)
        )
        self.files[path] = part.head + bodies[0] + (f"\n## More\n\n{links}" if links else "")
        for name, text in zip(further, bodies[1:], strict=True):
            self.files[name] = part.head + text

    def _section(self, title: str, entries: Iterable[NavEntry]) -> str:
        return f"\n## {title}\n\n" + "".join(map(self._item, entries))

    def _item(self, entry: NavEntry) -> str:
        page = self._pages.get(entry.page) if entry.page is not None else None
        if page is None:
            return f"- [{_label(entry.title)}]({entry.url})\n"
        about = truncate_at_word(to_single_line(page.description or page.sections[0].opening), MAX_DESCRIPTION_CHARS)
        line = f"- [{_label(entry.title)}]({path_to_url(self._site.url, page.markdown)})"
        return f"{line}: {about}\n" if about else f"{line}\n"


def _flatten(nav: Sequence[NavEntry], parents: tuple[str, ...] = ()) -> Iterator[tuple[str, list[NavEntry]]]:
    """Yield the entries of each group in nav order, with the titles of the group and its parents."""
    entries: list[NavEntry] = []
    for entry in nav:
        if entry.page is not None or entry.url is not None:
            entries.append(entry)
        if entry.children:
            if entries:
                yield " › ".join(parents) or "Pages", entries
                entries = []
            yield from _flatten(entry.children, (*parents, to_single_line(entry.title)))
    if entries:
        yield " › ".join(parents) or "Pages", entries


def _is_group(entry: NavEntry) -> bool:
    return bool(entry.children) and entry.id is not None


def _count_pages(entry: NavEntry) -> int:
    return (entry.page is not None) + sum(map(_count_pages, entry.children))


def _label(text: str) -> str:
    return re.sub(r"([\\\[\]])", r"\\\1", to_single_line(text))


# llms-full.txt


def llms_full_offsets(pages: Iterable[PublishedPage], site: Site) -> Iterator[int]:
    """Yield the byte offset of each page's Markdown in llms-full.txt."""
    offset = 0
    for page in pages:
        offset += len(_source_line(page, site).encode())
        yield offset
        offset += len(page.markdown.encode("utf-8", "surrogatepass")) + 1


def iter_llms_full(pages: Iterable[PublishedPage], site: Site) -> Iterator[str]:
    """Yield llms-full.txt in chunks: for each page a line `Source: <URL>` and its Markdown file."""
    for page in pages:
        yield _source_line(page, site)
        yield page.markdown
        yield "\n"


def _source_line(page: PublishedPage, site: Site) -> str:
    return f"Source: {page.page.url or path_to_url(site.url, page.page.path)}\n\n"


# Pointers


def format_pointer(site: Site) -> str:
    """Return the first line of every Markdown file: a quote with a link to llms.txt."""
    name = re.sub(r"([\\`*_\[\]<>])", r"\\\1", to_single_line(site.name))
    return (
        f"> This page belongs to the documentation of {name}. "
        f"All its pages, as Markdown, are listed in [{LLMS_TXT}]({site.url}{LLMS_TXT}).\n"
    )


def add_markdown_links(html: str, path: str) -> str:
    """Add links to a page's Markdown and to llms.txt: two `<link>`s in its head and a sentence in its body.

    Links of an earlier build are replaced. Where the page has no head or no body, that part is left out.
    """
    html = _OWN_LINKS.sub("", html)
    markdown = escape(relative_url(path, markdown_path(path)), quote=True)
    llms_txt = escape(relative_url(path, LLMS_TXT), quote=True)
    # Material requests a sitemap next to each target of `[rel=alternate]`: one 404 per page (zensical/zensical#908).
    # The trailing space avoids that selector; readers that split `rel` into tokens ignore it.
    rel = "alternate " if "data-md-component" in html else "alternate"
    head = (
        f'<link rel="{rel}" type="text/markdown" href="{markdown}" data-roaming>'
        f'<link rel="describedby" type="text/markdown" href="{llms_txt}" data-roaming>'
    )
    if end := _HEAD_END.search(html):
        html = html[: end.start()] + head + html[end.start() :]
    start = find_content_start(html, end.end() if end else 0)
    if start is None:
        return html
    # Agent-readiness checkers look for a URL that ends in `/llms.txt`, also on the home page.
    sentence = _sentence(markdown, llms_txt if "/" in llms_txt else f"./{llms_txt}")
    return html[:start] + sentence + html[start:]


def relative_url(path: str, target: str) -> str:
    """Return the relative URL from a page to a file of the site, both given by their paths."""
    return quote(relpath("/" + target, "/" + path.rpartition("/")[0]), safe="/-._~!$&'()*+,;=@")


def find_content_start(html: str, begin: int = 0) -> int | None:
    """Return the offset where an element that belongs to the page can be inserted, or None without a body.

    Material and Zensical replace only a container inside the body when they navigate without a page load. An element
    outside of it would keep the data of the previous page.

    Args:
        html: The page.
        begin: The offset from which the body is searched.
    """
    found = _INSTANT_CONTAINER.search(html) or _BODY.search(html, begin)
    return found.end() if found else None


# Not display:none, because text extractors drop that. Screen readers, the tab key, Pagefind and Material's search skip
# the sentence.
_VISUALLY_HIDDEN = (
    "position:absolute;top:0;left:0;width:1px;height:1px;margin:0;overflow:hidden;clip-path:inset(50%);"
    "white-space:nowrap"
)


def _sentence(markdown: str, llms_txt: str) -> str:
    return (
        f'<p data-roaming data-pagefind-ignore aria-hidden="true" style="{_VISUALLY_HIDDEN}">'
        "For agents and language models, every page of this documentation is also there as Markdown, "
        f'this one at <a href="{markdown}" tabindex="-1">{markdown.rpartition("/")[2]}</a>, and all of them are listed '
        f'in <a href="{llms_txt}" tabindex="-1">llms.txt</a>.</p>'
    )


_OWN_LINKS = re.compile(r"<link\b[^<>]*\bdata-roaming>|<p data-roaming\b.*?</p>", re.DOTALL)
_HEAD_END = re.compile(r"</head\s*>", re.IGNORECASE)
_BODY = re.compile(r"<body\b[^>]*>", re.IGNORECASE)
_INSTANT_CONTAINER = re.compile(r"""<div\b[^>]*\bdata-md-component=["']?container\b[^>]*>""")
