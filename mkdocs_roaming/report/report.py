"""What the log of an endpoint says: what was asked in vain, what failed, and what changed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cache
from operator import attrgetter
from statistics import median
from typing import Any

from msgspec import Struct

from mkdocs_roaming.answer.results import Offline
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef
from mkdocs_roaming.report.access import AccessReport, load_tables
from mkdocs_roaming.report.groups import Clue, group_questions
from mkdocs_roaming.report.log import Entry, Log
from mkdocs_roaming.search.relevance import MIN_CONFIDENCE
from mkdocs_roaming.text.languages import available_languages, load_words
from mkdocs_roaming.text.tokenizer import extract_terms, parse_words, split_words, stem

_UNANSWERED = ("not_found", "partial")
_FAILED = ("unusable", "refused", "budget", "error")
_MAX_NEAREST = 3
_MAX_WORDS = 8


class SectionInfo(Struct, frozen=True):
    """A section that is near to questions.

    Attributes:
        id: Its id.
        title: The titles above it and its own, empty without a site.
        url: Its address, empty without a site.
        about: Its description, or else its opening.
    """

    id: str
    title: str = ""
    url: str = ""
    about: str = ""


class Asked(Struct, frozen=True):
    """A question, however often it was asked.

    Attributes:
        question: The question.
        count: How often it was asked in the period.
        states: Number of answers by state.
        last: When it was asked last.
        helpful: Number of answers that were rated as helpful.
        unhelpful: Number of answers that were rated as not helpful.
        comments: Comments on its answers.
    """

    question: str
    count: int
    states: dict[str, int]
    last: datetime
    helpful: int = 0
    unhelpful: int = 0
    comments: tuple[str, ...] = ()


class Group(Struct, frozen=True):
    """Questions that ask for the same thing in vain: without an answer, or with one that was rated as not helpful.

    Attributes:
        count: Number of questions in the period.
        before: Number of questions in the period before.
        change: `new`, `grown`, `shrunk` or `gone` against the period before, otherwise empty.
        questions: The questions, those that were asked most often first.
        unhelpful: Number of answers that were rated as not helpful.
        nearest: The sections that match best.
        missing: Which words of the questions the site or the nearest section lacks; empty for none.
    """

    count: int
    before: int
    change: str
    questions: tuple[Asked, ...]
    unhelpful: int
    nearest: tuple[SectionInfo, ...]
    missing: str


class Period(Struct, frozen=True):
    """The questions of a period.

    Attributes:
        since: The time of the first one.
        until: The time of the last one.
        questions: Their number.
        in_vain: Number of those that were asked in vain.
        failed: Number of those that failed.
        aside: Number of greetings, thanks and tests.
        share: Share of the others that a model answered; None if all got results of a search alone.
    """

    since: datetime
    until: datetime
    questions: int
    in_vain: int
    failed: int
    aside: int
    share: float | None


class Report(Struct, frozen=True):
    """A report.

    Attributes:
        site: The name of the site, empty without one.
        period: The questions of the period; None without any.
        before: Those of the period of the same length before it; None without any.
        states: Number of questions by state.
        cached: Number of questions that were answered from the cache.
        helpful: Number of answers that were rated as helpful.
        unhelpful: Number of answers that were rated as not helpful.
        seconds: Median duration of an answer that was not cached.
        cost: Cost of all answers; None if no price is known.
        unpriced: Number of answers of a model without a known price.
        days: Number of questions by day and state, also of days without any.
        groups: What was asked in vain, the heaviest groups first; those that are gone last.
        searched: Questions for which readers got results of the search alone.
        failures: Questions that failed, by cause.
        comments: The questions whose answers readers commented, the newest first.
        rated: The rated questions that are no longer in the log, the newest first.
        skipped: Number of lines of the logs that could not be read.
        access: What agents read, from the web server's log.
    """

    site: str = ""
    period: Period | None = None
    before: Period | None = None
    states: dict[str, int] = {}
    cached: int = 0
    helpful: int = 0
    unhelpful: int = 0
    seconds: float = 0.0
    cost: float | None = None
    unpriced: int = 0
    days: dict[str, dict[str, int]] = {}
    groups: tuple[Group, ...] = ()
    searched: tuple[Asked, ...] = ()
    failures: dict[str, tuple[Asked, ...]] = {}
    comments: tuple[Asked, ...] = ()
    rated: tuple[Asked, ...] = ()
    skipped: int = 0
    access: AccessReport | None = None


def make_report(log: Log, library: Library | None = None, access: AccessReport | None = None) -> Report:
    """Return the report of a log.

    Args:
        log: The questions and ratings.
        library: The site, for titles and nearest sections.
        access: What agents read.
    """
    entries, site = log.entries, library.manifest.site.name if library else ""
    if not entries:
        return Report(site=site, rated=_merge(log.rated, by="last"), skipped=log.skipped, access=access)
    search = Search(library) if library else None
    groups = [_describe_group(group, log, search) for group in _find_gaps((*log.before, *entries), search)]
    return Report(
        site=site,
        period=_count(entries),
        before=_count(log.before) if log.before else None,
        **_measure(entries),
        days=_count_days(entries),
        groups=tuple(sorted(groups, key=lambda group: (-group.count - group.unhelpful, -group.before))),
        searched=_merge(entry for entry in entries if entry.state == "results"),
        failures=_list_failures(entries),
        comments=_merge((entry for entry in entries if entry.comment), by="last"),
        rated=_merge(log.rated, by="last"),
        skipped=log.skipped,
        access=access,
    )


def _count(entries: Sequence[Entry]) -> Period:
    """Return the numbers of a period with questions."""
    asked = [entry for entry in entries if not _is_small_talk(entry)]
    in_vain, failed = sum(map(_is_in_vain, asked)), sum(entry.state in _FAILED for entry in asked)
    by_model = [entry for entry in asked if entry.state != "results" and entry.model != Offline.name]
    share = None
    if by_model:
        share = round(1 - sum(_is_in_vain(one) or one.state in _FAILED for one in by_model) / len(by_model), 4)
    aside = len(entries) - len(asked)
    return Period(entries[0].time, entries[-1].time, len(entries), in_vain, failed, aside, share)


def _measure(entries: Sequence[Entry]) -> dict[str, Any]:
    """Return the figures of the answers."""
    helpful = Counter(entry.helpful for entry in entries)
    costs = [entry.cost for entry in entries if entry.cost is not None]
    return {
        "states": _count_states(entries),
        "cached": sum(entry.cached for entry in entries),
        "helpful": helpful[True],
        "unhelpful": helpful[False],
        "seconds": round(median([entry.seconds for entry in entries if not entry.cached] or [0.0]), 2),
        "cost": round(sum(costs), 4) if costs else None,
        "unpriced": sum(one.cost is None and one.model not in ("", "offline") and not one.cached for one in entries),
    }


def _count_states(entries: Iterable[Entry]) -> dict[str, int]:
    counts = Counter(entry.state for entry in entries)
    return {state: counts[state] for state in (*load_tables()["states"], *sorted(counts)) if counts[state]}


def _count_days(entries: Sequence[Entry]) -> dict[str, dict[str, int]]:
    numbers = range(entries[0].time.toordinal(), entries[-1].time.toordinal() + 1)
    days: dict[str, list[Entry]] = {datetime.fromordinal(number).date().isoformat(): [] for number in numbers}
    for entry in entries:
        days.setdefault(entry.time.date().isoformat(), []).append(entry)
    return {day: _count_states(found) for day, found in days.items()}


# What was asked in vain


def _is_in_vain(entry: Entry) -> bool:
    return entry.state in _UNANSWERED or (entry.state not in _FAILED and entry.helpful is False)


def _find_gaps(entries: Iterable[Entry], search: Search | None) -> list[list[Entry]]:
    """Return groups of the questions that were asked in vain, the most typical ones first."""
    by_text = _group_by_text(entry for entry in entries if _is_in_vain(entry) and not _is_small_talk(entry))
    same = list(by_text.values())
    site = search.library.manifest.site if search else None
    language = site.language if site else next((one[0].language for one in same if one[0].language), "en")
    groups = group_questions([_find_clue(one[0], search) for one in same], language)
    return [[entry for at in group for entry in same[at]] for group in groups]


def _find_clue(entry: Entry, search: Search | None) -> Clue:
    if search is None:
        return entry.text, next(iter(entry.nearest or entry.opened), ""), ()
    is_near = search.confidence(entry.text) >= MIN_CONFIDENCE
    ids = [hit.section.id for hit in search.find(entry.text, limit=int(is_near))]
    return entry.text, "".join(ids), search.find_unknown_words(entry.text)


def _is_small_talk(entry: Entry) -> bool:
    words = {word.casefold() for word in split_words(entry.text)}
    return entry.state not in _FAILED and words <= _load_small_talk()


@cache
def _load_small_talk() -> frozenset[str]:
    lists = ("report.small_talk", "stop_words")
    return frozenset().union(*(load_words(code, name) for code in available_languages() for name in lists))


def _list_failures(entries: Iterable[Entry]) -> dict[str, tuple[Asked, ...]]:
    """Return the questions that failed by cause; many first."""
    found = defaultdict[str, list[Entry]](list)
    for entry in entries:
        if entry.state in _FAILED:
            found[entry.cause or entry.state].append(entry)
    return {cause: _merge(found[cause]) for cause in sorted(found, key=lambda cause: -len(found[cause]))}


def _merge(entries: Iterable[Entry], *, by: str = "count") -> tuple[Asked, ...]:
    """Return equal questions as one, those that were asked most often first, or `last`."""
    found = []
    for same in _group_by_text(entries).values():
        helpful, last = Counter(entry.helpful for entry in same), max(entry.time for entry in same)
        comments = tuple(dict.fromkeys(entry.comment for entry in same if entry.comment))
        states = _count_states(same)
        found.append(Asked(same[0].text, len(same), states, last, helpful[True], helpful[False], comments))
    return tuple(sorted(found, key=attrgetter(by), reverse=True))


def _group_by_text(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    by_text = defaultdict[str, list[Entry]](list)
    for entry in entries:
        by_text[entry.text.casefold()].append(entry)
    return by_text


def _describe_group(entries: Sequence[Entry], log: Log, search: Search | None) -> Group:
    now = [entry for entry in entries if entry.time >= log.entries[0].time]
    count, before = len(now), len(entries) - len(now)
    change = _name_change(count, before) if log.before else ""
    asked = _merge(now or entries)
    texts = [one.question for one in asked]
    nearest = _find_nearest(now or entries, texts[0], search)
    missing = _find_missing(texts, nearest, search) if search else ""
    return Group(count, before, change, asked, sum(one.unhelpful for one in asked), nearest, missing)


def _name_change(count: int, before: int) -> str:
    if not count or not before:
        return "new" if count else "gone"
    return "grown" if count > before else "shrunk" if count < before else ""


def _find_nearest(entries: Iterable[Entry], text: str, search: Search | None) -> tuple[SectionInfo, ...]:
    """Return the best sections for the first question; without a site those that the answers named most often."""
    if search is not None:
        sections = search.library.sections
        return tuple(_describe(sections, hit.section) for hit in search.find(text, limit=_MAX_NEAREST))
    counts = Counter(id_ for one in entries for id_ in one.nearest or one.cited)
    return tuple(SectionInfo(id_) for id_, _ in counts.most_common(_MAX_NEAREST))


def _describe(sections: SectionIndex, section: SectionRef) -> SectionInfo:
    about = section.section.about or section.section.opening
    return SectionInfo(section.id, " › ".join(sections.breadcrumb(section)), sections.url(section), about)


def _find_missing(texts: Sequence[str], nearest: Sequence[SectionInfo], search: Search) -> str:
    """Return a sentence with words of the questions that no section contains, or that the nearest one lacks."""
    absent, language = search.find_unknown_words(" ".join(texts)), search.library.manifest.site.language
    section = search.library.sections.get(nearest[0].id) if nearest else None
    if absent or section is None:
        return f"No section contains {_quote(absent)}." if absent else ""
    known = extract_terms(f"{section.section.title}\n{search.library.text(section)}", language)
    lacking = [name for name in _find_shared_words(texts, language) if stem(name, language) not in known]
    return f"{_quote([section.section.title])} does not contain {_quote(lacking)}." if lacking else ""


def _quote(names: Iterable[str]) -> str:
    return ", ".join(f"“{name}”" for name in names)


def _find_shared_words(texts: Sequence[str], language: str) -> list[str]:
    """Return the words that most of the questions share, at most eight; the words of a single reader are left out."""
    fillers = load_words("en", "search.filler_words")
    words = ({one.whole for one in parse_words(text, language) if not one.stop} - fillers for text in texts)
    counts = Counter(name for names in words for name in names if name.isalpha() and name != "redacted")
    shared = [name for name in counts if counts[name] > 1]
    return sorted(shared, key=lambda name: (-counts[name], name))[:_MAX_WORDS]
