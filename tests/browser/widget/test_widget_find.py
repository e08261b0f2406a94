"""Search of sections in the browser without an endpoint."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.manifest.io import dump_manifest, load_manifest
from mkdocs_roaming.manifest.lookup import Scope
from mkdocs_roaming.manifest.models import Manifest, PageEntry, SectionEntry, Site, SiteEntry
from mkdocs_roaming.publish.elements import finder_index
from mkdocs_roaming.publish.elements.finder_index import INDEX_PATH
from mkdocs_roaming.text.languages import load_words

from .conftest import TESTS, Stage, Widget, find_titles, open_finder, write_index

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

VECTORS = json.loads((TESTS / "golden" / "words" / "vectors.json").read_text("utf-8"))
STEMMED_HERE = {"en", "ja", "zh", "ko", "th", "xx"}
"""Languages whose words the browser reads as `tokenizer.py` does: of the others it knows no stems."""

MAGNIFIER = "M4.5 11a6.5 6.5 0 1 0 13 0 6.5 6.5 0 0 0-13 0M20 20l-4.3-4.3"


def test_tokenizer_matches_shared_vectors(page: Page, stage: Stage) -> None:
    page.goto(stage.page(""))
    results = page.evaluate(
        """async ([vectors, stop]) => {
            const { words, stopWords } = await import("/roaming/roaming-finder.js");
            Object.assign(stopWords, stop);
            const shown = ({ text, whole, parts, runs, stop, prefix }) =>
                ({ text, whole, parts, runs, stop: !!stop, prefix: !!prefix });
            return [vectors.terms.map(({ text, language }) => words(text, language).flatMap((word) => word.terms)),
                    vectors.query.map(({ text, language }) => words(text, language).map(shown))];
        }""",
        [VECTORS, {code: sorted(load_words(code, "stop_words")) for code in STEMMED_HERE}],
    )
    for vector, found in zip(VECTORS["terms"], results[0], strict=True):
        if vector["language"] in STEMMED_HERE:
            assert found == vector["terms"], vector["note"]
    checked = 0
    for vector, found in zip(VECTORS["query"], results[1], strict=True):
        if vector["language"] in STEMMED_HERE:
            distinct = {json.dumps(word["runs"][:1]): word for word in reversed(found)}
            assert [word for word in found if word in distinct.values()] == vector["words"], vector["note"]
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
            const finder = await import("/roaming/roaming-finder.js");
            return words.map((text) => finder.words(text, "en").flatMap((word) => word.terms));
        }""",
        all_words,
    )
    assert len(all_words) > 5_000
    assert [(w, f) for w, f in zip(all_words, found, strict=True) if f != extract_terms(w, "en")] == []


@pytest.mark.parametrize("language", sorted({vector["language"] for vector in VECTORS["find"]}))
def test_inflections_find_sections_in_all_languages(
    page: Page, stage: Stage, make_site: Callable[..., Any], language: str
) -> None:
    vectors = [vector for vector in VECTORS["find"] if vector["language"] == language]
    pages = [(f"p{at}/", f"# P{at}\n\n{vector['text']}\n") for at, vector in enumerate(vectors)]
    open_finder(
        page, stage, make_site(pages, site=Site("Docs", stage.url, language=language)).publish(stage.folder / "site")
    )
    queries = [(f"P{at}", query) for at, vector in enumerate(vectors) for query in vector["found_by"]]
    missed = page.evaluate(
        """async (queries) => {
            const missed = [];
            for (const [title, text] of queries) {
                const found = await finder.find(text + " ");
                if (!found.some((section) => section.title === title)) missed.push([title, text]);
            }
            return missed;
        }""",
        queries,
    )
    assert missed == []


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


def test_index_and_one_shard_are_loaded_with_first_word(page: Page, stage: Stage, widget: Widget) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.removeprefix(stage.url)))
    page.goto(stage.page(""))
    widget.open()
    widget.input.press_sequentially("port taken")
    widget.hits.first.locator(".peek").click()
    widget.hits.first.locator("text=PortTaken").first.wait_for()
    (shard,) = (stage.folder / "roaming" / "finder").iterdir()
    files = [path for path in asked if path.endswith((".json", ".md"))]
    assert files == [INDEX_PATH, f"roaming/finder/{shard.name}", "trouble/index.md"]


def test_words_of_bodies_are_found(page: Page, stage: Stage, widget: Widget) -> None:
    page.goto(stage.page(""))
    widget.open()
    widget.input.fill("another program listens")
    widget.hits.first.wait_for()
    assert "The port is taken" in widget.hits.first.inner_text()


@pytest.mark.parametrize("text", ["", "{", '{"version": 2}', "<!doctype html>", None])
def test_unusable_index_is_reported(page: Page, stage: Stage, widget: Widget, text: str | None) -> None:
    index = stage.folder / INDEX_PATH
    working = index.read_bytes()
    index.unlink() if text is None else index.write_text(text)
    page.goto(stage.page(""))
    widget.open()
    widget.input.fill("port taken")
    widget.panel.locator("text=This cannot be read at the moment.").wait_for()
    index.write_bytes(working)
    widget.input.fill("port is taken")
    widget.hits.first.wait_for()


def test_cached_index_of_another_version_is_loaded_again(page: Page, stage: Stage, widget: Widget) -> None:
    answer_once(page, INDEX_PATH, '{"version": 2}')
    page.goto(stage.page(""))
    widget.open()
    widget.input.fill("port taken")
    widget.hits.first.wait_for()


def test_build_between_index_and_shard_reloads_index(
    page: Page, stage: Stage, widget: Widget, make_site: Callable[..., Any]
) -> None:
    before = (stage.folder / INDEX_PATH).read_text("utf-8")
    make_site([("kettles/", "# Kettles\n\n## Newer port\n\nIt is taken.\n")]).publish(stage.folder)
    write_index(stage.folder)
    answer_once(page, INDEX_PATH, before)
    page.goto(stage.page(""))
    widget.open()
    widget.input.fill("port taken")
    widget.hits.first.wait_for()
    assert "Newer port" in widget.hits.first.inner_text()


def test_missing_shard_reloads_index_only_once(page: Page, stage: Stage, widget: Widget) -> None:
    (shard,) = (stage.folder / "roaming" / "finder").iterdir()
    shard.unlink()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.removeprefix(stage.url)))
    page.goto(stage.page(""))
    widget.open()
    widget.input.fill("port taken")
    widget.panel.locator("text=This cannot be read at the moment.").wait_for()
    assert [path for path in asked if path.endswith(".json")] == 2 * [INDEX_PATH, f"roaming/finder/{shard.name}"]


def answer_once(page: Page, path: str, body: str) -> None:
    """Answer the first request for a file as a cache would that has an earlier one."""
    earlier = [body]

    def answer(route: Route) -> None:
        route.fulfill(body=earlier.pop(), content_type="application/json") if earlier else route.fallback()

    page.route(f"**/{path}", answer)


def test_words_of_readers_find_the_section_that_answers_them(page: Page, stage: Stage, widget: Widget) -> None:
    file = stage.folder / "roaming" / "manifest.json"
    manifest = load_manifest(file.read_bytes())
    pages = [msgspec.structs.replace(one, sections=tuple(map(add_asks, one.sections))) for one in manifest.pages]
    file.write_text(dump_manifest(msgspec.structs.replace(manifest, pages=tuple(pages))))
    write_index(stage.folder)
    page.goto(stage.page(""))
    widget.open()
    widget.input.fill("somebody else on my socket")
    widget.hits.first.wait_for()
    assert "The port is taken" in widget.hits.first.inner_text()
    assert "somebody" not in (stage.folder / INDEX_PATH).read_text("utf-8").partition('"search"')[0]


def add_asks(section: SectionEntry) -> SectionEntry:
    is_asked = section.title == "The port is taken"
    return msgspec.structs.replace(section, asks=("Is somebody else on my socket?",)) if is_asked else section


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
def test_matches_of_text(
    page: Page, stage: Stage, make_site: Callable[..., Any], text: str, query: str, language: str, marked: list[str]
) -> None:
    site = Site("Docs", stage.url, language=language)
    open_finder(page, stage, make_site([("", f"# A\n\n{text}\n")], site=site).publish(stage.folder / "site"))
    found = page.evaluate(
        """async ([text, query]) =>
            findMatches(text, await finder.asked(query)).map(([start, end]) => text.slice(start, end))""",
        [text, query],
    )
    assert found == marked


FLAGS = (
    "# Flags\n\n## Health\n\n### Custom checks for a resource\n\nWrite Lua.\n\n## MonkeyPatch\n\n### setenv\n\nSets a "
    "variable.\n\n## Changes\n\nFixed monkeypatch.setenv on Windows.\n\n## Webhooks\n\n### Secrets of webhooks\n\nOf GitHub.\n\n"
    "## Parametrize tests\n\nMany inputs.\n"
)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param("monkeypatch.setenv ", ["Changes"], id="identifier"),
        pytest.param("setenv monkeypatch ", ["setenv", "MonkeyPatch", "Changes", "Flags"], id="parts in another order"),
        pytest.param("webhoks ", ["Webhooks", "Secrets of webhooks", "Flags"], id="missing letter"),
        pytest.param("wehbooks", ["Webhooks", "Secrets of webhooks", "Flags"], id="swapped letters"),
        pytest.param("parametrise", ["Parametrize tests", "Flags"], id="other spelling"),
        pytest.param("cba ", [], id="short word"),
        pytest.param("xebhooks ", [], id="other initial"),
    ],
)
def test_identifiers_and_misspelt_words_find_sections(
    page: Page, stage: Stage, make_site: Callable[..., Any], query: str, expected: list[str]
) -> None:
    open_finder(page, stage, make_site([("a/", FLAGS)]).publish(stage.folder / "site"))
    assert find_titles(page, query) == expected


def test_page_named_by_query_comes_before_its_sections(page: Page, stage: Stage, make_site: Callable[..., Any]) -> None:
    text = "# Background tasks\n\nAfter a response.\n\n## Add background tasks\n\nPass a function.\n"
    open_finder(page, stage, make_site([("a/", text)]).publish(stage.folder / "site"))
    assert find_titles(page, "background tasks") == ["Background tasks", "Add background tasks"]


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
    (stage.folder / "trouble" / "index.html").write_text((stage.folder / "page2.html").read_text("utf-8"), "utf-8")
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
    make_site([("a/", "# Pumps\n\n" + "".join(f"## Pump {at}\n\n" for at in range(39)))]).publish(stage.folder)
    write_index(stage.folder)
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


def test_section_is_sliced_from_the_markdown_of_its_page(page: Page, stage: Stage, widget: Widget) -> None:
    page.goto(stage.page(""))
    widget.open()
    widget.input.fill("port taken")
    shown = widget.hits.first.locator(".open")
    widget.hits.first.locator(".peek").click()
    shown.locator("a").first.wait_for()
    assert shown.inner_text().startswith(
        "When another program listens on the port already, Kettle stops with PortTaken."
    )
    assert "Troubleshooting" not in shown.inner_text()
    assert "whistle" not in shown.inner_text()


def test_text_with_wrong_digest_is_not_shown(page: Page, stage: Stage, widget: Widget) -> None:
    file = stage.folder / "trouble" / "index.md"
    file.write_text(file.read_text("utf-8").replace("Kettle", "Teapot"), "utf-8")
    page.goto(stage.page(""))
    widget.open()
    widget.input.fill("port taken")
    widget.hits.first.locator(".peek").click()
    widget.hits.first.locator("text=This cannot be read at the moment.").wait_for()


def test_site_with_too_many_sections_is_not_searched(
    page: Page, stage: Stage, widget: Widget, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finder_index, "MAX_SECTIONS", 5)
    write_index(stage.folder)
    count = json.loads((stage.folder / INDEX_PATH).read_bytes())["count"]
    page.goto(stage.page(""))
    widget.open()
    widget.input.fill("port")
    widget.panel.locator(
        f"text=This site has {count} sections: too many to search here. Use the search of the site."
    ).wait_for()
