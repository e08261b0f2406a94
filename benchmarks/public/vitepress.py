"""Pages of documentation repositories for VitePress and Nuxt Content: their Markdown, as readers see it.

- Front matter is removed. A page without H1 gets its title and, below it, its description, as Nuxt renders them.
- Blocks `<script>` and `<style>` outside code are removed; includes `<!--@include: file-->` are replaced by the file.
- Numbers that only sort files (`1.getting-started`) are not part of a page's path.
- Containers (`::: tip`) and everything else remain as they are.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path

from msgspec import Struct

from mkdocs_roaming import Page
from mkdocs_roaming.manifest.models import Heading
from mkdocs_roaming.sources.project import find_heading, read_source
from mkdocs_roaming.text.markdown import parse_headings, strip_markup

MAX_INCLUDES = 5
"""Maximum depth of includes."""

_FENCED = r"^(?P<indent>[ \t>]*)(?P<fence>`{3,}|~{3,})[\s\S]*?(?:^[ \t>]*(?P=fence)[`~]*[ \t]*$|\Z)"
_CODE_OR_BLOCK = re.compile(rf"{_FENCED}|^<(?P<tag>script|style)\b[\s\S]*?</(?P=tag)>[ \t]*\n?", re.MULTILINE)
_CODE_OR_INCLUDE = re.compile(rf"{_FENCED}|<!--[ \t]*@include:[ \t]*(?P<file>[^\s{{#]+).*?-->", re.MULTILINE)
_ORDER = re.compile(r"(?:^|(?<=/))\d+\.(?=[^/]*[^/\d])")
_ANCHOR = re.compile(r"[ \t]*\{#(?P<anchor>[^}\s]+)[^}]*\}[ \t]*$", re.MULTILINE)


class SourcePage(Struct, frozen=True):
    """A page and the path of its file below the documentation folder."""

    file: str
    page: Page


def iter_pages(folder: Path, excluded: Collection[str] = ()) -> Iterator[SourcePage]:
    """Yield the pages of a documentation folder, in the order of their files.

    Args:
        folder: The folder.
        excluded: Names of folders and files at its top that are left out, such as translations.
    """
    for file in sorted(folder.rglob("*.md"), key=lambda each: each.relative_to(folder).parts):
        parts = file.relative_to(folder).parts
        if parts[0] in excluded or "node_modules" in parts or any(part.startswith(".") for part in parts):
            continue
        yield SourcePage("/".join(parts), read_page(file, folder))


def read_page(file: Path, folder: Path) -> Page:
    """Return the page of a file."""
    meta, text = read_source(file, file.name, (), lambda _: None)
    text = expand_includes(remove_scripts(text), file.parent).lstrip("\n")
    path = make_path(file.relative_to(folder).as_posix())
    title = str(meta.get("title") or "") or find_heading(text) or path.strip("/").rpartition("/")[2] or folder.name
    own_headings = parse_headings(text)
    if not own_headings or own_headings[0].level != 1:
        introduction = str(meta.get("description") or "")
        text = f"# {title}\n\n" + (f"{introduction}\n\n" if introduction else "") + text
    headings = tuple(_iter_headings(text))
    return Page(path, title, markdown=_remove_anchors(text), headings=headings)


def make_path(file: str) -> str:
    """Return the path of a page from that of its file, without the numbers that sort files."""
    path = _ORDER.sub("", file.removesuffix(".md"))
    return path.removesuffix("index") if path == "index" or path.endswith("/index") else path


def remove_scripts(text: str) -> str:
    """Return a text without blocks `<script>` and `<style>`; those in code remain."""
    return _CODE_OR_BLOCK.sub(lambda found: found[0] if found["fence"] else "", text)


def expand_includes(text: str, folder: Path, depth: int = MAX_INCLUDES) -> str:
    """Return a text with the files that it includes; an include of a file that does not exist remains."""

    def replace(found: re.Match[str]) -> str:
        file = folder / (found["file"] or "")
        if found["fence"] or not depth or not file.is_file():
            return found[0]
        included = remove_scripts(read_source(file, file.name, (), lambda _: None)[1])
        return expand_includes(included, file.parent, depth - 1)

    return _CODE_OR_INCLUDE.sub(replace, text)


def _iter_headings(text: str) -> Iterator[Heading]:
    for heading in parse_headings(text):
        found = _ANCHOR.search(heading.title)
        title = strip_markup(_ANCHOR.sub("", heading.title))
        yield Heading(heading.level, title, found["anchor"] if found else _make_anchor(title))


def _make_anchor(title: str) -> str:
    return re.sub(r"[^\w]+", "-", title.lower()).strip("-") or "section"


def _remove_anchors(text: str) -> str:
    """Return a text whose headings have no `{#anchor}`."""
    lines = text.split("\n")
    for heading in parse_headings(text):
        lines[heading.line] = _ANCHOR.sub("", lines[heading.line])
    return "\n".join(lines)
