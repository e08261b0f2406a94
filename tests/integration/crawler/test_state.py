"""Storage paths: safe, unique and stable."""

from __future__ import annotations

import string
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mkdocs_roaming.manifest.models import markdown_path, short_markdown_path
from roaming_crawler.scope import Scope, canonical_url, disambiguate_paths, scope_url, storage_path

TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))

NASTY = string.ascii_letters + string.digits + "/.%~-_ \\:*?\"<>|\0\n\t'é日💥\u202e"
SEGMENTS = st.one_of(
    st.text(NASTY, max_size=12),
    st.sampled_from(
        ["..", ".", "~", "con", "NUL.txt", "roaming", ".roaming", "llms.txt", "a" * 300, "%2e%2e", "é" * 200]
    ),
)
PATHS = st.lists(SEGMENTS, max_size=5).map("/".join)


@given(PATHS)
def test_storage_path_stays_inside_folder(path: str) -> None:
    stored = storage_path(path)
    for file in (markdown_path(stored), short_markdown_path(stored) or "x"):
        parts = file.split("/")
        assert not file.startswith("/")
        assert all(part and part not in (".", "..") and not part.startswith(".") for part in parts)
        assert all(len(part.encode()) < 200 for part in parts)
        assert not set(file) & set('\\:*?"<>|\0\n\t%')
        assert parts[0] != "roaming"
        assert file not in ("llms.txt", "llms-full.txt")


@given(st.lists(PATHS, max_size=12))
def test_disambiguated_paths_share_no_file(paths: list[str]) -> None:
    stored = {storage_path(path) for path in paths}
    found = disambiguate_paths(stored)
    assert found.keys() == stored
    pairs = [(markdown_path(path), short_markdown_path(path)) for path in found.values()]
    files = [file.casefold() for pair in pairs for file in pair if file]
    folders = {file[: at + 1] for file in files for at, sign in enumerate(file) if sign == "/"}
    assert len(files) == len(set(files))
    assert not {file + "/" for file in files} & folders


def test_storage_path_keeps_safe_paths() -> None:
    for path in ("", "guide/", "guide/a-b_c.html", "v1.2/install/", "日本語/ページ/", "c++/", "a (b)/", "@scope/pkg/"):
        assert storage_path(path) == path


@pytest.mark.parametrize(("url", "spelling"), TABLES["canonical_url_is_idempotent"])
def test_canonical_url_is_idempotent(url: str, spelling: str) -> None:
    assert canonical_url(url) == (spelling or None)
    if spelling:
        assert canonical_url(spelling + "a" * 3_000) is None
        assert canonical_url(spelling) == spelling


@pytest.mark.parametrize(("given_", "scope"), TABLES["scope_of_page_is_its_folder"])
def test_scope_of_page_is_its_folder(given_: str, scope: str) -> None:
    assert scope_url(given_) == scope
    assert not Scope(scope_url(given_)).contains("https://docs.example.evil/")


def test_pages_with_unsafe_names_are_published(site: Any, run_crawl: Any) -> None:
    names = ("a" * 300, "Guide/", "guide/", "guide", "roaming/sections/x", "con", "sp%20ace", "%E2%82%AC", "llms-full")
    unsafe_text = ("x%2f..%2f..%2fetc", "..%2f..%2fup", "nul%00byte", "%2e%2e/%2e%2e/out")
    site.page("/", "Home", links=tuple("/" + name for name in (*names, *unsafe_text)))
    for at, name in enumerate((*names, *unsafe_text)):
        site.page("/" + name, f"Page {at}")
    output = run_crawl(site.url)
    addresses = {page.url or site.url + page.path for page in output.manifest.pages}
    assert len(output.paths) == len(names) + 1, (addresses, output.result.skipped)
    for file in output.folder.rglob("*"):
        assert file.resolve().is_relative_to(output.folder.resolve())
    assert not any(path in requested for requested in site.paths() for path in ("%00", ".."))
    assert {page.id for page in output.manifest.pages if page.path in ("", "guide/")}


def test_crawl_refuses_symbolic_links_in_folder(site: Any, run_crawl: Any, tmp_path: Path) -> None:
    site.page("/", "Home", links=("/guide/",))
    site.page("/guide/", "Guide")
    outside = tmp_path / "outside"
    outside.mkdir()
    for name in ("guide", ".roaming", "index.md"):
        folder = tmp_path / f"out-{name}"
        folder.mkdir()
        (folder / name).symlink_to(outside)
        with pytest.raises(Exception, match="is a symbolic link"):
            run_crawl(site.url, folder)
    assert list(outside.iterdir()) == []
