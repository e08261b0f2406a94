"""The index of the widget's finder: what a browser needs to rank sections as `roaming search` does.

It consists of files of the widget, which are no interface: their format may change with each version. Clients read the
manifest. `INDEX_PATH` has the pages, the terms and the numbers of the ranking; what the sections contain is in shards,
of which a browser loads those with the terms of a query. A shard is named by its content, so a browser that has loaded
the index of an earlier build never combines it with shards of another.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef
from mkdocs_roaming.manifest.models import Manifest, PageEntry
from mkdocs_roaming.manifest.outline import find_generic_titles
from mkdocs_roaming.manifest.page_kinds import classify_pages
from mkdocs_roaming.search.index import Index
from mkdocs_roaming.search.postings import Postings, unpack_places
from mkdocs_roaming.search.ranking import Weights, change_words, filler_words
from mkdocs_roaming.text.languages import COMPOUNDING, base_language, fold, has_stemmer, is_stop_word, load_words
from mkdocs_roaming.text.markdown import truncate_at_word
from mkdocs_roaming.text.tokenizer import Word, is_spaceless, parse_word, split_words

INDEX_PATH = "roaming/finder.json"
MAX_SECTIONS = 10_000
"""Maximum number of sections that a browser searches; of larger sites the index has only the number."""

_MAX_TABLE_SECTIONS = 3_000
"""Maximum number of sections of a site whose vectors a browser loads: about 200 bytes each."""

_VERSION = 3
_SHARD_NUMBERS = 18_000
_SHARD_NAME_CHARS = 12
_DIGEST_CHARS = len("sha256:") + 16
"""Notices changed files; it is no protection against forged ones."""
_OPENING_CHARS = 140
"""Two lines."""
_ENTRY_FIELDS = 3
"""Row, kind and packed places of an entry in a list of postings."""


def iter_finder_files(
    manifest: Manifest, read: Callable[[SectionRef], str], *, with_table: bool = False
) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of the shards, of the index, and of what finds sections by meaning.

    Args:
        manifest: The manifest of the site.
        read: Returns the own text of a section.
        with_table: Whether an English site gets the table of word pieces and the vectors of its sections.
    """
    site = manifest.site
    sections = SectionIndex(manifest)
    index: dict[str, Any] = {"version": _VERSION, "digest": manifest.digest, "count": len(sections)}
    index["site"] = {"name": site.name, "url": site.url, "language": site.language}
    if len(sections) <= MAX_SECTIONS:
        index["pages"] = [_describe_page(page, sections.nav_titles(page)) for page in manifest.pages]
        texts = [read(place) for place in sections]
        built = Index.from_texts(sections, texts, Weights().fields)
        runs: dict[str, None] = {}
        for section in manifest.sections():
            runs |= dict.fromkeys(split_words(section.title))
        for text in texts:
            runs |= dict.fromkeys(split_words(text))
        words = [parse_word(run, site.language) for run in runs if not is_spaceless(run)]
        index["search"], shards = _describe_search(built, words)
        yield from shards.items()
        if with_table and base_language(site.language) == "en" and 0 < len(texts) <= _MAX_TABLE_SECTIONS:
            index["search"]["meaning"], vectors = _describe_meaning(sections, texts)
            yield from vectors.items()
    # The function for MCP renders outlines with these.
    titles = {fold(section.title) for section in manifest.sections()}
    generic = find_generic_titles(sections) & titles
    index["generic"] = sorted(generic)
    kinds = classify_pages(manifest)
    index["kinds"] = "".join(str(int(kind)) for kind in kinds.values())
    yield INDEX_PATH, msgspec.json.encode(index) + b"\n"


def _describe_page(page: PageEntry, above: tuple[str, ...]) -> dict[str, Any]:
    rows: list[tuple[object, ...]] = []  # values in the order that `roaming-finder.js` expects
    for section in page.sections:
        opening = truncate_at_word(section.opening, _OPENING_CHARS)
        row = (section.id, section.level, section.title, section.start, section.anchor or "", opening)
        rows.append(row)
    values = {
        "path": page.path,
        "markdown": page.markdown,
        "digest": page.digest[:_DIGEST_CHARS],
        "bytes": page.bytes,
        "end": page.sections[-1].end,
        "above": above,
        "source": page.source,
        "tags": page.tags,
        "url": page.url,
        "sections": rows,
    }
    return {name: value for name, value in values.items() if value not in (None, ())}


# Words


def _find_stems(words: Iterable[Word], terms: Iterable[str]) -> dict[str, str]:
    """Return the stems of the words of a site that a browser, which has only a stemmer for English, cannot guess."""
    known = frozenset(terms)
    stems = dict[str, dict[str, None]]()
    for word in words:
        if not word.whole.isalpha():
            continue
        own = stems.setdefault(word.whole, {})
        for run in word.runs:
            stem = run[0] if len(run) == 1 else word.whole
            if stem != word.whole and stem in known:
                own[stem] = None
    unguessed: dict[str, str] = {}
    for whole in sorted(stems, key=lambda word: (len(word), word)):
        stem = " ".join(stems[whole])
        if stem and _guess_stem(whole, known, unguessed) != stem:
            unguessed[whole] = stem
    return unguessed


def _guess_stem(word: str, known: Container[str], stems: Mapping[str, str]) -> str:
    """Return the stem of the longest beginning of a word that the site has, as `roaming-finder.js` does."""
    shortest = max(2, (len(word) - 1) // 2)
    for end in range(len(word), shortest, -1):
        beginning = word[:end]
        if beginning in known:
            return beginning
        if beginning in stems:
            return stems[beginning]
    return word


def _describe_search(index: Index, words: Sequence[Word]) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the part of the index for ranking, and the shards by their paths."""
    language = index.language
    data = index.data
    postings = index.postings
    code = base_language(language)
    entries = _collect_entries(postings, words, code)
    counts = Counter[_Kind]()
    for entries_of_term in entries.values():
        counts.update(kind for kind, _ in entries_of_term)
    kinds = [kind for kind, _ in counts.most_common()]
    shards: list[tuple[str, int]] = []
    files: dict[str, bytes] = {}
    for name, count, content in _make_shards(entries, kinds):
        shards.append((name, count))
        files[f"roaming/finder/{name}.json"] = content
    stop_words = {name: sorted(load_words(name, "stop_words")) for name in (code, "en")}
    needs_stems = has_stemmer(code) and code != "en"
    search = {
        "terms": list(entries),
        "shards": shards,
        "kinds": kinds,
        "lengths": list(postings.lengths),
        "pageLengths": list(postings.group_lengths),
        "titleLengths": data.title_lengths,
        "late": data.late_pages,
        "repeats": list(data.repeats.items()),
        "weights": msgspec.to_builtins(Weights()),
        "fillers": sorted(filler_words()),
        "changes": sorted(change_words(language)),
        "stop": stop_words,
        "stems": _find_stems(words, entries) if needs_stems else None,
        "compounds": code in COMPOUNDING,
    }
    return search, files


def _describe_meaning(sections: SectionIndex, texts: Sequence[str]) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the part of the index for search by meaning, and its files by their paths."""
    from mkdocs_roaming.embeddings.sections import embed_sections  # other sites do not need it
    from mkdocs_roaming.embeddings.table import TABLE_PATH, TABLE_WEIGHT, TableEmbedder

    contents = {"table": TABLE_PATH.read_bytes(), "vectors": embed_sections(sections, texts, TableEmbedder())}
    names = {kind: _name_content(content) for kind, content in contents.items()}
    files = {f"roaming/finder/{names[kind]}.bin": content for kind, content in contents.items()}
    return {**names, "weight": TABLE_WEIGHT}, files


def _name_content(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:_SHARD_NAME_CHARS]


_Kind = tuple[float, float, int, int]
"""The kind of an entry in the index, with the number of its places."""

_Entry = tuple[_Kind, tuple[int, ...]]
"""The kind of an entry, and its row and places."""


def _collect_entries(postings: Postings, words: Iterable[Word], code: str) -> dict[str, list[_Entry]]:
    """Return the entries of each term; of stop words, a browser needs only those titles that have no other words."""
    # The stem of another word may be a stop word, and with a sign it is none: `--all`.
    spoken: set[str] = set()
    for word in words:
        if not word.stop and len(word.parts) == 1:
            spoken.update(word.terms)
    entries_by_term = {}
    for term in postings.data.terms:
        is_silent = is_stop_word(term, code) and term not in spoken
        if code == "zh" and not term.isascii():  # a single character matches the stop words that begin with it
            is_silent = False
        entries = list(_iter_entries(postings, term, in_title=is_silent))
        if entries:
            entries_by_term[term] = entries
    return entries_by_term


def _make_shards(entries: Mapping[str, Iterable[_Entry]], kinds: Iterable[_Kind]) -> Iterator[tuple[str, int, bytes]]:
    """Yield the name, the number of terms and the content of each shard."""
    numbers = {kind: number for number, kind in enumerate(kinds)}
    shard = list[list[int]]()
    size = 0
    for count, entries_of_term in enumerate(entries.values(), 1):
        encoded = _encode(entries_of_term, numbers)
        shard.append(encoded)
        size += len(encoded)
        if size >= _SHARD_NUMBERS or count == len(entries):
            content = msgspec.json.encode(shard) + b"\n"
            yield _name_content(content), len(shard), content
            shard = []
            size = 0


def _iter_entries(postings: Postings, term: str, *, in_title: bool) -> Iterator[_Entry]:
    """Yield the entries of a term, or only those in titles."""
    entries = postings.entries(term)
    rows = entries[0::_ENTRY_FIELDS]
    kinds = entries[1::_ENTRY_FIELDS]
    packed = entries[2::_ENTRY_FIELDS]
    for row, kind, packed_places in zip(rows, kinds, packed, strict=True):
        in_row, in_group, is_title = postings.data.kinds[kind]
        if in_title and not is_title:
            continue
        places = sorted(unpack_places(packed_places))
        kind_with_places = (in_row, in_group, int(is_title), len(places))
        yield kind_with_places, (row, *places)


def _encode(entries: Iterable[_Entry], numbers: Mapping[_Kind, int]) -> list[int]:
    """Return row, kind and places of entries, where rows and second places are differences."""
    encoded: list[int] = []
    last = 0
    for kind, (row, *places) in entries:
        encoded.append(row - last)
        encoded.append(numbers[kind])
        last = row
        last_place = 0
        for place in places:
            encoded.append(place - last_place)
            last_place = place
    return encoded
