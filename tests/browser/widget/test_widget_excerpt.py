"""The passages of the best results: whole blocks, with a mark for what is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .conftest import Stage, Widget

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow

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


@pytest.mark.parametrize(
    ("html", "query", "expected"),
    [
        pytest.param("<p>Short.</p><p>All of it.</p>", "all", ["Short.", "All of it."], id="short section"),
        pytest.param(
            f"<p>{FILLER}</p><p>{FILLER}</p><p>The lid must be shut.</p><p>{FILLER}</p><p>{FILLER}</p>",
            "lid",
            ["…", "The lid must be shut.", FILLER.strip(), "…"],
            id="block with the word, and what may restrict it",
        ),
        pytest.param(
            f"<p>{FILLER}</p><p>{FILLER}</p><p>Never do this:</p><div class=code><pre>open lid</pre></div>"
            f"<p>It burns.</p><p>{FILLER}</p><p>{FILLER}</p>",
            "lid",
            ["…", "Never do this:", "open lid", "It burns.", FILLER.strip(), "…"],
            id="code with its introduction",
        ),
        pytest.param(
            f"<p>{FILLER}</p><p>{FILLER}</p><div class=code><pre>lid {FILLER * 3}</pre></div>",
            "lid",
            ["…", FILLER.strip(), "…"],
            id="long code is left out as a whole",
        ),
    ],
)
def test_passage_has_whole_blocks(page: Page, stage: Stage, html: str, query: str, expected: list[str]) -> None:
    page.goto(stage.page(""))

    assert page.evaluate(CUT, [html, query, 0]) == expected


def test_long_table_keeps_its_header_and_the_rows_with_words(page: Page, stage: Stage) -> None:
    rows = [f"<tr><td>part{at}</td><td>{FILLER[:80]}</td></tr>" for at in range(30)]
    rows[20] = "<tr><td>lid</td><td>shut it</td></tr>"
    page.goto(stage.page(""))

    (shown,) = page.evaluate(CUT, [f"<div><table><tr><th>Part</th></tr>{''.join(rows)}</table></div>", "lid", 0])

    assert [line.split("\t")[0] for line in shown.splitlines()] == ["Part", "…", "lid", "…"]


def test_next_results_have_shorter_passages(page: Page, stage: Stage) -> None:
    html = "<p>The lid.</p>" + f"<p>{FILLER[:200]}</p>" * 9
    page.goto(stage.page(""))

    assert len(page.evaluate(CUT, [html, "lid", 0])) > len(page.evaluate(CUT, [html, "lid", 1]))


def test_best_results_show_passages_after_a_pause(page: Page, stage: Stage, widget: Widget) -> None:
    page.goto(stage.page(""))
    widget.open()
    widget.input.fill("port taken")
    passage = widget.hits.first.locator(".passage")

    passage.wait_for()
    assert "PortTaken" in passage.inner_text()
    assert not widget.hits.first.locator(".snippet").is_visible()
    assert widget.panel.locator(".passage").count() <= 3

    widget.hits.first.locator(".peek").click()
    widget.hits.first.locator(".open a").wait_for()
    assert not passage.is_visible()


def test_results_keep_their_openings_if_the_page_cannot_be_read(page: Page, stage: Stage, widget: Widget) -> None:
    file = stage.folder / "trouble" / "index.md"
    file.write_text(file.read_text("utf-8").replace("Kettle", "Teapot"), "utf-8")
    page.goto(stage.page(""))
    widget.open()
    widget.input.fill("port taken")
    page.wait_for_timeout(1_500)

    assert widget.hits.first.locator(".snippet").is_visible()
    assert widget.panel.get_by_text("Teapot").count() == 0
