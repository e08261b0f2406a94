"""Split a page's Markdown into sections, and name them.

A section reaches from one top-level heading to the next; `#` in fences, HTML blocks, quotes and lists does not start
one. The slices, joined, are the file from its title to its end, byte for byte. A name is unique on its page and
depends on nothing below its own heading, so that no change further down the page changes an id.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, count
from typing import NamedTuple

from msgspec import Struct, field

from mkdocs_roaming.manifest.models import MAX_OPENING, Heading, PageEntry, Section, SectionEntry, slice_digest
from mkdocs_roaming.text.blocks import (
    FRONT_MATTER,
    LINE_END,
    find_headings,
    find_targets,
    line_offsets,
    strip_markup,
)
from mkdocs_roaming.text.tokenizer import estimate_tokens

_SLUGLESS = re.compile(r"[^\w\- ]")
"""A character that no anchor of GitHub contains, such as a dot."""


class _Mark(NamedTuple):
    """A heading in the Markdown of a page: offsets of its first character, and of the text below it."""

    level: int
    title: str
    start: int
    below: int


def split_sections(
    markdown: str,
    *,
    title: str = "",
    headings: Sequence[Heading] | None = None,
    offsets: Sequence[int] | None = None,
) -> tuple[Section, ...]:
    """Return the sections of a page in document order; the first is the page's own.

    Args:
        markdown: Markdown of the page.
        title: Title of the page's own section if the Markdown does not start with a level-1 heading.
        headings: Headings of the rendered page, for their anchors.
        offsets: Offsets of these headings in the Markdown, each on a line of its own, as the converter reports them.
            Without them the Markdown is parsed.
    """
    from mkdocs_roaming.text.openings import make_opening  # not needed to read a manifest

    if headings is not None and offsets is not None:
        marks = _locate_headings(markdown, headings, offsets)
        named = list(headings)
    else:
        marks = _find_marks(markdown)
        named = _match_headings(marks, headings or ())
        if not marks or marks[0].level != 1:
            start = len(markdown) - len(_strip_front_matter(markdown))
            marks.insert(0, _Mark(1, title, start, start))
            named.insert(0, Heading(1, title, None))
    parents = find_parents([mark.level for mark in marks])
    stops = [mark.start for mark in marks[1:]]
    stops.append(len(markdown))
    above = markdown[: marks[0].start]
    end = len(above.encode("utf-8", "surrogatepass"))
    sections: list[Section] = []
    for mark, stop, rendered, parent in zip(marks, stops, named, parents, strict=True):
        text = markdown[mark.start : stop]
        data = text.encode("utf-8", "surrogatepass")
        start = end
        end = start + len(data)
        below = markdown[mark.below : stop].strip()
        body = ""
        if below:
            body = slice_digest(below.encode("utf-8", "surrogatepass"))
        subsections = len(marks) - 1 if parent is None else None
        section = Section(
            mark.level,
            rendered.text or title,
            rendered.anchor,
            start,
            end,
            parent,
            make_opening(below, limit=MAX_OPENING, subsections=subsections),
            find_targets(text),
            digest=slice_digest(data),
            body=body,
            tokens=estimate_tokens(text),
            anchors=rendered.anchors,
        )
        sections.append(section)
    return tuple(sections)


def _locate_headings(markdown: str, headings: Sequence[Heading], offsets: Sequence[int]) -> list[_Mark]:
    """Return headings whose offsets are known."""
    marks: list[_Mark] = []
    for heading, start in zip(headings, offsets, strict=True):
        line_end = markdown.find("\n", start)
        below = line_end + 1 if line_end >= 0 else len(markdown)
        marks.append(_Mark(heading.level, heading.text, start, below))
    return marks


def _find_marks(markdown: str) -> list[_Mark]:
    """Return the top-level headings of Markdown. The text above a title is its own, except for the pointer."""
    body = _strip_front_matter(markdown)
    skipped = len(markdown) - len(body)
    lines = line_offsets(body)
    marks: list[_Mark] = []
    for heading in find_headings(body):
        first = heading.start
        if not marks and heading.level == 1 and not _is_pointer(body[: lines[first]]):
            first = 0
        line_below = min(first + heading.end - heading.start, len(lines) - 1)
        start = skipped + lines[first]
        below = skipped + lines[line_below]
        marks.append(_Mark(heading.level, heading.text, start, below))
    return marks


def find_parents(levels: Sequence[int]) -> list[int | None]:
    """Return the index of the enclosing section of each section of a page; None for the page's own."""
    stack: list[int] = []
    parents: list[int | None] = []
    for index, level in enumerate(levels):
        while len(stack) > 1 and levels[stack[-1]] >= level:
            stack.pop()
        parents.append(stack[-1] if stack else None)
        stack.append(index)
    return parents


def github_slug(text: str) -> str:
    """Return the anchor that GitHub generates for a heading."""
    return _SLUGLESS.sub("", text.strip().lower()).replace(" ", "-")


def file_digest(data: bytes) -> str:
    """Return the digest of a file, as the manifest has it: `sha256:` and the hex digits of its SHA-256."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def extract_pages(pages: Iterable[PageEntry], llms_full: bytes) -> dict[str, bytes]:
    """Return the Markdown of pages in llms-full.txt by path, of those that it contains as the manifest says."""
    texts: dict[str, bytes] = {}
    for page in pages:
        if page.full is None:
            continue
        text = llms_full[page.full : page.full + page.bytes]
        if file_digest(text) == page.digest:
            texts[page.path] = text
    return texts


# The start of the file


def _strip_front_matter(markdown: str) -> str:
    front = FRONT_MATTER.match(markdown)
    # Front matter has a key. Without one, it is text between two thematic breaks.
    if front and ":" in front.group():
        return markdown[front.end() :]
    return markdown.removeprefix("\ufeff")


def _is_pointer(before: str) -> bool:
    """Return whether the text before the title is blank, or the quote that points to llms.txt."""
    before = before.strip()
    if not before:
        return True
    is_one_line = LINE_END.search(before) is None
    return is_one_line and before.startswith(">") and "llms.txt" in before


# Titles and anchors


def _match_headings(marks: Sequence[_Mark], headings: Sequence[Heading]) -> list[Heading]:
    """Return the rendered page's heading for each heading of the Markdown: one by one, or matched by its text."""
    if [mark.level for mark in marks] == [heading.level for heading in headings]:
        return list(headings)
    indexes = defaultdict[str, deque[int]](deque)
    for index, heading in enumerate(headings):
        slug = github_slug(heading.text)
        indexes[slug].append(index)
    matched: list[Heading] = []
    next_index = 0  # page and Markdown have their headings in the same order
    for mark in marks:
        title = strip_markup(mark.title)
        candidates = indexes[github_slug(title)]
        while candidates and candidates[0] < next_index:
            candidates.popleft()
        anchor = None
        anchors: tuple[str, ...] = ()
        if candidates:
            rendered = headings[candidates[0]]
            anchor = rendered.anchor
            anchors = rendered.anchors
            next_index = candidates[0] + 1
        matched.append(Heading(mark.level, title, anchor, anchors))
    return matched


# Names


def make_names(headings: Sequence[Section | SectionEntry]) -> list[str]:
    """Return the name of each section of a page, from which its id is derived.

    The page's own section has an empty name. A section whose anchor its author chose has that name. Another has the
    slug of its title, as its anchor has it if possible, below a section of the page `<parent>/<slug>`. If a section
    above has the same title and parent, the name is `<sibling>+<slug>` with the nearest section above that has the
    parent and a title that is new there, otherwise `<parent>/<slug>`, with `~2`, `~3` … if necessary.
    """
    parents = find_parents([heading.level for heading in headings])
    names: list[str] = []
    taken: set[str] = set()
    repeated: set[tuple[int, str]] = set()
    attempts: Counter[str] = Counter()
    siblings: dict[int, tuple[str, str]] = {}  # by parent, name and slug of the last child with a new title
    for heading, parent in zip(headings, parents, strict=True):
        name = ""
        if parent is not None:
            slug, is_chosen = _read_anchor(heading)
            name = slug if is_chosen or parent == 0 else f"{names[parent]}/{slug}"
            if name in taken or (parent, slug) in repeated:
                sibling, sibling_slug = siblings.get(parent, ("", slug))
                is_alone = sibling_slug == slug
                base = f"{names[parent]}/{slug}" if is_alone else f"{sibling}+{slug}"
                number = attempts[base] + 1 + is_alone
                name = base if number == 1 else f"{base}~{number}"
                while name in taken:
                    number += 1
                    name = f"{base}~{number}"
                attempts[base] = number - is_alone  # thousands of sections may have one name
            else:
                siblings[parent] = (name, slug)
            repeated.add((parent, slug))
        taken.add(name)
        names.append(name)
    return names


def find_contexts(titles: Sequence[str], parents: Sequence[int | None]) -> list[int | None]:
    """Return the index of the heading that says what each section of a page is about.

    It is the parent. If the parent has several subsections with the same title, such as “Options” after each command,
    it is the nearest of its subsections above that has a title of its own.
    """
    occurrences = Counter(zip(parents, titles, strict=True))
    contexts: list[int | None] = []
    siblings: dict[int | None, int] = {}
    for index, (title, parent) in enumerate(zip(titles, parents, strict=True)):
        if occurrences[parent, title] == 1:
            contexts.append(parent)
            siblings[parent] = index
        else:
            contexts.append(siblings.get(parent, parent))
    return contexts


# Anchors

_NUMBERED = re.compile(r"(?:(.*)[-_]|id)\d+", re.DOTALL)
"""An anchor with a number: python-markdown's `a_1`, GitHub's `a-1`, docutils' `id1`."""


def _read_anchor(heading: Section | SectionEntry) -> tuple[str, bool]:
    """Return the slug of a heading, and whether it is an anchor that does not follow from the title.

    The slug is the anchor without the number of a repeated title. It is derived from the title if there is no anchor,
    for the `id1` of docutils, and if the anchor lost the letters of a title in another script: `_1`, or `pip` of
    “使用 pip 安装”.
    """
    title = heading.title
    anchor = heading.anchor
    slug = github_slug(title) or title.strip()
    if not anchor or anchor == slug:
        return slug, False
    whole = _squeeze(title)
    ascii_only = whole.encode("ascii", "ignore").decode()
    is_lossy = len(ascii_only) < len(whole)
    squeezed = _squeeze(anchor)
    if squeezed in (whole, ascii_only):
        return (slug, False) if is_lossy and squeezed == ascii_only else (anchor, False)
    numbered = _NUMBERED.fullmatch(anchor)
    if numbered is None:
        return anchor, True
    base = numbered[1] or ""
    squeezed_base = _squeeze(base)
    if not base or (is_lossy and squeezed_base == ascii_only):
        return slug, False
    if squeezed_base == whole:
        return base, False
    return anchor, True


def _squeeze(text: str) -> str:
    """Return the letters and digits of a text without case and accents."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKD", text).casefold()))


# Ids


def hash_id(key: str) -> str:
    """Return the id of a key such as `guide/install/#requirements`: 8 hex digits."""
    return slice_digest(key.encode("utf-8", "surrogatepass"))


class IdAllocator(Struct):
    """Ids that are unique on a site: if an id is taken, the key is hashed again with `~1`, `~2` … appended."""

    owners: Mapping[str, object] = {}
    """The owners of reserved ids, which nobody else gets."""
    taken: set[str] = field(default_factory=set)

    def allocate(self, key: str, owner: object = None, preferred: Iterable[str] = ()) -> str:
        """Return a new id for a key. The same keys in the same order get the same ids.

        Args:
            key: The key.
            owner: The owner of the id.
            preferred: Ids to use instead if the id of the key is taken or reserved.
        """
        further = (hash_id(f"{key}~{attempt}") for attempt in count(1))
        for id_ in chain((hash_id(key),), preferred, further):
            if id_ not in self.taken and self.owners.get(id_, owner) == owner:
                self.taken.add(id_)
                return id_
        raise AssertionError("unreachable")
