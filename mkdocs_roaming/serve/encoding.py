"""Encode answers: the AI SDK's *UI message stream v1* as server-sent events, one JSON object, or Markdown.

A stream has these parts, in this order: `start`, `data-outline`; for each model call `start-step`, its tool calls with
their sections, `finish-step`; the text; `source-url` for each cited section; `data-support`; `data-status`;
`data-followups`; `finish`. Without a model there is neither an outline nor a step.

Titles, paths and URLs come from the manifest. Of the model's output only the text and the requested ids are sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
from msgspec import UNSET

from mkdocs_roaming._json import encode_json
from mkdocs_roaming.answer import events
from mkdocs_roaming.answer.events import Answer, Event, Finished, Outcome, Reference
from mkdocs_roaming.answer.support.check import Support
from mkdocs_roaming.answer.support.passages import Passage
from mkdocs_roaming.library.navigator import PREFETCH_CALL_ID
from mkdocs_roaming.library.tools import parse_tool_name
from mkdocs_roaming.manifest.lookup import SectionIndex
from mkdocs_roaming.serve import schemas
from mkdocs_roaming.serve.requests import ProblemError
from mkdocs_roaming.text.markdown import escape_markup

StreamPart = dict[str, Any]

SSE_HEADERS = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache, no-transform",
    "x-accel-buffering": "no",
    "x-vercel-ai-ui-message-stream": "v1",
}
SSE_DONE = b"data: [DONE]\n\n"
_EXPAND = "expand_sections"
_SEARCH = "search_sections"
_MAX_NEAREST = 5
_WITHOUT_BRACKETS = str.maketrans("", "", "<>")
FAILED_MESSAGE = "The answer could not be finished. Please ask again in a moment."
"""The error message if nothing else is known; details are logged."""


@dataclass(frozen=True, slots=True)
class Continuation:
    """What follows an answer: questions that the reader may ask next, and the signed turn for follow-up questions.

    `turn` is empty if follow-up questions cannot refer to this answer.
    """

    followups: Sequence[str] = ()
    turn: str = ""


@dataclass(frozen=True, slots=True)
class AnswerContext:
    """Facts about an answer that its events do not contain. `conclude` is called after the last event."""

    sections: SectionIndex
    conclude: Callable[[], Continuation] = Continuation
    is_shared: bool = False
    dropped_turns: int = 0

    def find_snippet(self, id_: str) -> str:
        """Return the opening of a section; an empty string if there is none."""
        ref = self.sections.get(id_)
        return ref.section.opening if ref else ""


def encode_sse(part: StreamPart) -> bytes:
    """Return a part as a server-sent event, an empty one as a comment."""
    return b"data: " + encode_json(part) + b"\n\n" if part else b": ping\n\n"


# JSON


def encode_answer(answer: Answer, context: AnswerContext, *, digest: str) -> schemas.Answer:
    """Return a complete answer as one object."""
    continuation = context.conclude()
    return schemas.Answer(
        answer.state,
        answer.text,
        sources=[encode_section(section, context) for section in answer.citations],
        steps=[encode_section(section) for section in answer.steps],
        support=encode_support(answer.support, answer.support_skipped, answer.passages),
        status=encode_status(answer, context, sections=len(answer.steps)),
        digest=digest,
        followups=list(continuation.followups) or UNSET,
        turn=continuation.turn or UNSET,
    )


def make_failure(answer: schemas.Answer) -> ProblemError:
    """Return the problem for an answer that failed, with search results."""
    status = answer.status
    return ProblemError(
        "failed",
        status.message or FAILED_MESSAGE,
        status=502,
        retry_after=status.retry_after or None,
        answer=answer,
    )


def encode_section(section: Reference, context: AnswerContext | None = None) -> schemas.Source:
    """Return a section without its text; with a context, with its opening."""
    snippet = context.find_snippet(section.id) if context else ""
    return schemas.Source(section.id, section.title, section.breadcrumb, section.url, section.tokens, snippet or UNSET)


def encode_status(result: Outcome, context: AnswerContext, *, sections: int) -> schemas.Status:
    """Return the outcome of an answer: its state, the text read for it, its cost."""
    code: str = result.state
    if result.state == "error":
        code = "failed"
    elif result.state == "budget" and result.spent:
        code = f"budget_{result.spent}"
    status = schemas.Status(
        result.state,
        code,
        result.model,
        result.rounds,
        sections,
        result.tokens_read,
        schemas.Usage(*msgspec.structs.astuple(result.usage)),
        result.cost,
        result.currency,
        context.is_shared,
        turns_dropped=context.dropped_turns or UNSET,
        message=result.message or UNSET,
        cause=result.cause or UNSET,
        retry_after=UNSET if result.retry_after is None else result.retry_after,
        foreign_addresses=result.foreign_addresses or UNSET,
    )
    if result.dropped_citations or result.withheld:
        status.dropped_citations = result.dropped_citations
        status.withheld = result.withheld
    if result.not_found:
        status.looked_at = [encode_section(section, context) for section in result.not_found.looked_at]
        status.nearest = [encode_section(section, context) for section in result.not_found.nearest]
    return status


def encode_support(support: Support | None, skipped: str, passages: Sequence[Passage]) -> schemas.Support | None:
    """Return the support check and the cited passages. Offsets are UTF-16 units in the answer's Markdown."""
    if support is None and not skipped and not passages:
        return None
    return schemas.Support(
        score=support.score if support else UNSET,
        marks=support.marks if support else UNSET,
        skipped=True if skipped and not support else UNSET,
        passages=tuple(passages) or UNSET,
    )


# Stream


@dataclass(slots=True)
class _ToolCall:
    """A tool call in progress. `requested` holds the sections without a result yet; an id is empty if none is sent."""

    name: str = ""
    id: str = ""
    requested: dict[str, Reference] = field(default_factory=dict)
    opened: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    results: list[str] = field(default_factory=list)
    has_result: bool = False


START: StreamPart = {"type": "start"}
"""The first part of a stream."""


class PartEncoder:
    """Encoder of one answer's events. It opens and closes steps and texts in turn."""

    def __init__(self, context: AnswerContext) -> None:
        self._context = context
        self._in_step = False
        self._model_called = False
        self._text_id = ""
        self._text_count = 0
        self._call_count = 0
        self._call = _ToolCall()
        self._cited: dict[str, Reference] = {}
        self._read: dict[str, StreamPart] = {}

    def encode(self, event: Event) -> Iterator[StreamPart]:
        """Yield the parts for the next event."""
        match event:
            case events.OutlineRead() | events.SiteRead():
                data = {"digest": event.digest, "sections": event.sections, "whole": isinstance(event, events.SiteRead)}
                yield {"type": "data-outline", "data": data}
            case events.RoundStarted():
                yield from self._end_step()
                self._model_called = True
                self._in_step = True
                yield {"type": "start-step"}
            case events.ToolCalled():
                yield from self._begin_call(event)
            case events.SectionOpened() | events.SectionAlreadyOpen():
                self._call.has_result = True
                self._call.opened.append(event.section.id)
                self._call.requested.pop(event.section.id, None)
                if isinstance(event, events.SectionOpened):
                    yield self._open_section(event)
            case events.SectionMissing():
                self._call.has_result = True
                self._call.missing.append(event.id)
                nearest = [encode_section(section) for section in event.nearest]
                yield self._section_part(Reference(event.id, event.id, (), ""), "missing", nearest=nearest)
            case events.SectionsFound():
                self._call.results += [section.id for section in event.sections]
            case events.ToolCallRejected():
                self._call.has_result = True
            case events.TextReleased():
                if not self._text_id:
                    yield from self._end_step()
                    self._text_count += 1
                    self._text_id = f"text-{self._text_count}"
                    yield {"type": "text-start", "id": self._text_id}
                yield {"type": "text-delta", "id": self._text_id, "delta": event.text}
            case events.SectionCited():
                self._cited[event.section.id] = event.section
                yield self._section_part(event.section, "cited")
            case events.SupportChecked():
                yield from self._end_step()
                yield from self._source_parts()
                if support := encode_support(event.support, event.skipped, event.passages):
                    yield {"type": "data-support", "data": support}
            case Finished():
                yield from self._finish(event)

    def interrupt(self, message: str) -> Iterator[StreamPart]:
        """Yield the last parts of a stream that ends without the end of the answer."""
        yield from self._end_step()
        yield {"type": "error", "errorText": message}
        yield {"type": "finish"}

    # Steps, texts and tool calls

    def _end_step(self) -> Iterator[StreamPart]:
        yield from self._end_call()
        if self._text_id:
            yield {"type": "text-end", "id": self._text_id}
            self._text_id = ""
        if self._in_step:
            self._in_step = False
            yield {"type": "finish-step"}

    def _begin_call(self, event: events.ToolCalled) -> Iterator[StreamPart]:
        """Begin a tool call. Sections that the loop opens before the first model call are sent without a call."""
        call = _ToolCall(parse_tool_name(event.name) or "")
        is_sent = self._model_called and call.name != ""
        if is_sent and not self._in_step:
            yield from self._end_step()
            self._in_step = True
            yield {"type": "start-step"}
        yield from self._end_call()
        self._call = call
        arguments: StreamPart = {"id": event.ids[0]} if event.ids else {}
        if call.name == _SEARCH:
            arguments = {"query": event.query}
        elif call.name == _EXPAND:
            arguments = {"ids": list(event.ids)}
            sections = self._context.sections
            for address in event.ids:
                if ref := sections.get(address.lower()) or sections.resolve(address):
                    call.requested[ref.id] = Reference.from_section(sections, ref)
        if is_sent:
            self._call_count += 1
            call.id = f"call-{self._call_count}"
            yield {
                "type": "tool-input-available",
                "toolCallId": call.id,
                "toolName": call.name,
                "input": arguments,
                "providerExecuted": True,
            }
        for section in call.requested.values():
            if section.id not in self._read:
                yield self._section_part(section, "open")

    def _open_section(self, event: events.SectionOpened) -> StreamPart:
        """Return the part for a section that was read, with the size of the text shown instead of the section's own."""
        details: StreamPart = {"inside": len(event.inside)} if event.inside else {}
        if event.call == PREFETCH_CALL_ID:
            details["by"] = "search"
        if event.parts > 1:
            details |= {"part": event.part, "parts": event.parts}
        return self._section_part(replace(event.section, tokens=event.tokens), "read", **details)

    def _end_call(self) -> Iterator[StreamPart]:
        call = self._call
        self._call = _ToolCall()
        if call.has_result:
            for section in call.requested.values():
                if section.id not in self._read:
                    yield self._section_part(section, "too_big")
        if call.id:
            output: StreamPart = {}
            if call.name == _EXPAND:
                output = {"opened": call.opened, "missing": call.missing}
            elif call.name == _SEARCH:
                output = {"found": call.results}
            yield {"type": "tool-output-available", "toolCallId": call.id, "output": output, "providerExecuted": True}

    def _section_part(self, section: Reference, state: str, **details: Any) -> StreamPart:
        """Return a section's part. After a section was read, its later parts repeat the details of that part."""
        data: StreamPart = msgspec.to_builtins(encode_section(section)) | details
        del data["id"]
        if state == "cited" and section.id in self._read:
            data = {**self._read[section.id]}
        elif state == "read":
            self._read[section.id] = data
        if state == "cited" and (snippet := self._context.find_snippet(section.id)):
            data["snippet"] = snippet
        return {"type": "data-section", "id": section.id, "data": {**data, "state": state}}

    # End of the stream

    def _source_parts(self) -> Iterator[StreamPart]:
        for section in self._cited.values():
            yield {"type": "source-url", "sourceId": section.id, "url": section.url, "title": section.title}
        self._cited = {}

    def _finish(self, end: Finished) -> Iterator[StreamPart]:
        yield from self._end_step()
        yield from self._source_parts()
        yield {"type": "data-status", "data": encode_status(end, self._context, sections=len(self._read))}
        if end.state == "error":
            yield {"type": "error", "errorText": end.message or FAILED_MESSAGE}
        continuation = self._context.conclude()
        if continuation.followups:
            yield {"type": "data-followups", "data": {"questions": continuation.followups}}
        metadata = {"messageMetadata": {"turn": continuation.turn}} if continuation.turn else {}
        yield {"type": "finish", **metadata}


# Markdown


def answer_to_markdown(answer: schemas.Answer) -> str:
    """Return an answer with its sources as footnotes, and the sections to offer if there is no answer."""
    status = answer.status
    message = answer.status.message or ""
    blocks = [answer.answer.strip()] if answer.answer else []
    if answer.sources:
        blocks.append("\n".join(f"[^{source.id}]: {_markdown_link(source)}" for source in answer.sources))
    sections = status.looked_at or status.nearest
    if sections and not answer.sources:
        links = [f"- {_markdown_link(section)}" for section in sections[:_MAX_NEAREST]]
        blocks.append("\n".join(["Looked at:" if status.looked_at else "Nearest:", "", *links]))
    if answer.state == "partial":
        blocks.append("The docs answer only a part of this.")
    elif answer.state == "budget" and not answer.answer.startswith(message):
        blocks.append(message)
    opened = f"{status.sections} section{'' if status.sections == 1 else 's'} opened"
    blocks.append(f"*{answer.state} · {status.model} · {opened}*")
    return "\n\n".join(blocks) + "\n"


def _markdown_link(source: schemas.Source) -> str:
    label = escape_markup(" › ".join(source.path) or source.title)
    url = "".join(source.url.split()).translate(_WITHOUT_BRACKETS)
    return f"[{label}](<{url}>) `{source.id}`"
