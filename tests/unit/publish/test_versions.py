"""The root llms.txt of a site with several versions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mkdocs_roaming.errors import PublishError
from mkdocs_roaming.manifest.models import Page, Site
from mkdocs_roaming.publish.llms_txt import MAX_CHARS
from mkdocs_roaming.publish.versions import publish_versions

from .conftest import HOME, INSTALL, publish_pages, read_tree

URL = "https://docs.example/sub/"
MIKE = [
    {"version": "2.0", "title": "2.0 [beta]", "aliases": ["dev"]},
    {"version": "1.0", "title": "1.0", "aliases": ["latest"]},
    {"version": "0.9", "title": "0.9", "aliases": []},
]
REDIRECT = (
    '<!DOCTYPE html><noscript><meta http-equiv="refresh" content="1; url={0}" /></noscript>'
    '<script>window.location.replace("{0}" + window.location.search)</script>'
)


def make_site(root: Path, entries: Any = MIKE, *, published: tuple[str, ...] = ("2.0", "1.0"), url: str = URL) -> Path:
    """Publish versions, each in a folder of the same name, and write versions.json."""
    root.mkdir(exist_ok=True)
    (root / "versions.json").write_text(json.dumps(entries), "utf-8")
    for name in published:
        (root / name).mkdir(parents=True, exist_ok=True)
        site = Site("Docs", f"{url}{name}/", f"About {name}.", version=name)
        publish_pages(root / name, HOME, INSTALL, site=site)
    return root


def read_list(root: Path) -> str:
    return (root / "llms.txt").read_text("utf-8")


def error_of(site: Path, **options: Any) -> str:
    with pytest.raises(PublishError) as caught:
        publish_versions(site, **options)
    return str(caught.value)


def test_root_list_names_versions_above_pages_of_default_version(tmp_path: Path) -> None:
    root = make_site(tmp_path)
    report = publish_versions(root)
    assert str(report) == "llms.txt lists 2.0 [beta], 1.0 (default), 0.9 (HTML only)"
    head, _, rest = read_list(root).partition("\n## Versions\n\n")
    versions, _, pages = rest.partition("\n## ")
    own_head, _, own_pages = (root / "1.0/llms.txt").read_text("utf-8").partition("\n## ")
    assert head.startswith(own_head)
    assert "This documentation has several versions. The pages below are those of 1.0." in head
    assert versions.splitlines() == [
        rf"- [2.0 \[beta\] (dev)]({URL}2.0/llms.txt): manifest {URL}2.0/roaming/manifest.json",
        f"- [1.0 (latest)]({URL}1.0/llms.txt): default version, manifest {URL}1.0/roaming/manifest.json",
        f"- [0.9]({URL}0.9/): HTML only",
    ]
    assert pages == own_pages
    assert f"({URL}1.0/guide/install/index.md)" in pages


def test_second_run_writes_nothing_and_new_version_updates_list(tmp_path: Path) -> None:
    root = make_site(tmp_path)
    publish_versions(root)
    before = read_tree(root)
    assert str(publish_versions(root)).endswith("; unchanged")
    assert read_tree(root) == before
    make_site(root, [{"version": "3.0", "title": "3.0", "aliases": []}, *MIKE], published=("3.0",))
    assert publish_versions(root).written
    assert f"[3.0]({URL}3.0/llms.txt)" in read_list(root)


@pytest.mark.parametrize(
    ("home", "given", "default"),
    [
        ("", None, "1.0"),  # the alias `latest`
        (REDIRECT.format("dev/"), None, "2.0 [beta]"),
        (REDIRECT.format("2.0/index.html"), None, "2.0 [beta]"),
        (REDIRECT.format(f"{URL}2.0/"), None, "2.0 [beta]"),
        (REDIRECT.format("elsewhere/"), None, "1.0"),
        (REDIRECT.format("dev/"), "latest", "1.0"),
        ("<h1>Home</h1>", "2.0", "2.0 [beta]"),
    ],
)
def test_default_version_is_the_given_one_or_that_of_home_page(
    tmp_path: Path, home: str, given: str | None, default: str
) -> None:
    root = make_site(tmp_path)
    (root / "index.html").write_text(home, "utf-8")
    assert publish_versions(root, default=given).default == default


def test_hidden_version_is_not_listed(tmp_path: Path) -> None:
    root = make_site(tmp_path, [*MIKE[:2], {**MIKE[2], "properties": {"hidden": True}}])
    assert str(publish_versions(root)) == "llms.txt lists 2.0 [beta], 1.0 (default)"
    assert "0.9" not in read_list(root)


def test_long_list_of_pages_has_no_descriptions_or_is_linked(tmp_path: Path) -> None:
    root = make_site(tmp_path)
    listing = (root / "1.0/llms.txt").read_text("utf-8")
    (root / "1.0/llms.txt").write_text(listing + f"- [Far]({URL}1.0/far/index.md): {'far ' * 8}\n" * 700, "utf-8")
    publish_versions(root)
    text = read_list(root)
    assert len(text) < MAX_CHARS
    assert text.count(f"- [Far]({URL}1.0/far/index.md)\n") == 700
    assert f"- [2.0 \\[beta\\] (dev)]({URL}2.0/llms.txt): manifest" in text
    (root / "1.0/llms.txt").write_text(listing + f"- [Far]({URL}1.0/far/index.md)\n" * 1500, "utf-8")
    publish_versions(root)
    assert len(read_list(root)) < 1000
    assert f"[1.0 (latest)]({URL}1.0/llms.txt)" in read_list(root)


def test_default_version_without_llms_txt_is_linked(tmp_path: Path) -> None:
    root = make_site(tmp_path)
    (root / "1.0/llms.txt").unlink()
    publish_versions(root)
    assert read_list(root).startswith("# Docs\n\n> About 1.0.\n\nThis documentation has several versions. <!--")


def test_foreign_llms_txt_is_not_overwritten_unless_asked(tmp_path: Path) -> None:
    root = make_site(tmp_path)
    (root / "llms.txt").write_text("# By hand\n", "utf-8")
    assert "something else wrote llms.txt" in error_of(root)
    assert read_list(root) == "# By hand\n"
    publish_versions(root, overwrite=True)
    edited = read_list(root).replace("\n## Versions", "\nRead the FAQ first.\n\n## Versions")
    (root / "llms.txt").write_text(edited, "utf-8")
    assert "--overwrite" in error_of(root)
    assert read_list(root) == edited


def test_folder_without_versions_raises_error_and_keeps_files(tmp_path: Path) -> None:
    assert "no versions.json" in error_of(tmp_path)
    for data in ("[", "{}", "[]", "[{}]", '[{"version": "../up"}]', '[{"version": 2}]'):
        (tmp_path / "versions.json").write_text(data, "utf-8")
        assert "versions.json is no list of versions" in error_of(tmp_path)
    root = make_site(tmp_path, published=("2.0",))
    assert "the default version 1.0 has no roaming/manifest.json" in error_of(root)
    assert "no version 7; versions.json lists 2.0 [beta], 1.0, 0.9" in error_of(root, default="7")
    assert not (root / "llms.txt").exists()


def test_versions_with_the_same_url_raise_error(tmp_path: Path) -> None:
    root = make_site(tmp_path)
    publish_pages(root / "2.0", Page("", "Home", "<p>Hello.</p>"), site=Site("Docs", f"{URL}1.0/"))
    assert f"the versions 2.0 [beta] and 1.0 have the same URL, {URL}1.0/" in error_of(root)
