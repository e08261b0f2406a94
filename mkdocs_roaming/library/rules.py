"""Whether a question asks with the words of a phrase: next to each other, in order, in whatever case and ending."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from typing import Literal

from mkdocs_roaming.library.navigator import MIN_CAP, Navigator
from mkdocs_roaming.library.search import parse_query
from mkdocs_roaming.library.tools import MAX_IDS
from mkdocs_roaming.manifest.expand import MAX_EXPANSION_CHARS
from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef
from mkdocs_roaming.manifest.models import RuleEntry
from mkdocs_roaming.text.languages import base_language, fold, stem
from mkdocs_roaming.text.tokenizer import is_spaceless, parse_word, parse_words, split_words

_MAX_QUESTION_CHARS = 2_000


"""The characters of a question that are read."""


Runs = tuple[tuple[str, ...], ...]


"""The ways to read one word, each as terms one behind the other."""


class PhraseMatcher:
    """A question, read once and held against many phrases.

    A word is read as its stem, as it stands, and as the parts of an identifier; a script without spaces by its
    characters. So a question is a net of paths: `ServerTimeouts` leads over `server` and `timeout`, or past both.
    """

    def __init__(self, question: str, language: str) -> None:
        self._language = language
        self._words: list[tuple[str, bool]] = []
        self._edges: list[list[tuple[str, int]]] = [[]]
        self._first = [0]  # for each knot the word that goes on there
        self._last = [0]  # and how many words have begun before it
        self._begins: dict[str, list[int]] = {}
        at = 0
        for text, runs, joined in _units(question[:_MAX_QUESTION_CHARS], language):
            at = self._add(at, text, runs, joined)

    def find(self, phrase: str) -> str | None:
        """Give the question's words that a phrase is found by; None where it is not asked for.

        A phrase of words that stand in most questions is never found.
        """
        wanted = _phrase(phrase, self._language)
        return self._find(wanted) if wanted else None

    def part(self, phrase: str) -> tuple[str, ...]:
        """Give the words of the question by which a part of a phrase is found, stop words aside."""
        telling = (one.text for one in parse_words(phrase, self._language) if any(one.runs) and not one.stop)
        return tuple(dict.fromkeys(filter(None, map(self.find, telling))))

    def _add(self, at: int, text: str, runs: Runs, joined: bool) -> int:
        mine = len(self._words)
        self._words.append((text, joined))
        end = self._knot(mine + 1, mine + 1)
        for run in runs:
            here = at
            for term in run[:-1]:
                inside = self._knot(mine, mine + 1)
                self._edge(here, term, inside)
                here = inside
            self._edge(here, run[-1], end)
        return end

    def _knot(self, first: int, last: int) -> int:
        self._edges.append([])
        self._first.append(first)
        self._last.append(last)
        return len(self._edges) - 1

    def _edge(self, start: int, term: str, end: int) -> None:
        self._edges[start].append((term, end))
        self._begins.setdefault(term, []).append(start)

    def _find(self, wanted: tuple[Runs, ...]) -> str | None:
        starts = {start for run in wanted[0] for start in self._begins.get(run[0], ())}
        for start in sorted(starts, key=lambda knot: (self._first[knot], knot)):
            here = {start}
            for runs in wanted:
                here = {end for knot in here for run in runs for end in self._walk(knot, run)}
            if here:
                return self._said(self._first[start], min(self._last[end] for end in here))
        return None

    def _walk(self, knot: int, run: tuple[str, ...]) -> set[int]:
        here = {knot}
        for term in run:
            here = {end for at in here for edge, end in self._edges[at] if edge == term}
        return here

    def _said(self, first: int, last: int) -> str:
        """Give words of the question as they were written."""
        said = ""
        for text, joined in self._words[first:last]:
            said += text if joined or not said else f" {text}"
        return said


def _units(text: str, language: str) -> Iterator[tuple[str, Runs, bool]]:
    """Give the words of a text with the ways to read them; True where one is joined to the one before."""
    end = 0
    for run in split_words(text):
        at = text.find(run, end)
        joined = at == end > 0
        end = at + len(run) if at >= 0 else end
        if not is_spaceless(run):
            if runs := _runs(run, language):
                yield run, runs, joined
            continue
        for character in run:
            if folded := fold(character):
                yield character, ((folded,),), joined
            joined = True


@lru_cache(1 << 12)
def _runs(run: str, language: str) -> Runs:
    read = parse_word(run, language)
    ways = [*read.runs, read.terms]
    if len(read.parts) == 1:  # a stem that needs its accents is had without them too
        ways.append((stem(fold(read.whole), base_language(language)),))
    return tuple(dict.fromkeys(way for way in ways if way and all(way)))


@lru_cache(1 << 12)
def _phrase(phrase: str, language: str) -> tuple[Runs, ...]:
    if all(one.stop for one in parse_words(phrase, language) if any(one.runs)):
        return ()
    return tuple(runs for _, runs, _ in _units(phrase, language))


# MERGED mkdocs_roaming.roam.rules:
# Which rules fire on a question, by which words, and what they open: told before a model is asked.
#
# The rules of a site in a folder on this disk are its owner's, and are followed. Those of a site that was
# opened from an
# address, or fetched by a crawl, are somebody else's: they are counted and left alone, unless `library.trusted`
# is set.


RULES_CALL_ID = "rules"


"""The id of the call that opens what rules pin to a question."""


@dataclass(frozen=True, slots=True)
class PhraseMatch:
    """A phrase of a rule, and the words of the question that it was found by."""

    phrase: str
    words: str


@dataclass(frozen=True, slots=True)
class FiredRule:
    """A rule that fires: its number on the site (from 1), what it was found by, and which sections it gets open.

    `opens` is empty where there was no room for any. `on_page` is the path of the page that it asked for.
    """

    number: int
    name: str
    found: tuple[PhraseMatch, ...] = ()
    on_page: str | None = None
    opens: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A rule that some of the question answers to, but not enough: what was found, and the phrases that were not.

    `words` are words of the question that stand in a missing phrase. `elsewhere` is True where the reader would have
    to be on another page.
    """

    number: int
    name: str
    found: tuple[PhraseMatch, ...]
    missing: tuple[str, ...]
    words: tuple[str, ...] = ()
    elsewhere: bool = False


DropReason = Literal["room", "count", "rank", "absent"]


@dataclass(frozen=True, slots=True)
class DroppedSection:
    """A section that a rule names and that stays closed: no `room` for it, more than one call may open (`count`),
    ranked behind others (`rank`), or not to be seen here (`absent`).
    """

    id: str
    rule: int
    why: DropReason


@dataclass(frozen=True, slots=True)
class RulesResult:
    """What the rules of a site do on a question. `opens` are ids of sections in the order of opening.

    `ignored` counts the rules of a site that is not trusted.
    """

    fired: tuple[FiredRule, ...] = ()
    nearly: tuple[NearMiss, ...] = ()
    opens: tuple[str, ...] = ()
    dropped: tuple[DroppedSection, ...] = ()
    ignored: int = 0

    @property
    def words(self) -> str:
        """The words of the question for which something is opened."""
        return ", ".join(dict.fromkeys(match.words for rule in self.fired if rule.opens for match in rule.found))

    @property
    def unheard(self) -> tuple[FiredRule, ...]:
        """The rules that fire and get no section open."""
        return tuple(rule for rule in self.fired if not rule.opens)


@dataclass(frozen=True, slots=True)
class RulesBudget:
    """What rules may open: `chars` of text, by one call that gives at most `cap` characters and takes `most` ids."""

    chars: int = MAX_EXPANSION_CHARS
    cap: int = MAX_EXPANSION_CHARS
    most: int = MAX_IDS


def rules_share(most: int, standing: int = 0) -> int:
    """Give how much of an answer's open text rules may take: half, or what is left beside what stands open."""
    return max(min(most // 2, most - standing), 0)


def apply_rules(navigator: Navigator, question: str, page: str | None, chars: int) -> RulesResult:
    """Give what a library's rules do on a question within a navigator's scope, opening at most `chars` characters."""
    library, places = navigator.library, navigator.sections
    manifest = library.manifest
    if not library.trusted:
        return RulesResult(ignored=len(manifest.rules))

    def scores() -> dict[str, float]:
        return {
            place.id: score for place, score in navigator.search.rank(parse_query(question, manifest.site.language))
        }

    room = RulesBudget(chars, navigator.cap, min(MAX_IDS, navigator.cap // MIN_CAP))
    return match_rules(manifest.rules, question, page, places, mode=manifest.rules_mode, room=room, scores=scores)


def match_rules(
    rules: Sequence[RuleEntry],
    question: str,
    page: str | None,
    places: SectionIndex,
    *,
    mode: str = "each",
    room: RulesBudget | None = None,
    scores: Callable[[], Mapping[str, float]] = dict,
) -> RulesResult:
    """Give which rules fire on a question that is asked on a page (an id, a path or a URL), and what they open.

    With `each`, every rule that fires gets its first section before any gets its second. With `pool`, the sections of
    all are ranked together by `scores`, which gives the score of each section that the question finds.
    """
    if not rules:
        return RulesResult()
    asking = PhraseMatcher(question, places.manifest.site.language)
    place = (places.resolve(page) or places.resolve(page.partition("#")[0])) if page else None
    fired: list[FiredRule] = []
    nearly: list[NearMiss] = []
    for number, rule in enumerate(rules, 1):
        judged = _judged(number, rule, asking, place)
        if isinstance(judged, FiredRule):
            fired.append(judged)
        elif judged:
            nearly.append(judged)
    if not fired:
        return RulesResult(nearly=tuple(nearly))
    opens = {rule.number: rules[rule.number - 1].open for rule in fired}
    chosen = _Choice(places, room or RulesBudget())
    if mode == "pool":
        _pool(opens, chosen, scores())
    else:
        _each(opens, chosen)
    told = tuple(
        FiredRule(rule.number, rule.name, rule.found, rule.on_page, tuple(chosen.by_rule.get(rule.number, ())))
        for rule in fired
    )
    return RulesResult(told, tuple(nearly), tuple(chosen.ids), tuple(chosen.dropped))


def _judged(
    number: int, rule: RuleEntry, asking: PhraseMatcher, place: SectionRef | None
) -> FiredRule | NearMiss | None:
    when = rule.when
    if when.always:
        return FiredRule(number, rule.name)
    found = {phrase: said for phrase in (*when.any, *when.all) if (said := asking.find(phrase)) is not None}
    matches = tuple(PhraseMatch(phrase, said) for phrase, said in found.items())
    here = place is not None and place.page.id in when.pages
    missing = tuple(phrase for phrase in when.all if phrase not in found)
    if when.any and not any(phrase in found for phrase in when.any):
        missing += when.any
    if not missing and (here or not when.pages):
        on_page = place.page.path if place is not None and here else None
        return FiredRule(number, rule.name, matches, on_page) if when.any or when.all or when.pages else None
    words = tuple(dict.fromkeys(word for phrase in missing for word in asking.part(phrase)))
    if matches or words or here:
        return NearMiss(number, rule.name, matches, missing, words, bool(when.pages) and not here)
    return None


class _Choice:
    """The sections chosen so far, and what was dropped."""

    def __init__(self, places: SectionIndex, room: RulesBudget) -> None:
        self.ids: dict[str, None] = {}
        self.by_rule: dict[int, dict[str, None]] = {}
        self.dropped: list[DroppedSection] = []
        self.sections, self._room = places, room
        self._size = 0

    def take(self, rule: int, id_: str) -> bool:
        """Choose a section if it may be seen and there is room for it; what one rule has open is open for all."""
        place = self.sections.get(id_)
        why: DropReason
        if place is None:
            why = "absent"
        elif place.id in self.ids:
            self.by_rule.setdefault(rule, {})[place.id] = None
            return True
        elif len(self.ids) >= self._room.most:
            why = "count"
        elif min(self._size + (size := _size(self.sections, place)), self._room.cap) > self._room.chars:
            why = "room"
        else:
            self._size += size
            self.ids[place.id] = None
            self.by_rule.setdefault(rule, {})[place.id] = None
            return True
        self.drop(rule, id_, why)
        return False

    def drop(self, rule: int, id_: str, why: DropReason) -> None:
        """Say that a section stays closed."""
        self.dropped.append(DroppedSection(id_, rule, why))


def _size(places: SectionIndex, place: SectionRef) -> int:
    """Give the most characters that a section shows when it is opened, subsections included: no more than its bytes."""
    last = place.page.sections[place.position + places.count_descendants(place)]
    return last.end - place.section.start


def _each(opens: Mapping[int, Sequence[str]], chosen: _Choice) -> None:
    """Take every rule's first section that can be had, then every one's next."""
    waiting = {number: list(ids) for number, ids in opens.items()}
    for number, ids in waiting.items():
        while ids and not chosen.take(number, ids.pop(0)):
            pass
    for number, id_ in _in_turn(waiting):
        chosen.take(number, id_)


def _in_turn(waiting: Mapping[int, Sequence[str]]) -> Iterator[tuple[int, str]]:
    for row in zip_longest(*([(number, id_) for id_ in ids] for number, ids in waiting.items())):
        yield from filter(None, row)


def _pool(opens: Mapping[int, Sequence[str]], chosen: _Choice, scores: Mapping[str, float]) -> None:
    """Take the sections that search ranks first; all in the rules' order where it finds none of them."""
    named = list(_in_turn(opens))
    ranks = {id_: _score(chosen.sections, id_, scores) for _, id_ in named}
    ranked = sorted(named, key=lambda one: -ranks[one[1]])
    some = any(ranks.values())
    for number, id_ in ranked:
        if some and not ranks[id_]:
            chosen.drop(number, id_, "rank")
        else:
            chosen.take(number, id_)


def _score(places: SectionIndex, id_: str, scores: Mapping[str, float]) -> float:
    """Give the best score of a section and what is opened along with it."""
    place = places.get(id_)
    inside = (place, *places.descendants(place)) if place else ()
    return max((scores.get(one.id, 0.0) for one in inside), default=0.0)
