"""A local provider, and models that use it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from mkdocs_roaming.answer.models.base import Model, ModelRequest, Part, Turn, UserTurn
from mkdocs_roaming.answer.models.openai import OpenAIModel
from mkdocs_roaming.answer.models.provider import Retries
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.targets import library_from_markdown

sys.path.insert(0, str(Path(__file__).parents[3]))

from messages_api import MessagesApi, serving
from messages_api.parts import Call

Make = Callable[..., Model]

WIRES = ("claude", "openai")
SAMPLE = Path(__file__).parents[4] / "sample_site" / "docs"


def expand_call(*ids: str, id: str | None = None) -> Call:
    """Return a call that opens sections."""
    return Call("expand_sections", {"ids": list(ids)}, id)


def reply(model: Model, turns: tuple[Turn, ...] = (UserTurn("Which port?"),), **more: Any) -> list[Part]:
    """Return all parts of one reply."""

    async def listen() -> list[Part]:
        return [part async for part in model.reply(ModelRequest("The rules.", "The outline.", turns, **more))]

    return anyio.run(listen)


@pytest.fixture
def api() -> Iterator[MessagesApi]:
    """Start a provider without replies; an invalid request fails the test."""
    with serving(MessagesApi(budget=700)) as api:
        yield api
    assert api.faults == []


@pytest.fixture
def claude(api: MessagesApi) -> Make:
    """Return a factory of Claude models that use the local provider."""
    from mkdocs_roaming.answer.models.anthropic import AnthropicModel

    return lambda **arguments: AnthropicModel(
        **{"key": "test-key", "base_url": api.url, "retries": Retries(0), **arguments}
    )


@pytest.fixture
def openai(api: MessagesApi) -> Make:
    """Return a factory of OpenAI-compatible models that use the local provider."""

    def make(**arguments: Any) -> Model:
        return OpenAIModel(
            **{"model": "qwen3", "key": "test-key", "base_url": api.url, "retries": Retries(0), **arguments}
        )

    return make


@pytest.fixture(params=WIRES)
def make(request: pytest.FixtureRequest) -> Make:
    """Return the factory of each kind of model in turn."""
    factory: Make = request.getfixturevalue(request.param)
    return factory


@pytest.fixture(scope="session")
def handbook() -> Library:
    """Return the pages of the sample site as one text, too large to be read whole."""
    pages = [path.read_text("utf-8") for path in sorted(SAMPLE.rglob("*.md"))]
    return library_from_markdown("\n\n".join(pages), name="Ebbkeeper", url="https://ebb.example/")
