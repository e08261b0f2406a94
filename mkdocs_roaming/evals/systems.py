"""The systems that an evaluation compares: search alone, the outline alone, or a model in the answer loop."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from math import log
from typing import Protocol

from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.events import Finished, Reference, SectionsFound
from mkdocs_roaming.answer.loop import answer
from mkdocs_roaming.answer.models.base import Model
from mkdocs_roaming.answer.models.extractive import ExtractiveModel
from mkdocs_roaming.answer.trace import compute_digest
from mkdocs_roaming.evals.metrics import SEARCH_LIMIT, EvalResult, TrailStep
from mkdocs_roaming.evals.questions import Question
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.search import Search, parse_query
from mkdocs_roaming.library.tools import MAX_IDS, ExpandResult, OutlineResult, render
from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef
from mkdocs_roaming.text.tokenizer import Word, estimate_tokens, extract_terms, occurs_in

SEARCH = "search"
OUTLINE = "outline"

MAX_RANK = 50
"""Number of search hits among which a gold section has a rank."""

COST_LIMIT_ERROR = "stopped by --max-cost before it was complete"
"""Error of an answer that its own budget would have allowed to continue; it says nothing about the system."""

OUTLINE_ROUNDS = 3
BRANCHES_PER_ROUND = 3

_OFFLINE_SECONDS = 3_600.0


class System(Protocol):
    """A system under test.

    Attributes:
        name: The name of its row.
        navigator: How it finds sections, in a few words.
        configuration: All that its results depend on, in addition to question and site.
        has_known_cost: Whether the cost of an answer is known.
        cacheable: Whether results are worth caching: False if computing them is free and fast.
    """

    name: str
    navigator: str
    configuration: str
    has_known_cost: bool
    cacheable: bool

    async def ask(self, question: Question, max_cost: float | None) -> EvalResult:
        """Return the result of a question, spending at most `max_cost`."""
        ...


class Ranking:
    """The search of a library, with the hits of each question cached.

    `word_only` collects the questions for which embeddings were configured but not available.
    """

    def __init__(self, library: Library, search: Search) -> None:
        """Start without hits."""
        self.library, self.search = library, search
        self.word_only: set[str] = set()
        self._hits: dict[str, list[SectionRef]] = {}

    def hits(self, question: Question) -> list[SectionRef]:
        """Return the first sections that search finds."""
        if question.ask not in self._hits:
            self._hits[question.ask] = [hit.place for hit in self.search.find(question.ask, limit=MAX_RANK)]
            if self.search.words_only(question.ask):
                self.word_only.add(question.ask)
        return self._hits[question.ask]

    def rank(self, question: Question) -> int | None:
        """Return the rank of the first gold section, counted from 1, or None if it is not among the hits."""
        return next((rank for rank, ref in enumerate(self.hits(question), 1) if ref.id in question.gold), None)


class SearchSystem:
    """Search alone: the hits of one call."""

    name = SEARCH
    navigator = f"the first {SEARCH_LIMIT} search results"
    configuration = f"search {SEARCH_LIMIT}"
    has_known_cost = True
    cacheable = False

    def __init__(self, ranking: Ranking) -> None:
        """Use the search of a library."""
        self._ranking = ranking

    async def ask(self, question: Question, max_cost: float | None) -> EvalResult:
        """Return the first hits as the trail."""
        sections = self._ranking.library.sections
        rank = self._ranking.rank(question)
        first = self._ranking.hits(question)[:SEARCH_LIMIT]
        return EvalResult(
            ask=question.ask,
            rank=rank,
            reached=rank is not None and rank <= SEARCH_LIMIT,
            trail=tuple(TrailStep(_reference(sections, ref), number) for number, ref in enumerate(first, 1)),
        )


class OutlineSystem:
    """The collapsed outline alone, walked by shared words: without search, without understanding."""

    name = OUTLINE
    navigator = "outline walk by shared words"
    configuration = "outline 1"
    has_known_cost = True
    cacheable = False

    def __init__(self, ranking: Ranking) -> None:
        """Walk the outline of the library of a search."""
        self._ranking = ranking

    async def ask(self, question: Question, max_cost: float | None) -> EvalResult:
        """Return the sections that the walk opens."""
        library = self._ranking.library
        walk = walk_outline(question.ask, Navigator(library, search=self._ranking.search))
        trail = tuple(
            TrailStep(_reference(library.sections, ref), call)
            for id_, call in walk.opened.items()
            if (ref := library.sections.get(id_))
        )
        calls = [step.number for step in trail if step.section.id in question.gold]
        return EvalResult(
            ask=question.ask,
            rank=self._ranking.rank(question),
            reached=bool(calls),
            calls=min(calls, default=None),
            trail=trail,
            tokens_read=walk.tokens,
        )


class ModelSystem:
    """A model in the answer loop, as readers use it."""

    cacheable = True

    def __init__(
        self,
        name: str,
        model: Model,
        budget: Budget,
        ranking: Ranking,
        *,
        whole_site_tokens: int,
        seconds_given: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Configure the answer loop.

        Args:
            name: Name of the row.
            model: The model.
            budget: Limits of one answer.
            ranking: The search of the site.
            whole_site_tokens: Estimated tokens below which the model reads the whole site.
            seconds_given: Whether the user set the time limit; by default the extractive model has nearly none, since
                a slow machine must not change its results.
            clock: Returns the time in seconds.
        """
        offline = model.name == ExtractiveModel.name
        if offline and not seconds_given:
            budget = replace(budget, seconds=_OFFLINE_SECONDS)
        self.name = name
        self.navigator = "search and quotations" if offline else f"{model.name} in the answer loop"
        self.has_known_cost = offline or budget.prices is not None
        self.configuration = compute_digest("model", model.name, budget, whole_site_tokens)
        self.model, self.budget = model, budget
        self._ranking, self._whole_site_tokens, self._clock = ranking, whole_site_tokens, clock

    async def ask(self, question: Question, max_cost: float | None) -> EvalResult:
        """Return the result of the answer loop."""
        budget, limited = self.budget, False
        if max_cost is not None and budget.prices is not None and (budget.cost is None or max_cost < budget.cost):
            budget, limited = replace(budget, cost=max_cost), True
        start = self._clock()
        stream = answer(
            question.ask,
            Navigator(self._ranking.library, search=self._ranking.search),
            self.model,
            page=question.page,
            budget=budget,
            whole_site_tokens=self._whole_site_tokens,
            clock=self._clock,
        )
        async with aclosing(stream):
            events = [event async for event in stream]
        seconds = self._clock() - start
        if any(isinstance(event, SectionsFound) and event.words_only for event in events):
            self._ranking.word_only.add(question.ask)
        result = EvalResult.from_events(question, events, rank=self._ranking.rank(question), seconds=seconds)
        if limited and any(isinstance(event, Finished) and event.spent == "cost" for event in events):
            return replace(result, error=COST_LIMIT_ERROR)
        return result


@dataclass(frozen=True, slots=True)
class OutlineWalk:
    """The opened sections, each with the number of its tool call, and the tokens of all that was read."""

    opened: Mapping[str, int]
    tokens: int


def walk_outline(question: str, navigator: Navigator) -> OutlineWalk:
    """Walk from the outline to the sections that share most words with a question, without search.

    Reads the outline, then in up to three rounds the closed branches whose lines share most with the question, then
    opens the best lines in one call. A section that is not reached has a title, an opening and keywords that do not
    match the question, or too many siblings.
    """
    language = navigator.library.manifest.site.language
    lines = _OutlineLines(parse_query(question, language), language)
    text = navigator.outline()
    tokens = estimate_tokens(text)
    lines.add(text)
    calls = 0
    for _ in range(OUTLINE_ROUNDS):
        branches = [line for line in lines.ranked() if line.closed and not line.read][:BRANCHES_PER_ROUND]
        if not branches:
            break
        for line in branches:
            calls += 1
            branch = navigator.read_outline(line.id)
            line.read = True
            tokens += estimate_tokens(render(branch))
            if isinstance(branch, OutlineResult):
                lines.add(branch.text, line.above)
    ids = [line.id for line in lines.ranked() if not line.id.endswith("+")][:MAX_IDS]
    if not ids:
        return OutlineWalk({}, tokens)
    opened_before = set(navigator.opened)
    result = navigator.expand_sections(ids)
    if isinstance(result, ExpandResult):
        tokens += estimate_tokens(render(result))
    return OutlineWalk({id_: calls + 1 for id_ in navigator.opened if id_ not in opened_before}, tokens)


@dataclass(slots=True)
class _OutlineLine:
    """A line of the outline, with the question's words in its title, in its other text, and in the lines above it."""

    id: str
    title: frozenset[int]
    rest: frozenset[int]
    above: frozenset[int]
    order: int
    closed: bool
    read: bool = False


@dataclass(slots=True)
class _OutlineLines:
    """The lines read so far; words are numbered by their position in the question."""

    words: list[Word]
    language: str
    lines: dict[str, _OutlineLine] = field(default_factory=dict)

    def add(self, text: str, above: frozenset[int] = frozenset()) -> None:
        """Add the lines of an outline; `above` are the words in the lines above its root."""
        parents: list[tuple[int, frozenset[int]]] = [(-1, above)]
        for text_line in text.split("\n")[1:]:
            match = _LINE.match(text_line)
            if match is None:
                continue
            depth, id_, description = len(match[1]), match[2], match[3]
            while parents[-1][0] >= depth:
                parents.pop()
            words_above = parents[-1][1]
            title, _, rest = _MORE.sub("", description).partition(" — ")
            line = _OutlineLine(
                id=id_,
                title=self._shared_words(title),
                rest=self._shared_words(rest),
                above=words_above,
                order=len(self.lines),
                closed=id_.endswith("+") or _CLOSED.search(description) is not None,
            )
            if id_ not in self.lines:
                self.lines[id_] = line
            elif not line.closed:
                self.lines[id_].closed = False
            parents.append((depth, words_above | line.title | line.rest))

    def ranked(self) -> list[_OutlineLine]:
        """Return the lines that share words with the question, best first.

        Rare words weigh most; words of the line's own title count twice, words of the lines above it half.
        """
        frequency = [0] * len(self.words)
        for line in self.lines.values():
            for word in line.title | line.rest:
                frequency[word] += 1
        weights = [log(1 + len(self.lines) / count) if count else 0.0 for count in frequency]

        def score(line: _OutlineLine) -> float:
            own = [2 * weights[word] for word in sorted(line.title)]
            own += [weights[word] for word in sorted(line.rest - line.title)]
            inherited = (0.5 * weights[word] for word in sorted(line.above - line.title - line.rest))
            return round(sum(own) + sum(inherited), 6)

        scores = {line.id: score(line) for line in self.lines.values()}
        matching = [line for line in self.lines.values() if scores[line.id] > 0]
        return sorted(matching, key=lambda line: (-scores[line.id], line.order))

    def _shared_words(self, text: str) -> frozenset[int]:
        terms = extract_terms(text, self.language)
        return frozenset(position for position, word in enumerate(self.words) if occurs_in(word, terms))


_LINE = re.compile(r"( *)\[([0-9a-f]{8}\+?)\] (.*)")
_MORE = re.compile(r"^\d+ more: | \+\d+ (?:more )?inside$")
_CLOSED = re.compile(r" \+\d+ (?:more )?inside$")


def _reference(sections: SectionIndex, ref: SectionRef) -> Reference:
    section = ref.section
    return Reference(ref.id, section.title, sections.breadcrumb(ref), sections.url(ref), section.tokens)
