"""What the log of an endpoint says: what was asked in vain, what failed, what changed, and which sections answer."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from itertools import pairwise
from operator import attrgetter
from statistics import median
from typing import Any

import msgspec
import yaml
from msgspec import Struct

from mkdocs_roaming.evals.questions import section_address
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.lint.context import SEVERITIES, Finding
from mkdocs_roaming.manifest.descriptions import PROPOSAL, PageTexts, SectionTexts
from mkdocs_roaming.manifest.lookup import SectionRef
from mkdocs_roaming.report.access import AccessReport, load_tables
from mkdocs_roaming.report.groups import Clue, group_questions
from mkdocs_roaming.report.log import Entry, Log
from mkdocs_roaming.search.relevance import LOW_CONFIDENCE, MIN_CONFIDENCE, NO_ANSWER
from mkdocs_roaming.text.languages import available_languages, load_words
from mkdocs_roaming.text.markdown import escape_markup
from mkdocs_roaming.text.tokenizer import extract_terms, parse_words, split_words, stem

_UNANSWERED = ("not_found", "partial")
_FAILED = ("refused", "budget", "error")
_MAX_NEAREST = 3
_MAX_WORDS = 8
_MIN_OPENED = 3
"""Number of openings from which a section that is never cited is reported."""
_MIN_ASKED = 3
"""Number of questions from which words that the site lacks entirely are a gap instead of off-topic."""


class SectionInfo(Struct, frozen=True):
    """A section with a number of questions.

    Attributes:
        id: Its id.
        title: The titles above it and its own, empty without a site.
        url: Its address, empty without a site.
        count: Number of questions.
        about: Its description, or else its opening.
    """

    id: str
    title: str = ""
    url: str = ""
    count: int = 0
    about: str = ""


class PageInfo(Struct, frozen=True):
    """A page that readers asked from: its path, title, questions, and those without an answer."""

    path: str
    title: str
    count: int
    unanswered: int


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
        after: Number of questions since the last deployment; None if it is not known.
        change: `new`, `grown`, `shrunk` or `gone` against the period before, otherwise empty.
        questions: The questions, those that were asked most often first.
        unhelpful: Number of answers that were rated as not helpful.
        nearest: The sections that match best.
        missing: Which words of the questions the site or the nearest section lacks; empty for none.
        finding: What the linter says about the nearest sections, with its advice; empty for nothing.
        entry: An entry for a question file of `roaming eval`, as YAML, to be checked by a person.
        issue: The text of an issue as Markdown, its title first.
        description: An entry for the file of descriptions, with words that questions share, to be reworded by a person.
    """

    count: int
    before: int
    after: int | None
    change: str
    questions: tuple[Asked, ...]
    unhelpful: int
    nearest: tuple[SectionInfo, ...]
    missing: str
    finding: str
    entry: str
    issue: str
    description: str = ""


class Period(Struct, frozen=True):
    """The questions of a period.

    Attributes:
        since: The time of the first one.
        until: The time of the last one.
        questions: Their number.
        in_vain: Number of those that were asked in vain.
        failed: Number of those that failed.
        aside: Number of those that are not about the site.
        share: Share of the others that were answered.
    """

    since: datetime
    until: datetime
    questions: int
    in_vain: int
    failed: int
    aside: int
    share: float


class Report(Struct, frozen=True):
    """A report.

    Attributes:
        site: The name of the site, empty without one.
        period: The questions of the period; None without any.
        before: Those of the period of the same length before it; None without any.
        deployment: The questions of the logs until the last deployment, and those since then, if there is one.
        states: Number of questions by state.
        cached: Number of questions that were answered from the cache.
        helpful: Number of answers that were rated as helpful.
        unhelpful: Number of answers that were rated as not helpful.
        seconds: Median duration of an answer that was not cached.
        cost: Cost of all answers; None if no price is known.
        unpriced: Number of answers of a model without a known price.
        days: Number of questions by day and state, also of days without any.
        groups: What was asked in vain, the heaviest groups first; those that are gone last.
        failures: Questions that failed, by cause.
        asides: Questions that are not ranked: `small_talk`, `off_topic`, and those in another `language`.
        comments: The questions whose answers readers commented, the newest first.
        rated: The rated questions that are no longer in the log, the newest first.
        cited: The sections that were cited most.
        never_cited: The sections that were opened often and cited in no answer.
        pages: The pages that readers asked from.
        skipped: Number of lines of the logs that could not be read.
        access: What agents read, from the web server's log.
    """

    site: str = ""
    period: Period | None = None
    before: Period | None = None
    deployment: tuple[Period, ...] = ()
    states: dict[str, int] = {}
    cached: int = 0
    helpful: int = 0
    unhelpful: int = 0
    seconds: float = 0.0
    cost: float | None = None
    unpriced: int = 0
    days: dict[str, dict[str, int]] = {}
    groups: tuple[Group, ...] = ()
    failures: dict[str, tuple[Asked, ...]] = {}
    asides: dict[str, tuple[Asked, ...]] = {}
    comments: tuple[Asked, ...] = ()
    rated: tuple[Asked, ...] = ()
    cited: tuple[SectionInfo, ...] = ()
    never_cited: tuple[SectionInfo, ...] = ()
    pages: tuple[PageInfo, ...] = ()
    skipped: int = 0
    access: AccessReport | None = None


def make_report(
    log: Log, library: Library | None = None, findings: Sequence[Finding] = (), access: AccessReport | None = None
) -> Report:
    """Return the report of a log.

    Args:
        log: The questions and ratings.
        library: The site, for titles and nearest sections.
        findings: The findings of the linter.
        access: What agents read.
    """
    entries, site = log.entries, library.manifest.site.name if library else ""
    if not entries:
        return Report(site=site, rated=_merge(log.rated, by="last"), skipped=log.skipped, access=access)
    search = Search(library) if library else None
    triage = _Triage(log, search)
    all_ = (*log.before, *entries)
    deployed = _find_deployment(all_)
    groups = [_describe_group(group, log, search, findings, deployed) for group in triage.gaps]
    asked = triage.leave_out_asides(entries)
    cited, opened = _count_ids(one.cited for one in asked), _count_ids(one.opened for one in asked)
    return Report(
        site=site,
        period=triage.count(entries),
        before=triage.count(log.before) if log.before else None,
        deployment=tuple(map(triage.count, _split(all_, deployed))),
        **_measure(entries),
        days=_count_days(entries),
        groups=tuple(sorted(groups, key=lambda group: (-group.count - group.unhelpful, -group.before))),
        failures=_set_aside(entries, lambda entry: (entry.cause or entry.state) if entry.state in _FAILED else ""),
        asides=_set_aside(entries, lambda entry: triage.asides.get(id(entry), "")),
        comments=_merge((entry for entry in entries if entry.comment), by="last"),
        rated=_merge(log.rated, by="last"),
        cited=_rank_sections(cited, search),
        never_cited=_rank_sections(Counter({id_: opened[id_] for id_ in opened.keys() - cited}), search, _MIN_OPENED),
        pages=_rank_pages(entries, search),
        skipped=log.skipped,
        access=access,
    )


def _split(entries: Sequence[Entry], deployed: datetime | None) -> Iterable[Sequence[Entry]]:
    """Return the questions until a deployment, and those since then."""
    parts = ([one for one in entries if deployed and (one.time >= deployed) is is_since] for is_since in (False, True))
    return filter(None, parts)


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


def _count_ids(lists: Iterable[Sequence[str]]) -> Counter[str]:
    """Return how many of the lists contain an id."""
    return Counter(id_ for ids in lists for id_ in set(ids))


def _count_days(entries: Sequence[Entry]) -> dict[str, dict[str, int]]:
    numbers = range(entries[0].time.toordinal(), entries[-1].time.toordinal() + 1)
    days: dict[str, list[Entry]] = {datetime.fromordinal(number).date().isoformat(): [] for number in numbers}
    for entry in entries:
        days.setdefault(entry.time.date().isoformat(), []).append(entry)
    return {day: _count_states(found) for day, found in days.items()}


def _find_deployment(entries: Iterable[Entry]) -> datetime | None:
    """Return when the digest of a site has changed last. Each language is a site of its own."""
    pairs = pairwise(sorted((entry for entry in entries if entry.site), key=lambda entry: entry.language))
    changes = (new for old, new in pairs if old.language == new.language and old.site != new.site)
    return max((entry.time for entry in changes), default=None)


# What was asked in vain: gaps in groups, and what is set aside


def _is_in_vain(entry: Entry) -> bool:
    return entry.state in _UNANSWERED or (entry.state not in _FAILED and entry.helpful is False)


class _Triage:
    """Tells gaps of the documentation from greetings, off-topic questions, and those in another language.

    Attributes:
        gaps: The questions of each group, the most typical ones first; those of the period before included.
        asides: The kind of each other question, by the identity of its entry.
    """

    def __init__(self, log: Log, search: Search | None) -> None:
        self._search = search
        all_ = (*log.before, *log.entries)
        self.asides = dict.fromkeys(map(id, filter(_is_small_talk, all_)), "small_talk")
        by_text = _group_by_text(filter(_is_in_vain, self.leave_out_asides(all_)))
        kinds = {text: self._classify(text) for text in by_text}
        groups = self._group({text: same[0] for text, same in by_text.items() if kinds[text] in ("", "off_topic")})
        for group in groups:
            if sum(len(by_text[text]) for text in group) >= _MIN_ASKED or not all(map(kinds.get, group)):
                kinds |= dict.fromkeys(group, "")
        self.gaps = [[one for text in group for one in by_text[text]] for group in groups if not kinds[group[0]]]
        self.asides |= {id(one): kind for text, kind in kinds.items() if kind for one in by_text[text]}

    def count(self, entries: Sequence[Entry]) -> Period:
        """Return the numbers of a period with questions."""
        about_site = self.leave_out_asides(entries)
        aside, in_vain = len(entries) - len(about_site), sum(map(_is_in_vain, about_site))
        failed = sum(entry.state in _FAILED for entry in entries)
        share = 1 - (in_vain + failed) / max(len(about_site), 1)
        return Period(entries[0].time, entries[-1].time, len(entries), in_vain, failed, aside, round(share, 4))

    def leave_out_asides(self, entries: Iterable[Entry]) -> list[Entry]:
        """Return the questions about the site."""
        return [entry for entry in entries if id(entry) not in self.asides]

    def _classify(self, text: str) -> str:
        """Return the kind of a question that is no gap, otherwise an empty string."""
        if self._search is None:
            return ""
        if self._search.judge(text) not in ("", NO_ANSWER):
            return "language"
        is_unknown = bool(self._search.find_unknown_words(text)) or not self._search.find(text, limit=1)
        return "off_topic" if is_unknown and self._search.confidence(text) < LOW_CONFIDENCE else ""

    def _group(self, asked: Mapping[str, Entry]) -> list[list[str]]:
        site = self._search.library.manifest.site if self._search else None
        language = site.language if site else next((one.language for one in asked.values() if one.language), "en")
        texts, clues = list(asked), [self._find_clue(entry) for entry in asked.values()]
        return [[texts[at] for at in group] for group in group_questions(clues, language)]

    def _find_clue(self, entry: Entry) -> Clue:
        if self._search is None:
            return entry.text, next(iter(entry.nearest or entry.opened), ""), ()
        is_near = self._search.confidence(entry.text) >= MIN_CONFIDENCE
        ids = [hit.section.id for hit in self._search.find(entry.text, limit=int(is_near))]
        return entry.text, "".join(ids), self._search.find_unknown_words(entry.text)


def _is_small_talk(entry: Entry) -> bool:
    words = {word.casefold() for word in split_words(entry.text)}
    return entry.state not in _FAILED and words <= _load_small_talk()


@cache
def _load_small_talk() -> frozenset[str]:
    lists = ("report.small_talk", "stop_words")
    return frozenset().union(*(load_words(code, name) for code in available_languages() for name in lists))


def _set_aside(entries: Iterable[Entry], classify: Callable[[Entry], str]) -> dict[str, tuple[Asked, ...]]:
    """Return the questions that have a kind, by it; many first."""
    found = defaultdict[str, list[Entry]](list)
    for entry in entries:
        found[classify(entry)].append(entry)
    return {kind: _merge(found[kind]) for kind in sorted(found, key=lambda kind: -len(found[kind])) if kind}


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


def _describe_group(
    entries: Sequence[Entry], log: Log, search: Search | None, findings: Sequence[Finding], deployed: datetime | None
) -> Group:
    now = [entry for entry in entries if entry.time >= log.entries[0].time]
    count, before = len(now), len(entries) - len(now)
    after = sum(entry.time >= deployed for entry in now) if deployed else None
    change = _name_change(count, before) if log.before else ""
    asked = _merge(now or entries)
    unhelpful = sum(one.unhelpful for one in asked)
    texts = [one.question for one in asked]
    nearest = _find_nearest(now or entries, texts[0], search)
    section = search.library.sections.get(nearest[0].id) if search and nearest else None
    missing = _find_missing(texts, section, search) if search else ""
    finding = _choose_finding([section.id for section in nearest], findings)
    entry, issue = _make_entry(texts[0], section, search), _make_issue(asked, nearest, missing)
    text = _make_description(texts, section, search)
    return Group(count, before, after, change, asked, unhelpful, nearest, missing, finding, entry, issue, text)


def _name_change(count: int, before: int) -> str:
    if not count or not before:
        return "new" if count else "gone"
    return "grown" if count > before else "shrunk" if count < before else ""


def _find_nearest(entries: Sequence[Entry], text: str, search: Search | None) -> tuple[SectionInfo, ...]:
    """Return the best sections for the first question; without a site those that the answers named most often."""
    if search is not None and (hits := search.find(text, limit=_MAX_NEAREST)):
        return tuple(_describe(search, hit.section, hit.section.id) for hit in hits)
    return _rank_sections(Counter(id_ for one in entries for id_ in one.nearest or one.cited), search)[:_MAX_NEAREST]


def _find_missing(texts: Sequence[str], section: SectionRef | None, search: Search) -> str:
    """Return a sentence with words of the questions that no section contains, or that the nearest one lacks."""
    absent, language = search.find_unknown_words(" ".join(texts)), search.library.manifest.site.language
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


def _choose_finding(ids: Sequence[str], findings: Sequence[Finding]) -> str:
    """Return the most severe finding about the sections, those of the first section first."""
    about = [finding for finding in findings if finding.section in ids]
    best = min(about, key=lambda one: (SEVERITIES.index(one.severity), ids.index(one.section)), default=None)
    return f"{' › '.join(best.breadcrumb)}: {best.message} {best.fix}" if best else ""


def _make_entry(question: str, section: SectionRef | None, search: Search | None) -> str:
    """Return an entry for a question file; the right section is a guess."""
    guess: dict[str, object] = {"answerable": False}
    if search is not None and section is not None:
        guess = {"sections": [section_address(section, search.library.sections)]}
    return str(yaml.safe_dump([{"ask": question, **guess}], allow_unicode=True, sort_keys=False, width=120))


def _make_issue(asked: Sequence[Asked], nearest: Sequence[SectionInfo], missing: str) -> str:
    """Return the text of an issue, its title first. Readers' words are code, so that they mention and link nothing."""
    questions = "\n".join(f"{one.count:>3} × {one.question}" for one in asked)
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", questions)), default=0))
    sections = "\n".join(f"- [{escape_markup(one.title or one.id)}](<{one.url}>)" for one in nearest) or "none"
    parts = {"title": asked[0].question, "fence": fence, "questions": questions, "sections": sections}
    return str(load_tables()["issue"]).format(**parts, missing=escape_markup(missing) or "not known")


def _make_description(texts: Sequence[str], section: SectionRef | None, search: Search | None) -> str:
    """Return an entry of the nearest section with words that several questions share."""
    shared = _find_shared_words(texts, search.library.manifest.site.language) if search else []
    if section is None or not shared:
        return ""
    asks = (f"{PROPOSAL} {', '.join(shared)}",)
    entry = PageTexts(sections={section.id: SectionTexts(section.section.title, section.section.body, asks=asks)})
    return msgspec.json.encode({section.page.path: entry}).decode()[1:-1]


# Sections and pages


def _describe(search: Search | None, section: SectionRef | None, id_: str, count: int = 0) -> SectionInfo:
    if search is None or section is None:
        return SectionInfo(id_, count=count)
    sections, about = search.library.sections, section.section.about or section.section.opening
    return SectionInfo(section.id, " › ".join(sections.breadcrumb(section)), sections.url(section), count, about)


def _rank_sections(counts: Counter[str], search: Search | None, least: int = 1) -> tuple[SectionInfo, ...]:
    """Return the sections that still exist and are counted often enough, most counted first."""
    ranked = sorted(
        ((id_, count) for id_, count in counts.items() if count >= least), key=lambda pair: (-pair[1], pair[0])
    )
    found = ((search.library.sections.get(id_) if search else None, id_, count) for id_, count in ranked)
    return tuple(_describe(search, ref, id_, count) for ref, id_, count in found if search is None or ref is not None)


def _rank_pages(entries: Sequence[Entry], search: Search | None) -> tuple[PageInfo, ...]:
    by_page = defaultdict[tuple[str, str], list[bool]](list)
    for entry in (entry for entry in entries if entry.page):
        section = search.library.sections.resolve(entry.page) if search else None
        page = (section.page.path, section.page.title) if section else (entry.page, "")
        by_page[page].append(entry.state in _UNANSWERED)
    found = (PageInfo(*page, len(all_), sum(all_)) for page, all_ in by_page.items())
    return tuple(sorted(found, key=lambda page: (-page.count, page.path)))
