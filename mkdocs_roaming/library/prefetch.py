"""Chooses the sections that search opens for a question: the first hits whole, of further ones the best parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from mkdocs_roaming.library.search import Hit
from mkdocs_roaming.library.snippets import HEADING, strip_markdown
from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef

PREFETCH_TOKENS = 2_200
"""Default size of the sections that search opens before the first call of a model, in estimated tokens."""

_PART_TOKENS = (1_200, 600, 300)  # of the first, the second and each further section; whole sections are mostly shorter
_MAX_PREFETCHED = 12
_FIRST = 3  # what is next to these is ranked higher
_STEPS = 6
_MAX_REFERENCE = 3
_MIN_PART_TOKENS = 80  # a shorter part of a section says too little, and finding it takes as long
_MIN_TOKENS = 30  # a smaller section is one of the first, or is opened with the one around it
_MIN_BODY_CHARS = 25
_COMPARED_CHARS = 300
_STRIPPED_CHARS = 4 * _COMPARED_CHARS  # with their markup


def has_body(text: str) -> bool:
    """Return whether a text or a part of it says more than its heading."""
    return len(read_beginning(text)) >= _MIN_BODY_CHARS


def read_beginning(text: str) -> str:
    """Return the beginning of a section's text without its heading and markup."""
    return strip_markdown(HEADING.sub("", text, count=1)[:_STRIPPED_CHARS])[:_COMPARED_CHARS]


@dataclass(slots=True)
class Prefetch:
    """What search opens for one question.

    Left out are sections that only introduce their subsections, repeated texts, and most of reference pages. Hits that
    are next to one of the first, below or above it, or linked from it, are ranked some places higher: what a question
    asks for is often on both.

    Attributes:
        sections: The sections of the site.
        read: Returns a section's own text.
        is_reference: Returns whether a section is on a reference page.
        links: Returns the ids of the sections that a section links to.
        max_tokens: The room that is left, in estimated tokens.
        max_reference: Maximum number of sections of reference pages.
    """

    sections: SectionIndex
    read: Callable[[SectionRef], str]
    is_reference: Callable[[SectionRef], bool]
    links: Callable[[SectionRef], set[str]]
    max_tokens: int
    max_reference: int | None = _MAX_REFERENCE
    _share: float = field(init=False)  # more room is for more and for longer texts
    _opened: list[SectionRef] = field(default_factory=list)
    _texts: set[str] = field(default_factory=set)
    _references: int = 0

    def __post_init__(self) -> None:
        self._share = max(1.0, self.max_tokens / PREFETCH_TOKENS)

    def choose(self, hits: Sequence[Hit]) -> Iterator[tuple[SectionRef, int]]:
        """Yield sections and the maximum size of their texts; the caller subtracts what it opens from `max_tokens`."""
        queue = [hit.section for hit in hits]
        while queue and len(self._opened) < int(_MAX_PREFETCHED * self._share):
            section = queue.pop(0)
            if self._is_useful(section):
                before = self.max_tokens
                size = _PART_TOKENS[min(len(self._opened), len(_PART_TOKENS) - 1)]
                yield section, min(int(size * self._share), self.max_tokens)
                if self.max_tokens < before:
                    self._add(section)
                    if len(self._opened) == _FIRST:
                        queue = self._promote_neighbours(queue)

    def _is_useful(self, section: SectionRef) -> bool:
        beginning = read_beginning(self.read(section))
        is_extra = self.max_reference is not None and self._references >= self.max_reference
        is_fragment = section.section.tokens < _MIN_TOKENS and len(self._opened) >= _FIRST
        return not (
            len(beginning) < _MIN_BODY_CHARS
            or (is_fragment and not any(above in self._opened for above in self.sections.ancestors(section)))
            or beginning in self._texts
            or (is_extra and self.is_reference(section))
            or self.max_tokens < min(_MIN_PART_TOKENS, section.section.tokens)
        )

    def _add(self, section: SectionRef) -> None:
        self._opened.append(section)
        self._references += self.is_reference(section)
        self._texts.add(read_beginning(self.read(section)))

    def _promote_neighbours(self, queue: Sequence[SectionRef]) -> list[SectionRef]:
        """Return the sections with those near the opened ones some places higher."""
        near: set[str] = set()
        for section in self._opened:
            others = (*self.sections.neighbours(section), *self.sections.children(section))
            near |= {other.id for other in (*others, *self.sections.ancestors(section)) if other}
            near |= self.links(section)
        places = {section.id: at - (_STEPS if section.id in near else 0) for at, section in enumerate(queue)}
        return sorted(queue, key=lambda section: places[section.id])
