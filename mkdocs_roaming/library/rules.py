"""The rules of a site: which of them match a question, by which words, and which sections they open.

A site's rules are applied if its owner is the user: the site is in a local folder, and no crawler wrote it. Those of
other sites have no effect, unless `Library.trusted` is set.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain

from mkdocs_roaming.library.navigator import MIN_CAP, Navigator
from mkdocs_roaming.library.tools import MAX_IDS
from mkdocs_roaming.manifest.expand import MAX_EXPANSION_CHARS
from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef
from mkdocs_roaming.manifest.models import RuleEntry
from mkdocs_roaming.text.languages import base_language, fold, stem
from mkdocs_roaming.text.tokenizer import is_spaceless, parse_word, parse_words, split_words

RULES_CALL_ID = "rules"
"""The id of the tool call that opens the sections of rules."""

_MAX_QUESTION_CHARS = 2_000
_CACHED_WORDS = 1 << 12


@dataclass(frozen=True, slots=True)
class FiredRule:
    """A rule that matches a question.

    Attributes:
        number: Its number on the site, from 1.
        words: The words of the question that match its phrases.
        opens: The ids of the sections that it opens; empty if there was room for none.
    """

    number: int
    words: tuple[str, ...] = ()
    opens: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RulesResult:
    """The effect of a site's rules on a question: the matching rules, and the ids of the sections to open, in order."""

    fired: tuple[FiredRule, ...] = ()
    opens: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The words of the question that open sections, separated by commas."""
        matches = chain.from_iterable(rule.words for rule in self.fired if rule.opens)
        return ", ".join(dict.fromkeys(matches))


def rules_share(open_chars: int, used: int = 0) -> int:
    """Return how many of an answer's `open_chars` rules may open: half, or the unused rest if that is less."""
    return max(min(open_chars // 2, open_chars - used), 0)


def apply_rules(navigator: Navigator, question: str, page: str | None, chars: int) -> RulesResult:
    """Return the effect of a library's rules within a navigator's scope.

    Args:
        navigator: The library, its search and its scope. Nothing is opened in it.
        question: The question.
        page: The reader's page: an id, a path or a URL.
        chars: Maximum number of characters that rules may open.
    """
    library = navigator.library
    rules = library.manifest.rules if library.trusted else ()
    return match_rules(rules, question, page, navigator.sections, chars=chars, cap=navigator.cap)


def match_rules(
    rules: Sequence[RuleEntry],
    question: str,
    page: str | None,
    sections: SectionIndex,
    *,
    chars: int = MAX_EXPANSION_CHARS,
    cap: int = MAX_EXPANSION_CHARS,
) -> RulesResult:
    """Return which rules match a question, and which sections they open.

    The first section of every rule comes before the second of any.

    Args:
        rules: The rules, in the site's order.
        question: The question.
        page: The reader's page: an id, a path or a URL.
        sections: The sections that may be opened.
        chars: Maximum number of characters that rules may open.
        cap: Maximum number of characters of the one call that opens them.
    """
    if not rules:
        return RulesResult()
    matcher = PhraseMatcher(question, sections.manifest.site.language)
    section = sections.find_page(page) if page else None
    results = [_match_rule(number, rule, matcher, section) for number, rule in enumerate(rules, 1)]
    fired = [result for result in results if result is not None]
    wanted = {result.number: rules[result.number - 1].open for result in fired}
    opens = _select_sections(wanted, sections, chars, cap)
    selected = dict.fromkeys(id_ for _, id_ in opens)
    return RulesResult(
        tuple(
            replace(result, opens=tuple(id_ for number, id_ in opens if number == result.number)) for result in fired
        ),
        tuple(selected),
    )


def _match_rule(number: int, rule: RuleEntry, matcher: PhraseMatcher, section: SectionRef | None) -> FiredRule | None:
    when = rule.when
    if when.always:
        return FiredRule(number)
    words: dict[str, str] = {}
    for phrase in (*when.any, *when.all):
        match = matcher.find(phrase)
        if match is not None:
            words[phrase] = match
    on_page = section is not None and section.page.id in when.pages
    if when.any and words.keys().isdisjoint(when.any):
        return None
    if not words.keys() >= set(when.all):
        return None
    if when.pages and not on_page:
        return None
    if not words and not on_page:  # a rule without conditions never fires
        return None
    return FiredRule(number, tuple(words.values()))


def _select_sections(
    wanted: Mapping[int, Sequence[str]], sections: SectionIndex, chars: int, cap: int
) -> dict[tuple[int, str], None]:
    """Return rules with the sections that they open, within a number of characters, in the order of opening.

    It is the first section of each rule that fits, then the second of each, and so on. A section that another rule
    opens costs nothing.
    """
    selected: dict[tuple[int, str], None] = {}
    opened: set[str] = set()
    size = 0
    most = min(MAX_IDS, cap // MIN_CAP)

    def select(number: int, id_: str) -> bool:
        nonlocal size
        section = sections.get(id_)
        if section is None:  # not on the site, or outside of the scope
            return False
        if section.id not in opened:
            last = section.page.sections[section.position + sections.count_descendants(section)]
            total = size + last.end - section.section.start  # bytes: at least the number of characters
            if len(opened) >= most or min(total, cap) > chars:
                return False
            size = total
            opened.add(section.id)
        selected[number, section.id] = None
        return True

    queues = {number: list(ids) for number, ids in wanted.items()}
    served: set[int] = set()  # rules whose first section was selected, or that have none
    while any(queues.values()):
        for number, ids in queues.items():
            while ids and not select(number, ids.pop(0)):
                if number in served:
                    break
            served.add(number)
    return selected


# Phrases

Readings = tuple[tuple[str, ...], ...]
"""The alternative readings of a word, each a sequence of terms."""


class PhraseMatcher:
    """Finds phrases in a question: the same words next to each other, in any case and inflection.

    A word is its stem, its full form, or the parts of an identifier (`ServerTimeouts` is `server` + `timeout`, too), a
    script without spaces its characters. Phrases may begin and end within an identifier.
    """

    def __init__(self, question: str, language: str) -> None:
        self._question = question[:_MAX_QUESTION_CHARS]
        self._language = language
        self._places: list[tuple[int, int]] = []  # start and end of the word of each part
        self._ends: dict[str, dict[int, set[int]]] = {}  # for each term, its ends by its start, as numbers of parts
        for start, run in _iter_words(self._question):
            parts, wholes = _read_word(run, language)
            first = len(self._places)
            for at, part in enumerate(parts, first):
                self._add(part, at, at + 1)
            for (whole,) in wholes:
                self._add(whole, first, first + len(parts))
            self._places += [(start, start + len(run))] * len(parts)

    def _add(self, term: str, start: int, end: int) -> None:
        self._ends.setdefault(term, {}).setdefault(start, set()).add(end)

    def find(self, phrase: str) -> str | None:
        """Return the question's words that match a phrase, as they were written, or None.

        A phrase that consists of stop words never matches.
        """
        words = _parse_phrase(phrase, self._language)
        starts: set[int] = set()
        for reading in words[0] if words else ():
            starts.update(self._ends.get(reading[0], ()))
        for start in sorted(starts):
            ends = {start}
            for readings in words:
                ends = set(chain.from_iterable(self._follow(ends, reading) for reading in readings))
            if ends:
                first, _ = self._places[start]
                _, last = self._places[min(ends) - 1]
                return " ".join(self._question[first:last].split())
        return None

    def _follow(self, starts: set[int], terms: Iterable[str]) -> set[int]:
        """Return where the terms end that follow each other from one of the starts."""
        for term in terms:
            ends = self._ends.get(term, {})
            starts = set(chain.from_iterable(ends[start] for start in starts if start in ends))
        return starts


def _iter_words(text: str) -> Iterator[tuple[int, str]]:
    """Yield the words of a text with their start; in a script without spaces, each character is one."""
    end = 0
    for run in split_words(text):
        start = max(text.find(run, end), end)  # a word that is written in another way is not in the text
        end = start + len(run)
        if is_spaceless(run):
            yield from enumerate(run, start)
        else:
            yield start, run


@lru_cache(_CACHED_WORDS)
def _read_word(run: str, language: str) -> tuple[tuple[str, ...], Readings]:
    """Return the parts of a word, and the terms of the whole word."""
    if is_spaceless(run):
        return (fold(run),), ()
    word = parse_word(run, language)
    wholes = {*(run for run in word.runs if len(run) == 1), *((term,) for term in word.terms[len(word.parts) :])}
    if len(word.parts) == 1:  # a stem that needs its accents also matches without them
        wholes.add((stem(fold(word.whole), base_language(language)),))
    return word.parts, tuple(wholes)


@lru_cache(_CACHED_WORDS)
def _parse_phrase(phrase: str, language: str) -> tuple[Readings, ...]:
    words = [word for word in parse_words(phrase, language) if any(word.runs)]
    if all(word.stop for word in words):
        return ()
    readings: list[Readings] = []
    for _, run in _iter_words(phrase):
        parts, wholes = _read_word(run, language)
        if all(parts):
            readings.append((parts, *wholes))
    return tuple(readings)
