"""Hostile answers are shown as text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import Page

from .conftest import STRICT, TESTS, Stage, Widget, answer, box_of, recorded


def rendered(page: Page, markdown: str, pieces: int = 1) -> Any:
    """Return the HTML that the page shows for Markdown that arrives in a number of chunks."""
    return page.evaluate(
        """async ([text, pieces]) => {
            const { Markdown } = await import("/roaming/roaming-markdown.js");
            const into = document.createElement("div");
            document.body.append(into);
            const link = (to) => (to.startsWith("https://ok.example/") ? to : undefined);
            const markdown = new Markdown(into, { link });
            const size = Math.ceil(text.length / pieces);
            for (let at = 0; at < text.length; at += size) markdown.push(text.slice(at, at + size));
            markdown.push("\\n\\n");
            return into.innerHTML;
        }""",
        [markdown, pieces],
    )


def test_allow_links_accepts_url_prefixes(page: Page, stage: Stage, widget: Widget) -> None:
    text = "[a](https://evil.example/docs/x) [b](https://evil.example/docsx) [c](https://ok.example.evil.example/)"
    stage.plays(answer(text + " [d](https://ok.example/) [^2ebf9271]", **{"2ebf9271": stage.url}))
    turn = widget.visit(stage.page('endpoint="/" allow-links="https://ok.example https://evil.example/docs"')).ask(
        "Well?"
    )
    links = turn.locator(".answer a[href]:not(.cite)").evaluate_all("links => links.map(link => link.href)")
    assert links == ["https://evil.example/docs/x", "https://ok.example/"]


@pytest.mark.parametrize("name", ["answered", "not_found", "error"])
def test_strict_content_security_policy_is_not_violated(page: Page, stage: Stage, widget: Widget, name: str) -> None:
    stage.csp = STRICT
    stage.plays(recorded(name))
    widget.visit(stage.page()).ask("Which port?")
    edge = box_of(widget.panel.locator(".resize"))
    page.mouse.move(edge["x"] + 3, 300)
    page.mouse.down()
    page.mouse.move(500, 300)
    page.mouse.up()
    assert widget.panel.bounding_box()["width"] == 640
    page.evaluate("document.querySelector('roaming-ask').setAttribute('mode', 'finder')")
    widget.input.fill("whistle")
    widget.hits.first.locator(".peek").click()
    widget.hits.first.locator(".open a").wait_for()


CASES = json.loads((TESTS / "golden" / "widget" / "markdown.json").read_text("utf-8"))


def test_markdown_is_rendered_as_expected_for_any_chunks(page: Page, stage: Stage) -> None:
    page.goto(stage.page())
    for case in CASES:
        for pieces in (1, len(case["markdown"])):
            assert rendered(page, case["markdown"], pieces) == case["html"], case["markdown"]


def test_huge_markdown_is_truncated_within_time_limit(page: Page, stage: Stage) -> None:
    page.goto(stage.page())
    table = "| a | b |\n| - | - |\n" + "| 1 | 2 |\n" * 5_000
    html = rendered(page, table)
    assert html.count("<td") == 1000
    assert "4500 more rows" in html
    page.evaluate("window.begun = performance.now()")
    for text in (
        ">" * 5_000 + "x",
        "*" * 20_000,
        "`a" * 20_000,
        "[" * 20_000,
        "- " * 5_000 + "x",
        "**a" * 20_000,
        "x" * 200_000,
    ):
        rendered(page, text)
    assert page.evaluate("performance.now() - begun") < 5_000
