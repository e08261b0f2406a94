"""What the log of an endpoint says: what was asked in vain, what failed, and how answers were rated."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cache

from msgspec import Struct

from mkdocs_roaming.answer.results import Offline
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef
from mkdocs_roaming.report.groups import Clue, group_questions
from mkdocs_roaming.report.log import Entry, Log, Rating
from mkdocs_roaming.search.relevance import MIN_CONFIDENCE
from mkdocs_roaming.text.languages import available_languages, load_words
from mkdocs_roaming.text.tokenizer import split_words

_UNANSWERED = ("not_found", "partial")
_FAILED = ("unusable", "refused", "budget", "error")
_WORDS_OF_SMALL_TALK = ("report.small_talk", "stop_words")
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
    """

    site: str = ""
    period: Period | None = None
    states: dict[str, int] = {}
    failures: dict[str, int] = {}
    groups: tuple[Group, ...] = ()
    ratings: tuple[Rating, ...] = ()
    skipped: int = 0


def make_report(log: Log, library: Library | None = None) -> Report:
    """Return the report of a log.

    Args:
        log: The questions and ratings.
        library: The site, for titles and nearest sections.
    """
    entries = [entry for entry in log.entries if entry.state in _FAILED or not _is_small_talk(entry.text)]
    in_vain = [entry for entry in entries if _is_in_vain(entry, log)]
    causes = Counter(entry.cause or entry.state for entry in entries if entry.state in _FAILED)
    ratings = [rating for rating in log.ratings.values() if rating.question]
    period = None
    if entries:
        share = _compute_share(entries, log)
        period = Period(entries[0].time, entries[-1].time, len(entries), len(in_vain), share)
    return Report(
        site=library.manifest.site.name if library else "",
        period=period,
        states=dict(Counter(entry.state for entry in entries).most_common()),
        failures=dict(causes.most_common()),
        groups=tuple(_group_entries(in_vain, log, Search(library) if library else None)),
        ratings=tuple(sorted(ratings, key=lambda rating: (not rating.comment, rating.helpful is not False))),
        skipped=log.skipped,
    )


def _is_small_talk(text: str) -> bool:
    """Return whether a text has no words but those of greetings, thanks and tests."""
    return _load_small_talk().issuperset(map(str.casefold, split_words(text)))


@cache
def _load_small_talk() -> frozenset[str]:
    """Return the words of greetings, thanks and tests in all languages."""
    lists = [load_words(code, name) for code in available_languages() for name in _WORDS_OF_SMALL_TALK]
    return frozenset().union(*lists)


def _is_in_vain(entry: Entry, log: Log) -> bool:
    return entry.state not in _FAILED and (entry.state in _UNANSWERED or _is_unhelpful(entry, log))


def _is_unhelpful(entry: Entry, log: Log) -> bool:
    rating = log.ratings.get(entry.turn)
    return rating is not None and rating.helpful is False


def _compute_share(entries: Iterable[Entry], log: Log) -> float | None:
    """Return the share of the questions for a model that it answered; None if there was no model."""
    asked = [entry for entry in entries if entry.state != "results" and entry.model != Offline.name]
    if not asked:
        return None
    failed = sum(entry.state in _FAILED or _is_in_vain(entry, log) for entry in asked)
    return round(1 - failed / len(asked), 4)


def _group_entries(in_vain: Iterable[Entry], log: Log, search: Search | None) -> list[Group]:
    """Return groups of the questions that were asked in vain."""
    by_text = defaultdict[str, list[Entry]](list)
    for entry in in_vain:
        by_text[entry.text.casefold()].append(entry)
    asked = list(by_text.values())
    clues = [_find_clue(same[0].text, search) for same in asked]
    language = search.library.manifest.site.language if search else "en"
    groups = []
    for positions in group_questions(clues, language):
        same = [asked[position] for position in positions]
        groups.append(_describe_group(same, log, search))
    return sorted(groups, key=lambda group: -group.count - group.unhelpful)


def _find_clue(text: str, search: Search | None) -> Clue:
    if search is None:
        return Clue(text)
    hits = search.find(text, limit=1) if search.confidence(text) >= MIN_CONFIDENCE else []
    section = hits[0].section.id if hits else ""
    return Clue(text, section, search.find_unknown_words(text))


def _describe_group(group: Sequence[Sequence[Entry]], log: Log, search: Search | None) -> Group:
    """Return the group of questions; each item of the argument is one question, as often as it was asked."""
    asked = sorted((Asked(same[0].text, len(same)) for same in group), key=lambda question: -question.count)
    texts = [question.question for question in asked]
    nearest: list[SectionInfo] = []
    absent: tuple[str, ...] = ()
    if search:
        hits = search.find(texts[0], limit=_MAX_NEAREST)
        nearest = [_describe_section(hit.section, search.library.sections) for hit in hits]
        absent = search.find_unknown_words(" ".join(texts))
    return Group(
        count=sum(question.count for question in asked),
        unhelpful=sum(_is_unhelpful(entry, log) for same in group for entry in same),
        questions=tuple(asked),
        nearest=tuple(nearest),
        absent=absent,
    )


def _describe_section(section: SectionRef, sections: SectionIndex) -> SectionInfo:
    title = " › ".join(sections.breadcrumb(section))
    about = section.section.about or section.section.opening
    return SectionInfo(section.id, title, sections.url(section), about)
