"""A section opened: its text and its subsections' while a cap allows, the rest listed by id.

What the `expand_sections` tool gives, what `roaming expand` prints and what lies in `roaming/sections/<id>.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from mkdocs_roaming.headings import cut_at_word, one_line
from mkdocs_roaming.places import Place, Places

CAP = 24_000
"""The most characters of one opened section, as rendered, and of one tool result."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A section that is named, not opened: `tokens` is an estimate of its own text, `inside` counts those below."""

    id: str
    title: str
    tokens: int = 0
    inside: int = 0


@dataclass(frozen=True, slots=True)
class Shown:
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
    shown: tuple[Shown, ...]
    listed: tuple[Listed, ...]
    part: int
    parts: int
    before: Listed | None
    after: Listed | None

    @property
    def text(self) -> str:
        """The Markdown of all that is shown."""
        return "".join(shown.text for shown in self.shown)


def expand(places: Places, place: Place, read: Callable[[Place], str], *, cap: int = CAP, part: int = 1) -> Expansion:
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
        before=list_entry(places, before) if before else None,
        after=list_entry(places, after) if after else None,
    )
    room = max(cap - len(render(frame)) - _SLACK, 400)
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


def render(expansion: Expansion) -> str:
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


def list_entry(places: Places, place: Place) -> Listed:
    """Give a section's entry in a list."""
    return Listed(place.id, _short(place.section.title), place.section.tokens, places.inside(place))


_SLACK = 80  # the heading of the list, and line ends
_TRAIL = 400  # characters of a breadcrumb
_ADDRESS = 500  # characters of a URL


def _trail(places: Places, place: Place) -> tuple[str, ...]:
    """Give the breadcrumb, its middle left out where it is long: a frame must leave room for text."""
    trail = [_short(title) for title in places.breadcrumb(place)]
    cut = len(trail) > 1 and sum(len(title) + 3 for title in trail) > _TRAIL
    while len(trail) > 2 and sum(len(title) + 3 for title in trail) > _TRAIL:
        del trail[1]
    return (trail[0], "…", *trail[1:]) if cut else tuple(trail)


def _address(places: Places, place: Place) -> str:
    """Give the URL on one line; where it is absurdly long, half of it would lead nowhere."""
    url = "%20".join(places.url(place).split())
    return url if len(url) <= _ADDRESS else ""


def _unfurl(places: Places, place: Place, read: Callable[[Place], str], room: int) -> tuple[list[Shown], list[Listed]]:
    """Choose what is shown: in the order of the text, whatever fits beside the list of what doesn't."""
    own = read(place)
    below = places.below(place)
    if len(own) + sum(other.section.end - other.section.start for other in below) <= room:  # bytes ≥ characters
        return [Shown(place.id, own), *(Shown(other.id, read(other)) for other in below)], []
    shown = [Shown(place.id, own)]
    closed: list[Listed] = []
    left = room - len(own) - sum(len(_list_line(list_entry(places, child))) for child in places.children(place))
    waiting = list(reversed(places.children(place)))
    while waiting:
        other = waiting.pop()
        entry = list_entry(places, other)
        children = places.children(other)
        lists = sum(len(_list_line(list_entry(places, child))) for child in children)
        cost = other.section.end - other.section.start + lists - len(_list_line(entry))
        if cost <= left:
            shown.append(Shown(other.id, read(other)))
            left -= cost
            waiting += reversed(children)
        else:
            closed.append(entry)
    return shown, closed


def _parts(
    shown: Sequence[Shown], closed: Sequence[Listed], room: int
) -> list[tuple[tuple[Shown, ...], tuple[Listed, ...]]]:
    """Cut what is shown, then what is listed, into parts of at most `room` characters."""
    parts: list[tuple[list[Shown], list[Listed]]] = [([], [])]
    left = room
    for piece in shown:
        text = piece.text
        while len(text) > left:
            cut = _cut(text, left)
            parts[-1][0].append(Shown(piece.id, text[:cut]))
            text = text[cut:]
            parts.append(([], []))
            left = room
        if text:
            parts[-1][0].append(Shown(piece.id, text))
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


def _list_line(entry: Listed) -> str:
    inside = f", +{entry.inside} inside" if entry.inside else ""
    return f"- [{entry.id}] {entry.title} (~{entry.tokens} tokens{inside})\n"


@lru_cache(4_096)
def _short(title: str) -> str:
    return cut_at_word(one_line(title), 120)
