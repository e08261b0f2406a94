"""What the log of an endpoint says: states, ratings, cost, unanswered questions in groups, and sections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from statistics import median

import yaml
from msgspec import Struct

from mkdocs_roaming.library.library import Library
from mkdocs_roaming.lint.context import SEVERITIES, Finding
from mkdocs_roaming.manifest.lookup import SectionRef
from mkdocs_roaming.report.entries import Entry, Log
from mkdocs_roaming.report.groups import group_questions

STATES = ("answered", "partial", "passages", "not_found", "refused", "budget", "error")
"""In the order of tables and plots."""

_UNANSWERED = ("not_found", "partial")
_MAX_GROUPS = 25
_MAX_EXAMPLES = 5
_MAX_SECTIONS = 3
_MAX_ROWS = 12
_MIN_OPENED = 3
"""Number of openings from which a section that is never cited is reported."""


class SectionInfo(Struct, frozen=True):
    """A section with a number of questions.

    Attributes:
        id: Its id.
        title: The titles above it and its own, empty without a site.
        url: Its address, empty without a site.
        count: Number of questions.
    """

    id: str
    title: str = ""
    url: str = ""
    count: int = 0


class PageInfo(Struct, frozen=True):
    """A page that readers asked from: its path, title, questions, and those without an answer."""

    path: str
    title: str
    count: int
    unanswered: int


class Group(Struct, frozen=True):
    """Questions without an answer, or with one that was rated as not helpful, that ask for the same thing.

    Attributes:
        count: Number of questions.
        questions: Examples, the most typical one first.
        states: Number of questions by state.
        unhelpful: Number of questions whose answer was rated as not helpful.
        last: When it was asked last.
        nearest: The sections that are nearest.
        finding: What the linter says about them, with its advice; empty for nothing.
        entry: An entry for a question file of `roaming eval`, as YAML, to be checked by a person.
    """

    count: int
    questions: tuple[str, ...]
    states: dict[str, int]
    unhelpful: int
    last: datetime
    nearest: tuple[SectionInfo, ...]
    finding: str
    entry: str


class Day(Struct, frozen=True):
    """The number of questions of a day by state."""

    date: str
    states: dict[str, int]


class Report(Struct, frozen=True):
    """A report.

    Attributes:
        site: The name of the site, empty without one.
        since: When the first question was asked; None without questions.
        until: When the last one was.
        questions: Number of questions.
        states: Number of questions by state.
        cached: Number of questions that were answered from the cache.
        helpful: Number of answers that were rated as helpful.
        unhelpful: Number of answers that were rated as not helpful.
        seconds: Median duration of an answer that was not cached.
        cost: Cost of all answers; None if no price is known.
        unpriced: Number of answers of a model without a known price.
        days: Questions by day, also of days without any.
        groups: Questions without an answer, the largest groups first.
        more_groups: Number of further groups.
        cited: The sections that were cited most.
        never_cited: The sections that were opened often and cited in no answer.
        pages: The pages that readers asked from.
        comments: Comments of ratings, the newest first.
        skipped: Number of lines of the logs that could not be read.
    """

    site: str
    since: datetime | None
    until: datetime | None
    questions: int
    states: dict[str, int]
    cached: int
    helpful: int
    unhelpful: int
    seconds: float
    cost: float | None
    unpriced: int
    days: tuple[Day, ...]
    groups: tuple[Group, ...]
    more_groups: int
    cited: tuple[SectionInfo, ...]
    never_cited: tuple[SectionInfo, ...]
    pages: tuple[PageInfo, ...]
    comments: tuple[str, ...]
    skipped: int

    @property
    def satisfaction(self) -> float | None:
        """Share of the ratings that are helpful; None without ratings."""
        rated = self.helpful + self.unhelpful
        return self.helpful / rated if rated else None


FindFindings = Callable[[], Sequence[Finding]]


def make_report(log: Log, library: Library | None = None, find_findings: FindFindings | None = None) -> Report:
    """Return the report of a log.

    Args:
        log: The questions and ratings.
        library: The site, for titles and nearest sections.
        find_findings: Returns the findings of the linter; called if there are groups.
    """
    entries = log.entries
    groups = _group(log, library)
    findings = find_findings() if find_findings and groups else ()
    paid = [entry for entry in entries if entry.model not in ("", "offline") and not entry.cached]
    costs = [entry.cost for entry in entries if entry.cost is not None]
    durations = [entry.seconds for entry in entries if not entry.cached]
    ratings = [log.ratings[entry.turn].helpful for entry in entries if entry.turn in log.ratings]
    comments = sorted((log.ratings[entry.turn] for entry in entries if entry.turn in log.ratings), key=lambda r: r.time)
    return Report(
        site=library.manifest.site.name if library else "",
        since=entries[0].time if entries else None,
        until=entries[-1].time if entries else None,
        questions=len(entries),
        states=_count_states(entries),
        cached=sum(entry.cached for entry in entries),
        helpful=ratings.count(True),
        unhelpful=ratings.count(False),
        seconds=round(median(durations), 2) if durations else 0.0,
        cost=round(sum(costs), 4) if costs else None,
        unpriced=sum(entry.cost is None for entry in paid),
        days=_count_days(entries),
        groups=tuple(_describe_group(group, log, library, findings) for group in groups[:_MAX_GROUPS]),
        more_groups=max(0, len(groups) - _MAX_GROUPS),
        cited=_rank_sections(Counter(id_ for entry in entries for id_ in set(entry.cited)), library),
        never_cited=_find_never_cited(entries, library),
        pages=_rank_pages(entries, library),
        comments=tuple(dict.fromkeys(one.comment for one in reversed(comments) if one.comment))[:_MAX_ROWS],
        skipped=log.skipped,
    )


def _count_states(entries: Iterable[Entry]) -> dict[str, int]:
    counts = Counter(entry.state for entry in entries)
    return {state: counts[state] for state in (*STATES, *sorted(set(counts) - {*STATES})) if counts[state]}


def _count_days(entries: Sequence[Entry]) -> tuple[Day, ...]:
    if not entries:
        return ()
    by_day: dict[int, list[Entry]] = {}
    for entry in entries:
        by_day.setdefault(entry.time.toordinal(), []).append(entry)
    days = range(min(by_day), max(by_day) + 1)
    return tuple(Day(datetime.fromordinal(day).date().isoformat(), _count_states(by_day.get(day, ()))) for day in days)


# Groups


def _is_unanswered(entry: Entry, log: Log) -> bool:
    rating = log.ratings.get(entry.turn)
    return entry.state in _UNANSWERED or (rating is not None and rating.helpful is False)


def _group(log: Log, library: Library | None) -> list[list[Entry]]:
    entries = [entry for entry in log.entries if entry.question.strip() and _is_unanswered(entry, log)]
    language = library.manifest.site.language if library else next((e.language for e in entries if e.language), "en")
    found = [entry.nearest or entry.opened for entry in entries]
    groups = group_questions([entry.question for entry in entries], found, language)
    return [[entries[position] for position in group] for group in groups]


def _describe_group(entries: Sequence[Entry], log: Log, library: Library | None, findings: Sequence[Finding]) -> Group:
    questions = tuple(dict.fromkeys(" ".join(entry.question.split()) for entry in entries))
    nearest = _find_nearest(entries, questions[0], library)
    ratings = [log.ratings[entry.turn].helpful for entry in entries if entry.turn in log.ratings]
    return Group(
        count=len(entries),
        questions=questions[:_MAX_EXAMPLES],
        states=_count_states(entries),
        unhelpful=ratings.count(False),
        last=max(entry.time for entry in entries),
        nearest=nearest,
        finding=_choose_finding([section.id for section in nearest], findings),
        entry=_make_entry(questions[0], nearest, library),
    )


def _find_nearest(entries: Sequence[Entry], question: str, library: Library | None) -> tuple[SectionInfo, ...]:
    """Return the sections that the answers named instead, most often named first; without any those that are found."""
    counts = Counter(id_ for entry in entries for id_ in entry.nearest or entry.cited)
    sections = _rank_sections(counts, library)[:_MAX_SECTIONS]
    if sections or library is None:
        return sections
    return tuple(_describe(library, library.sections.get(hit.id), hit.id) for hit in library.search(question, limit=3))


def _choose_finding(ids: Sequence[str], findings: Sequence[Finding]) -> str:
    """Return the most severe finding about the sections, those of the first section first."""
    about = [finding for finding in findings if finding.section in ids]
    best = min(about, key=lambda one: (SEVERITIES.index(one.severity), ids.index(one.section)), default=None)
    return f"{' › '.join(best.breadcrumb)}: {best.message} {best.fix}" if best else ""


def _make_entry(question: str, nearest: Sequence[SectionInfo], library: Library | None) -> str:
    """Return an entry for a question file; the right section is a guess."""
    section = library.sections.get(nearest[0].id) if library and nearest else None
    entry: dict[str, object] = {"ask": question}
    if section:
        entry["sections"] = [_format_address(section)]
    else:
        entry["answerable"] = False
    text: str = yaml.safe_dump([entry], allow_unicode=True, sort_keys=False, width=120)
    return text


def _format_address(section: SectionRef) -> str:
    if section.section.anchor:
        return f"{section.page.path}#{section.section.anchor}"
    return section.page.path if section.position == 0 and section.page.path else section.id


# Sections and pages


def _describe(library: Library | None, section: SectionRef | None, id_: str, count: int = 0) -> SectionInfo:
    if library is None or section is None:
        return SectionInfo(id_, count=count)
    title = " › ".join(library.sections.breadcrumb(section))
    return SectionInfo(section.id, title, library.sections.url(section), count)


def _rank_sections(counts: Counter[str], library: Library | None) -> tuple[SectionInfo, ...]:
    """Return the sections that still exist, most counted first."""
    found: list[SectionInfo] = []
    for id_, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])):
        section = library.sections.get(id_) if library else None
        if library is None or section is not None:
            found.append(_describe(library, section, id_, count))
    return tuple(found[:_MAX_ROWS])


def _find_never_cited(entries: Sequence[Entry], library: Library | None) -> tuple[SectionInfo, ...]:
    opened = Counter(id_ for entry in entries for id_ in set(entry.opened))
    cited = {id_ for entry in entries for id_ in entry.cited}
    often = Counter({id_: count for id_, count in opened.items() if count >= _MIN_OPENED and id_ not in cited})
    return _rank_sections(often, library)


def _rank_pages(entries: Sequence[Entry], library: Library | None) -> tuple[PageInfo, ...]:
    counts: Counter[str] = Counter()
    unanswered: Counter[str] = Counter()
    titles: dict[str, str] = {}
    for entry in entries:
        if not entry.page:
            continue
        section = library.sections.resolve(entry.page) if library else None
        path = section.page.path if section else entry.page
        titles[path] = section.page.title if section else ""
        counts[path] += 1
        unanswered[path] += entry.state in _UNANSWERED
    ranked = sorted(counts, key=lambda path: (-counts[path], path))[:_MAX_ROWS]
    return tuple(PageInfo(path, titles[path], counts[path], unanswered[path]) for path in ranked)
