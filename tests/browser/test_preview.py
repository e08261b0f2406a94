"""The preview in a browser: every view, keyboard, deep links, hostile sites, rebuilds, and a folder without a server."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.lint.runner import LintConfig
from mkdocs_roaming.preview.data import Preview
from mkdocs_roaming.preview.server import (
    PreviewApp,
    PreviewSource,
    SiteFiles,
    make_server,
    manifest_version,
)
from mkdocs_roaming.preview.source import open_published
from mkdocs_roaming.publish.options import PublishOptions
from mkdocs_roaming.publish.pipeline import LeftOut
from mkdocs_roaming.sources.project import IndexOptions
from mkdocs_roaming.sources.publication import index_site

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow

VIEWS = (
    "",
    "#view=outline",
    "#view=left-out",
    "#view=lint",
    "#page=guide%2F",
    "#page=guide%2F&section={descale}",
    "#out=internal%2Fplan%2F",
    "#q=vinegar",
    "#q=xyzzy",
    "#page=nowhere",
)
HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>"
LONG = "AbstractSingletonProxyFactoryBeanConfigurationProcessorAdapter" * 4
GUIDE = """\
<h1 id="guide">Guide</h1><p>Use the <a href="../hostile/">kettle</a>.</p>
<h2 id="overview">Overview</h2><p>There is a lid.</p><h2 id="descale">Descale</h2><p>Vinegar dissolves lime.</p>
<pre><code class="language-console">$ kettle descale</code></pre>"""
PAGES = {
    "": "<h1>Kettle</h1><p>Boils water. <a href=guide/>Guide</a></p>",
    "guide/": GUIDE,
    "hostile/": f"<h1>{HOSTILE.replace('<', '&lt;')}</h1><p>Text with {HOSTILE.replace('<', '&lt;')}.</p>",
    "long/": f"<h1>{LONG}</h1><p>{LONG} is long.</p>",
    "internal/plan/": "<h1>Plan</h1><p>The zebra launches in May.</p>",
}
SCRIPT = "<script>document.title = 'run'; parent.document.title = 'run'; fetch('/docs/stolen')</script>"


def write_site(folder: Path, name: str = "Kettle", **pages: str) -> None:
    """Write and publish the HTML of a site."""
    for path, body in {**PAGES, **pages}.items():
        file = folder / path / "index.html"
        file.parent.mkdir(parents=True, exist_ok=True)
        canonical = (
            f'<link rel=canonical href="https://kettle.example/docs/{path}"><link rel=stylesheet href=/docs/style.css>'
        )
        html = f"<html lang=en><head><title>{path}</title>{canonical}</head><body><main>{body}</main>{SCRIPT}</body>"
        file.write_text(html, "utf-8")
    (folder / "style.css").write_text("h1 { color: rgb(1, 2, 3) }")
    options = PublishOptions(exclude=("internal/**",))
    index_site(folder, IndexOptions(name=name, publish=options), warn=print)


def open_site(folder: Path) -> Preview:
    left_out = [LeftOut("internal/plan/", "excluded by `internal/**`")]
    return open_published(folder, LintConfig(), known_left_out=left_out)


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serve the preview of a folder and yield its URL."""
    source = PreviewSource(lambda: open_site(folder), lambda: manifest_version(folder / "roaming/manifest.json"))
    server = make_server(PreviewApp(SiteFiles(folder, "/docs/"), "/docs/", {"": source}.get), 0)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/docs/roaming/preview/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "site"
    write_site(folder)
    return folder


@pytest.fixture
def url(site: Path) -> Iterator[str]:
    with serving(site) as address:
        yield address


@pytest.fixture
def tolerated() -> str:
    """The browser reports scripts of the site that do not run."""
    return r"Blocked script execution in .* sandboxed"


def section_id(site: Path, address: str) -> str:
    found = open_library(site).sections.resolve(address)
    assert found is not None
    return found.id


def violations(page: Page, axe: str) -> list[str]:
    if not page.evaluate("'axe' in window"):
        page.evaluate(axe)
    found: list[str] = page.evaluate(
        """async () => (await axe.run({ exclude: ["iframe"] }, { resultTypes: ["violations"] })).violations.flatMap(
            ({ id, nodes }) => nodes.map((node) => `${id}: ${node.target.flat().pop()} ${node.failureSummary}`))"""
    )
    return found


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 800, 1280])
def test_all_views_are_accessible_and_fit(site: Path, url: str, page: Page, axe: str, scheme: Any, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme)
    wrong = {}
    for view in (*VIEWS, f"#page=long%2F&q={LONG}", "#page=long%2F"):
        page.goto(url + view.format(descale=section_id(site, "guide/#descale")))
        page.locator("main h1").wait_for()
        page.locator("[data-view=lint] .number").wait_for(state="attached")
        found = violations(page, axe)
        if page.evaluate("document.documentElement.scrollWidth") > width:
            found.append("scrolls sideways")
        wrong[view] = found
    if width == 400:
        page.get_by_role("button", name="Pages").click()
        assert page.get_by_role("navigation").is_visible()
        wrong["menu"] = violations(page, axe)
    assert {view: found for view, found in wrong.items() if found} == {}


def test_page_shows_html_next_to_its_markdown(site: Path, url: str, page: Page) -> None:
    page.goto(url)
    page.locator("#side").get_by_text("Guide").click()
    inner = page.frame_locator("iframe")
    inner.get_by_role("heading", name="Descale").wait_for()
    expect(inner.locator("h1")).to_have_css("color", "rgb(1, 2, 3)")  # waits for the style sheet
    page.locator(".finding").wait_for()  # the Markdown is drawn again with the findings
    sections = page.locator(".section")
    ids = [section.id for section in open_library(site).manifest.pages[1].sections]
    assert [section.get_attribute("data-section") for section in sections.all()] == ids
    assert page.locator(".section pre").all_text_contents()[-1].startswith("## Descale\n\nVinegar")
    assert page.locator(".section .code").text_content() == "```console\n$ kettle descale\n```"


def test_finding_is_below_its_line(url: str, page: Page) -> None:
    page.goto(f"{url}#page=guide%2F")
    finding = page.locator(".finding", has_text="empty-title")
    finding.wait_for()
    text = page.locator(".section", has=finding).evaluate("section => section.innerText")
    assert re.search(r"## Overview\s+hint: empty-title.*There is a lid", text, re.DOTALL)
    assert page.locator("#side .badge").count() >= 1


def test_link_of_a_section_opens_it_in_both_panes(site: Path, url: str, page: Page) -> None:
    id_ = section_id(site, "guide/#descale")
    page.goto(f"{url}#page=guide%2F&section={id_}")
    page.locator(f'.section.current[data-section="{id_}"]').wait_for()
    page.frames[1].wait_for_url("**/docs/guide/index.html#descale")
    page.locator("#side .sections a").first.click()
    page.locator(".section.current", has_text="There is a lid").wait_for()
    page.go_back()
    page.locator(f'.section.current[data-section="{id_}"]').wait_for()
    assert page.locator("#side .sections [aria-current]").inner_text().startswith("Descale")
    page.goto(f"{url}#section={id_}")
    page.wait_for_url(f"**#page=guide%2F&section={id_}")


def test_keyboard_searches_opens_and_turns_pages(site: Path, url: str, page: Page) -> None:
    page.goto(url)
    page.locator("main h1").wait_for()
    page.keyboard.press("/")
    page.keyboard.type("vinegar lime")
    page.get_by_role("heading", name="Search: vinegar lime").wait_for()
    expected = [hit.id for hit in open_library(site).search("vinegar lime", limit=30)]
    assert page.locator("main .rows .id").all_inner_texts() == expected
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.locator(f'.section.current[data-section="{expected[0]}"]').wait_for()
    assert page.evaluate("document.activeElement.id") == "main"
    page.keyboard.press("j")
    page.locator(".page h1", has_text="img src=x").wait_for()
    page.keyboard.press("k")
    page.locator(".page h1", has_text="Guide").wait_for()
    page.keyboard.press("/")
    page.keyboard.type("xyzzy")
    page.get_by_role("heading", name="Nothing found").wait_for()
    page.keyboard.press("Control+A")
    page.keyboard.press("Delete")
    page.locator(".page h1", has_text="Guide").wait_for()
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "main"
    page.go_back()
    page.locator(".page h1", has_text="img src=x").wait_for()


def test_enter_opens_a_result_of_the_words_in_the_search_box(site: Path, url: str, page: Page) -> None:
    """Also if it is pressed before the results are shown, when the list of pages still is."""
    page.goto(url)
    page.locator("main .rows a").first.wait_for()
    page.locator("#search").evaluate(
        """box => { box.value = 'vinegar'; box.dispatchEvent(new InputEvent('input'));
            box.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true })) }"""
    )
    page.locator(f'.section.current[data-section="{section_id(site, "guide/#descale")}"]').wait_for()


def test_refused_copy_is_shown(url: str, page: Page) -> None:
    page.add_init_script("navigator.clipboard.writeText = () => Promise.reject(new Error('refused'))")
    page.goto(url)
    page.get_by_role("button", name="Copy llms.txt").click()
    page.locator("main").get_by_text("The browser does not allow it").wait_for()


def test_text_from_right_to_left_has_its_own_direction(page: Page, tmp_path: Path) -> None:
    folder = tmp_path / "arabic"
    write_site(folder, **{"rtl/": "<h1>الدليل</h1><p>كيف تستخدم الغلاية.</p>"})
    with serving(folder) as url:
        for view, part in (("", ".lines"), ("#view=outline", ".outline"), ("#page=rtl%2F", ".text")):
            page.goto(url + view)
            shown = page.locator(f"main {part}").get_by_text("كيف تستخدم الغلاية.").last
            shown.wait_for()
            sides = shown.evaluate(
                """element => {
                    const range = document.createRange();
                    const node = document.createTreeWalker(element, NodeFilter.SHOW_TEXT).nextNode();
                    const at = (offset) => {
                        range.setStart(node, offset);
                        range.setEnd(node, offset + 1);
                        return range.getBoundingClientRect().left;
                    };
                    const last = node.data.trimEnd().length - 1;
                    return [at(0), at(last)];
                }"""
            )
            assert sides[0] > sides[1], view  # the last character, a full stop, is at the left
        page.goto("about:blank")  # the page in the preview may still load its style sheet from the server


def test_copy_button_copies_the_markdown_of_a_section(site: Path, url: str, page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{url}#page=guide%2F")
    page.locator(".finding").wait_for()  # the Markdown is drawn again with the findings
    page.get_by_role("button", name="Copy id of Descale").click()
    page.get_by_text("Copied").first.wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == section_id(site, "guide/#descale")
    page.get_by_role("button", name="Copy Markdown of Overview").click()
    page.wait_for_function("navigator.clipboard.readText().then((text) => text.includes('lid'))")


def test_site_cannot_run_scripts_in_the_preview(page: Page, tmp_path: Path) -> None:
    folder = tmp_path / "hostile"
    write_site(folder, name=HOSTILE)
    left_out = folder / "zz"
    left_out.mkdir()
    (left_out / f"{HOSTILE.split('/', maxsplit=1)[0]}.html").write_text("<head></head>")
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("dialog", lambda dialog: requests.append(dialog.message))
    with serving(folder) as url:
        for view in ("", "#page=hostile%2F", "#view=left-out", "#view=lint", "#view=outline", f"#q={quote(HOSTILE)}"):
            page.goto(url + view)
            page.locator("main h1").wait_for()
            page.locator("[data-view=lint] .number").wait_for(state="attached")
            assert page.locator("main img, main script, #side img").count() == 0
        page.goto(f"{url}#page=hostile%2F")
        page.frame_locator("iframe").locator("h1").wait_for()
        assert page.frames[1].title() == "hostile/"
        assert page.frames[1].evaluate("origin") == "null"
        assert "run" not in page.title()
    assert not [one for one in requests if not one.startswith(url.partition("/docs/")[0]) or "stolen" in one]


def test_left_out_page_shows_html_and_reason(url: str, page: Page) -> None:
    page.goto(f"{url}#view=left-out")
    page.get_by_role("link", name="internal/plan/").click()
    page.frame_locator("iframe").get_by_text("zebra").wait_for()
    assert page.get_by_text("Not published: excluded by internal/**").is_visible()


TOP_SECTION = """pane => [...pane.querySelectorAll(".section")]
    .find((one) => one.getBoundingClientRect().bottom > pane.getBoundingClientRect().top).ariaLabel"""


def test_preview_follows_a_rebuild_and_keeps_the_page(site: Path, url: str, page: Page) -> None:
    parts = (f"<h2 id=s{at}>Part {at}</h2>" + "<p>It boils water.</p>" * (at * 7 % 23) for at in range(40))
    guide = f"{GUIDE}{''.join(parts)}"
    write_site(site, **{"guide/": guide})
    page.goto(f"{url}#page=guide%2F")
    page.get_by_text("Vinegar dissolves lime").first.wait_for()
    page.locator("[data-view=lint] .number").wait_for(state="attached")
    pane = page.locator(".text")
    page.locator(".section", has_text="Part 30").scroll_into_view_if_needed()  # sections above were never drawn
    page.wait_for_timeout(300)
    top = pane.evaluate(TOP_SECTION)
    write_site(site, **{"guide/": guide.replace("Vinegar", "Citric acid"), "new/": "<h1>New</h1><p>Page.</p>"})
    page.locator("#side").get_by_text("New").wait_for()
    page.locator(".section", has_text="Citric acid dissolves").wait_for(state="attached")
    assert top.startswith("Part")
    expect(page.locator("#status")).to_have_text("The site was built again")
    page.wait_for_timeout(300)
    assert pane.evaluate(TOP_SECTION) == top
    assert page.url.endswith("#page=guide%2F")


def test_large_site_loads_pages_on_demand(page: Page, tmp_path: Path, make_site: Callable[..., Any]) -> None:
    made = make_site([(f"p{at}/", f"# Page {at}\n\nText of page {at}.\n") for at in range(300)])
    folder = made.publish(tmp_path / "large")
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url.rpartition("/")[2]))
    with serving(folder) as url:
        page.goto(f"{url}#page=p7%2F")
        page.locator(".section", has_text="Text of page 7").wait_for()
        page.locator("[data-view=lint] .number").wait_for(state="attached")
        assert len([name for name in requests if name.startswith("page-")]) == 1
        assert page.locator("#side a.entry").count() >= 300
