"""Expand a section: its text and its subsections' within a limit of characters, and a list of what remains closed.

The result is what the tool `expand_sections` returns, `roaming expand` prints, and `roaming/sections/<id>.md` contains.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from heapq import heapify, heappop, heappush

from msgspec import Struct, structs

from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef
from mkdocs_roaming.text.blocks import follow_fence
from mkdocs_roaming.text.markdown import to_single_line, truncate_at_word

MAX_EXPANSION_CHARS = 24_000
"""Maximum number of characters of an expanded section as Markdown, and of a tool result."""

_MIN_TEXT_CHARS = 400
_RESERVED_CHARS = 110  # heading of the list, line ends, the next part
_MAX_BREADCRUMB_CHARS = 400
_MAX_URL_CHARS = 500
_MAX_TITLE_CHARS = 120
_MAX_FRAME_CHARS = 1_500
"""More than breadcrumb, URL, neighbours and the reserved characters have together."""
_ANY_PART = 999
_MAX_NAMED = 12
_SOURCE_CODE = r"(?m)^> \[!NOTE\]\n> \*\*Source code\b[^\n]*\n(?:>[^\n]*\n?)*\n?"
"""A collapsed listing of mkdocstrings, as it is published."""


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


@dataclass(frozen=True, slots=True)
class Expansion:
    """An expanded section, or one part of it.

    `shown` are the sections that may be cited, `listed` the subsections that remain closed, `before` and `after` the
    neighbours, `already_open` the sections whose text is not repeated.
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

    @property
    def text(self) -> str:
        """Markdown of all sections that are shown."""
        return "".join(shown.text for shown in self.shown)


def expand_section(
    sections: SectionIndex,
    ref: SectionRef,
    read: Callable[[SectionRef], str],
    *,
    cap: int = MAX_EXPANSION_CHARS,
    part: int = 1,
    opened: Collection[str] | None = None,
) -> Expansion:
    """Expand a section.

    What does not fit into one part is in the next: first the section's own text, then the subsections that are opened,
    then the list of those that are not.

    In a conversation, nothing that is open is repeated, small subsections are preferred to large ones, listings of API
    source code come last, and closed branches name their subsections.

    Args:
        sections: Sections of the site.
        ref: Section to expand.
        read: Returns a section's own text.
        cap: Maximum number of characters of the part as Markdown.
        part: Number of the part; a higher one than the last returns the last.
        opened: In a conversation, the ids of the sections whose own text is open. Without, the result depends on the
            site alone.
    """
    frame = _make_frame(sections, ref)
    room = max(cap - len(render_expansion(frame)) - _RESERVED_CHARS, _MIN_TEXT_CHARS)
    known: list[ListedSection] = []
    if opened is None:
        shown, listed = _select_sections(sections, ref, read, room)
    else:
        room = max(room - _MAX_TITLE_CHARS, _MIN_TEXT_CHARS)  # for the section itself, if it is open
        shown, listed, known = _select_unopened(sections, ref, read, room, opened)
    parts = _split_parts(shown, listed, room)
    number = min(max(part, 1), len(parts))
    texts, entries = parts[number - 1]
    texts = tuple(structs.replace(text, inside=_list_titles(sections, ref, text.id)) for text in texts)
    expansion = replace(frame, shown=texts, listed=entries, part=number, parts=len(parts))
    if opened is None:
        return expansion
    if number == 1:
        expansion = replace(expansion, already_open=tuple(known))
    return _name_subsections(sections, expansion, cap - len(render_expansion(expansion)))


def _list_titles(sections: SectionIndex, ref: SectionRef, id_: str) -> tuple[str, ...]:
    """Return the titles from a section, which is left out, down to one of its subsections."""
    section = sections.get(id_)
    path = [*sections.ancestors(section), section] if section else []
    ids = [one.id for one in path]
    below = path[ids.index(ref.id) + 1 :] if ref.id in ids else path
    return tuple(_shorten(one.section.title) for one in below)


def render_section_file(
    sections: SectionIndex, ref: SectionRef, read: Callable[[SectionRef], str]
) -> tuple[str, tuple[int, int], str]:
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
    return head, (start, end), tail if start < end else f"\n{tail}"


def _make_frame(sections: SectionIndex, ref: SectionRef, parts: int = _ANY_PART) -> Expansion:
    """Return the last of the parts of a section's expansion, without text."""
    before, after = sections.neighbours(ref)
    return Expansion(
        id=ref.id,
        title=_shorten(ref.section.title),
        breadcrumb=_shorten_breadcrumb(sections, ref),
        url=_format_url(sections, ref),
        shown=(),
        listed=(),
        part=parts,
        parts=parts,
        before=list_section(sections, before) if before else None,
        after=list_section(sections, after) if after else None,
    )


def split_source_code(text: str) -> tuple[str, str]:
    """Return a text without its listings of API source code, and these."""
    listings = re.findall(_SOURCE_CODE, text) if "Source code" in text else []
    return (re.sub(_SOURCE_CODE, "", text), "".join(listings)) if listings else (text, "")


def make_text_expansion(sections: SectionIndex, ref: SectionRef, text: str) -> Expansion:
    """Return the expansion of a section's own text, or of a part of it."""
    shown = (ShownSection(ref.id, text),) if text else ()
    return replace(_make_frame(sections, ref, 1), shown=shown, before=None, after=None)


def render_expansion(expansion: Expansion) -> str:
    """Return the expansion as Markdown: breadcrumb, text, closed subsections, neighbours."""
    head, tail = _render_around(expansion)
    text = expansion.text
    return head + (text if text.endswith("\n") else f"{text}\n") + tail


def _render_around(expansion: Expansion) -> tuple[str, str]:
    """Return what precedes the text of an expansion as Markdown, and what follows it."""
    head = f"{' › '.join(expansion.breadcrumb)}\n[{expansion.id}] {expansion.url}".rstrip()
    if expansion.parts > 1:
        head += f" (part {expansion.part} of {expansion.parts})"
    tail = f"\nGoes on in part {expansion.part + 1}.\n" if expansion.part < expansion.parts else ""
    if closed := [entry for entry in expansion.listed if entry.id != expansion.id]:
        tail += "\nNot opened here:\n\n" + "".join(map(render_listed, closed))
    for entry in expansion.listed:
        if entry.id == expansion.id:
            tail += f"\nInside, not opened ({entry.inside}): {_render_inside(entry)}\n"
    if expansion.already_open:
        known = ", ".join(f"[{section.id}] {section.title}" for section in expansion.already_open)
        tail += f"\nOpen already: {known}\n"
    neighbours = [
        f"{name}: [{other.id}] {other.title}"
        for name, other in (("Before", expansion.before), ("After", expansion.after))
        if other
    ]
    if neighbours:
        tail += "\n" + " · ".join(neighbours) + "\n"
    return head + "\n\n", tail


def list_section(sections: SectionIndex, ref: SectionRef) -> ListedSection:
    """Return a section's entry in a list."""
    return ListedSection(ref.id, _shorten(ref.section.title), ref.section.tokens, sections.count_descendants(ref))


def _shorten_breadcrumb(sections: SectionIndex, ref: SectionRef) -> tuple[str, ...]:
    """Return the breadcrumb; the middle of a long one is left out, so that there is room for text."""
    titles = [_shorten(title) for title in sections.breadcrumb(ref)]
    count = len(titles)
    while len(titles) > 2 and sum(len(title) + 3 for title in titles) > _MAX_BREADCRUMB_CHARS:
        del titles[1]
    return (titles[0], "…", *titles[1:]) if len(titles) < count else tuple(titles)


def _format_url(sections: SectionIndex, ref: SectionRef) -> str:
    """Return the URL on one line, or an empty string for a URL that is too long: half of it would be useless."""
    url = "%20".join(sections.url(ref).split())
    return url if len(url) <= _MAX_URL_CHARS else ""


def _select_sections(
    sections: SectionIndex, ref: SectionRef, read: Callable[[SectionRef], str], room: int
) -> tuple[list[ShownSection], list[ListedSection]]:
    """Select the sections that fit next to the list of those that do not, in document order."""
    own = read(ref)
    below = sections.descendants(ref)
    if len(own) + sum(_size(other) for other in below) <= room:
        return [ShownSection(ref.id, own), *(ShownSection(other.id, read(other)) for other in below)], []
    shown = [ShownSection(ref.id, own)]
    listed: list[ListedSection] = []
    remaining = room - len(own) - _listed_size(sections, ref)
    pending = list(reversed(sections.children(ref)))
    while pending:
        other = pending.pop()
        entry = list_section(sections, other)
        cost = _size(other) + _listed_size(sections, other) - len(render_listed(entry))
        if cost <= remaining:
            shown.append(ShownSection(other.id, read(other)))
            remaining -= cost
            pending += reversed(sections.children(other))
        else:
            listed.append(entry)
    return shown, listed


def _select_unopened(
    sections: SectionIndex, ref: SectionRef, read: Callable[[SectionRef], str], room: int, opened: Collection[str]
) -> tuple[list[ShownSection], list[ListedSection], list[ListedSection]]:
    """Select the sections that fit and are not open, small ones first; listings of source code are last.

    Returns:
        The texts to show, the sections that remain closed, and those that are open already.
    """

    def split(other: SectionRef) -> tuple[str, str]:
        return ("", "") if other.id in opened else split_source_code(read(other))

    def cost(other: SectionRef) -> tuple[int, int, SectionRef]:
        """Return the characters of a subsection and the list of its own, without its entry in that list."""
        listed = 0 if other.id in opened else len(render_listed(list_section(sections, other)))
        return len(split(other)[0]) + _listed_size(sections, other) - listed, other.position, other

    chosen = [ref]
    closed = list[SectionRef]()
    remaining = room - len(split(ref)[0]) - _listed_size(sections, ref)
    pending = [cost(other) for other in sections.children(ref)]
    heapify(pending)
    while pending:
        size, _, other = heappop(pending)
        if size > remaining:
            closed.append(other)
            continue
        chosen.append(other)
        remaining -= size
        for child in sections.children(other):
            heappush(pending, cost(child))
    chosen.sort(key=lambda other: other.position)
    closed.sort(key=lambda other: other.position)
    texts = [(other.id, *split(other)) for other in chosen]
    shown = [ShownSection(id_, text) for id_, text, _ in texts if text]
    shown += [ShownSection(id_, listing) for id_, _, listing in texts if listing]
    known = [other for other in chosen if other.id in opened and other.section.start < other.section.end]
    return (
        shown,
        [list_section(sections, other) for other in closed],
        [list_section(sections, other) for other in known],
    )


def _name_subsections(sections: SectionIndex, expansion: Expansion, room: int) -> Expansion:
    """Name the first subsections of each listed section, as far as there is room."""
    entries: list[ListedSection] = []
    titles = Counter(entry.title for entry in expansion.listed)
    for entry in expansion.listed:
        ref = sections.get(entry.id)
        if ref and titles[entry.title] > 1 and (above := sections.ancestors(ref)):
            entry = structs.replace(entry, title=f"{_shorten(above[-1].section.title)} › {entry.title}")
        named: list[ListedSection] = []
        for child in (sections.children(ref) if ref else [])[:_MAX_NAMED]:
            shorter = ListedSection(child.id, _shorten(child.section.title))
            if (size := len(_render_named(shorter)) + 2) > room:
                break
            room -= size
            named.append(shorter)
        entries.append(structs.replace(entry, named=tuple(named)))
    return replace(expansion, listed=tuple(entries))


def _size(ref: SectionRef) -> int:
    return ref.section.end - ref.section.start  # bytes: at least as many as characters


def _listed_size(sections: SectionIndex, ref: SectionRef) -> int:
    return sum(len(render_listed(list_section(sections, child))) for child in sections.children(ref))


def _split_parts(
    shown: Sequence[ShownSection], listed: Sequence[ListedSection], room: int
) -> list[tuple[tuple[ShownSection, ...], tuple[ListedSection, ...]]]:
    """Split first what is shown, then what is listed, into parts of at most `room` characters."""
    parts: list[tuple[list[ShownSection], list[ListedSection]]] = [([], [])]
    remaining = room
    for section in shown:
        text = section.text
        while len(text) > remaining:
            cut = _find_cut(text, remaining)
            parts[-1][0].append(ShownSection(section.id, text[:cut]))
            text = text[cut:]
            parts.append(([], []))
            remaining = room
        if text:
            parts[-1][0].append(ShownSection(section.id, text))
            remaining -= len(text)
    for entry in listed:
        size = len(render_listed(entry))
        if size > remaining:
            parts.append(([], []))
            remaining = room
        parts[-1][1].append(entry)
        remaining -= size
    return [(tuple(texts), tuple(entries)) for texts, entries in parts if texts or entries] or [((), ())]


def _find_cut(text: str, limit: int) -> int:
    """Return where to cut: after a blank line outside of code, a line, or a word in the second half of what fits."""
    at = 0
    fence = ""
    best = 0
    for line in text[:limit].splitlines(keepends=True):
        fence = follow_fence(line, fence)
        at = at + len(line)
        if not fence and not line.strip() and at >= limit // 2:
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
    facts = [] if entry.named and not entry.tokens else [f"~{entry.tokens} tokens"]  # of an open section
    facts += [f"+{entry.inside} inside"] if entry.inside else []
    named = f": {_render_inside(entry)}" if entry.named else ""
    return f"- [{entry.id}] {entry.title} ({', '.join(facts)}){named}\n"


def _render_inside(entry: ListedSection) -> str:
    """Return the names of the first subsections of a section."""
    rest = ["…"] if entry.inside > len(entry.named) else []
    return ", ".join([*map(_render_named, entry.named), *rest])


def _render_named(entry: ListedSection) -> str:
    return f"[{entry.id}] {entry.title}"


@lru_cache(4_096)  # a section is named by itself, its subsections and its neighbours
def _shorten(title: str) -> str:
    return truncate_at_word(to_single_line(title), _MAX_TITLE_CHARS)
