from __future__ import annotations

import json
import os
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from random import Random
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from click.testing import CliRunner
from manifests import URL, build
from msgspec.structs import replace

from mkdocs_roaming.cli import main
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.targets import SiteTarget, open_library
from mkdocs_roaming.library.tools import render
from mkdocs_roaming.manifest.io import load_left_out
from mkdocs_roaming.manifest.models import NavItem, PageEntry
from mkdocs_roaming.publish.agents.bundle import MAX_BYTES, BundleReport, rank_pages, write_bundle
from mkdocs_roaming.publish.llms_txt import is_page_list

PAGES = {
    "": "# Kettle\n\nKettles boil water.\n",
    "guide/descale/": f"# Descale\n\nVinegar helps; see [limescale]({URL}guide/limescale/index.md).\n",
    "guide/limescale/": "# Limescale\n\nIt is chalk.\n",
    "blog/2024/01/news/": "# News\n\nA new kettle.\n",
}
NAV = (
    NavItem("Blog", children=(NavItem("News", "blog/2024/01/news/"),)),
    NavItem("Guide", children=(NavItem("Descale", "guide/descale/"), NavItem("Limescale", "guide/limescale/"))),
)

Write = Callable[..., BundleReport]


@pytest.fixture
def licence(tmp_path: Path) -> Path:
    file = tmp_path / "LICENSE.txt"
    file.write_text("Do what you like.\n")
    return file


@pytest.fixture
def write(tmp_path: Path, licence: Path) -> Write:
    def write(folder: str = "_docs", *, pages: dict[str, str] = PAGES, max_bytes: int = MAX_BYTES) -> BundleReport:
        manifest = build(pages, NAV)
        texts = dict(zip((page.path for page in manifest.pages), pages.values(), strict=True))
        return write_bundle(
            manifest, lambda page: texts[page.path].encode(), tmp_path / folder, licence, max_bytes=max_bytes
        )

    return write


def test_bundle_is_a_site_with_licence_and_relative_links(write: Write, tmp_path: Path) -> None:
    report = write()
    folder = tmp_path / "_docs"
    library = open_library(folder)
    assert library.expand("guide/descale/").text.startswith("# Descale\n\nVinegar helps")
    assert "- [Descale](guide/descale/index.md)" in (folder / "llms.txt").read_text()
    assert "Not in this bundle" not in (folder / "llms.txt").read_text()
    assert (folder / "LICENSE.txt").read_text() == "Do what you like.\n"
    assert (report.pages, report.left_out) == (4, ())
    assert report.bytes == sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def test_pages_of_guides_that_others_link_to_are_the_most_important() -> None:
    assert [page.path for page in rank_pages(build(PAGES, NAV))] == [
        "", "guide/limescale/", "guide/descale/", "blog/2024/01/news/",
    ]  # fmt: skip


def noise(chars: int, seed: int = 0) -> str:
    """Return words that compress badly, as those of real pages do."""
    random = Random(seed)
    return " ".join("".join(random.choices("abcdefghijklmnop", k=7)) for _ in range(chars // 8))


def test_least_important_pages_are_left_out_for_the_limit(write: Write, tmp_path: Path) -> None:
    pages = PAGES | {f"p{at}/": f"# Page {at}\n\n{noise(1_000 + 100 * at, at)}\n" for at in range(80)}
    pages["blog/2024/01/news/"] = f"# News\n\n{noise(9_000)}\n\n## Steam\n\nIt rises.\n\n## Scale\n\nIt stays.\n"
    report = write(pages=pages, max_bytes=60_000)
    manifest = open_library(tmp_path / "_docs").manifest
    paths = {page.path for page in manifest.pages}
    assert {"", "guide/limescale/", "guide/descale/"} <= paths
    assert "blog/2024/01/news/" in report.left_out
    assert paths | set(report.left_out) == pages.keys()
    named = json.loads((tmp_path / "_docs/roaming/bundle.json").read_text())["left_out"]
    assert {page["path"] for page in named} == set(report.left_out)
    assert named[-1] == {
        "path": "blog/2024/01/news/", "url": f"{URL}blog/2024/01/news/", "title": "News", "titles": "Steam · Scale",
    }  # fmt: skip


def test_limit_counts_the_bytes_in_a_wheel_and_is_used(write: Write, tmp_path: Path) -> None:
    pages = {f"p{at}/": f"# Page {at}\n\n{noise(600 + 5_000 * (at % 5), at)}\n" for at in range(90)}
    report = write(pages=pages, max_bytes=100_000)
    archive = BytesIO()
    with ZipFile(archive, "w", ZIP_DEFLATED) as wheel:
        for file in (tmp_path / "_docs").rglob("*.*"):
            wheel.write(file, file.relative_to(tmp_path / "_docs").as_posix())
    assert report.bytes > 100_000
    assert 97_000 < len(archive.getvalue()) <= report.compressed <= 100_000


def test_llms_txt_of_a_bundle_says_what_is_left_out_and_stays_a_page_list(write: Write, tmp_path: Path) -> None:
    pages = PAGES | {f"p{at}/": f"# Page [{at}]\n\n{noise(3_000, at)}\n" for at in range(150)}
    report = write(pages=pages, max_bytes=40_000)
    text = (tmp_path / "_docs/llms.txt").read_text()
    assert f"> Kettles boil water. {report.pages} of 154 pages of Docs; the others are on {URL}.\n" in text
    assert "All pages" not in text
    assert is_page_list(text)
    listing = text.partition("## Not in this bundle\n\n")[2]
    shown = listing.count(f"]({URL}p")
    assert listing.endswith(f"- [and {len(report.left_out) - shown} more]({URL})\n")
    assert shown == 40
    assert len(listing) < 4_100
    assert f"- [Page \\[149\\]]({URL}p149/)" not in listing


def test_search_of_a_bundle_names_the_page_that_is_left_out(write: Write, tmp_path: Path) -> None:
    sso = f"# Single sign-on\n\n{noise(30_000)}\n\n## Kerberos tickets\n\nThey expire.\n"
    write(
        pages=PAGES | {"sso/": sso, "guide/descale/": "# Descale\n\nA kettle with single walls: vinegar.\n"},
        max_bytes=12_000,
    )
    library = open_library(tmp_path / "_docs")
    note = f"Not in this bundle: Single sign-on, {URL}sso/"
    for query in ("How do I use single sign-on?", "kerberos", "renew a kerberos ticket"):
        assert library.find_left_out(query) == note
    for query in ("limescale", "descale a kettle", "single walls", "expiry of milk", "the"):
        assert library.find_left_out(query) == ""
    assert SiteTarget(str(tmp_path / "_docs")).search("single sign-on", 3)[0].note.endswith(note)
    assert note in render(Navigator(library).call("search_sections", {"query": "single sign-on"}))
    for command, code in (("search", 0), ("ask", 3)):  # search also shows what is only near in meaning
        result = CliRunner().invoke(main, [command, str(tmp_path / "_docs"), "kerberos tickets"])
        assert result.exit_code == code
        assert note in result.output


def test_page_that_is_too_large_makes_room_for_smaller_ones(write: Write) -> None:
    report = write(pages={**PAGES, "": f"# Kettle\n\n{noise(100_000)}\n"}, max_bytes=30_000)
    assert report.left_out == ("",)


def test_pages_that_readers_need_are_kept_before_others_of_their_kind() -> None:
    pages = {
        "api/boiler/": "# Boiler\n\nText.\n",
        "api/": "# API\n\nText.\n",
        "reference/cli/": "# Commands\n\nText.\n",
        "contributing/": "# Contributing\n\nText.\n",
        "sso/": "# Single sign-on\n\nText.\n",
        "help/faq/": "# FAQ\n\nText.\n",
        "": "# Kettle\n\nText.\n",
    }
    ranked = [page.path for page in rank_pages(build(pages))]
    assert ranked[:4] == ["", "help/faq/", "sso/", "reference/cli/"]
    assert ranked[-1] == "contributing/"
    manifest = build({"a/": "# A\n\nText.\n", "b/": "# B\n\nText.\n"})
    described = replace(manifest.pages[1], questions=("How is tea made?",))
    assert rank_pages(replace(manifest, pages=(manifest.pages[0], described)))[0].path == "b/"


def test_limit_below_every_page_is_refused_and_writes_nothing(write: Write, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no page fits into a bundle of 500 bytes"):
        write(max_bytes=500)
    with pytest.raises(UsageError, match="no page fits"):
        write(pages={})
    assert not (tmp_path / "_docs").exists()


def test_older_bundle_is_replaced_and_other_folders_are_not(write: Write, tmp_path: Path) -> None:
    write()
    write(pages={"": "# Kettle\n\nNew.\n"})
    assert [page.path for page in open_library(tmp_path / "_docs").manifest.pages] == [""]
    assert not (tmp_path / "_docs/guide").exists()
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith(".")] == []
    (tmp_path / "src").mkdir()
    (tmp_path / "src/code.py").write_text("code")
    with pytest.raises(UsageError, match="contains something else than a bundle"):
        write("src")
    assert (tmp_path / "src/code.py").read_text() == "code"


def test_page_that_cannot_be_read_leaves_the_older_bundle(write: Write, tmp_path: Path, licence: Path) -> None:
    write()

    def fail(page: PageEntry) -> bytes:
        raise UsageError("gone")

    with pytest.raises(UsageError, match="gone"):
        write_bundle(build({"": "# New\n\nText.\n"}), fail, tmp_path / "_docs", licence)
    assert len(open_library(tmp_path / "_docs").manifest.pages) == 4


def test_missing_licence_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the licence cannot be read"):
        write_bundle(build(PAGES), lambda page: b"", tmp_path / "b", tmp_path / "none")


@pytest.mark.parametrize("is_inside", [True, False])
def test_list_of_left_out_pages_is_not_read_outside_of_the_bundle(tmp_path: Path, is_inside: bool) -> None:
    text = json.dumps({"left_out": [{"path": "a/", "url": "https://kite.example/a/", "title": "A", "titles": ""}]})
    folder = tmp_path / "bundle"
    (folder / "roaming").mkdir(parents=True)
    real = (folder if is_inside else tmp_path) / "other.json"
    real.write_text(text)
    (folder / "roaming" / "bundle.json").symlink_to(real)
    assert len(load_left_out(folder)) == is_inside


def test_list_of_left_out_pages_that_is_a_pipe_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "roaming").mkdir()
    os.mkfifo(tmp_path / "roaming" / "bundle.json")
    assert not load_left_out(tmp_path)
