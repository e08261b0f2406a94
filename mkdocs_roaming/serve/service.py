"""The answer service: from a question to the parts of its answer, independent of the server.

request = service.open(question)
try:
    async with aclosing(request.parts()) as parts:
        async for part in parts: ...
finally:
    request.close()
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from time import monotonic
from typing import Any

import anyio

from mkdocs_roaming.answer.budget import Budget, Prices
from mkdocs_roaming.answer.events import Event, Finished, TextReleased, TokensUsed, summarize
from mkdocs_roaming.answer.loop import answer
from mkdocs_roaming.answer.models.base import NO_USAGE, Model, ModelRequest, Part, Usage
from mkdocs_roaming.answer.models.openai import estimate_request
from mkdocs_roaming.answer.results import Offline
from mkdocs_roaming.answer.support.evidence import find_words, normalize_text
from mkdocs_roaming.errors import ModelError
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.library.targets import SearchFactory
from mkdocs_roaming.manifest.lookup import SectionIndex
from mkdocs_roaming.serve import schemas
from mkdocs_roaming.serve.cache import AnswerCache, SharedAnswer, without_cost
from mkdocs_roaming.serve.conversation_token import SignedTurn, TokenSigner, make_turn, restore_memory
from mkdocs_roaming.serve.deployments import Deployment, LocalizedSite
from mkdocs_roaming.serve.encoding import START, AnswerContext, Continuation, PartEncoder, StreamPart, encode_answer
from mkdocs_roaming.serve.log import SeldomLog, public_message, strip_passwords
from mkdocs_roaming.serve.requests import ProblemError, find_page
from mkdocs_roaming.serve.schemas import Question
from mkdocs_roaming.text.tokenizer import is_stop_word, stem

STOPPING = "This service restarts. Please ask again in a moment."
MAX_FOLLOWUPS = 3
"""Maximum number of questions that the site suggests after an answer."""
_SUGGESTING_STATES = ("answered", "partial", "results")
_SAME_QUESTION_SHARE = 0.5  # questions with a larger share of common words are one
_ESTIMATE_FACTOR = 1.25  # providers count up to a quarter more tokens than the estimate of a request
_RESTART_SECONDS = 5.0
_CANCEL_SECONDS = 1.0
"""Time to wait for the end of an answer whose last client left; a model that is cancelled may need longer."""
_ADVICE = {
    "site": "Check that the site is complete and can be read",
    **dict.fromkeys(("key", "credit", "address"), "Check the key, the credit and the address of the model"),
    **dict.fromkeys(("request", "format", "model"), "Check the name and the options of the model"),
    **dict.fromkeys(("empty", "call", "citations"), "`roaming serve --check` shows what the model can do"),
    "size": "Load the model with a larger context, or set context in [model]",
}
"""What an operator can do, by cause."""
_log = logging.getLogger("mkdocs_roaming.serve")


@dataclass(frozen=True, slots=True)
class AnswerConfig:
    """The model, the budget and the search for answers."""

    model: Model
    budget: Budget
    search_factory: SearchFactory = Search


@dataclass(frozen=True, slots=True)
class AnswerRecord:
    """The outcome of a question for one client, for the log and the metrics.

    `cost` is None if it is unknown: the client left early (`abandoned`), or the model's reply broke off.
    `is_shared` is as in `AnswerRequest`; logs and metrics name it `cached`. `first_text_seconds` is the time until the
    first text was sent, None if none was. `site` is the digest of the site.
    """

    question: Question
    model: str
    events: tuple[Event, ...]
    cost: float | None
    seconds: float
    is_shared: bool
    abandoned: bool
    turn: str = ""
    first_text_seconds: float | None = None
    site: str = ""


@dataclass(frozen=True, slots=True)
class AnswerCost:
    """The resources of one answer, counted once however many clients received it.

    `usage` is what the provider reported; `cost` is its price, None without a price list. `completed` is False if the
    answer was cancelled. `failure` is what failed, such as `overload` or `timeout`.
    """

    model: str
    usage: Usage
    cost: float | None
    currency: str
    seconds: float
    completed: bool
    failure: str = ""


@dataclass(slots=True)
class AnswerService:
    """Opens requests for answers from the current deployment of a site.

    `on_record` is called for every question, `on_cost` for every answer that was produced.
    """

    site: LocalizedSite
    config: AnswerConfig
    signer: TokenSigner
    cache: AnswerCache = field(default_factory=AnswerCache, kw_only=True)
    on_record: Callable[[AnswerRecord], None] = field(default=lambda record: None, kw_only=True)
    on_cost: Callable[[AnswerCost], None] = field(default=lambda cost: None, kw_only=True)
    offline_config: AnswerConfig = field(init=False)
    requests: set[AnswerRequest] = field(init=False, default_factory=set)
    failures: SeldomLog = field(init=False, default_factory=SeldomLog)
    _is_draining: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self.offline_config = AnswerConfig(Offline(), Budget())

    def open(self, question: Question, *, offline: bool = False) -> AnswerRequest:
        """Open a request. The caller must close it, even if it reads nothing: other clients may wait for the answer.

        Raises:
            ProblemError: The site cannot be read yet, no page is in the scope, or the server stops.
        """
        if self._is_draining:
            raise ProblemError("stopping", STOPPING, retry_after=_RESTART_SECONDS)
        config = self.offline_config if offline else self.config
        return AnswerRequest(self, question, config, self.site.now(question.language).restrict(question.scope))

    def read_turn(self, turn: str) -> SignedTurn | None:
        """Return the turn of a token, None if it is from no answer of this site, or has expired."""
        return self.signer.verify(turn, self.site_name)

    @property
    def site_name(self) -> str:
        """The name that turns are signed for: one for all languages, which stays the same with the next deployment."""
        site = self.site.main.now().library.manifest.site
        return f"{site.url}\n{site.name}"

    def drain(self, seconds: float) -> None:
        """Open no more requests; end those that are still open after some seconds with an error."""
        self._is_draining = True
        asyncio.get_running_loop().call_later(seconds, self._interrupt)

    def _interrupt(self) -> None:
        if self.requests:
            _log.warning("the time of [serve] drain is over; answers that got an error: %d", len(self.requests))
        for request in self.requests:
            request.interrupt()


class AnswerRequest:
    """The request of one client for an answer: a cached one, one in progress for another client, or a new one."""

    def __init__(
        self, service: AnswerService, question: Question, config: AnswerConfig, deployment: Deployment
    ) -> None:
        self.question = question
        self.deployment = deployment
        self.model = MeteredModel(config.model, config.budget.prices)
        self.record: AnswerRecord | None = None
        self._service = service
        self._config = config
        self._started = monotonic()
        self._site = service.site_name
        sections = deployment.library.sections
        self._memory = restore_memory(question.turns, service.signer, sections, self._site)
        page = find_page(question.page, sections)
        self._page_id = page.id if page else None  # all names of a page are one; an unknown page is none
        self._key: Hashable = None
        if not question.turns:  # the key has all that the answer depends on; the digest of the site covers its rules
            words = " ".join(question.text.split())
            about = (words, self._page_id, question.language, question.scope)
            self._key = (deployment.digest, about, config.model.name, config.budget)
        self._answer = service.cache.join(self._key) if self._key else None
        self.is_shared = self._answer is not None
        """Whether the answer costs this client nothing: it is cached, or runs already for another client."""
        self.is_cached = self._answer is not None and self._answer.task is None
        """Whether the answer was finished before, so that nothing has to be waited for."""
        self._events: list[Event] = []
        self._is_finished = False  # the answer ended by itself and was read to its end
        self._first_text_seconds: float | None = None
        self._continuation: Continuation | None = None

    @property
    def call_cost(self) -> float | None:
        """The maximum cost of a model call, on average, 0 if it is unlimited; None if no provider's model is called."""
        if self.is_shared or self._config.model.name == Offline.name:
            return None
        budget = self._config.budget
        return (budget.cost or 0.0) / budget.rounds

    async def parts(self, ping_seconds: float = inf) -> AsyncGenerator[StreamPart, None]:
        """Yield the parts of the answer as they are produced, and an empty one after each silence of some seconds."""
        self._service.requests.add(self)
        answer = self._join_or_start()
        sections = self.deployment.library.sections
        self._context = AnswerContext(sections, self._conclude, self.is_shared, self._memory.dropped)
        encoder = PartEncoder(self._context)
        try:
            yield START
            async with aclosing(answer.read(ping_seconds)) as events:
                async for event in events:
                    if event is None:
                        yield {}
                        continue
                    self._events.append(without_cost(event) if self.is_shared else event)
                    self._is_finished = isinstance(event, Finished)
                    if self._first_text_seconds is None and isinstance(event, TextReleased):
                        self._first_text_seconds = monotonic() - self._started
                    for part in encoder.encode(self._events[-1]):
                        yield part
            if not self._is_finished:
                for part in encoder.interrupt(STOPPING):
                    yield part
        finally:
            self.close()

    async def complete(self) -> schemas.Answer:
        """Wait for the answer and return it as one object. Raise ProblemError if the server stops before its end."""
        async with aclosing(self.parts()) as parts:
            async for _ in parts:
                pass
        if not self._is_finished:
            raise ProblemError("stopping", STOPPING, retry_after=_RESTART_SECONDS)
        return encode_answer(summarize(self._events), self._context, digest=self.deployment.digest)

    async def cost(self) -> float | None:
        """Return the cost of the answer, at most; None without prices. Wait for its end while other clients read it."""
        if self._answer is None or self.is_shared:
            return 0.0
        patience = inf if self._answer.subscribers else _CANCEL_SECONDS
        with anyio.move_on_after(patience):
            await self._answer.done.wait()
        return self.model.cost()

    def interrupt(self) -> None:
        """End the parts here, with an error."""
        if self._answer is not None:
            self._answer.interrupt()

    def close(self) -> None:
        """Release the answer; without other clients it is cancelled. Further calls have no effect."""
        if self.record is not None:
            return
        if self._answer is not None:
            self._answer.unsubscribe()
        self._service.requests.discard(self)
        abandoned = not self._is_finished
        is_known = not abandoned and not self.is_shared
        self.record = AnswerRecord(
            self.question,
            self._config.model.name,
            tuple(self._events),
            self.model.cost(exact=True) if is_known else None,
            monotonic() - self._started,
            self.is_shared,
            abandoned,
            "" if abandoned else self._conclude().turn,
            self._first_text_seconds,
            self.deployment.digest,
        )
        self._service.on_record(self.record)

    # The answer

    def _join_or_start(self) -> SharedAnswer:
        """Join an equal answer, or start one. Nothing is awaited, so of simultaneous requests only the first starts."""
        cache = self._service.cache
        if self._answer is None and self._key is not None:
            self._answer = cache.join(self._key)  # may have appeared since the request was opened
            self.is_shared = self._answer is not None
        if self._answer is None:
            navigator = self.deployment.navigator(partial(public_message, at="/v1/ask"))
            events = answer(
                self.question.text,
                navigator,
                self.model,
                page=self._page_id,
                opened=self._memory.opened,
                history=self._memory.history,
                budget=self._config.budget,
            )
            self._answer = cache.start(self._key, events, self._on_end)
        return self._answer

    def _on_end(self, events: Sequence[Event]) -> None:
        """Report the end of an answer that this request started. The request may be closed already."""
        end = events[-1] if events else None
        completed = isinstance(end, Finished)
        failure = ""
        if isinstance(end, Finished) and end.error:
            failure = end.cause or "model"
            advice = _ADVICE.get(end.cause, "The provider is at fault; ask again later")
            self._service.failures.warn(f"an answer failed: %s. {advice}", strip_passwords(end.error).rstrip("."))
        usage = sum((event.usage for event in events if isinstance(event, TokensUsed)), NO_USAGE)
        cost = None
        currency = ""
        if prices := self._config.budget.prices:
            cost = prices.cost(usage)
            currency = prices.currency
        seconds = monotonic() - self._started
        self._service.on_cost(AnswerCost(self._config.model.name, usage, cost, currency, seconds, completed, failure))

    def _conclude(self) -> Continuation:
        """Return what follows the answer, always the same."""
        if self._continuation is None:
            result = summarize(self._events)
            cited = [section.id for section in result.citations]
            steps = [section.id for section in result.steps]
            followups: Sequence[str] = ()
            if result.state in _SUGGESTING_STATES:
                asked = [self.question.text, *(exchange.question for exchange in self._memory.history)]
                followups = choose_followups(self.deployment.library.sections, cited + steps, asked)
            token = ""
            if result.memory:
                turn = make_turn(self.question.text, result.memory, steps, cited, self.deployment.digest)
                token = self._service.signer.sign(turn, self._site)
            self._continuation = Continuation(followups, token)
        return self._continuation


# Follow-ups


def choose_followups(sections: SectionIndex, ids: Sequence[str], asked: Sequence[str]) -> list[str]:
    """Return questions of the pages of some sections, without those that were asked already in similar words.

    Args:
        sections: The sections of the site.
        ids: The sections of an answer, the cited ones first.
        asked: The questions of the conversation.
    """
    pages = [ref.page for id_ in ids if (ref := sections.get(id_))]
    questions = dict.fromkeys(question for page in pages for question in page.questions)
    if not questions:
        return []
    language = sections.manifest.site.language
    known = [_question_words(question, language) for question in asked]
    chosen: list[str] = []
    for question in questions:
        words = _question_words(question, language)
        shares = [len(words & known_words) / max(len(words | known_words), 1) for known_words in known]
        if max(shares, default=0.0) <= _SAME_QUESTION_SHARE and len(chosen) < MAX_FOLLOWUPS:
            chosen.append(question)
            known.append(words)
    return chosen


def _question_words(text: str, language: str) -> frozenset[str]:
    words = [word for word in find_words(normalize_text(text)) if not is_stop_word(word, language)]
    return frozenset(stem(word, language) for word in words)


# The cost of one answer. A provider reports the tokens of a reply at its start or at its end. If a client leaves
# before, they are not known, but limited: those of the request, and the maximum output. An answer is charged that.


@dataclass(slots=True)
class _MeteredReply:
    """A reply with the usage that the provider reported. `unbilled` is set if it refused the request."""

    request: ModelRequest
    usage: Usage = NO_USAGE
    ended: bool = False
    unbilled: bool = False


class MeteredModel:
    """A model that meters its replies, for one answer.

    With prices, `on_spend` is awaited before each call, with the highest cost of all replies and of that call. The
    model is not called if it raises.
    """

    def __init__(self, model: Model, prices: Prices | None = None) -> None:
        self.name = model.name
        self.on_spend: Callable[[float], Awaitable[None]] | None = None
        self._model = model
        self._prices = prices
        self._replies: list[_MeteredReply] = []

    def __getattr__(self, name: str) -> Any:
        """Return what the model can do, such as `has_tools`."""
        return getattr(self._model, name)

    async def reply(self, request: ModelRequest) -> AsyncGenerator[Part, None]:
        """Stream the reply of the model."""
        metered = _MeteredReply(request)
        if self.on_spend and self._prices:
            await self.on_spend((self.cost() or 0.0) + self._cost_of(metered, self._prices))
        self._replies.append(metered)
        parts = self._model.reply(request)
        try:
            async for part in parts:
                if isinstance(part, Usage):
                    metered.usage += part
                yield part
            metered.ended = metered.usage != NO_USAGE
        except ModelError as error:
            metered.unbilled = error.unbilled
            raise
        finally:
            if close := getattr(parts, "aclose", None):
                await close()

    def cost(self, *, exact: bool = False) -> float | None:
        """Return the cost of all replies, at most; None without prices.

        An exact cost is None also if the provider did not report the usage of every reply that it bills.
        """
        is_exact = all(reply.ended or reply.unbilled for reply in self._replies)
        if self._prices is None or (exact and not is_exact):
            return None
        return sum(self._cost_of(reply, self._prices) for reply in self._replies)

    def _cost_of(self, reply: _MeteredReply, prices: Prices) -> float:
        if reply.unbilled:
            return 0.0
        usage = reply.usage
        if not reply.ended:
            output = max(usage.output, reply.request.output_tokens + getattr(self._model, "extra_output_tokens", 0))
            if usage.input or usage.cache_read or usage.cache_write:
                usage = Usage(usage.input, usage.cache_read, usage.cache_write, output)
            else:
                tokens = round(estimate_request(reply.request) * _ESTIMATE_FACTOR)
                prices = replace(prices, input=max(prices.input, prices.cache_write))
                usage = Usage(tokens, output=output)
        return prices.cost(usage) or 0.0
