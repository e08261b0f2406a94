"""Checks what a model can do: it opens a section of the site, and says with a citation what it contains."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace
from time import monotonic
from typing import Any

from msgspec import Struct

from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.estimate import estimate_request
from mkdocs_roaming.answer.events import collect_answer
from mkdocs_roaming.answer.loop import answer
from mkdocs_roaming.answer.models.base import Model, Part, Request, Text, ToolCall, Usage, find_context
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.prefetch import PREFETCH_TOKENS
from mkdocs_roaming.manifest.lookup import SectionRef

_SECTION_TOKENS = range(15, 300)
_PROBES = (
    ("Open section {id} with expand_sections, and say in one sentence what it says.", 0),
    ("What does the section “{title}” say, in one sentence?", PREFETCH_TOKENS),
)
"""What a model is asked, and how much search opens before it: nothing, and if it makes no call, the sections."""


class Probe(Struct, frozen=True):
    """What a model can do.

    Attributes:
        name: Its name.
        tools: Whether it called a tool.
        citations: Whether it cited a section that was opened.
        streaming: Whether a reply arrived in several pieces.
        context: The size of its context in tokens, or of the largest request that it has read.
        is_exact: Whether the size of the context is known.
        navigates: Whether it reads the outline and opens sections; otherwise it answers from what search opens.
        seconds: The time to its first token; None if it sent none.
        problem: What failed, in one line; empty if it replied.
        works: Whether it replied.
    """

    name: str
    tools: bool
    citations: bool
    streaming: bool
    context: int
    is_exact: bool
    navigates: bool
    seconds: float | None
    problem: str
    works: bool

    def __str__(self) -> str:
        abilities = {"streaming": self.streaming, "tools": self.tools, "citations": self.citations}
        verdicts = [f"{name}: {'yes' if able else 'no'}" for name, able in abilities.items()]
        way = "the outline, with tools" if self.navigates else "sections that search opens, in one call"
        verdicts += [
            f"context: {'' if self.is_exact else 'at least '}{self.context:,} tokens",
            f"first token after {self.seconds or 0:.1f} s",
            f"answers from {way}" if self.citations else "readers get search results instead of answers",
        ]
        return "; ".join([self.name, *verdicts]) if self.works else self.problem


class _Recorder:
    """A model whose replies are measured."""

    def __init__(self, model: Model, clock: Callable[[], float]) -> None:
        self.name = model.name
        self.pieces = self.largest = 0
        self.has_called = False
        self.seconds: float | None = None
        self._model, self._clock = model, clock

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    async def reply(self, request: Request) -> AsyncGenerator[Part, None]:
        started, pieces, counted = self._clock(), 0, 0
        parts: Any = self._model.reply(request)
        async with aclosing(parts):
            async for part in parts:
                if isinstance(part, Text | ToolCall) and self.seconds is None:
                    self.seconds = self._clock() - started
                pieces += isinstance(part, Text)
                self.has_called = self.has_called or isinstance(part, ToolCall)
                if isinstance(part, Usage):
                    counted = part.input + part.cache_read + part.cache_write
                yield part
        self.pieces = max(self.pieces, pieces)
        self.largest = max(self.largest, counted or sum(estimate_request(request)))


async def probe_model(
    model: Model, navigator: Navigator, budget: Budget, clock: Callable[[], float] = monotonic
) -> Probe:
    """Ask a model about a section, and return what it can do. It costs two or three short replies."""
    recorder = _Recorder(model, clock)
    section = _choose_section(navigator)
    for question, prefetch_tokens in _PROBES:
        text = question.format(id=section.id, title=section.section.title)
        events = answer(
            text,
            navigator.fork(navigator.cap),
            recorder,
            budget=replace(budget, support="words"),
            whole_site_tokens=0,
            prefetch_tokens=prefetch_tokens,
        )
        result = await collect_answer(events)
        if recorder.has_called or result.state == "error" or result.spent:
            break
    context = await find_context(model)
    return Probe(
        name=model.name,
        tools=recorder.has_called,
        citations=result.state in ("answered", "partial") and bool(result.citations),
        streaming=recorder.pieces > 1,
        context=context or recorder.largest,
        is_exact=context is not None,
        navigates=recorder.has_called,
        seconds=recorder.seconds,
        problem=result.error or f"{model.name}: no reply within {budget.seconds:g} seconds",
        works=result.state != "error" and result.spent != "seconds",
    )


def _choose_section(navigator: Navigator) -> SectionRef:
    """Return a section with a sentence or two, or the first one."""
    sections = navigator.sections
    first = next(iter(sections))
    return next((section for section in sections if section.section.tokens in _SECTION_TOKENS), first)
