"""A provider on this machine, and models that ask it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mkdocs_roaming.answer.models.base import Model
from mkdocs_roaming.answer.models.openai import OpenAIModel
from mkdocs_roaming.library.library import Library, library_from_markdown

sys.path.insert(0, str(Path(__file__).parents[3]))

from messages_api import MessagesApi, serving

Make = Callable[..., Model]

WIRES = ("claude", "openai")
SAMPLE = Path(__file__).parents[4] / "sample_site" / "docs"


@pytest.fixture
def api() -> Iterator[MessagesApi]:
    """A provider without any replies yet; a request that it had to refuse fails the test."""
    with serving(MessagesApi(budget=700)) as api:
        yield api
    assert api.faults == []


@pytest.fixture
def claude(api: MessagesApi) -> Make:
    """Give the maker of a Claude that asks the local provider."""
    from mkdocs_roaming.answer.models.anthropic import AnthropicModel

    return lambda **given: AnthropicModel(**{"key": "test-key", "base_url": api.url, "retries": 0, **given})


@pytest.fixture
def openai(api: MessagesApi) -> Make:
    """Give the maker of an OpenAI-compatible model that asks the local provider."""

    def make(**given: Any) -> Model:
        return OpenAIModel(**{"model": "qwen3", "key": "test-key", "base_url": api.url, "retries": 0, **given})

    return make


@pytest.fixture(params=WIRES)
def make(request: pytest.FixtureRequest) -> Make:
    """Give the maker of each kind of model in turn."""
    made: Make = request.getfixturevalue(request.param)
    return made


@pytest.fixture(scope="session")
def handbook() -> Library:
    """The sample site's pages as one text: large enough to be roamed."""
    pages = [path.read_text("utf-8") for path in sorted(SAMPLE.rglob("*.md"))]
    return library_from_markdown("\n\n".join(pages), name="Ebbkeeper", url="https://ebb.example/")
