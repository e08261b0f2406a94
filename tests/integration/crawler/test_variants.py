"""Languages and versions: one of each is crawled."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import anyio
import pytest

from mkdocs_roaming.errors import RoamingError
from roaming_crawler.config import ScopeConfig
from roaming_crawler.page import PageRef
from roaming_crawler.scope import Scope, scope_url
from roaming_crawler.variants import VariantFilter, match_language

TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def _put(site: Any, html: Any, path: str, lang: str, links: tuple[str, ...] = (), head: str = "") -> None:
    page = html(f"Page {path} in {lang}", links=links, head=head)
    site.put(path, page.replace(" lang=en", f" lang={lang}" if lang else ""))


def _languages(site: Any, html: Any) -> None:
    """Add a site in three languages: English at the root, the others in folders."""
    for base, lang in (("/", "en-US"), ("/pt/", "pt-BR"), ("/zh/", "zh-Hans")):
        links = ("/", "/pt/", "/zh/", f"{base}guide/", f"{base}guide/pumps/")
        for path in (base, f"{base}guide/", f"{base}guide/pumps/"):
            _put(site, html, path, lang, links)


def _left_out(output: Any) -> list[tuple[str, str, int]]:
    return [(other.option, other.name, other.pages) for other in output.result.left_out]


def test_language_of_start_page_is_crawled(site: Any, run_crawl: Any, html: Any) -> None:
    _languages(site, html)
    output = run_crawl(site.url)
    assert output.paths == ["", "guide/", "guide/pumps/"]
    assert _left_out(output) == [("language", "pt", 1), ("language", "zh", 1)]
    assert len([path for path in site.paths() if path.startswith(("/pt/", "/zh/"))]) == 2  # a sample of each
    assert run_crawl(site.url).result.same == 3


def test_language_option_selects_folder_of_language(site: Any, run_crawl: Any, html: Any, tmp_path: Any) -> None:
    _languages(site, html)
    output = run_crawl(site.url, scope=ScopeConfig(language="pt"))
    assert output.manifest.site.url == f"{site.url}pt/"
    assert output.manifest.site.language == "pt-BR"
    assert output.paths == ["", "guide/", "guide/pumps/"]
    assert run_crawl(site.url, scope=ScopeConfig(language="pt")).result.same == 3
    with pytest.raises(RoamingError, match="contains a crawl with --language pt; give another folder"):
        run_crawl(site.url)
    every = run_crawl(site.url, tmp_path / "all", scope=ScopeConfig(language="all"))
    assert len(every.paths) == 9
    with pytest.raises(
        RoamingError, match=r"--language fi: http://\S+ has no link to it; give the URL of that language"
    ):
        run_crawl(site.url, tmp_path / "fi", scope=ScopeConfig(language="fi"))


def test_page_without_translation_stays_in_each_language(site: Any, run_crawl: Any, html: Any) -> None:
    _languages(site, html)
    for base in ("/", "/pt/", "/zh/"):
        site.put(f"{base}guide/pumps/", html("Pumps"))
    output = run_crawl(site.url, scope=ScopeConfig(language="all"))
    assert [path for path in output.paths if path.endswith("pumps/")] == [
        "guide/pumps/",
        "pt/guide/pumps/",
        "zh/guide/pumps/",
    ]


@pytest.mark.parametrize("lang", ["en", ""])
def test_folder_named_like_language_stays_without_that_language(
    lang: str, site: Any, run_crawl: Any, html: Any
) -> None:
    _put(site, html, "/", "en", ("/it/", "/it/network/", "/id/"))
    for path in ("/it/", "/it/network/", "/id/"):
        _put(site, html, path, lang)
    output = run_crawl(site.url)
    assert output.paths == ["", "id/", "it/", "it/network/"]
    assert not output.result.left_out


def _versions(site: Any, html: Any, folders: tuple[str, ...], start: str = "/") -> None:
    pages = ("intro/", "setup/", "api/v2/orders/")
    for folder in folders:
        for page in pages:
            links = (*(f"{folder}{other}" for other in pages), *(f"{other}{page}" for other in folders))
            _put(site, html, f"{folder}{page}", "en", links)
    _put(site, html, start, "en", tuple(f"{folder}intro/" for folder in folders))


def test_versions_with_the_same_pages_are_left_out(site: Any, run_crawl: Any, html: Any) -> None:
    _versions(site, html, ("/docs/", "/docs/next/", "/docs/2.0/"))
    output = run_crawl(site.url)
    assert output.paths == ["", "docs/api/v2/orders/", "docs/intro/", "docs/setup/"]
    assert _left_out(output) == [("version", "2.0", 3), ("version", "next", 3)]
    chosen = run_crawl(site.url, output.folder.parent / "two", scope=ScopeConfig(version="2.0"))
    assert chosen.manifest.site.url == f"{site.url}docs/2.0/"
    assert "intro/" in chosen.paths


def test_stable_version_is_crawled_if_start_page_has_none(site: Any, run_crawl: Any, html: Any) -> None:
    _versions(site, html, ("/1.0/", "/stable/", "/dev/"))
    assert {path.split("/")[0] for path in run_crawl(site.url).paths} == {"", "stable"}


@pytest.mark.parametrize(("one", "other", "same"), TABLES["match_language"])
def test_match_language(one: str, other: str, same: bool) -> None:
    assert match_language(one, other) is same


def _select(paths: list[str]) -> tuple[VariantFilter, list[list[str]]]:
    """Return the filter of a site, and the pages that it selects step by step without a request."""
    base = "https://docs.example/"
    variants = VariantFilter(Scope(scope_url(base)), base, ScopeConfig(), "en")
    steps = []

    async def read(ref: PageRef) -> None:
        raise AssertionError(ref)

    later = [PageRef(base + path) for path in paths]
    while later:
        chosen, later = anyio.run(variants.select, later, read)
        steps.append([ref.url.removeprefix(base) for ref in chosen])
    return variants, steps


@pytest.mark.parametrize("prefix", ["", "v", "1."])
def test_numbered_folders_of_articles_are_visited_in_few_steps(prefix: str) -> None:
    """Each page is in a folder of its own, which is named like a version; nothing else is known of them."""
    _, steps = _select([f"notes/{prefix}{at}/{name}" for at in range(800) for name in ("", "notes/", f"only-{at}/")])
    assert len(steps) <= 12
    visited = {path for step in steps for path in step}
    assert {f"notes/{prefix}799/", *(f"notes/{prefix}{at}/only-{at}/" for at in range(790, 800))} <= visited


@pytest.mark.parametrize(
    ("name", "count", "left_out"), TABLES["many_plain_numbers_in_a_folder_are_pages_and_not_versions"]
)
def test_many_plain_numbers_in_a_folder_are_pages_and_not_versions(name: str, count: int, left_out: int) -> None:
    folders = [f"{name.format(at)}/" for at in range(1, count + 1)]
    variants, _ = _select([f"{folder}{page}" for folder in folders for page in ("", "comments/", "history/")])
    assert variants.count == left_out


def test_select_of_two_spellings_of_a_version_selects_both() -> None:
    _, steps = _select(["docs/1.0", "docs/1.0//"])
    assert [path for step in steps for path in step] == ["docs/1.0", "docs/1.0//"]
