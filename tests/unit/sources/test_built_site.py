"""Any built site can be indexed: pages, nav and addresses are found out from what the build left."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mkdocs_roaming.errors import PublishError, UsageError
from mkdocs_roaming.library.library import open_library
from mkdocs_roaming.library.validate import validate_site
from mkdocs_roaming.manifest.io import load_manifest
from mkdocs_roaming.manifest.models import Manifest
from mkdocs_roaming.sources.built_site import IndexOptions, decode_page, index_site

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


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A built site of three pages, with a theme's sidebar."""
    for path, html in (
        ("index.html", HOME.format(nav=NAV)),
        ("guide/index.html", GUIDE),
        ("deep/one.html", GUIDE.replace("Guide", "One")),
        ("404.html", GUIDE),
        ("search.html", GUIDE),
        ("_static/x.html", GUIDE),
        ("old/index.html", HEAD.format(title="x", head='<meta http-equiv="refresh" content="0; url=../">') + "</html>"),
        ("theme/main.html", '{% extends "base.html" %}'),
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(html, "utf-8")
    return tmp_path


def indexed(folder: Path, **how: object) -> Manifest:
    index_site(folder, IndexOptions(**how), warn=print)
    return load_manifest((folder / "roaming/manifest.json").read_bytes())


def tree(folder: Path) -> dict[str, bytes]:
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_a_built_site_is_published_in_place(site: Path) -> None:
    """Pages are found; redirects, templates, 404, search and static files are left out; all of it holds together."""
    manifest = indexed(site)
    assert [page.path for page in manifest.pages] == ["", "guide/", "deep/one.html"]
    assert (manifest.site.url, manifest.site.name, manifest.site.language) == (URL, "Docs", "de")
    assert validate_site(open_library(site)).faults == ()
    assert f"[the guide]({URL}guide/index.md)" in (site / "index.md").read_text()
    assert (site / "deep/one.md").exists()


def test_the_sidebar_becomes_the_nav(site: Path) -> None:
    """Captions are groups, nested lists are inner groups, links within a page are no pages."""
    manifest = indexed(site)
    assert manifest.nav_source == "sidebar"
    start, more = manifest.nav
    assert (start.title, [child.page for child in start.children]) == ("Start", [""])
    guide, deep = more.children
    assert (guide.title, guide.page, guide.children) == ("The guide", "guide/", ())
    assert (deep.title, [child.page for child in deep.children]) == ("Deep", ["deep/one.html"])


def test_navs_that_show_the_readers_branch_are_put_together(site: Path) -> None:
    """Where each page opens its own group only, the nav is that of all pages, in the order of the groups."""
    bar = (
        '<ul class="theme-doc-sidebar-menu"><li><a href="/v2/">Home</a></li>'
        '<li><a role="button" href="/v2/guide/">Guide</a>{guide}</li>'
        '<li><a role="button" href="/v2/deep/one.html">Deep</a>{deep}</li></ul>'
    )
    guide, deep = (
        '<ul><li><a href="/v2/guide/">Begin</a></li></ul>',
        '<ul><li><a href="/v2/deep/one.html">One</a></li></ul>',
    )
    for path, html, groups in (
        ("index.html", HOME.replace('<nav class="wy-menu-vertical">{nav}</nav>', "{nav}"), {"guide": "", "deep": ""}),
        ("guide/index.html", GUIDE.replace("<body>", "<body>{nav}"), {"guide": guide, "deep": ""}),
        ("deep/one.html", GUIDE.replace("<body>", "<body>{nav}"), {"guide": "", "deep": deep}),
    ):
        (site / path).write_text(html.replace("{nav}", bar.format(**groups)))
    nav = indexed(site).nav
    assert [(entry.title, entry.page, [(child.title, child.page) for child in entry.children]) for entry in nav] == [
        ("Home", "", []),
        ("Guide", None, [("Begin", "guide/")]),
        ("Deep", None, [("One", "deep/one.html")]),
    ]


def test_branches_are_looked_for_beyond_the_first_pages(site: Path) -> None:
    """A page that only its own sidebar names is found in a site of many pages."""
    listed = "".join(f'<li><a href="{URL}a/{at}.html">A {at}</a></li>' for at in range(40))
    own = "".join(f'<li><a href="{URL}z/{name}.html">Z {name}</a></li>' for name in ("one", "two"))
    own = f"<li>Late<ul>{own}</ul></li>"
    pages = {f"a/{at}.html": listed for at in range(40)} | {"z/one.html": listed + own, "z/two.html": listed + own}
    for path, bar in pages.items():
        (site / path).parent.mkdir(exist_ok=True)
        (site / path).write_text(GUIDE.replace("<body>", f'<body><div class="wy-menu-vertical"><ul>{bar}</ul></div>'))
    nav = indexed(site, exclude=("guide/", "deep/*")).nav
    assert [entry.title for entry in nav] == ["Home", *(f"A {at}" for at in range(40)), "Late"]
    assert [child.title for child in nav[-1].children] == ["Z one", "Z two"]


def test_a_home_page_that_the_sidebar_does_not_name_comes_first(site: Path) -> None:
    """Themes link to the home page by their logo; it is no leftover."""
    nav = '<ul><li><a href="guide/">The guide</a></li><li><a href="deep/one.html">One</a></li></ul>'
    (site / "index.html").write_text(HOME.format(nav=nav))
    assert [entry.title for entry in indexed(site).nav] == ["Home", "The guide", "One"]


def test_other_languages_are_sites_of_their_own(site: Path) -> None:
    """A folder in another language is left out with a warning that says how to publish it; `deep/` and `it/` stay."""
    english = GUIDE.replace('lang="de"', 'lang="en-GB"')
    for path in ("en/index.html", "en/guide/index.html", "deep/index.html", "it/index.html"):
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_text(english)
    warnings: list[str] = []
    index_site(site, IndexOptions(), warn=warnings.append)
    paths = [page.path for page in load_manifest((site / "roaming/manifest.json").read_bytes()).pages]
    assert sorted(paths) == ["", "deep/", "deep/one.html", "guide/", "it/"]
    assert warnings == [
        "en/: 2 pages in another language (en-GB) are left out; publish them as a site of their own: "
        f"roaming index {site}/en --url {URL}en/"
    ]
    inner = indexed(site / "en", url=f"{URL}en/")
    assert ([page.path for page in inner.pages], inner.site.language) == (["", "guide/"], "en-GB")


def test_what_stands_beside_a_post_is_no_nav(site: Path) -> None:
    """Material's posts have related links where other pages have the nav."""
    nav = '<nav class="md-nav--primary"><ul><li><a href="{}">{}</a></li><li><a href="{}">{}</a></li></ul></nav>'
    (site / "index.html").write_text(
        HOME.format(nav="").replace("<body>", "<body>" + nav.format("", "A", "guide/", "B"))
    )
    related = (
        '<div class="md-sidebar md-sidebar--post">' + nav.format("../guide/", "X", "one.html", "Related") + "</div>"
    )
    (site / "deep/one.html").write_text(GUIDE.replace("<body>", "<body>" + related))
    assert [(entry.title, entry.page) for entry in indexed(site).nav][:2] == [("A", ""), ("B", "guide/")]
    assert indexed(site).nav[2].title == "More"


def test_the_sitemap_tells_the_address(site: Path) -> None:
    """Without a canonical link the home page's address in sitemap.xml is taken, if all others begin with it."""
    (site / "index.html").write_text(HOME.format(nav="").replace(f'<link rel="canonical" href="{URL}">', ""))
    sitemap = "<urlset><url><loc>{}guide/</loc></url><url><loc> {}</loc></url></urlset>"
    (site / "sitemap.xml").write_text(sitemap.format(URL, URL))
    assert indexed(site).site.url == URL
    shutil.rmtree(site / "roaming")
    (site / "sitemap.xml").write_text(sitemap.format(URL, "https://elsewhere.example/"))
    with pytest.raises(UsageError, match="neither home page nor sitemap"):
        indexed(site)


def test_a_description_that_every_page_has_is_the_sites(site: Path) -> None:
    """Generators write the site's description on pages without one; only a page's own is published as the page's."""
    texts = {"index.html": "All of it.", "guide/index.html": "All of it.", "deep/one.html": "One alone."}
    for path, text in texts.items():
        html = (site / path).read_text()
        (site / path).write_text(html.replace("<title>", f'<meta name="description" content="{text}"><title>'))
    manifest = indexed(site)
    assert manifest.site.description == "All of it."
    assert {page.path: page.description for page in manifest.pages} == {
        "": "",
        "guide/": "",
        "deep/one.html": "One alone.",
    }


def test_titles_lose_the_sites_name_alone(site: Path) -> None:
    """A dash within a title stays; what comes after the last one is the site's."""
    one = (
        GUIDE.replace("<title>Guide - Docs", "<title>1 - First | part — Docs")
        .replace("<h1", "<p")
        .replace("</h1", "</p")
    )
    (site / "deep/one.html").write_text(one)
    assert indexed(site).pages[-1].title == "1 - First | part"


def test_pages_about_searching_are_pages(site: Path) -> None:
    """Only the generator's own search, print and index pages are left out."""
    for path in (
        "guide/search.html",
        "genindex-A.html",
        "py-modindex/index.html",
        "v1/genindex.html",
        "_modules/x.html",
    ):
        (site / path).parent.mkdir(exist_ok=True)
        (site / path).write_text(GUIDE)
    assert [page.path for page in indexed(site).pages] == ["", "guide/", "deep/one.html", "guide/search.html"]


def test_indexing_twice_changes_nothing(site: Path) -> None:
    """The second run leaves every byte as the first one left it."""
    indexed(site)
    first = tree(site)
    indexed(site)
    assert tree(site) == first
    assert first["guide/index.html"].count(b"data-roaming") == 3


def test_html_can_be_left_alone(site: Path) -> None:
    """With `--no-html` no page of the build is touched."""
    before = tree(site)
    indexed(site, html=False)
    assert {path: data for path, data in tree(site).items() if path in before} == before


def test_folders_make_the_nav_where_nothing_else_does(site: Path) -> None:
    """Without a sidebar and llms.txt, the nav follows the folders."""
    (site / "index.html").write_text(HOME.format(nav=""))
    manifest = indexed(site)
    assert manifest.nav_source == "folders"
    assert [(entry.title, entry.page, [child.page for child in entry.children]) for entry in manifest.nav] == [
        ("Home", "", []),
        ("Guide", "guide/", []),
        ("Deep", None, ["deep/one.html"]),
    ]


def test_a_foreign_llms_txt_gives_the_nav_and_goes_on_giving_it(site: Path) -> None:
    """Groups of an llms.txt that was there are kept, also when ours has replaced it."""
    (site / "llms.txt").write_text(f"# X\n\n## First\n\n- [The guide]({URL}guide/index.md): x\n- [One](deep/one.md)\n")
    for _ in range(2):
        manifest = indexed(site)
        assert manifest.nav_source == "llms.txt"
        assert [child.page for child in manifest.nav[0].children] == ["guide/", "deep/one.html"]
        assert manifest.nav[1].title == "More"


def test_a_page_that_is_another_ones_copy_is_left_out(site: Path) -> None:
    """A page whose canonical link names another page is not published twice."""
    copy = GUIDE.replace("<title>", f'<link rel="canonical" href="{URL}guide/"><title>')
    (site / "copy.html").write_text(copy)
    assert "copy.html" not in [page.path for page in indexed(site).pages]


def test_addresses_without_html_are_taken_from_the_canonical_link(site: Path) -> None:
    """Where a host serves `one.html` as `one`, the path is `one`."""
    (site / "deep/one.html").write_text(GUIDE.replace("<title>", f'<link rel="canonical" href="{URL}deep/one"><title>'))
    manifest = indexed(site)
    assert "deep/one" in [page.path for page in manifest.pages]
    assert b"data-roaming" in (site / "deep/one.html").read_bytes()


def test_include_and_exclude_choose_pages(site: Path) -> None:
    """Globs over paths choose what is published."""
    assert [page.path for page in indexed(site, exclude=("deep/*",)).pages] == ["", "guide/"]
    assert [page.path for page in indexed(site, include=("deep/*",)).pages] == ["deep/one.html"]


def test_old_encodings_are_read(site: Path) -> None:
    """A page in another encoding is read as it says, and its bytes stay as they are."""
    html = GUIDE.replace("utf-8", "iso-8859-1").replace("Read it.", "Grüße aus Köln, schöne Grüße.")
    (site / "guide/index.html").write_bytes(html.encode("iso-8859-1"))
    indexed(site)
    assert "Grüße aus Köln" in (site / "guide/index.md").read_text("utf-8")
    assert "Köln".encode("iso-8859-1") in (site / "guide/index.html").read_bytes()


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8", "utf-8-sig"])
def test_decode_page_ignores_a_wrong_declaration_of_utf8(encoding: str) -> None:
    assert decode_page("<meta charset=iso-8859-1><main>Öl</main>".encode(encoding)).endswith("<main>Öl</main>")


def test_what_cannot_be_indexed_is_said_in_one_line(site: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No folder, a file, no HTML, several sites, no address, nothing left: each names its cure."""
    empty = tmp_path_factory.mktemp("empty")
    with pytest.raises(UsageError, match="no such folder; build the site first"):
        indexed(empty / "nowhere")
    with pytest.raises(UsageError, match="no HTML in it; build the site, then name the folder that the build writes"):
        indexed(empty)
    (empty / "mkdocs.yml").write_text("site_name: x")
    with pytest.raises(UsageError, match=r"mkdocs\.yml: a file; build the site, then name the folder"):
        indexed(empty / "mkdocs.yml")
    for name in ("one", "two"):
        shutil.copytree(site, empty / name)
    with pytest.raises(UsageError, match=f"no index.html in it; name the folder of one site, such as {empty}/one$"):
        indexed(empty)
    with pytest.raises(PublishError, match="no page to publish"):
        indexed(site, exclude=("*",))
    (site / "index.html").write_text(HOME.format(nav="").replace(URL, ""))
    with pytest.raises(UsageError, match="--url"):
        indexed(site)
    with pytest.raises(UsageError, match="not an http"):
        indexed(site, url="docs.example")
    assert indexed(site, url="https://other.example/x").site.url == "https://other.example/x/"


def test_the_nav_of_an_earlier_build_is_kept(site: Path) -> None:
    """A site that the MkDocs plugin published keeps its nav when it is indexed again."""
    from msgspec.structs import replace

    from mkdocs_roaming.manifest.io import dump_manifest
    from mkdocs_roaming.manifest.models import NavEntry

    manifest = indexed(site)
    nav = (NavEntry("Mine", "00000000", children=(NavEntry("One", page="deep/one.html"),)),)
    (site / "roaming/manifest.json").write_text(dump_manifest(replace(manifest, nav=nav, nav_source="mkdocs")))
    again = indexed(site)
    assert (again.nav_source, again.nav[0].title, again.nav[1].title) == ("mkdocs", "Mine", "More")


def test_a_moved_site_has_no_leftovers(site: Path) -> None:
    """A page that is gone from the build is gone from what is published."""
    indexed(site)
    shutil.rmtree(site / "deep")
    indexed(site)
    assert not (site / "deep/one.md").exists()
    assert validate_site(open_library(site)).faults == ()
