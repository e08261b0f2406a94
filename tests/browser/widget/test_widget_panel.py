"""The panel as a part of the page: room, place, memory, outages, ways to open it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from .conftest import SHIFTS, TESTS, Reply, Stage, Widget, answer, box_of, hold, recorded, served
from .themes import built

QUESTION = "Which port is the default?"
LATER = b'data: {"type":"finish-step"}'
LONG = "# Tides\n\n" + "".join(f"## Hour {hour}\n\n{'The water moves. ' * 40}\n\n" for hour in range(24))

# The controls of the panel that something of the page covers at their centre.
COVERED = """() => {
    const host = document.querySelector("roaming-ask");
    return ["close", "reset", "title", "input", "send"].filter((part) => {
        const control = host.shadowRoot.querySelector(`[part=${part}]`);
        const { x, y, width, height } = control.getBoundingClientRect();
        return width && document.elementFromPoint(x + width / 2, y + height / 2) !== host;
    });
}"""


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A site in Material, without instant navigation."""
    with served(tmp_path_factory.mktemp("panel") / "site") as stage:
        yield built(stage, "material plain", {"index.md": LONG, "other.md": LONG})


TOLERATED = r"asked for https://|fonts\.g|cdnjs|ERR_(EMPTY|FAILED|INCOMPLETE|INTERNET)|status of (429|503)|: (429|503)$"
"""Themes ask for scripts of other hosts; some answers are refused."""


def overlaps(one: Locator, other: Locator) -> bool:
    a, b = box_of(one), box_of(other)
    across = a["x"] < b["x"] + b["width"] and b["x"] < a["x"] + a["width"]
    return across and a["y"] < b["y"] + b["height"] and b["y"] < a["y"] + a["height"]


# Room


@pytest.mark.parametrize("width", [1100, 1280, 1440])
def test_docked_panel_leaves_search_and_article_their_place(
    page: Page, material: Stage, widget: Widget, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(material.url)
    before = page.locator(".md-search__form").bounding_box()
    widget.open()
    page.wait_for_timeout(200)
    assert page.locator(".md-search__form").bounding_box() == before
    for part in page.locator(".md-search__form, .md-sidebar--secondary .md-sidebar__inner, article").all():
        assert not part.is_visible() or not overlaps(part, widget.panel)
    assert page.locator(".md-sidebar--secondary").is_visible() == (width == 1440)
    assert page.locator("article p").first.evaluate("one => one.clientWidth") >= 560
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.keyboard.press("Escape")
    expect(page.locator("body")).to_have_css("padding-inline-end", "0px")


@pytest.mark.parametrize("width", [1440, 1280, 900, 390])
@pytest.mark.parametrize("name", ["button", "header", "header-inside", "header-and-button", "contents"])
def test_no_element_of_the_page_covers_controls_of_panel(
    page: Page, stage: Stage, widget: Widget, name: str, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    stage.plays(recorded("answered"))
    page.goto(stage.page(body=(TESTS / f"golden/widget/covered/{name}.html").read_text("utf-8")))
    page.locator("roaming-ask .opener").wait_for(state="attached")
    page.keyboard.press("Control+i")
    widget.ask(QUESTION)
    assert page.evaluate(COVERED) == []
    page.evaluate("scrollTo({ top: 500, behavior: 'instant' })")
    page.wait_for_timeout(100)
    assert page.evaluate(COVERED) == []
    if width > 600:  # on phones the next page begins without the panel
        page.reload()
        widget.turns.wait_for()
        assert page.evaluate(COVERED) == []


@pytest.mark.parametrize(
    "style",
    ["main { width: 1200px }", "main { position: fixed; inset-inline: 0 }", "main p { position: relative; left: 50% }"],
)
def test_panel_floats_over_page_that_does_not_move_aside(page: Page, stage: Stage, widget: Widget, style: str) -> None:
    widget.visit(stage.page(body=f"<style>{style}</style><p>{'Boils water. ' * 90}</p>"))
    assert not page.locator(":root[data-roaming-docked]").count()
    expect(page.locator("body")).to_have_css("padding-inline-end", "0px")
    expect(widget.panel).not_to_have_css("box-shadow", "none")
    page.reload()
    widget.panel.wait_for()
    assert not page.locator(":root[data-roaming-docked]").count()
    assert page.evaluate(COVERED) == []


def test_panel_docks_or_floats_again_after_the_page_has_changed(page: Page, stage: Stage, widget: Widget) -> None:
    widget.visit(stage.page(body="<p>Boils water.</p>"))
    docked = page.locator(":root[data-roaming-docked]")
    expect(docked).to_have_count(1)
    expect(widget.panel).to_have_css("box-shadow", "none")
    text = "Boils water. " * 90
    page.evaluate("text => { document.querySelector('main').innerHTML = `<p style='width: 1200px'>${text}</p>` }", text)
    expect(docked).to_have_count(0)
    table = "<table><tr><td><p style='width: 1400px'>Wide</table><p>Boils water.</p>"
    page.evaluate("table => { document.querySelector('main').innerHTML = table }", table)
    expect(docked).to_have_count(1)


def test_floating_panel_closes_for_focus_below_it(page: Page, stage: Stage, widget: Widget) -> None:
    page.set_viewport_size({"width": 900, "height": 800})
    style = "<style>.end { float: inline-end }</style>"
    widget.visit(stage.page(body=f"{style}<p><a class=end href=#below>Below</a><a href=#next>Beside</a></p>"))
    page.get_by_role("link", name="Beside").focus()
    assert widget.panel.is_visible()
    page.get_by_role("link", name="Below").focus()
    expect(widget.panel).to_be_hidden()
    assert page.evaluate("document.activeElement.textContent") == "Below"


def test_first_visible_paragraph_keeps_its_place(page: Page, material: Stage, widget: Widget) -> None:
    page.goto(material.url)
    page.evaluate(SHIFTS)
    page.evaluate("scrollTo({ top: 3000, behavior: 'instant' })")
    mark = """() => {
        const top = (one) => one.getBoundingClientRect().top;
        window.mark ??= [...document.querySelectorAll("article :is(h2, p)")].find((one) => top(one) >= 48);
        return [mark.textContent.slice(0, 20), Math.round(top(mark))];
    }"""
    before = page.evaluate(mark)
    for _ in range(2):
        page.keyboard.press("Control+i")
        assert page.evaluate(mark) == before
    assert page.evaluate("shifts") == []  # right after a key or click the page may move


# Memory


def test_panel_stays_open_with_width_and_draft_on_next_page(page: Page, material: Stage, widget: Widget) -> None:
    widget.visit(material.url)
    widget.panel.get_by_role("separator").press("ArrowLeft")
    widget.input.fill("And the dr")
    page.goto(material.url + "other/")
    widget.panel.wait_for()
    assert widget.panel.bounding_box()["width"] == 384
    expect(page.locator("body")).to_have_css("padding-inline-end", "384px")
    assert widget.input.input_value() == "And the dr"
    assert page.evaluate("document.activeElement.localName") == "body"
    page.keyboard.press("Escape")
    page.goto(material.url)
    page.locator("roaming-ask .opener").wait_for(state="attached")
    assert not widget.panel.is_visible()


def test_place_of_open_panel_is_kept_until_its_conversation_is_shown(
    page: Page, material: Stage, widget: Widget
) -> None:
    """Neither the place nor what it contains changes; the panel never says that nothing was asked."""
    material.plays(recorded("answered"))
    widget.visit(material.url).ask(QUESTION)
    box = widget.panel.bounding_box()
    release = {name: hold(page, name) for name in ("ask", "turn")}
    page.goto(material.url + "other/", wait_until="commit")
    page.locator("footer").wait_for()
    frame = page.evaluate("({ ...getComputedStyle(document.body, '::after') })")
    assert box is not None
    assert (frame["top"], frame["width"]) == (f"{box['y']:g}px", f"{box['width']:g}px")
    expect(page.locator("body")).to_have_css("padding-inline-end", frame["width"])
    release["ask"]()
    expect(widget.input).to_have_attribute("placeholder", "Ask a follow-up")
    expect(widget.panel.locator(".intro")).to_be_hidden()
    release["turn"]()
    widget.turns.first.wait_for()
    assert widget.panel.bounding_box() == box
    assert page.evaluate("getComputedStyle(document.body, '::after').content") == "none"


def test_page_gets_its_place_back_where_the_panel_cannot_be_loaded(page: Page, material: Stage, widget: Widget) -> None:
    widget.visit(material.url)
    page.route("**/roaming-ask.js", lambda route: route.abort())
    page.goto(material.url + "other/")
    expect(page.locator("body")).to_have_css("padding-inline-end", "0px")


def test_button_in_header_works_before_the_widget_is_loaded(page: Page, material: Stage, widget: Widget) -> None:
    release = hold(page, "ask")
    page.goto(material.url, wait_until="commit")
    page.locator(".md-header [data-roaming-open]").click()
    release()
    expect(widget.input).to_be_focused()


def test_conversation_keeps_all_turns_and_its_place_and_sends_the_last_six(
    page: Page, stage: Stage, widget: Widget
) -> None:
    stage.plays(*7 * [recorded("answered")], answer("Water. " * 2_000), recorded("answered"))
    widget.visit(stage.page())
    for _ in range(8):
        widget.ask(QUESTION)
    log = widget.panel.locator(".log")
    log.evaluate("log => void (log.scrollTop = 700)")
    page.reload()
    widget.open()
    assert widget.turns.count() == 8
    assert log.evaluate("log => log.scrollTop") == 700
    widget.ask(QUESTION)
    assert stage.asked[-1]["turns"] == [*5 * ["<signed>"], "signed"]


# Place


def test_escape_closes_panel_from_the_page_but_not_from_its_fields(page: Page, stage: Stage, widget: Widget) -> None:
    widget.visit(stage.page(body="<input id=field>"))
    page.locator("#field").focus()
    page.keyboard.press("Escape")
    assert widget.panel.is_visible()
    page.locator("main a").focus()
    page.keyboard.press("Escape")
    expect(widget.panel).to_be_hidden()
    assert page.evaluate("document.activeElement.textContent") == "Next"


def test_answer_does_not_move_while_it_grows_and_its_steps_fold(page: Page, stage: Stage, widget: Widget) -> None:
    reply = stage.plays(Reply(recorded("answered"), hold=LATER))
    widget.visit(stage.page())
    widget.send(QUESTION)
    expect(widget.status).to_have_text("Reading 3 sections")
    page.evaluate(
        """() => {
            const turn = document.querySelector("roaming-ask").shadowRoot.querySelector("article");
            window.tops = new Set();
            const look = () => {
                const words = turn.querySelector(".answer p");
                if (words?.textContent) tops.add(Math.round(words.getBoundingClientRect().top));
                requestAnimationFrame(look);
            };
            look();
        }"""
    )
    reply.released.set()
    widget.ended()
    page.wait_for_timeout(400)
    assert not widget.turns.locator(".tree").is_visible()
    assert len(page.evaluate("[...tops]")) == 1


def test_button_jumps_to_end_of_growing_answer(page: Page, stage: Stage, widget: Widget) -> None:
    body = answer("Water. \n\n" * 200)
    half = body.replace(
        b'data: {"type": "data-status"',
        LATER
        + b'\n\ndata: {"type": "text-delta", "id": "t", "delta": "'
        + b"Ebb.\\n\\n" * 100
        + b'"}\n\ndata: {"type": "data-status"',
    )
    reply = stage.plays(Reply(half, hold=LATER))
    widget.visit(stage.page())
    widget.send(QUESTION)
    log = widget.panel.locator(".log")
    jump = widget.panel.get_by_role("button", name="Jump to latest")
    jump.wait_for()
    assert log.evaluate("log => log.scrollTop") == 0
    jump.click()
    expect(jump).to_be_hidden()
    reply.released.set()
    widget.ended()
    page.wait_for_timeout(100)
    assert log.evaluate("log => log.scrollHeight - log.scrollTop - log.clientHeight") < 2


# Outages


@pytest.mark.parametrize("how", ["button", "enter", "online", "timer"])
def test_panel_comes_back_after_outage_with_the_question(page: Page, stage: Stage, widget: Widget, how: str) -> None:
    page.clock.install()
    stage.plays(Reply(b"{}", status=503), recorded("answered"))
    widget.visit(stage.page())
    widget.send(QUESTION)
    notice = widget.panel.locator(".notice")
    notice.wait_for()
    assert widget.input.input_value() == QUESTION
    reaches = {
        "online": lambda: page.evaluate("dispatchEvent(new Event('online'))"),
        "timer": lambda: page.clock.fast_forward(61_000),
    }
    if reach := reaches.get(how):
        with page.expect_event("requestfailed"):
            reach()
        expect(notice).to_be_visible()  # the endpoint still does not answer
        stage.healthy.set()
        reach()
        expect(notice).to_be_hidden()
        expect(widget.status).to_have_text("You can ask again now.")
        assert widget.input.input_value() == QUESTION
    if how == "button":
        widget.panel.get_by_role("button", name="Try again").click()
    else:
        widget.input.press("Enter")
    assert "8642" in widget.ended().inner_text()
    expect(notice).to_be_hidden()
    assert widget.input.input_value() == ""


# Ways to open it


def test_any_element_of_the_page_opens_the_panel(page: Page, stage: Stage, widget: Widget) -> None:
    body = '<button data-roaming-open>Ask</button><a href="/ask/" data-roaming-open="How hot?">Hot</a>'
    url = stage.page(body=body)
    page.goto(url)
    page.locator("roaming-ask .opener").wait_for()
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(widget.input).to_be_focused()
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.textContent") == "Ask"
    page.get_by_role("link", name="Hot").click()
    expect(widget.input).to_have_value("How hot?")
    assert page.url == url
    assert stage.asked == []


def test_reader_removes_page_from_question(page: Page, stage: Stage, widget: Widget) -> None:
    stage.plays(*3 * [recorded("answered")])
    widget.visit(stage.page())
    chip = widget.panel.get_by_text("About this page", exact=True)
    assert chip.is_visible()
    widget.ask(QUESTION)
    widget.panel.get_by_role("button", name="Ask about all pages").click()
    assert widget.focused() == "textarea"
    expect(chip).to_be_hidden()
    widget.ask(QUESTION)
    assert [asked.get("page") for asked in stage.asked] == ["settings/", None]
    widget.panel.get_by_role("button", name="Start over").click()
    assert chip.is_visible()
    widget.visit(stage.page('endpoint="/" page-context="off"', name="other.html"))
    expect(chip).to_be_hidden()


def test_phone_returns_to_the_answer_after_a_citation(page: Page, stage: Stage, widget: Widget) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    stage.plays(answer("Look [^2ebf9271].", **{"2ebf9271": f"{stage.url}other.html"}))
    page.goto(stage.page())
    stage.page(name="other.html")
    widget.open().ask(QUESTION).locator(".cite").click()
    page.wait_for_url("**/other.html")
    back = page.get_by_role("button", name="Back to the answer")
    back.wait_for()
    assert not widget.panel.is_visible()
    back.click()
    assert "Look" in widget.ended().inner_text()
    page.keyboard.press("Escape")
    expect(back).to_be_hidden()
    assert page.locator("roaming-ask .opener").is_visible()


# Colours

PRIMARIES = (
    "red pink purple deep-purple indigo blue light-blue cyan teal green light-green lime yellow amber orange "
    "deep-orange brown grey blue-grey black white"
)


@pytest.mark.parametrize("scheme", ["default", "slate"])
def test_accent_is_readable_on_all_primaries(page: Page, material: Stage, widget: Widget, scheme: str) -> None:
    widget.visit(material.url)
    low = page.evaluate(
        """([scheme, primaries]) => {
            const root = document.querySelector("roaming-ask").shadowRoot;
            const probe = root.querySelector("dialog").appendChild(document.createElement("i"));
            const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 });
            const context = canvas.getContext("2d", { willReadFrequently: true });
            const luminance = (...colours) => {
                for (const colour of colours) {
                    probe.style.color = colour;
                    context.fillStyle = getComputedStyle(probe).color;
                    context.fillRect(0, 0, 1, 1);
                }
                const [r, g, b] = [...context.getImageData(0, 0, 1, 1).data].map((one) => one / 255)
                    .map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
                return 0.2126 * r + 0.7152 * g + 0.0722 * b;
            };
            const contrast = (one, other) => (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
            const low = [];
            document.body.dataset.mdColorScheme = scheme;
            for (const primary of primaries) {
                document.body.dataset.mdColorPrimary = primary;
                for (const [text, ...below] of [
                    ["--_accent", "--_bg"], ["--_accent", "--_bg", "--_tint"], ["--_accent", "--_bg", "--_code"],
                    ["--_on-accent", "--_accent"], ["--_muted", "--_bg"], ["--_muted", "--_bg", "--_soft"],
                    ["--_warn", "--_bg"], ["--_danger", "--_bg"],
                ].map((names) => names.map((name) => `var(${name})`))) {
                    const ground = luminance(...below);
                    const found = contrast(luminance(...below, text), ground);
                    if (found < 4.5) low.push([primary, text, ...below, found]);
                }
            }
            return low;
        }""",
        [scheme, PRIMARIES.split()],
    )
    assert low == []


# Size


def test_expanded_panel_has_whole_height_and_is_remembered(page: Page, material: Stage, widget: Widget) -> None:
    page.set_viewport_size({"width": 1280, "height": 800})
    widget.visit(material.url)
    expand = widget.panel.get_by_role("button", name="Expand the panel")
    expand.click()
    expanded = {"x": 560, "y": 0, "width": 720, "height": 800}
    assert widget.panel.bounding_box() == expanded
    assert not page.locator(":root[data-roaming-docked]").count()
    assert page.evaluate(COVERED) == []
    page.goto(material.url + "other/")
    widget.panel.wait_for()
    assert widget.panel.bounding_box() == expanded
    expand.click()
    expect(page.locator(":root[data-roaming-docked]")).to_have_count(1)
    assert widget.panel.evaluate("one => one.offsetWidth") < 420
    expand.click()
    page.set_viewport_size({"width": 800, "height": 800})
    expect(expand).to_be_hidden()
    assert widget.panel.evaluate("one => one.offsetWidth") < 420
    widget.input.press("Escape")
    expect(widget.panel).to_be_hidden()


# Nothing asked yet


def test_panel_without_questions_lists_sections_of_page(page: Page, stage: Stage, widget: Widget) -> None:
    stage.plays(answer("Yes."))
    start = widget.visit(stage.page()).panel.locator(".start")
    expect(start.locator("h3").first).to_have_text("Server")
    widget.ask(QUESTION)
    expect(start).to_have_count(0)
    page.goto(stage.page(suggestions='["How hot?"]', name="other.html"))
    page.evaluate("sessionStorage.clear()")
    page.reload()
    widget.open()
    assert widget.panel.get_by_role("button", name="How hot?").is_visible()
    expect(start).to_have_count(0)


# Entrances


@pytest.mark.parametrize("attributes", ["", 'mode="finder"', 'mode="finder" replace-search="on"'])
def test_page_in_material_has_one_entrance(page: Page, material: Stage, widget: Widget, attributes: str) -> None:
    html = (material.folder / "index.html").read_text("utf-8").replace("<roaming-ask ", f"<roaming-ask {attributes} ")
    (material.folder / "one.html").write_text(html, "utf-8")
    replaced = ", .md-search__form, label.md-header__button[for=__search]" if "replace" in attributes else ""
    for width in (390, 700, 1000, 1280, 1440):
        page.set_viewport_size({"width": width, "height": 800})
        page.goto(material.url + "one.html")
        page.locator("roaming-ask .opener").wait_for(state="attached")
        page.wait_for_load_state("networkidle")
        page.wait_for_timeout(200)
        entrances = page.locator(f"roaming-ask .opener, .md-header [data-roaming-open]{replaced}")
        seen = "one => one.checkVisibility({ opacityProperty: true }) && one.getBoundingClientRect().right > 0"
        assert entrances.evaluate_all(f"all => all.filter({seen}).length") == 1, width


def test_touch_opens_panel_without_keyboard(browser: Browser, stage: Stage) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 800}, has_touch=True)
    page = context.new_page()
    page.goto(stage.page())
    page.locator("roaming-ask .opener").tap()
    widget = Widget(page)
    widget.panel.wait_for()
    expect(widget.panel).to_be_focused()
    widget.input.tap()
    expect(widget.input).to_be_focused()
    context.close()
