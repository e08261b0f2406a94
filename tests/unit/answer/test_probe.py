"""What a check says about a model."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import anyio
import pytest

from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.models.base import ModelRequest, Part, Stop, Text, ToolCall, Usage
from mkdocs_roaming.answer.probe import Probe, probe_model
from mkdocs_roaming.errors import ModelError, ToolsUnsupportedError
from mkdocs_roaming.library.navigator import Navigator


class Able:
    """A model with some abilities."""

    name = "able"

    def __init__(self, *abilities: str, context: int | None = None, counts: int = 0) -> None:
        self.abilities, self.context, self.counts, self.has_tools = abilities, context, counts, True

    async def find_context(self) -> int | None:
        return self.context

    async def reply(self, request: ModelRequest) -> AsyncIterator[Part]:
        if "key" not in self.abilities:
            raise ModelError("able: the key is not accepted", cause="key")
        if request.tools and "tools" not in self.abilities:
            self.has_tools = False
            raise ToolsUnsupportedError("able: no tools", cause="request")
        for part in self._say(request):
            yield part

    def _say(self, request: ModelRequest) -> Sequence[Part]:
        id_ = request.question.partition("section ")[2][:8]
        if request.tools and len(request.turns) == 1:
            return [ToolCall("a", "expand_sections", {"ids": [id_]}), Stop("tools")]
        if not request.tools and "<section " in str(request.turns):
            id_ = str(request.turns).partition("<section ")[2][:8]
        pieces = ["It says", " so"] if "streaming" in self.abilities else ["It says so"]
        mark = f" [^{id_}]." if "citations" in self.abilities else "."
        pieces[-1] += mark
        return [*map(Text, pieces), *([Usage(self.counts)] if self.counts else []), Stop()]


def probe(navigator: Navigator, model: Able) -> Probe:
    return anyio.run(lambda: probe_model(model, navigator, Budget()))


@pytest.mark.parametrize(
    ("abilities", "expected"),
    [
        ("key tools citations streaming", "streaming: yes; tools: yes; citations: yes; "),
        ("key citations", "streaming: no; tools: no; citations: yes; "),
        ("key tools streaming", "streaming: yes; tools: yes; citations: no; "),
    ],
)
def test_probe_says_what_model_can_do(navigator: Navigator, abilities: str, expected: str) -> None:
    result = probe(navigator, Able(*abilities.split()))
    assert result.summary.startswith(f"able; {expected}")
    assert result.works
    way = "the outline, with tools" if "tools" in abilities else "sections that search opens, in one call"
    assert (f"answers from {way}" in result.summary) is ("citations" in abilities)
    assert ("search results instead" in result.summary) is ("citations" not in abilities)


@pytest.mark.parametrize(
    ("context", "counts", "expected"),
    [(8_192, 0, "context: 8,192 tokens"), (None, 2_345, "context: at least 2,345 tokens"), (None, 0, "at least ")],
)
def test_probe_says_how_much_model_reads(navigator: Navigator, context: int | None, counts: int, expected: str) -> None:
    abilities = ("key", "tools", "citations")
    assert expected in probe(navigator, Able(*abilities, context=context, counts=counts)).summary


def test_probe_of_failing_model_says_why(navigator: Navigator) -> None:
    result = probe(navigator, Able())
    assert (result.works, result.summary) == (False, "able: the key is not accepted")
