"""Old ids for new sections: what a section that is gone has become, so that an id once given still opens it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from mkdocs_roaming.manifest import Manifest, PageEntry, SectionEntry
from mkdocs_roaming.words import terms

ALIKE = 0.9
"""The share of words that two texts must have in common to count as the same section."""


@dataclass(frozen=True, slots=True)
class Previous:
    """The manifest published last, and a way to its texts; `text` gives None where there is none any more."""

    manifest: Manifest
    text: Callable[[PageEntry, SectionEntry], str | None]


def find_aliases(
    previous: Previous, pages: Sequence[PageEntry], data: Iterable[bytes], warn: Callable[[str], None]
) -> dict[str, tuple[str, ...]]:
    """Give for each living id the old ids that it answers to.

    Sections that are gone are matched by their text's digest, then by at least 0.9 word overlap; inherited aliases
    are carried on. An alias that equals a living id is dropped, with a warning.
    """
    living = {section.id: section for page in pages for section in page.sections}
    before = {section.id: (page, section) for page in previous.manifest.pages for section in page.sections}
    gone = {id_: pair for id_, pair in before.items() if id_ not in living}
    new = {
        section.id: (page, section, text[section.start : section.end])
        for page, text in zip(pages, data, strict=True)
        for section in page.sections
        if section.id not in before
    }
    became = _by_digest(gone, new)
    became |= _by_words(previous, {id_: gone[id_] for id_ in gone if id_ not in became}, new, set(became.values()))
    aliases: dict[str, list[str]] = {}
    for id_, (_, section) in before.items():
        heir = id_ if id_ in living else became.get(id_)
        if heir is None:
            continue
        for old in (*section.aliases, *(() if heir == id_ else (id_,))):
            if old in living:
                warn(f"old id {old} of section “{section.title}” is given to another section now; its alias is dropped")
            else:
                aliases.setdefault(heir, []).append(old)
    return {heir: tuple(dict.fromkeys(old)) for heir, old in aliases.items()}


_Gone = dict[str, tuple[PageEntry, SectionEntry]]
_New = dict[str, tuple[PageEntry, SectionEntry, bytes]]


def _by_digest(gone: _Gone, new: _New) -> dict[str, str]:
    became: dict[str, str] = {}
    taken: set[str] = set()
    for key in ("digest", "body"):
        old_times = Counter(getattr(section, key) for id_, (_, section) in gone.items() if id_ not in became)
        new_times = Counter(getattr(section, key) for id_, (_, section, _text) in new.items() if id_ not in taken)
        by_digest = {getattr(section, key): id_ for id_, (_, section, _text) in new.items() if id_ not in taken}
        for id_, (page, section) in gone.items():
            value = getattr(section, key)
            if id_ in became or not value or value not in by_digest:
                continue
            twins = [
                other for other, (at, entry, _) in new.items() if getattr(entry, key) == value and at.path == page.path
            ]
            if old_times[value] == new_times[value] == 1:
                became[id_] = by_digest[value]
            elif len(twins) == 1:  # the same text elsewhere too: the one on the same page is meant
                became[id_] = twins[0]
            taken.update(became.values())
    return became


def _by_words(previous: Previous, gone: _Gone, new: _New, taken: set[str]) -> dict[str, str]:
    language = previous.manifest.site.language
    bags = {
        id_: Counter(terms(text.decode("utf-8", "replace"), language))
        for id_, (_, _section, text) in new.items()
        if id_ not in taken
    }
    became: dict[str, str] = {}
    for id_, (page, section) in gone.items():
        text = previous.text(page, section) if bags else None
        if not text:
            continue
        bag = Counter(terms(text, language))
        best = max(((_overlap(bag, other), heir) for heir, other in bags.items()), default=(0.0, ""))
        if best[0] >= ALIKE:
            became[id_] = best[1]
            del bags[best[1]]
    return became


def _overlap(one: Counter[str], other: Counter[str]) -> float:
    """Give the share of words in common (Dice's coefficient over counted words)."""
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 0.0
