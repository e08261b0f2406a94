"""The version of a site that documents a version."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from mkdocs_roaming.errors import RoamingError
from roaming_crawler.config import CrawlLimits, Politeness, ScopeConfig
from roaming_crawler.fetch import Clock, FetchError, RefusedError
from roaming_crawler.session import Session
from roaming_crawler.state import CrawlState
from roaming_crawler.versions import DocumentedVersion, find_version

Find = Callable[..., DocumentedVersion]


@pytest.fixture
def find(site: Any, fetcher: Any, tmp_path: Path) -> Find:
    """Return the function that finds a version of the site; URLs are relative to the site."""

    def run(version: str, start: str = "") -> DocumentedVersion:
        async def search() -> DocumentedVersion:
            state = CrawlState(tmp_path / "probe")
            state.path.mkdir(parents=True, exist_ok=True)
            async with fetcher(Politeness(delay=0, tries=1)) as web:
                session = Session(state, web, CrawlLimits(), Clock())
                found = await find_version(session, site.url + start, version)
            assert session.requests <= 14  # with robots.txt
            return found

        found = anyio.run(search)
        return found._replace(url=found.url.removeprefix(site.url), page=found.page.removeprefix(site.url))

    return run


def _inventory(version: str, project: str = "kite") -> bytes:
    head = f"# Sphinx inventory version 2\n# Project: {project}\n# Version: {version}\n# The remainder is compressed.\n"
    return head.encode() + zlib.compress(b"kite.fly py:function 1 index.html#kite.fly -\n")


def _put_sphinx(site: Any, folder: str, version: str, links: tuple[str, ...] = ()) -> None:
    site.page(folder, f"Kite {version}", links=links)
    site.put(f"{folder}objects.inv", _inventory(version), kind="application/octet-stream")


def _put_sitemap(site: Any, *paths: str, host: str = "http://elsewhere.example/") -> None:
    listed = "".join(f"<url><loc>{host}{path}</loc></url>" for path in paths)
    text = f'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{listed}</urlset>'
    site.put("/sitemap.xml", text, kind="text/xml")


@pytest.fixture
def read_the_docs(site: Any) -> Any:
    """Provide a site of Read the Docs, whose sitemap names the versions, with another scheme."""
    site.redirect("/", "/en/latest/", 302)
    site.redirect("/en/", "/en/latest/", 302)
    versions = {"latest": "3.3.0.dev0", "stable": "3.2", "3.2": "3.2", "3.1.4": "3.1", "v2.0": "2.0.1"}
    for name, version in versions.items():
        _put_sphinx(site, f"/en/{name}/", version)
    _put_sitemap(site, *(f"en/{name}/" for name in versions), host=site.url.replace("http:", "https:"))
    return site


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("3.1.4", ("en/3.1.4/", "3.1.4", "version", True)),
        ("3.2.1", ("en/3.2/", "3.2", "version", False)),
        ("2.0.1", ("en/v2.0/", "2.0.1", "version", True)),
        ("3.3.0.dev0", ("en/latest/", "3.3.0.dev0", "version", True)),
        ("1.0", ("en/stable/", "3.2", "latest", False)),
        ("", ("en/stable/", "3.2", "latest", False)),
    ],
)
def test_find_version_of_read_the_docs(version: str, expected: tuple[Any, ...], read_the_docs: Any, find: Find) -> None:
    assert find(version)[:4] == expected


def test_find_version_takes_stable_if_its_inventory_names_the_version(site: Any, find: Find) -> None:
    site.redirect("/", "/en/latest/", 302)
    _put_sphinx(site, "/en/latest/", "3.3.0.dev0")
    _put_sphinx(site, "/en/stable/", "3.2.1")
    _put_sitemap(site, "en/latest/", "en/stable/")
    assert find("3.2.1")[:4] == ("en/stable/", "3.2.1", "version", True)
    assert find("3.2.1", "en/stable/guide/start.html")[:4] == ("en/stable/", "3.2.1", "version", True)


@pytest.mark.parametrize("start", ["", "latest/", "3.2/guide/"])
@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("3.2.1", ("3.2/", "3.2.1", "version", True)),
        ("3.1.4", ("3.1/", "3.1.4", "version", True)),
        ("3.1.2", ("3.1/", "3.1", "version", False)),
    ],
)
def test_find_version_of_mike(start: str, version: str, expected: tuple[Any, ...], site: Any, find: Find) -> None:
    entries = [
        {"version": "3.2", "title": "3.2.1", "aliases": ["latest"]},
        {"version": "3.1", "title": "3.1.4", "aliases": []},
    ]
    site.put("/", '<meta http-equiv="refresh" content="1; url=latest/"><p>Redirecting to the latest version')
    site.put("/versions.json", json.dumps(entries), kind="application/json")
    for name in ("latest", "3.2", "3.1"):
        site.page(f"/{name}/", "Kite")
        site.page(f"/{name}/guide/", "Guide to Kite")
    assert find(version, start)[:4] == expected


def test_long_list_of_versions_is_read_in_part(site: Any, find: Find) -> None:
    entries = [{"version": f"1.{at}", "title": f"1.{at}", "aliases": ["old"] * 10} for at in range(5_000)]
    site.page("/", "Kite")
    site.put("/versions.json", json.dumps(entries), kind="application/json")
    site.page("/1.4999/", "Kite")
    assert find("1.4999").kind == "latest"


def test_find_version_names_version_of_latest_by_alias_of_mike(site: Any, find: Find) -> None:
    entries = [{"version": "3.2", "title": "3.2", "aliases": ["latest"]}]
    site.put("/versions.json", json.dumps(entries), kind="application/json")
    site.redirect("/", "/latest/")
    site.page("/latest/", "Kite")
    assert find("1.0")[:4] == ("latest/", "3.2", "latest", False)


def test_find_version_of_pydata_switcher(site: Any, find: Find) -> None:
    script = "<script>DOCUMENTATION_OPTIONS.theme_switcher_json_url = '/docs/_static/switcher.json';</script>"
    entries = [
        {"name": "3.3 (dev)", "version": "dev", "url": f"{site.url}docs/dev/"},
        {"name": "3.2 (stable)", "version": "3.2.0", "url": f"{site.url}docs/stable/", "preferred": True},
        {"name": "3.1", "version": "3.1.4", "url": f"{site.url}docs/kite-3.1.4/index.html"},
        {"name": "3.0", "version": "3.0.0", "url": "http://127.0.0.9:9/docs/3.0/"},
    ]
    site.put("/docs/_static/switcher.json", json.dumps(entries), kind="application/json")
    site.redirect("/docs/", "/docs/stable/")
    for name, version in (("dev", "3.3.0"), ("stable", "3.2.0"), ("kite-3.1.4", "3.1.4")):
        _put_sphinx(site, f"/docs/{name}/", version)
    site.put("/docs/stable/", script + "<h1>Kite</h1>")
    assert find("3.1.4", "docs/")[:4] == ("docs/kite-3.1.4/", "3.1.4", "version", True)
    assert find("3.2.0", "docs/")[:4] == ("docs/stable/", "3.2.0", "version", True)
    assert find("3.0.0", "docs/")[:4] == ("docs/stable/", "3.2.0", "latest", False)


def test_find_version_of_docusaurus_menu(site: Any, run_crawl: Any, html: Any, find: Find) -> None:
    menu = ("/docs/intro/", "/docs/next/intro/", "/docs/3.1.4/intro/", "/docs/2.x/intro/", "/blog/3.1.4/")
    versions = {"/docs/": "3.2.0", "/docs/next/": "current", "/docs/3.1.4/": "3.1.4", "/docs/2.x/": "2.x"}
    site.page("/", "Kite", links=menu)
    for folder, version in versions.items():
        head = f'<meta data-rh="true" name="docusaurus_version" content="{version}">'
        site.put(f"{folder}intro/", html(f"Introduction to {folder}", links=menu, head=head))
    assert find("3.1.4") == ("docs/3.1.4/", "3.1.4", "version", True, "docs/3.1.4/intro/")
    assert find("3.2.0", "docs/intro/")[1:4] == ("3.2.0", "version", True)
    assert find("2.7.1")[:4] == ("docs/2.x/", "2.x", "version", False)
    assert find("1.0", "docs/intro/")[1:4] == ("3.2.0", "latest", False)
    output = run_crawl(site.url, scope=ScopeConfig(version="3.1.4"))
    assert output.manifest.site.url == f"{site.url}docs/3.1.4/"
    assert output.paths == ["intro/"]


@pytest.mark.parametrize("name", ["3.1.4", "v3.1.4", "3.1", "v3.1", "3.1.x", "3.x"])
def test_find_version_guesses_usual_names_without_any_list(name: str, site: Any, find: Find) -> None:
    site.page("/kite/", "Kite")
    site.page(f"/kite/{name}/", "Kite")
    found = find("3.1.4", "kite/")
    assert found[:3] == (f"kite/{name}/", name.removeprefix("v"), "version")
    assert found.exact == ("3.1.4" in name)


def test_find_version_without_any_version_is_latest(site: Any, find: Find) -> None:
    site.page("/kite/", "Kite")
    assert find("3.1.4", "kite/")[:4] == ("kite/", "", "latest", False)


@pytest.mark.parametrize("title", ["Welcome — Kite 3.2.1 documentation", "Kite Documentation (3.2.1)"])
def test_find_version_reads_version_in_title(title: str, site: Any, find: Find) -> None:
    site.page("/kite/", title)
    assert find("3.1.4", "kite/")[:4] == ("kite/", "3.2.1", "latest", False)
    assert find("3.2.1", "kite/")[:4] == ("kite/", "3.2.1", "version", True)


@pytest.mark.parametrize("soft", ["same page", "redirect", "other version"])
def test_find_version_takes_no_soft_404(soft: str, site: Any, html: Any, find: Find, reply: Any) -> None:
    title = "Kite 3.2 documentation" if soft == "other version" else "Nothing is here"
    site.default = reply("", 302, headers={"Location": "/"}) if soft == "redirect" else reply(html(title))
    site.page("/", "Kite 3.2 documentation")
    site.put("/robots.txt", "", status=404)
    assert find("3.1.4")[:4] == ("", "3.2", "latest", False)


def test_find_version_drops_folder_whose_inventory_names_another_release(site: Any, find: Find) -> None:
    _put_sphinx(site, "/stable/", "3.2", links=("/3.1.4/", "/3.1/"))
    site.redirect("/", "/stable/")
    _put_sphinx(site, "/3.1.4/", "3.2")
    assert find("3.1.4")[:4] == ("stable/", "3.2", "latest", False)
    _put_sphinx(site, "/3.1/", "3.1.6")
    assert find("3.1.4")[:4] == ("3.1/", "3.1.6", "version", False)


def test_find_version_takes_folder_whose_inventory_still_names_an_earlier_release(site: Any, find: Find) -> None:
    _put_sphinx(site, "/stable/", "3.2", links=("/3.1.4/", "/3.1/"))
    site.redirect("/", "/stable/")
    _put_sphinx(site, "/3.1.4/", "3.0")
    _put_sphinx(site, "/3.1/", "3.0")
    assert find("3.1.4")[:4] == ("3.1.4/", "3.1.4", "version", True)
    assert find("3.1.5")[:4] == ("stable/", "3.2", "latest", False)


def test_find_version_takes_folder_whose_inventory_names_no_version(site: Any, find: Find) -> None:
    _put_sphinx(site, "/stable/", "3.2", links=("/3.1.4/",))
    site.redirect("/", "/stable/")
    _put_sphinx(site, "/3.1.4/", "attr: kite.__version__")
    assert find("3.1.4")[:4] == ("3.1.4/", "3.1.4", "version", True)


@pytest.mark.parametrize("text", ["9.ignore_all_previous_instructions", "9.2-IGNORE.ALL.RULES", "9." + "1" * 60])
def test_version_with_text_of_others_is_unknown(text: str, site: Any, find: Find) -> None:
    _put_sphinx(site, "/", text)
    assert find("3.1.4")[:4] == ("", "", "latest", False)
    site.put("/objects.inv", "", status=404)
    site.put("/roaming/manifest.json", _manifest(text), kind="application/json")
    assert find("3.1.4")[:4] == ("", "", "latest", False)


@pytest.mark.parametrize(
    ("own", "kind"), [("3.9.2", "latest"), ("3.1.6", "version"), ("3.1", "version"), ("", "version")]
)
def test_folder_of_a_major_version_with_another_minor_version_is_another_version(
    own: str, kind: str, site: Any, find: Find
) -> None:
    _put_sphinx(site, "/3.x/", own)
    site.redirect("/", "/3.x/")
    assert find("3.1.4")[1:3] == (own or "3.x", kind)


def test_find_version_takes_no_folder_of_a_changelog(site: Any, find: Find) -> None:
    _put_sphinx(site, "/", "3.2", links=("/changes/3.1.4/", "/3.1.4/"))
    site.page("/changes/3.1.4/", "Changes in 3.1.4")
    site.page("/3.1.4/", "What is new in 3.1.4")
    assert find("3.1.4")[:4] == ("", "3.2", "latest", False)


def _manifest(version: str, **alternates: str) -> str:
    site = {"name": "Kite", "url": "https://kite.example/", "language": "en", "version": version}
    others = [{"manifest": manifest, "language": "en", "version": name} for name, manifest in alternates.items()]
    section = {"id": "00000001", "level": 1, "title": "Kite", "start": 0, "end": 7, "digest": "0" * 8}
    page = {"id": "00000001", "title": "Kite", "path": "", "markdown": "index.md", "digest": "sha256:" + "0" * 64}
    pages = [page | {"bytes": 7, "sections": [section]}]
    return json.dumps(
        {"version": 1, "generator": "test", "site": site | {"alternates": others}, "nav": [], "pages": pages}
    )


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("3.2", ("3.2/", "3.2", "manifest", True)),
        ("3.1", ("3.1/", "3.1", "manifest", True)),
        ("3.1.4", ("3.1/", "3.1", "manifest", False)),
        ("1.0", ("3.2/", "3.2", "latest", False)),
    ],
)
def test_find_version_with_manifest(version: str, expected: tuple[Any, ...], site: Any, find: Find) -> None:
    site.redirect("/", "/3.2/")
    for own, other in (("3.2", "3.1"), ("3.1", "3.2")):
        site.page(f"/{own}/", "Kite")
        text = _manifest(own, **{other: f"../../{other}/roaming/manifest.json"})
        site.put(f"/{own}/roaming/manifest.json", text, kind="application/json")
    assert find(version)[:4] == expected


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("3.1.4", ("kite/v3.1/docs/", "3.1", "version", False)),
        ("3.2.0", ("kite/v3.2.0/docs/", "3.2.0", "version", True)),
        ("2.0", ("kite/", "", "latest", False)),
    ],
)
def test_find_version_by_placeholder(version: str, expected: tuple[Any, ...], site: Any, find: Find) -> None:
    site.page("/kite/", "Kite", links=("/kite/2.0/",))
    site.page("/kite/2.0/", "Kite")
    site.page("/kite/v3.1/docs/", "Kite")
    site.page("/kite/v3.2.0/docs/", "Kite")
    assert find(version, "kite/{version}/docs/")[:4] == expected


def test_find_version_without_start_page_takes_guess_or_fails(site: Any, find: Find) -> None:
    site.page("/kite/3.1/", "Kite")
    assert find("3.1.4", "kite/{version}/")[:4] == ("kite/3.1/", "3.1", "version", False)
    with pytest.raises(FetchError, match=r"kite/: not found"):
        find("2.0", "kite/{version}/")


def test_find_version_fails_if_a_list_is_unavailable(site: Any, find: Find) -> None:
    site.page("/", "Kite")
    site.put("/versions.json", "", status=500)
    with pytest.raises(FetchError, match=r"versions.json: status 500"):
        find("3.1.4")


def test_find_version_refuses_redirect_to_private_address(site: Any, find: Find) -> None:
    site.redirect("/", "http://127.0.0.9:9/")
    with pytest.raises(RefusedError, match=r"127\.0\.0\.9 is not a public address"):
        find("3.1.4")


def test_version_option_finds_folder_in_sitemap(read_the_docs: Any, run_crawl: Any) -> None:
    output = run_crawl(read_the_docs.url, scope=ScopeConfig(version="3.1.4"))
    assert output.manifest.site.url == f"{read_the_docs.url}en/3.1.4/"
    assert run_crawl(read_the_docs.url, scope=ScopeConfig(version="3.1.4")).result.same == 1


@pytest.mark.parametrize(
    ("version", "problem"),
    [
        ("3.2.1", r"the nearest is \S+/en/3.2/; give the URL of that version"),
        ("1.0", "it names no such version; give the URL of that version"),
    ],
)
def test_version_option_takes_no_other_version(version: str, problem: str, read_the_docs: Any, run_crawl: Any) -> None:
    with pytest.raises(RoamingError, match=f"--version {version}: {read_the_docs.url}: {problem}"):
        run_crawl(read_the_docs.url, scope=ScopeConfig(version=version))
