"""llms.txt as llmstxt.org describes it, nested where it would grow beyond what agents read, and llms-full.txt."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from posixpath import relpath
from urllib.parse import quote

from mkdocs_roaming.manifest.builder import PublishedPage
from mkdocs_roaming.manifest.models import Manifest, NavEntry, PageEntry, Site, markdown_path, path_to_url
from mkdocs_roaming.text.markdown import to_single_line, truncate_at_word

MAX_CHARS = 50_000


"""The characters that a file stays below; agents cut what is longer."""


DESCRIPTION = 200


LLMS_FULL = "llms-full.txt"


def build_llms_txt(manifest: Manifest, *, section_files: bool = True) -> dict[str, str]:
    """Give the files of llms.txt by path: one, or a root that lists nested ones where one would be too long.

    `section_files` tells whether there are files of single sections to speak of.
    """
    pages = {page.path: page for page in manifest.pages}
    nav = manifest.nav or tuple(NavEntry(page.title, page.id, page.path) for page in manifest.pages)
    files: dict[str, str] = {}
    about = (
        "Every link below leads to a page as Markdown.\n"
        f"A collapsed outline of all sections is at {manifest.site.url}roaming/outline.md"
        + (f", each section at {manifest.site.url}roaming/sections/<id>.md.\n" if section_files else ".\n")
    )
    summary = (
        to_single_line(manifest.site.description) or f"All pages of {to_single_line(manifest.site.name)}, as Markdown."
    )
    _write("llms.txt", _Part(manifest.site.name, summary, about, nav), manifest, pages, files)
    return files


def llms_full_offsets(pages: Sequence[PublishedPage], site: Site) -> Iterator[int]:
    """Give for each page the byte offset of its Markdown in llms-full.txt."""
    at = 0
    for written in pages:
        at += len(_source_line(written, site).encode())
        yield at
        at += len(written.markdown.encode("utf-8", "surrogatepass")) + 1


def iter_llms_full(pages: Iterable[PublishedPage], site: Site) -> Iterator[str]:
    """Give llms-full.txt piece by piece: for each page a line `Source: <URL>`, then its Markdown file as it is."""
    for written in pages:
        yield _source_line(written, site)
        yield written.markdown
        yield "\n"


def _source_line(written: PublishedPage, site: Site) -> str:
    return f"Source: {written.page.url or path_to_url(site.url, written.page.path)}\n\n"


@dataclass(frozen=True, slots=True)
class _Part:
    """What one llms.txt lists."""

    title: str
    summary: str
    about: str
    nav: tuple[NavEntry, ...]

    @property
    def head(self) -> str:
        return f"# {to_single_line(self.title)}\n\n> {self.summary}\n\n{self.about}"


def _write(path: str, part: _Part, manifest: Manifest, pages: Mapping[str, PageEntry], files: dict[str, str]) -> None:
    head = part.head
    whole = head + "".join(_group(title, entries, manifest, pages) for title, entries in _groups(part.nav))
    if len(whole) < MAX_CHARS:
        files[path] = whole
        return
    if any(_is_group(entry) for entry in part.nav):
        whole = head + _nested(part, manifest, pages, files)
        if len(whole) < MAX_CHARS:
            files[path] = whole
            return
    _cut_up(path, head, whole.removeprefix(head), part, manifest, files)


def _groups(nav: Sequence[NavEntry], above: tuple[str, ...] = ()) -> Iterator[tuple[str, list[NavEntry]]]:
    """Give the nav as runs under one heading each; inner groups are named with those above them."""
    run: list[NavEntry] = []
    for entry in nav:
        if entry.page is not None or entry.url is not None:
            run.append(entry)
        if entry.children:
            if run:
                yield " › ".join(above) or "Pages", run
                run = []
            yield from _groups(entry.children, (*above, to_single_line(entry.title)))
    if run:
        yield " › ".join(above) or "Pages", run


def _group(title: str, entries: Iterable[NavEntry], manifest: Manifest, pages: Mapping[str, PageEntry]) -> str:
    return f"\n## {title}\n\n" + "".join(_item(entry, manifest, pages) for entry in entries)


def _item(entry: NavEntry, manifest: Manifest, pages: Mapping[str, PageEntry]) -> str:
    page = pages.get(entry.page) if entry.page is not None else None
    if page is None:
        return f"- [{_label(entry.title)}]({entry.url})\n"
    about = truncate_at_word(to_single_line(page.description or page.sections[0].opening), DESCRIPTION)
    line = f"- [{_label(entry.title)}]({path_to_url(manifest.site.url, page.markdown)})"
    return f"{line}: {about}\n" if about else f"{line}\n"


def _is_group(entry: NavEntry) -> bool:
    return bool(entry.children) and entry.id is not None


def _nested(part: _Part, manifest: Manifest, pages: Mapping[str, PageEntry], files: dict[str, str]) -> str:
    """Write each group's own file; give the list of them, with what stands outside of groups before it."""
    alone = [entry for entry in part.nav if not _is_group(entry)]
    lines = [_group("Pages", alone, manifest, pages)] if alone else []
    lines.append("\n## Sections\n\n")
    for entry in part.nav:
        if not _is_group(entry):
            continue
        folder = f"roaming/nav/{entry.id}/"
        own = (NavEntry(entry.title, entry.id, entry.page),) if entry.page is not None else ()
        summary = f"A part of {to_single_line(manifest.site.name)}."
        about = f"The whole list is at [llms.txt]({manifest.site.url}llms.txt).\n"
        inside = _Part(f"{part.title}: {entry.title}", summary, about, (*own, *entry.children))
        _write(folder + "llms.txt", inside, manifest, pages, files)
        count = sum(1 for _ in _pages_of(entry))
        lines.append(f"- [{_label(entry.title)}]({path_to_url(manifest.site.url, folder)}llms.txt): {count} pages\n")
    return "".join(lines)


def _pages_of(entry: NavEntry) -> Iterator[NavEntry]:
    if entry.page is not None:
        yield entry
    for child in entry.children:
        yield from _pages_of(child)


def _cut_up(path: str, head: str, body: str, part: _Part, manifest: Manifest, files: dict[str, str]) -> None:
    """Cut a list that is too long even alone into `llms-2.txt` …, linked from its first file."""
    lines = body.splitlines(keepends=True)
    room = MAX_CHARS - len(head) - 2_000 - 120 * (len(body) // (MAX_CHARS // 2) + 1)
    pieces: list[str] = [""]
    title = ""
    for line in lines:
        title = line if line.startswith("## ") else title
        if len(pieces[-1]) + len(line) > room:
            pieces.append("" if line.startswith("## ") else f"\n{title}\n")
        pieces[-1] += line
    names = [path, *(path.removesuffix(".txt") + f"-{at}.txt" for at in range(2, len(pieces) + 1))]
    more = "".join(
        f"- [{_label(part.title)}, part {at}]({path_to_url(manifest.site.url, name)})\n"
        for at, name in enumerate(names[1:], 2)
    )
    files[path] = head + pieces[0] + (f"\n## More\n\n{more}" if more else "")
    for name, piece in zip(names[1:], pieces[1:], strict=True):
        files[name] = head + piece


def _label(text: str) -> str:
    return re.sub(r"([\\\[\]])", r"\\\1", to_single_line(text))


# MERGED mkdocs_roaming.publish.discovery:
# How a reader of one page finds all the others: the `<link>` pair, and one sentence in page and Markdown.


LLMS_TXT = "llms.txt"


def format_pointer(site: Site) -> str:
    """Give the first line of every Markdown file: a quote that points to llms.txt."""
    address = f"{site.url}{LLMS_TXT}"
    return (
        f"> This page belongs to the documentation of {_plain(to_single_line(site.name))}. "
        f"All its pages, as Markdown, are listed in [{LLMS_TXT}]({address}).\n"
    )


def add_markdown_links(html: str, path: str) -> str:
    """Give a page's HTML with the `<link>` pair in its head and the pointer at the top of its body.

    Doing it twice changes nothing: what was put in before is taken out first. A page without a head or a body gets
    what it has a place for.
    """
    html = _OURS.sub("", html)
    markdown, llms = _relative(path, markdown_path(path)), _relative(path, LLMS_TXT)
    # Material asks for a sitemap beside whatever `[rel=alternate]` leads to, so every page would cost a 404 (zensical/
    # zensical#908). The space takes the link out of that selector, and means nothing to whoever reads `rel` as tokens.
    rel = "alternate " if _MATERIAL in html else "alternate"
    head = (
        f'<link rel="{rel}" type="text/markdown" href="{markdown}" data-roaming>'
        f'<link rel="describedby" type="text/markdown" href="{llms}" data-roaming>'
    )
    if end := _HEAD_END.search(html):
        html = html[: end.start()] + head + html[end.start() :]
    if body := _SWAPPED.search(html) or _BODY.search(html, end.end() if end else 0):
        # Scorers of agents' readiness look for an address that ends in `/llms.txt`, on the home page too.
        sentence = _sentence(markdown, llms if "/" in llms else f"./{llms}")
        html = html[: body.end()] + sentence + html[body.end() :]
    return html


# Hidden from sight, kept for whoever reads the text: not display:none, which extractors drop. Screen readers and the
# tab key pass it by: it says nothing that a person needs. Pagefind and Material's search leave it out.
_HIDDEN = (
    "position:absolute;top:0;left:0;width:1px;height:1px;margin:0;overflow:hidden;clip-path:inset(50%);"
    "white-space:nowrap"
)


def _sentence(markdown: str, llms: str) -> str:
    return (
        f'<p data-roaming data-pagefind-ignore aria-hidden="true" style="{_HIDDEN}">'
        "For agents and language models, every page of this documentation is also there as Markdown, "
        f'this one at <a href="{markdown}" tabindex="-1">{markdown.rpartition("/")[2]}</a>, and all of them are listed '
        f'in <a href="{llms}" tabindex="-1">llms.txt</a>.</p>'
    )


_OURS = re.compile(r"<link\b[^<>]*\bdata-roaming>|<p data-roaming\b.*?</p>", re.DOTALL)


_HEAD_END = re.compile(r"</head\s*>", re.IGNORECASE)


_BODY = re.compile(r"<body\b[^>]*>", re.IGNORECASE)


_MATERIAL = "data-md-component"


_SWAPPED = re.compile(r"""<div\b[^>]*\bdata-md-component=["']?container\b[^>]*>""")


"""What Material and Zensical exchange when they navigate without loading: outside of it a pointer goes stale."""


def _relative(path: str, target: str) -> str:
    folder = path.rpartition("/")[0]
    return escape(quote(relpath("/" + target, "/" + folder), safe="/-._~!$&'()*+,;=@"), quote=True)


def _plain(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>])", r"\\\1", text)
