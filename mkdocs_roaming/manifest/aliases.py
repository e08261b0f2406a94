"""Ids of a site's sections, and their aliases: former ids that still open the same section.

Without the previous build, ids follow from paths and headings alone. With it, each id of that build opens the successor
of its section: the section with the same text, otherwise the section with the same title, otherwise the page. No other
section gets that id, even if it is the hash of its path and name.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass

from msgspec import Struct, field

from mkdocs_roaming.manifest.models import Manifest, PageEntry, PublishedPage, Section, SectionEntry
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

_MIN_OVERLAP = 0.9
"""Share of common words from which two texts count as one section."""

_MAX_SPREAD = 20
"""A word of more new sections does not find candidates, and no more words do."""

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


def assign_ids(pages: Sequence[PublishedPage], previous: PreviousSite | None = None) -> AssignedIds:
    """Return the ids and aliases of all sections of a site.

    Args:
        pages: The pages, each with its sections.
        previous: The previous build.
    """
    new = _SectionTable()
    keys: list[list[str]] = []
    for number, page in enumerate(pages):
        path = page.page.path
        names = make_names(page.sections)
        keys.append([f"{path}#{name}" for name in names])
        if previous is not None:
            new.add_page(number, path, page.sections, names, map(hash_id, keys[number]))
    inherited = _Inheritance()
    if previous is not None:
        inherited = _inherit_ids(previous, new, pages)
    allocator = IdAllocator(inherited.owners)
    ids: list[list[str]] = [[] for _ in pages]
    aliases: list[list[tuple[str, ...]]] = [[] for _ in pages]
    paths = [page.page.path for page in pages]
    for number in sorted(range(len(paths)), key=paths.__getitem__):  # the order of the nav changes no id
        first = new.starts.get(paths[number], 0)
        for at, key in enumerate(keys[number], first):
            id_ = allocator.allocate(key, at, inherited.own_ids.get(at, ()))
            former = [alias for alias in inherited.ids.get(at, ()) if alias != id_]
            ids[number].append(id_)
            aliases[number].append(tuple(former[:MAX_ALIASES]))
    return AssignedIds(ids, aliases, allocator)


# Successors of the sections of the previous build


class _Row(Struct, frozen=True):
    """A section of either build.

    Attributes:
        id: Its id; of a new section the one that it has without the previous build.
        page: The index of its page.
        path: The path of its page.
        name: Its name, as `make_names` returns it.
        title: Its title on a single line.
        section: The section.
        body: The digest of its text; empty without text.
        parent: The index of its parent in the table.
        context: The index of the section in the table that `find_contexts` returns.
        context_title: The title of that section.
    """

    id: str
    page: int
    path: str
    name: str
    title: str
    section: Section | SectionEntry
    body: str
    parent: int | None
    context: int | None
    context_title: str | None


class _SectionTable(Struct):
    """All sections of a build, and the index of the first section of each page by its path."""

    rows: list[_Row] = field(default_factory=list)
    starts: dict[str, int] = field(default_factory=dict)

    def add_page(
        self,
        page: int,
        path: str,
        sections: Sequence[Section | SectionEntry],
        names: Sequence[str],
        ids: Iterable[str],
    ) -> None:
        if path in self.starts:
            return  # a manifest from elsewhere may contain a path twice
        start = len(self.rows)
        self.starts[path] = start
        titles = [to_single_line(section.title) for section in sections]
        parents = find_parents([section.level for section in sections])
        contexts = find_contexts(titles, parents)
        for at, (section, id_) in enumerate(zip(sections, ids, strict=True)):
            parent = parents[at]
            context = contexts[at]
            row = _Row(
                id_,
                page,
                path,
                names[at],
                titles[at],
                section,
                section.body,
                parent=None if parent is None else start + parent,
                context=None if context is None else start + context,
                context_title=None if context is None else titles[context],
            )
            self.rows.append(row)

    def group(self, make_key: Callable[[_Row], Hashable], skipped: Collection[int] = ()) -> dict[Hashable, list[int]]:
        """Return the indexes of the sections with each key; without skipped ones, and those with the key None."""
        groups: dict[Hashable, list[int]] = defaultdict(list)
        for at, row in enumerate(self.rows):
            key = None if at in skipped else make_key(row)
            if key is not None:
                groups[key].append(at)
        return groups


class _Inheritance(Struct):
    """Ids of the previous build by the index of the section that they open.

    Attributes:
        owners: The section that each id opens.
        own_ids: The former own ids of each section.
        ids: All ids that open each section, the newest first.
    """

    owners: dict[str, int] = field(default_factory=dict)
    own_ids: defaultdict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    ids: defaultdict[int, list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, id_: str, owner: int) -> None:
        """Assign an id to a section unless another section has it."""
        if id_ not in self.owners:
            self.owners[id_] = owner
            self.ids[owner].append(id_)


def _inherit_ids(previous: PreviousSite, new: _SectionTable, pages: Sequence[PublishedPage]) -> _Inheritance:
    """Return which section each id and each alias of the previous build opens now."""
    old = _SectionTable()
    for number, page in enumerate(previous.manifest.pages):
        ids = [section.id for section in page.sections]
        old.add_page(number, page.path, page.sections, make_names(page.sections), ids)
    matcher = _Matcher(old, new)
    matcher.match_texts()
    matcher.match_pages()
    matcher.match_headings()
    matcher.match_words(previous, pages)
    inherited = _Inheritance()
    for at, row in enumerate(old.rows):
        successor = matcher.successors.get(at)
        if successor is not None:
            inherited.own_ids[successor].append(row.id)
            inherited.add(row.id, successor)
    heirs: list[tuple[_Row, int]] = []
    for at, row in enumerate(old.rows):
        heir = matcher.successors.get(at, matcher.heirs.get(row.path))
        if heir is not None:
            heirs.append((row, heir))
            inherited.add(row.id, heir)
    for row, heir in heirs:
        aliases = row.section.aliases if isinstance(row.section, SectionEntry) else ()
        for alias in aliases:
            inherited.add(alias, heir)
    _return_ids(old, new, matcher, inherited)
    return inherited


def _return_ids(old: _SectionTable, new: _SectionTable, matcher: _Matcher, inherited: _Inheritance) -> None:
    """Return the id of a section that an earlier build removed to a new section with its name."""
    old_ids = {row.id for row in old.rows}
    titles = Counter((row.path, row.title) for row in new.rows)
    for at, row in enumerate(new.rows):
        start = new.starts[row.path]
        is_removed = inherited.owners.get(row.id) == start and row.id not in old_ids
        if is_removed and at not in matcher.used and titles[row.path, row.title] == 1:
            inherited.owners[row.id] = at
            inherited.ids[start].remove(row.id)
            inherited.ids[at].append(row.id)


class _Matcher:
    """Finds the sections that follow those of the previous build. All sections are indexes in their tables.

    Attributes:
        successors: The successor of each old section that has one.
        used: The sections that are successors.
        heirs: The page's own section of the page that follows each old page, by the path of the old page.
    """

    def __init__(self, old: _SectionTable, new: _SectionTable) -> None:
        self.successors: dict[int, int] = {}
        self.used: set[int] = set()
        self.heirs: dict[str, int] = {}
        self._old = old
        self._new = new
        old_pages = {(path, old.rows[start].title) for path, start in old.starts.items()}
        new_pages = {(path, new.rows[start].title) for path, start in new.starts.items()}
        self._kept = {path for path, _ in old_pages & new_pages}  # pages with the same path and title

    def match_texts(self) -> None:
        """Match sections with the same text below the heading, those at the same place first."""
        # An empty text says nothing, so the title must be the same, too.
        self._match(lambda row: (row.path, row.title, row.body, row.context_title))
        self._match(lambda row: (row.path, row.title, row.body) if row.body else None)
        self._match(lambda row: (row.path, row.body) if row.body else None)
        old_bodies = Counter(row.body for row in self._old.rows)
        new_bodies = Counter(row.body for row in self._new.rows)

        def is_free(row: _Row) -> bool:
            is_kept_page = row.parent is None and row.path in self._kept
            return row.body != "" and not is_kept_page

        def find_unique_body(row: _Row) -> str | None:
            is_unique = old_bodies[row.body] == new_bodies[row.body] == 1
            return row.body if is_unique and is_free(row) else None

        self._match(lambda row: (row.title, row.section.digest) if is_free(row) else None)
        self._match(find_unique_body)

    def _match(self, make_key: Callable[[_Row], Hashable]) -> None:
        """Match the remaining sections with the same key in order if both builds have the same number of them."""
        new_groups = self._new.group(make_key, self.used)
        for key, old_group in self._old.group(make_key, self.successors).items():
            new_group = new_groups.get(key, ())
            if len(old_group) != len(new_group):
                continue
            for old, new in zip(old_group, new_group, strict=True):
                self._add(old, new)

    def _add(self, old: int, new: int) -> bool:
        """Match two sections; return whether they can be."""
        was_page = self._old.rows[old].parent is None
        is_page = self._new.rows[new].parent is None
        # A page remains a page: its introduction may have become a section.
        if new in self.used or (was_page and not is_page):
            return False
        self.successors[old] = new
        self.used.add(new)
        return True

    def match_pages(self) -> None:
        """Match pages: the path and the title are the same, or most sections with the same text are on the other page.

        Otherwise the path alone has to be the same.
        """
        votes: dict[str, Counter[str]] = defaultdict(Counter)
        for old, new in self.successors.items():
            path = self._old.rows[old].path
            votes[path][self._new.rows[new].path] += 1
        for path in sorted(self._old.starts, key=lambda path: path not in self._kept):
            counts = votes[path]
            target = max(counts, key=counts.__getitem__, default=path)
            is_minority = path in self._new.starts and 2 * counts[target] <= counts.total()
            if path in self._kept or is_minority:
                target = path
            heir = self._new.starts.get(target)
            if heir is None:
                continue
            self.heirs[path] = heir
            start = self._old.starts[path]
            if start not in self.successors:
                self._add(start, heir)

    def match_headings(self) -> None:
        """Match sections with the same title below the same heading, or on the same page if both have it once."""
        old_places = self._old.group(lambda row: (row.context, row.title))
        places = self._new.group(lambda row: (row.context, row.title))
        old_titles = self._old.group(lambda row: (row.path, row.title))
        titles = self._new.group(lambda row: (row.path, row.title))
        names = {(row.path, row.name): at for at, row in enumerate(self._new.rows)}
        for at, row in enumerate(self._old.rows):  # the context of a section is above it
            if at in self.successors or row.context is None:
                continue
            old_twins = old_places[row.context, row.title]
            context = self.successors.get(row.context, -1)
            twins = places.get((context, row.title), ())
            if len(twins) == len(old_twins):
                rank = bisect_left(old_twins, at)
                if self._add(at, twins[rank]):
                    continue
            page = self.successors.get(self._old.starts[row.path])
            if page is None:
                continue
            path = self._new.rows[page].path
            namesakes = titles.get((path, row.title), [])
            is_only = len(namesakes) == len(old_titles[row.path, row.title]) == 1
            if is_only and self._add(at, namesakes[0]):
                continue
            # A heading with another title has the same name only if its author gave it the same anchor.
            named = names.get((path, row.name))
            if named is None:
                continue
            new_title = self._new.rows[named].title
            if github_slug(new_title) != github_slug(row.title):
                self._add(at, named)

    def match_words(self, previous: PreviousSite, pages: Sequence[PublishedPage]) -> None:
        """Match the remaining sections by the share of common words.

        Only sections that share rare words are compared, so that the time is linear in the size of the site.
        """
        language = previous.manifest.site.language
        gone: dict[int, Counter[str]] = {}
        for at, row in enumerate(self._old.rows):
            if at in self.successors or not isinstance(row.section, SectionEntry):
                continue
            page = previous.manifest.pages[row.page]
            text = previous.text(page, row.section)
            if text:
                terms = extract_terms(text, language)
                gone[at] = Counter(terms)
        if not gone:
            return
        candidates: dict[int, Counter[str]] = {}
        places: dict[str, list[int]] = defaultdict(list)
        number = -1
        data = b""
        for at, row in enumerate(self._new.rows):
            if at in self.used:
                continue
            if row.page != number:
                number = row.page
                data = pages[number].encode()
            text = data[row.section.start : row.section.end].decode("utf-8", "replace")
            terms = extract_terms(text, language)
            candidates[at] = Counter(terms)
            for word in candidates[at]:
                places[word].append(at)
        for at, words in gone.items():
            rare = [word for word in words if 0 < len(places.get(word, ())) <= _MAX_SPREAD]
            rare.sort(key=lambda word: (len(places[word]), word))
            shared = Counter[int]()  # of each section, the number of the rarest words that it shares
            for word in rare[:_MAX_SPREAD]:
                shared.update(candidate for candidate in places[word] if candidate not in self.used)
            overlaps: list[tuple[float, int]] = []
            for candidate, _ in shared.most_common(_MAX_CANDIDATES):
                overlap = _overlap(words, candidates[candidate])
                overlaps.append((overlap, candidate))
            overlap, best = max(overlaps, default=(0.0, -1))
            if overlap >= _MIN_OVERLAP:
                self._add(at, best)


def _overlap(words: Counter[str], more_words: Counter[str]) -> float:
    """Return the share of common words (Dice coefficient of the counts)."""
    common = words & more_words
    return 2 * common.total() / (words.total() + more_words.total())
