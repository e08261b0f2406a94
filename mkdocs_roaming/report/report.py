"""What the log of an endpoint says: what was asked in vain, what failed, and how answers were rated."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cache

from msgspec import Struct
from msgspec.structs import replace

from mkdocs_roaming.answer.results import Offline
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.report.access import AccessReport, load_tables
from mkdocs_roaming.report.groups import Clue, group_questions
from mkdocs_roaming.report.log import Entry, Log, Rating
from mkdocs_roaming.search.relevance import MIN_CONFIDENCE
from mkdocs_roaming.text.languages import available_languages, load_words
from mkdocs_roaming.text.tokenizer import split_words

_UNANSWERED = ("not_found", "partial")
_FAILED = ("unusable", "refused", "budget", "error")
_MAX_NEAREST = 3


class SectionInfo(Struct, frozen=True):
    """A section that is near to questions: the titles above it and its own, and its description or opening."""

    id: str
    title: str
    url: str
    about: str


class Asked(Struct, frozen=True):
    """A question, and how often it was asked."""

    question: str
    count: int


class Group(Struct, frozen=True):
    """Questions that ask for the same thing in vain: without an answer, or with one that was rated as not helpful.

    Attributes:
        count: Number of questions.
        unhelpful: Number of answers that were rated as not helpful.
        questions: The questions, those that were asked most often first.
        nearest: The sections that match best; none without a site.
        absent: Words of the questions that no section contains.
    """

    count: int
    unhelpful: int
    questions: tuple[Asked, ...]
    nearest: tuple[SectionInfo, ...]
    absent: tuple[str, ...]


class Period(Struct, frozen=True):
    """The questions of a log, without greetings, thanks and tests.

    Attributes:
        since: The time of the first one.
        until: The time of the last one.
        questions: Their number.
        in_vain: Number of those that were asked in vain.
        share: Share of those for a model that it answered; None if there was no model.
    """

    since: datetime
    until: datetime
    questions: int
    in_vain: int
    share: float | None


class Report(Struct, frozen=True):
    """A report.

    Attributes:
        site: The name of the site, empty without one.
        period: The questions of the log; None without any.
        states: Number of questions by state.
        failures: Number of questions that failed, by cause.
        groups: What was asked in vain, the heaviest groups first.
        ratings: The ratings of known questions: first those with comments, and bad ones before good ones.
        skipped: Number of lines of the logs that could not be read.
        access: What agents read, from the web server's log.
    """

    site: str = ""
    period: Period | None = None
    states: dict[str, int] = {}
    failures: dict[str, int] = {}
    groups: tuple[Group, ...] = ()
    ratings: tuple[Rating, ...] = ()
    skipped: int = 0
    access: AccessReport | None = None


def make_report(log: Log, library: Library | None = None, access: AccessReport | None = None) -> Report:
    """Return the report of a log.

    Args:
        log: The questions and ratings.
        library: The site, for titles and nearest sections.
        access: What agents read.
    """
    entries = [entry for entry in log.entries if not _is_small_talk(entry)]
    states = Counter(entry.state for entry in entries)
    causes = Counter(entry.cause or entry.state for entry in entries if entry.state in _FAILED)
    return Report(
        site=library.manifest.site.name if library else "",
        period=_describe_period(entries, log) if entries else None,
        states={state: states[state] for state in (*load_tables()["states"], *sorted(states)) if states[state]},
        failures=dict(causes.most_common()),
        groups=tuple(_find_gaps(entries, log, Search(library) if library else None)),
        ratings=_list_ratings(log),
        skipped=log.skipped,
        access=access,
    )


def _describe_period(entries: Sequence[Entry], log: Log) -> Period:
    in_vain = sum(_is_in_vain(entry, log) for entry in entries)
    return Period(entries[0].time, entries[-1].time, len(entries), in_vain, _compute_share(entries, log))


def _compute_share(entries: Iterable[Entry], log: Log) -> float | None:
    asked = [entry for entry in entries if entry.state != "results" and entry.model != Offline.name]
    failed = sum(_is_in_vain(entry, log) or entry.state in _FAILED for entry in asked)
    return round(1 - failed / len(asked), 4) if asked else None


def _is_in_vain(entry: Entry, log: Log) -> bool:
    rating = log.ratings.get(entry.turn)
    is_unhelpful = rating is not None and rating.helpful is False
    return entry.state in _UNANSWERED or (is_unhelpful and entry.state not in _FAILED)


def _is_small_talk(entry: Entry) -> bool:
    words = {word.casefold() for word in split_words(entry.text)}
    return entry.state not in _FAILED and words <= _load_small_talk()


@cache
def _load_small_talk() -> frozenset[str]:
    lists = ("report.small_talk", "stop_words")
    return frozenset().union(*(load_words(code, name) for code in available_languages() for name in lists))


def _find_gaps(entries: Iterable[Entry], log: Log, search: Search | None) -> list[Group]:
    """Return groups of the questions that were asked in vain."""
    by_text = defaultdict[str, list[Entry]](list)
    for entry in entries:
        if _is_in_vain(entry, log):
            by_text[entry.text.casefold()].append(entry)
    asked = list(by_text.values())
    languages = [search.library.manifest.site.language] if search else [same[0].language for same in asked]
    clues = [_find_clue(same[0], search) for same in asked]
    positions = group_questions(clues, next(filter(None, languages), "en"))
    groups = [_describe_group([asked[position] for position in group], log, search) for group in positions]
    return sorted(groups, key=lambda group: -group.count - group.unhelpful)


def _find_clue(entry: Entry, search: Search | None) -> Clue:
    if search is None:
        return Clue(entry.text)
    is_near = search.confidence(entry.text) >= MIN_CONFIDENCE
    sections = [hit.section.id for hit in search.find(entry.text, limit=int(is_near))]
    return Clue(entry.text, "".join(sections), search.find_unknown_words(entry.text))


def _describe_group(group: Iterable[Sequence[Entry]], log: Log, search: Search | None) -> Group:
    """Return the group of questions; each item of the argument is one question, as often as it was asked."""
    asked = sorted((Asked(same[0].text, len(same)) for same in group), key=lambda question: -question.count)
    texts = [question.question for question in asked]
    ratings = [log.ratings[entry.turn] for same in group for entry in same if entry.turn in log.ratings]
    return Group(
        count=sum(question.count for question in asked),
        unhelpful=sum(rating.helpful is False for rating in ratings),
        questions=tuple(asked),
        nearest=_find_nearest(texts[0], search) if search else (),
        absent=tuple(search.find_unknown_words(" ".join(texts))) if search else (),
    )


def _find_nearest(text: str, search: Search) -> tuple[SectionInfo, ...]:
    sections = search.library.sections
    found = [hit.section for hit in search.find(text, limit=_MAX_NEAREST)]
    return tuple(
        SectionInfo(
            section.id,
            " › ".join(sections.breadcrumb(section)),
            sections.url(section),
            section.section.about or section.section.opening,
        )
        for section in found
    )


def _list_ratings(log: Log) -> tuple[Rating, ...]:
    """Return the ratings with their questions, also those that are no longer in the log."""
    texts = {entry.turn: entry.text for entry in log.entries}
    ratings = [replace(rating, question=texts.get(turn, rating.question)) for turn, rating in log.ratings.items()]
    known = (rating for rating in ratings if rating.question)
    return tuple(sorted(known, key=lambda rating: (not rating.comment, rating.helpful is not False)))
