"""Traces: recording of an answer with everything that led to it, as a JSON file; and of a first request, for its cost.

A trace contains no times, so equal answers have equal traces.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace as replace_struct

from mkdocs_roaming._version import __version__
from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.budget import SMALL_SITE_TOKENS, Budget, CostEstimate, StopAnswer
from mkdocs_roaming.answer.conversation import Exchange, check_question
from mkdocs_roaming.answer.events import Answer, Event, summarize
from mkdocs_roaming.answer.loop import answer
from mkdocs_roaming.answer.models.base import Model, Part, Request, Stop, ToolCall, ToolTurn, UserTurn
from mkdocs_roaming.files import write_text_file
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.tools import render
from mkdocs_roaming.text.tokenizer import estimate_tokens

FORMAT = "roaming-trace"
VERSION = 2
_MAX_ARGUMENT_DEPTH = 60


@dataclass(slots=True)
class RecordedReply:
    """One reply of the model.

    Attributes:
        note: The note of the request.
        parts: The parts of the reply, in order.
        error: The error that ended the reply.
    """

    note: str
    parts: list[Part] = field(default_factory=list)
    error: str = ""


@dataclass(frozen=True, slots=True)
class Trace:
    """One answer.

    Attributes:
        question: The question.
        site: Name of the site.
        url: URL of the site.
        digest: Digest of the manifest.
        model: Name of the model.
        budget: Limits of the answer.
        whole_site_tokens: A site with fewer estimated tokens is read whole.
        page: The reader's page.
        opened: The sections that were open before the question.
        history: Earlier questions and answers.
        replies: The replies of the model.
        events: The events.
        answer: The complete answer.
    """

    question: str
    site: str
    url: str
    digest: str
    model: str
    budget: Budget
    whole_site_tokens: int
    page: str | None
    opened: tuple[str, ...]
    history: tuple[Exchange, ...]
    replies: tuple[RecordedReply, ...]
    events: tuple[Event, ...]
    answer: Answer


def dump_traces(traces: Sequence[Trace]) -> str:
    """Return the JSON file with the traces of a conversation's answers, in order."""
    data = {
        "format": FORMAT,
        "version": VERSION,
        "generator": f"mkdocs-roaming {__version__}",
        "answers": [to_json(trace) for trace in traces],
    }
    return json.dumps(data, ensure_ascii=False, indent=1).encode("utf-8", "backslashreplace").decode() + "\n"


def write_trace(path: Path, traces: Sequence[Trace]) -> None:
    """Write a trace file atomically.

    Raises:
        UsageError: The file cannot be written.
    """
    write_text_file(path, dump_traces(traces))


def to_json(value: object) -> Any:
    """Return dataclasses and structs as JSON data; objects of other types become their `repr`."""
    return msgspec.to_builtins(value, str_keys=True, enc_hook=repr)


@dataclass(slots=True)
class Recording:
    """One answer and its trace: iterate over `events()` as over `answer`, then call `trace()`.

    The attributes are the arguments of `answer`, without its clock.
    """

    question: str
    navigator: Navigator
    model: Model
    page: str | None = None
    opened: Sequence[str] = ()
    history: Sequence[Exchange] = ()
    budget: Budget = field(default_factory=Budget)
    whole_site_tokens: int = SMALL_SITE_TOKENS
    _replies: list[RecordedReply] = field(default_factory=list, init=False)
    _events: list[Event] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        """Note which sections are open now: the answer opens more."""
        self.opened = tuple(self.opened) or self.navigator.opened

    def events(self) -> AsyncGenerator[Event, None]:
        """Start the answer.

        Raises:
            UsageError: The question is empty or too long.
        """
        check_question(self.question)
        return self._record(
            answer(
                self.question,
                self.navigator,
                RecordingModel(self.model, self._replies),
                page=self.page,
                opened=self.opened,
                history=self.history,
                budget=self.budget,
                whole_site_tokens=self.whole_site_tokens,
            )
        )

    def trace(self) -> Trace:
        """Return the trace of the events so far."""
        manifest = self.navigator.library.manifest
        return Trace(
            question=self.question,
            site=manifest.site.name,
            url=manifest.site.url,
            digest=manifest.digest,
            model=self.model.name,
            budget=self.budget,
            whole_site_tokens=self.whole_site_tokens,
            page=self.page,
            opened=tuple(self.opened),
            history=tuple(self.history),
            replies=tuple(self._replies),
            events=tuple(self._events),
            answer=summarize(self._events),
        )

    async def _record(self, events: AsyncGenerator[Event, None]) -> AsyncGenerator[Event, None]:
        async with aclosing(events):
            async for event in events:
                self._events.append(event)
                yield event


class RecordingModel:
    """Records the replies of another model."""

    def __init__(self, model: Model, replies: list[RecordedReply]) -> None:
        """Wrap a model; its replies are added to the list."""
        self.name = model.name
        self._model, self._replies = model, replies

    async def reply(self, request: Request) -> AsyncIterator[Part]:
        """Stream the reply of the other model."""
        record = RecordedReply(request.note)
        self._replies.append(record)
        parts: AsyncIterator[Part] | None = None
        try:
            parts = self._model.reply(request)
            async for part in parts:
                if isinstance(part, ToolCall):
                    part = replace_struct(part, arguments=_limit_depth(part.arguments))
                record.parts.append(Stop(part.reason) if isinstance(part, Stop) else part)
                yield part
        except Exception as error:
            record.error = StopAnswer.from_error(error, self.name).error
            raise
        finally:
            if close := getattr(parts, "aclose", None):
                await close()


def _limit_depth(value: Any, depth: int = 0) -> Any:
    """Return JSON data without deeper levels: a model may nest more than can be written."""
    if depth > _MAX_ARGUMENT_DEPTH:
        return "…"
    if isinstance(value, dict):
        return {str(name): _limit_depth(item, depth + 1) for name, item in value.items()}
    return [_limit_depth(item, depth + 1) for item in value] if isinstance(value, (list, tuple)) else value


# The first request


async def estimate_cost(
    question: str,
    navigator: Navigator,
    budget: Budget,
    *,
    page: str | None = None,
    whole_site_tokens: int = SMALL_SITE_TOKENS,
) -> CostEstimate:
    """Return the estimated cost of a question, from its first request. No model is called.

    Args:
        question: The question.
        navigator: Opens and searches the site. Nothing is opened in it.
        budget: Limits and prices of the answer.
        page: The reader's page: an id, a path or a URL.
        whole_site_tokens: A site with fewer estimated tokens is read whole.
    """
    model = _RequestRecorder()
    own = navigator.fork(navigator.cap)
    async with aclosing(
        answer(question, own, model, page=page, budget=budget, whole_site_tokens=whole_site_tokens)
    ) as events:
        async for _ in events:
            pass
    if (request := model.request) is None:
        return CostEstimate.from_sizes(0, 0, budget, whole_site=False)  # the site cannot be read
    fixed, turns = estimate_request(request)
    return CostEstimate.from_sizes(fixed, turns, budget, whole_site=bool(request.site))


def estimate_request(request: Request) -> tuple[int, int]:
    """Return the estimated tokens of the fixed part of a request, and of its conversation."""
    tools = json.dumps([[tool.name, tool.description, tool.parameters] for tool in request.tools])
    fixed = sum(map(estimate_tokens, (request.rules, request.outline, tools if request.tools else "")))
    return fixed, _measure_turns(request)


def _measure_turns(request: Request) -> int:
    """Return the estimated tokens of the conversation in a request."""
    texts: list[str] = [request.note]
    for turn in request.turns:
        match turn:
            case UserTurn():
                texts.append(prompts.format_question(turn))
            case ToolTurn():
                texts += [render(result.result) for result in turn.results]
            case _:
                texts += [turn.text, *(json.dumps(to_json(call.arguments)) for call in turn.calls)]
    return sum(map(estimate_tokens, texts))


class _RequestRecorder:
    """A model that records its first request and declines to answer."""

    name = "recorder"
    request: Request | None = None

    async def reply(self, request: Request) -> AsyncIterator[Part]:
        self.request = request
        yield Stop("refusal")
