"""What is published: links, llms.txt, pointers, files; the same every time, and nothing outside of the folder."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest
from dripping import BODY, HEADERS, dripping
from msgspec.structs import replace

from mkdocs_roaming.errors import PublishError
from mkdocs_roaming.html.final_page import exclusion_reason
from mkdocs_roaming.library.library import open_library
from mkdocs_roaming.library.validate import validate_site
from mkdocs_roaming.manifest.builder import PreviousSite, PublishedPage, build_manifest
from mkdocs_roaming.manifest.io import load_manifest, validate_manifest
from mkdocs_roaming.manifest.models import NavItem, Page, Site
from mkdocs_roaming.manifest.sections import hash_id, split_sections
from mkdocs_roaming.publish.cache import ConversionCache
from mkdocs_roaming.publish.files import resolve_inside, write_atomically
from mkdocs_roaming.publish.llms_txt import MAX_CHARS, add_markdown_links, build_llms_txt, format_pointer
from mkdocs_roaming.publish.pipeline import LinkResolver, convert_pages
from mkdocs_roaming.publish.previous import read_previous
from mkdocs_roaming.publish.writer import PublishOptions, PublishReport, publish_batch, publish_mirror

URL = "https://docs.example/sub/"
NAV = (NavItem("Home", ""), NavItem("Guide", children=(NavItem("Install", "guide/install/"),)))
SITE = Site("Docs", URL, "About everything.", nav=NAV)
HOME = Page("", "Home", '<h1 id="home">Home</h1><p>See <a href="guide/install/#quiet">quiet mode</a>.</p>')
INSTALL = Page(
    "guide/install/",
    "Install",
    '<h1 id="install">Install</h1><p>Run it.</p><h2 id="quiet">Quiet mode</h2><p>Use <code>--hush</code>.</p>',
)


def published(
    folder: Path,
    *pages: Page,
    site: Site = SITE,
    options: PublishOptions | None = None,
    cache: Path | None = None,
    previous: PreviousSite | None = None,
) -> tuple[PublishReport, list[str]]:
    warned: list[str] = []
    batch = convert_pages(site, pages, cache=ConversionCache(cache), warn=warned.append)
    return publish_batch(batch, folder, options or PublishOptions(), previous=previous), warned


def tree(folder: Path) -> dict[str, bytes]:
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize(
    ("href", "wanted"),
    [
        ("../../#top", URL + "index.md#top"),
        ("#quiet", URL + "guide/install/index.md#quiet"),
        ("/sub/guide/install", URL + "guide/install/index.md"),
        ("/sub/guide/install/index.html#q", URL + "guide/install/index.md#q"),
        ("/elsewhere/", "https://docs.example/elsewhere/"),
        ("../../logo.png", URL + "logo.png"),
        ("../unknown/", URL + "guide/unknown/"),
        ("../../?q=1", URL + "?q=1"),
        ("https://other.example/a b?x=ü#ß", "https://other.example/a%20b?x=%C3%BC#%C3%9F"),
        ("mailto:a@b.example", "mailto:a@b.example"),
        ("//cdn.example/x.js", "https://cdn.example/x.js"),
        ("http://[broken", "http://[broken"),
    ],
)
def test_links_are_absolute_and_lead_to_markdown(href: str, wanted: str) -> None:
    """A link leads to the Markdown of a page where it has one, fragment kept, and is absolute everywhere."""
    assert LinkResolver(URL, URL + "guide/install/", {"", "guide/install/"}).link(href) == wanted


def test_everything_is_published_and_valid(tmp_path: Path) -> None:
    """A build leaves a site that validates: both Markdown addresses, lists, outline, sections, schema."""
    report, warned = published(tmp_path, INSTALL, HOME)
    assert (report.pages, report.sections, warned) == (2, 3, [])
    result = validate_site(open_library(tmp_path))
    assert (result.faults, result.notes) == ((), ())
    files = tree(tmp_path)
    assert files["guide/install.md"] == files["guide/install/index.md"]
    assert files["index.md"].decode().startswith("> This page belongs to the documentation of Docs.")
    assert f"[quiet mode]({URL}guide/install/index.md#quiet)" in files["index.md"].decode()
    assert f"Source: {URL}\n\n> This page" in files["llms-full.txt"].decode()


def test_two_builds_are_byte_identical(tmp_path: Path) -> None:
    """The same pages give the same bytes, with a cache and without, and nothing is written twice."""
    published(tmp_path / "a", HOME, INSTALL, cache=tmp_path / "cache")
    published(tmp_path / "b", HOME, INSTALL)
    again, _ = published(tmp_path / "a", HOME, INSTALL, cache=tmp_path / "cache")
    assert tree(tmp_path / "a") == tree(tmp_path / "b")
    assert (again.reused, again.written) == (2, 0)


def test_a_build_after_an_edit_equals_a_clean_build(tmp_path: Path) -> None:
    """Editing one page leaves nothing behind of what was published before."""
    edited = Page("guide/install/", "Install", '<h1>Install</h1><p>Run it.</p><h2 id="loud">Loud mode</h2><p>New.</p>')
    published(tmp_path / "a", HOME, INSTALL, cache=tmp_path / "cache")
    report, _ = published(tmp_path / "a", HOME, edited, cache=tmp_path / "cache")
    published(tmp_path / "b", HOME, edited)
    assert tree(tmp_path / "a") == tree(tmp_path / "b")
    assert report.reused == 1
    assert report.removed > 0


def test_a_page_that_appears_changes_the_links_to_it(tmp_path: Path) -> None:
    """A kept conversion is not used where one of its links has a Markdown twin now."""
    published(tmp_path / "a", HOME, cache=tmp_path / "cache")
    assert f"({URL}guide/install/#quiet)" in (tmp_path / "a/index.md").read_text()
    published(tmp_path / "a", HOME, INSTALL, cache=tmp_path / "cache")
    assert f"({URL}guide/install/index.md#quiet)" in (tmp_path / "a/index.md").read_text()


def test_a_page_left_out_late_is_not_linked_to(tmp_path: Path) -> None:
    """Pages that link to one that was dropped after conversion link to its HTML."""
    batch = convert_pages(SITE, [HOME, INSTALL], cache=ConversionCache(None), warn=lambda message: None)
    batch.drop("guide/install/")
    publish_batch(batch, tmp_path, PublishOptions())
    assert f"({URL}guide/install/#quiet)" in (tmp_path / "index.md").read_text()
    assert not (tmp_path / "guide").exists()


def test_a_renamed_heading_keeps_its_address(tmp_path: Path) -> None:
    """With the previous manifest, the file of a renamed section's old id still opens it."""
    published(tmp_path / "a", INSTALL)
    old = load_manifest((tmp_path / "a/roaming/manifest.json").read_bytes()).pages[0].sections[1].id
    renamed = Page("guide/install/", "Install", INSTALL.article.replace('id="quiet">Quiet', 'id="hush">Hushed'))
    previous = read_previous("a", tmp_path, print)
    published(tmp_path / "b", renamed, previous=previous)
    assert "## Hushed mode" in (tmp_path / f"b/roaming/sections/{old}.md").read_text()


def test_a_previous_manifest_that_is_away_only_warns(tmp_path: Path) -> None:
    """A build never fails for want of the last manifest."""
    warned: list[str] = []
    assert read_previous("nowhere", tmp_path, warned.append) is None
    assert read_previous("http://127.0.0.1:9/", tmp_path, warned.append) is None
    assert len(warned) == 2
    assert "old ids of renamed sections get no aliases" in warned[0]


@pytest.mark.parametrize("drops", [HEADERS, BODY], ids=["headers", "body"])
def test_a_previous_manifest_that_drips_only_warns(tmp_path: Path, drops: tuple[bytes, bytes]) -> None:
    """A build never waits for ever for the last manifest, and leaves the server that sends it byte by byte."""
    warned: list[str] = []
    with dripping(*drops) as address:
        assert read_previous(address, tmp_path, warned.append, seconds=1.5) is None
    assert warned == [
        f"previous: {address}: no complete response within 1.5 seconds, try again later; "
        "old ids of renamed sections get no aliases"
    ]


def test_a_previous_manifest_from_what_speaks_no_http_only_warns(tmp_path: Path) -> None:
    """Another service at that address fails no build."""
    warned: list[str] = []
    with dripping(b"220 mail.example ESMTP\r\n", b"?") as address:
        assert read_previous(address, tmp_path, warned.append) is None
    assert "invalid HTTP response (BadStatusLine: 220 mail.example ESMTP); old ids of renamed sections" in warned[0]


def test_no_title_turns_or_breaks_the_line_that_it_stands_on(tmp_path: Path) -> None:
    """An override in a heading, the nav or a description stays in the page's Markdown, as it was written. It reaches no
    line of llms.txt, of the outline, of the manifest, nor a breadcrumb. Ids are those of the text as it is.
    """
    nav = (NavItem("Gui\u202ede\nGroup", children=(NavItem("In\u2067stall", "guide/install/"),)),)
    turned = Page(
        "guide/install/",
        "Install",
        "<h1 id='top'>In\u202estall</h1><p>Op\u202eens.</p><h2>Qui\u202eet</h2><p>\u202eNight.</p>",
        description="Says\u202e it.\u2029Again.",
    )
    published(tmp_path, turned, site=Site("Do\u202ecs", URL, "Abo\u202eut.", nav=nav))
    assert "\u202e" in (tmp_path / "guide/install/index.md").read_text("utf-8")
    manifest = load_manifest((tmp_path / "roaming/manifest.json").read_text("utf-8"))
    (page,) = manifest.pages
    assert [manifest.site.name, manifest.site.description, manifest.nav[0].title] == ["Docs", "About.", "Guide Group"]
    assert [page.title, page.description] == ["Install", "Says it. Again."]
    assert [(each.title, each.opening) for each in page.sections] == [("Install", "Opens."), ("Quiet", "Night.")]
    assert [page.id, manifest.nav[0].id] == [hash_id("guide/install/#"), hash_id("nav:Gui\u202ede\nGroup")]
    for name in ("llms.txt", "roaming/outline.md", "roaming/manifest.json"):
        text = (tmp_path / name).read_text("utf-8")
        assert not [mark for mark in text if unicodedata.category(mark) in ("Cc", "Zl", "Zp") and mark != "\n"], name
        assert not [mark for mark in text if unicodedata.bidirectional(mark) in ("RLO", "RLI")], name
    crumbs = (tmp_path / f"roaming/sections/{page.sections[1].id}.md").read_text("utf-8").splitlines()[0]
    assert "Guide Group › Install › Quiet" in crumbs


def test_no_title_of_a_mirrored_site_does_either(tmp_path: Path) -> None:
    """Its ids and its pages stay what they are."""
    published(tmp_path / "theirs", HOME)
    theirs = load_manifest((tmp_path / "theirs/roaming/manifest.json").read_bytes())
    (page,) = theirs.pages
    sections = tuple(replace(each, title=each.title + "\u202e", opening="\x1b[2J") for each in page.sections)
    turned = replace(theirs, pages=(replace(page, title="Ho\u2067me", sections=sections),))
    text = (tmp_path / "theirs" / page.markdown).read_bytes()
    publish_mirror(turned, {page.path: text}, tmp_path / "ours", PublishOptions())
    ours = load_manifest((tmp_path / "ours/roaming/manifest.json").read_bytes())
    assert ours.pages[0].title == "Home"
    assert [each.title for each in ours.pages[0].sections] == [each.title for each in page.sections]
    assert {each.opening for each in ours.pages[0].sections} == {"[2J"}
    assert [each.id for each in ours.pages[0].sections] == [each.id for each in page.sections]
    assert (tmp_path / "ours" / page.markdown).read_bytes() == text


def test_two_pages_with_one_address_are_named(tmp_path: Path) -> None:
    """The warning names both sources; the first is published."""
    twin = Page("", "Other", "<h1>Other</h1>", source="other.md")
    report, warned = published(tmp_path, HOME, twin)
    assert report.pages == 1
    assert warned == [
        "other.md: same path as /: “”. Only the first is published; rename one",
    ]


def test_a_site_without_pages_is_an_error(tmp_path: Path) -> None:
    """Publishing nothing is a mistake, said in one line."""
    with pytest.raises(PublishError, match="no page to publish; check include, exclude and the nav"):
        published(tmp_path)


def test_many_sections_get_no_files_and_the_build_says_so(tmp_path: Path) -> None:
    """With `section_files: auto`, more than 5,000 sections are not written one by one, and a note tells how to."""
    article = "<h1>Big</h1>" + "".join(f'<h2 id="s{at}">S{at}</h2>' for at in range(5001))
    report, _ = published(tmp_path, Page("big/", "Big", article))
    assert not (tmp_path / "roaming/sections").exists()
    assert "To write them, set `section_files: true`" in report.notes[0]
    assert validate_site(open_library(tmp_path)).faults == ()


def test_llms_txt_lists_groups_in_nav_order() -> None:
    """Groups are headings, pages are links to Markdown with a description, outside links stay."""
    nav = (
        NavItem("Home", ""),
        NavItem(
            "Guide", children=(NavItem("Deep", children=(NavItem("A [b]", "a/"),)), NavItem("Forum", url="https://f/"))
        ),
    )
    pages = [
        PublishedPage(Page(path, path), f"# {path}\n\nText.\n", split_sections(f"# {path}\n\nText.\n"))
        for path in ("", "a/")
    ]
    text = build_llms_txt(build_manifest(Site("Docs", URL, "All\nof it.", nav=nav), pages))["llms.txt"]
    assert text.startswith("# Docs\n\n> All of it.\n\nEvery link below")
    assert text.endswith(
        f"\n## Pages\n\n- [Home]({URL}index.md): Text.\n"
        f"\n## Guide › Deep\n\n- [A \\[b\\]]({URL}a/index.md): Text.\n"
        "\n## Guide\n\n- [Forum](https://f/)\n"
    )


@pytest.mark.parametrize("groups", [1, 6, 60])
def test_llms_txt_nests_below_fifty_thousand_characters(groups: int) -> None:
    """However many pages there are, every file stays short and every page is listed exactly once."""
    texts = {f"g{at % groups}/p{at}/": f"# Page {at}\n\n{'word ' * 40}\n" for at in range(1500)}
    nav = tuple(
        NavItem(
            f"Group {group}", children=tuple(NavItem(path, path) for path in texts if path.startswith(f"g{group}/"))
        )
        for group in range(groups)
    )
    pages = [PublishedPage(Page(path, path), text, split_sections(text)) for path, text in texts.items()]
    files = build_llms_txt(build_manifest(Site("Docs", URL, nav=nav), pages))
    assert max(map(len, files.values())) < MAX_CHARS
    assert len(files) > 1
    for path in texts:
        assert sum(text.count(f"({URL}{path}index.md)") for text in files.values()) == 1
    for path in files:
        assert path == "llms.txt" or sum(text.count(f"({URL}{path})") for text in files.values()) == 1


def test_a_page_points_to_its_markdown_once() -> None:
    """The `<link>` pair and the sentence are relative, and stay single however often they are put in."""
    html = "<!doctype html><html><head><title>T</title></head><body class='x'><main>Hi</main></body></html>"
    once = add_markdown_links(html, "guide/install/")
    assert add_markdown_links(once, "guide/install/") == once
    assert '<link rel="alternate" type="text/markdown" href="index.md" data-roaming>' in once
    assert '<link rel="describedby" type="text/markdown" href="../../llms.txt" data-roaming></head>' in once
    assert "display:none" not in once
    assert add_markdown_links("plain text", "a/") == "plain text"


def test_a_page_of_material_costs_no_request_for_a_sitemap() -> None:
    """Material takes every `[rel=alternate]` for a translation; ours is none, but an alternate to all others."""
    once = add_markdown_links("<html><head></head><body><div data-md-component=container>Hi</div></body></html>", "a/")
    assert '<link rel="alternate " type="text/markdown" href="index.md" data-roaming>' in once
    assert add_markdown_links(once, "a/") == once


def test_the_pointer_is_one_line_whatever_the_site_is_called() -> None:
    """A site's name cannot break out of the first line."""
    line = format_pointer(Site("A\n# [b](c)", URL))
    assert line.count("\n") == 1
    assert "[b](c)" not in line


@pytest.mark.parametrize("path", ["../x", "a/../../x", "/etc/x", "a\0b"])
def test_nothing_is_written_outside_of_the_folder(tmp_path: Path, path: str) -> None:
    """A path that leads out of the site's folder is refused by name."""
    with pytest.raises(PublishError, match="outside of"):
        resolve_inside(tmp_path / "site", path)


def test_a_file_is_whole_or_not_there(tmp_path: Path) -> None:
    """A file that holds the bytes already is left alone; no temporary file stays behind."""
    file = tmp_path / "a/b.txt"
    assert write_atomically(file, b"x")
    assert not write_atomically(file, b"x")
    assert write_atomically(file, b"y")
    assert [found.name for found in (tmp_path / "a").iterdir()] == ["b.txt"]


def test_hidden_pages_are_recognised() -> None:
    """Redirects and `noindex` pages are left out; a page that only speaks of them is not."""
    assert exclusion_reason('<head><meta http-equiv="refresh" content="0; url=x"></head>') == "a redirect"
    assert exclusion_reason('<head><META content="noindex, follow" NAME="robots"></head>') == "noindex"
    assert exclusion_reason('<head></head><p>&lt;meta name="robots" content="noindex"&gt;</p>') is None


def test_the_cache_may_be_broken_or_deleted(tmp_path: Path) -> None:
    """Rubbish in the cache is ignored, and what is no longer asked for goes."""
    cache = tmp_path / "cache"
    published(tmp_path / "a", HOME, INSTALL, cache=cache)
    for file in cache.iterdir():
        file.write_text('{"key": 1}')
    report, _ = published(tmp_path / "a", HOME, cache=cache)
    assert report.reused == 0
    assert len(list(cache.iterdir())) == 2  # the page, and the keywords of the site


def test_the_published_manifest_fits_its_schema(tmp_path: Path) -> None:
    """The manifest on disk is valid against the schema beside it."""
    import jsonschema

    published(tmp_path, HOME, INSTALL)
    text = (tmp_path / "roaming/manifest.json").read_text("utf-8")
    jsonschema.validate(json.loads(text), json.loads((tmp_path / "roaming/manifest.schema.json").read_text("utf-8")))
    assert validate_manifest(text) == []
