"""The rules of a site: which of them match a question, by which words, and which sections they open.

A site's rules are applied if its owner is the user: the site is in a local folder, and no crawler wrote it. Those of
other sites have no effect, unless `Library.trusted` is set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, product

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
                    rest = reading[at:] if at else ()
                    self._starts.setdefault(term, []).append((number, rest))

    def find(self, phrase: str) -> str | None:
        """Return the question's words that match a phrase, as they were written, or None.

        A phrase that consists of stop words never matches.
        """
        units = _parse_phrase(phrase, self._language)
        if not units:
            return None
        starts: set[_Position] = set()
        for reading in units[0]:
            starts.update(self._starts.get(reading[0], ()))
        matches: list[tuple[int, int]] = []
        for start in starts:
            ends = {start}
            for readings in units:
                branches = [self._follow(position, terms) for position, terms in product(ends, readings)]
                ends = set(chain.from_iterable(branches))
            matches += [(start[0], number + bool(rest)) for number, rest in ends]
        if not matches:
            return None
        first, last = min(matches)
        joined = ""
        for text, _, is_joined in self._words[first:last]:
            joined += text if is_joined or not joined else f" {text}"
        return joined

    def _follow(self, position: _Position, terms: tuple[str, ...]) -> Iterator[_Position]:
        """Yield the positions after some terms."""
        if not terms:
            yield position
            return
        number, rest = position
        readings: Readings = (rest,) if rest else ()
        if not rest and number < len(self._words):
            readings = self._words[number][1]
        for reading in readings:
            if reading[0] != terms[0]:
                continue
            after = (number, reading[1:]) if len(reading) > 1 else (number + 1, ())
            yield from self._follow(after, terms[1:])


def _split_units(text: str, language: str) -> Iterator[tuple[str, Readings, bool]]:
    """Yield the words of a text, their readings, and whether a word directly follows the one before."""
    end = 0
    for run in split_words(text):
        at = text.find(run, end)
        is_joined = at == end > 0
        if at >= 0:
            end = at + len(run)
        if not is_spaceless(run):
            readings = _read_word(run, language)
            if readings:
                yield run, readings, is_joined
            continue
        for character in run:
            folded = fold(character)
            if folded:
                yield character, ((folded,),), is_joined
            is_joined = True


@lru_cache(_CACHED_WORDS)
def _read_word(run: str, language: str) -> Readings:
    word = parse_word(run, language)
    readings = [*word.runs, word.terms]
    if len(word.parts) == 1:  # a stem that needs its accents also matches without them
        readings.append((stem(fold(word.whole), base_language(language)),))
    return tuple(dict.fromkeys(reading for reading in readings if reading and all(reading)))


@lru_cache(_CACHED_WORDS)
def _parse_phrase(phrase: str, language: str) -> tuple[Readings, ...]:
    words = [word for word in parse_words(phrase, language) if any(word.runs)]
    if all(word.stop for word in words):
        return ()
    return tuple(readings for _, readings, _ in _split_units(phrase, language))
