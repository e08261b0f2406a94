"""Answers for developers: code, citations with their passages, unsupported statements, ways out, feedback."""

from __future__ import annotations

import json
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect
from tables import read_tables

from .conftest import STRICT, TESTS, Reply, Stage, Widget, answer, box_of, recorded

QUESTION = "How do I brew?"
SECTION = "2ebf9271"
PASSAGE = "The lid stays shut until the water boils."
BODY = f"""<h2 id=lid>The lid</h2><p>Lift it slowly. {PASSAGE.replace("water", "<code>water</code>")} Then it opens.</p>
<h2 id=steam>Steam</h2>{"<p>Steam is hot.</p>" * 60}<p>Let it <em>cool</em> down for two minutes.</p>"""
CODE = (TESTS / "golden/widget/code.md").read_text("utf-8")


def passage(url: str, text: str, fragment: str = "") -> bytes:
    """Encode an answer whose citation has a passage."""
    claim = "Wait [^2ebf9271]."
    found = {"section": SECTION, "text": text, "fragment": fragment, "start": claim.index("[")}
    return answer(claim, {"type": "data-support", "data": {"marks": [], "passages": [found]}}, **{SECTION: url})


# Code and citations


def test_code_has_colours_language_and_buttons(page: Page, stage: Stage, widget: Widget) -> None:
    stage.plays(answer(CODE, **{SECTION: stage.url, "5f4feca3": stage.url}))
    turn = widget.visit(stage.page()).ask(QUESTION)
    code = turn.locator("pre code")
    expect(code.locator(".k")).to_have_text(["async", "def", "return"])
    assert code.locator(".f").all_inner_texts() == ["@job", "brew"]
    assert code.locator(".s, .c").all_inner_texts()[0] == '"tea"'
    assert turn.locator(".answer > p").all_inner_texts() == ["Start it[1]:"]
    assert turn.locator(".language").inner_text() == "Python[1]"
    assert turn.locator("td").inner_text() == "b[1][2]"
    wrap = turn.get_by_role("button", name="Wrap lines")
    assert code.evaluate("code => code.parentNode.classList.contains('more')")
    wrap.click()
    assert wrap.get_attribute("aria-pressed") == "true"
    assert code.evaluate("code => code.parentNode.scrollWidth <= code.parentNode.clientWidth")
    assert not code.evaluate("code => code.parentNode.classList.contains('more')")
    turn.get_by_role("button", name="Copy code").click()
    turn.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == CODE.split("```")[1].partition("\n")[2].rstrip("\n")
    turn.get_by_role("button", name="Copy code").wait_for()  # reverts


LANGUAGES = json.loads((TESTS / "golden/widget/highlight.json").read_text("utf-8"))


def test_languages_are_coloured_without_changing_the_text(page: Page, stage: Stage) -> None:
    page.goto(stage.page())
    for language, (code, tokens) in LANGUAGES.items():
        found, text = page.evaluate(
            """async ([language, text]) => {
                const { colour } = await import("/roaming/roaming-highlight.js");
                const code = document.createElement("code");
                code.textContent = text;
                colour(code, language);
                return [[...code.children].map((one) => `${one.className}:${one.textContent}`), code.textContent];
            }""",
            [language, code],
        )
        assert (found, text) == (tokens, code), language


PUNCTUATION = json.loads((TESTS / "golden/widget/punctuation.json").read_text("utf-8"))


def test_punctuation_stays_beside_the_numbers_of_citations(page: Page, stage: Stage, widget: Widget) -> None:
    text = "\n".join(f"- {one}" for one in PUNCTUATION)
    stage.plays(answer(text, **{SECTION: stage.url, "5f4feca3": stage.url}))
    page.goto(stage.page())
    assert widget.open().ask(QUESTION).locator(".answer li").all_text_contents() == list(PUNCTUATION.values())


LINES = """(block, width) => {
    block.style.width = `${width}px`;
    const text = [];
    const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
    while (walker.nextNode())
        if (!walker.currentNode.parentNode.closest(".cite"))
            for (let at = 0; at < walker.currentNode.length; at++) text.push([walker.currentNode, at]);
    const middle = (box) => (box.top + box.bottom) / 2;
    const line = ([node, at]) => {
        const range = document.createRange();
        range.setStart(node, at);
        range.setEnd(node, at + 1);
        return middle([...range.getClientRects()].at(-1));
    };
    return [...block.querySelectorAll(".cite")].flatMap((cite) => {
        const follows = (one) => one[0].compareDocumentPosition(cite) & Node.DOCUMENT_POSITION_PRECEDING;
        const before = text.filter((one) => !follows(one)).at(-1);
        const after = text.find(follows);
        const around = after && /[.,;:)。，،]/.test(after[0].data[after[1]]) ? [before, after] : [before];
        return around.map((one) => Math.round(Math.abs(line(one) - middle(cite.getBoundingClientRect()))));
    });
}"""


@pytest.mark.parametrize("text", read_tables(__file__)["glued"])
def test_citation_and_punctuation_are_on_the_line_of_their_word(
    page: Page, stage: Stage, widget: Widget, text: str
) -> None:
    stage.plays(answer(text, **{SECTION: stage.url, "5f4feca3": stage.url}))
    block = widget.visit(stage.page()).ask(QUESTION).locator(".answer > p")
    for width in range(120, 300, 3):
        assert max(block.evaluate(LINES, width)) < 8, width


# Passages


def arrived(page: Page) -> str:
    """Return the highlighted text of the page."""
    page.wait_for_function("() => CSS.highlights.get('roaming-passage')")
    return str(page.evaluate("[...CSS.highlights.get('roaming-passage')].join()"))


def test_citation_highlights_its_passage_on_the_same_page(page: Page, stage: Stage, widget: Widget) -> None:
    """Under a strict policy, too."""
    stage.csp = STRICT
    url = stage.page(body=BODY)
    stage.plays(passage(f"{url}#lid", PASSAGE, "The%20lid,boils."))
    turn = widget.visit(url).ask(QUESTION)
    assert turn.locator(".cite").get_attribute("href") == f"{url}#lid:~:text=The%20lid,boils."
    assert turn.locator("a.source").get_attribute("aria-current") is None
    turn.locator(".cite").hover()
    widget.panel.locator(".card").wait_for()
    turn.locator(".cite").click()
    assert arrived(page) == PASSAGE
    assert page.url == f"{url}#lid"
    assert page.locator("[data-roaming-arrived]").inner_text() == "The lid"
    assert turn.locator("a.source").get_attribute("aria-current") == "location"


def test_citation_highlights_its_passage_after_a_page_load(page: Page, stage: Stage, widget: Widget) -> None:
    url = stage.page(body=BODY, name="other.html")
    stage.plays(passage(f"{url}#steam", "Let it cool down for two minutes."))
    widget.visit(stage.page()).ask(QUESTION).locator("a.source").click()
    page.wait_for_url("**/other.html#steam")
    assert arrived(page) == "Let it cool down for two minutes."
    assert page.locator("p:has(em)").evaluate("one => one.getBoundingClientRect().top") < 800
    assert page.evaluate("sessionStorage.getItem('roaming:passage')") is None


def test_unknown_passage_marks_only_the_heading(page: Page, stage: Stage, widget: Widget) -> None:
    url = stage.page(body=BODY)
    stage.plays(passage(f"{url}#steam", "Nobody wrote this sentence anywhere."))
    widget.visit(url).ask(QUESTION).locator(".cite").click()
    page.locator("[data-roaming-arrived]:text-is('Steam')").wait_for()
    assert page.evaluate("CSS.highlights.has('roaming-passage')") is False


def test_card_shows_breadcrumb_and_passage(page: Page, stage: Stage, widget: Widget) -> None:
    url = stage.page(body=BODY)
    stage.plays(passage(f"{url}#lid", PASSAGE))
    cite = widget.visit(url).ask(QUESTION).locator(".cite")
    cite.hover()
    card = widget.panel.locator(".card")
    card.wait_for()
    assert PASSAGE in card.inner_text()
    assert "On this page" in card.inner_text()
    box, panel = box_of(card), box_of(widget.panel)
    assert panel["x"] <= box["x"] <= panel["x"] + panel["width"] - box["width"]
    card.hover()  # the pointer may move to it
    page.wait_for_timeout(400)
    assert card.is_visible()
    page.keyboard.press("Escape")
    assert card.count() == 0
    assert widget.panel.is_visible()
    page.mouse.move(0, 0)
    widget.input.focus()
    for _ in range(20):
        page.keyboard.press("Shift+Tab")
        if widget.focused() == "cite":
            break
    card.wait_for()
    assert cite.get_attribute("aria-describedby") == card.get_attribute("id")
    page.keyboard.press("Tab")
    expect(card).to_have_count(0)


# The steps, unsupported statements, ways out, feedback


def test_beads_of_many_sections_show_cited_ones_and_count_the_others(page: Page, stage: Stage, widget: Widget) -> None:
    sections = {f"{at:08x}": stage.url for at in range(36)}
    stage.plays(
        answer("Yes [^00000000] [^00000023].", **sections), answer("Yes [^00000000].", **{"00000000": stage.url})
    )
    summary = widget.visit(stage.page()).ask(QUESTION).locator(".trail > summary")
    assert (summary.locator("circle").count(), summary.locator("circle.on").count()) == (24, 2)
    assert summary.locator(".rest").inner_text() == "+12"
    assert widget.ask(QUESTION).locator(".rest").count() == 0


@pytest.mark.parametrize("width", [320, 390, 1280])
@pytest.mark.parametrize("direction", ["ltr", "rtl"])
def test_tooltips_of_actions_are_inside_panel_above_input(
    page: Page, stage: Stage, widget: Widget, width: int, direction: str
) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    stage.plays(recorded("answered"))
    page.goto(stage.page('endpoint="/" feedback="on"'))
    page.evaluate("direction => document.body.dir = direction", direction)
    turn = widget.open().ask(QUESTION)
    for tool in turn.locator(".actions .tool").all():
        tool.hover()
        left, right, bottom = tool.evaluate(
            """tool => {
                const style = getComputedStyle(tool, "::after");
                const { left, right, top } = tool.getBoundingClientRect();
                const start = parseFloat(style.direction === "rtl" ? style.right : style.left);
                const wide = parseFloat(style.width) + parseFloat(style.paddingLeft) + parseFloat(style.paddingRight);
                const edge = style.direction === "rtl" ? right - start - wide : left + start;
                return [edge, edge + wide, top - 6];
            }"""
        )
        panel, field = box_of(widget.panel), box_of(widget.input)
        assert panel["x"] <= left
        assert right <= panel["x"] + panel["width"]
        assert bottom < field["y"]


def test_steps_that_the_reader_uses_stay_open(page: Page, stage: Stage, widget: Widget) -> None:
    reply = stage.plays(Reply(recorded("answered"), hold=b'data: {"type":"text-start"'))
    widget.visit(stage.page())
    widget.send(QUESTION)
    widget.turns.locator(".tree a").first.focus()
    reply.released.set()
    widget.ended()
    assert widget.turns.locator(".tree").is_visible()


def test_unsupported_words_are_marked_and_their_note_opens_in_the_text(
    page: Page, stage: Stage, widget: Widget
) -> None:
    code = "kettle run --turbo --wings"
    text = f"It **listens** on `8642` [^2ebf9271], has *wings*.\n\n- It is fast [^2ebf9271].\n\n```sh\n{code}\n```\n"
    words = ("8642", "wings", "fast", "--turbo", "--wings")
    marks = [
        {"kind": "name", "start": text.index(word), "end": text.index(word) + len(word), "passage": "It has a lid."}
        for word in words
    ]
    stage.plays(answer(text, {"type": "data-support", "data": {"marks": marks}}, **{SECTION: stage.url}))
    turn = widget.visit(stage.page()).ask(QUESTION)
    expect(turn.locator("mark")).to_have_text(words)
    assert turn.locator("pre code").text_content() == code
    turn.get_by_role("button", name="Copy answer").click()
    widget.panel.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()").startswith(text.replace("[^2ebf9271]", "[1]"))
    flag = turn.locator(".flag")
    assert flag.inner_text() == "5 details not confirmed by the sources"
    lines = "flag => { const r = document.createRange(); r.selectNodeContents(flag.lastChild); return r.getClientRects().length }"
    for width in (320, 390, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert flag.evaluate(lines) == 1
    mark = turn.locator("mark").first
    mark.focus()
    page.keyboard.press("Enter")
    note = turn.locator(".answer > p + .note")
    assert "The sections that were read do not confirm this." in note.inner_text()
    assert "It has a lid." in note.inner_text()
    assert mark.get_attribute("aria-controls") == note.get_attribute("id")
    note.get_by_role("button", name="See what was read").click()
    assert turn.locator(".tree").is_visible()
    mark.click()
    assert note.count() == 0
    assert mark.get_attribute("aria-expanded") == "false"
    turn.locator("li mark").click()
    assert turn.locator("li > .note").is_visible()


LINKS = [
    {"label": "Report a gap", "url": "https://issues.example/new?title={question}&body={sections}%0A{page}"},
    {"label": "Bad", "url": "javascript:alert(1)"},
]


def test_not_found_offers_prefilled_links(page: Page, stage: Stage, widget: Widget) -> None:
    stage.plays(recorded("not_found"), recorded("answered"))
    turn = widget.visit(stage.page(f"endpoint=\"/\" links='{json.dumps(LINKS)}'")).ask("Does it fly & land?")
    links = turn.locator("[part=links] a")
    assert links.all_inner_texts() == ["Report a gap"]
    address = urlsplit(links.get_attribute("href") or "")
    assert (address.hostname, links.get_attribute("target")) == ("issues.example", "_blank")
    query = parse_qs(address.query)
    assert query["title"] == ["Does it fly & land?"]
    assert "- Troubleshooting › It does not whistle: " in query["body"][0]
    assert query["body"][0].endswith(page.url)
    assert widget.ask(QUESTION).locator("[part=links]").count() == 0


def test_comment_follows_a_negative_rating(page: Page, stage: Stage, widget: Widget) -> None:
    """It is cut to bytes that the endpoint accepts."""
    stage.plays(recorded("answered"))
    turn = widget.visit(stage.page('endpoint="/" feedback="on"')).ask(QUESTION)
    with page.expect_response("**/v1/feedback"):
        turn.get_by_role("button", name="Not helpful").click()
    comment = turn.get_by_role("textbox", name="What was wrong or missing?")
    expect(comment).to_be_focused()
    comment.fill("  The lid is missing. " + "🫖" * 400)
    with page.expect_response("**/v1/feedback"):
        comment.press("Enter")
    sent = [{key: asked.get(key) for key in ("helpful", "comment")} for asked in stage.asked[1:]]
    assert sent == [
        {"helpful": False, "comment": None},
        {"helpful": False, "comment": "The lid is missing. " + "🫖" * 245},
    ]
    assert comment.count() == 0
    assert "Thank you" in turn.inner_text()


def test_follow_up_questions_are_asked_and_only_below_the_last_answer(page: Page, stage: Stage, widget: Widget) -> None:
    follow_ups = {"type": "data-followups", "data": {"questions": ["And the lid?", "And tea?", "Three?", "Four?"]}}
    body = answer("Yes [^2ebf9271].", follow_ups, **{SECTION: stage.url})
    stage.plays(body, recorded("answered"))
    page.goto(stage.page())
    first: Locator = widget.turns.first
    widget.open().ask(QUESTION)
    assert first.locator(".next button").all_inner_texts() == ["And the lid?", "And tea?", "Three?"]
    first.locator(".next button").first.click()
    widget.turns.nth(1).locator("[part=actions]").wait_for()
    assert stage.asked[1]["question"] == "And the lid?"
    assert not first.locator(".next").is_visible()
