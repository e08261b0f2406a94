"""The pages that a missing address may mean: moved, misspelt, in another folder, of an earlier version.

The addresses of a site are published as `roaming/addresses.json`. `roaming-missing.js` finds the same pages in the
browser, on the 404 page; tests compare both with one file of cases.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import lru_cache
from math import log
from urllib.parse import unquote, urlsplit

from msgspec import Struct, field

from mkdocs_roaming.manifest.models import Manifest, Site, path_to_url, url_to_path
from mkdocs_roaming.manifest.sections import hash_id
from mkdocs_roaming.text.languages import load_phrases

ADDRESSES_PATH = "roaming/addresses.json"

MAX_SUGGESTIONS = 5

_MAX_REQUEST_CHARS = 300
_MIN_SCORE = 0.4
_MIN_SHARE = 0.55
"""A suggestion has at least this share of the best score."""
_COVERED, _COVERING, _SAME_FOLDER = 0.7, 0.3, 0.15
"""Weights of the score's parts: requested words that a page has, words of its slug that are requested, folders."""
_SLUG, _TITLE, _FOLDER = 1.0, 0.9, 0.6
"""Weights of a page's words."""
_REQUESTED_FOLDER = 0.35
"""Weight of the words of a requested folder; those of the last part count 1."""
_COMMON = 0.1
"""Weight of a word that all pages have; that of a word of one page is greater by 1."""

# Similarity of words, 0 to 1
_MIN_SIMILARITY = 0.4
_TYPING_ERROR = 0.8
_UNEQUAL, _BEGINNING, _SAME_NAME = 0.95, 0.75, 0.8
"""Greatest similarity of two words that differ, and least one of a word and its beginning, and of names of a page."""


# The published file


class AddressEntry(Struct, frozen=True, array_like=True):
    """A page: its path and title."""

    path: str
    title: str


class Addresses(Struct, frozen=True, omit_defaults=True):
    """The addresses of a site.

    Attributes:
        url: URL of the site, with a slash at the end.
        pages: All pages in nav order.
        moved: The path to which each old path leads.
        ids: The path of the page with a former id; the id of a page that has moved derives from its old path.
        names: Groups of words that sites use for the same page.
    """

    url: str
    pages: tuple[AddressEntry, ...]
    moved: dict[str, str] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    names: tuple[tuple[str, ...], ...] = ()


def collect_addresses(manifest: Manifest, site: Site) -> Addresses:
    """Return the addresses of a site."""
    paths = {page.path for page in manifest.pages}
    moved = {}
    for path in site.redirects:
        target = url_to_path(site.url, site.follow_redirects(path_to_url(site.url, path)))
        if target in paths:
            moved[path] = target
    ids = {alias: page.path for page in manifest.pages for section in page.sections for alias in section.aliases}
    entries = tuple(AddressEntry(page.path, page.title) for page in manifest.pages)
    known = {word for page in entries for word in _page_words(page).words}
    groups = (tuple(map(_join, group.split(", "))) for group in load_phrases(site.language, "page_names"))
    names = tuple(group for group in groups if not known.isdisjoint(group))
    return Addresses(site.url, entries, moved, ids, names)


# Finding pages


class AddressMatcher:
    """Finds the pages that a missing address may mean.

    Attributes:
        addresses: The addresses of the site.
    """

    def __init__(self, addresses: Addresses) -> None:
        """Index the words of all pages."""
        self.addresses = addresses
        self._root = unquote(urlsplit(addresses.url).path) or "/"
        self._by_path = {page.path: page for page in addresses.pages}
        self._by_form = {_normalize(page.path): page for page in reversed(addresses.pages)}
        self._moved = {_normalize(path): target for path, target in addresses.moved.items()}
        self._words = [_page_words(page) for page in addresses.pages]
        counts = Counter(word for page in self._words for word in page.words)
        total = len(addresses.pages) + 1
        self._rarity = {word: log(total / count) / log(total) for word, count in counts.items()}
        self._names: dict[str, set[str]] = {}
        for group in addresses.names:
            for word in group:
                self._names.setdefault(word, set()).update(group)

    def suggest(self, path: str) -> list[AddressEntry]:
        """Return the pages that a path may mean, best first; none if no page is similar.

        Args:
            path: The requested path, percent-encoded or not, from the root of the site or of its host.
        """
        path = unquote(path)[:_MAX_REQUEST_CHARS].removeprefix(self._root)
        certain = [found for form in _forms(path) if (found := self._find(form))]
        ranked = [page for _, page in self._rank(path)]
        return list(dict.fromkeys([*certain[:1], *ranked]))[:MAX_SUGGESTIONS]

    def _find(self, form: str) -> AddressEntry | None:
        """Return the page that has moved from a path, or that differs from it in form only."""
        former = (self.addresses.ids.get(hash_id(key)) for key in (f"{form}/#", f"{form}.html#"))
        moved = next((path for path in (self._moved.get(form), *former) if path is not None), None)
        return self._by_form.get(form) if moved is None else self._by_path.get(moved)

    def _rank(self, path: str) -> list[tuple[float, AddressEntry]]:
        """Return the pages with the most similar words, and their scores."""
        folders, last = _split_path(path)
        requests = [self._make_request(folders, words) for words in ([last, ["".join(last)]] if last[1:] else [last])]
        scored = []
        for page, words in zip(self.addresses.pages, self._words, strict=True):
            score = max(request.score(words, self._rarity) for request in requests)
            score += _SAME_FOLDER * _folder_share(folders, words.folders)
            if score >= _MIN_SCORE:
                scored.append((score, page))
        scored.sort(key=lambda one: -one[0])
        return [one for one in scored if one[0] >= _MIN_SHARE * scored[0][0]]

    def _make_request(self, folders: Sequence[Sequence[str]], last: Sequence[str]) -> _Request:
        words = {word: _REQUESTED_FOLDER for folder in folders for word in folder} | dict.fromkeys(last, 1.0)
        similar = {word: self._find_similar(word) for word in words}
        for word, found in similar.items():
            rarity = max((self._rarity[other] * share for other, share in found.items()), default=1.0)
            words[word] *= _COMMON + rarity
        return _Request(words, similar)

    def _find_similar(self, word: str) -> dict[str, float]:
        """Return the words of the site that are similar to a word, or name the same, with their similarity."""
        names: Set[str] = {
            name for known, names in self._names.items() if _similarity(word, known) >= _TYPING_ERROR for name in names
        }
        found = {other: max(_similarity(word, other), _SAME_NAME * (other in names)) for other in self._rarity}
        return {other: share for other, share in found.items() if share >= _MIN_SIMILARITY}


class _Request(Struct, frozen=True):
    """The words of a requested path with their weights, and what the site has for each of them."""

    weights: Mapping[str, float]
    similar: Mapping[str, Mapping[str, float]]

    def score(self, page: _PageWords, rarity: Mapping[str, float]) -> float:
        """Return how well a page fits, 0 to 1."""
        covered = 0.0
        for word, weight in self.weights.items():
            shares = (share * page.words[other] for other, share in self.similar[word].items() if other in page.words)
            covered += weight * max(shares, default=0.0)
        if not covered:
            return 0.0
        sizes = {word: _COMMON + rarity[word] for word in page.slug}
        covering = sum(size * max(one.get(word, 0.0) for one in self.similar.values()) for word, size in sizes.items())
        return _COVERED * covered / sum(self.weights.values()) + _COVERING * covering / (sum(sizes.values()) or 1.0)


# Paths


def _normalize(path: str) -> str:
    """Return a path without the differences between hosts and generators: slashes, endings and case."""
    return "/".join(_parts(path)).lower()


def _parts(path: str) -> list[str]:
    path = unicodedata.normalize("NFC", re.split("[?#]", path, maxsplit=1)[0])
    parts = [part for part in path.split("/") if part.strip()]
    if parts:
        parts[-1] = _ENDING.sub("", parts[-1])
        if parts[-1].lower() in ("index", "readme", ""):
            parts.pop()
    return parts


_ENDING = re.compile(r"(?:\.(?:html?|mdx?|markdown|rst|txt|php|aspx?|json))+$", re.IGNORECASE)


def _forms(path: str) -> Iterator[str]:
    """Yield the normal form of a path, and those without the folders of a version or language in front."""
    form = _normalize(path)
    yield form
    while found := _PREFIX.match(form):
        form = form[found.end() :]
        yield form


_PREFIX = re.compile(
    r"(?:v?\d+(?:[._]\d+)*(?:[._]x)?|latest|stable|main|master|dev|next|current|docs?|documentation"
    r"|[a-z]{2}(?:[-_][a-z]{2})?)(?:/|$)"
)


def _split_path(path: str) -> tuple[list[list[str]], list[str]]:
    """Return the words of the folders of a path, without those of a version or language, and of its last part."""
    *folders, last = _parts(path) or [""]
    return [_split_words(folder) for folder in folders if not _PREFIX.fullmatch(folder.lower())], _split_words(last)


def _folder_share(first: Sequence[Sequence[str]], second: Sequence[Sequence[str]]) -> float:
    """Return the share of folders that two paths begin with together."""
    longest, same = max(len(first), len(second)), 0
    while same < min(len(first), len(second)) and first[same] == second[same]:
        same += 1
    return same / longest if longest else 0.0


# Words


class _PageWords(Struct, frozen=True):
    """The words of a page with their weights, those of its slug, and those of its folders."""

    words: Mapping[str, float]
    slug: Sequence[str]
    folders: Sequence[Sequence[str]]


def _page_words(page: AddressEntry) -> _PageWords:
    (folders, slug), title = _split_path(page.path), _split_words(page.title)
    words = {word: _FOLDER for folder in folders for word in folder}
    words |= dict.fromkeys((*title, "".join(title)), _TITLE) | dict.fromkeys((*slug, "".join(slug)), _SLUG)
    return _PageWords(words, slug, folders)


def _split_words(text: str) -> list[str]:
    """Return the words of a text without accents and case; `gettingStarted` has two."""
    text = unicodedata.normalize("NFKD", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text))
    return re.findall(r"[^\W_]+", "".join(each for each in text if not unicodedata.combining(each)).lower())


def _join(text: str) -> str:
    return "".join(_split_words(text))


@lru_cache(maxsize=50_000)
def _similarity(one: str, other: str) -> float:
    """Return how similar two words are: by their pairs of letters, by typing errors, or as a beginning."""
    if one == other:
        return 1.0
    shorter, longer = sorted((one, other), key=len)
    pairs = _UNEQUAL * _pair_share(one, other)
    if len(shorter) >= 3 and longer.startswith(shorter):
        return max(pairs, _BEGINNING)
    most = 1 if len(longer) < 5 else 2
    if len(longer) - len(shorter) > most or not (pairs or most == 1):
        return pairs
    errors = _count_errors(one, other)
    return max(pairs, _UNEQUAL * (1 - errors / len(longer))) if errors <= most else pairs


def _pair_share(one: str, other: str) -> float:
    """Return the share of the pairs of letters that two words have in common (Dice's coefficient)."""
    first, second = _pairs(one), _pairs(other)
    return 2 * sum(min(number, second.get(pair, 0)) for pair, number in first.items()) / (len(one) + len(other) + 2)


@lru_cache(maxsize=20_000)
def _pairs(word: str) -> Mapping[str, int]:
    word = f"^{word}$"
    return Counter(word[at : at + 2] for at in range(len(word) - 1))


def _count_errors(one: str, other: str) -> int:
    """Return the number of typing errors between two words: a letter more, less, another, or two exchanged.

    This is the optimal string alignment distance, a restricted form of Damerau's and Levenshtein's.
    """
    earlier, before, row = list[int](), list[int](), list(range(len(other) + 1))
    for at, letter in enumerate(one):
        earlier, before, row = before, row, [at + 1]
        for place, match in enumerate(other):
            row.append(min(before[place] + (letter != match), before[place + 1] + 1, row[place] + 1))
            if at and place and letter == other[place - 1] and one[at - 1] == match:
                row[-1] = min(row[-1], earlier[place - 1] + 1)
    return row[-1]
