"""Which rules fire on a question, by which words, and what they open: told before a model is asked.

The rules of a site in a folder on this disk are its owner's, and are followed. Those of a site that was opened from an
address, or fetched by a crawl, are somebody else's: they are counted and left alone, unless `library.trusted` is set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

from mkdocs_roaming.expand import CAP
from mkdocs_roaming.manifest import RuleEntry
from mkdocs_roaming.places import Place, Places
from mkdocs_roaming.roam.navigator import SMALLEST_CAP, Navigator
from mkdocs_roaming.roam.phrases import Asking
from mkdocs_roaming.roam.search import asked
from mkdocs_roaming.roam.tools import MOST_IDS

CALL = "rules"
"""The id of the call that opens what rules pin to a question."""


@dataclass(frozen=True, slots=True)
class Match:
    """A phrase of a rule, and the words of the question that it was found by."""

    phrase: str
    words: str


@dataclass(frozen=True, slots=True)
class Fired:
    """A rule that fires: its number on the site (from 1), what it was found by, and which sections it gets open.

    `opens` is empty where there was no room for any. `on_page` is the path of the page that it asked for.
    """

    number: int
    name: str
    found: tuple[Match, ...] = ()
    on_page: str | None = None
    opens: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Nearly:
    """A rule that some of the question answers to, but not enough: what was found, and the phrases that were not.

    `words` are words of the question that stand in a missing phrase. `elsewhere` is True where the reader would have
    to be on another page.
    """

    number: int
    name: str
    found: tuple[Match, ...]
    missing: tuple[str, ...]
    words: tuple[str, ...] = ()
    elsewhere: bool = False


Why = Literal["room", "count", "rank", "absent"]


@dataclass(frozen=True, slots=True)
class Dropped:
    """A section that a rule names and that stays closed: no `room` for it, more than one call may open (`count`),
    ranked behind others (`rank`), or not to be seen here (`absent`).
    """

    id: str
    rule: int
    why: Why


@dataclass(frozen=True, slots=True)
class Firing:
    """What the rules of a site do on a question. `opens` are ids of sections in the order of opening.

    `ignored` counts the rules of a site that is not trusted.
    """

    fired: tuple[Fired, ...] = ()
    nearly: tuple[Nearly, ...] = ()
    opens: tuple[str, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    ignored: int = 0

    @property
    def words(self) -> str:
        """The words of the question for which something is opened."""
        return ", ".join(dict.fromkeys(match.words for rule in self.fired if rule.opens for match in rule.found))

    @property
    def unheard(self) -> tuple[Fired, ...]:
        """The rules that fire and get no section open."""
        return tuple(rule for rule in self.fired if not rule.opens)


@dataclass(frozen=True, slots=True)
class Room:
    """What rules may open: `chars` of text, by one call that gives at most `cap` characters and takes `most` ids."""

    chars: int = CAP
    cap: int = CAP
    most: int = MOST_IDS


def share(most: int, standing: int = 0) -> int:
    """Give how much of an answer's open text rules may take: half, or what is left beside what stands open."""
    return max(min(most // 2, most - standing), 0)


def pinned(navigator: Navigator, question: str, page: str | None, chars: int) -> Firing:
    """Give what a library's rules do on a question within a navigator's scope, opening at most `chars` characters."""
    library, places = navigator.library, navigator.places
    manifest = library.manifest
    if not library.trusted:
        return Firing(ignored=len(manifest.rules))

    def scores() -> dict[str, float]:
        return {place.id: score for place, score in navigator.search.rank(asked(question, manifest.site.language))}

    room = Room(chars, navigator.cap, min(MOST_IDS, navigator.cap // SMALLEST_CAP))
    return fire(manifest.rules, question, page, places, mode=manifest.rules_mode, room=room, scores=scores)


def fire(
    rules: Sequence[RuleEntry],
    question: str,
    page: str | None,
    places: Places,
    *,
    mode: str = "each",
    room: Room | None = None,
    scores: Callable[[], Mapping[str, float]] = dict,
) -> Firing:
    """Give which rules fire on a question that is asked on a page (an id, a path or a URL), and what they open.

    With `each`, every rule that fires gets its first section before any gets its second. With `pool`, the sections of
    all are ranked together by `scores`, which gives the score of each section that the question finds.
    """
    if not rules:
        return Firing()
    asking = Asking(question, places.manifest.site.language)
    place = (places.address(page) or places.address(page.partition("#")[0])) if page else None
    fired: list[Fired] = []
    nearly: list[Nearly] = []
    for number, rule in enumerate(rules, 1):
        judged = _judged(number, rule, asking, place)
        if isinstance(judged, Fired):
            fired.append(judged)
        elif judged:
            nearly.append(judged)
    if not fired:
        return Firing(nearly=tuple(nearly))
    opens = {rule.number: rules[rule.number - 1].open for rule in fired}
    chosen = _Choice(places, room or Room())
    if mode == "pool":
        _pool(opens, chosen, scores())
    else:
        _each(opens, chosen)
    told = tuple(
        Fired(rule.number, rule.name, rule.found, rule.on_page, tuple(chosen.by_rule.get(rule.number, ())))
        for rule in fired
    )
    return Firing(told, tuple(nearly), tuple(chosen.ids), tuple(chosen.dropped))


# Which fire


def _judged(number: int, rule: RuleEntry, asking: Asking, place: Place | None) -> Fired | Nearly | None:
    when = rule.when
    if when.always:
        return Fired(number, rule.name)
    found = {phrase: said for phrase in (*when.any, *when.all) if (said := asking.find(phrase)) is not None}
    matches = tuple(Match(phrase, said) for phrase, said in found.items())
    here = place is not None and place.page.id in when.pages
    missing = tuple(phrase for phrase in when.all if phrase not in found)
    if when.any and not any(phrase in found for phrase in when.any):
        missing += when.any
    if not missing and (here or not when.pages):
        on_page = place.page.path if place is not None and here else None
        return Fired(number, rule.name, matches, on_page) if when.any or when.all or when.pages else None
    words = tuple(dict.fromkeys(word for phrase in missing for word in asking.part(phrase)))
    if matches or words or here:
        return Nearly(number, rule.name, matches, missing, words, bool(when.pages) and not here)
    return None


# What they open


class _Choice:
    """The sections chosen so far, and what was dropped."""

    def __init__(self, places: Places, room: Room) -> None:
        self.ids: dict[str, None] = {}
        self.by_rule: dict[int, dict[str, None]] = {}
        self.dropped: list[Dropped] = []
        self.places, self._room = places, room
        self._size = 0

    def take(self, rule: int, id_: str) -> bool:
        """Choose a section if it may be seen and there is room for it; what one rule has open is open for all."""
        place = self.places.get(id_)
        why: Why
        if place is None:
            why = "absent"
        elif place.id in self.ids:
            self.by_rule.setdefault(rule, {})[place.id] = None
            return True
        elif len(self.ids) >= self._room.most:
            why = "count"
        elif min(self._size + (size := _size(self.places, place)), self._room.cap) > self._room.chars:
            why = "room"
        else:
            self._size += size
            self.ids[place.id] = None
            self.by_rule.setdefault(rule, {})[place.id] = None
            return True
        self.drop(rule, id_, why)
        return False

    def drop(self, rule: int, id_: str, why: Why) -> None:
        """Say that a section stays closed."""
        self.dropped.append(Dropped(id_, rule, why))


def _size(places: Places, place: Place) -> int:
    """Give the most characters that a section shows when it is opened, subsections included: no more than its bytes."""
    last = place.page.sections[place.at + places.inside(place)]
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
    ranks = {id_: _score(chosen.places, id_, scores) for _, id_ in named}
    ranked = sorted(named, key=lambda one: -ranks[one[1]])
    some = any(ranks.values())
    for number, id_ in ranked:
        if some and not ranks[id_]:
            chosen.drop(number, id_, "rank")
        else:
            chosen.take(number, id_)


def _score(places: Places, id_: str, scores: Mapping[str, float]) -> float:
    """Give the best score of a section and what is opened along with it."""
    place = places.get(id_)
    inside = (place, *places.below(place)) if place else ()
    return max((scores.get(one.id, 0.0) for one in inside), default=0.0)
