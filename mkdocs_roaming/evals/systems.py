"""What the collapsed outline alone finds: a navigator that reads it line by line and goes where words are shared.

It never searches. It reads the outline, then up to three times the closed branches whose lines share most with the
question, then opens the eight best lines in one call. So a section that it does not reach has a title, an opening and
keywords that say nothing of what is asked, or stands behind too many siblings.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping
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
from mkdocs_roaming.evals.metrics import SEARCH_LIMIT, EvalResult, TrailStep, result_from_events
from mkdocs_roaming.evals.questions import Question
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.search import Finder, parse_query
from mkdocs_roaming.library.tools import MAX_IDS, ExpandResult, OutlineResult, render
from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef
from mkdocs_roaming.text.tokenizer import Word, estimate_tokens, extract_terms, occurs_in

MAX_LOOKS = 3


"""How often closed branches are looked into, three of them at a time."""


BRANCHES = 3


@dataclass(frozen=True, slots=True)
class OutlineWalk:
    """The sections opened, each with the number of its tool call, and the tokens of all that was read."""

    opened: Mapping[str, int]
    tokens: int


def walk_outline(question: str, navigator: Navigator) -> OutlineWalk:
    """Walk from the outline to the sections that share most words with a question."""
    language = navigator.library.manifest.site.language
    words = parse_query(question, language)
    seen = _Seen(words, language)
    text = navigator.outline()
    tokens = estimate_tokens(text)
    seen.read(text)
    calls = 0
    for _ in range(MAX_LOOKS):
        branches = seen.closed()[:BRANCHES]
        if not branches:
            break
        for line in branches:
            calls += 1
            branch = navigator.read_outline(line.id)
            line.read = True
            tokens += estimate_tokens(render(branch))
            if isinstance(branch, OutlineResult):
                seen.read(branch.text, line.above)
    best = [line.id for line in seen.best()[:MAX_IDS]]
    if not best:
        return OutlineWalk({}, tokens)
    before = set(navigator.opened)
    result = navigator.expand_sections(best)
    if isinstance(result, ExpandResult):
        tokens += estimate_tokens(render(result))
    return OutlineWalk({id_: calls + 1 for id_ in navigator.opened if id_ not in before}, tokens)


@dataclass(slots=True)
class _Line:
    """A line of the outline: the question's words in its title and in the rest, those of the lines above it."""

    id: str
    title: frozenset[int]
    rest: frozenset[int]
    above: frozenset[int]
    order: int
    closed: bool
    read: bool = False


@dataclass(slots=True)
class _Seen:
    """The lines read so far."""

    words: list[Word]
    language: str
    lines: dict[str, _Line] = field(default_factory=dict)

    def read(self, text: str, above: frozenset[int] = frozenset()) -> None:
        """Take in the lines of an outline that stand below some words."""
        parents: list[tuple[int, frozenset[int]]] = [(-1, above)]
        for written in text.split("\n")[1:]:
            match = _LINE.match(written)
            if match is None:
                continue
            depth, id_, about = len(match[1]), match[2], match[3]
            while parents[-1][0] >= depth:
                parents.pop()
            over = parents[-1][1]
            title, _, rest = _MORE.sub("", about).partition(" — ")
            line = _Line(
                id_, self._shared(title), self._shared(rest), over, len(self.lines), bool(_CLOSED.search(about))
            )
            line.closed = line.closed or id_.endswith("+")
            if id_ not in self.lines:
                self.lines[id_] = line
            elif not line.closed:
                self.lines[id_].closed = False
            parents.append((depth, over | line.title | line.rest))

    def closed(self) -> list[_Line]:
        """Give the closed branches that share words with the question, best first."""
        return [line for line in self._ranked(self.lines.values()) if line.closed and not line.read]

    def best(self) -> list[_Line]:
        """Give the lines that can be opened and share words with the question, best first."""
        return [line for line in self._ranked(self.lines.values()) if not line.id.endswith("+")]

    def _ranked(self, lines: Iterable[_Line]) -> list[_Line]:
        """Rank lines by the words that they share, rare ones above all, their own title's twice, those above half."""
        count = len(self.lines)
        holding = [0] * len(self.words)
        for line in self.lines.values():
            for at in line.title | line.rest:
                holding[at] += 1
        worth = [log(1 + count / times) if times else 0.0 for times in holding]

        def score(line: _Line) -> float:
            own = line.title | line.rest
            share = [2 * worth[at] for at in sorted(line.title)] + [worth[at] for at in sorted(line.rest - line.title)]
            return round(sum(share) + sum(0.5 * worth[at] for at in sorted(line.above - own)), 6)

        scores = {line.id: score(line) for line in lines}
        return sorted((line for line in lines if scores[line.id] > 0), key=lambda line: (-scores[line.id], line.order))

    def _shared(self, text: str) -> frozenset[int]:
        there = extract_terms(text, self.language)
        return frozenset(at for at, word in enumerate(self.words) if occurs_in(word, there))


_LINE = re.compile(r"( *)\[([0-9a-f]{8}\+?)\] (.*)")


_MORE = re.compile(r"^\d+ more: | \+\d+ (?:more )?inside$")


_CLOSED = re.compile(r" \+\d+ (?:more )?inside$")


# MERGED mkdocs_roaming.evals.modes:
# Who is asked: search alone, the outline alone, or a model that roams; each by its name.


SEARCH = "search"


OUTLINE = "outline"


MAX_RANK = 50


"""How many sections of a search are looked at for a rank."""


COST_LIMIT_ERROR = "the money of --max-cost ran out in the middle of it"


"""The error of an answer that its own budget would have let go on: what came of it says nothing of the navigator."""


class System(Protocol):
    """Whoever is asked a set's questions."""

    @property
    def name(self) -> str:
        """What the row is called."""
        ...

    @property
    def navigator(self) -> str:
        """How it finds its way, in a few words."""
        ...

    @property
    def setting(self) -> str:
        """All that its outcomes depend on beside question and site."""
        ...

    @property
    def priced(self) -> bool:
        """Whether it is known what it costs."""
        ...

    @property
    def worth_keeping(self) -> bool:
        """Whether its outcomes are kept: not where asking anew is free and takes no time."""
        ...

    async def ask(self, question: Question, money: float | None) -> EvalResult:
        """Give what comes of a question, spending no more than so much money."""
        ...


class Ranking:
    """How search ranks sections for a question; each question is looked up once.

    `by_words` are the questions for which meaning was to be gone by too, and could not be had.
    """

    def __init__(self, library: Library, search: Finder) -> None:
        self.library, self.search = library, search
        self.by_words: set[str] = set()
        self._found: dict[str, list[SectionRef]] = {}

    def places(self, question: Question) -> list[SectionRef]:
        """Give the first sections that search finds."""
        if question.ask not in self._found:
            self._found[question.ask] = [hit.place for hit in self.search.find(question.ask, limit=MAX_RANK)]
            if self.search.words_only(question.ask):
                self.by_words.add(question.ask)
        return self._found[question.ask]

    def rank(self, question: Question) -> int | None:
        """Give where the first gold section stands, from 1; None where it is not among the first fifty."""
        found = (at for at, place in enumerate(self.places(question), 1) if place.id in question.gold)
        return next(found, None)


class SearchSystem:
    """Search alone: what one call of it shows."""

    name = SEARCH
    navigator = f"ranks alone, the first {SEARCH_LIMIT}"
    setting = f"search {SEARCH_LIMIT}"
    priced = True
    worth_keeping = False

    def __init__(self, ranking: Ranking) -> None:
        self._ranking = ranking

    async def ask(self, question: Question, money: float | None) -> EvalResult:
        """Give the first ten sections and the rank."""
        places = self._ranking.library.sections
        rank = self._ranking.rank(question)
        reached = rank is not None and rank <= SEARCH_LIMIT
        first = self._ranking.places(question)[:SEARCH_LIMIT]
        return EvalResult(
            ask=question.ask,
            rank=rank,
            reached=reached,
            trail=tuple(TrailStep(section_reference(places, place), at) for at, place in enumerate(first, 1)),
        )


class OutlineSystem:
    """The collapsed outline alone, walked by shared words: no search, no understanding."""

    name = OUTLINE
    navigator = "walks the outline alone by shared words"
    setting = "outline 1"
    priced = True
    worth_keeping = False

    def __init__(self, ranking: Ranking) -> None:
        self._ranking = ranking

    async def ask(self, question: Question, money: float | None) -> EvalResult:
        """Give the sections that lie along the way."""
        library = self._ranking.library
        walked = walk_outline(question.ask, Navigator(library, search=self._ranking.search))
        steps = tuple(
            TrailStep(section_reference(library.sections, place), call)
            for id_, call in walked.opened.items()
            if (place := library.sections.get(id_))
        )
        hits = [step.at for step in steps if step.section.id in question.gold]
        return EvalResult(
            ask=question.ask,
            rank=self._ranking.rank(question),
            reached=bool(hits),
            calls=min(hits, default=None),
            trail=steps,
            tokens_read=walked.tokens,
        )


class ModelSystem:
    """A model in the answer loop, as readers meet it."""

    worth_keeping = True

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
        offline = model.name == ExtractiveModel.name
        if offline and not seconds_given:  # a slow machine must not change what it finds
            budget = replace(budget, seconds=_OFFLINE_SECONDS)
        self.name = name
        self.navigator = "searches, opens, quotes" if offline else f"{model.name} roams"
        self.priced = offline or budget.prices is not None
        self.setting = compute_digest("model", model.name, budget, whole_site_tokens)
        self.model, self.budget = model, budget
        self._ranking, self._whole, self._clock = ranking, whole_site_tokens, clock

    async def ask(self, question: Question, money: float | None) -> EvalResult:
        """Give what the answer loop comes to."""
        budget, cut = self.budget, False
        if money is not None and budget.prices is not None and (budget.cost is None or money < budget.cost):
            budget, cut = replace(budget, cost=money), True
        navigator = Navigator(self._ranking.library, search=self._ranking.search)
        begun = self._clock()
        asking = answer(
            question.ask,
            navigator,
            self.model,
            page=question.page,
            budget=budget,
            whole_site_tokens=self._whole,
            clock=self._clock,
        )
        async with aclosing(asking) as told:
            events = [event async for event in told]
        taken = self._clock() - begun
        if any(isinstance(event, SectionsFound) and event.words_only for event in events):
            self._ranking.by_words.add(question.ask)
        outcome = result_from_events(question, events, rank=self._ranking.rank(question), seconds=taken)
        if cut and any(isinstance(event, Finished) and event.spent == "cost" for event in events):
            return replace(outcome, error=COST_LIMIT_ERROR)
        return outcome


def section_reference(places: SectionIndex, place: SectionRef) -> Reference:
    """Give a section as readers are told of it."""
    section = place.section
    return Reference(place.id, section.title, places.breadcrumb(place), places.url(place), section.tokens)


_OFFLINE_SECONDS = 3_600.0
