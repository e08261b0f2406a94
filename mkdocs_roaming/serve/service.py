"""What an answer took, as far as anybody knows."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from time import monotonic

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.budget import SMALL_SITE_TOKENS, Budget
from mkdocs_roaming.answer.events import Event, Finished, Reference, RoundStarted, TokensUsed, summarize
from mkdocs_roaming.answer.loop import answer
from mkdocs_roaming.answer.models.base import NO_USAGE, Model, Part, Request, Usage
from mkdocs_roaming.answer.models.extractive import ExtractiveModel
from mkdocs_roaming.errors import ModelError
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.search import Finder, Search
from mkdocs_roaming.serve.cache import (
    AnswerCache,
    InFlightAnswers,
    Subscription,
    hash_config,
    make_cache_key,
    without_cost,
)
from mkdocs_roaming.serve.conversation_token import ConversationMemory, TokenSigner, make_turn, restore_memory
from mkdocs_roaming.serve.deployments import Deployment, LocalizedSite
from mkdocs_roaming.serve.encoding import AnswerContext, StreamPart, encode_answer, encode_events
from mkdocs_roaming.serve.problems import public_message
from mkdocs_roaming.serve.redaction import strip_passwords
from mkdocs_roaming.serve.requests import Question, find_page


@dataclass(frozen=True, slots=True)
class AnswerCost:
    """An answer that was made, however many heard it, and whether or not anybody did to its end (`whole`).

    `usage` is what the provider told of; it may have counted more where a reply broke off.
    """

    model: str
    usage: Usage
    counted: float | None
    """What `usage` costs; None without prices."""
    currency: str
    seconds: float
    whole: bool


class TrackedModel:
    """A model, and whether its last reply was refused before anything was read: that one costs nothing."""

    def __init__(self, model: Model) -> None:
        self.name = model.name
        self.refused = False
        self._model = model

    async def reply(self, request: Request) -> AsyncGenerator[Part, None]:
        """Give the parts of a reply."""
        parts = self._model.reply(request)
        try:
            async for part in parts:
                yield part
        except ModelError as error:
            self.refused = error.unbilled
            raise
        finally:
            close = getattr(parts, "aclose", None)
            if close is not None:
                await close()


def measure_cost(events: Sequence[Event], model: str, budget: Budget, seconds: float) -> AnswerCost:
    """Give what making an answer took."""
    usage, prices = _used(events), budget.prices
    return AnswerCost(
        model,
        usage,
        prices.cost(usage) if prices else None,
        prices.currency if prices else "",
        seconds,
        bool(events) and isinstance(events[-1], Finished),
    )


def settle_cost(events: Sequence[Event], budget: Budget, *, most: float, refused: bool) -> float | None:
    """Give what an answer cost, None where nobody knows. `refused` is whether its last reply was: that one is free.

    What is known already to be more than `most` counts, whatever else is not known.
    """
    prices = budget.prices
    cost = None if prices is None else prices.cost(_used(events))
    if refused and prices is not None:
        cost = cost or 0.0
    known = _all_counted(events, refused=refused)
    return cost if known or (cost or 0.0) > most else None


def _used(events: Sequence[Event]) -> Usage:
    return sum((event.usage for event in events if isinstance(event, TokensUsed)), NO_USAGE)


def _all_counted(events: Sequence[Event], *, refused: bool) -> bool:
    """Tell whether every reply was counted and heard to its end: what one cost that broke off nobody knows."""
    end = events[-1] if events else None
    if not isinstance(end, Finished) or (end.state == "error" and not refused) or end.spent == "seconds":
        return False
    rounds: list[bool] = []
    for event in events:
        if isinstance(event, RoundStarted):
            rounds.append(False)
        elif isinstance(event, TokensUsed) and rounds:
            rounds[-1] = True
    return all(rounds[:-1] if refused else rounds)


# MERGED mkdocs_roaming.serve.answering:
# A question in, an answer's parts out: what the endpoint does, whatever server it is built into.
#
# hearing = desk.hear(question)
# try:
#     async with aclosing(hearing.parts()) as parts:
#         async for part in parts: ...
# finally:
#     hearing.leave()


_log = logging.getLogger("mkdocs_roaming.serve")


@dataclass(frozen=True, slots=True)
class AnswerConfig:
    """How questions are answered: by which model, within which budget, which sites are read whole, how is searched."""

    model: Model
    budget: Budget
    whole_site_tokens: int = SMALL_SITE_TOKENS
    finding: Callable[[Library], Finder] = Search


@dataclass(frozen=True, slots=True)
class AnswerRecord:
    """What came of a question for one reader. What an answer costs that its reader `left` early, nobody knows, nor
    what one costs whose model broke off; `cost` is None then.
    """

    question: Question
    model: str
    events: tuple[Event, ...]
    cost: float | None
    seconds: float
    cached: bool
    left: bool
    turn: str = ""


class AnswerService:
    """Where questions are taken. `tell` is told what came of every question, be its answer left in the middle or not,
    `count` of every answer that was made, once, when it has ended for all who heard it.
    """

    def __init__(
        self,
        site: LocalizedSite,
        way: AnswerConfig,
        signer: TokenSigner,
        *,
        answers: AnswerCache | None = None,
        tell: Callable[[AnswerRecord], None] = lambda outcome: None,
        count: Callable[[AnswerCost], None] = lambda made: None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.site = site
        self.way = way
        self.offline = AnswerConfig(ExtractiveModel(), Budget(), way.whole_site_tokens)
        self.signer = signer
        self.answers = answers if answers is not None else AnswerCache()
        self.under_way = InFlightAnswers()
        self.tell = tell
        self.count = count
        self.clock = clock

    def hear(self, question: Question, *, offline: bool = False) -> AnswerRequest:
        """Take a question; the site as it stands now is what it is answered from. Raises Refused without a site.

        Whoever takes it leaves it, whether it was heard or not: others' answer may be going on for it alone.
        """
        return AnswerRequest(self, question, self.offline if offline else self.way, self.site.now(question.language))


class AnswerRequest:
    """One question while it is answered."""

    def __init__(self, desk: AnswerService, question: Question, way: AnswerConfig, deployment: Deployment) -> None:
        self._desk, self.question, self._way, self.deployment = desk, question, way, deployment
        self._model = TrackedModel(way.model)
        places = deployment.library.sections
        self._memory = restore_memory(question.turns, desk.signer, places) if question.turns else ConversationMemory()
        self._page = find_page(question.page, places)
        self._key = make_cache_key(question, self._page, deployment.digest, way.model.name, _how(way, deployment))
        self._kept: Sequence[Event] | None = None
        self._seat: Subscription | None = None
        self._own = False
        self._began = desk.clock()
        self._events: list[Event] = []
        self._turn: str | None = None
        self._look_for_another()
        self.outcome: AnswerRecord | None = None

    @property
    def most(self) -> float:
        """The most that the answer may cost; 0 where it spends no money."""
        return self._way.budget.cost or 0.0 if self.spends else 0.0

    @property
    def spends(self) -> bool:
        """Whether the answer spends money, known or not."""
        return not self.cached and self._way.model.name != "offline"

    @property
    def cached(self) -> bool:
        """Whether the answer is there already, or under way for somebody else: giving it costs nothing."""
        return self._kept is not None or (self._seat is not None and not self._own)

    async def parts(self) -> AsyncGenerator[StreamPart, None]:
        """Give the parts of the answer as they come about."""
        self._begin()
        async with aclosing(encode_events(self._heard(), self._around())) as told:
            async for part in told:
                yield part

    async def whole(self) -> StreamPart:
        """Give the answer as one object."""
        self._begin()
        async with aclosing(self._heard()) as events:
            async for _ in events:
                pass
        return encode_answer(summarize(self._events), self._around(), digest=self.deployment.digest)

    def leave(self) -> None:
        """Leave, at the end or before it: an answer that nobody hears any more is broken off."""
        if self._seat is not None:
            self._seat.leave()
        if self.outcome is None:
            self._tell(self._desk.clock() - self._began)

    async def cost(self) -> float | None:
        """Give what the answer cost, None where nobody knows; waits for its end where others still hear it."""
        if self._seat is None or not self._own:
            return 0.0
        await self._seat.over()
        return self._cost_of(self._seat.events)

    # Where the events come from

    def _look_for_another(self) -> None:
        """Look whether somebody else's answer will do: one from before, or one under way. Follow-ups are one's own."""
        desk = self._desk
        if self.question.turns or self.cached:
            return
        self._kept = desk.answers.get(self._key)
        self._seat = desk.under_way.join(self._key) if self._kept is None else None

    def _begin(self) -> None:
        """Begin an answer where no other will do. Between looking and beginning nothing is waited for: of all who ask
        at one moment only the first one begins.
        """
        self._look_for_another()
        if not self.cached:
            self._own = True
            key = None if self.question.turns else self._key
            self._seat = self._desk.under_way.begin(key, self._answer(), self._ended)

    async def _heard(self) -> AsyncGenerator[Event, None]:
        """Give what happens, `Finished` last."""
        try:
            async with aclosing(self._seat.hear() if self._seat else _each(self._kept or ())) as events:
                async for event in events:
                    told = without_cost(event) if self.cached else event
                    self._events.append(told)
                    yield told
        finally:
            self.leave()

    def _ended(self, events: Sequence[Event]) -> None:
        """Keep what was made for whoever asks next, and tell what it took; its first reader may long have left."""
        desk, way, end = self._desk, self._way, events[-1] if events else None
        if isinstance(end, Finished) and end.error:
            _log.warning("an answer failed: %s", strip_passwords(end.error))
        if not self.question.turns:
            desk.answers.keep(self._key, events)
        desk.count(measure_cost(events, way.model.name, way.budget, desk.clock() - self._began))

    def _answer(self) -> AsyncGenerator[Event, None]:
        question, way = self.question, self._way
        return answer(
            question.text,
            self.deployment.navigator(partial(public_message, at="/v1/ask")),
            self._model,
            page=self._page.id if self._page else None,
            opened=self._memory.opened,
            history=self._memory.history,
            budget=way.budget,
            whole_site_tokens=way.whole_site_tokens,
        )

    # What is told beside the events

    def _around(self) -> AnswerContext:
        return AnswerContext(self._refer, self._sign, self.cached, self._memory.dropped)

    def _refer(self, address: str) -> Reference | None:
        places = self.deployment.library.sections
        place = places.get(address.lower()) or places.resolve(address)
        if place is None:
            return None
        section = place.section
        return Reference(place.id, section.title, places.breadcrumb(place), places.url(place), section.tokens)

    def _sign(self) -> str:
        """Give the signed turn; none of a failure, a refusal, or where nothing was said at all."""
        if self._turn is None:
            result = summarize(self._events)
            said = result.text or (prompts.NO_ANSWER if result.state == "not_found" else "")
            trail, cited = ([one.id for one in sections] for sections in (result.trail, result.citations))
            turn = make_turn(self.question.text, said, trail, cited, self.deployment.digest)
            self._turn = self._desk.signer.sign(turn) if said and result.state in _REMEMBERED else ""
        return self._turn

    def _tell(self, seconds: float) -> None:
        name, left = self._way.model.name, not (self._events and isinstance(self._events[-1], Finished))
        self.outcome = AnswerRecord(
            self.question,
            name,
            tuple(self._events),
            None if left or self.cached else self._cost_of(self._events),
            seconds,
            self.cached,
            left,
            "" if left else self._sign(),
        )
        self._desk.tell(self.outcome)

    def _cost_of(self, events: Sequence[Event]) -> float | None:
        return settle_cost(events, self._way.budget, most=self.most, refused=self._model.refused)


async def _each(events: Sequence[Event]) -> AsyncGenerator[Event, None]:
    for event in events:
        yield event


def _how(way: AnswerConfig, deployment: Deployment) -> str:
    budget, whole_site_tokens, manifest = way.budget, way.whole_site_tokens, deployment.library.manifest
    return deployment.library.memoize(
        ("how", budget, whole_site_tokens), lambda: hash_config(manifest, budget, whole_site_tokens)
    )


_REMEMBERED = frozenset({"answered", "partial", "not_found", "budget"})
