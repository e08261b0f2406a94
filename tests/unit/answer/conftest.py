"""A small library, and a fixture that returns the events of an answer as a list."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import anyio
import pytest

from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.events import Event
from mkdocs_roaming.answer.loop import answer
from mkdocs_roaming.answer.models.base import Model, ToolCall
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.library.targets import library_from_markdown

KETTLE = Path(__file__).parents[2] / "golden" / "answer" / "kettle.md"

Ask = Callable[..., list[Event]]
E = TypeVar("E", bound=Event)


def select(kind: type[E], events: list[Event]) -> list[E]:
    """Return the events of one kind."""
    return [event for event in events if isinstance(event, kind)]


def expand_call(*ids: str, call: str = "a") -> ToolCall:
    """Return a call that opens sections."""
    return ToolCall(call, "expand_sections", {"ids": list(ids)})


@pytest.fixture(scope="session")
def library() -> Library:
    """Return the documentation of Kettle: five pages, eleven sections."""
    return library_from_markdown(KETTLE.read_text("utf-8"), name="Kettle", url="https://kettle.example/")


@pytest.fixture(scope="session")
def search(library: Library) -> Search:
    return Search(library)


@pytest.fixture
def navigator(library: Library, search: Search) -> Navigator:
    return Navigator(library, search=search)


@pytest.fixture(scope="session")
def ids(library: Library) -> dict[str, str]:
    """Return the ids of all sections by title."""
    return {place.section.title: place.id for place in library.sections}


@pytest.fixture
def ask(library: Library, search: Search) -> Ask:
    """Return a function that answers a question; the model must open what it needs."""

    def ask(model: Model, question: str = "Which port is the default?", **given: Any) -> list[Event]:
        given.setdefault("prefetch_tokens", 0)
        budget = replace(given.pop("budget", Budget()), whole_site_tokens=given.pop("whole_site_tokens", 0))
        navigator = given.pop("navigator", None) or Navigator(library, search=search)

        async def listen() -> list[Event]:
            async with aclosing(answer(question, navigator, model, budget=budget, **given)) as events:
                return [event async for event in events]

        return anyio.run(listen)

    return ask
