"""The finder beyond its main path: keys, scopes, faulty files, passages, what is announced."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page

from mkdocs_roaming.publish.elements.finder_index import INDEX_PATH

from .conftest import TESTS, Stage, Widget, write_index

MAGNIFIER = "M4.5 11a6.5 6.5 0 1 0 13 0 6.5 6.5 0 0 0-13 0M20 20l-4.3-4.3"
FOCUSED = "document.querySelector('roaming-ask').shadowRoot.activeElement"
UNREADABLE = "text=This cannot be read at the moment."
TOLERATED = r"/trouble/|404"
"""The stage has no pages but the one with the widget."""


# Files


@pytest.mark.parametrize("text", ["", "{", '{"version": 2}', "<!doctype html>", None])
def test_unusable_index_is_reported_until_it_can_be_read(stage: Stage, widget: Widget, text: str | None) -> None:
    index = stage.folder / INDEX_PATH
    working = index.read_bytes()
    index.unlink() if text is None else index.write_text(text)
    widget.visit(stage.page(""))
    widget.input.fill("port taken")
    widget.panel.locator(UNREADABLE).wait_for()
    index.write_bytes(working)
    widget.input.fill("port is taken")
    widget.hits.first.wait_for()


@pytest.mark.parametrize("is_version", [True, False])
def test_cached_index_of_another_version_or_build_is_loaded_again(
    page: Page, stage: Stage, widget: Widget, make_site: Callable[..., Any], is_version: bool
) -> None:
    before = '{"version": 2}' if is_version else (stage.folder / INDEX_PATH).read_text("utf-8")
    make_site([("kettles/", "# Kettles\n\n## Newer port\n\nIt is taken.\n")]).publish(stage.folder)
    write_index(stage.folder)
    cached = {"body": before, "content_type": "application/json"}
    page.route(f"**/{INDEX_PATH}", lambda route: route.fulfill(**cached), times=1)
    widget.visit(stage.page(""))
    widget.input.fill("port taken")
    widget.hits.first.wait_for()
    assert "Newer port" in widget.hits.first.inner_text()


def test_missing_shard_reloads_index_only_once(page: Page, stage: Stage, widget: Widget) -> None:
    (shard,) = (stage.folder / "roaming" / "finder").iterdir()
    shard.unlink()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.removeprefix(stage.url)))
    widget.visit(stage.page(""))
    widget.input.fill("port taken")
    widget.panel.locator(UNREADABLE).wait_for()
    assert [path for path in asked if path.endswith(".json")] == 2 * [INDEX_PATH, f"roaming/finder/{shard.name}"]


def test_text_with_wrong_digest_is_not_shown(stage: Stage, widget: Widget) -> None:
    file = stage.folder / "trouble" / "index.md"
    file.write_text(file.read_text("utf-8").replace("Kettle", "Teapot"), "utf-8")
    widget.visit(stage.page(""))
    widget.input.fill("port taken")
    widget.page.wait_for_timeout(1_500)  # until passages are shown
    assert widget.hits.first.locator(".snippet").is_visible()
    assert widget.panel.get_by_text("Teapot").count() == 0
    widget.hits.first.locator(".peek").click()
    widget.hits.first.locator(UNREADABLE).wait_for()


# Results


def test_arrow_keys_move_through_results_and_letters_return_to_input(page: Page, stage: Stage, widget: Widget) -> None:
    widget.visit(stage.page(""))
    widget.input.fill("port")
    widget.hits.nth(1).wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.evaluate(f"{FOCUSED}.textContent") == widget.hits.nth(1).locator("h3").inner_text()
    page.keyboard.press("ArrowRight")
    assert widget.hits.nth(1).locator(".peek").get_attribute("aria-expanded") == "true"
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    assert page.evaluate(f"{FOCUSED}.localName") == "textarea"
    page.keyboard.press("ArrowDown")
    page.keyboard.type("s")
    assert page.evaluate(f"{FOCUSED}.localName") == "textarea"
    assert widget.input.input_value() == "ports"


def test_typed_words_are_cleared_by_button_and_escape_and_kept_when_the_panel_closes(
    page: Page, stage: Stage, widget: Widget
) -> None:
    widget.visit(stage.page(""))
    clear = widget.panel.get_by_role("button", name="Clear")
    assert not clear.is_visible()
    for press in (clear.click, lambda: (page.keyboard.press("ArrowDown"), page.keyboard.press("Escape"))):
        widget.input.fill("port")
        widget.hits.first.wait_for()
        press()
        widget.hits.first.wait_for(state="detached")
        assert (widget.input.input_value(), widget.focused(), clear.is_visible()) == ("", "textarea", False)
    page.keyboard.press("Escape")
    assert not widget.panel.is_visible()
    widget.open().input.fill("port")
    page.locator("main a").focus()
    page.keyboard.press("Escape")
    assert not widget.panel.is_visible()
    assert widget.open().input.input_value() == "port"


def test_page_starts_with_its_sections_until_words_are_typed(page: Page, stage: Stage, widget: Widget) -> None:
    widget.visit(stage.page(""))
    start = widget.panel.locator(".start")
    start.wait_for()
    assert widget.panel.locator(".label").inner_text() == "On this page"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    start.locator("text=server.workers").first.wait_for()
    widget.input.fill("port")
    widget.hits.first.wait_for()
    assert start.count() == 0
    widget.input.fill("")
    start.wait_for()


def test_button_and_header_show_whether_a_model_answers(page: Page, stage: Stage) -> None:
    header = '<div class="md-header"><button data-roaming-open aria-expanded="false">Ask</button></div>'
    for attributes, name in (("", "Find in the docs"), ('endpoint="/"', "Ask the docs")):
        page.goto(stage.page(attributes))
        button = page.get_by_role("button", name=name)
        button.wait_for()
        assert (button.locator("path").first.get_attribute("d") == MAGNIFIER) == (not attributes)
    page.goto(stage.page(body=header))
    page.locator(".md-header button").wait_for()
    page.evaluate("document.querySelector('roaming-ask').setAttribute('mode', 'finder')")
    page.locator(".md-header button").wait_for(state="hidden")


def test_more_results_are_shown_on_demand(
    page: Page, stage: Stage, widget: Widget, make_site: Callable[..., Any]
) -> None:
    make_site([("a/", "# Pumps\n\n" + "".join(f"## Pump {at}\n\n" for at in range(39)))]).publish(stage.folder)
    write_index(stage.folder)
    widget.visit(stage.page(""))
    widget.input.fill("pump")
    widget.hits.nth(7).wait_for()
    assert widget.panel.locator(".count").inner_text() == "Best 8 of 40 sections"
    widget.panel.get_by_role("button", name="Show 20 more").click()
    widget.panel.get_by_role("button", name="Show 12 more").click()
    assert widget.hits.count() == 40
    assert widget.panel.locator(".count").inner_text() == "40 sections found"
    assert page.evaluate(f"{FOCUSED}.textContent") == widget.hits.nth(28).locator("h3").inner_text()


def test_number_of_results_is_announced_after_typing_pause(page: Page, stage: Stage, widget: Widget) -> None:
    page.clock.install()
    widget.visit(stage.page(""))
    widget.input.press_sequentially("port")
    widget.hits.first.wait_for()
    assert widget.status.inner_text() == ""
    page.clock.run_for(700)
    count = widget.hits.count()
    assert widget.status.inner_text() == f"{count} sections found"
    widget.input.fill("zzzz")
    page.clock.run_for(700)
    assert widget.status.inner_text() == "Nothing found. Try other words."


def test_prompt_has_question_llms_txt_and_sections(page: Page, stage: Stage, widget: Widget) -> None:
    widget.visit(stage.page(""))
    widget.input.fill("Is the port taken? ${x} $1")
    widget.panel.get_by_role("button", name="Copy a prompt for your own AI").click()
    widget.panel.get_by_role("button", name="Copied").wait_for()
    prompt = page.evaluate("navigator.clipboard.readText()")
    assert "from the documentation of Docs: Is the port taken? ${x} $1\n" in prompt
    assert "https://docs.example/p/llms.txt" in prompt
    assert "- Troubleshooting › The port is taken: https://docs.example/p/trouble/index.md" in prompt


# Passages of the best results: whole blocks, with a mark for what is left out

FILLER = "It boils water for tea and for coffee. " * 12

CUT = """async ([html, query, rank]) => {
    const { cut } = await import("/roaming/roaming-excerpt.js");
    const body = document.createElement("div");
    body.innerHTML = html;
    document.body.append(body);
    const words = query.split(" ").map((term) => ({ runs: [[term]] }));
    cut(body, { wanted: words, language: "en" }, rank);
    return [...body.children].map((block) => block.innerText.trim());
}"""

BLOCKS = json.loads((TESTS / "golden/widget/passages.json").read_text("utf-8"))
"""Blocks, a word, and what is shown: all; the block with the word and what may restrict it; code with its introduction; no long code."""


def test_passage_has_whole_blocks_and_the_rows_of_a_table_with_words(page: Page, stage: Stage) -> None:
    page.goto(stage.page(""))
    for html, query, expected in BLOCKS:
        wanted = [FILLER.strip() if text == "FILLER" else text for text in expected]
        assert page.evaluate(CUT, [html.replace("FILLER", FILLER), query, 0]) == wanted
    rows = [f"<tr><td>part{at}</td><td>{FILLER[:80]}</td></tr>" for at in range(30)]
    rows[20] = "<tr><td>lid</td><td>shut it</td></tr>"
    (shown,) = page.evaluate(CUT, [f"<div><table><tr><th>Part</th></tr>{''.join(rows)}</table></div>", "lid", 0])
    assert [line.split("\t")[0] for line in shown.splitlines()] == ["Part", "…", "lid", "…"]
    html = "<p>The lid.</p>" + f"<p>{FILLER[:200]}</p>" * 9
    assert len(page.evaluate(CUT, [html, "lid", 0])) > len(page.evaluate(CUT, [html, "lid", 1]))


def test_best_results_show_passages_after_a_pause(page: Page, stage: Stage, widget: Widget) -> None:
    widget.visit(stage.page(""))
    widget.input.fill("port taken")
    passage = widget.hits.first.locator(".passage")

    passage.wait_for()
    assert "PortTaken" in passage.inner_text()
    assert not widget.hits.first.locator(".snippet").is_visible()
    assert widget.panel.locator(".passage").count() <= 3

    widget.hits.first.locator(".peek").click()
    widget.hits.first.locator(".open a").wait_for()
    assert not passage.is_visible()


def test_sentence_is_compared_by_meaning_and_single_words_load_nothing_for_it(
    page: Page, stage: Stage, widget: Widget, make_site: Callable[..., Any]
) -> None:
    texts = {
        "pay/": "# Salary\n\nYour wages are paid on the last day of the month.\n",
        "log/": "# Log\n\nA file on the server.\n",
        "oil/": "# Oil\n\nThe engine needs oil.\n",
    }
    make_site(list(texts.items())).publish(stage.folder)
    write_index(stage.folder, with_table=True)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.rpartition(".")[2]))
    widget.visit(stage.page(""))
    widget.input.fill("engine")
    widget.hits.first.wait_for()
    page.wait_for_timeout(300)
    assert "bin" not in asked
    widget.input.fill("when does the company give us our earnings ")
    widget.hits.first.filter(has_text="Salary").wait_for()
    assert asked.count("bin") == 2
    widget.input.fill("what does the motor need to keep running ")
    widget.hits.first.filter(has_text="Oil").wait_for()
    assert asked.count("bin") == 2
