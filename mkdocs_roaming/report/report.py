"""What the log of an endpoint says: states, ratings, cost, unanswered questions in groups, and sections."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from math import log, sqrt
from pathlib import Path
from statistics import median
from typing import TypeVar

import msgspec
import yaml
from msgspec import Struct

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.evals.questions import section_address
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.lint.context import SEVERITIES, Finding
from mkdocs_roaming.manifest.descriptions import PROPOSAL, PageTexts, SectionTexts
from mkdocs_roaming.manifest.lookup import SectionRef
from mkdocs_roaming.text.languages import load_words
from mkdocs_roaming.text.tokenizer import parse_words

T = TypeVar("T")

STATES = ("answered", "partial", "results", "not_found", "refused", "budget", "error")
"""In the order of tables and plots."""

_UNANSWERED = ("not_found", "partial")
_MAX_GROUPS = 25
_MAX_EXAMPLES = 5
_MAX_SECTIONS = 3
_MAX_ROWS = 12
_MIN_OPENED = 3
"""Number of openings from which a section that is never cited is reported."""


_AGE = re.compile(r"(\d{1,4})\s*([hdw])")
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}


# The logs: questions, and the ratings that belong to them


class Entry(Struct, frozen=True):
    """A question of the log.

    Attributes:
        time: When it was asked.
        question: Its text, without what looks like a secret.
        page: The page that the reader was on.
        language: The language of the site.
        state: How the answer ended, see `events.AnswerState`.
        model: The model that answered.
        opened: The ids of the opened sections.
        cited: The ids of the cited sections.
        nearest: The ids of the sections that were shown instead of an answer.
        cost: The cost of the answer; None if the prices are not known.
        seconds: Duration of the answer.
        cached: Whether it was answered from the cache.
        turn: A hash, which is that of its rating.
    """

    time: datetime
    question: str
    page: str = ""
    language: str = ""
    state: str = ""
    model: str = ""
    opened: tuple[str, ...] = ()
    cited: tuple[str, ...] = ()
    nearest: tuple[str, ...] = ()
    cost: float | None = None
    seconds: float = 0.0
    cached: bool = False
    turn: str = ""

    @property
    def is_unpriced(self) -> bool:
        """Whether the cost is not known, although a language model answered."""
        return self.cost is None and self.model not in ("", "offline") and not self.cached


class Rating(Struct, frozen=True):
    """A reader's opinion of an answer."""

    time: datetime
    helpful: bool | None = None
    comment: str = ""
    turn: str = ""


class Log(Struct, frozen=True):
    """The questions of a period.

    Attributes:
        entries: The questions, oldest first.
        ratings: The last rating of each answer by the hash of its turn.
        skipped: Number of lines that could not be read.
    """

    entries: tuple[Entry, ...]
    ratings: dict[str, Rating]
    skipped: int = 0

    def find_ratings(self, entries: Iterable[Entry]) -> list[Rating]:
        """Return the ratings of some questions."""
        return [self.ratings[entry.turn] for entry in entries if entry.turn in self.ratings]


def read_log(questions: Path, ratings: Path | None = None, *, since: datetime | None = None) -> Log:
    """Read the logs with their rotated files.

    Args:
        questions: The `question_log` of an endpoint.
        ratings: Its `feedback_log`.
        since: Older lines are left out.

    Raises:
        UsageError: A file cannot be read, or the first one contains no question.
    """
    entries, skipped = _read_lines(questions, Entry)
    if not entries and skipped:
        raise UsageError(f"{questions}: no line is a question of an endpoint's question_log")
    rated, skipped_ratings = _read_lines(ratings, Rating) if ratings else ([], 0)
    kept = sorted((entry for entry in entries if since is None or entry.time >= since), key=lambda entry: entry.time)
    last = {rating.turn: rating for rating in sorted(rated, key=lambda rating: rating.time) if rating.turn}
    return Log(tuple(kept), last, skipped + skipped_ratings)


def parse_since(text: str, now: datetime) -> datetime:
    """Return the time that a period or a date means: `7d`, `24h`, `2w` or `2026-11-01`.

    Raises:
        UsageError: It is neither.
    """
    if age := _AGE.fullmatch(text.strip()):
        return now - timedelta(**{_UNITS[age[2]]: int(age[1])})
    try:
        time = datetime.fromisoformat(text.strip())
    except ValueError:
        raise UsageError(f"--since {text}: neither a period, such as 7d, nor a date, such as 2026-11-01") from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _read_lines(path: Path, kind: type[T]) -> tuple[list[T], int]:
    """Return the lines of a log and of its rotated files, and the number of those of another form."""
    found: list[T] = []
    skipped = 0
    decoder = msgspec.json.Decoder(kind)
    for line in _iter_lines(path):
        try:
            found.append(decoder.decode(line))
        except msgspec.DecodeError:
            skipped += bool(line.strip())
    return found, skipped


def _iter_lines(path: Path) -> Iterator[bytes]:
    rotated = sorted(path.parent.glob(f"{path.name}.[0-9]*"), key=lambda file: int(file.suffix[1:]), reverse=True)
    try:
        for file in (*rotated, path):
            yield from file.read_bytes().split(b"\n")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}); name the question_log of the endpoint") from None


# Groups of questions that ask for the same thing
#
# Two questions are similar if they share rare words, or if search found the same sections for them. Each question is a
# vector of its stems and of the ids of these sections, weighted by rarity, and joins the group whose mean is nearest.

MIN_SIMILARITY = 0.45
"""Minimum cosine of a question and the mean of its group."""

_SECTION_WEIGHT = 0.4
_PASSES = 2

Vector = Mapping[str, float]


def group_questions(
    questions: Sequence[str], sections: Sequence[Sequence[str]], language: str = "en"
) -> list[list[int]]:
    """Return the positions of the questions in each group, the most central question first; large groups first.

    Args:
        questions: The questions.
        sections: The ids of the sections that search found for each, best first.
        language: The language of the site.
    """
    features = [_read_features(*pair, language) for pair in zip(questions, sections, strict=True)]
    vectors = _make_vectors(features)
    groups = _cluster(vectors, [])
    for _ in range(_PASSES):
        groups = _cluster(vectors, [_sum(vectors[position] for position in group) for group in groups])
    for group in groups:
        center = _sum(vectors[position] for position in group)
        group.sort(key=lambda position: (-_dot(vectors[position], center), position))
    return sorted(groups, key=lambda group: (-len(group), min(group)))


def _cluster(vectors: Sequence[Vector], centers: Sequence[Vector]) -> list[list[int]]:
    """Return the positions of the vectors that are near the same center; vectors that are near none become centers."""
    members: list[list[int]] = [[] for _ in centers]
    sums = list(centers)
    for position, vector in enumerate(vectors):
        nearest = max(range(len(sums)), key=lambda at: _cosine(vector, sums[at]), default=None)
        if nearest is None or _cosine(vector, sums[nearest]) < MIN_SIMILARITY:
            members.append([position])
            sums.append(vector)
            continue
        members[nearest].append(position)
        if nearest >= len(centers):
            sums[nearest] = _sum((sums[nearest], vector))
    return [group for group in members if group]


def _read_features(question: str, sections: Sequence[str], language: str) -> Counter[str]:
    fillers = load_words("en", "search.filler_words")
    words = [word for word in parse_words(question, language) if not word.stop and word.text.lower() not in fillers]
    features = Counter(part for word in words for part in set(word.parts))
    features.update(f"§{id_}" for id_ in sections[:2])
    return features


def _make_vectors(features: Sequence[Counter[str]]) -> list[Vector]:
    """Return unit vectors, weighted by rarity."""
    counts = Counter(name for each in features for name in each)
    vectors: list[Vector] = []
    for each in features:
        vector = {
            name: log(1 + len(features) / counts[name]) * (_SECTION_WEIGHT if name.startswith("§") else 1.0)
            for name in each
        }
        length = sqrt(_dot(vector, vector)) or 1.0
        vectors.append({name: weight / length for name, weight in vector.items()})
    return vectors


def _sum(vectors: Iterable[Vector]) -> Vector:
    total: dict[str, float] = {}
    for vector in vectors:
        for name, weight in vector.items():
            total[name] = total.get(name, 0.0) + weight
    return total


def _cosine(unit: Vector, other: Vector) -> float:
    product = _dot(unit, other)
    return product / sqrt(_dot(other, other)) if product else 0.0


def _dot(one: Vector, other: Vector) -> float:
    return sum(weight * other.get(name, 0.0) for name, weight in one.items())


# The report


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
        description: An entry for the file of descriptions, with words that questions share, to be reworded by a person.
    """

    count: int
    questions: tuple[str, ...]
    states: dict[str, int]
    unhelpful: int
    last: datetime
    nearest: tuple[SectionInfo, ...]
    finding: str
    entry: str
    description: str = ""


class Day(Struct, frozen=True):
    """The number of questions of a day by state."""

    date: str
    states: dict[str, int]

    @property
    def total(self) -> int:
        """Number of questions."""
        return sum(self.states.values())


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

    site: str = ""
    since: datetime | None = None
    until: datetime | None = None
    questions: int = 0
    states: dict[str, int] = {}
    cached: int = 0
    helpful: int = 0
    unhelpful: int = 0
    seconds: float = 0.0
    cost: float | None = None
    unpriced: int = 0
    days: tuple[Day, ...] = ()
    groups: tuple[Group, ...] = ()
    more_groups: int = 0
    cited: tuple[SectionInfo, ...] = ()
    never_cited: tuple[SectionInfo, ...] = ()
    pages: tuple[PageInfo, ...] = ()
    comments: tuple[str, ...] = ()
    skipped: int = 0

    @property
    def satisfaction(self) -> float | None:
        """Share of the ratings that are helpful; None without ratings."""
        return self.helpful / self.rated if self.rated else None

    @property
    def rated(self) -> int:
        """Number of ratings."""
        return self.helpful + self.unhelpful


FindFindings = Callable[[], Sequence[Finding]]


def make_report(log: Log, library: Library | None = None, find_findings: FindFindings = tuple) -> Report:
    """Return the report of a log.

    Args:
        log: The questions and ratings.
        library: The site, for titles and nearest sections.
        find_findings: Returns the findings of the linter; called if there are groups.
    """
    entries = log.entries
    site = library.manifest.site.name if library else ""
    if not entries:
        return Report(site=site, skipped=log.skipped)
    groups = _group(log, library)
    findings = find_findings() if groups else ()
    durations = [entry.seconds for entry in entries if not entry.cached] or [0.0]
    ratings = sorted(log.find_ratings(entries), key=lambda rating: rating.time, reverse=True)
    return Report(
        site=site,
        since=entries[0].time,
        until=entries[-1].time,
        questions=len(entries),
        states=_count_states(entries),
        cached=sum(entry.cached for entry in entries),
        helpful=sum(rating.helpful is True for rating in ratings),
        unhelpful=sum(rating.helpful is False for rating in ratings),
        seconds=round(median(durations), 2),
        cost=_sum_costs(entries),
        unpriced=sum(entry.is_unpriced for entry in entries),
        days=_count_days(entries),
        groups=tuple(_describe_group(group, log, library, findings) for group in groups[:_MAX_GROUPS]),
        more_groups=max(0, len(groups) - _MAX_GROUPS),
        cited=_rank_sections(_count_ids(entry.cited for entry in entries), library),
        never_cited=_find_never_cited(entries, library),
        pages=_rank_pages(entries, library),
        comments=tuple(dict.fromkeys(rating.comment for rating in ratings if rating.comment))[:_MAX_ROWS],
        skipped=log.skipped,
    )


def _count_states(entries: Iterable[Entry]) -> dict[str, int]:
    counts = Counter(entry.state for entry in entries)
    return {state: counts[state] for state in (*STATES, *sorted(set(counts) - {*STATES})) if counts[state]}


def _count_ids(lists: Iterable[Sequence[str]]) -> Counter[str]:
    """Return how many of the lists contain an id."""
    return Counter(id_ for ids in lists for id_ in set(ids))


def _sum_costs(entries: Iterable[Entry]) -> float | None:
    costs = [entry.cost for entry in entries if entry.cost is not None]
    return round(sum(costs), 4) if costs else None


def _count_days(entries: Sequence[Entry]) -> tuple[Day, ...]:
    by_day: dict[int, list[Entry]] = {}
    for entry in entries:
        by_day.setdefault(entry.time.toordinal(), []).append(entry)
    days = range(min(by_day), max(by_day) + 1)
    return tuple(Day(datetime.fromordinal(day).date().isoformat(), _count_states(by_day.get(day, ()))) for day in days)


# Groups


def _is_unanswered(entry: Entry, log: Log) -> bool:
    return entry.state in _UNANSWERED or any(rating.helpful is False for rating in log.find_ratings([entry]))


def _group(log: Log, library: Library | None) -> list[list[Entry]]:
    entries = [entry for entry in log.entries if entry.question.strip() and _is_unanswered(entry, log)]
    language = library.manifest.site.language if library else next((e.language for e in entries if e.language), "en")
    found = [entry.nearest or entry.opened for entry in entries]
    groups = group_questions([entry.question for entry in entries], found, language)
    return [[entries[position] for position in group] for group in groups]


def _describe_group(entries: Sequence[Entry], log: Log, library: Library | None, findings: Sequence[Finding]) -> Group:
    questions = tuple(dict.fromkeys(" ".join(entry.question.split()) for entry in entries))
    nearest = _find_nearest(entries, questions[0], library)
    return Group(
        count=len(entries),
        questions=questions[:_MAX_EXAMPLES],
        states=_count_states(entries),
        unhelpful=sum(rating.helpful is False for rating in log.find_ratings(entries)),
        last=max(entry.time for entry in entries),
        nearest=nearest,
        finding=_choose_finding([section.id for section in nearest], findings),
        entry=_make_entry(questions[0], nearest, library),
        description=_make_description(questions, nearest, library),
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
    entry: dict[str, object] = {"ask": question}
    if library and nearest and (section := library.sections.get(nearest[0].id)):
        entry["sections"] = [section_address(section, library.sections)]
    else:
        entry["answerable"] = False
    return str(yaml.safe_dump([entry], allow_unicode=True, sort_keys=False, width=120))


def _make_description(questions: Iterable[str], nearest: Sequence[SectionInfo], library: Library | None) -> str:
    """Return an entry of the nearest section with words of several questions; a word of a single reader is left out."""
    if library is None or not nearest or (section := library.sections.get(nearest[0].id)) is None:
        return ""
    parsed = (parse_words(question, library.manifest.site.language) for question in questions)
    counts = Counter(name for words in parsed for name in {one.whole for one in words if not one.stop})
    shared = [name for name in counts if counts[name] > 1 and name.isalpha() and name != "redacted"]
    proposal = f"{PROPOSAL} {', '.join(sorted(shared, key=lambda name: (-counts[name], name))[:8])}"
    texts = SectionTexts(section.section.title, section.section.body, asks=(proposal,))
    entry = {section.page.path: PageTexts(sections={section.id: texts})}
    return msgspec.json.encode(entry).decode()[1:-1] if shared else ""


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
    opened = _count_ids(entry.opened for entry in entries)
    cited = _count_ids(entry.cited for entry in entries)
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
