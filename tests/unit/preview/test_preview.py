"""The data of the preview, its files, and its server."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from io import BytesIO
from pathlib import Path
from typing import Any
from wsgiref.util import setup_testing_defaults

import pytest

from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.lint.runner import LintConfig
from mkdocs_roaming.manifest.models import Site
from mkdocs_roaming.preview.data import Preview
from mkdocs_roaming.preview.server import (
    PreviewApp,
    PreviewSource,
    SiteFiles,
    add_to_dev_server,
    load_data,
    manifest_version,
)
from mkdocs_roaming.preview.source import find_html, find_left_out, open_built, open_published
from mkdocs_roaming.publish.options import PublishOptions
from mkdocs_roaming.publish.pipeline import LeftOut
from mkdocs_roaming.sources.project import IndexOptions
from mkdocs_roaming.sources.publication import index_site

URL = "https://kettle.example/docs/"
HOSTILE = "</script><img src=x onerror=alert(1)>\u2028"
PAGES = {
    "index.html": "<h1>Kettle</h1><p>Boils water.</p>",
    "guide/index.html": (
        '<h1 id="guide">Guide</h1><p>Use the kettle.</p><h2 id="descale">Descale</h2><p>Vinegar dissolves lime.</p>'
    ),
    "internal/plan.html": "<h1>Plan</h1><p>The zebra launches in May.</p>",
    "hostile.html": f"<h1>{HOSTILE.replace('<', '&lt;')}</h1><p>Harmless.</p>",
    "404.html": "<h1>Not found</h1>",
    "old/index.html": "",
}
HEADS = {"old/index.html": '<meta http-equiv="refresh" content="0; url=../guide/">'}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A built site that is not published."""
    folder = tmp_path / "site"
    for path, body in PAGES.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        head = f'<title>{path}</title><link rel="canonical" href="{URL}{path.removesuffix("index.html")}">'
        file.write_text(
            f"<html lang=en><head>{head}{HEADS.get(path, '')}</head><body><main>{body}</main></body>", "utf-8"
        )
    (folder / "style.css").write_text("body { color: black }")
    (folder / "app.js").write_text("alert(1)")
    (folder / ".secret").write_text("hidden")
    return folder


def index(site: Path, *exclude: str) -> None:
    index_site(site, IndexOptions(publish=PublishOptions(exclude=exclude)), warn=print)


def published(site: Path, **options: Any) -> Preview:
    return open_published(site, LintConfig(), **options)


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


# Data


def test_built_site_is_converted_outside_of_its_folder(site: Path) -> None:
    before = snapshot(site)
    with ExitStack() as stack:
        options = IndexOptions(publish=PublishOptions(exclude=("internal/*",)))
        preview = open_built(site, options, LintConfig(), stack, warn=print)
        shown = preview.site()
        folder = Path(preview.library.where)
        assert folder.is_dir()
    assert not folder.exists()
    assert snapshot(site) == before
    assert [page.path for page in shown.pages] == ["", "guide/", "hostile.html"]
    assert [page.html for page in shown.pages] == ["index.html", "guide/index.html", "hostile.html"]
    assert "roaming index" in shown.note


def test_preview_of_built_site_shows_what_index_writes(site: Path) -> None:
    with ExitStack() as stack:
        preview = open_built(site, IndexOptions(), LintConfig(), stack, warn=print)
        files = {file.path: file.text for file in preview.files()}
    index(site)
    assert {path: (site / path).read_text("utf-8") for path in files} == files
    assert list(files) == ["roaming/outline.md", "llms.txt"]


def test_page_has_text_of_each_section_with_its_line(site: Path) -> None:
    index(site)
    preview = published(site)
    guide = next(page for page in preview.site().pages if page.path == "guide/")
    data = preview.page(guide.id)
    assert data is not None
    markdown = (site / "guide/index.md").read_text("utf-8")
    assert data.head + "".join(section.text for section in data.sections) == markdown
    descale = data.sections[1]
    assert (descale.title, descale.anchor) == ("Descale", "descale")
    assert markdown.splitlines()[descale.line - 1] == "## Descale"
    assert preview.page(descale.id) is None
    assert preview.page("00000000") is None


def test_page_whose_markdown_is_missing_shows_the_fault(site: Path) -> None:
    index(site)
    (site / "guide/index.md").unlink()
    preview = published(site)
    guide = next(page for page in preview.site().pages if page.path == "guide/")
    data = preview.page(guide.id)
    assert data is not None
    assert "no such file" in data.fault


def test_left_out_pages_have_a_reason(site: Path) -> None:
    index(site, "internal/*")
    found = {one.path: one for one in published(site).site().left_out}
    assert {page: one.html for page, one in found.items()} == {
        "404.html": "404.html",
        "internal/plan.html": "internal/plan.html",
        "old/": "old/index.html",
    }
    assert "redirect" in found["old/"].reason
    assert "generator" in found["404.html"].reason
    assert "excluded" in found["internal/plan.html"].reason


def test_reason_of_a_build_replaces_the_one_from_html(site: Path) -> None:
    index(site, "internal/*")
    known = [LeftOut("internal/plan.html", "excluded by `internal/*`"), LeftOut("draft/", "a draft")]
    found = list(find_left_out(site, open_library(site).manifest, known))
    assert found[:2] == known
    assert [page.path for page in found[2:]] == ["404.html", "old/"]


def test_lists_include_nested_ones(make_site: Callable[..., Any]) -> None:
    made = make_site([("", "# Home\n\nText.\n")])
    nested = f"{made.manifest.site.url}roaming/nav/0a/llms.txt"
    made.files["llms.txt"] = (
        f"# Docs\n\n- [Part]({nested}): 1 page\n- [Part]({nested})\n- [Lost]({nested[:-8]}llms-2.txt)\n"
    )
    made.files["roaming/nav/0a/llms.txt"] = f"# Part\n\n- [All]({made.manifest.site.url}llms.txt)\n"
    preview = Preview(made.library(), lint=_no_lint)
    assert [file.path for file in preview.files()] == ["roaming/outline.md", "llms.txt", "roaming/nav/0a/llms.txt"]


@pytest.mark.parametrize("piece", ["- [a](", "](", "](x", "- [", "](llms"])
def test_hostile_list_is_read_in_linear_time(make_site: Callable[..., Any], piece: str) -> None:
    made = make_site([("", "# Home\n\nText.\n")])
    made.files["llms.txt"] = piece * (1_000_000 // len(piece))
    files = Preview(made.library(), lint=_no_lint).files()  # takes hours in quadratic time
    assert files[1].path == "llms.txt"


def test_findings_name_page_section_and_line(site: Path) -> None:
    (site / "guide/index.html").write_text(
        "<html><head><title>G</title></head><main><h1>Guide</h1><p>One.</p><h2>Overview</h2><p>Two.</p></main>", "utf-8"
    )
    index(site)
    preview = published(site)
    data = preview.lint()
    finding = next(one for one in data.findings if one.rule == "empty-title")
    page = preview.page(next(one.id for one in preview.site().pages if one.path == finding.page))
    assert page is not None
    section = next(one for one in page.sections if one.id == finding.section)
    assert (section.title, section.line) == ("Overview", finding.line)
    assert set(data.rules) == {one.rule for one in data.findings}


def test_search_ranks_as_the_library(site: Path) -> None:
    index(site)
    preview = published(site)
    expected = [hit.id for hit in preview.library.search("vinegar lime", limit=30)]
    assert [hit.id for hit in preview.search("vinegar lime")] == expected
    assert expected
    assert preview.search("  ") == []


# Files


def test_data_files_are_json(site: Path) -> None:
    index(site)
    preview = published(site)
    app = PreviewApp(SiteFiles(None, "/docs/"), "/docs/", {"": PreviewSource(lambda: preview)}.get)
    hostile = next(page for page in preview.site().pages if page.path == "hostile.html")
    for name in ("site", "files", "lint", "sections", f"page-{hostile.id}"):
        status, headers, body = call(app, f"/docs/roaming/preview/data/{name}.json")
        assert (status, headers["Content-Type"]) == (200, "application/json")
        json.loads(body)
    assert load_data(preview, "data/page-00000000.json") is None
    assert load_data(preview, "../pyproject.toml") is None


def test_title_of_the_site_is_escaped(make_site: Callable[..., Any]) -> None:
    library = make_site([("", "# Home\n")], site=Site(HOSTILE, URL)).library()
    preview = Preview(library, lint=_no_lint)
    app = PreviewApp(SiteFiles(None, "/docs/"), "/docs/", {"": PreviewSource(lambda: preview)}.get)
    page = call(app, "/docs/roaming/preview/")[2].decode()
    assert "<img" not in page
    assert "&lt;/script&gt;&lt;img" in page


# Server


def call(app: Any, path: str, **environ: str) -> tuple[int, dict[str, str], bytes]:
    given: dict[str, Any] = {"PATH_INFO": path, "HTTP_HOST": "127.0.0.1:8060", "wsgi.input": BytesIO(), **environ}
    setup_testing_defaults(given)
    answered: list[Any] = []
    body = b"".join(app(given, lambda status, headers: answered.append((int(status[:3]), dict(headers)))))
    return (*answered[0], body)


@pytest.fixture
def app(site: Path) -> PreviewApp:
    index(site)
    source = PreviewSource(lambda: published(site), lambda: manifest_version(site / "roaming/manifest.json"))
    return PreviewApp(SiteFiles(site, "/docs/"), "/docs/", {"": source}.get)


def test_server_answers_with_a_strict_policy(app: PreviewApp) -> None:
    for name in ("", "preview.js", "data/site.json", "version", "search?q=x"):
        status, headers, body = call(app, f"/docs/roaming/preview/{name.split('?')[0]}")
        assert (status, bool(body)) == (200, True)
        assert headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self'")
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert call(app, "/docs/roaming/preview/nothing.js")[0] == 404
    assert call(app, "/docs/roaming/preview")[1]["Location"] == "/docs/roaming/preview/"
    assert call(app, "/")[1]["Location"] == "/docs/roaming/preview/"


@pytest.mark.parametrize(
    ("environ", "status"),
    [
        ({"HTTP_HOST": "evil.example"}, 421),
        ({"HTTP_HOST": ""}, 421),
        ({"HTTP_HOST": "localhost:1"}, 200),
        ({"HTTP_SEC_FETCH_SITE": "cross-site"}, 403),
        (
            {"HTTP_SEC_FETCH_SITE": "cross-site", "HTTP_SEC_FETCH_MODE": "navigate", "HTTP_SEC_FETCH_DEST": "iframe"},
            403,
        ),
        (
            {"HTTP_SEC_FETCH_SITE": "cross-site", "HTTP_SEC_FETCH_MODE": "navigate", "HTTP_SEC_FETCH_DEST": "document"},
            200,
        ),
        ({"HTTP_SEC_FETCH_SITE": "same-origin"}, 200),
        ({"REQUEST_METHOD": "POST"}, 405),
    ],
)
def test_server_refuses_other_hosts_and_sites(app: PreviewApp, environ: dict[str, str], status: int) -> None:
    assert call(app, "/docs/roaming/preview/data/site.json", **environ)[0] == status


def test_pages_of_the_site_are_sandboxed(app: PreviewApp) -> None:
    status, headers, body = call(app, "/docs/guide/")
    assert (status, headers["Content-Security-Policy"]) == (200, "sandbox")
    assert b"Use the kettle" in body
    assert call(app, "/docs/guide")[1]["Location"] == "/docs/guide/"
    assert call(app, "/docs/guide/", HTTP_HOST="evil.example")[0] == 421


@pytest.mark.parametrize(
    "path", ["/docs/.secret", "/docs/../outside.txt", "/docs/link.txt", "/docs/%2e%2e/outside.txt", "/docs/\0", "/x"]
)
def test_server_serves_nothing_outside_of_the_site(app: PreviewApp, site: Path, path: str) -> None:
    (site.parent / "outside.txt").write_text("outside")
    (site / "link.txt").symlink_to(site.parent / "outside.txt")
    assert call(app, path)[0] == 404


def test_server_shows_the_latest_build_and_survives_an_interrupted_one(app: PreviewApp, site: Path) -> None:
    before = call(app, "/docs/roaming/preview/version")[2]
    manifest = site / "roaming/manifest.json"
    data = manifest.read_bytes()
    manifest.write_bytes(data[:100])
    assert call(app, "/docs/roaming/preview/version")[2] == before
    manifest.unlink()
    assert call(app, "/docs/roaming/preview/version")[2] == before
    manifest.write_bytes(data)
    (site / "guide/index.html").unlink()
    index(site)
    os.utime(manifest, (1, 1))
    assert call(app, "/docs/roaming/preview/version")[2] != before


def test_server_without_a_readable_build_says_why() -> None:
    def fail() -> Preview:
        raise LibraryError("site: no manifest")

    app = PreviewApp(SiteFiles(None, "/"), "/", {"": PreviewSource(fail)}.get)
    assert call(app, "/roaming/preview/")[::2] == (503, b"site: no manifest\n")


def test_each_language_below_a_site_has_its_preview(site: Path, tmp_path: Path) -> None:
    index(site)
    shutil.copytree(site, site / "de")
    app = add_to_dev_server(SiteFiles(site, "/docs/"), "/docs/", site, LintConfig(), tmp_path, lambda folder: ())
    shown = [call(app, f"/docs/{folder}roaming/preview/data/site.json")[2].decode() for folder in ("", "de/")]
    left_out = [json.loads(text)["left_out"] for text in shown]
    assert [page["path"] for page in left_out[0]] == ["404.html", "old/"]
    assert left_out[0] == left_out[1]
    for folder in ("fr/", "de/../", "../", "de-"):
        assert call(app, f"/docs/{folder}roaming/preview/")[0] == 404


def _no_lint() -> Any:
    raise AssertionError("not called")


def test_library_of_a_url_needs_no_html(make_site: Callable[..., Any]) -> None:
    library: Library = make_site([("guide/", "# Guide\n\nText.\n")]).library()
    (page,) = Preview(library, lint=_no_lint).site().pages
    assert (page.html, page.url) == ("", f"{library.manifest.site.url}guide/")


def test_site_without_a_url_is_shown_as_it_would_be_published(site: Path) -> None:
    for file in site.rglob("*.html"):
        file.write_text(re.sub("<link[^>]*>", "", file.read_text("utf-8")), "utf-8")
    warnings: list[str] = []
    with ExitStack() as stack:
        shown = open_built(site, IndexOptions(), LintConfig(), stack, warn=warnings.append).site()
    assert (shown.url, len(shown.pages)) == ("", 4)
    assert len(warnings) == 1
    assert "add --url" in warnings[0]


def test_author_of_llms_txt_is_told_that_publishing_stops(site: Path) -> None:
    (site / "llms.txt").write_text("# My own list\n")
    with ExitStack() as stack:
        preview = open_built(site, IndexOptions(), LintConfig(), stack, warn=print)
        assert "llms_txt: preamble" in preview.site().note
        assert "zebra" in preview.files()[1].text
    assert (site / "llms.txt").read_text() == "# My own list\n"


@pytest.mark.parametrize(("option", "has_pages"), [("preamble", True), (False, False)])
def test_llms_txt_of_an_author_is_shown_as_it_would_be_published(site: Path, option: Any, has_pages: bool) -> None:
    (site / "llms.txt").write_text("# My own list\n")
    options = IndexOptions(publish=PublishOptions(llms_txt=option))
    with ExitStack() as stack:
        preview = open_built(site, options, LintConfig(), stack, warn=print)
        text = preview.files()[1].text
        assert "stop" not in preview.site().note
    assert text.startswith("# My own list")
    assert ("zebra" in text) is has_pages


@pytest.mark.parametrize("path", ["../outside", "guide/../../outside", "/etc/hosts"])
def test_html_outside_of_the_site_is_not_found(site: Path, path: str) -> None:
    (site.parent / "outside.html").write_text("outside")
    assert find_html(site, path) == ""
