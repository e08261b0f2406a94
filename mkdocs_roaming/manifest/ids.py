"""Ids of sections: names that are unique on a page, and ids that are unique on a site.

A name depends on nothing below its own heading, so that no change further down the page changes an id.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, count
from typing import Protocol

from mkdocs_roaming.manifest.sections import find_parents, github_slug


class NamedHeading(Protocol):
    """What the name of a section is derived from."""

    @property
    def title(self) -> str:
        """The text of the heading."""
        ...

    @property
    def anchor(self) -> str | None:
        """The anchor on the rendered page."""
        ...

    @property
    def level(self) -> int:
        """The level of the heading."""
        ...


def make_names(headings: Sequence[NamedHeading]) -> list[str]:
    """Return the name of each section of a page, from which its id is derived.

    The page's own section has an empty name. A section whose anchor its author chose has that name. Another has the
    slug of its title, as its anchor has it if possible, below a section of the page `<parent>/<slug>`. If a section
    above has the same title and parent, the name is `<sibling>+<slug>` with the nearest section above that has the
    parent and a title that is new there, otherwise `<parent>/<slug>`, with `~2`, `~3` … if necessary.
    """
    parents = find_parents([heading.level for heading in headings])
    names: list[str] = []
    taken: set[str] = set()
    repeated: set[tuple[int, str]] = set()
    attempts: Counter[str] = Counter()
    siblings: dict[int, tuple[str, str]] = {}  # by parent, name and slug of the last child with a new title
    for heading, parent in zip(headings, parents, strict=True):
        name = ""
        if parent is not None:
            slug, is_chosen = _read_anchor(heading)
            name = slug if is_chosen or parent == 0 else f"{names[parent]}/{slug}"
            if name in taken or (parent, slug) in repeated:
                sibling, sibling_slug = siblings.get(parent, ("", slug))
                is_alone = sibling_slug == slug
                base = f"{names[parent]}/{slug}" if is_alone else f"{sibling}+{slug}"
                number = attempts[base] + 1 + is_alone
                while (name := f"{base}~{number}" if number > 1 else base) in taken:
                    number += 1
                attempts[base] = number - is_alone  # thousands of sections may have one name
            else:
                siblings[parent] = (name, slug)
            repeated.add((parent, slug))
        taken.add(name)
        names.append(name)
    return names


def make_former_names(headings: Sequence[NamedHeading]) -> list[str]:
    """Return the names that sections had in the manifests of earlier versions; ids of these names are aliases.

    A section was named after its anchor or the slug of its title, and `<parent>/<slug>` if its title was repeated.
    """
    parents = find_parents([heading.level for heading in headings])
    slugs = [github_slug(heading.title) for heading in headings]
    occurrences = Counter(slugs)
    names: list[str] = []
    taken: set[str] = set()
    attempts: Counter[str] = Counter()
    for slug, heading, parent in zip(slugs, headings, parents, strict=True):
        if parent is None:
            name = ""
        elif occurrences[slug] > 1:
            name = f"{names[parent]}/{slug}"
        else:
            name = heading.anchor or slug
        unique = name
        while unique in taken:
            attempts[name] += 1  # continues with the last number: thousands of sections may have one name
            unique = f"{name}~{attempts[name] + 1}"
        taken.add(unique)
        names.append(unique)
    return names


def find_contexts(titles: Sequence[str], parents: Sequence[int | None]) -> list[int | None]:
    """Return the index of the heading that says what each section of a page is about.

    It is the parent. If the parent has several subsections with the same title, such as “Options” after each command,
    it is the nearest of its subsections above that has a title of its own.
    """
    occurrences = Counter(zip(parents, titles, strict=True))
    contexts: list[int | None] = []
    siblings: dict[int | None, int] = {}
    for index, (title, parent) in enumerate(zip(titles, parents, strict=True)):
        if occurrences[parent, title] == 1:
            contexts.append(parent)
            siblings[parent] = index
        else:
            contexts.append(siblings.get(parent, parent))
    return contexts


# Anchors

_NUMBERED = re.compile(r"(?:(.*)[-_]|id)\d+", re.DOTALL)  # python-markdown `a_1`, GitHub `a-1`, docutils `id1`


def _read_anchor(heading: NamedHeading) -> tuple[str, bool]:
    """Return the slug of a heading, and whether it is an anchor that does not follow from the title.

    The slug is the anchor without the number of a repeated title. It is derived from the title if there is no anchor,
    for the `id1` of docutils, and if the anchor lost the letters of a title in another script: `_1`, or `pip` of
    “使用 pip 安装”.
    """
    title, anchor = heading.title, heading.anchor
    slug = github_slug(title) or title.strip()
    if not anchor or anchor == slug:
        return slug, False
    whole = _squeeze(title)
    ascii_only = whole.encode("ascii", "ignore").decode()
    is_lossy = len(ascii_only) < len(whole)
    squeezed = _squeeze(anchor)
    if squeezed in (whole, ascii_only):
        return slug if is_lossy and squeezed == ascii_only else anchor, False
    if found := _NUMBERED.fullmatch(anchor):
        base = found[1]
        if not base or (is_lossy and _squeeze(base) == ascii_only):
            return slug, False
        if _squeeze(base) == whole:
            return base, False
    return anchor, True


def _squeeze(text: str) -> str:
    """Return the letters and digits of a text without case and accents."""
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKD", text).casefold())


# Ids


def hash_id(key: str) -> str:
    """Return the id of a key such as `guide/install/#requirements`: 8 hex digits."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:8]


class IdAllocator:
    """Ids that are unique on a site: if an id is taken, the key is hashed again with `~1`, `~2` … appended."""

    def __init__(self, digest: Callable[[str], str] = hash_id, reserved: Mapping[str, object] | None = None) -> None:
        """Start without ids.

        Args:
            digest: Maps a key to an id.
            reserved: Ids that only their owners get.
        """
        self._digest = digest
        self._taken: set[str] = set()
        self._reserved = reserved or {}

    def allocate(self, key: str, owner: object = None, preferred: Iterable[str] = ()) -> str:
        """Return a new id for a key. The same keys in the same order get the same ids.

        Args:
            key: The key.
            owner: The owner of the id.
            preferred: Ids to use instead if the id of the key is taken or reserved.
        """
        attempts = (self._digest(f"{key}~{attempt}") for attempt in count(1))
        for id_ in chain((self._digest(key),), preferred, attempts):
            if id_ not in self._taken and self._reserved.get(id_, owner) == owner:
                self._taken.add(id_)
                return id_
        raise AssertionError("unreachable")
