"""The same question without the docs, for comparison: what a model says of itself. Nothing of it is from the docs."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.budget import Budget, Deadline
from mkdocs_roaming.answer.conversation import Exchange
from mkdocs_roaming.answer.events import AnswerState, Event, Finished, RoundStarted, TextUnchecked, TokensUsed
from mkdocs_roaming.answer.loop import ModelReply, StopAnswer
from mkdocs_roaming.answer.models.base import NO_USAGE, AssistantTurn, Model, Part, Request, Text, Usage, UserTurn
from mkdocs_roaming.answer.models.extractive import ExtractiveModel
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.manifest.models import SiteEntry


def answer_without_docs(
    question: str,
    site: SiteEntry,
    model: Model,
    *,
    history: Sequence[Exchange] = (),
    budget: Budget | None = None,
    clock: Callable[[], float] = time.monotonic,
    deadline: Deadline | None = None,
) -> AsyncGenerator[Event, None]:
    """Ask a model what it knows by itself: no outline, no tools, no citations; `Finished` is last, `docs` is False.

    Raises UsageError for the offline model: it has no words of its own.
    """
    if model.name == ExtractiveModel.name:
        raise UsageError("offline quotes the docs and knows nothing else: choose another model to ask without them")
    budget = budget or Budget()
    return _events(question, site, model, history, budget, deadline or Deadline(budget.seconds, clock))


async def _events(
    question: str,
    site: SiteEntry,
    model: Model,
    history: Sequence[Exchange],
    budget: Budget,
    deadline: Deadline,
) -> AsyncGenerator[Event, None]:
    turns = [turn for one in history for turn in (UserTurn(one.question), AssistantTurn(strip_citations(one.answer)))]
    request = Request(
        rules=prompts.rules_without_docs(site),
        outline="",
        turns=(*turns, UserTurn(question)),
        output_tokens=budget.output_tokens,
        language=site.language,
    )
    said = _Said()
    state: AnswerState
    spent = error = ""
    yield RoundStarted(1, 1)
    try:
        reply = ModelReply(model, request, deadline)
        try:
            while (part := await reply.part()) is not None:
                reply.keep(part)
                for event in said.take(part):
                    yield event
        finally:
            await reply.close()
        state, spent = _end(reply)
    except StopAnswer as ended:
        state, spent, error = ended.state, ended.spent, ended.error
    for event in said.end():
        yield event
    yield Finished(
        state="answered" if state == "not_found" and said.anything else state,
        model=model.name,
        rounds=1,
        usage=said.usage,
        spent=spent,
        error=error,
        cost=budget.prices.cost(said.usage) if budget.prices else None,
        currency=budget.prices.currency if budget.prices else "",
        docs=False,
    )


def _end(reply: ModelReply) -> tuple[AnswerState, str]:
    if reply.stop.reason == "refusal":
        return "refused", ""
    if reply.stop.reason == "length" or reply.endless:
        return "budget", "output"
    return "not_found", ""


class _Said:
    """The text as it comes, line by line, without anything that looks like a citation."""

    def __init__(self) -> None:
        self.usage = NO_USAGE
        self.anything = False
        self._waiting = ""

    def take(self, part: Part) -> Iterator[Event]:
        if isinstance(part, Usage):
            self.usage += part
            yield TokensUsed(part)
        elif isinstance(part, Text):
            self._waiting += part.text
            whole, line, self._waiting = self._waiting.rpartition("\n")
            yield from self._tell(whole + line)

    def end(self) -> Iterator[Event]:
        yield from self._tell(self._waiting)
        self._waiting = ""

    def _tell(self, text: str) -> Iterator[Event]:
        text = strip_citations(text)
        if not self.anything:
            text = text.lstrip()
        if text:
            self.anything = True
            yield TextUnchecked(text)


def strip_citations(text: str) -> str:
    """Give text without citations, which would be of nothing that was read; `[^a-z]` in an expression is none."""
    before = ""
    while text != before:  # what is taken out may leave a mark behind
        text, before = _CITATION.sub("", text), text
    return text


_CITATION = re.compile(r"[ \t]*\[\^(?:[0-9a-f]{8}|none|[0-9]{1,3})\]:?", re.IGNORECASE)
