"""Expand a section: its text and its subsections' within a limit of characters, and a list of what remains closed.

The result is what the tool `expand_sections` returns, `roaming expand` prints, and `roaming/sections/<id>.md` contains.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from heapq import heappop, heappush

from msgspec import Struct, structs

from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef
from mkdocs_roaming.text.blocks import follow_fence
from mkdocs_roaming.text.markdown import to_single_line, truncate_at_word

MAX_EXPANSION_CHARS = 24_000
"""Maximum number of characters of an expanded section as Markdown, and of a tool result."""

_MIN_TEXT_CHARS = 400
_RESERVED_CHARS = 230
"""Characters of the heading of the list, line ends, the line about the next part, and the section itself if open."""

_MAX_BREADCRUMB_CHARS = 400
_MAX_URL_CHARS = 500
_MAX_TITLE_CHARS = 120
_MAX_FRAME_CHARS = 2_500
"""More than breadcrumb, URL, neighbours, cited sections and the reserved characters have together."""
_ANY_PART = 999
"""A number of parts with as many digits as any has."""

_MAX_CITED = 6
_MAX_NAMED = 12
_CACHED_TITLES = 4_096
_SEPARATOR = " › "
_SOURCE_CODE = re.compile(r"^> \[!NOTE\]\n> \*\*Source code\b[^\n]*\n(?:>[^\n]*\n?)*\n?", re.MULTILINE)
"""A collapsed listing of mkdocstrings, as it is published: a note that begins with **Source code**."""


class ListedSection(Struct, frozen=True):
    """A section that is listed, not opened.

    `tokens` estimates its own text, `inside` is the number of its subsections, `named` are the first of these.
    """

    id: str
    title: str
    tokens: int = 0
    inside: int = 0
    named: tuple[ListedSection, ...] = ()


class ShownSection(Struct, frozen=True):
    """Text of one section, as in the page's Markdown; `inside` are the titles from the expanded section down to it."""

    id: str
    text: str
    inside: tuple[str, ...] = ()


ReadText = Callable[[SectionRef], str]
"""Returns a section's own text."""

_Part = tuple[list[ShownSection], list[ListedSection]]
"""Sections whose text is shown, and sections that are listed."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """An expanded section, or one part of it.

    `shown` are the sections that may be cited, `listed` the subsections that remain closed, `before` and `after` the
    neighbours, `already_open` the sections whose text is not repeated, `cites` the sections that the section cites by
    their numbers.
    """

    id: str
    title: str
    breadcrumb: tuple[str, ...]
    url: str
    shown: tuple[ShownSection, ...]
    listed: tuple[ListedSection, ...]
    part: int
    parts: int
    before: ListedSection | None
    after: ListedSection | None
    already_open: tuple[ListedSection, ...] = ()
    cites: tuple[ListedSection, ...] = ()

    @property
    def text(self) -> str:
        """Markdown of all sections that are shown."""
        return "".join(shown.text for shown in self.shown)


def expand_section(
    sections: SectionIndex,
    ref: SectionRef,
    read: ReadText,
    *,
    cap: int = MAX_EXPANSION_CHARS,
    part: int = 1,
    opened: Collection[str] = (),
) -> Expansion:
    """Expand a section.

    What does not fit into one part is in the next: first the section's own text, then the subsections that are opened,
    then the list of those that are not. Small subsections are preferred to large ones, listings of API source code come
    last, and closed branches name their subsections.

    Args:
        sections: Sections of the site.
        ref: Section to expand.
        read: Returns a section's own text.
        cap: Maximum number of characters of the part as Markdown.
        part: Number of the part; a higher one than the last returns the last.
        opened: In a conversation, the ids of the sections whose own text is open and not repeated.
    """
    frame = _make_frame(sections, ref)
    room = max(cap - len(render_expansion(frame)) - _RESERVED_CHARS, _MIN_TEXT_CHARS)
    shown, listed, known = _select_sections(sections, ref, read, room, opened)
    parts = _split_parts(shown, listed, room)
    number = min(max(part, 1), len(parts))
    texts, entries = parts[number - 1]
    placed: list[ShownSection] = []
    for text in texts:
        titles = _titles_inside(sections, ref, text.id)
        placed.append(structs.replace(text, inside=titles))
    expansion = replace(frame, shown=tuple(placed), listed=tuple(entries), part=number, parts=len(parts))
    if number == 1:
        expansion = replace(expansion, already_open=tuple(known))
    return _name_subsections(sections, expansion, cap - len(render_expansion(expansion)))


def _titles_inside(sections: SectionIndex, ref: SectionRef, id_: str) -> tuple[str, ...]:
    """Return the titles from a section, which is left out, down to one of its subsections."""
    inner = sections.get(id_) or ref
    path = (*sections.ancestors(inner), inner)
    return tuple(_shorten(above.section.title) for above in path if above.position > ref.position)


def render_section_file(sections: SectionIndex, ref: SectionRef, read: ReadText) -> tuple[str, tuple[int, int], str]:
    """Return the file of a section, which is the section expanded: text, a slice of its page's Markdown, and text.

    Args:
        sections: Sections of the site.
        ref: The section.
        read: Returns a section's own text.
    """
    start = ref.section.start
    end = ref.page.sections[ref.position + sections.count_descendants(ref)].end
    if end - start > MAX_EXPANSION_CHARS - _MAX_FRAME_CHARS:  # a few large ones, of which only a part is shown
        return render_expansion(expand_section(sections, ref, read)), (0, 0), ""
    head, tail = _render_around(_make_frame(sections, ref, 1))
    if start == end:
        tail = f"\n{tail}"
    return head, (start, end), tail


def _make_frame(sections: SectionIndex, ref: SectionRef, parts: int = _ANY_PART) -> Expansion:
    """Return the last of the parts of a section's expansion, without text.

    The middle of a long breadcrumb is left out, so that there is room for text. So is a URL that is too long: half of
    it would be useless.
    """
    breadcrumb = [_shorten(title) for title in sections.breadcrumb(ref)]
    count = len(breadcrumb)
    while len(breadcrumb) > 2 and len(_SEPARATOR.join(breadcrumb)) + len(_SEPARATOR) > _MAX_BREADCRUMB_CHARS:
        del breadcrumb[1]
    if len(breadcrumb) < count:
        breadcrumb.insert(1, "…")
    url = "%20".join(sections.url(ref).split())
    before, after = sections.neighbours(ref)
    cited = [section for id_ in ref.section.cites[:_MAX_CITED] if (section := sections.get(id_))]
    return Expansion(
        id=ref.id,
        title=_shorten(ref.section.title),
        breadcrumb=tuple(breadcrumb),
        url=url if len(url) <= _MAX_URL_CHARS else "",
        shown=(),
        listed=(),
        part=parts,
        parts=parts,
        before=list_section(sections, before) if before else None,
        after=list_section(sections, after) if after else None,
        cites=tuple(list_section(sections, section) for section in cited),
    )


def split_source_code(text: str) -> tuple[str, str]:
    """Return a text without its listings of API source code, and these."""
    if "Source code" not in text:
        return text, ""
    return _SOURCE_CODE.sub("", text), "".join(_SOURCE_CODE.findall(text))


def make_text_expansion(sections: SectionIndex, ref: SectionRef, text: str) -> Expansion:
    """Return the expansion of a section's own text, or of a part of it."""
    shown = (ShownSection(ref.id, text),) if text else ()
    return replace(_make_frame(sections, ref, 1), shown=shown, before=None, after=None, cites=())


def render_expansion(expansion: Expansion) -> str:
    """Return the expansion as Markdown: breadcrumb, text, closed subsections, neighbours."""
    head, tail = _render_around(expansion)
    text = expansion.text
    if not text.endswith("\n"):
        text += "\n"
    return head + text + tail


def _render_around(expansion: Expansion) -> tuple[str, str]:
    """Return what precedes the text of an expansion as Markdown, and what follows it."""
    head = f"{_SEPARATOR.join(expansion.breadcrumb)}\n[{expansion.id}] {expansion.url}".rstrip()
    if expansion.parts > 1:
        head += f" (part {expansion.part} of {expansion.parts})"
    tail = ""
    if expansion.part < expansion.parts:
        tail = f"\nGoes on in part {expansion.part + 1}.\n"
    closed = ""
    inside = ""
    for entry in expansion.listed:
        if entry.id == expansion.id:
            inside = f"\nInside, not opened ({entry.inside}): {_render_inside(entry)}\n"
        else:
            closed += render_listed(entry)
    if closed:
        tail += f"\nNot opened here:\n\n{closed}"
    tail += inside
    for label, entries in (("Open already", expansion.already_open), ("Cites", expansion.cites)):
        if entries:
            tail += f"\n{label}: {', '.join(map(_render_named, entries))}\n"
    around = (("Before", expansion.before), ("After", expansion.after))
    neighbours = [f"{label}: {_render_named(entry)}" for label, entry in around if entry]
    if neighbours:
        tail += "\n" + " · ".join(neighbours) + "\n"
    return head + "\n\n", tail


def list_section(sections: SectionIndex, ref: SectionRef) -> ListedSection:
    """Return a section's entry in a list."""
    return ListedSection(ref.id, _shorten(ref.section.title), ref.section.tokens, sections.count_descendants(ref))


def _select_sections(
    sections: SectionIndex, ref: SectionRef, read: ReadText, room: int, opened: Collection[str]
) -> tuple[list[ShownSection], list[ListedSection], list[ListedSection]]:
    """Select the sections that fit and are not open, small ones first; listings of source code are last.

    Returns:
        The texts to show, the sections that remain closed, and those that are open already.
    """
    splits: dict[str, tuple[str, str]] = {}

    def measure(section: SectionRef) -> int:
        """Split a section's text; return its characters without listings and those of the list of its subsections."""
        splits[section.id] = ("", "") if section.id in opened else split_source_code(read(section))
        return len(splits[section.id][0]) + _listed_size(sections, section)

    chosen: list[SectionRef] = []
    closed: list[SectionRef] = []
    pending = [(measure(ref), ref.position, ref)]
    remaining = room
    while pending:
        size, _, section = heappop(pending)
        if chosen and size > remaining:  # the expanded section itself is always chosen
            closed.append(section)
            continue
        chosen.append(section)
        remaining -= size
        for child in sections.children(section):
            size = measure(child)
            if child.id not in opened:
                size -= len(render_listed(list_section(sections, child)))
            heappush(pending, (size, child.position, child))
    chosen.sort(key=lambda section: section.position)
    closed.sort(key=lambda section: section.position)
    texts: list[ShownSection] = []
    listings: list[ShownSection] = []
    known: list[ListedSection] = []
    for section in chosen:
        text, listing = splits[section.id]
        if text:
            texts.append(ShownSection(section.id, text))
        if listing:
            listings.append(ShownSection(section.id, listing))
        if section.id in opened and _size(section):
            known.append(list_section(sections, section))
    return texts + listings, [list_section(sections, section) for section in closed], known


def _name_subsections(sections: SectionIndex, expansion: Expansion, room: int) -> Expansion:
    """Name the first subsections of each listed section, as far as there is room."""
    entries: list[ListedSection] = []
    counts = Counter(entry.title for entry in expansion.listed)
    for entry in expansion.listed:
        section = sections.get(entry.id)
        named = entry
        if section is not None:
            parent = sections.parent(section)
            if parent is not None and counts[entry.title] > 1:
                named = structs.replace(entry, title=f"{_shorten(parent.section.title)}{_SEPARATOR}{entry.title}")
            for child in sections.children(section)[:_MAX_NAMED]:
                name = ListedSection(child.id, _shorten(child.section.title))
                longer = structs.replace(named, named=(*named.named, name))
                if len(render_listed(longer)) - len(render_listed(entry)) > room:
                    break
                named = longer
        room -= len(render_listed(named)) - len(render_listed(entry))
        entries.append(named)
    return replace(expansion, listed=tuple(entries))


def _size(ref: SectionRef) -> int:
    return ref.section.end - ref.section.start  # bytes: at least as many as characters


def _listed_size(sections: SectionIndex, ref: SectionRef) -> int:
    entries = [list_section(sections, child) for child in sections.children(ref)]
    return sum(len(render_listed(entry)) for entry in entries)


def _split_parts(shown: Sequence[ShownSection], listed: Sequence[ListedSection], room: int) -> list[_Part]:
    """Split first what is shown, then what is listed, into parts of at most `room` characters."""
    part: _Part = ([], [])
    parts = [part]
    remaining = room
    for section in shown:
        text = section.text
        while len(text) > remaining:
            cut = _find_cut(text, remaining)
            part[0].append(ShownSection(section.id, text[:cut]))
            text = text[cut:]
            part = ([], [])
            parts.append(part)
            remaining = room
        if text:
            part[0].append(ShownSection(section.id, text))
            remaining -= len(text)
    for entry in listed:
        size = len(render_listed(entry))
        if size > remaining:
            part = ([], [])
            parts.append(part)
            remaining = room
        part[1].append(entry)
        remaining -= size
    return [part for part in parts if any(part)] or parts[:1]


def _find_cut(text: str, limit: int) -> int:
    """Return where to cut: after a blank line outside of code, a line, or a word in the second half of what fits."""
    at = 0
    fence = ""
    best = 0
    for line in text[:limit].splitlines(keepends=True):
        fence = follow_fence(line, fence)
        at += len(line)
        is_blank = not line.strip()
        if is_blank and not fence and at >= limit // 2:
            best = at
    if best:
        return best
    for end in ("\n\n", "\n", " "):
        index = text.rfind(end, limit // 2, limit)
        if index >= 0:
            return index + len(end)
    return limit


def render_listed(entry: ListedSection) -> str:
    """Return the line of a section in a list."""
    facts: list[str] = []
    if entry.tokens or not entry.named:  # an open section has no tokens here
        facts.append(f"~{entry.tokens} tokens")
    if entry.inside:
        facts.append(f"+{entry.inside} inside")
    line = f"- {_render_named(entry)} ({', '.join(facts)})"
    if entry.named:
        line += f": {_render_inside(entry)}"
    return line + "\n"


def _render_inside(entry: ListedSection) -> str:
    """Return the names of the first subsections of a section."""
    names = [_render_named(section) for section in entry.named]
    if entry.inside > len(names):
        names.append("…")
    return ", ".join(names)


def _render_named(entry: ListedSection) -> str:
    return f"[{entry.id}] {entry.title}"


@lru_cache(_CACHED_TITLES)  # a section is named by itself, its subsections and its neighbours
def _shorten(title: str) -> str:
    return truncate_at_word(to_single_line(title), _MAX_TITLE_CHARS)
