"""Conversions and files of earlier builds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from builtin_themes import add_builtin_theme
from described import write_descriptions

from mkdocs_roaming.manifest.models import NavItem, Page, Site
from mkdocs_roaming.publish.cache import ConversionCache, SiteFiles
from mkdocs_roaming.publish.options import PublishOptions

from .conftest import HOME, INSTALL, SITE, publish_pages, read_tree

SITE_FILES = "site.msgpack"


def test_cache_ignores_invalid_files_and_deletes_stale_ones(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    publish_pages(tmp_path / "a", HOME, INSTALL, cache=cache)
    for file in cache.iterdir():
        file.write_text('{"key": 1}')
    report, _ = publish_pages(tmp_path / "a", HOME, cache=cache)
    assert report.reused == 0
    assert sorted(file.suffix for file in cache.iterdir()) == [".json", ".msgpack"]


def test_files_of_unchanged_site_are_taken_from_cache(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first, _ = publish_pages(tmp_path / "a", HOME, INSTALL, cache=cache)
    again, _ = publish_pages(tmp_path / "b", HOME, INSTALL, cache=cache)
    assert read_tree(tmp_path / "a") == read_tree(tmp_path / "b")
    assert replace(again, reused=0) == first

    stored = msgspec.msgpack.decode((cache / SITE_FILES).read_bytes(), type=SiteFiles)
    files = [msgspec.structs.replace(file, head=b"stored " + file.head) for file in stored.files]
    (cache / SITE_FILES).write_bytes(msgspec.msgpack.encode(msgspec.structs.replace(stored, files=files)))
    publish_pages(tmp_path / "c", HOME, INSTALL, cache=cache)
    assert (tmp_path / "c/roaming/outline.md").read_bytes().startswith(b"stored ")


def test_page_is_converted_again_after_change_of_built_in_theme(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Page("", "Home", '<h1>Home</h1><p>Text.</p><p class="acme-bar">Bar</p>')
    cache = tmp_path / "cache"
    publish_pages(tmp_path / "a", page, cache=cache)
    add_builtin_theme(monkeypatch, '[acme]\n[acme.roles]\nskip = ".acme-bar"\n')
    report, _ = publish_pages(tmp_path / "a", page, cache=cache)
    assert report.reused == 0
    assert (tmp_path / "a/index.md").read_text("utf-8").endswith("# Home\n\nText.\n")
    report, _ = publish_pages(tmp_path / "a", page, cache=cache)
    assert report.reused == 1


def test_cached_page_is_used_again_after_other_page_was_added(tmp_path: Path) -> None:
    """Links are resolved again if the site has other pages, and only then; an interrupted write is no page."""
    cache = tmp_path / "cache"
    publish_pages(tmp_path / "a", INSTALL, cache=cache)
    report, _ = publish_pages(tmp_path / "a", INSTALL, Page("other/", "Other", "<h1>Other</h1>"), cache=cache)
    assert report.reused == 1
    stored = {file: file.read_bytes() for file in cache.glob("*.json")}
    report, _ = publish_pages(tmp_path / "a", INSTALL, Page("other/", "Other", "<h1>Other</h1>"), cache=cache)
    assert report.reused == 2
    for file, data in stored.items():
        assert file.read_bytes() == data
        file.write_bytes(data[: len(data) // 2])
    report, _ = publish_pages(tmp_path / "a", INSTALL, Page("other/", "Other", "<h1>Other</h1>"), cache=cache)
    assert report.reused == 0


@pytest.mark.parametrize(
    ("site", "options", "page"),
    [
        (replace(SITE, name="Other"), PublishOptions(), INSTALL),
        (replace(SITE, nav=(NavItem("Start", ""),)), PublishOptions(), INSTALL),
        (replace(SITE, language="de"), PublishOptions(), INSTALL),
        (SITE, PublishOptions(llms_full=False), INSTALL),
        (SITE, PublishOptions(section_files=False), INSTALL),
        (SITE, PublishOptions(llms_txt=False), INSTALL),
        (SITE, PublishOptions(), replace(INSTALL, description="How to install.")),
        (SITE, PublishOptions(), replace(INSTALL, tags=("setup",))),
        (SITE, PublishOptions(), replace(INSTALL, source="guide/install.md")),
        (SITE, PublishOptions(), replace(INSTALL, article=INSTALL.article + "<p>More.</p>")),
        (SITE, PublishOptions(), replace(INSTALL, path="guide/setup/")),
    ],
)
def test_files_of_changed_site_are_made_again(site: Site, options: PublishOptions, page: Page, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    publish_pages(tmp_path / "a", HOME, INSTALL, cache=cache)
    publish_pages(tmp_path / "b", HOME, page, site=site, options=options, cache=cache)
    publish_pages(tmp_path / "c", HOME, page, site=site, options=options)
    assert read_tree(tmp_path / "b") == read_tree(tmp_path / "c") != read_tree(tmp_path / "a")


def test_described_site_is_cached_until_its_file_changes(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    publish_pages(tmp_path / "a", HOME, INSTALL, cache=cache)
    file = write_descriptions(tmp_path / "d.json", tmp_path / "a", {"Quiet mode": ("Less output", "Is it too chatty?")})
    first, _ = publish_pages(tmp_path / "a", HOME, INSTALL, cache=cache, descriptions=file)
    stored = (cache / SITE_FILES).stat().st_mtime_ns
    again, _ = publish_pages(tmp_path / "b", HOME, INSTALL, cache=cache, descriptions=file)
    assert (cache / SITE_FILES).stat().st_mtime_ns == stored
    assert read_tree(tmp_path / "a") == read_tree(tmp_path / "b")
    assert first.notes == again.notes == ("1 section described",)
    file.write_text(file.read_text("utf-8").replace("chatty", "noisy"), "utf-8")
    publish_pages(tmp_path / "b", HOME, INSTALL, cache=cache, descriptions=file)
    assert b"noisy" in (tmp_path / "b/roaming/manifest.json").read_bytes()
    plain, _ = publish_pages(tmp_path / "b", HOME, INSTALL, cache=cache)
    assert plain.notes == ()
    assert b"asks" not in (tmp_path / "b/roaming/manifest.json").read_bytes()


def test_cache_contains_nothing_of_pages_that_are_no_longer_published(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    secret = Page("secret/", "Passphrase", "<h1>Passphrase</h1><p>Passphrase of the passphrases.</p>")
    publish_pages(tmp_path / "a", HOME, secret, cache=cache)
    assert any(b"Passphrase" in data for data in read_tree(cache).values())
    publish_pages(tmp_path / "a", HOME, cache=cache)
    assert not any(b"Passphrase" in data for data in read_tree(cache).values())

    publish_pages(tmp_path / "a", HOME, secret, cache=cache)
    ConversionCache(cache).commit(())
    assert not read_tree(cache)
