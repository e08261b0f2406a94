"""Keywords: the words that distinguish each section of a site from all others, in the site's own spelling.

Words are weighted by TF-IDF over the sections of the site. Code-like words (`--force`, `max_connections`) weigh more,
numbers less; stop words, filler words and words that are shown with the section anyway are left out.
"""

from __future__ import annotations

import re
import tempfile
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain, repeat
from math import log
from pathlib import Path
from typing import IO

from mkdocs_roaming.text.languages import base_language, load_words, strip_clitics
from mkdocs_roaming.text.tokenizer import (
    extract_terms,
    is_spaceless,
    is_stop_word,
    parse_word_uncached,
    split_words,
    stem,
)

_MIN_LENGTH, _MAX_LENGTH = 3, 40
_MAX_DIGITS = 6
_LARGE_SITE = 20  # sections
_MAX_SHARE = 0.2  # on a large site, a word that occurs in more than every fifth section distinguishes none
_CODE_WEIGHT = 1.3
_NUMBER_WEIGHT = 0.7
_MIN_PART_LENGTH = 6


def extract_keywords(
    texts: Iterable[str],
    language: str = "en",
    *,
    limit: int = 10,
    shown: Iterable[str] = (),
    spill_folder: Path | None = None,
) -> list[tuple[str, ...]]:
    """Return the keywords of each text, best first.

    Args:
        texts: Markdown of the sections.
        language: Language of the site.
        limit: Maximum number of keywords of a section.
        shown: For each text, what readers see next to its keywords, such as its title. Its words are left out.
        spill_folder: Folder for a temporary file with the word counts, which otherwise stay in memory.
    """
    counter = _SiteCounter(language)
    with tempfile.TemporaryFile(dir=spill_folder) if spill_folder else nullcontext() as file:
        sections: list[_Counts] | _SpilledCounts = [] if file is None else _SpilledCounts(file)
        for text in texts:
            sections.append(counter.count(text))
        spellings = counter.choose_spellings()
        rarities = counter.compute_rarities(len(sections))
        return [
            tuple(spellings[chosen.key] for chosen in counter.choose(section, rarities, beside, limit))
            for section, beside in zip(sections, chain(shown, repeat("")), strict=False)
        ]


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A possible keyword. All spellings of a word share its key."""

    key: str
    spelling: str
    parts: tuple[str, ...]
    """Stems of its parts: a plain word is redundant if all of them are shown already."""
    weight: float = 1.0
    plain: bool = True
    min_sections: int = 1
    """In fewer sections it is probably no word, but the halves of two adjacent ones."""


_Counts = tuple[tuple[_Candidate, ...], tuple[int, ...]]
"""The candidates of a section, and how often each occurs: takes a quarter of the memory of a dict."""


class _SpilledCounts:
    """List of counts in a file."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._sizes = array("I")
        self._candidates: list[_Candidate] = []
        self._numbers: dict[int, int] = {}

    def append(self, counts: _Counts) -> None:
        for candidate in counts[0]:
            if id(candidate) not in self._numbers:  # the counter keeps one object for each word
                self._numbers[id(candidate)] = len(self._candidates)
                self._candidates.append(candidate)
        numbers = [self._numbers[id(candidate)] for candidate in counts[0]]
        self._file.write(array("I", [*numbers, *counts[1]]).tobytes())
        self._sizes.append(len(numbers))

    def __len__(self) -> int:
        return len(self._sizes)

    def __iter__(self) -> Iterator[_Counts]:
        self._file.seek(0)
        for size in self._sizes:
            row = array("I", self._file.read(2 * size * self._sizes.itemsize))
            yield tuple(self._candidates[number] for number in row[:size]), tuple(row[size:])


class _SiteCounter:
    """Word counts of a site, and the choice of keywords by them."""

    def __init__(self, language: str) -> None:
        self._language = language
        self._candidates = cache(partial(_find_candidates, language=language))
        self._written: dict[str, int] = {}  # occurrences of each spelling on the site
        self._sections = Counter[str]()  # sections that contain a key

    def count(self, text: str) -> _Counts:
        """Count the candidates of a section, in the order of their first occurrence."""
        candidates: dict[str, _Candidate] = {}
        counts: dict[str, int] = {}
        for run, count in Counter(split_words(_strip_noise(text))).items():
            self._written[run] = self._written.get(run, 0) + count
            for candidate in self._candidates(run):
                candidates[candidate.key] = candidate
                counts[candidate.key] = counts.get(candidate.key, 0) + count
        self._sections.update(counts.keys())
        return tuple(candidates.values()), tuple(counts.values())

    def choose_spellings(self) -> dict[str, str]:
        """Return the most frequent spelling of each key; of equally frequent ones the first in lower case."""
        spellings: dict[str, Counter[str]] = {}
        for run, count in self._written.items():
            for candidate in self._candidates(run):
                spellings.setdefault(candidate.key, Counter())[candidate.spelling] += count
        return {
            key: max(counts, key=lambda spelling: (counts[spelling], spelling.islower()))
            if len(counts) > 1
            else next(iter(counts))
            for key, counts in spellings.items()
        }

    def compute_rarities(self, total: int) -> dict[str, float]:
        """Return the inverse document frequency of each key, without keys that are too common."""
        most = _MAX_SHARE * total if total >= _LARGE_SITE else total
        return {key: log((total + 1) / (count + 0.5)) for key, count in self._sections.items() if count <= most}

    def choose(self, counts: _Counts, rarities: dict[str, float], shown: str, limit: int) -> list[_Candidate]:
        """Return the best candidates that are neither shown already nor implied by a better one."""
        scored = [
            ((1 + log(count)) * rarities[candidate.key] * candidate.weight, candidate)
            for candidate, count in zip(*counts, strict=True)
            if candidate.key in rarities
        ]
        scored.sort(key=lambda entry: -entry[0])  # stable: the first of equals stays first
        shown_keys = self._find_keys(shown)
        chosen, implied = list[_Candidate](), set[str]()
        for _, candidate in scored:
            if len(chosen) == limit:
                break
            if candidate.key in shown_keys or self._sections[candidate.key] < candidate.min_sections:
                continue
            if candidate.plain:
                if shown_keys.issuperset(candidate.parts) or implied.issuperset(candidate.parts):
                    continue
            elif any(_overlap(candidate.key, other.key) for other in chosen if not other.plain):
                continue
            chosen.append(candidate)
            implied.update(candidate.parts)
        return chosen

    def _find_keys(self, text: str) -> set[str]:
        """Return the keys and parts of all words of a text."""
        runs = split_words(text)
        if not any(map(is_spaceless, runs)):  # most are words of the section's text too, and so are cached
            return {key for run in runs for word in self._candidates(run) for key in (word.key, *word.parts)}
        terms = extract_terms(text, self._language)
        return {*terms, *(stem(term, self._language) for term in terms)}


def _overlap(one: str, other: str) -> bool:
    """Return whether one identifier contains the other: `extra_css` in `config.extra_css`."""
    return one in other or (len(other) >= _MIN_PART_LENGTH and other in one)


# Markdown without words that are not the section's own

_TARGET = re.compile(r"\((?<=\]\()[^()\s]*(?=[\s)])")
_DEFINITION = re.compile(r"^ {0,3}\[[^\]\n]+\]:[ \t]*\S+", re.MULTILINE)
_TAG = re.compile(r"</?[a-zA-Z][\w-]*(?:\s[^<>]*)?/?>")
_ENTITY = re.compile(r"&#?\w{1,8};")
_ISSUE = re.compile(r"#(?<!\w#)\d+")
_URL = re.compile(r"\b\w+://[^\s<>)\]]*")
_CODE_LANGUAGE = re.compile(r"^[ \t>]*(?:[-*+]|\d+[.)])?[ \t]*(?:`{3,}|~{3,})[ \t]*[\w+#.-]+(?=[ \t]|$)", re.MULTILINE)
_NOISE = (
    ("](", _TARGET),
    ("]:", _DEFINITION),
    ("<", _TAG),
    ("&", _ENTITY),
    ("#", _ISSUE),
    ("://", _URL),
    ("```", _CODE_LANGUAGE),
    ("~~~", _CODE_LANGUAGE),
)


def _strip_noise(text: str) -> str:
    for sign, pattern in _NOISE:
        if sign in text:  # much faster than the pattern, and most texts do not contain most signs
            text = pattern.sub(" ", text)
    return text


# Candidates


_NUMERAL = re.compile(r"\d{3,}|\d+(?:[.,]\d+)+")
_DULL = re.compile(r"n['’]t$|\w@\w|^www\.|^(?:[a-zA-Z]\.)+[a-zA-Z]$|^(?=.*\d)[0-9a-f]{7,}$")
_SEPARATORS = re.compile(r"[-._/:@\\'’,]+")
_CODE_LIKE = re.compile(r"^(?:--|[.$@])|[\w][._/:\\@]+\w|_|[a-z][A-Z]|[A-Z]{2,}[a-z]{2}|[A-Za-z]\d|\d[A-Za-z]|[+#]")


def _find_candidates(run: str, language: str) -> tuple[_Candidate, ...]:
    """Return what a word as written may be shown as; several words for a run of a script without spaces."""
    if is_spaceless(run):
        return tuple(_find_spaceless_candidates(run, language))
    if run.isascii() and run.islower() and run.isalpha():  # a fast path for most words, with the same result
        if not _MIN_LENGTH <= len(run) <= _MAX_LENGTH or is_stop_word(run, language) or _is_filler(run, language):
            return ()
        key = stem(run, language)
        return (_Candidate(key, run, (key,)),)
    word, spelling = parse_word_uncached(run, language), run
    if "'" in run or "’" in run:
        spelling = strip_clitics(run, base_language(language))
    digits = sum(map(str.isdecimal, run))
    if word.stop or _DULL.search(run) or not _MIN_LENGTH <= len(spelling) <= _MAX_LENGTH or digits > _MAX_DIGITS:
        return ()
    if not any(map(str.isalpha, run)):
        return (_Candidate(word.whole, spelling, word.parts, _NUMBER_WEIGHT),) if _NUMERAL.fullmatch(run) else ()
    if all(is_stop_word(part, language) for part in _SEPARATORS.split(run)) or _is_filler(word.whole, language):
        return ()
    if _CODE_LIKE.search(run):
        return (_Candidate(stem(word.whole, language), spelling, word.parts, _CODE_WEIGHT, plain=False),)
    key = word.parts[0] if len(word.parts) == 1 else stem(word.whole, language)
    return (_Candidate(key, spelling, word.parts),)


def _is_filler(word: str, language: str) -> bool:
    return word in load_words(language, "keywords.filler_words")


# Scripts without spaces

_SCRIPT = re.compile(
    "[\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff]+|[\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+"
    "|[\uac00-\ud7a3]+|[\u0e01-\u109f\u1780-\u17d3]+"
)
_MAX_THAI_LENGTH = 12
_MAX_HAN_LENGTH = 4


def _find_spaceless_candidates(run: str, language: str) -> Iterator[_Candidate]:
    for stretch in _SCRIPT.findall(run):
        for word, min_sections in _cut_words(stretch):
            if not is_stop_word(word, language):
                pairs = tuple(word[index : index + 2] for index in range(len(word) - 1))
                yield _Candidate(word, word, pairs, min_sections=min_sections)


def _cut_words(stretch: str) -> list[tuple[str, int]]:
    """Cut a stretch of one script into probable words, each with its minimum number of sections."""
    if "\uac00" <= stretch[0] <= "\ud7a3":
        stretch = _korean_particle().sub("", stretch)
    elif stretch[0] < "\u1800":
        stretch = stretch if len(stretch) <= _MAX_THAI_LENGTH else ""
    elif not "\u30a1" <= stretch[0] <= "\u31ff" and len(stretch) > _MAX_HAN_LENGTH:
        # Chinese prose. Most words have two characters.
        pieces = [piece for piece in _chinese_function_words().split(stretch) if len(piece) > 1]
        short = [(piece, 2) for piece in pieces if len(piece) <= _MAX_HAN_LENGTH]
        long = [piece for piece in pieces if len(piece) > _MAX_HAN_LENGTH]
        return short + [(piece[index : index + 2], 3) for piece in long for index in range(len(piece) - 1)]
    return [(stretch, 1)] if len(stretch) > 1 else []


@cache
def _korean_particle() -> re.Pattern[str]:
    return re.compile(f"(?<=..)(?:{'|'.join(sorted(load_words('ko', 'keywords.particles'), key=len, reverse=True))})$")


@cache
def _chinese_function_words() -> re.Pattern[str]:
    return re.compile(f"[{''.join(load_words('zh', 'keywords.function_characters'))}]+")
