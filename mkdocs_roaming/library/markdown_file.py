"""One Markdown text as a library: a README, an article, somebody's llms-full.txt with many pages in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from markdown_it import MarkdownIt

from mkdocs_roaming.library.readers import MemoryReader, parent_url
from mkdocs_roaming.manifest.builder import PublishedPage, build_manifest
from mkdocs_roaming.manifest.io import dump_manifest, with_digest
from mkdocs_roaming.manifest.models import Manifest, Page, Site, markdown_path, url_to_path
from mkdocs_roaming.manifest.sections import Section, github_slug, split_sections


def split_markdown_file(markdown: str, *, name: str, url: str, where: str) -> tuple[Manifest, MemoryReader]:
    """Give the manifest of a Markdown text, and a reader of its pages.

    A text with several H1s becomes several pages. A line `Source: URL` before or after an H1 is its page's address;
    where two or more have one, the other H1s are sections of the page they stand in.
    """
    pieces = _pieces(markdown, name)
    site_url = _site_url([piece.url for piece in pieces], url)
    title = pieces[0].sections[0].title if len(pieces) == 1 else name
    paths = _paths(pieces, site_url)
    pages = [
        PublishedPage(
            Page(path=path, title=piece.sections[0].title, url=piece.url or url or None),
            piece.text,
            piece.sections,
        )
        for piece, path in zip(pieces, paths, strict=True)
    ]
    manifest = with_digest(build_manifest(Site(title or name, site_url, nav_source="llms.txt"), pages))
    data = [piece.text.encode("utf-8", "surrogatepass") for piece in pieces]
    files = dict(zip(map(markdown_path, paths), data, strict=True))
    return manifest, MemoryReader(files, dump_manifest(manifest).encode("utf-8", "surrogatepass"), where=where)


@dataclass(frozen=True, slots=True)
class _Piece:
    """A page's part of the text, its address and its sections."""

    text: str
    url: str | None
    sections: tuple[Section, ...]


_BEFORE = re.compile(  # what may stand between a page's `Source:` line and its H1
    r"(?:\A|(?<=[\r\n]))(?:-{3,}[ \t]*[\r\n]+)?(?:Source|URL):[ \t]*<?(https?://[^\s<>]+)>?[ \t]*(?:\r\n|\n|\r)\s*"
    r"(?:>[^\r\n]*llms\.txt[^\r\n]*\s*)?(?:-{3,}\s*)?\Z"
)
_AFTER = re.compile(
    r"\A([^\r\n]*(?:\r\n|\n|\r)\s*)((?:Source|URL):[ \t]*<?(https?://[^\s<>]+)>?[ \t]*(?:\r\n|[\r\n]|\Z))"
)
_TAIL = 2000  # characters before an H1 in which its `Source:` line is looked for


def _pieces(markdown: str, name: str) -> list[_Piece]:
    data = markdown.encode("utf-8", "surrogatepass")
    whole = split_sections(markdown, title=name)
    # The first section is always the page's own: whether a title stands in it, and where, only its text tells.
    first = _title_start(data[whole[0].start : whole[0].end].decode("utf-8", "replace"))
    heads = [section.start for section in whole[1:] if section.level == 1]
    if first is not None:
        heads.insert(0, whole[0].start + first)
    if not heads or (len(heads) == 1 and first is not None):
        return [_Piece(markdown, _source(data, heads[0] if heads else whole[0].start)[1], whole)]
    marks = [(*_source(data, start), start) for start in heads]
    if sum(1 for _, url, _ in marks if url) > 1:
        marks = [mark for mark in marks if mark[1]]
    cuts = [cut for cut, _, _ in marks]
    ends = [*cuts[1:], len(data)]
    lead = data[: cuts[0]].decode("utf-8", "surrogatepass")
    pieces = [_piece(data[start:end], url, name) for (_, url, start), end in zip(marks, ends, strict=True)]
    if marks[0][1] is None and _title_start(lead) is None:  # a logo above the title
        return [_piece(data[: ends[0]], None, name), *pieces[1:]]
    return [_piece(data[: cuts[0]], None, name), *pieces] if len(lead.split()) > _LEAD else pieces


_LEAD = 3
"""A text before the first page of no more words than this is a rule or a mark, not a page."""


def _piece(data: bytes, url: str | None, name: str) -> _Piece:
    text = data.decode("utf-8", "surrogatepass")
    if url and (after := _AFTER.match(text)):
        text = text[: after.start(2)] + text[after.end(2) :]
    return _Piece(text, url, split_sections(text, title=name))


def _title_start(own: str) -> int | None:
    """Give where the H1 stands, in bytes, among the text of the page's own section."""
    lines = own.splitlines(keepends=True)
    for token in MarkdownIt("commonmark").disable("inline").parse(own):
        if token.type == "heading_open" and token.level == 0 and token.tag == "h1" and token.map:
            return len("".join(lines[: token.map[0]]).encode("utf-8"))
    return None


def _source(data: bytes, start: int) -> tuple[int, str | None]:
    """Give where the page of an H1 begins, and its address where it is told."""
    before = data[max(0, start - _TAIL) : start].decode("utf-8", "ignore")
    if found := _BEFORE.search(before):
        return start - len(before[found.start() :].encode("utf-8")), found[1]
    after = _AFTER.match(data[start : start + _TAIL].decode("utf-8", "ignore"))
    return start, after[3] if after else None


# Addresses


def _site_url(urls: Sequence[str | None], url: str) -> str:
    """Give the folder that the pages' addresses share; else that of the text itself."""
    known = [found for found in urls if found]
    if len(known) > 1 and len({urlsplit(found)[:2] for found in known}) == 1:
        shared = parent_url(_common(known))
        if urlsplit(shared).netloc:
            return shared
    return parent_url(known[0] if known else url) if known or url else ""


def _common(texts: Sequence[str]) -> str:
    """Give the beginning that all texts share."""
    least, most = min(texts), max(texts)
    at = next((at for at, (one, other) in enumerate(zip(least, most, strict=False)) if one != other), len(least))
    return least[:at]


def _paths(pieces: Sequence[_Piece], site_url: str) -> list[str]:
    """Give each page a path of its own, by its address or else by its title."""
    taken: set[str] = set()
    paths: list[str] = []
    for piece in pieces:
        path = url_to_path(site_url, piece.url) if piece.url and site_url else None
        if path is None:
            path = "" if len(pieces) == 1 else github_slug(piece.sections[0].title)[:80] + "/"
        base, again = path, 1
        while markdown_path(path) in taken:
            again += 1
            path = f"{base.rstrip('/')}~{again}/"
        taken.add(markdown_path(path))
        paths.append(path)
    return paths
