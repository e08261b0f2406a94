"""How sections, answers and what supports them look as JSON: in the stream's parts, and in one object.

Titles, paths and addresses are the manifest's; of what a model writes only the text goes out, and the ids that it
asked for.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

from mkdocs_roaming.answer.events import (
    Answer,
    Event,
    Finished,
    OutlineRead,
    Reference,
    RoundStarted,
    SectionAlreadyOpen,
    SectionCited,
    SectionMissing,
    SectionOpened,
    SectionsFound,
    SiteRead,
    SupportChecked,
    TextReleased,
    TextUnchecked,
    ToolCalled,
    ToolCallRejected,
)
from mkdocs_roaming.answer.support.check import Mark, Support
from mkdocs_roaming.library.tools import parse_tool_name
from mkdocs_roaming.serve.problems import encode_json

StreamPart = dict[str, Any]


@dataclass(frozen=True, slots=True)
class AnswerContext:
    """What a stream tells beside the events: whether the answer was kept from before, how many turns were dropped.

    `refer` gives the section that an id, an alias or an address names; `sign`, called at the end, the
    turn that the answer ends with, empty where a follow-up cannot refer to it.
    """

    refer: Callable[[str], Reference | None]
    sign: Callable[[], str]
    cached: bool = False
    turns_dropped: int = 0


def encode_answer(answer: Answer, around: AnswerContext, *, digest: str) -> StreamPart:
    """Give an answer as one object."""
    turn = around.sign()
    return {
        "state": answer.state,
        "answer": answer.text,
        "sources": [encode_section(one) for one in answer.citations],
        "trail": [encode_section(one) for one in answer.trail],
        "support": encode_support(SupportChecked(answer.support, answer.support_skipped)) if answer.text else None,
        "status": encode_status(answer, around, sections=len(answer.trail)),
        "digest": digest,
        **({"turn": turn} if turn else {}),
    }


def encode_section(reference: Reference) -> StreamPart:
    """Give a section as clients are told of it; `tokens` is an estimate."""
    return {
        "id": reference.id,
        "title": reference.title,
        "path": list(reference.breadcrumb),
        "url": reference.url,
        "tokens": reference.tokens,
    }


def encode_status(end: Finished | Answer, around: AnswerContext, *, sections: int) -> StreamPart:
    """Give how an answer ended, what it read and what it cost."""
    usage = end.usage
    told: StreamPart = {
        "state": end.state,
        "code": status_code(end),
        "model": end.model,
        "rounds": end.rounds,
        "sections": sections,
        "tokens_read": end.tokens_read,
        "usage": {
            "input": usage.input,
            "cache_read": usage.cache_read,
            "cache_write": usage.cache_write,
            "output": usage.output,
        },
        "cost": end.cost,
        "currency": end.currency,
        "cached": around.cached,
    }
    if end.dropped_citations or end.withheld:
        told |= {"dropped_citations": end.dropped_citations, "withheld": end.withheld}
    if around.turns_dropped:
        told["turns_dropped"] = around.turns_dropped
    if end.not_found is not None:
        told["looked_at"] = [encode_section(one) for one in end.not_found.looked_at]
        told["nearest"] = [encode_section(one) for one in end.not_found.nearest]
    return told


def status_code(end: Finished | Answer) -> str:
    """Give the code of an end: its state, what budget was spent, `failed` where something did."""
    if end.state == "error":
        return "failed"
    return f"budget_{end.spent}" if end.state == "budget" and end.spent else end.state


def encode_support(checked: SupportChecked) -> StreamPart:
    """Give what supports an answer; offsets are UTF-16, into the text without its `[^id]` markers."""
    if checked.support is None:
        return {"skipped": True}
    return _judged(checked.support)


def _judged(support: Support) -> StreamPart:
    return {
        "score": support.score,
        "sentences": [
            {
                "start": one.start,
                "end": one.end,
                "section": one.section,
                "score": one.score,
                "marks": [_mark(mark) for mark in one.marks],
            }
            for one in support.sentences
        ],
    }


def _mark(mark: Mark) -> StreamPart:
    told: StreamPart = {"kind": mark.kind, "start": mark.start, "end": mark.end}
    return {**told, "instead": mark.instead} if mark.instead else told


# MERGED mkdocs_roaming.serve.stream:
# Events as they go over the wire: the AI SDK's *UI message stream v1*, as server-sent events.
#
# Parts come in this order: `start`, `data-outline`; for each round `start-step`, its tool calls with their
# sections,
# `finish-step`; the text; `source-url` for each section cited; `data-support`; `data-status`; `finish`.


SSE_HEADERS = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache, no-transform",
    "x-accel-buffering": "no",
    "x-vercel-ai-ui-message-stream": "v1",
}


SSE_DONE = b"data: [DONE]\n\n"


FAILED_MESSAGE = "The answer could not be finished. Please ask again in a moment."


"""What readers are told of a failure; why it failed is for the owner's log."""


async def encode_events(events: AsyncGenerator[Event, None], around: AnswerContext) -> AsyncGenerator[StreamPart, None]:
    """Give the parts of an answer's events as they happen."""
    stream = _PartEncoder(around)
    yield {"type": "start"}
    async with aclosing(events):
        async for event in events:
            for part in stream.take(event):
                yield part


def encode_sse(part: StreamPart) -> bytes:
    """Give a part as a server-sent event."""
    return b"data: " + encode_json(part) + b"\n\n"


@dataclass(slots=True)
class _ToolCall:
    """A tool call under way: the name that it has on the wire, what it asked for, what came of it."""

    id: str
    name: str
    waiting: dict[str, Reference] = field(default_factory=dict)
    opened: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    found: list[str] = field(default_factory=list)
    answered: bool = False


class _PartEncoder:
    """The parts of one answer; steps and texts are begun and ended in turn."""

    def __init__(self, around: AnswerContext) -> None:
        self._around = around
        self._step = False
        self._asked = False
        self._text = ""
        self._texts = self._calls = 0
        self._call: _ToolCall | None = None
        self._trail: dict[str, None] = {}
        self._cited: dict[str, Reference] = {}
        self._read: dict[str, StreamPart] = {}

    def take(self, event: Event) -> Iterator[StreamPart]:
        match event:
            case OutlineRead() | SiteRead():
                data = {"digest": event.digest, "sections": event.sections, "whole": isinstance(event, SiteRead)}
                yield {"type": "data-outline", "data": data}
            case RoundStarted():
                yield from self._end_step()
                self._asked = True
                yield from self._begin_step()
            case ToolCalled():
                yield from self._begin_call(event)
            case SectionOpened() | SectionAlreadyOpen() | SectionMissing() | SectionsFound() | ToolCallRejected():
                yield from self._result(event)
            case TextReleased() | TextUnchecked():
                yield from self._say(event.text)
            case SectionCited():
                self._cited.setdefault(event.section.id, event.section)
                yield self._section(event.section, "cited")
            case SupportChecked():
                yield from self._end_text()
                yield from self._end_step()
                yield from self._sources()
                yield {"type": "data-support", "data": encode_support(event)}
            case Finished():
                yield from self._finish(event)
            case _:
                pass

    # Steps and texts

    def _begin_step(self) -> Iterator[StreamPart]:
        if not self._step:
            self._step = True
            yield {"type": "start-step"}

    def _end_step(self) -> Iterator[StreamPart]:
        yield from self._end_call()
        yield from self._end_text()
        if self._step:
            self._step = False
            yield {"type": "finish-step"}

    def _say(self, text: str) -> Iterator[StreamPart]:
        if not self._text:
            yield from self._end_step()
            self._texts += 1
            self._text = f"text-{self._texts}"
            yield {"type": "text-start", "id": self._text}
        yield {"type": "text-delta", "id": self._text, "delta": text}

    def _end_text(self) -> Iterator[StreamPart]:
        if self._text:
            yield {"type": "text-end", "id": self._text}
            self._text = ""

    # Tool calls

    def _begin_call(self, called: ToolCalled) -> Iterator[StreamPart]:
        """Begin a call. What is opened before the model is first asked is its own doing, so no call is told of it."""
        yield from self._end_call()
        sections = [found for id_ in called.ids if (found := self._around.refer(id_)) is not None]
        name = parse_tool_name(called.name) or ""
        self._call = _ToolCall("", name, {one.id: one for one in sections} if name == _EXPAND else {})
        if self._asked and name:
            yield from self._end_text()
            yield from self._begin_step()
            self._calls += 1
            self._call.id = f"call-{self._calls}"
            yield {
                "type": "tool-input-available",
                "toolCallId": self._call.id,
                "toolName": name,
                "input": _input(name, called),
                "providerExecuted": True,
            }
        for one in self._call.waiting.values():
            if one.id not in self._read:
                yield self._section(one, "open")

    def _result(
        self, event: SectionOpened | SectionAlreadyOpen | SectionMissing | SectionsFound | ToolCallRejected
    ) -> Iterator[StreamPart]:
        call = self._call or _ToolCall("", "")
        call.answered = True
        match event:
            case SectionOpened():
                call.opened.append(event.section.id)
                call.waiting.pop(event.section.id, None)
                self._trail[event.section.id] = None
                more: StreamPart = {"inside": len(event.inside)} if event.inside else {}
                if event.parts > 1:
                    more |= {"part": event.part, "parts": event.parts}
                yield self._section(replace(event.section, tokens=event.tokens), "read", **more)
            case SectionAlreadyOpen():
                call.opened.append(event.section.id)
                call.waiting.pop(event.section.id, None)
            case SectionMissing():
                call.missing.append(event.id)
                near = [encode_section(one) for one in event.nearest]
                yield self._section(Reference(event.id, event.id, (), ""), "missing", nearest=near)
            case SectionsFound():
                call.found += [one.id for one in event.sections]
            case ToolCallRejected():
                pass

    def _end_call(self) -> Iterator[StreamPart]:
        call, self._call = self._call, None
        if call is None:
            return
        for one in call.waiting.values() if call.answered else ():
            if one.id not in self._read:
                yield self._section(one, "too_big")
        if not call.id:
            return
        output: StreamPart = {"found": call.found} if call.name == _SEARCH else {}
        if call.name == _EXPAND:
            output = {"opened": call.opened, "missing": call.missing}
        yield {"type": "tool-output-available", "toolCallId": call.id, "output": output, "providerExecuted": True}

    def _section(self, reference: Reference, state: str, **more: Any) -> StreamPart:
        """Give a section's part; once it was read it keeps what reading told of it."""
        data = {key: value for key, value in encode_section(reference).items() if key != "id"}
        if state == "cited" and reference.id in self._read:
            data = {**self._read[reference.id]}
        elif state == "read":
            data |= more
            self._read[reference.id] = data
        else:
            data |= more
        return {"type": "data-section", "id": reference.id, "data": {**data, "state": state}}

    # The end

    def _sources(self) -> Iterator[StreamPart]:
        for one in self._cited.values():
            yield {"type": "source-url", "sourceId": one.id, "url": one.url, "title": one.title}
        self._cited = {}

    def _finish(self, end: Finished) -> Iterator[StreamPart]:
        yield from self._end_text()
        yield from self._end_step()
        yield from self._sources()
        yield {"type": "data-status", "data": encode_status(end, self._around, sections=len(self._trail))}
        if end.state == "error":
            yield {"type": "error", "errorText": FAILED_MESSAGE}
        turn = self._around.sign()
        yield {"type": "finish", **({"messageMetadata": {"turn": turn}} if turn else {})}


def _input(name: str, called: ToolCalled) -> StreamPart:
    if name == _EXPAND:
        return {"ids": list(called.ids)}
    if name == _SEARCH:
        return {"query": called.query}
    return {"id": called.ids[0]} if called.ids else {}


_EXPAND, _SEARCH = "expand_sections", "search_sections"


# MERGED mkdocs_roaming.serve.markdown:
# An answer as Markdown: for a terminal, for an agent with nothing but GET.


def answer_to_markdown(told: StreamPart) -> str:
    """Give an answer, its sources as footnotes; or what lies nearest where the docs do not answer."""
    pieces = [told["answer"].strip()] if told["answer"] else []
    if told["sources"]:
        pieces.append("\n".join(f"[^{one['id']}]: {_link(one)}" for one in told["sources"]))
    status = told["status"]
    if not told["answer"]:
        pieces.append(_UNANSWERED.get(told["state"], "The docs do not seem to answer this."))
        near = status.get("looked_at") or status.get("nearest") or []
        if near:
            title = "Looked at:" if status.get("looked_at") else "Nearest:"
            pieces.append("\n".join([title, "", *(f"- {_link(one)}" for one in near[:_MAX_NEAREST])]))
    elif told["state"] == "partial":
        pieces.append("The docs answer only a part of this.")
    elif told["state"] == "budget":
        pieces.append("The answer was cut short and may be incomplete.")
    opened = f"{status['sections']} section{'' if status['sections'] == 1 else 's'} opened"
    pieces.append(f"*{told['state']} · {status['model']} · {opened}*")
    return "\n\n".join(pieces) + "\n"


def _link(source: StreamPart) -> str:
    title = _SPECIAL.sub(r"\\\g<0>", " ".join((" › ".join(source["path"]) or source["title"]).split()))
    return f"[{title}](<{_ANGLES.sub('', source['url'])}>) `{source['id']}`"


_UNANSWERED = {
    "budget": "Stopped before there was an answer: what it may cost is spent.",
    "error": "The question could not be answered just now.",
    "refused": "The model does not answer this.",
}


_MAX_NEAREST = 5


_SPECIAL = re.compile(r"[\\\[\]`*_<>]")


_ANGLES = re.compile(r"[<>\s]")
