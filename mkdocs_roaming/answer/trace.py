"""Traces: recording of an answer with everything that led to it, as a JSON file, and replay without a model.

A trace contains no times, so equal answers have equal traces.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace as replace_struct

from mkdocs_roaming._version import __version__
from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.budget import SMALL_SITE_TOKENS, Budget, Deadline, DeadlineExceededError, StopAnswer
from mkdocs_roaming.answer.conversation import Exchange, check_question
from mkdocs_roaming.answer.events import Answer, Event, summarize
from mkdocs_roaming.answer.loop import answer
from mkdocs_roaming.answer.models.base import AssistantTurn, Model, Part, Request, Stop, ToolCall
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.publish.files import write_text_file

T = TypeVar("T")

FORMAT = "roaming-trace"
VERSION = 1
_MAX_SHOWN_CHARS = 160
_MAX_ARGUMENT_DEPTH = 60


class RecordedReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """One reply of the model.

    Attributes:
        request: Digest of the request.
        parts: The parts of the reply, in order.
        note: The note of the request.
        late: Whether the note said that the time was nearly over.
        error: The error that ended the reply.
    """

    request: str
    parts: tuple[Part, ...]
    note: str = ""
    late: bool = False
    error: str = ""


class Trace(msgspec.Struct, frozen=True, omit_defaults=True):
    """One answer.

    Attributes:
        question: The question.
        site: Name of the site.
        url: URL of the site.
        digest: Digest of the manifest.
        model: Name of the model.
        budget: Limits of the answer.
        replies: The replies of the model.
        events: The events.
        answer: The complete answer.
        outline: Digest of the outline, or of the text of a small site.
        page: The reader's page.
        whole_site_tokens: A site with fewer estimated tokens was read whole.
        opened: The sections that were open before the question.
        history: Earlier questions and answers.
        read: The sections whose text was shown to the model.
        out_of_time: Number of the operation in which the time was over; None if it was not.
    """

    question: str
    site: str
    url: str
    digest: str
    model: str
    budget: Budget
    replies: tuple[RecordedReply, ...]
    events: tuple[Event, ...]
    answer: Answer
    outline: str = ""
    page: str | None = None
    whole_site_tokens: int = 0
    opened: tuple[str, ...] = ()
    history: tuple[Exchange, ...] = ()
    read: tuple[str, ...] = ()
    out_of_time: int | None = None


def dump_traces(traces: Sequence[Trace]) -> str:
    """Return the JSON file with the traces of a conversation's answers, in order."""
    data = {
        "format": FORMAT,
        "version": VERSION,
        "generator": f"mkdocs-roaming {__version__}",
        # Converted twice: a price of 1 becomes 1.0, as it will be after loading.
        "answers": [to_json(from_json(Trace, to_json(trace), "trace")) for trace in traces],
    }
    return json.dumps(data, ensure_ascii=False, indent=1).encode("utf-8", "backslashreplace").decode() + "\n"


def load_traces(text: str | bytes, where: str) -> tuple[Trace, ...]:
    """Return the traces in a JSON file; fields of newer versions are ignored.

    Args:
        text: The content of the file.
        where: The file, for error messages.

    Raises:
        UsageError: The content is not a trace; the message names the place.
    """
    try:
        data: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where}: not JSON ({error}); write a trace with `roaming ask --trace FILE`") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise UsageError(f"{where}: not a trace; write one with `roaming ask --trace FILE`")
    version = data.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise UsageError(f"{where}: version {version!r} of the format is not supported; update mkdocs-roaming")
    answers = data.get("answers")
    if not isinstance(answers, list) or not answers:
        raise UsageError(f"{where}: answers must be a list with at least one item")
    return tuple(
        from_json(Trace, answer, f"{where}: answers[{number}]")
        for number, answer in enumerate(answers)
        if not _is_without_docs(answer)
    )


def _is_without_docs(answer: object) -> bool:
    """Return whether a trace was recorded by the former option `--no-docs`."""
    return isinstance(answer, dict) and answer.get("docs") is False


def write_trace(path: Path, traces: Sequence[Trace]) -> None:
    """Write a trace file atomically.

    Raises:
        UsageError: The file cannot be written.
    """
    write_text_file(path, dump_traces(traces))


def read_trace(path: Path) -> tuple[Trace, ...]:
    """Read a trace file.

    Raises:
        UsageError: The file cannot be read, or is not a trace.
    """
    try:
        return load_traces(path.read_bytes(), str(path))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None


# JSON


def to_json(value: object) -> Any:
    """Return dataclasses and structs as JSON data; objects of other types become their `repr`."""
    return msgspec.to_builtins(value, str_keys=True, enc_hook=repr)


def from_json(kind: type[T], data: object, where: str) -> T:
    """Convert JSON data to dataclasses and structs.

    Raises:
        UsageError: The data has another structure; the message begins with `where`.
    """
    try:
        return msgspec.convert(data, kind)
    except (msgspec.ValidationError, UsageError, RecursionError) as error:
        raise UsageError(f"{where}: {error}" if where else str(error)) from None


def compute_digest(*values: object) -> str:
    """Return the SHA-256 digest of values as JSON."""
    text = json.dumps(to_json(values), sort_keys=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


# Recording


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
        deadline: Deadline | None = None,
    ) -> None:
        """Prepare an answer; the arguments are those of `answer`, without its clock."""
        self._question, self._navigator, self._model = question, navigator, RecordingModel(model)
        self._page, self._whole_site_tokens = page, whole_site_tokens
        self._opened, self._history = tuple(opened) or navigator.opened, tuple(history)
        self._budget = budget or Budget()
        self._deadline = deadline or Deadline(self._budget.seconds, time.monotonic)
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
