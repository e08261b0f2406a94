"""A page's Markdown as sections: slices from one top-level heading to the next, and their stable ids.

A heading counts where CommonMark says it does, at the top level: fences, HTML blocks, quotes and lists hide `#`.
Slices joined are the file from its title to its end, byte for byte.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from mkdocs_roaming.manifest.models import Heading
from mkdocs_roaming.text.markdown import LINE_END, MarkdownHeading, parse_headings, strip_markup
from mkdocs_roaming.text.tokenizer import estimate_tokens


@dataclass(frozen=True, slots=True)
class Section:
    """A slice of a page's Markdown; `start` and `end` are byte offsets into it, of the section's own text.

    `name` is what the id is made of, `parent` the position of the enclosing section on the page (None for the
    page's own), `opening` the beginning of its text, `targets` the URLs that it links to. `digest` is of the
    slice, `body` of its text below the heading (`""` where there is none), `tokens` an estimate.
    """

    level: int
    title: str
    anchor: str | None
    start: int
    end: int
    name: str = ""
    parent: int | None = None
    opening: str = ""
    targets: tuple[str, ...] = ()
    digest: str = ""
    body: str = ""
    tokens: int = 0


def split_sections(markdown: str, *, title: str = "", headings: Sequence[Heading] | None = None) -> tuple[Section, ...]:
    """Give the page's sections in the order of the text, the page's own first.

    `headings` are those of the rendered page, for their anchors; None where there is no HTML. `title` names the
    page's own section where the text has no title.
    """
    body, lines = _body(markdown)
    marks = parse_headings(body)
    offset = len(markdown) - len(body)
    titled = bool(marks) and marks[0].level == 1
    begin = marks[0].line if titled and _only_pointer(body, lines[marks[0].line]) else 0
    if not titled:
        lead = parse_headings(f"# Title\n\n{body[: lines[marks[0].line]] if marks else body}")[0]
        marks.insert(0, replace(lead, line=0, title=title, below=0))
    starts = [begin, *(mark.line for mark in marks[1:])]
    offsets = _byte_offsets(markdown, [offset + lines[line] for line in starts])
    named = _named(marks if titled else marks[1:], headings or ())
    if not titled:
        named = [(title, None), *named]
    titles = [text or title for text, _ in named]
    parents = _parents([mark.level for mark in marks])
    names = _names(titles, [anchor for _, anchor in named], parents)
    openings = _openings([mark.opening for mark in marks], parents)
    data = markdown.encode("utf-8", "surrogatepass")
    return tuple(
        _section(mark, titles[at], named[at][1], names[at], parents[at], openings[at], data, offsets[at : at + 2])
        for at, mark in enumerate(marks)
    )


def section_names(titles: Sequence[str], anchors: Sequence[str | None], levels: Sequence[int]) -> list[str]:
    """Give what the ids of a page's sections are made of, in order, by their titles, anchors and levels."""
    return _names(titles, anchors, _parents(levels))


def github_slug(text: str) -> str:
    """Give the anchor that GitHub makes of a heading's text."""
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")


def hash_id(key: str) -> str:
    """Give the 8-hex id of a key such as `guide/install/#requirements`."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:8]


class IdAllocator:
    """Hands out ids that are unique on a site; a hash that is taken is computed again with `~1`, `~2` … appended."""

    def __init__(self, digest: Callable[[str], str] = hash_id) -> None:
        self._digest = digest
        self._taken: set[str] = set()

    def allocate(self, key: str) -> str:
        """Give the key's id; the same keys in the same order get the same ids."""
        chosen, again = self._digest(key), 0
        while chosen in self._taken:
            again += 1
            chosen = self._digest(f"{key}~{again}")
        self._taken.add(chosen)
        return chosen

    def allocate_page(self, path: str, sections: Iterable[Section]) -> list[str]:
        """Give the ids of a page's sections, in order."""
        return [self.allocate(f"{path}#{section.name}") for section in sections]


def slice_digest(data: bytes) -> str:
    """Give the digest that the manifest keeps of a slice: 8 hex digits of SHA-256."""
    return hashlib.sha256(data).hexdigest()[:8]


# What the text says of itself


_FRONT_MATTER = re.compile(
    r"\A\ufeff?---[ \t]*(?:\r\n|\n|\r)(?:[^\r\n]*(?:\r\n|\n|\r))*?(?:---|\.\.\.)[ \t]*(?:\r\n|\n|\r|\Z)"
)


def _body(markdown: str) -> tuple[str, list[int]]:
    front = _FRONT_MATTER.match(markdown)
    # An empty file between two rules is no front matter: a rule at the top needs a key below it.
    body = markdown[front.end() :] if front and ":" in front.group() else markdown.removeprefix("\ufeff")
    return body, [0, *(end.end() for end in LINE_END.finditer(body))]


def _only_pointer(body: str, end: int) -> bool:
    """Tell whether what stands before the title is blank, or the quote that points to llms.txt."""
    before = body[:end].strip()
    return not before or (before.startswith(">") and "llms.txt" in before and not LINE_END.search(before))


def _section(
    mark: MarkdownHeading,
    title: str,
    anchor: str | None,
    name: str,
    parent: int | None,
    opening: str,
    data: bytes,
    place: Sequence[int],
) -> Section:
    start, end = place
    slice_ = data[start:end]
    text = slice_.decode("utf-8", "surrogatepass")
    body = _below(text, mark.below - mark.line).strip()
    return Section(
        mark.level,
        title,
        anchor,
        start,
        end,
        name,
        parent,
        opening,
        mark.targets,
        digest=slice_digest(slice_),
        body=slice_digest(body.encode("utf-8", "surrogatepass")) if body else "",
        tokens=estimate_tokens(text),
    )


def _below(text: str, lines: int) -> str:
    """Give what stands below the first lines."""
    if not lines:
        return text
    ends = [end.end() for end in islice(LINE_END.finditer(text), lines)]
    return text[ends[-1] :] if len(ends) == lines else ""


# What the rendered page and the other sections add


def _named(marks: Sequence[MarkdownHeading], headings: Sequence[Heading]) -> list[tuple[str, str | None]]:
    """Give each heading's plain text and anchor: the rendered page's one by one, or by their words if they differ."""
    if [mark.level for mark in marks] == [heading.level for heading in headings]:
        return [(heading.text, heading.anchor) for heading in headings]
    found: list[tuple[str, str | None]] = []
    places: dict[str, deque[int]] = {}
    for at, heading in enumerate(headings):
        places.setdefault(github_slug(heading.text), deque()).append(at)
    behind = 0  # headings stand in one order on the page and in its Markdown
    for mark in marks:
        title = strip_markup(mark.title)
        left = places.get(github_slug(title), deque())
        while left and left[0] < behind:
            left.popleft()
        found.append((title, headings[left[0]].anchor if left else None))
        behind = left.popleft() + 1 if left else behind
    return found


def _parents(levels: Sequence[int]) -> list[int | None]:
    stack: list[int] = []
    found: list[int | None] = []
    for at, level in enumerate(levels):
        while len(stack) > 1 and levels[stack[-1]] >= level:
            stack.pop()
        found.append(stack[-1] if stack else None)
        stack.append(at)
    return found


def _names(titles: Sequence[str], anchors: Sequence[str | None], parents: Sequence[int | None]) -> list[str]:
    """Name what ids are made of: the anchor, or `<parent's name>/<slug>` where a heading's text is repeated."""
    slugs = [github_slug(title) for title in titles]
    times = Counter(slugs)
    names: list[str] = []
    taken: set[str] = set()
    tried: Counter[str] = Counter()
    for slug, anchor, parent in zip(slugs, anchors, parents, strict=True):
        if parent is None:
            name = ""
        elif times[slug] > 1:
            name = f"{names[parent]}/{slug}"
        else:
            name = anchor or slug
        chosen = name
        while chosen in taken:
            tried[name] += 1  # counted on from the last one: thousands may have one name
            chosen = f"{name}~{tried[name] + 1}"
        taken.add(chosen)
        names.append(chosen)
    return names


def _openings(openings: Sequence[str], parents: Sequence[int | None]) -> list[str]:
    """Give sections without text the opening of their first child."""
    found = list(openings)
    for at in range(len(found) - 2, -1, -1):
        if not found[at] and parents[at + 1] == at:
            found[at] = found[at + 1]
    return found


def _byte_offsets(markdown: str, starts: Sequence[int]) -> list[int]:
    """Turn character offsets into byte offsets, with the end of the file last."""
    offsets: list[int] = []
    at = size = 0
    for start in [*starts, len(markdown)]:
        size += len(markdown[at:start].encode("utf-8", "surrogatepass"))
        at = start
        offsets.append(size)
    return offsets
