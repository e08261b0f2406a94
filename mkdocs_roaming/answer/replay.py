"""Recording of answers as traces, and replay of traces without a model."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from msgspec.structs import replace as replace_struct

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.budget import SMALL_SITE_TOKENS, Budget, Deadline, DeadlineExceededError, StopAnswer
from mkdocs_roaming.answer.conversation import Exchange, check_question
from mkdocs_roaming.answer.events import Event, summarize
from mkdocs_roaming.answer.loop import answer
from mkdocs_roaming.answer.models.base import AssistantTurn, Model, Part, Request, Stop, ToolCall
from mkdocs_roaming.answer.trace import RecordedReply, Trace, compute_digest, dump_traces, to_json
from mkdocs_roaming.library.navigator import Navigator

T = TypeVar("T")

_MAX_SHOWN_CHARS = 160
_MAX_ARGUMENT_DEPTH = 60


class Recording:
    """One answer and its trace: iterate over `events()` as over `answer`, then call `trace()`."""

    def __init__(
        self,
        question: str,
        navigator: Navigator,
        model: Model,
        *,
        page: str | None = None,
        opened: Sequence[str] = (),
        history: Sequence[Exchange] = (),
        budget: Budget | None = None,
        whole_site_tokens: int = SMALL_SITE_TOKENS,
        clock: Callable[[], float] = time.monotonic,
        deadline: Deadline | None = None,
    ) -> None:
        """Prepare an answer; the arguments are those of `answer`."""
        self._question, self._navigator, self._model = question, navigator, RecordingModel(model)
        self._page, self._whole_site_tokens = page, whole_site_tokens
        self._opened, self._history = tuple(opened) or navigator.opened, tuple(history)
        self._budget = budget or Budget()
        self._deadline = deadline or Deadline(self._budget.seconds, clock)
        self._events: list[Event] = []

    def events(self) -> AsyncGenerator[Event, None]:
        """Start the answer.

        Raises:
            UsageError: The question is empty or too long.
        """
        check_question(self._question)
        return self._record(
            answer(
                self._question,
                self._navigator,
                self._model,
                page=self._page,
                opened=self._opened,
                history=self._history,
                budget=self._budget,
                whole_site_tokens=self._whole_site_tokens,
                deadline=self._deadline,
            )
        )

    def trace(self) -> Trace:
        """Return the trace of the events so far."""
        manifest = self._navigator.library.manifest
        return Trace(
            question=self._question,
            site=manifest.site.name,
            url=manifest.site.url,
            digest=manifest.digest,
            model=self._model.name,
            budget=self._budget,
            replies=tuple(reply.finish() for reply in self._model.replies),
            events=tuple(self._events),
            answer=summarize(self._events),
            outline=self._model.outline_digest,
            page=self._page,
            whole_site_tokens=self._whole_site_tokens,
            opened=self._opened,
            history=self._history,
            read=self._navigator.opened,
            out_of_time=self._deadline.expired_in,
        )

    async def _record(self, events: AsyncGenerator[Event, None]) -> AsyncGenerator[Event, None]:
        async with aclosing(events):
            async for event in events:
                self._events.append(event)
                yield event


class RecordingModel:
    """Records the replies of another model.

    Attributes:
        name: Name of the other model.
        replies: The replies so far.
        outline_digest: Digest of the outline, or of the text of a small site.
    """

    def __init__(self, model: Model) -> None:
        """Wrap a model."""
        self.name = model.name
        self.replies: list[OpenRecord] = []
        self.outline_digest = ""
        self._model = model

    async def reply(self, request: Request) -> AsyncIterator[Part]:
        """Stream the reply of the other model."""
        self.outline_digest = compute_digest(request.outline) if request.outline else ""
        record = OpenRecord(_digest_request(request), request.note)
        self.replies.append(record)
        parts: AsyncIterator[Part] | None = None
        try:
            parts = self._model.reply(request)
            async for part in parts:
                if isinstance(part, ToolCall):
                    part = replace_struct(part, arguments=_limit_depth(part.arguments))
                record.parts.append(Stop(part.reason) if isinstance(part, Stop) else part)
                yield part
        except Exception as error:
            stop = error if isinstance(error, StopAnswer) else StopAnswer.from_error(error, self.name)
            record.error = stop.error
            raise
        finally:
            if close := getattr(parts, "aclose", None):
                await close()


@dataclass(slots=True)
class OpenRecord:
    """A reply while it is recorded."""

    request: str
    note: str
    parts: list[Part] = field(default_factory=list)
    error: str = ""

    def finish(self) -> RecordedReply:
        """Return the reply for the trace."""
        late = self.note == prompts.LITTLE_TIME
        return RecordedReply(self.request, tuple(self.parts), self.note, late, self.error)


def _digest_request(request: Request) -> str:
    """Return the digest of a request without provider state, which may contain anything."""
    turns = tuple(
        replace(turn, provider_state=None) if isinstance(turn, AssistantTurn) else turn for turn in request.turns
    )
    return compute_digest(replace(request, turns=turns))


def _limit_depth(value: Any, depth: int = 0) -> Any:
    """Return JSON data without deeper levels: a model may nest more than can be written."""
    if depth > _MAX_ARGUMENT_DEPTH:
        return "…"
    if isinstance(value, dict):
        return {str(name): _limit_depth(item, depth + 1) for name, item in value.items()}
    return [_limit_depth(item, depth + 1) for item in value] if isinstance(value, (list, tuple)) else value


# Replay


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """The trace of a replay, and its differences from the recorded trace."""

    trace: Trace
    differences: tuple[str, ...]


async def replay_trace(recorded: Trace, navigator: Navigator) -> ReplayResult:
    """Answer again with the recorded replies, on the site as it is now."""
    recording = Recording(
        recorded.question,
        navigator,
        _RecordedModel(recorded),
        page=recorded.page,
        opened=recorded.opened,
        history=recorded.history,
        budget=recorded.budget,
        whole_site_tokens=recorded.whole_site_tokens,
        deadline=_RecordedDeadline(recorded),
    )
    async with aclosing(recording.events()) as events:
        async for _ in events:
            pass
    trace = recording.trace()
    differences = tuple(_find_differences(recorded, trace))
    if not differences and dump_traces([recorded]) != dump_traces([trace]):
        names = [name for name in trace.__struct_fields__ if getattr(trace, name) != getattr(recorded, name)]
        differences = (f"different fields: {', '.join(names)}",)
    return ReplayResult(trace, differences)


class _RecordedModel:
    """Repeats the recorded replies."""

    def __init__(self, recorded: Trace) -> None:
        self.name = recorded.model
        self._replies = iter(recorded.replies)

    async def reply(self, request: Request) -> AsyncIterator[Part]:
        reply = next(self._replies, None)
        if reply is None:
            raise StopAnswer("error", error="the trace has no further reply")
        for part in reply.parts:
            yield part
        if reply.error:
            raise StopAnswer("error", error=reply.error)


class _RecordedDeadline(Deadline):
    """Repeats the recorded time: nearly over in the same requests, and over in the same operation."""

    def __init__(self, recorded: Trace) -> None:
        super().__init__(recorded.budget.seconds, lambda: 0.0)
        self._late = iter([reply.late for reply in recorded.replies])
        self._recorded_expired_in = recorded.out_of_time

    @property
    def used_share(self) -> float:
        return float(next(self._late, False))

    async def run(self, operation: Callable[[], Awaitable[T]]) -> T:
        self.operations += 1
        if self._recorded_expired_in is not None and self.operations >= self._recorded_expired_in:
            self.expired_in = self._recorded_expired_in
            raise DeadlineExceededError
        return await operation()


def _find_differences(recorded: Trace, replayed: Trace) -> Iterator[str]:
    """Yield the differences, causes before consequences."""
    if recorded.digest != replayed.digest:
        yield f"the site changed: its digest was {_shorten(recorded.digest)}, it is {_shorten(replayed.digest)}"
    if recorded.outline != replayed.outline:
        yield f"the outline was {_shorten(recorded.outline)}, it is {_shorten(replayed.outline)}"
    for number, (before, after) in enumerate(zip(recorded.replies, replayed.replies, strict=False), 1):
        if before.request != after.request:
            yield f"request {number} was {_shorten(before.request)}, it is {_shorten(after.request)}"
            break
    if len(recorded.replies) != len(replayed.replies):
        yield f"the model was asked {len(recorded.replies)} times, it is asked {len(replayed.replies)} times"
    yield from _first_difference("event", _format_events(recorded), _format_events(replayed))
    yield from _first_difference(
        "line of the answer", recorded.answer.text.split("\n"), replayed.answer.text.split("\n")
    )


def _first_difference(what: str, recorded: Sequence[str], replayed: Sequence[str]) -> Iterator[str]:
    for index in range(max(len(recorded), len(replayed))):
        before = recorded[index] if index < len(recorded) else "nothing"
        after = replayed[index] if index < len(replayed) else "nothing"
        if before != after:
            yield f"{what} {index + 1} was {_cut_around(before, after)}, it is {_cut_around(after, before)}"
            return


def _format_events(trace: Trace) -> list[str]:
    return [f"{type(event).__name__} {json.dumps(to_json(event), ensure_ascii=False)}" for event in trace.events]


def _cut_around(text: str, other: str) -> str:
    """Return the part of a text around its first difference from another."""
    if len(text) <= _MAX_SHOWN_CHARS:
        return text
    same = next((index for index, pair in enumerate(zip(text, other, strict=False)) if pair[0] != pair[1]), 0)
    start = max(0, min(same - _MAX_SHOWN_CHARS // 2, len(text) - _MAX_SHOWN_CHARS))
    end = start + _MAX_SHOWN_CHARS
    return ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")


def _shorten(digest: str) -> str:
    return digest[:19] or "none"
