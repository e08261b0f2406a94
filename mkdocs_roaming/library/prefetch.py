"""Chooses the sections that search opens for a question: the first hits whole, of further ones the best parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from mkdocs_roaming.library.snippets import HEADING, strip_markdown
from mkdocs_roaming.library.texts import SectionTexts
from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef

PREFETCH_TOKENS = 2_200
"""Default size of the sections that search opens before the first call of a model, in estimated tokens."""

MAX_REFERENCE = 3
"""Maximum number of sections of reference pages that search opens for a question without names of code."""

_PART_TOKENS = (1_600, 600, 300)  # of the first, the second and each further section; whole sections are mostly shorter
_MAX_PREFETCHED = 12
_FIRST = 3  # what is next to these is ranked higher
_STEPS = 6
_MIN_PART_TOKENS = 80  # a shorter part of a section says too little, and finding it takes as long
_MIN_TOKENS = 30  # a smaller section is one of the first, or is opened with the one around it
_MIN_BODY_CHARS = 25
_COMPARED_CHARS = 300
_STRIPPED_CHARS = 4 * _COMPARED_CHARS  # with their markup


def has_body(text: str) -> bool:
    """Return whether a text or a part of it says more than its heading."""
    return len(_read_beginning(text)) >= _MIN_BODY_CHARS


def _read_beginning(text: str) -> str:
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
        texts: Their texts.
        is_reference: Returns whether a section is on a reference page.
        open_part: Opens a section's text within a size if it fits into a room; returns its size, 0 if it is not opened.
        max_tokens: The room that is left, in estimated tokens.
        max_reference: Maximum number of sections of reference pages.
    """

    sections: SectionIndex
    texts: SectionTexts
    is_reference: Callable[[SectionRef], bool]
    open_part: Callable[[SectionRef, int, int], int]
    max_tokens: int
    max_reference: int | None
    _opened: list[SectionRef] = field(default_factory=list)
    _texts: set[str] = field(default_factory=set)
    _references: int = 0

    def open(self, ranked: Sequence[SectionRef]) -> None:
        """Open the first useful ones of ranked sections."""
        share = max(1.0, self.max_tokens / PREFETCH_TOKENS)  # more room is for more and for longer texts
        queue = list(ranked)
        while queue and len(self._opened) < int(_MAX_PREFETCHED * share):
            section = queue.pop(0)
            size = _PART_TOKENS[min(len(self._opened), len(_PART_TOKENS) - 1)]
            if self._is_useful(section) and (
                used := self.open_part(section, min(int(size * share), self.max_tokens), self.max_tokens)
            ):
                self.max_tokens -= used
                self._add(section)
                if len(self._opened) == _FIRST:
                    queue = self._promote_neighbours(queue)

    def _is_useful(self, section: SectionRef) -> bool:
        beginning = _read_beginning(self.texts.read_published(section))
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
        self._texts.add(_read_beginning(self.texts.read_published(section)))

    def _promote_neighbours(self, queue: Sequence[SectionRef]) -> list[SectionRef]:
        """Return the sections with those near the opened ones some places higher."""
        near: set[str] = set()
        for section in self._opened:
            others = (*self.sections.neighbours(section), *self.sections.children(section))
            near |= {other.id for other in (*others, *self.sections.ancestors(section)) if other}
            near |= self.texts.find_links(section)
        places = {section.id: at - (_STEPS if section.id in near else 0) for at, section in enumerate(queue)}
        return sorted(queue, key=lambda section: places[section.id])
