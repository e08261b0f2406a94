"""Search of sections in the browser without an endpoint."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.manifest.io import dump_manifest, load_manifest
from mkdocs_roaming.manifest.lookup import Scope
from mkdocs_roaming.manifest.models import Manifest, PageEntry, SectionEntry, SiteEntry
from mkdocs_roaming.publish.elements.finder_index import INDEX_PATH, render_finder_index
from mkdocs_roaming.text.languages import load_words

from .conftest import TESTS, Stage, Widget

if TYPE_CHECKING:
    from playwright.sync_api import Page

VECTORS = json.loads((TESTS / "golden" / "words" / "vectors.json").read_text("utf-8"))
STEMMED_HERE = {"en", "ja", "zh", "ko", "th", "xx"}
"""Languages whose words the browser reads as `words.py` does: of the others it knows no stems."""

MAGNIFIER = "M4.5 11a6.5 6.5 0 1 0 13 0 6.5 6.5 0 0 0-13 0M20 20l-4.3-4.3"

FIND = """async ([manifest, text]) => {
    const { Finder } = await import("/roaming/roaming-finder.js");
    const finder = new Finder(manifest);
    while (!finder.index());
    return finder.find(text).map((section) => section.title);
}"""


def test_tokenizer_matches_shared_vectors(page: Page, stage: Stage) -> None:
    page.goto(stage.page(""))
    results = page.evaluate(
        """async (vectors) => {
            const { terms, query } = await import("/roaming/roaming-finder.js");
            const shown = ({ text, whole, parts, runs, stop, prefix }) =>
                ({ text, whole, parts, runs, stop: !!stop, prefix: !!prefix });
            return [vectors.terms.map(({ text, language }) => terms(text, language)),
                    vectors.query.map(({ text, language }) => query(text, language).map(shown))];
        }""",
        VECTORS,
    )
    for vector, found in zip(VECTORS["terms"], results[0], strict=True):
        if vector["language"] in STEMMED_HERE:
            assert found == vector["terms"], vector["note"]
    checked = 0
    for vector, found in zip(VECTORS["query"], results[1], strict=True):
        if vector["language"] in STEMMED_HERE:
            assert found == vector["words"], vector["note"]
            checked += 1
    assert checked > 4


def test_stemmer_matches_python_index(page: Page, stage: Stage) -> None:
    from mkdocs_roaming.text.tokenizer import extract_terms, split_words

    texts = "\n".join(path.read_text("utf-8") for path in sorted((TESTS / "golden").rglob("*.md")))
    known = sorted({word.lower() for word in split_words(texts) if word.isascii() and word.isalpha()})
    ends = ["", "s", "ed", "ing", "ly", "ation", "ness", "ies", "ization", "edly", "ment", "ic", "y"]
    all_words = sorted({word + end for word in known for end in ends})
    page.goto(stage.page(""))
    found = page.evaluate(
        """async (words) => {
            const { terms } = await import("/roaming/roaming-finder.js");
            return words.map((word) => terms(word, "en"));
        }""",
        all_words,
    )
    assert len(all_words) > 5_000
    assert [(w, f) for w, f in zip(all_words, found, strict=True) if f != extract_terms(w, "en")] == []


def test_inflections_find_sections_in_all_languages(page: Page, stage: Stage, make_site: Callable[..., Any]) -> None:
    page.goto(stage.page(""))
    wrong = page.evaluate(
        """async (vectors) => {
            const { Finder } = await import("/roaming/roaming-finder.js");
            const wrong = [];
            for (const { text, language, found_by, not_by } of vectors) {
                const section = { id: "1", level: 1, title: text, start: 0, end: 1 };
                const finder = new Finder({ site: { language }, pages: [{ path: "", sections: [section] }] });
                while (!finder.index());
                for (const asked of found_by) if (finder.find(asked + " ").length !== 1) wrong.push([text, asked]);
            }
            return wrong;
        }""",
        VECTORS["find"],
    )
    assert wrong == []


def test_scope_selects_same_pages_as_python(page: Page, stage: Stage) -> None:
    paths = ["", "guide/", "guide/pumps/", "guide/a.b/", "guides/x.html", "a/guide/pumps/", "v1/api/", "v10/[api]/"]
    patterns = ["guide", "/guide/**", "guide/*", "**/pumps", "v?/api", "guide/a?b", "guide/a.b", "/", "*", "**", "[v]1"]
    patterns += ["v10/[api]", "*/*.md", "guide/pumps.md", "g**e", "**/guide/**/pumps", "guides/x.html", "nowhere"]
    patterns += [
        "pumps",
        "pumps/",
        "/pumps",
        "x.html",
        "guides/x",
        "x.md",
        "[gv]*",
        "v[!1]*",
        r"v10/\[api]",
        "guide/index.md",
    ]
    patterns += [r"guide/a\.b", "*.md", "index.md", "api/"]
    pages = [{"path": path, "source": (path.rstrip("/") or "index") + ".md", "tags": ["ABC", "ß"]} for path in paths]
    pages += [{"path": f"no/{path}", "tags": []} for path in paths]
    scopes = [*({"paths": [pattern]} for pattern in patterns), {"tags": ["abc"]}, {"tags": ["SS"]}, {"tags": ["x"]}, {}]
    scopes += [{"paths": ["guide", "!pumps"]}, {"paths": ["!guide"]}, {"paths": ["!pumps", "guide/"]}]
    page.goto(stage.page(""))
    found = page.evaluate(
        """async ([pages, scopes]) => {
            const { inScope } = await import("/roaming/roaming-finder.js");
            return scopes.map((scope) => pages.filter((page) => inScope(page, scope)).map((page) => page.path));
        }""",
        [pages, scopes],
    )
    section = SectionEntry("00000000", 1, "A", 0, 1, "00000000")
    fields = {"id": "00000000", "title": "A", "markdown": "a.md", "digest": "", "bytes": 1, "sections": (section,)}
    entries = tuple(PageEntry(**fields, **{**each, "tags": tuple(each["tags"])}) for each in pages)
    manifest = Manifest(SiteEntry("Site", "https://docs.example/"), entries)
    for given, selected in zip(scopes, found, strict=True):
        try:
            expected = [entry.path for entry in msgspec.convert(given, Scope).restrict(manifest).pages]
        except UsageError:
            expected = []
        assert selected == expected, given


def test_finder_lists_only_sections_in_scope(page: Page, stage: Stage, widget: Widget) -> None:
    page.goto(stage.page("""scope='{"paths": ["trouble/**"]}'"""))
    widget.open()
    widget.input.fill("port whistle")
    widget.hits.nth(1).wait_for()
    titles = {"Troubleshooting", "It does not whistle", "The port is taken"}
    assert set(widget.hits.locator("h3").all_inner_texts()) <= titles


def test_results_appear_while_typing_and_open_in_place(page: Page, stage: Stage, widget: Widget) -> None:
    page.goto(stage.page(""))
    widget.open()
    widget.input.press_sequentially("whistl")
    widget.hits.first.wait_for()
    first = widget.hits.first
    assert "It does not whistle" in first.inner_text()
    first.locator(".peek").click()
    first.locator(".open a").wait_for()
    assert "whistle" in first.locator(".open").inner_text()
    first.get_by_role("link", name="Open the page").click()
    page.wait_for_url("**/trouble/")


def write_index(stage: Stage) -> str:
    """Write the index of the finder, and return its URL as pages name it."""
    manifest = load_manifest((stage.folder / "roaming" / "manifest.json").read_bytes())
    (stage.folder / INDEX_PATH).write_bytes(render_finder_index(manifest))
    return INDEX_PATH


def test_index_is_loaded_instead_of_manifest(page: Page, stage: Stage, widget: Widget) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.removeprefix(stage.url)))
    page.goto(stage.page("", index=write_index(stage)))
    widget.open()
    widget.input.fill("port taken")
    widget.hits.first.locator(".peek").click()
    widget.hits.first.locator("text=PortTaken").first.wait_for()
    assert [path for path in asked if path.endswith(".json")] == [INDEX_PATH]


@pytest.mark.parametrize("text", ["", "{", '{"version": 3}'])
def test_unusable_index_is_replaced_by_manifest(page: Page, stage: Stage, widget: Widget, text: str) -> None:
    write_index(stage)
    (stage.folder / INDEX_PATH).write_text(text)
    page.goto(stage.page("", index=INDEX_PATH))
    widget.open()
    widget.input.fill("port taken")
    assert "The port is taken" in widget.hits.first.inner_text()


@pytest.mark.parametrize("language", ["en", "de", "fr", "ja"])
def test_index_and_manifest_find_same_sections(
    page: Page, stage: Stage, make_site: Callable[..., Any], language: str
) -> None:
    texts = [vector["text"] for vector in VECTORS["find"] if vector["language"] == language]
    texts += [vector["text"] for vector in VECTORS["terms"] if vector["language"] == language]
    markdown = "# Settings\n\n" + "".join(f"## {text} {at}\n\n{text}.\n\n" for at, text in enumerate(texts))
    kettle = (stage.folder / "settings" / "index.md").read_text("utf-8")
    manifest = make_site([("a/", markdown), ("b/", kettle)]).manifest
    site = msgspec.structs.replace(manifest.site, language=language)
    first, *others = manifest.pages
    sections = tuple(
        msgspec.structs.replace(section, asks=(text, f"Why {text}?"), about=f"{text} explained")
        for section, text in zip(first.sections, reversed(["", *texts]), strict=True)
    )
    pages = (msgspec.structs.replace(first, sections=sections), *others)
    manifest = msgspec.structs.replace(manifest, site=site, pages=pages)
    words = {word for text in [*texts, kettle] for word in text.split()}
    queries = sorted({form for word in words for form in (word, f"{word} ", word[:3])})
    page.goto(stage.page(""))
    differing = page.evaluate(
        """async ([manifest, index, queries]) => {
            const { Finder } = await import("/roaming/roaming-finder.js");
            const [read, written] = [new Finder(manifest), new Finder(index)];
            while (!read.index());
            const find = (finder, text) => finder.find(text).map((section) => section.id).join();
            return queries.filter((text) => find(read, text) !== find(written, text));
        }""",
        [json.loads(dump_manifest(manifest)), json.loads(render_finder_index(manifest)), queries],
    )
    assert len(queries) > 100
    assert differing == []


@pytest.mark.parametrize("indexed", [True, False])
def test_words_of_readers_find_the_section_that_answers_them(
    page: Page, stage: Stage, widget: Widget, indexed: bool
) -> None:
    file = stage.folder / "roaming" / "manifest.json"
    manifest = load_manifest(file.read_bytes())
    pages = [msgspec.structs.replace(one, sections=tuple(map(add_asks, one.sections))) for one in manifest.pages]
    file.write_text(dump_manifest(msgspec.structs.replace(manifest, pages=tuple(pages))))
    page.goto(stage.page("", index=write_index(stage) if indexed else "none.json"))
    widget.open()
    widget.input.fill("somebody else on my socket")
    assert "The port is taken" in widget.hits.first.inner_text()


def add_asks(section: SectionEntry) -> SectionEntry:
    is_asked = section.title == "The port is taken"
    return msgspec.structs.replace(section, asks=("Is somebody else on my socket?",)) if is_asked else section


def test_index_is_restricted_to_scope(page: Page, stage: Stage, widget: Widget) -> None:
    page.goto(stage.page("""scope='{"paths": ["trouble/**"]}'""", index=write_index(stage)))
    widget.open()
    widget.input.fill("port whistle")
    widget.hits.nth(1).wait_for()
    titles = {"Troubleshooting", "It does not whistle", "The port is taken"}
    assert set(widget.hits.locator("h3").all_inner_texts()) <= titles


def test_matches_are_marked(page: Page, stage: Stage, widget: Widget) -> None:
    page.goto(stage.page(""))
    widget.open()
    widget.input.fill("the ports whist")
    widget.hits.first.wait_for()
    marked = {text.lower() for text in widget.hits.locator("mark").all_inner_texts()}
    assert {"port", "whistle"} <= marked <= {"port", "ports", "whistle", "whistles"}


@pytest.mark.parametrize(
    ("text", "query", "language", "marked"),
    [
        ("Server timeouts", "timeout", "en", ["timeouts"]),
        ("Set --strict", "strict ", "en", ["strict"]),
        ("東京都の設定", "設定", "ja", ["設定"]),
        ("東京都の設定", "設", "ja", ["設"]),
        ("Die Einstellungen", "Einstellung ", "de", ["Einstellungen"]),
        ("<b>bold</b>", "b ", "en", ["b", "b"]),
        ("Nothing here", "the", "en", []),
    ],
)
def test_matches_of_text(page: Page, stage: Stage, text: str, query: str, language: str, marked: list[str]) -> None:
    page.goto(stage.page(""))
    found = page.evaluate(
        """async ([text, query, language]) => {
            const { Finder, findMatches } = await import("/roaming/roaming-finder.js");
            const finder = new Finder({ site: { language }, pages: [] });
            return findMatches(text, finder.asked(query), language).map(([start, end]) => text.slice(start, end));
        }""",
        [text, query, language],
    )
    assert found == marked


FLAGS = (
    "# Health\n\n## Custom checks for a resource\n\nWrite Lua.\n\n## MonkeyPatch\n\n### setenv\n\nSets a variable.\n\n"
    "## Changes\n\nFixed monkeypatch.setenv on Windows.\n\n## Webhooks\n\n### Secrets of webhooks\n\nOf GitHub.\n\n"
    "## Parametrize tests\n\nMany inputs.\n"
)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param("resource.customizations.health", ["Custom checks for a resource"], id="parts that are apart"),
        pytest.param("monkeypatch.setenv", ["setenv", "Changes"], id="parts before a mention of the whole"),
        pytest.param("missing.customizations.elsewhere", [], id="one part of three"),
        pytest.param("webhoks ", ["Webhooks", "Secrets of webhooks"], id="missing letter"),
        pytest.param("wehbooks", ["Webhooks", "Secrets of webhooks"], id="swapped letters of an incomplete word"),
        pytest.param("parametrise", ["Parametrize tests"], id="other spelling"),
        pytest.param("cba ", [], id="short word"),
        pytest.param("xebhooks ", [], id="other initial"),
    ],
)
def test_identifiers_and_misspelt_words_find_sections(
    page: Page, stage: Stage, make_site: Callable[..., Any], query: str, expected: list[str]
) -> None:
    page.goto(stage.page(""))
    found = page.evaluate(FIND, [json.loads(dump_manifest(make_site([("a/", FLAGS)]).manifest)), query])
    assert found == expected


def test_page_named_by_query_comes_before_its_sections(page: Page, stage: Stage, make_site: Callable[..., Any]) -> None:
    text = "# Background tasks\n\nAfter a response.\n\n## Add background tasks\n\nPass a function.\n"
    page.goto(stage.page(""))
    found = page.evaluate(FIND, [json.loads(dump_manifest(make_site([("a/", text)]).manifest)), "background tasks"])
    assert found == ["Background tasks", "Add background tasks"]


def test_similar_words_stay_in_scope(page: Page, stage: Stage, widget: Widget) -> None:
    page.goto(stage.page("""scope='{"paths": ["install/**"]}'"""))
    widget.open()
    widget.input.fill("whisle ")
    widget.panel.locator("text=Nothing found").wait_for()


def test_similar_words_are_marked(page: Page, stage: Stage, widget: Widget) -> None:
    page.goto(stage.page(""))
    widget.open()
    widget.input.fill("whisle ")
    assert widget.hits.first.locator("mark").first.inner_text().lower() == "whistle"


def test_arrow_keys_move_through_results_and_letters_return_to_input(page: Page, stage: Stage, widget: Widget) -> None:
    page.goto(stage.page(""))
    widget.open()
    widget.input.fill("port")
    widget.hits.nth(1).wait_for()
    focused = "document.querySelector('roaming-ask').shadowRoot.activeElement"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.evaluate(f"{focused}.textContent") == widget.hits.nth(1).locator("h3").inner_text()
    page.keyboard.press("ArrowRight")
    assert widget.hits.nth(1).locator(".peek").get_attribute("aria-expanded") == "true"
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    assert page.evaluate(f"{focused}.localName") == "textarea"
    page.keyboard.press("ArrowDown")
    page.keyboard.type("s")
    assert page.evaluate(f"{focused}.localName") == "textarea"
    assert widget.input.input_value() == "ports"


def test_button_clears_the_typed_words(page: Page, stage: Stage, widget: Widget) -> None:
    page.goto(stage.page(""))
    widget.open()
    clear = widget.panel.get_by_role("button", name="Clear")
    assert not clear.is_visible()
    widget.input.fill("port")
    widget.hits.first.wait_for()
    clear.click()
    widget.hits.first.wait_for(state="detached")
    assert (widget.input.input_value(), widget.focused(), clear.is_visible()) == ("", "textarea", False)


def test_escape_clears_the_typed_words_before_it_closes(page: Page, stage: Stage, widget: Widget) -> None:
    page.goto(stage.page(""))
    widget.open()
    widget.input.fill("port")
    widget.hits.first.wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Escape")
    widget.hits.first.wait_for(state="detached")
    assert (widget.input.input_value(), widget.focused()) == ("", "textarea")
    page.keyboard.press("Escape")
    assert not widget.panel.is_visible()


def test_escape_on_the_page_closes_the_finder_and_keeps_its_words(page: Page, stage: Stage, widget: Widget) -> None:
    page.goto(stage.page(""))
    widget.open()
    widget.input.fill("port")
    page.locator("main a").focus()
    page.keyboard.press("Escape")
    assert not widget.panel.is_visible()
    widget.open()
    assert widget.input.input_value() == "port"


def test_placeholder_starts_at_the_right_from_right_to_left(page: Page, stage: Stage, widget: Widget) -> None:
    page.goto(stage.page("", body="<script>document.documentElement.dir = 'rtl'</script>"))
    widget.open()
    align = "input => getComputedStyle(input).textAlign"
    assert widget.input.evaluate(align) == "right"
    widget.input.fill("port")
    assert widget.input.evaluate(align) != "right"


def test_page_starts_with_its_sections(page: Page, stage: Stage, widget: Widget) -> None:
    page.goto(stage.page(""))
    widget.open()
    start = widget.panel.locator(".start")
    start.wait_for()
    assert widget.panel.locator(".label").inner_text() == "On this page"
    assert start.locator("h3").all_inner_texts() == ["Server", "Boiling", "Logs"]
    widget.input.press("Enter")
    assert page.url == stage.url + "index.html"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    start.locator("text=server.workers").first.wait_for()
    widget.input.fill("port")
    widget.hits.first.wait_for()
    assert start.count() == 0
    widget.input.fill("")
    start.wait_for()


def test_start_of_unreadable_site_is_empty(page: Page, stage: Stage, widget: Widget) -> None:
    (stage.folder / "roaming" / "manifest.json").write_text("{")
    (stage.folder / INDEX_PATH).unlink(missing_ok=True)
    page.goto(stage.page(""))
    widget.open()
    page.wait_for_timeout(200)
    assert widget.panel.locator(".found").inner_text() == ""


def test_phone_returns_to_the_results_after_one_of_them(page: Page, stage: Stage, widget: Widget) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    (stage.folder / "trouble" / "index.html").write_text(Path(stage.folder / "page2.html").read_text("utf-8"), "utf-8")
    page.goto(stage.page(""))
    widget.open()
    widget.input.fill("port is taken")
    widget.hits.first.locator("a").click()
    page.wait_for_url("**/trouble/**")
    page.goto(stage.url + "index.html")
    back = page.get_by_role("button", name="Back to the results")
    back.wait_for()
    assert back.locator("path").get_attribute("d") == MAGNIFIER
    back.click()
    widget.hits.first.wait_for()


@pytest.mark.parametrize(("attributes", "name"), [("", "Find in the docs"), ('endpoint="/"', "Ask the docs")])
def test_button_has_a_magnifier_where_no_model_answers(page: Page, stage: Stage, attributes: str, name: str) -> None:
    page.goto(stage.page(attributes))
    button = page.get_by_role("button", name=name)
    button.wait_for()
    assert (button.locator("path").first.get_attribute("d") == MAGNIFIER) == (not attributes)


def test_header_button_of_material_leaves_where_no_model_answers(page: Page, stage: Stage) -> None:
    button = '<div class="md-header"><button data-roaming-open aria-expanded="false">Ask</button></div>'
    page.goto(stage.page(body=button))
    header = page.locator(".md-header button")
    header.wait_for()
    page.evaluate("document.querySelector('roaming-ask').setAttribute('mode', 'finder')")
    header.wait_for(state="hidden")


def test_enter_opens_first_result(page: Page, stage: Stage, widget: Widget) -> None:
    page.goto(stage.page(""))
    widget.open()
    widget.input.fill("port is taken")
    widget.panel.locator(".hit.current").wait_for()
    widget.input.press("Enter")
    page.wait_for_url("**/trouble/")


def test_more_results_are_shown_on_demand(
    page: Page, stage: Stage, widget: Widget, make_site: Callable[..., Any]
) -> None:
    made = make_site([("a/", "# A\n\n" + "".join(f"## Pump {at}\n\n" for at in range(40)))])
    (stage.folder / "roaming" / "manifest.json").write_text(dump_manifest(made.manifest), "utf-8")
    page.goto(stage.page(""))
    widget.open()
    widget.input.fill("pump")
    widget.hits.nth(7).wait_for()
    assert widget.panel.locator(".count").inner_text() == "Best 8 of 40 sections"
    widget.panel.get_by_role("button", name="Show 20 more").click()
    widget.panel.get_by_role("button", name="Show 12 more").click()
    assert widget.hits.count() == 40
    assert widget.panel.locator(".count").inner_text() == "40 sections found"
    focused = page.evaluate("document.querySelector('roaming-ask').shadowRoot.activeElement.textContent")
    assert focused == widget.hits.nth(28).locator("h3").inner_text()


@pytest.fixture
def tolerated() -> str:
    """The stage has no pages but the one with the widget."""
    return r"/trouble/|404"


def test_number_of_results_is_announced_after_typing_pause(page: Page, stage: Stage, widget: Widget) -> None:
    page.clock.install()
    page.goto(stage.page(""))
    widget.open()
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
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(stage.page(""))
    widget.open()
    widget.input.fill("Is the port taken? ${x} $1")
    widget.panel.get_by_role("button", name="Copy a prompt for your own AI").click()
    widget.panel.get_by_role("button", name="Copied").wait_for()
    prompt = page.evaluate("navigator.clipboard.readText()")
    assert "from the documentation of Docs: Is the port taken? ${x} $1\n" in prompt
    assert "https://docs.example/p/llms.txt" in prompt
    assert "- Troubleshooting › The port is taken: https://docs.example/p/trouble/index.md" in prompt


def test_section_is_loaded_from_section_file(page: Page, stage: Stage, widget: Widget) -> None:
    page.goto(stage.page(""))
    (stage.folder / "trouble" / "index.md").unlink()
    widget.open()
    widget.input.fill("port taken")
    shown = widget.hits.first.locator(".open")
    widget.hits.first.locator(".peek").click()
    shown.locator("a").first.wait_for()
    assert shown.inner_text().startswith(
        "When another program listens on the port already, Kettle stops with PortTaken."
    )
    assert "Before" not in shown.inner_text()
    assert "Troubleshooting" not in shown.inner_text()


def test_section_is_sliced_from_page_without_section_files(page: Page, stage: Stage, widget: Widget) -> None:
    """Section files are requested only once."""
    shutil.rmtree(stage.folder / "roaming" / "sections")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.removeprefix(stage.url)))
    page.goto(stage.page(""))
    widget.open()
    widget.input.fill("port taken whistle")
    for hit in (widget.hits.nth(0), widget.hits.nth(1)):
        hit.locator(".peek").click()
        hit.locator(".open a").wait_for()
    assert "PortTaken" in widget.panel.inner_text()
    assert [path.split("/")[0] for path in asked if path.endswith(".md")] == ["roaming", "trouble", "trouble"]


def test_text_with_wrong_digest_is_not_shown(page: Page, stage: Stage, widget: Widget) -> None:
    for file in (*stage.folder.glob("roaming/sections/*.md"), stage.folder / "trouble" / "index.md"):
        file.write_text(file.read_text("utf-8").replace("Kettle", "Teapot"), "utf-8")
    page.goto(stage.page(""))
    widget.open()
    widget.input.fill("port taken")
    widget.hits.first.locator(".peek").click()
    widget.hits.first.locator("text=This cannot be read at the moment.").wait_for()


def test_site_with_too_many_sections_is_not_indexed(
    page: Page, stage: Stage, widget: Widget, make_site: Callable[..., Any]
) -> None:
    text = "# A\n\n" + "".join(f"## S{at}\n\n" for at in range(2_001))
    made = make_site([(f"p{at}/", text) for at in range(5)])
    (stage.folder / "roaming" / "manifest.json").write_text(dump_manifest(made.manifest), "utf-8")
    page.goto(stage.page(""))
    widget.open()
    widget.input.fill("s12")
    widget.panel.locator(
        "text=This site has 10010 sections: too many to search here. Use the search of the site."
    ).wait_for()


def test_unreadable_manifest_is_reported(page: Page, stage: Stage, widget: Widget) -> None:
    (stage.folder / "roaming" / "manifest.json").write_text('{"version": 2}')
    page.goto(stage.page(""))
    widget.open()
    widget.input.fill("port")
    widget.panel.locator("text=This cannot be read at the moment.").wait_for()


def test_stop_words_match_python_package() -> None:
    folder = Path(__file__).parents[3] / "mkdocs_roaming" / "widget"
    for code in ("de", "es", "fr", "zh"):
        translations = json.loads((folder / f"ask.{code}.json").read_text("utf-8"))
        assert set(translations["stopWords"].split()) == load_words(code, "stop_words")
