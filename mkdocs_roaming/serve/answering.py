"""A question in, an answer's parts out: what the endpoint does, whatever server it is built into.

hearing = desk.hear(question)
async with aclosing(hearing.parts()) as parts:
    async for part in parts: ...
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from time import monotonic

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.events import Event, Finished, Reference, RoundStarted, TokensUsed, summarise
from mkdocs_roaming.answer.loop import WHOLE_SITE, answer
from mkdocs_roaming.answer.models import UNUSED, Model
from mkdocs_roaming.answer.models.offline import Offline
from mkdocs_roaming.serve.answers import Answers, how_of, key_of
from mkdocs_roaming.serve.deployments import Deployment
from mkdocs_roaming.serve.languages import Languages
from mkdocs_roaming.serve.objects import Around, Part, whole
from mkdocs_roaming.serve.question import Question, page_of
from mkdocs_roaming.serve.redaction import without_passwords
from mkdocs_roaming.serve.stream import parts
from mkdocs_roaming.serve.turns import Memory, Signer, remember, turn_of

_log = logging.getLogger("mkdocs_roaming.serve")


@dataclass(frozen=True, slots=True)
class Way:
    """How questions are answered: by which model, within which budget, and which sites are read whole."""

    model: Model
    budget: Budget
    whole_site_tokens: int = WHOLE_SITE


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an answer, told when it is over. What one costs that its reader `left` early, nobody knows, nor
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


class Desk:
    """Where questions are taken. `tell` is told what came of every answer, be it left in the middle or not."""

    def __init__(
        self,
        site: Languages,
        way: Way,
        signer: Signer,
        *,
        answers: Answers | None = None,
        tell: Callable[[Outcome], None] = lambda outcome: None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.site = site
        self.way = way
        self.offline = Way(Offline(), Budget(), way.whole_site_tokens)
        self.signer = signer
        self.answers = answers if answers is not None else Answers()
        self.tell = tell
        self.clock = clock

    def hear(self, question: Question, *, offline: bool = False) -> Hearing:
        """Take a question; the site as it stands now is what it is answered from. Raises Refused without a site."""
        return Hearing(self, question, self.offline if offline else self.way, self.site.now(question.language))


class Hearing:
    """One question while it is answered."""

    def __init__(self, desk: Desk, question: Question, way: Way, deployment: Deployment) -> None:
        self._desk, self.question, self._way, self.deployment = desk, question, way, deployment
        places = deployment.library.places
        self._memory = remember(question.turns, desk.signer, places) if question.turns else Memory()
        self._page = page_of(question.page, places)
        self._key = key_of(question, self._page, deployment.digest, way.model.name, _how(way, deployment))
        self._kept = None if question.turns else desk.answers.get(self._key)
        self._events: list[Event] = []
        self._turn: str | None = None
        self.outcome: Outcome | None = None

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
        """Whether the answer is there already: giving it costs nothing."""
        return self._kept is not None

    async def parts(self) -> AsyncGenerator[Part, None]:
        """Give the parts of the answer as they come about."""
        async with aclosing(parts(self.events(), self._around())) as told:
            async for part in told:
                yield part

    async def whole(self) -> Part:
        """Give the answer as one object."""
        async with aclosing(self.events()) as events:
            async for _ in events:
                pass
        return whole(summarise(self._events), self._around(), digest=self.deployment.digest)

    async def events(self) -> AsyncGenerator[Event, None]:
        """Give what happens, `Finished` last."""
        began = self._desk.clock()
        try:
            if self._kept is not None:
                for event in self._kept:
                    self._events.append(event)
                    yield event
                return
            async with aclosing(self._answer()) as events:
                async for event in events:
                    self._events.append(event)
                    yield event
            if not self.question.turns:
                self._desk.answers.keep(self._key, self._events)
        finally:
            self._tell(self._desk.clock() - began)

    def _answer(self) -> AsyncGenerator[Event, None]:
        question, way = self.question, self._way
        return answer(
            question.text,
            self.deployment.navigator(),
            way.model,
            page=self._page.id if self._page else None,
            opened=self._memory.opened,
            history=self._memory.history,
            budget=way.budget,
            whole_site_tokens=way.whole_site_tokens,
        )

    # What is told beside the events

    def _around(self) -> Around:
        return Around(self._refer, self._sign, self.cached, self._memory.dropped)

    def _refer(self, address: str) -> Reference | None:
        places = self.deployment.library.places
        place = places.get(address.lower()) or places.address(address)
        if place is None:
            return None
        section = place.section
        return Reference(place.id, section.title, places.breadcrumb(place), places.url(place), section.tokens)

    def _sign(self) -> str:
        """Give the signed turn; none of a failure, a refusal, or where nothing was said at all."""
        if self._turn is None:
            result = summarise(self._events)
            said = result.text or (prompts.NO_ANSWER_HERE if result.state == "not_found" else "")
            trail, cited = ([one.id for one in sections] for sections in (result.trail, result.citations))
            turn = turn_of(self.question.text, said, trail, cited, self.deployment.digest)
            self._turn = self._desk.signer.sign(turn) if said and result.state in _REMEMBERED else ""
        return self._turn

    def _tell(self, seconds: float) -> None:
        end = self._events[-1] if self._events else None
        finished = end if isinstance(end, Finished) else None
        if finished is not None and finished.error:
            _log.warning("an answer failed: %s", without_passwords(finished.error))
        used = sum((event.usage for event in self._events if isinstance(event, TokensUsed)), UNUSED)
        prices = self._way.budget.prices
        cost = None if self.cached or prices is None else prices.cost(used)
        if not self.cached and (cost or 0.0) <= self.most and not _all_counted(self._events):
            cost = None
        name, left = self._way.model.name, finished is None
        self.outcome = Outcome(
            self.question,
            name,
            tuple(self._events),
            None if left else cost,
            seconds,
            self.cached,
            left,
            "" if left else self._sign(),
        )
        self._desk.tell(self.outcome)


def _how(way: Way, deployment: Deployment) -> str:
    budget, whole_site_tokens, manifest = way.budget, way.whole_site_tokens, deployment.library.manifest
    return deployment.library.kept(
        ("how", budget, whole_site_tokens), lambda: how_of(manifest, budget, whole_site_tokens)
    )


def _all_counted(events: Sequence[Event]) -> bool:
    """Tell whether every reply was counted and heard to its end: what one cost that broke off nobody knows."""
    end = events[-1] if events else None
    if not isinstance(end, Finished) or end.state == "error" or end.spent == "seconds":
        return False
    rounds: list[bool] = []
    for event in events:
        if isinstance(event, RoundStarted):
            rounds.append(False)
        elif isinstance(event, TokensUsed) and rounds:
            rounds[-1] = True
    return all(rounds)


_REMEMBERED = frozenset({"answered", "partial", "not_found", "budget"})
