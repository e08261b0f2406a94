"""The rules of a site: which of them match a question, by which words, and which sections they open.

A site's rules are applied if its owner is the user: the site is in a local folder, and no crawler wrote it. Those of
other sites have no effect, unless `Library.trusted` is set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import zip_longest

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
        return ", ".join(dict.fromkeys(words for rule in self.fired if rule.opens for words in rule.words))


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
    results = (_match_rule(number, rule, matcher, section) for number, rule in enumerate(rules, 1))
    fired = [result for result in results if result is not None]
    selection = _Selection(sections, chars, cap)
    selection.take_in_turn({rule.number: list(rules[rule.number - 1].open) for rule in fired})
    opened = tuple(replace(rule, opens=tuple(selection.by_rule.get(rule.number, ()))) for rule in fired)
    return RulesResult(opened, tuple(selection.ids))


def _match_rule(number: int, rule: RuleEntry, matcher: PhraseMatcher, section: SectionRef | None) -> FiredRule | None:
    when = rule.when
    if when.always:
        return FiredRule(number)
    found = {phrase: match for phrase in (*when.any, *when.all) if (match := matcher.find(phrase)) is not None}
    on_page = section is not None and section.page.id in when.pages
    conditions = (
        any(phrase in found for phrase in when.any) or not when.any,
        all(phrase in found for phrase in when.all),
        on_page or not when.pages,
    )
    if not all(conditions) or not (found or on_page):  # a rule without conditions never fires
        return None
    return FiredRule(number, tuple(found.values()))


# Sections to open


class _Selection:
    """The sections selected so far, within a number of characters."""

    def __init__(self, sections: SectionIndex, chars: int, cap: int) -> None:
        self.ids: dict[str, None] = {}
        self.by_rule: dict[int, dict[str, None]] = {}
        self._sections = sections
        self._chars = chars
        self._cap = cap
        self._size = 0

    def take_in_turn(self, wanted: Mapping[int, list[str]]) -> None:
        """Select sections: the first of each rule, then the second of each, and so on."""
        for number, ids in wanted.items():
            while ids and not self._take(number, ids.pop(0)):
                pass
        for row in zip_longest(*([(number, id_) for id_ in ids] for number, ids in wanted.items())):
            for number, id_ in filter(None, row):
                self._take(number, id_)

    def _take(self, rule: int, id_: str) -> bool:
        """Select a section if it fits; one that another rule selected costs nothing."""
        section = self._sections.get(id_)
        if section is None:  # not on the site, or outside of the scope
            return False
        if section.id not in self.ids:
            size = self._size + _expanded_size(self._sections, section)
            if len(self.ids) >= min(MAX_IDS, self._cap // MIN_CAP) or min(size, self._cap) > self._chars:
                return False
            self._size = size
            self.ids[section.id] = None
        self.by_rule.setdefault(rule, {})[section.id] = None
        return True


def _expanded_size(sections: SectionIndex, section: SectionRef) -> int:
    """Return the bytes of a section and its subsections, at least the number of their characters."""
    last = section.page.sections[section.position + sections.count_descendants(section)]
    return last.end - section.section.start


# Phrases

Readings = tuple[tuple[str, ...], ...]
"""The alternative readings of a word, each a sequence of terms."""

_Position = tuple[int, tuple[str, ...]]
"""The number of a word in a question, and the terms that remain of it: none before the word begins."""


class PhraseMatcher:
    """Finds phrases in a question: the same words next to each other, in any case and inflection.

    A word is its stem, its full form, or the parts of an identifier (`ServerTimeouts` is `server` + `timeout`, too), a
    script without spaces its characters. Phrases may begin and end within an identifier.
    """

    def __init__(self, question: str, language: str) -> None:
        self._language = language
        self._words = list(_split_units(question[:_MAX_QUESTION_CHARS], language))
        self._starts: dict[str, list[_Position]] = {}  # for each term, where it is next
        for number, (_, readings, _) in enumerate(self._words):
            for reading in readings:
                for at, term in enumerate(reading):
                    self._starts.setdefault(term, []).append((number, reading[at:] if at else ()))

    def find(self, phrase: str) -> str | None:
        """Return the question's words that match a phrase, or None.

        A phrase that consists of stop words never matches.
        """
        units = _parse_phrase(phrase, self._language)
        if not units:
            return None
        matches: list[tuple[int, int]] = []
        for start in {start for reading in units[0] for start in self._starts.get(reading[0], ())}:
            ends = {start}
            for readings in units:
                ends = {end for position in ends for terms in readings for end in self._follow(position, terms)}
            matches += [(start[0], number + bool(rest)) for number, rest in ends]
        return self._join_words(*min(matches)) if matches else None

    def _follow(self, position: _Position, terms: tuple[str, ...]) -> Iterator[_Position]:
        """Yield the positions after some terms."""
        if not terms:
            yield position
            return
        number, rest = position
        readings = (rest,) if rest else self._words[number][1] if number < len(self._words) else ()
        for reading in readings:
            if reading[0] == terms[0]:
                after = (number, reading[1:]) if len(reading) > 1 else (number + 1, ())
                yield from self._follow(after, terms[1:])

    def _join_words(self, first: int, last: int) -> str:
        """Return words of the question as they were written."""
        joined = ""
        for text, _, is_joined in self._words[first:last]:
            joined += text if is_joined or not joined else f" {text}"
        return joined


def _split_units(text: str, language: str) -> Iterator[tuple[str, Readings, bool]]:
    """Yield the words of a text, their readings, and whether a word directly follows the one before."""
    end = 0
    for run in split_words(text):
        at = text.find(run, end)
        is_joined = at == end > 0
        end = at + len(run) if at >= 0 else end
        if not is_spaceless(run):
            if readings := _read_word(run, language):
                yield run, readings, is_joined
            continue
        for character in run:
            if folded := fold(character):
                yield character, ((folded,),), is_joined
            is_joined = True


@lru_cache(1 << 12)
def _read_word(run: str, language: str) -> Readings:
    word = parse_word(run, language)
    readings = [*word.runs, word.terms]
    if len(word.parts) == 1:  # a stem that needs its accents also matches without them
        readings.append((stem(fold(word.whole), base_language(language)),))
    return tuple(dict.fromkeys(reading for reading in readings if reading and all(reading)))


@lru_cache(1 << 12)
def _parse_phrase(phrase: str, language: str) -> tuple[Readings, ...]:
    if all(word.stop for word in parse_words(phrase, language) if any(word.runs)):
        return ()
    return tuple(readings for _, readings, _ in _split_units(phrase, language))
