"""Events as they go over the wire: the AI SDK's *UI message stream v1*, as server-sent events.

Parts come in this order: `start`, `data-outline`; for each round `start-step`, its tool calls with their sections,
`finish-step`; the text; `source-url` for each section cited; `data-support`; `data-status`; `finish`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

from mkdocs_roaming.answer.events import (
    Event,
    Finished,
    OutlineRead,
    Reference,
    RoundStarted,
    SectionCited,
    SectionMissing,
    SectionOpened,
    SectionsFound,
    SectionStanding,
    SiteRead,
    SupportChecked,
    TextReleased,
    TextUnchecked,
    ToolCalled,
    ToolMisused,
)
from mkdocs_roaming.roam.arguments import tool_name
from mkdocs_roaming.serve.objects import Around, Part, section, status, support
from mkdocs_roaming.serve.problems import as_json

HEADERS = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache, no-transform",
    "x-accel-buffering": "no",
    "x-vercel-ai-ui-message-stream": "v1",
}
DONE = b"data: [DONE]\n\n"
FAILED = "The answer could not be finished. Please ask again in a moment."
"""What readers are told of a failure; why it failed is for the owner's log."""


async def parts(events: AsyncGenerator[Event, None], around: Around) -> AsyncGenerator[Part, None]:
    """Give the parts of an answer's events as they happen."""
    stream = _Stream(around)
    yield {"type": "start"}
    async with aclosing(events):
        async for event in events:
            for part in stream.take(event):
                yield part


def sse(part: Part) -> bytes:
    """Give a part as a server-sent event."""
    return b"data: " + as_json(part) + b"\n\n"


# One stream


@dataclass(slots=True)
class _Call:
    """A tool call under way: the name that it has on the wire, what it asked for, what came of it."""

    id: str
    name: str
    waiting: dict[str, Reference] = field(default_factory=dict)
    opened: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    found: list[str] = field(default_factory=list)
    answered: bool = False


class _Stream:
    """The parts of one answer; steps and texts are begun and ended in turn."""

    def __init__(self, around: Around) -> None:
        self._around = around
        self._step = False
        self._asked = False
        self._text = ""
        self._texts = self._calls = 0
        self._call: _Call | None = None
        self._trail: dict[str, None] = {}
        self._cited: dict[str, Reference] = {}
        self._read: dict[str, Part] = {}

    def take(self, event: Event) -> Iterator[Part]:
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
            case SectionOpened() | SectionStanding() | SectionMissing() | SectionsFound() | ToolMisused():
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
                yield {"type": "data-support", "data": support(event)}
            case Finished():
                yield from self._finish(event)
            case _:
                pass

    # Steps and texts

    def _begin_step(self) -> Iterator[Part]:
        if not self._step:
            self._step = True
            yield {"type": "start-step"}

    def _end_step(self) -> Iterator[Part]:
        yield from self._end_call()
        yield from self._end_text()
        if self._step:
            self._step = False
            yield {"type": "finish-step"}

    def _say(self, text: str) -> Iterator[Part]:
        if not self._text:
            yield from self._end_step()
            self._texts += 1
            self._text = f"text-{self._texts}"
            yield {"type": "text-start", "id": self._text}
        yield {"type": "text-delta", "id": self._text, "delta": text}

    def _end_text(self) -> Iterator[Part]:
        if self._text:
            yield {"type": "text-end", "id": self._text}
            self._text = ""

    # Tool calls

    def _begin_call(self, called: ToolCalled) -> Iterator[Part]:
        """Begin a call. What is opened before the model is first asked is its own doing, so no call is told of it."""
        yield from self._end_call()
        sections = [found for id_ in called.ids if (found := self._around.refer(id_)) is not None]
        name = tool_name(called.name) or ""
        self._call = _Call("", name, {one.id: one for one in sections} if name == _EXPAND else {})
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
        self, event: SectionOpened | SectionStanding | SectionMissing | SectionsFound | ToolMisused
    ) -> Iterator[Part]:
        call = self._call or _Call("", "")
        call.answered = True
        match event:
            case SectionOpened():
                call.opened.append(event.section.id)
                call.waiting.pop(event.section.id, None)
                self._trail[event.section.id] = None
                more: Part = {"inside": len(event.inside)} if event.inside else {}
                if event.parts > 1:
                    more |= {"part": event.part, "parts": event.parts}
                yield self._section(replace(event.section, tokens=event.tokens), "read", **more)
            case SectionStanding():
                call.opened.append(event.section.id)
                call.waiting.pop(event.section.id, None)
            case SectionMissing():
                call.missing.append(event.id)
                near = [section(one) for one in event.nearest]
                yield self._section(Reference(event.id, event.id, (), ""), "missing", nearest=near)
            case SectionsFound():
                call.found += [one.id for one in event.sections]
            case ToolMisused():
                pass

    def _end_call(self) -> Iterator[Part]:
        call, self._call = self._call, None
        if call is None:
            return
        for one in call.waiting.values() if call.answered else ():
            if one.id not in self._read:
                yield self._section(one, "too_big")
        if not call.id:
            return
        output: Part = {"found": call.found} if call.name == _SEARCH else {}
        if call.name == _EXPAND:
            output = {"opened": call.opened, "missing": call.missing}
        yield {"type": "tool-output-available", "toolCallId": call.id, "output": output, "providerExecuted": True}

    def _section(self, reference: Reference, state: str, **more: Any) -> Part:
        """Give a section's part; once it was read it keeps what reading told of it."""
        data = {key: value for key, value in section(reference).items() if key != "id"}
        if state == "cited" and reference.id in self._read:
            data = {**self._read[reference.id]}
        elif state == "read":
            data |= more
            self._read[reference.id] = data
        else:
            data |= more
        return {"type": "data-section", "id": reference.id, "data": {**data, "state": state}}

    # The end

    def _sources(self) -> Iterator[Part]:
        for one in self._cited.values():
            yield {"type": "source-url", "sourceId": one.id, "url": one.url, "title": one.title}
        self._cited = {}

    def _finish(self, end: Finished) -> Iterator[Part]:
        yield from self._end_text()
        yield from self._end_step()
        yield from self._sources()
        yield {"type": "data-status", "data": status(end, self._around, sections=len(self._trail))}
        if end.state == "error":
            yield {"type": "error", "errorText": FAILED}
        turn = self._around.sign()
        yield {"type": "finish", **({"messageMetadata": {"turn": turn}} if turn else {})}


def _input(name: str, called: ToolCalled) -> Part:
    if name == _EXPAND:
        return {"ids": list(called.ids)}
    if name == _SEARCH:
        return {"query": called.query}
    return {"id": called.ids[0]} if called.ids else {}


_EXPAND, _SEARCH = "expand_sections", "search_sections"
