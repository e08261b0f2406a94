"""The event loop stays free while clients, pages and models send what is slow to process."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import anyio
import pytest
from serving import load_cases

from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.loop import answer
from mkdocs_roaming.answer.models.base import Part, Stop, Text, ToolCall
from mkdocs_roaming.answer.models.scripted import ScriptedModel
from mkdocs_roaming.library.navigator import Navigator

pytestmark = pytest.mark.slow

PIECES = load_cases("texts that are slow to process")
MODEL_CHARS, PAGE_CHARS = 10_000, 40_000


def repeat(piece: str, size: int) -> str:
    return piece * (size // len(piece))


@pytest.fixture
def hostile_pages() -> list[tuple[str, str]]:
    """Return pages whose text is slow to process."""
    texts = [f"# Port {at}\n\n{repeat(piece, PAGE_CHARS)}\n" for at, piece in enumerate(PIECES)]
    return [("", "# Start\n\nThe default port is 8642.\n"), *((f"p{at}/", text) for at, text in enumerate(texts))]


@pytest.mark.parametrize("size", [20, MODEL_CHARS])
@pytest.mark.parametrize("piece", PIECES)
def test_text_of_model_and_pages_is_processed_in_other_threads(
    make_site: Callable[..., Any], hostile_pages: list[tuple[str, str]], piece: str, size: int
) -> None:
    library = make_site(hostile_pages).library()
    ids = [section.id for section in library.sections]
    text = repeat(piece, MODEL_CHARS)
    chunks = [Text(text[at : at + size]) for at in range(0, len(text), size)]

    async def measure(*reply: Part) -> float:
        """Return the CPU time of this thread, which is that of the event loop, for an answer."""
        calls = [ToolCall("c", "expand_sections", {"ids": ids[:6]}), Stop("tools")]
        model = ScriptedModel([calls, [*reply, Stop("end")]])
        began = time.thread_time()
        async with aclosing(
            answer("Which port?", Navigator(library), model, budget=Budget(whole_site_tokens=0))
        ) as events:
            async for _ in events:
                pass
        return time.thread_time() - began

    async def compare() -> tuple[float, float]:
        usual = min([await measure(*(Text("word " * 4) for _ in chunks)) for _ in range(2)])
        hostile = await measure(*chunks)
        for _ in range(2):  # on a loaded machine the same work takes up to three times the CPU time
            hostile = hostile if hostile < usual + 0.06 else min(hostile, await measure(*chunks))
        return usual, hostile

    usual, hostile = anyio.run(compare)
    assert hostile < usual + 0.06
