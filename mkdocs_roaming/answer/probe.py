"""Checks what a model can do: it opens a section of the site, and says with a citation what it contains."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from msgspec import Struct

from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.events import collect_answer
from mkdocs_roaming.answer.loop import answer
from mkdocs_roaming.answer.models.base import Model, ModelRequest, Part, Text, ToolCall, Usage, find_context
from mkdocs_roaming.answer.models.openai import estimate_request
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.texts import PREFETCH_TOKENS

_SECTION_TOKENS = range(15, 300)
_YES_NO = ("no", "yes")
_PROBES = (
    ("Open section {id} with expand_sections, and say in one sentence what it says.", 0),
    ("What does the section “{title}” say, in one sentence?", PREFETCH_TOKENS),
)
"""What a model is asked, and how much search opens before it: nothing, and if it makes no call, the sections."""


class Probe(Struct, frozen=True):
    """What a model can do, or why it did not reply, in one line."""

    summary: str
    works: bool = True


class _Recorder:
    """A model whose replies are measured."""

    def __init__(self, model: Model) -> None:
        self.name = model.name
        self.pieces = 0  # of the reply that has the most
        self.largest = 0  # request, in tokens
        self.has_called = False
        self._model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    async def reply(self, request: ModelRequest) -> AsyncGenerator[Part, None]:
        pieces = 0
        counted = 0
        parts: Any = self._model.reply(request)
        async with aclosing(parts):
            async for part in parts:
                pieces += isinstance(part, Text)
                self.has_called |= isinstance(part, ToolCall)
                if isinstance(part, Usage):
                    counted = part.input + part.cache_read + part.cache_write
                yield part
        self.pieces = max(self.pieces, pieces)
        self.largest = max(self.largest, counted or estimate_request(request))


async def probe_model(model: Model, navigator: Navigator, budget: Budget) -> Probe:
    """Ask a model about a section, and return what it can do. It costs two or three short replies."""
    recorder = _Recorder(model)
    sections = navigator.sections
    short = (section for section in sections if section.section.tokens in _SECTION_TOKENS)
    section = next(short, next(iter(sections)))
    for question, prefetch_tokens in _PROBES:
        text = question.format(id=section.id, title=section.section.title)
        events = answer(
            text,
            navigator.fork(navigator.cap),
            recorder,
            budget=replace(budget, whole_site_tokens=0),
            prefetch_tokens=prefetch_tokens,
        )
        result = await collect_answer(events)
        if recorder.has_called or result.state == "error" or result.spent:
            break
    if result.state == "error" or result.spent == "seconds":
        return Probe(result.error or f"{model.name}: no reply within {budget.seconds:g} seconds", works=False)
    cites = result.state in ("answered", "partial") and bool(result.citations)
    context = await find_context(model)
    way = "the outline, with tools" if recorder.has_called else "sections that search opens, in one call"
    verdicts = [
        model.name,
        f"streaming: {_YES_NO[recorder.pieces > 1]}",
        f"tools: {_YES_NO[recorder.has_called]}",
        f"citations: {_YES_NO[cites]}",
        f"context: {f'{context:,}' if context else f'at least {recorder.largest:,}'} tokens",
        f"answers from {way}" if cites else "readers get search results instead of answers",
    ]
    return Probe("; ".join(verdicts))
