"""The sections that a conversation has open: the texts and parts of texts that were shown, and their size."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.library.snippets import GAP
from mkdocs_roaming.manifest.expand import Expansion, expand_section
from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef

_OPEN_PART = "[This part is open already.]\n\n"


class OpenSections:
    """The open sections of one conversation. Callers in several threads need a lock.

    Args:
        sections: The sections of the site.
        read: Returns a section's own text; may raise LibraryError.

    Attributes:
        trail: The ids of all sections whose text was shown, in the order of opening; closed ones stay in it.
    """

    def __init__(self, sections: SectionIndex, read: Callable[[SectionRef], str]) -> None:
        self._sections, self._read = sections, read
        self.trail: dict[str, None] = {}
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
        expansion = expand_section(self._sections, section, self._reader(section), cap=size, part=part, opened=opened)
        self._add(expansion)
        self._parts[section.id, expansion.part] = frozenset(shown.id for shown in expansion.shown)
        return expansion

    def add_part(self, section: SectionRef, expansion: Expansion) -> None:
        """Add a section that a search has opened, as a whole or the part of a long one."""
        self._add(expansion)
        if expansion.shown and section.id not in self._whole:
            part = max(expansion.text.split(GAP), key=len).lstrip("\n")  # not the first sentences, no fence
            start = self._read(section).find(part)
            if start >= 0:  # a text around listings of source code has more than one part
                self._spans[section.id] = start, start + len(part)

    def close(self, ids: Iterable[str]) -> None:
        """Forget that sections are open."""
        closed = {section.id for id_ in ids if (section := self._sections.get(id_))}
        for id_ in closed:
            self._chars.pop(id_, None)
            self._spans.pop(id_, None)
        self._whole -= closed
        self._parts = {key: shown for key, shown in self._parts.items() if key[0] not in closed and not shown & closed}

    def _add(self, expansion: Expansion) -> None:
        for shown in expansion.shown:
            self.trail[shown.id] = None
            own = shown.text.replace(_OPEN_PART, "")
            self._chars[shown.id] = self._chars.get(shown.id, 0) + len(own)
            section = self._sections.get(shown.id)
            if section is not None and self._chars[shown.id] >= len(self._read(section)):
                self._whole.add(shown.id)

    def _reader(self, target: SectionRef) -> Callable[[SectionRef], str]:
        """Return a function that reads own texts, without the part that a search has opened."""

        def read(section: SectionRef) -> str:
            try:
                text = self._read(section)
            except LibraryError:
                if section.id == target.id:
                    raise
                return ""  # a subsection that cannot be read is left out; opened by itself, it returns the error
            start, end = self._spans.get(section.id, (0, 0))
            return f"{text[:start]}{_OPEN_PART}{text[end:]}" if end else text

        return read
