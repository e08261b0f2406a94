"""The sections that a conversation has open: the texts and parts of texts that were shown, and their size."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.library.snippets import find_open_fence
from mkdocs_roaming.manifest.expand import Expansion, expand_section
from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef

_OPEN_PART = "[This part is open already.]\n\n"


class OpenSections:
    """The open sections of one conversation. Callers in several threads need a lock.

    Args:
        sections: The sections of the site.
        read: Returns a section's own text; may raise LibraryError.

    Attributes:
        steps: The ids of all sections whose text was shown, in the order of opening; closed ones stay in it.
    """

    def __init__(self, sections: SectionIndex, read: Callable[[SectionRef], str]) -> None:
        self._sections = sections
        self._read = read
        self.steps: dict[str, None] = {}
        self._chars: dict[str, int] = {}  # by section id
        self._whole: set[str] = set()  # ids of sections whose whole own text is open
        self._parts: dict[tuple[str, int], frozenset[str]] = {}  # the ids that an opened part contains
        self._first_parts: dict[str, tuple[int, frozenset[str]]] = {}  # their cap, and what was open before
        self._spans: dict[str, tuple[int, int]] = {}  # the part of a long section that a search has opened

    def __contains__(self, id_: str) -> bool:
        """Return whether any text of a section is open."""
        return id_ in self._chars

    def count_chars(self) -> int:
        """Return the number of characters of text that are open."""
        return sum(self._chars.values())

    def is_whole(self, id_: str) -> bool:
        """Return whether the whole own text of a section is open."""
        return id_ in self._whole

    def has_part(self, section: SectionRef, part: int) -> bool:
        """Return whether a part of a section and its subsections is open."""
        if (section.id, part) in self._parts:
            return True
        return part == 1 and all(
            other.id in self._whole or other.section.start == other.section.end
            for other in (section, *self._sections.descendants(section))
        )

    def first_size(self, section: SectionRef) -> int | None:
        """Return the maximum size of a section's first part, None if it was not opened."""
        return self._first_parts[section.id][0] if section.id in self._first_parts else None

    def expand(self, section: SectionRef, part: int, size: int) -> Expansion:
        """Open a section with its subsections.

        Later parts are those of the text that was closed when the first part was opened.

        Raises:
            LibraryError: The section cannot be read.
        """
        if part == 1 or section.id not in self._first_parts:
            self._first_parts[section.id] = size, frozenset(self._whole)
        opened = self._first_parts[section.id][1]
        expansion = expand_section(
            self._sections, section, partial(self._read_closed, section), cap=size, part=part, opened=opened
        )
        for shown in expansion.shown:
            if (found := self._sections.get(shown.id)) is not None:
                self._add(found, len(shown.text.replace(_OPEN_PART, "")))
        self._parts[section.id, expansion.part] = frozenset(shown.id for shown in expansion.shown)
        return expansion

    def add_part(self, section: SectionRef, part: str) -> None:
        """Add a part of a section that a search has opened, or its whole text."""
        self._add(section, len(part))
        start = self._read(section).find(part)
        if section.id not in self._whole and start >= 0:  # a text around listings of code has more than one part
            self._spans[section.id] = start, start + len(part)

    def close(self, ids: Iterable[str]) -> None:
        """Forget that sections are open."""
        closed = {section.id for id_ in ids if (section := self._sections.get(id_))}
        for id_ in closed:
            self._chars.pop(id_, None)
            self._spans.pop(id_, None)
        self._whole -= closed
        self._parts = {key: shown for key, shown in self._parts.items() if key[0] not in closed and not shown & closed}

    def _add(self, section: SectionRef, chars: int) -> None:
        self.steps[section.id] = None
        self._chars[section.id] = self._chars.get(section.id, 0) + chars
        if self._chars[section.id] >= len(self._read(section)):
            self._whole.add(section.id)

    def _read_closed(self, target: SectionRef, section: SectionRef) -> str:
        """Return the own text of the target or of a subsection, without the part that a search has opened."""
        try:
            text = self._read(section)
        except LibraryError:
            if section.id == target.id:
                raise
            return ""  # a subsection that cannot be read is left out; opened by itself, it returns the error
        start, end = self._spans.get(section.id, (0, 0))
        if not end:
            return text
        closing = find_open_fence(text[:start])[1]
        opening = find_open_fence(text[:end])[0]
        closing = f"{closing}\n\n" if closing else ""
        return f"{text[:start]}{closing}{_OPEN_PART}{opening}{text[end:]}"
