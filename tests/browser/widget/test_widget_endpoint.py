"""The widget with the real endpoint and a scripted model."""

from __future__ import annotations

import time

import httpx2
from playwright.sync_api import Page
from serving import serve_app

from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.models.base import Stop, Text, ToolCall
from mkdocs_roaming.answer.models.scripted import ScriptedModel
from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.serve.app import AppConfig, create_app
from mkdocs_roaming.serve.service import AnswerConfig

from .conftest import Stage, Widget


def test_widget_works_with_real_endpoint(page: Page, stage: Stage, widget: Widget) -> None:
    """A question, opened sections, a cited answer, and a follow-up."""
    library = open_library(str(stage.folder))
    section = next(place for place in library.sections if place.section.title == "Server")
    opens = [ToolCall("1", "expand_sections", {"ids": [section.id]}), Stop("tools")]
    says = [Text(f"It listens on port 8642 [^{section.id}]."), Stop("end")]
    stage.page(site="https://docs.example/p/")
    serving = AppConfig(
        str(stage.folder),
        AnswerConfig(ScriptedModel([opens, says, says]), Budget(whole_site_tokens=0)),
        site=stage.folder,
    )
    with serve_app(create_app(serving), lifespan="on") as port:
        url = f"http://127.0.0.1:{port}/"
        for _ in range(1_000):  # until the site is open
            if httpx2.get(f"{url}healthz").is_success:
                break
            time.sleep(0.01)
        turn = widget.visit(url).ask("Which port is the default?")
        assert "It listens on port 8642.[1]" in turn.inner_text()
        assert str(turn.locator(".cite").get_attribute("href")).startswith(f"{url}settings/#:~:text=")
        assert "8642.[1]" in widget.ask("Is that so?").inner_text()
        assert "Read 3 sections, cited 1" in widget.turns.nth(1).inner_text()
