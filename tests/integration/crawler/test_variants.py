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
from roaming_crawler.parser import ParsedPage
from roaming_crawler.scope import Scope, scope_url
from roaming_crawler.variants import VariantFilter, match_language

TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def test_language_option_selects_folder_of_language(site: Any, run_crawl: Any, html: Any, tmp_path: Any) -> None:
    for base, lang in (("/", "en-US"), ("/pt/", "pt-BR"), ("/zh/", "zh-Hans")):
        for path in (base, f"{base}guide/", f"{base}guide/pumps/"):
            links = ("/", "/pt/", "/zh/", f"{base}guide/", f"{base}guide/pumps/")
            site.put(path, html(f"Page {path}", links=links).replace(" lang=en", f" lang={lang}"))
    output = run_crawl(site.url, scope=ScopeConfig(language="pt"))
    assert output.manifest.site.url == f"{site.url}pt/"
    assert output.manifest.site.language == "pt-BR"
    assert output.paths == ["", "guide/", "guide/pumps/"]
    assert run_crawl(site.url, scope=ScopeConfig(language="pt")).result.same == 3
    with pytest.raises(RoamingError, match=r"contains a crawl with --language pt and --version \(none\); give"):
        run_crawl(site.url)
    every = run_crawl(site.url, tmp_path / "all", scope=ScopeConfig(language="all"))
    assert len(every.paths) == 9
    with pytest.raises(
        RoamingError, match=r"--language fi: http://\S+ has no link to it; give the URL of that language"
    ):
        run_crawl(site.url, tmp_path / "fi", scope=ScopeConfig(language="fi"))


@pytest.mark.parametrize(("one", "other", "same"), TABLES["match_language"])
def test_match_language(one: str, other: str, same: bool) -> None:
    assert match_language(one, other) is same


def _select(paths: list[str]) -> tuple[VariantFilter, list[list[str]]]:
    """Return the filter of a site, and the pages that it selects step by step without a request."""
    base = "https://docs.example/"

    async def read(ref: PageRef) -> ParsedPage:
        raise AssertionError(ref)

    variants = VariantFilter(Scope(scope_url(base)), base, ScopeConfig(), "en", read)
    steps = []
    later = [PageRef(base + path) for path in paths]
    while later:
        chosen, later = anyio.run(variants.select, later)
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
    assert len(variants.left_out) == left_out


def test_select_of_two_spellings_of_a_version_selects_both() -> None:
    _, steps = _select(["docs/1.0", "docs/1.0//"])
    assert [path for step in steps for path in step] == ["docs/1.0", "docs/1.0//"]
