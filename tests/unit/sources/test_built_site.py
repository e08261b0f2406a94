"""Tests of the indexing of built sites: pages, navigation, URLs."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from urllib.parse import unquote, urljoin

import pytest
from lxml import html as lxml_html

from mkdocs_roaming.errors import PublishError, UsageError
from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.library.validate import validate_site
from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_manifest
from mkdocs_roaming.manifest.models import Manifest, iter_nav
from mkdocs_roaming.publish.options import parse_options
from mkdocs_roaming.sources import decode_text
from mkdocs_roaming.sources.project import IndexOptions, find_project
from mkdocs_roaming.sources.publication import index_site
from mkdocs_roaming.sources.site_nav import from_folders

URL = "https://docs.example/v2/"
HEAD = '<!doctype html><html lang="de"><head><meta charset="utf-8"><title>{title} - Docs</title>{head}</head>'
HOME = (
    HEAD.format(title="Home", head=f'<link rel="canonical" href="{URL}">')
    + '<body><nav class="wy-menu-vertical">{nav}</nav><div role="main"><h1>Home</h1>'
    '<p>See <a href="guide/">the guide</a>.</p></div></body></html>'
)
GUIDE = (
    HEAD.format(title="Guide", head="")
    + '<body><div role="main"><h1 id="guide">Guide</h1><p>Read it.</p><h2 id="run">Run</h2>'
    "<pre><code>x</code></pre></div></body></html>"
)
NAV = (
    '<p class="caption">Start</p><ul><li><a href="">Home</a></li></ul>'
    '<p class="caption">More of it</p><ul><li><a href="guide/">The guide</a>'
    '<ul><li><a href="guide/#run">Run</a></li></ul></li>'
    '<li>Deep<ul><li><a href="deep/one.html">One</a></li></ul></li></ul>'
)


REFRESH = '<meta http-equiv="refresh" content="0; url={}">'


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return a built site of three pages with the sidebar of a theme."""
    pages = dict.fromkeys(("guide/index.html", "404.html", "search.html", "_static/x.html"), GUIDE)
    pages |= {"index.html": HOME.format(nav=NAV), "deep/one.html": GUIDE.replace("Guide", "One")}
    pages["old/index.html"] = HEAD.format(title="x", head=REFRESH.format("../")) + "</html>"
    pages["theme/main.html"] = '{% extends "base.html" %}'
    write(tmp_path, pages)
    return tmp_path


def write(folder: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")


def index_to_manifest(folder: Path, **how: object) -> Manifest:
    site = {name: how.pop(name) for name in ("url", "name", "html", "cache") if name in how}
    index_site(folder, IndexOptions(**site, publish=parse_options(how)), warn=print)
    return load_manifest((folder / "roaming/manifest.json").read_bytes())


def read_files(folder: Path) -> dict[str, bytes]:
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_index_site_publishes_pages_and_skips_redirects_templates_and_special_pages(site: Path) -> None:
    manifest = index_to_manifest(site)
    assert [page.path for page in manifest.pages] == ["", "guide/", "deep/one.html"]
    assert (manifest.site.url, manifest.site.name, manifest.site.language) == (URL, "Docs", "de")
    assert validate_site(open_library(site)).faults == ()
    assert f"[the guide]({URL}guide/index.md)" in (site / "index.md").read_text()
    assert (site / "deep/one.md").exists()
    assert [page.path for page in index_to_manifest(site, exclude=("deep/*",)).pages] == ["", "guide/"]
    assert [page.path for page in index_to_manifest(site, include=("deep/*",)).pages] == ["deep/one.html"]


@pytest.mark.skipif(sys.platform != "linux", reason="this system has UTF-8 names alone")
def test_page_whose_name_is_not_utf8_is_left_out_with_a_warning(site: Path) -> None:
    name = os.fsdecode(b"caf\xe9.html")
    (site / name).write_bytes((site / "index.html").read_bytes())
    warnings: list[str] = []
    options = IndexOptions(url="https://docs.example/p/", publish=parse_options({}))
    report = index_site(site, options, warn=warnings.append)
    assert f"{name}: the page is left out: its name is not UTF-8; rename the file" in warnings
    assert (name, "its name is not UTF-8") in [(left.path, left.reason) for left in report.left_out]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pipes in folders")
def test_what_is_no_regular_file_is_never_opened(site: Path) -> None:
    (site / "folder.html").mkdir()
    (site / "folder.html/page.html").write_text(GUIDE)
    (site / "dangling.html").symlink_to("nowhere")
    (site / "device.html").symlink_to("/dev/zero")
    (site / "roaming").mkdir()
    for name in ("pipe.html", "sitemap.xml", "toc.html", "llms.txt", "guide.md", "llms-full.txt", MANIFEST_PATH):
        os.mkfifo(site / name)
    warnings: list[str] = []
    options = IndexOptions(publish=parse_options({"overwrite": True}))
    report = index_site(site, options, warn=warnings.append)
    assert report.pages == 4
    named = [warning.partition(": is left out")[0] for warning in warnings if "is left out: a link to a " in warning]
    assert sorted(named) == [f"{site}/{name}.html" for name in ("dangling", "device", "pipe", "toc")]
    assert validate_site(open_library(site)).faults == ()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads every folder")
def test_folder_that_cannot_be_read_is_an_error(site: Path) -> None:
    (site / "deep").chmod(0)
    with pytest.raises(PermissionError) as caught:
        index_to_manifest(site)
    (site / "deep").chmod(0o755)
    assert caught.value.filename == str(site / "deep")


def test_links_to_html_redirects_lead_to_markdown_of_target(site: Path) -> None:
    new = "<html><head></head><body><p>See <a href='moved/'>the old guide</a>.</p></body></html>"
    write(site, {"moved/index.html": f"<!doctype html>{REFRESH.format('../guide/')}", "new.html": new})
    assert "moved/" not in {page.path for page in index_to_manifest(site).pages}
    assert f"[the old guide]({URL}guide/index.md)" in (site / "new.md").read_text()


def test_nav_includes_branches_named_only_by_late_pages(site: Path) -> None:
    listed = "".join(f'<li><a href="{URL}a/{at}.html">A {at}</a></li>' for at in range(40))
    own = "".join(f'<li><a href="{URL}z/{name}.html">Z {name}</a></li>' for name in ("one", "two"))
    own = f"<li>Late<ul>{own}</ul></li>"
    pages = {f"a/{at}.html": listed for at in range(40)} | {"z/one.html": listed + own, "z/two.html": listed + own}
    html = GUIDE.replace("<body>", '<body><div class="wy-menu-vertical"><ul>BAR</ul></div>')
    write(
        site, {path: html.replace("BAR", bar).replace("<title>Guide", f"<title>{path}") for path, bar in pages.items()}
    )
    nav = index_to_manifest(site, exclude=("guide/", "deep/*")).nav
    assert [entry.title for entry in nav] == ["Home", *(f"A {at}" for at in range(40)), "Late"]
    assert [child.title for child in nav[-1].children] == ["Z one", "Z two"]


def test_nav_begins_with_home_page_missing_from_sidebar(site: Path) -> None:
    """Themes link to the home page with their logo."""
    nav = '<ul><li><a href="guide/">The guide</a></li><li><a href="deep/one.html">One</a></li></ul>'
    (site / "index.html").write_text(HOME.format(nav=nav))
    assert [entry.title for entry in index_to_manifest(site).nav] == ["Home", "The guide", "One"]


def test_folders_in_other_languages_are_skipped_with_a_warning(site: Path) -> None:
    """`deep/` and `it/` have English index pages, but not the name of the language."""
    english = GUIDE.replace('lang="de"', 'lang="en-GB"')
    write(site, dict.fromkeys(("en/index.html", "en/guide/index.html", "deep/index.html", "it/index.html"), english))
    warnings: list[str] = []
    index_site(site, IndexOptions(), warn=warnings.append)
    paths = [page.path for page in load_manifest((site / "roaming/manifest.json").read_bytes()).pages]
    assert sorted(paths) == ["", "deep/", "deep/one.html", "guide/", "it/"]
    assert warnings == [
        "en/: 2 pages in another language (en-GB) are left out; publish them as a site of their own: "
        f"roaming index {site}/en --url {URL}en/"
    ]
    inner = index_to_manifest(site / "en", url=f"{URL}en/")
    assert ([page.path for page in inner.pages], inner.site.language) == (["", "guide/"], "en-GB")


def test_nav_ignores_sidebar_of_blog_posts(site: Path) -> None:
    """Posts of Material have related links where other pages have the navigation."""
    nav = '<nav class="md-nav--primary"><ul><li><a href="{}">{}</a></li><li><a href="{}">{}</a></li></ul></nav>'
    home = HOME.format(nav="").replace("<body>", "<body>" + nav.format("", "A", "guide/", "B"))
    related = f'<div class="md-sidebar md-sidebar--post">{nav.format("../guide/", "X", "one.html", "Related")}</div>'
    write(site, {"index.html": home, "deep/one.html": GUIDE.replace("<body>", f"<body>{related}")})
    assert [entry.title for entry in index_to_manifest(site).nav] == ["A", "B", "More"]


def test_nav_ignores_contents_and_neighbours_of_the_page_in_sphinx_sidebars(site: Path) -> None:
    contents = '<ul><li><a href="#">One</a><ul><li><a href="#run">Run</a></li></ul></li></ul>'
    neighbours = '<ul><li><a href="../">Home</a><ul><li>Next: <a href="../guide/">Guide</a></li></ul></li></ul>'
    toctree = (
        '<ul><li class="toctree-l1"><a href="{root}guide/">Guide</a></li>'
        '<li class="toctree-l1"><a href="{root}deep/one.html">One</a></li></ul>'
    )
    home = HOME.format(nav="").replace(
        "</p></div>", f'</p><div class="toctree-wrapper">{toctree.format(root="")}</div></div>'
    )
    (site / "index.html").write_text(home, "utf-8")
    for sidebar in (contents + neighbours, contents + toctree.format(root="../")):
        html = GUIDE.replace("Guide", "One").replace(
            "<body>", f'<body><div class="sphinxsidebarwrapper">{sidebar}</div>'
        )
        (site / "deep/one.html").write_text(html, "utf-8")
        assert [item.page for item in index_to_manifest(site).nav] == ["", "guide/", "deep/one.html"], sidebar


def test_nav_contains_pages_that_the_text_of_a_page_lists(site: Path) -> None:
    """A Sphinx sidebar shows the upper levels only; a page lists those below it, with their sections."""
    toctree = (
        '<div class="toctree-wrapper"><ul><li><a href="../deep/one.html">One</a>'
        '<ul><li><a href="../deep/one.html#run">Run</a></li><li><a href="../deep/two.html">Two</a></li></ul></li>'
        '<li><a href="../">Home</a><ul><li><a href="../other/">Other</a></li></ul></li></ul></div>'
    )
    home, guide = HOME.format(nav=NAV.partition("<li>Deep")[0] + "</ul>"), GUIDE.replace("<h2", f"{toctree}<h2", 1)
    pages = {"index.html": home, "guide/index.html": guide}
    pages |= {"deep/two.html": GUIDE.replace("Guide", "Two"), "other/index.html": GUIDE.replace("Guide", "Other")}
    write(site, pages)
    nav = index_to_manifest(site).nav
    (guide,) = nav[1].children
    assert [(item.page, [inner.page for inner in item.children]) for item in guide.children] == [
        ("deep/one.html", ["deep/two.html"])
    ]
    assert [item.page for item in nav[0].children] == [""]


def test_url_is_read_from_sitemap_without_canonical_link(site: Path) -> None:
    """The URL of the home page in sitemap.xml is used if all others begin with it."""
    (site / "index.html").write_text(HOME.format(nav="").replace(f'<link rel="canonical" href="{URL}">', ""))
    sitemap = "<urlset><url><loc>{}guide/</loc></url><url><loc> {}</loc></url></urlset>"
    for last, expected in ("https://elsewhere.example/", ""), (URL, URL):
        (site / "sitemap.xml").write_text(sitemap.format(URL, last))
        assert index_to_manifest(site).site.url == expected


def test_description_shared_by_pages_is_the_site_description(site: Path) -> None:
    """Generators write the site's description on pages that have none."""
    texts = {"index.html": "All of it.", "guide/index.html": "All of it.", "deep/one.html": "One alone."}
    for path, text in texts.items():
        html = (site / path).read_text()
        (site / path).write_text(html.replace("<title>", f'<meta name="description" content="{text}"><title>'))
    manifest = index_to_manifest(site)
    assert manifest.site.description == "All of it."
    assert [page.description for page in manifest.pages] == ["", "", "One alone."]


def test_formulas_that_scripts_typeset_are_published_as_tex(site: Path) -> None:
    (site / "mathjax.js").write_text("MathJax = {tex: {inlineMath: [['$', '$']]}}")
    script = '<script src="../mathjax.js"></script>'
    (site / "guide/index.html").write_text(GUIDE.replace("Read it.", "Read $a_1*b*c$.").replace("</body>", script))
    index_to_manifest(site)
    assert "Read $a_1*b*c$." in (site / "guide/index.md").read_text()


def test_title_drops_site_name_but_keeps_other_dashes(site: Path) -> None:
    one = GUIDE.replace("<title>Guide - Docs", "<title>1 — First | part - Docs")
    (site / "deep/one.html").write_text(one.replace("<h1", "<p").replace("</h1", "</p"))
    assert index_to_manifest(site).pages[-1].title == "1 — First | part"


def test_only_search_and_index_pages_of_the_generator_are_skipped(site: Path) -> None:
    special = ("genindex-A.html", "py-modindex/index.html", "v1/genindex.html", "_modules/x.html")
    write(site, dict.fromkeys(("guide/search.html", *special), GUIDE))
    assert [page.path for page in index_to_manifest(site).pages] == ["", "guide/", "deep/one.html", "guide/search.html"]


def test_index_site_again_writes_identical_files_without_those_of_removed_pages(site: Path) -> None:
    index_to_manifest(site)
    first = read_files(site)
    index_to_manifest(site)
    assert read_files(site) == first
    assert first["guide/index.html"].count(b"data-roaming") == 3
    shutil.rmtree(site / "deep")
    index_to_manifest(site)
    assert not (site / "deep/one.md").exists()
    assert validate_site(open_library(site)).faults == ()


def test_description_of_site_follows_the_home_page_that_it_was_taken_from(site: Path) -> None:
    assert index_to_manifest(site).site.description == "See the guide."
    home = site / "index.html"
    home.write_text(home.read_text("utf-8").replace("See ", "Follow "), "utf-8")
    assert index_to_manifest(site).site.description == "Follow the guide."


def test_markdown_of_a_page_is_not_replaced_by_the_copy_of_another(site: Path) -> None:
    for title, path in (("File", "guide.html"), ("Folder", "guide/index.html")):
        (site / path).write_text(GUIDE.replace("Guide", title), "utf-8")
    for _ in range(2):
        index_to_manifest(site)
        assert "# File" in (site / "guide.md").read_text("utf-8")
        assert "# Folder" in (site / "guide/index.md").read_text("utf-8")
        assert validate_site(open_library(site)).faults == ()


def test_index_site_fails_if_two_published_files_have_the_same_path(site: Path) -> None:
    write(site, {"roaming/outline.html": GUIDE})
    before = read_files(site)
    with pytest.raises(PublishError, match=r"^roaming/outline\.md: two published files have this path"):
        index_to_manifest(site)
    assert read_files(site) == before


def test_index_site_without_html_does_not_change_pages(site: Path) -> None:
    before = read_files(site)
    index_to_manifest(site, html=False)
    assert {path: data for path, data in read_files(site).items() if path in before} == before


def test_each_page_is_once_in_the_nav_of_folders() -> None:
    paths = ["", "guide.html", "guide/start.html", "api", "api/", "api/core/index/"]
    nav = from_folders({path: path.upper() for path in paths})
    assert sorted(item.path for item in iter_nav(nav) if item.path is not None) == sorted(paths)
    assert [(item.path, [child.path for child in item.children]) for item in nav] == [
        ("", []),
        ("api", []),
        ("api/", [None]),
        ("guide.html", ["guide/start.html"]),
    ]


def test_nav_follows_folders_without_sidebar(site: Path) -> None:
    (site / "index.html").write_text(HOME.format(nav=""))
    manifest = index_to_manifest(site)
    assert manifest.nav_source == "folders"
    assert [(entry.title, entry.page, [child.page for child in entry.children]) for entry in manifest.nav] == [
        ("Home", "", []),
        ("Guide", "guide/", []),
        ("Deep", None, ["deep/one.html"]),
    ]


def test_canonical_link_names_another_page_or_spells_the_path(site: Path) -> None:
    """A host may serve `one.html` as `one`."""
    link = '<link rel="canonical" href="{}"><title>'
    copy, one = (GUIDE.replace("<title>", link.format(f"{URL}{path}")) for path in ("guide/", "deep/one"))
    write(site, {"copy.html": copy, "deep/one.html": one})
    assert [page.path for page in index_to_manifest(site).pages] == ["", "guide/", "deep/one"]
    assert b"data-roaming" in (site / "deep/one.html").read_bytes()


def find_element_urls(html: str) -> set[str]:
    """Return the URLs of all elements that a build has added to a page, also those that scripts read."""
    elements = [one for own in lxml_html.fromstring(html).xpath("//*[@data-roaming]") for one in own.iter("*")]
    names = ("href", "src", "data-manifest")
    urls = {element.get(name) for element in elements for name in names if element.get(name)}
    for menu in (json.loads(element.get("data-menu")) for element in elements if element.get("data-menu")):
        urls |= {menu["file"], *(item["href"] for item in menu["items"] if "href" in item)}
    return {url for url in urls if not url.startswith("https:")}


@pytest.mark.parametrize(
    ("file", "canonical", "addresses", "is_relative"),
    [
        ("deep/two/index.html", "deep/two", ["deep/two", "deep/two/", "deep/two/index.html"], False),
        ("two/index.html", "two", ["two", "two/", "two/index.html"], False),
        ("deep/two/index.html", "deep/two.html", ["deep/two.html", "deep/two/"], False),
        ("deep/two.html", "deep/two/", ["deep/two/", "deep/two.html"], False),
        ("größe 1/index.html", "gr%C3%B6%C3%9Fe%201", ["gr%C3%B6%C3%9Fe%201", "gr%C3%B6%C3%9Fe%201/"], False),
        ("deep/two.html", "deep/two", ["deep/two", "deep/two.html"], True),
        ("deep/two/index.html", "deep/two/", ["deep/two/", "deep/two/index.html"], True),
    ],
)
def test_elements_of_a_page_lead_to_files_from_each_of_its_addresses(
    site: Path, file: str, canonical: str, addresses: list[str], is_relative: bool
) -> None:
    """Hosts serve `two/index.html` as `two/`, and some as `two`; generators name either as the address."""
    write(site, {file: GUIDE.replace("<title>", f'<link rel="canonical" href="{URL}{canonical}"><title>')})
    manifest = index_to_manifest(site, widget=True, page_menu=True)
    assert unquote(canonical) in [page.path for page in manifest.pages]
    urls = find_element_urls((site / file).read_text("utf-8"))
    assert len(urls) >= 6
    for url in (urljoin(URL + address, url) for address in addresses for url in urls):
        assert url.startswith(URL)
        assert (site / unquote(url.removeprefix(URL))).is_file(), url
    assert {url.startswith("/v2/") for url in urls} == {not is_relative}


@pytest.mark.parametrize(
    ("asset", "is_relative"),
    [
        ('<link rel="stylesheet" href="/v2/assets/a.css">', False),
        ("<link href=/v2/assets/a.css rel=stylesheet>", False),
        ('<script type="module" src="/v2/assets/a.js"></script>', False),
        ('<link rel="stylesheet" href="../assets/a.css">', True),
        ('<link rel="icon" href="/v2/a.png">', True),
        ('<script src="/other/a.js"></script>', True),
        ('<script src="//cdn.example/v2/a.js"></script>', True),
    ],
)
def test_elements_have_absolute_paths_if_the_page_itself_works_at_other_addresses(
    site: Path, asset: str, is_relative: bool
) -> None:
    (site / "guide/index.html").write_text(GUIDE.replace("<title>", f"{asset}<title>"))
    index_to_manifest(site, widget=True, page_menu=True)
    index_to_manifest(site, widget=True, page_menu=True)  # own elements of the first build do not count
    urls = find_element_urls((site / "guide/index.html").read_text("utf-8"))
    assert {url.startswith("/v2/") for url in urls} == {not is_relative}


def test_page_in_declared_encoding_is_decoded_and_its_bytes_are_kept(site: Path) -> None:
    html = GUIDE.replace("utf-8", "iso-8859-1").replace("Read it.", "Grüße aus Köln, schöne Grüße.")
    (site / "guide/index.html").write_bytes(html.encode("iso-8859-1"))
    index_to_manifest(site)
    assert "Grüße aus Köln" in (site / "guide/index.md").read_text("utf-8")
    assert "Köln".encode("iso-8859-1") in (site / "guide/index.html").read_bytes()


def test_decode_text_ignores_a_wrong_declaration_and_reads_western_text_as_browsers_do() -> None:
    for encoding in ("latin-1", "utf-8", "utf-8-sig"):
        page = "<meta charset=iso-8859-1><main>Öl</main>"
        assert decode_text(page.encode(encoding)) == page, encoding
    for head in ("", '<meta charset="utf-8">', "<meta charset=windows-1252>"):
        page = f"{head}<main>Déclaré au Café – à l’été, naïf, il coûte</main>"
        assert decode_text(page.encode("windows-1252")) == page, head


def test_index_site_raises_errors_that_name_the_fix(site: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    empty = tmp_path_factory.mktemp("empty")
    with pytest.raises(UsageError, match="no such folder; build the site first"):
        index_to_manifest(empty / "nowhere")
    with pytest.raises(
        UsageError, match="contains no HTML; build the site, then name the folder that the build writes"
    ):
        index_to_manifest(empty)
    (empty / "mkdocs.yml").write_text("site_name: x")
    with pytest.raises(UsageError, match=r"mkdocs\.yml: is a file; build the site, then name the folder"):
        index_to_manifest(empty / "mkdocs.yml")
    shutil.copytree(site, empty / "one")
    shutil.copytree(site, empty / "two")
    with pytest.raises(UsageError, match=f"contains no index.html; name the folder of one site, such as {empty}/one$"):
        index_to_manifest(empty)
    with pytest.raises(PublishError, match="no page to publish"):
        index_to_manifest(site, exclude=("*",))
    for url in ("docs.example", "http://[/", "https://docs.example/\udce9/"):
        with pytest.raises(UsageError, match="not an http"):
            index_to_manifest(site, url=url)
    assert index_to_manifest(site, url="https://other.example/x").site.url == "https://other.example/x/"


ZENSICAL = """\
[project]
site_name = "Harbour"
site_url = "https://docs.example/v2/"
nav = [{ "Start" = "index.md" }, { "More" = ["guide.md", { "Tides" = "https://tides.example/" }] }]
[project.plugins.roaming]
exclude = ["deep/**"]
"""


@pytest.fixture
def project(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project with the built site in `site`, and enter it."""
    folder = tmp_path / "project"
    shutil.copytree(site, folder / "site", ignore=shutil.ignore_patterns("project"))
    guide = (
        "---\ntitle: Of pumps\ndescription: Own words.\ntags: [pumps]\nquestions: [How wet?]\nask: false\n"
        "roaming: {rules: [{when: {any: [tide]}}]}\n---\n\n# Guide\n"
    )
    write(folder, {"zensical.toml": ZENSICAL, "docs/index.md": "# Home\n", "docs/guide.md": guide})
    monkeypatch.chdir(folder)
    return folder


def index_project(folder: Path, **options: object) -> Manifest:
    found = find_project(folder / "site", warn=print)
    index_site(folder / "site", IndexOptions(project=found, publish=found.parse_options(options)), warn=print)
    return load_manifest((folder / "site/roaming/manifest.json").read_bytes())


def test_configuration_and_sources_complete_the_html(project: Path) -> None:
    manifest = index_project(project, widget=True)
    assert (manifest.site.name, manifest.site.url, manifest.nav_source) == ("Harbour", URL, "config")
    assert [(entry.title, entry.page, entry.url) for entry in (manifest.nav[0], *manifest.nav[1].children)] == [
        ("Start", "", None),
        ("Of pumps", "guide/", None),
        ("Tides", None, "https://tides.example/"),
    ]
    home, guide = manifest.pages
    assert (home.title, home.source) == ("Home", "index.md")
    assert (guide.title, guide.description, guide.tags) == ("Guide", "Own words.", ("pumps",))
    assert manifest.rules[0].open == (guide.id,)
    assert "<roaming-ask" in (project / "site/index.html").read_text()
    assert "<roaming-ask" not in (project / "site/guide/index.html").read_text()
    assert index_project(project).pages[1].questions == guide.questions == ("How wet?",)


def test_front_matter_excludes_pages_also_those_with_other_addresses(project: Path) -> None:
    (project / "docs/guide.md").rename(project / "docs/moved.md")
    assert index_project(project).pages[1].source is None, "another title"
    (project / "docs/moved.md").write_text("---\nllms: false\n---\n\n# Guide\n", "utf-8")
    assert [page.path for page in index_project(project).pages] == [""]
    assert not (project / "site/guide/index.md").exists()


def test_index_site_fails_if_a_page_with_rules_is_excluded(project: Path) -> None:
    with pytest.raises(PublishError, match=r"guide\.md, rule 1: the rule is on a page that is not published"):
        index_project(project, exclude=["guide.md"])


def test_index_site_fails_if_an_excluded_source_could_be_one_of_the_pages(project: Path) -> None:
    index_project(project)
    before = read_files(project / "site")
    (project / "docs/guide.md").rename(project / "docs/moved.md")
    (project / "docs/moved.md").write_text("---\nllms: false\n---\n\n# Another title\n", "utf-8")
    with pytest.raises(PublishError, match=r"moved\.md: its front matter says `llms: false`.* such as guide/\. Add"):
        index_project(project)
    assert read_files(project / "site") == before
    config = project / "zensical.toml"
    config.write_text(config.read_text("utf-8").replace('"deep/**"', '"deep/**", "guide/", "moved.md"'), "utf-8")
    assert [page.path for page in index_project(project).pages] == [""]


def test_index_site_fails_if_the_text_of_an_excluded_source_is_on_a_page_of_unknown_source(project: Path) -> None:
    post = "# Not the title\n\nThe *winter* sluice opens at [noon](https://a.example/very/long/address/of/some/page).\n"
    page = (project / "site/guide/index.html").read_text("utf-8")
    text = "The <em>winter</em> sluice opens at <a href='/'>noon</a>. Not the title"
    html = page.replace("Read it.", text).replace("/guide/", "/2026/winter/")
    write(project, {"docs/posts/winter.md": post, "site/2026/winter/index.html": html})
    before = read_files(project / "site")
    with pytest.raises(PublishError) as caught:
        index_project(project, exclude=["posts/"])
    assert str(caught.value) == (
        "posts/winter.md: excluded by `posts/`, but its text is on a page with another address, 2026/winter/, whose "
        "source is not known. Add `/2026/winter/` to `exclude`, or `!/2026/winter/` to publish it"
    )
    assert read_files(project / "site") == before
    paths = [
        [page.path for page in index_project(project, exclude=["posts/", own]).pages]
        for own in ("/2026/winter/", "!/2026/winter/")
    ]
    assert ["2026/winter/" in found for found in paths] == [False, True]
    assert "guide/" in paths[0]


def test_excluded_source_without_page_is_no_error_if_all_sources_are_known(project: Path) -> None:
    (project / "docs/draft.md").write_text("---\nllms: false\n---\n\n# Draft\n", "utf-8")
    assert [page.path for page in index_project(project).pages] == ["", "guide/"]
