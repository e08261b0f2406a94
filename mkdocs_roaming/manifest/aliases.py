"""Ids of a site's sections, and their aliases: former ids that still open the same section.

Without the previous build, ids follow from paths and headings alone. With it, each id of that build opens the successor
of its section: the section with the same text, otherwise the section with the same title, otherwise the page. No other
section gets that id, even if it is the hash of its path and name.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from msgspec import Struct, field

from mkdocs_roaming.manifest.models import Manifest, PageEntry, Section, SectionEntry
from mkdocs_roaming.manifest.sections import (
    IdAllocator,
    find_contexts,
    find_parents,
    github_slug,
    hash_id,
    make_names,
)
from mkdocs_roaming.text.markdown import to_single_line
from mkdocs_roaming.text.tokenizer import extract_terms

MAX_ALIASES = 1_000
"""Maximum number of aliases of a section; the oldest are dropped."""

_MIN_OVERLAP = 0.9  # share of common words of two texts that count as one section
_MAX_SPREAD = 20  # a word of more new sections does not find candidates
_MAX_CANDIDATES = 10


@dataclass(frozen=True, slots=True)
class PreviousSite:
    """The manifest of the previous build, and a function that returns the text of its sections (None if it is gone)."""

    manifest: Manifest
    text: Callable[[PageEntry, SectionEntry], str | None]


class AssignedIds(Struct, frozen=True):
    """Ids and aliases of the sections of each page, and the allocator for further ids of the site."""

    ids: list[list[str]]
    aliases: list[list[tuple[str, ...]]]
    allocator: IdAllocator


def assign_ids(
    pages: Iterable[tuple[str, Sequence[Section]]],
    previous: PreviousSite | None = None,
    read_page: Callable[[int], bytes] = lambda number: b"",
) -> AssignedIds:
    """Return the ids and aliases of all sections of a site.

    Args:
        pages: The path and the sections of each page.
        previous: The previous build.
        read_page: Returns the Markdown of the page with an index.
    """
    paths: list[str] = []
    keys: list[list[str]] = []
    sections = _SectionTable()
    for path, own in pages:
        names = make_names(own)
        paths.append(path)
        keys.append([f"{path}#{name}" for name in names])
        if previous is not None:
            sections.add_page(path, own, names, [hash_id(key) for key in keys[-1]])

    numbers = {path: number for number, path in enumerate(paths)}

    @lru_cache(maxsize=1)
    def read(path: str) -> bytes:
        return read_page(numbers[path])

    def read_section(at: int) -> str:
        row = sections.rows[at]
        return read(row.path)[row.start : row.end].decode("utf-8", "replace")

    inherited = _Inheritance() if previous is None else _inherit_ids(previous, sections, read_section)
    allocator = IdAllocator(reserved=inherited.owners)
    ids: list[list[str]] = [[] for _ in paths]
    aliases: list[list[tuple[str, ...]]] = [[] for _ in paths]
    for number in sorted(range(len(paths)), key=paths.__getitem__):  # the order of the nav changes no id
        first = sections.starts.get(paths[number], 0)
        ids[number] = [
            allocator.allocate(key, first + at, inherited.own_ids.get(first + at, ()))
            for at, key in enumerate(keys[number])
        ]
        aliases[number] = [
            tuple(old for old in inherited.ids.get(first + at, ()) if old != id_)[:MAX_ALIASES]
            for at, id_ in enumerate(ids[number])
        ]
    return AssignedIds(ids, aliases, allocator)


# Successors of the sections of the previous build


class _Section(Struct, frozen=True):
    """A section of either build; `parent` and `context` are indexes in its table, `context` as in `find_contexts`."""

    id: str
    path: str
    name: str
    title: str
    start: int
    end: int
    digest: str
    body: str
    parent: int | None
    context: int | None


class _SectionTable(Struct):
    """All sections of a build, and the index of the first section of each page."""

    rows: list[_Section] = field(default_factory=list)
    starts: dict[str, int] = field(default_factory=dict)

    def add_page(
        self, path: str, sections: Sequence[Section | SectionEntry], names: Sequence[str], ids: Sequence[str]
    ) -> None:
        start = len(self.rows)
        if self.starts.setdefault(path, start) != start:
            return  # a manifest from elsewhere may contain a path twice
        titles = [to_single_line(section.title) for section in sections]
        parents = find_parents([section.level for section in sections])
        contexts = find_contexts(titles, parents)
        for section, name, id_, title, parent, context in zip(
            sections, names, ids, titles, parents, contexts, strict=True
        ):
            above = None if parent is None else start + parent
            about = None if context is None else start + context
            self.rows.append(
                _Section(id_, path, name, title, section.start, section.end, section.digest, section.body, above, about)
            )

    def by(self, make_key: Callable[[_Section], Hashable], skipped: Container[int] = ()) -> dict[Hashable, list[int]]:
        """Return the indexes of the sections with each key; without skipped ones, and those with the key None."""
        groups: dict[Hashable, list[int]] = defaultdict(list)
        for at, row in enumerate(self.rows):
            if at not in skipped and (key := make_key(row)) is not None:
                groups[key].append(at)
        return groups

    def context_title(self, row: _Section) -> str | None:
        return None if row.context is None else self.rows[row.context].title


class _Inheritance(Struct):
    """Ids of the previous build by the index of the section that they open.

    Attributes:
        owners: The section that each id opens.
        own_ids: The former own ids of each section.
        ids: All ids that open each section, the newest first.
    """

    owners: dict[str, int] = field(default_factory=dict)
    own_ids: dict[int, list[str]] = field(default_factory=dict)
    ids: dict[int, list[str]] = field(default_factory=dict)


def _inherit_ids(previous: PreviousSite, new: _SectionTable, read_section: Callable[[int], str]) -> _Inheritance:
    """Return which section each id and each alias of the previous build opens now."""
    old = _SectionTable()
    entries: list[tuple[PageEntry, SectionEntry]] = []
    for page in previous.manifest.pages:
        if page.path not in old.starts:
            old.add_page(page.path, page.sections, make_names(page.sections), [section.id for section in page.sections])
            entries += ((page, section) for section in page.sections)
    matcher = _Matcher(old, new)
    matcher.match_texts()
    matcher.match_pages()
    matcher.match_headings()
    matcher.match_words(lambda at: previous.text(*entries[at]), read_section, previous.manifest.site.language)
    inherited = _Inheritance()

    def add(id_: str, owner: int) -> None:
        if id_ not in inherited.owners:
            inherited.owners[id_] = owner
            inherited.ids.setdefault(owner, []).append(id_)

    for at, row in enumerate(old.rows):
        successor = matcher.successors.get(at)
        if successor is not None:
            inherited.own_ids.setdefault(successor, []).append(row.id)
            add(row.id, successor)
    heirs = [(at, heir) for at in range(len(old.rows)) if (heir := matcher.find_heir(at)) is not None]
    for at, heir in heirs:
        add(old.rows[at].id, heir)
    for at, heir in heirs:
        for alias in entries[at][1].aliases:
            add(alias, heir)
    _return_ids(old, new, matcher, inherited)
    return inherited


def _return_ids(old: _SectionTable, new: _SectionTable, matcher: _Matcher, inherited: _Inheritance) -> None:
    """Return the id of a section that an earlier build removed to a new section with its name."""
    old_ids = {row.id for row in old.rows}
    known = set(matcher.successors.values())
    titles = Counter((row.path, row.title) for row in new.rows)
    for at, row in enumerate(new.rows):
        owner = inherited.owners.get(row.id)
        is_removed = owner is not None and owner == new.starts[row.path] and row.id not in old_ids
        if is_removed and at not in known and titles[row.path, row.title] == 1:
            inherited.owners[row.id] = at
            inherited.ids[new.starts[row.path]].remove(row.id)
            inherited.ids.setdefault(at, []).append(row.id)


class _Matcher:
    """The successors of the sections of the previous build, by their indexes."""

    def __init__(self, old: _SectionTable, new: _SectionTable) -> None:
        self.successors: dict[int, int] = {}
        self._old = old
        self._new = new
        self._used: set[int] = set()
        self._heirs: dict[str, int] = {}  # by the path of an old page, the page's own section of its successor
        self._kept = {
            path
            for path, start in old.starts.items()
            if path in new.starts and new.rows[new.starts[path]].title == old.rows[start].title
        }

    def match_texts(self) -> None:
        """Match sections with the same text below the heading, those at the same place first."""
        old = self._old
        new = self._new
        # An empty text says nothing, so the title must be the same, too.
        self._match(lambda row, table: (row.path, row.title, row.body, table.context_title(row)))
        self._match(lambda row, table: (row.path, row.title, row.body) if row.body else None)
        self._match(lambda row, table: (row.path, row.body) if row.body else None)
        old_bodies = Counter(row.body for row in old.rows)
        new_bodies = Counter(row.body for row in new.rows)

        def is_free(row: _Section) -> bool:
            return row.body != "" and not (row.parent is None and row.path in self._kept)

        self._match(lambda row, table: (row.title, row.digest) if is_free(row) else None)
        self._match(
            lambda row, table: row.body if is_free(row) and old_bodies[row.body] == new_bodies[row.body] == 1 else None
        )

    def _match(self, make_key: Callable[[_Section, _SectionTable], Hashable]) -> None:
        """Match the remaining sections with the same key in order if both builds have the same number of them."""
        new = self._new.by(lambda row: make_key(row, self._new), self._used)
        for key, indexes in self._old.by(lambda row: make_key(row, self._old), self.successors).items():
            others = new.get(key, ())
            if len(indexes) == len(others):
                for at, other in zip(indexes, others, strict=True):
                    self._add(at, other)

    def _add(self, at: int, other: int) -> None:
        # A page remains a page: its introduction may have become a section.
        if self._old.rows[at].parent is not None or self._new.rows[other].parent is None:
            self.successors[at] = other
            self._used.add(other)

    def match_pages(self) -> None:
        """Match pages: the path and the title are the same, or most sections with the same text are on the other page.

        Otherwise the path alone has to be the same.
        """
        votes: dict[str, Counter[str]] = defaultdict(Counter)
        for at, other in self.successors.items():
            votes[self._old.rows[at].path][self._new.rows[other].path] += 1
        for path in sorted(self._old.starts, key=lambda path: path not in self._kept):
            found = votes[path]
            target, count = max(found.items(), key=lambda item: item[1], default=("", 0))
            if path in self._kept or (path in self._new.starts and 2 * count <= found.total()):
                target = path
            elif not count:
                continue
            start = self._old.starts[path]
            other = self._new.starts[target]
            self._heirs[path] = other
            if start not in self.successors:
                self._match_one(start, other)

    def match_headings(self) -> None:
        """Match sections with the same title below the same heading, or on the same page if both have it once."""
        old = self._old
        new = self._new
        old_places = old.by(lambda row: (row.context, row.title))
        places = new.by(lambda row: (row.context, row.title))
        old_titles = old.by(lambda row: (row.path, row.title))
        titles = new.by(lambda row: (row.path, row.title))
        names = {(row.path, row.name): at for at, row in enumerate(new.rows)}
        ranks = {at: rank for indexes in old_places.values() for rank, at in enumerate(indexes)}
        for at, row in enumerate(old.rows):  # the context of a section is above it
            if at in self.successors or row.context is None:
                continue
            others = places.get((self.successors.get(row.context, -1), row.title), ())
            if len(others) == len(old_places[row.context, row.title]) and self._match_one(at, others[ranks[at]]):
                continue
            page = self.successors.get(old.starts[row.path])
            if page is None:
                continue
            path = new.rows[page].path
            others = titles.get((path, row.title), ())
            if len(others) == len(old_titles[row.path, row.title]) == 1 and self._match_one(at, others[0]):
                continue
            # A heading with another title has the same name only if its author gave it the same anchor.
            named = names.get((path, row.name))
            if named is not None and github_slug(new.rows[named].title) != github_slug(row.title):
                self._match_one(at, named)

    def _match_one(self, at: int, other: int) -> bool:
        if other in self._used:
            return False
        self._add(at, other)
        return at in self.successors

    def match_words(self, read_old: Callable[[int], str | None], read_new: Callable[[int], str], language: str) -> None:
        """Match the remaining sections by the share of common words.

        Only sections that share rare words are compared, so that the time is linear in the size of the site.
        """

        def count_words(rows: Iterable[int], read: Callable[[int], str | None]) -> dict[int, Counter[str]]:
            return {at: Counter(extract_terms(text, language)) for at in rows if (text := read(at))}

        gone = count_words((at for at in range(len(self._old.rows)) if at not in self.successors), read_old)
        if not gone:
            return
        candidates = count_words((at for at in range(len(self._new.rows)) if at not in self._used), read_new)
        places: dict[str, list[int]] = defaultdict(list)
        for at, words in candidates.items():
            for word in words:
                places[word].append(at)
        for at, words in gone.items():
            likely = self._find_likely(words, places)
            overlap, best = max(((_overlap(words, candidates[other]), other) for other in likely), default=(0.0, -1))
            if overlap >= _MIN_OVERLAP:
                self._match_one(at, best)

    def _find_likely(self, words: Iterable[str], places: Mapping[str, Sequence[int]]) -> list[int]:
        """Return the remaining sections that share the most of the rarest words."""
        spread = {word: len(found) for word in words if 0 < len(found := places.get(word, ())) <= _MAX_SPREAD}
        rare = sorted(spread, key=lambda word: (spread[word], word))[:_MAX_SPREAD]
        shared = Counter(other for word in rare for other in places[word] if other not in self._used)
        return [other for other, _ in shared.most_common(_MAX_CANDIDATES)]

    def find_heir(self, at: int) -> int | None:
        """Return the successor of a section, or that of its page."""
        return self.successors.get(at, self._heirs.get(self._old.rows[at].path))


def _overlap(one: Counter[str], other: Counter[str]) -> float:
    """Return the share of common words (Dice coefficient of the counts)."""
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 0.0
