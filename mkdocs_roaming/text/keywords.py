"""The few words that tell each section of a site from all others, as they are written there."""

from __future__ import annotations

import re
import tempfile
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, repeat
from math import log
from pathlib import Path
from typing import IO

from mkdocs_roaming.text import languages
from mkdocs_roaming.text import tokenizer as words

__all__ = ["extract_keywords"]


def extract_keywords(
    texts: Iterable[str], language: str = "en", *, most: int = 10, shown: Iterable[str] = (), aside: Path | None = None
) -> list[tuple[str, ...]]:
    """Give for each section's text the at most `most` words that tell it from the others, best first.

    They weigh by TF-IDF over the sections and are spelt as the site mostly spells them. `shown` gives beside each text
    what a reader sees of it anyway, its title say: what stands there is left out. What was counted lies in a temporary
    file in the folder `aside`, if one is given, not in memory.
    """
    if aside is None:
        return _found(texts, language, most, shown, [])
    with tempfile.TemporaryFile(dir=aside) as file:
        return _found(texts, language, most, shown, _Aside(file))


def _found(
    texts: Iterable[str], language: str, most: int, shown: Iterable[str], counted: list[_Counted] | _Aside
) -> list[tuple[str, ...]]:
    written: dict[str, int] = {}  # how often the site writes each word so
    held = Counter[str]()
    read = _Candidates(language)
    for text in texts:
        counted.append(_counted(text, read, written, held))
    count = len(counted)
    spellings = _spellings(written, read)
    common = _COMMON * count if count >= _FEW else count
    rarity = {key: log((count + 1) / (number + 0.5)) for key, number in held.items() if number <= common}
    return [
        tuple(spellings[each.key] for each in _picked(section, held, rarity, _said(beside, read), most))
        for section, beside in zip(counted, chain(shown, repeat("")), strict=False)
    ]


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A word that may be shown: its spellings share a key, and a plain one whose parts are shown says nothing new."""

    key: str
    spelling: str
    parts: tuple[str, ...]
    weight: float = 1.0
    plain: bool = True
    least: int = 1
    """In fewer sections it is no word, but two halves of words that happened to meet."""


_FEW = 20
_COMMON = 0.2  # on a site of some size, a word that one section in five holds tells nothing
_LONGEST = 40
_CODE = 1.3
_NUMBER = 0.7
_TARGET = re.compile(r"\((?<=\]\()[^()\s]*(?=[\s)])")
_DEFINITION = re.compile(r"^ {0,3}\[[^\]\n]+\]:[ \t]*\S+", re.MULTILINE)
_TAG = re.compile(r"</?[a-zA-Z][\w-]*(?:\s[^<>]*)?/?>")
_ENTITY = re.compile(r"&#?\w{1,8};")
_ISSUE = re.compile(r"#(?<!\w#)\d+")
_ADDRESS = re.compile(r"\b\w+://[^\s<>)\]]*")
_LANGUAGE = re.compile(r"^[ \t>]*(?:[-*+]|\d+[.)])?[ \t]*(?:`{3,}|~{3,})[ \t]*[\w+#.-]+(?=[ \t]|$)", re.MULTILINE)


def _prose(text: str) -> str:
    """Blank what is no word of a section's own: addresses, HTML, numbers of issues, languages of code blocks."""
    # Most texts hold none of most of these, and to look for a character is quick.
    for sign, pattern in (
        ("](", _TARGET), ("]:", _DEFINITION), ("<", _TAG), ("&", _ENTITY), ("#", _ISSUE), ("://", _ADDRESS),
        ("```", _LANGUAGE), ("~~~", _LANGUAGE),
    ):  # pairs, side by side  # fmt: skip
        if sign in text:
            text = pattern.sub(" ", text)
    return text


_Counted = tuple[tuple["_Candidate", ...], tuple[int, ...]]
"""The candidates of a section, and how often each occurs: a quarter of what a dict of them takes."""


class _Aside:
    """Rows of what was counted, in a file."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._sizes = array("I")
        self._all: list[_Candidate] = []
        self._numbers: dict[int, int] = {}

    def append(self, row: _Counted) -> None:
        for candidate in row[0]:
            if id(candidate) not in self._numbers:  # one object a word, for as long as its `_Candidates` lives
                self._numbers[id(candidate)] = len(self._all)
                self._all.append(candidate)
        self._file.write(array("I", [self._numbers[id(candidate)] for candidate in row[0]] + list(row[1])).tobytes())
        self._sizes.append(len(row[0]))

    def __len__(self) -> int:
        return len(self._sizes)

    def __iter__(self) -> Iterator[_Counted]:
        self._file.seek(0)
        for size in self._sizes:
            row = array("I", self._file.read(2 * size * self._sizes.itemsize))
            yield tuple(self._all[number] for number in row[:size]), tuple(row[size:])


def _counted(text: str, read: _Candidates, written: dict[str, int], held: Counter[str]) -> _Counted:
    """Count a section's candidates, in the order they first occur in; adds to what the whole site writes and holds."""
    candidates: dict[str, _Candidate] = {}
    counts: dict[str, int] = {}
    for run, count in Counter(words.split_words(_prose(text))).items():
        written[run] = written.get(run, 0) + count
        for candidate in read[run]:
            key = candidate.key
            candidates[key] = candidate
            counts[key] = counts.get(key, 0) + count
    held.update(counts.keys())
    return tuple(candidates.values()), tuple(counts.values())


def _spellings(written: dict[str, int], read: _Candidates) -> dict[str, str]:
    """Give each key's most frequent spelling on the site; of several the first in lower case."""
    best: dict[str, Counter[str]] = {}
    for run, count in written.items():
        for candidate in read[run]:
            best.setdefault(candidate.key, Counter())[candidate.spelling] += count
    return {
        key: max(each, key=lambda spelling: (each[spelling], spelling.islower())) if len(each) > 1 else next(iter(each))
        for key, each in best.items()
    }


def _said(text: str, read: _Candidates) -> set[str]:
    """Give what a text says, by the keys of its words."""
    runs = words.split_words(text)
    if not any(map(words.is_spaceless, runs)):  # most are words of the section's text too, and so are known
        return {each for run in runs for candidate in read[run] for each in (candidate.key, *candidate.parts)}
    given = words.extract_terms(text, read.language)
    return {*given, *(words.stem(term, read.language) for term in given)}


def _picked(
    section: _Counted, held: Counter[str], rarity: dict[str, float], shown: set[str], most: int
) -> list[_Candidate]:
    """Choose the best that neither what is shown nor a better one says already."""
    scored = [
        ((1 + log(count)) * rarity[candidate.key] * candidate.weight, candidate)
        for candidate, count in zip(*section, strict=True)
        if candidate.key in rarity
    ]
    scored.sort(key=lambda each: -each[0])  # stable: the first of equals stays first
    picked, said = list[_Candidate](), set[str]()
    for _, candidate in scored:
        if len(picked) == most:
            break
        if candidate.key in shown or held[candidate.key] < candidate.least:
            continue
        if candidate.plain and (shown.issuperset(candidate.parts) or said.issuperset(candidate.parts)):
            continue
        if not candidate.plain and any(_overlap(candidate.key, other.key) for other in picked if not other.plain):
            continue
        picked.append(candidate)
        said.update(candidate.parts)
    return picked


def _overlap(one: str, other: str) -> bool:
    """Tell whether an identifier stands in another: `extra_css` in `config.extra_css`."""
    return one in other or (len(other) >= _TELLING and other in one)


class _Candidates(dict[str, tuple[_Candidate, ...]]):
    """What each word as written may be shown as; found out when it is first met, and forgotten with the build."""

    def __init__(self, language: str) -> None:
        self.language = language

    def __missing__(self, run: str) -> tuple[_Candidate, ...]:
        self[run] = found = _candidates(run, self.language)
        return found


def _candidates(run: str, language: str) -> tuple[_Candidate, ...]:
    """Give what a word as written may be shown as: nothing, itself, or several words of a script without spaces."""
    if words.is_spaceless(run):
        found = (piece for stretch in _SCRIPT.findall(run) for piece in _cut(stretch))
        return tuple(
            _Candidate(piece, piece, tuple(piece[at : at + 2] for at in range(len(piece) - 1)), least=least)
            for piece, least in found
            if not words.is_stop_word(piece, language)
        )
    if run.isascii() and run.islower() and run.isalpha():  # most words are; all the rest comes to the same
        dull = not 3 <= len(run) <= _LONGEST or words.is_stop_word(run, language)
        if dull or (languages.base_language(language) == "en" and run in _FILLING):
            return ()
        key = words.stem(run, language)
        return (_Candidate(key, run, (key,)),)
    word, spelling = words.parse_word_uncached(run, language), run
    if "'" in run or "’" in run:
        spelling = languages.strip_clitics(run, languages.base_language(language))
    if word.stop or _DULL.search(run) or not 3 <= len(spelling) <= _LONGEST or sum(map(str.isdecimal, run)) > _DIGITS:
        return ()
    if not any(map(str.isalpha, run)):
        return (_Candidate(word.whole, spelling, word.parts, _NUMBER),) if _NUMERAL.fullmatch(run) else ()
    if all(words.is_stop_word(piece, language) for piece in _BETWEEN.split(run)):
        return ()
    if languages.base_language(language) == "en" and word.whole in _FILLING:
        return ()
    if _CODE_LIKE.search(run):
        return (_Candidate(words.stem(word.whole, language), spelling, word.parts, _CODE, plain=False),)
    key = word.parts[0] if len(word.parts) == 1 else words.stem(word.whole, language)
    return (_Candidate(key, spelling, word.parts),)


_DIGITS = 6
_TELLING = 6
_NUMERAL = re.compile(r"\d{3,}|\d+(?:[.,]\d+)+")
_DULL = re.compile(r"n['’]t$|\w@\w|^www\.|^(?:[a-zA-Z]\.)+[a-zA-Z]$|^(?=.*\d)[0-9a-f]{7,}$")
_BETWEEN = re.compile(r"[-._/:@\\'’,]+")
_CODE_LIKE = re.compile(r"^(?:--|[.$@])|[\w][._/:\\@]+\w|_|[a-z][A-Z]|[A-Z]{2,}[a-z]{2}|[A-Za-z]\d|\d[A-Za-z]|[+#]")

_SCRIPT = re.compile(
    "[\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff]+|[\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+"
    "|[\uac00-\ud7a3]+|[\u0e01-\u109f\u1780-\u17d3]+"
)
_HANGUL = re.compile("(?<=..)(?:에서|으로|에게|까지|부터|처럼|보다|하는|합니다|입니다|[을를이가은는에의로와과도])$")
_FUNCTION = re.compile(
    "[的了是在和与與或不有这這那个個为為以及等把被对對从從到中将將会會可能要你我您它他们們其此如若则則都也就请請]+"
)


def _cut(stretch: str) -> list[tuple[str, int]]:
    """Cut a stretch of one script into what looks like words, each with the sections that must hold it."""
    if "\uac00" <= stretch[0] <= "\ud7a3":
        stretch = _HANGUL.sub("", stretch)
    elif stretch[0] < "\u1800":
        stretch = stretch if len(stretch) <= 12 else ""
    elif not "\u30a1" <= stretch[0] <= "\u31ff" and len(stretch) > 4:  # Chinese prose: most words have two characters
        cut = [piece for piece in _FUNCTION.split(stretch) if len(piece) > 1]
        short = [(piece, 2) for piece in cut if len(piece) <= 4]
        return short + [(piece[at : at + 2], 3) for piece in cut if len(piece) > 4 for at in range(len(piece) - 1)]
    return [(stretch, 1)] if len(stretch) > 1 else []


# English words that are rare enough to weigh much, and say nothing.
_FILLING = frozenset(
    """
    above according across actual actually add added additional additionally after again against ago ahead all allow
    allowed allows almost along already also although always among another anymore anything anyway anywhere around
    aside available away back based basic because become becomes before behind below best better between beyond both
    bring brings certain certainly clear come comes common completely consider contain contains correctly currently
    deep describe described different directly doing down during each ease easier easily easy effect effectively
    either else enough ensure entire entirely especially etc even ever every everything exactly example examples
    exist existing explain explicit explicitly few finally fine first follow following follows four fully further
    furthermore future gained general generally get gets getting give given gives go goes going good great greatly
    happen happens hard help helpful helps hence highly however idea immediately important include included includes
    including indeed initial instead intended interesting just keep keeps know known large largely last later latter
    least left less let lets like likely little long longer look looking looks lot made mainly make makes making
    many matter maybe mean means meant mentioned merely more moreover most mostly much multiple must namely nearly
    necessary need needed needs never nevertheless new next nice nothing now number obviously occasionally often
    once one ones only onto otherwise out over overall own part particular particularly perfect perhaps place please
    plus possible possibly practically present previous previously probably proper properly provide provided
    provides put quick quickly quite rather ready real really reason recent recently refer regarding regardless
    related relevant remain requires respectively right room same say scenes second see seem seems seen several show
    shown shows similar similarly simple simplest simply since single slightly small solely something sometimes
    somewhat soon special specific specifically still stuff suit suitable sure take taken takes tell tend thanks
    themselves therefore thing things think though three through thus till together too toward towards treated try
    two typical typically under unfortunately unless unlike until up upon use used useful uses using usual usually
    various very via want wants way ways well whatever whenever whereas wherever whether while whole wide wish
    within without wonder work works worth would yes yet yourself
    """.split()  # noqa: SIM905 -- a list of them would be hundreds of lines
)
