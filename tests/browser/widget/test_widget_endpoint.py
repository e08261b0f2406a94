"""The widget with the real endpoint and a scripted model."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpx2
import pytest
import uvicorn

from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.models.base import Stop, Text, ToolCall
from mkdocs_roaming.answer.models.scripted import ScriptedModel
from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.serve.app import AppConfig, create_app
from mkdocs_roaming.serve.server import bind_socket
from mkdocs_roaming.serve.service import AnswerConfig

from .conftest import Stage, Widget

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow


@contextmanager
def running(serving: AppConfig) -> Iterator[str]:
    """Run an endpoint on a port of its own, and give its address."""
    listening = bind_socket("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(create_app(serving), log_config=None, lifespan="on"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
    end = time.monotonic() + 10
    while time.monotonic() < end and not (server.started and httpx2.get(f"{url}healthz").is_success):
        time.sleep(0.01)
    yield url
    server.should_exit = True
    thread.join(10)


def test_widget_works_with_real_endpoint(page: Page, stage: Stage, widget: Widget) -> None:
    """A question, opened sections, a cited answer, and a follow-up."""
    library = open_library(str(stage.folder))
    section = next(place for place in library.sections if place.section.title == "Server")
    opens = [ToolCall("1", "expand_sections", {"ids": [section.id]}), Stop("tools")]
    says = [Text(f"It listens on port 8642 [^{section.id}]."), Stop("end")]
    stage.page(site="https://docs.example/p/")
    serving = AppConfig(
        str(stage.folder), AnswerConfig(ScriptedModel([opens, says, says]), Budget(), 0), site=stage.folder
    )
    with running(serving) as url:
        turn = widget.visit(url).ask("Which port is the default?")
        assert "It listens on port 8642.[1]" in turn.inner_text()
        assert str(turn.locator(".cite").get_attribute("href")).startswith(f"{url}settings/#:~:text=")
        assert "8642.[1]" in widget.ask("Is that so?").inner_text()
        assert "Read 3 sections, cited 1" in widget.turns.nth(1).inner_text()
