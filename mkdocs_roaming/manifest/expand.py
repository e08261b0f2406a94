"""A section opened: its text and its subsections' while a cap allows, the rest listed by id.

What the `expand_sections` tool gives, what `roaming expand` prints and what lies in `roaming/sections/<id>.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef
from mkdocs_roaming.text.markdown import to_single_line, truncate_at_word

MAX_EXPANSION_CHARS = 24_000
"""The most characters of one opened section, as rendered, and of one tool result."""


@dataclass(frozen=True, slots=True)
class ListedSection:
    """A section that is named, not opened: `tokens` is an estimate of its own text, `inside` counts those below."""

    id: str
    title: str
    tokens: int = 0
    inside: int = 0


@dataclass(frozen=True, slots=True)
class ShownSection:
    """Text of one section, as it stands in the page."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Expansion:
    """A section as opened: part `part` of `parts`. `shown` is what may be cited, `listed` what stayed closed."""

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

    @property
    def text(self) -> str:
        """The Markdown of all that is shown."""
        return "".join(shown.text for shown in self.shown)


def expand_section(
    places: SectionIndex,
    place: SectionRef,
    read: Callable[[SectionRef], str],
    *,
    cap: int = MAX_EXPANSION_CHARS,
    part: int = 1,
) -> Expansion:
    """Open a section; `read` gives a section's own text. Rendered, the result has at most `cap` characters.

    A part beyond the last gives the last. What does not fit stands in the next part: own text first, then the
    subsections that were unfurled, then the list of those that were not.
    """
    before, after = places.neighbours(place)
    frame = Expansion(
        id=place.id,
        title=_short(place.section.title),
        breadcrumb=_trail(places, place),
        url=_address(places, place),
        shown=(),
        listed=(),
        part=999,
        parts=999,
        before=list_section(places, before) if before else None,
        after=list_section(places, after) if after else None,
    )
    room = max(cap - len(render_expansion(frame)) - _SLACK, 400)
    shown, closed = _unfurl(places, place, read, room)
    parts = _parts(shown, closed, room)
    at = min(max(part, 1), len(parts))
    return Expansion(
        frame.id,
        frame.title,
        frame.breadcrumb,
        frame.url,
        *parts[at - 1],
        at,
        len(parts),
        frame.before,
        frame.after,
    )


def render_expansion(expansion: Expansion) -> str:
    """Give the expansion as Markdown: breadcrumb, text, what stayed closed, neighbours."""
    lines = [" › ".join(expansion.breadcrumb), f"[{expansion.id}] {expansion.url}"]
    if expansion.parts > 1:
        lines[1] += f" (part {expansion.part} of {expansion.parts})"
    pieces = ["\n".join(lines) + "\n\n", expansion.text]
    if not pieces[-1].endswith("\n"):
        pieces.append("\n")
    if expansion.listed:
        pieces.append("\nNot opened here:\n\n" + "".join(map(_list_line, expansion.listed)))
    around = [
        f"{name}: [{other.id}] {other.title}"
        for name, other in (("Before", expansion.before), ("After", expansion.after))
        if other
    ]
    if around:
        pieces.append("\n" + " · ".join(around) + "\n")
    return "".join(pieces)


def list_section(places: SectionIndex, place: SectionRef) -> ListedSection:
    """Give a section's entry in a list."""
    return ListedSection(place.id, _short(place.section.title), place.section.tokens, places.count_descendants(place))


_SLACK = 80  # the heading of the list, and line ends
_TRAIL = 400  # characters of a breadcrumb
_ADDRESS = 500  # characters of a URL


def _trail(places: SectionIndex, place: SectionRef) -> tuple[str, ...]:
    """Give the breadcrumb, its middle left out where it is long: a frame must leave room for text."""
    trail = [_short(title) for title in places.breadcrumb(place)]
    cut = len(trail) > 1 and sum(len(title) + 3 for title in trail) > _TRAIL
    while len(trail) > 2 and sum(len(title) + 3 for title in trail) > _TRAIL:
        del trail[1]
    return (trail[0], "…", *trail[1:]) if cut else tuple(trail)


def _address(places: SectionIndex, place: SectionRef) -> str:
    """Give the URL on one line; where it is absurdly long, half of it would lead nowhere."""
    url = "%20".join(places.url(place).split())
    return url if len(url) <= _ADDRESS else ""


def _unfurl(
    places: SectionIndex, place: SectionRef, read: Callable[[SectionRef], str], room: int
) -> tuple[list[ShownSection], list[ListedSection]]:
    """Choose what is shown: in the order of the text, whatever fits beside the list of what doesn't."""
    own = read(place)
    below = places.descendants(place)
    if len(own) + sum(other.section.end - other.section.start for other in below) <= room:  # bytes ≥ characters
        return [ShownSection(place.id, own), *(ShownSection(other.id, read(other)) for other in below)], []
    shown = [ShownSection(place.id, own)]
    closed: list[ListedSection] = []
    left = room - len(own) - sum(len(_list_line(list_section(places, child))) for child in places.children(place))
    waiting = list(reversed(places.children(place)))
    while waiting:
        other = waiting.pop()
        entry = list_section(places, other)
        children = places.children(other)
        lists = sum(len(_list_line(list_section(places, child))) for child in children)
        cost = other.section.end - other.section.start + lists - len(_list_line(entry))
        if cost <= left:
            shown.append(ShownSection(other.id, read(other)))
            left -= cost
            waiting += reversed(children)
        else:
            closed.append(entry)
    return shown, closed


def _parts(
    shown: Sequence[ShownSection], closed: Sequence[ListedSection], room: int
) -> list[tuple[tuple[ShownSection, ...], tuple[ListedSection, ...]]]:
    """Cut what is shown, then what is listed, into parts of at most `room` characters."""
    parts: list[tuple[list[ShownSection], list[ListedSection]]] = [([], [])]
    left = room
    for piece in shown:
        text = piece.text
        while len(text) > left:
            cut = _cut(text, left)
            parts[-1][0].append(ShownSection(piece.id, text[:cut]))
            text = text[cut:]
            parts.append(([], []))
            left = room
        if text:
            parts[-1][0].append(ShownSection(piece.id, text))
            left -= len(text)
    for entry in closed:
        size = len(_list_line(entry))
        if size > left:
            parts.append(([], []))
            left = room
        parts[-1][1].append(entry)
        left -= size
    return [(tuple(texts), tuple(lines)) for texts, lines in parts if texts or lines] or [((), ())]


def _cut(text: str, most: int) -> int:
    """Give where to cut: behind a blank line, else a line, else a word, not before half of what fits."""
    for end in ("\n\n", "\n", " "):
        at = text.rfind(end, most // 2, most)
        if at >= 0:
            return at + len(end)
    return most


def _list_line(entry: ListedSection) -> str:
    inside = f", +{entry.inside} inside" if entry.inside else ""
    return f"- [{entry.id}] {entry.title} (~{entry.tokens} tokens{inside})\n"


@lru_cache(4_096)
def _short(title: str) -> str:
    return truncate_at_word(to_single_line(title), 120)
