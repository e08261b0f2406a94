"""Answers while they are recorded, and recordings while they are played again."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TypeVar

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.baseline import answer_without_docs
from mkdocs_roaming.answer.budget import SMALL_SITE_TOKENS, Budget, Deadline, DeadlineExceededError
from mkdocs_roaming.answer.conversation import Exchange, check_question
from mkdocs_roaming.answer.events import Event, summarize
from mkdocs_roaming.answer.loop import StopAnswer, answer, stop_from_error
from mkdocs_roaming.answer.models.base import Model, Part, Request, Stop
from mkdocs_roaming.answer.trace import RecordedReply, Trace, compute_digest, dump_traces, to_json
from mkdocs_roaming.library.navigator import Navigator


class Recording:
    """One answer, recorded: `events()` is listened to as `answer` is, then `trace()` has it all."""

    def __init__(
        self,
        question: str,
        navigator: Navigator,
        model: Model,
        *,
        docs: bool = True,
        page: str | None = None,
        opened: Sequence[str] = (),
        history: Sequence[Exchange] = (),
        budget: Budget | None = None,
        whole_site_tokens: int = SMALL_SITE_TOKENS,
        clock: Callable[[], float] = time.monotonic,
        deadline: Deadline | None = None,
    ) -> None:
        self._question, self._navigator, self._model = question, navigator, RecordingModel(model)
        self._docs, self._page, self._whole_site_tokens = docs, page, whole_site_tokens
        self._opened, self._history = tuple(opened) or navigator.opened, tuple(history)
        self._budget = budget or Budget()
        self._deadline = deadline or Deadline(self._budget.seconds, clock)
        self._events: list[Event] = []

    def events(self) -> AsyncGenerator[Event, None]:
        """Answer; raises UsageError where that cannot even begin."""
        check_question(self._question)
        if not self._docs:
            return self._kept(
                answer_without_docs(
                    self._question,
                    self._navigator.library.manifest.site,
                    self._model,
                    history=self._history,
                    budget=self._budget,
                    deadline=self._deadline,
                )
            )
        return self._kept(
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
        """Give the trace; of an answer that was left early, as far as it came."""
        manifest = self._navigator.library.manifest
        return Trace(
            question=self._question,
            site=manifest.site.name,
            url=manifest.site.url,
            digest=manifest.digest,
            model=self._model.name,
            budget=self._budget,
            replies=tuple(told.told() for told in self._model.heard),
            events=tuple(self._events),
            answer=summarize(self._events),
            outline=self._model.outline,
            page=self._page,
            docs=self._docs,
            whole_site_tokens=self._whole_site_tokens,
            opened=self._opened,
            history=self._history,
            read=self._navigator.opened if self._docs else (),
            out_of_time=self._deadline.ran_out,
        )

    async def _kept(self, events: AsyncGenerator[Event, None]) -> AsyncGenerator[Event, None]:
        async with aclosing(events):
            async for event in events:
                self._events.append(event)
                yield event


class RecordingModel:
    """A model whose requests and replies are kept, whatever model it is."""

    def __init__(self, model: Model) -> None:
        self.name = model.name
        self.heard: list[OpenRecord] = []
        self.outline = ""
        """The digest of the outline or site that the model was told."""
        self._model = model

    async def reply(self, request: Request) -> AsyncIterator[Part]:
        """Stream the model's reply."""
        self.outline = compute_digest(request.outline) if request.outline else ""
        hearing = OpenRecord(compute_digest(request), request.note)
        self.heard.append(hearing)
        parts: AsyncIterator[Part] | None = None
        try:
            parts = self._model.reply(request)
            async for part in parts:
                hearing.parts.append(Stop(part.reason) if isinstance(part, Stop) else part)
                yield part
        except Exception as error:
            hearing.error = error.error if isinstance(error, StopAnswer) else stop_from_error(error, self.name).error
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

    def told(self) -> RecordedReply:
        """Give it as a trace has it."""
        return RecordedReply(self.request, tuple(self.parts), self.note, self.note == prompts.TIME, self.error)


# Playing it again


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """A recording played again: what came of it, and in what it differs, nothing where it does not."""

    trace: Trace
    differences: tuple[str, ...]


async def replay_trace(recorded: Trace, navigator: Navigator) -> ReplayResult:
    """Play a recording again, against the site as it is now; no model is asked."""
    recording = Recording(
        recorded.question,
        navigator,
        _Player(recorded),
        docs=recorded.docs,
        page=recorded.page,
        opened=recorded.opened,
        history=recorded.history,
        budget=recorded.budget,
        whole_site_tokens=recorded.whole_site_tokens,
        deadline=_RecordedTime(recorded),
    )
    async with aclosing(recording.events()) as events:
        async for _ in events:
            pass
    now = recording.trace()
    found = tuple(_differences(recorded, now))
    if not found and dump_traces([recorded]) != dump_traces([now]):
        names = [name for name, value in to_json(now).items() if to_json(recorded).get(name) != value]
        found = (f"not the same: {', '.join(names)}",)
    return ReplayResult(now, found)


class _Player:
    """Says again what was recorded."""

    def __init__(self, recorded: Trace) -> None:
        self.name = recorded.model
        self._replies = iter(recorded.replies)

    async def reply(self, request: Request) -> AsyncIterator[Part]:
        told = next(self._replies, None)
        if told is None:
            raise StopAnswer("error", error="the recording has no further reply")
        for part in told.parts:
            yield part
        if told.error:
            raise StopAnswer("error", error=told.error)


_T = TypeVar("_T")


class _RecordedTime(Deadline):
    """Time as it was: nearly up where it was told to be, up in the same wait."""

    def __init__(self, recorded: Trace) -> None:
        super().__init__(recorded.budget.seconds, lambda: 0.0)
        self._late = iter([told.late for told in recorded.replies])
        self._up = recorded.out_of_time

    @property
    def used(self) -> float:
        return float(next(self._late, False))

    async def wait(self, wait: Callable[[], Awaitable[_T]]) -> _T:
        self.waits += 1
        if self._up is not None and self.waits >= self._up:
            self.ran_out = self._up
            raise DeadlineExceededError
        return await wait()


def _differences(then: Trace, now: Trace) -> Iterator[str]:
    """Tell where two traces part, the causes first."""
    if then.digest != now.digest:
        yield f"the site changed: its digest was {_short(then.digest)}, it is {_short(now.digest)}"
    if then.outline != now.outline:
        yield f"what the model reads first was {_short(then.outline)}, it is {_short(now.outline)}"
    for at, (one, other) in enumerate(zip(then.replies, now.replies, strict=False), 1):
        if one.request != other.request:
            yield f"request {at} was {_short(one.request)}, it is {_short(other.request)}"
            break
    if len(then.replies) != len(now.replies):
        yield f"the model was asked {len(then.replies)} times, it is asked {len(now.replies)} times"
    yield from _first_different("event", [_line(event) for event in then.events], [_line(one) for one in now.events])
    yield from _first_different("line of the answer", then.answer.text.split("\n"), now.answer.text.split("\n"))


def _first_different(what: str, then: Sequence[str], now: Sequence[str]) -> Iterator[str]:
    for at in range(max(len(then), len(now))):
        was = then[at] if at < len(then) else "nothing"
        there_is = now[at] if at < len(now) else "nothing"
        if was != there_is:
            yield f"{what} {at + 1} was {_around(was, there_is)}, it is {_around(there_is, was)}"
            return


def _line(event: Event) -> str:
    return f"{type(event).__name__} {json.dumps(to_json(event), ensure_ascii=False)}"


def _around(text: str, other: str) -> str:
    """Give so much of a text as shows where it parts from another."""
    if len(text) <= _LONGEST:
        return text
    same = next((at for at, (one, two) in enumerate(zip(text, other, strict=False)) if one != two), 0)
    start = max(0, min(same - _LONGEST // 2, len(text) - _LONGEST))
    return ("…" if start else "") + text[start : start + _LONGEST] + ("…" if start + _LONGEST < len(text) else "")


def _short(digest: str) -> str:
    return digest[:19] or "none"


_LONGEST = 160
