"""Files that something else wrote at the paths of published files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from mkdocs_roaming.errors import PublishError
from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.library.validate import validate_site
from mkdocs_roaming.manifest.io import MANIFEST_PATH
from mkdocs_roaming.manifest.models import Page
from mkdocs_roaming.publish.cache import ConversionCache
from mkdocs_roaming.publish.options import PublishOptions
from mkdocs_roaming.publish.ownership import ForeignFilesError, PublishedFiles
from mkdocs_roaming.publish.pipeline import convert_pages
from mkdocs_roaming.publish.writer import PublishReport, publish_batch

from .conftest import HOME, INSTALL, SITE, publish_pages, read_tree

GOLDEN = Path(__file__).parents[2] / "golden/llms-txt"
AUTHOR = (GOLDEN / "author.txt").read_text("utf-8")
EDITED = Page("guide/install/", "Install", "<h1>Install</h1><p>Walk it.</p>")
OTHER = Page("other/", "Other", "<h1>Other</h1><p>Text.</p>")
FOREIGN = ("llms.txt", "llms-full.txt", "index.md", "guide/install.md", "guide/install/index.md", "roaming/outline.md")


def publish(folder: Path, *pages: Page, **options: Any) -> PublishReport:
    return publish_pages(folder, *(pages or (HOME, INSTALL)), options=PublishOptions(**options))[0]


def write(folder: Path, path: str, text: str = "Written by hand.\n") -> None:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text(text, "utf-8")


def interrupt(folder: Path, new: Path, files: Sequence[str] = ()) -> None:
    """Make a folder look as if a build was killed that had written these files of a new site, or all but the manifest."""
    PublishedFiles(folder).start((new / MANIFEST_PATH).read_bytes())
    tree = read_tree(new)
    for path in files or tree.keys() - {MANIFEST_PATH}:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(tree[path])
    (folder / "guide/.roaming-0123456789ab").write_bytes(b"# Inst")


@pytest.mark.parametrize("path", FOREIGN)
def test_foreign_file_stops_first_build_and_is_overwritten_on_request(tmp_path: Path, path: str) -> None:
    write(tmp_path, path)
    before = read_tree(tmp_path)
    with pytest.raises(ForeignFilesError) as caught:
        publish(tmp_path)
    assert caught.value.paths == (path,)
    assert f"would overwrite {path}, which something else wrote" in str(caught.value)
    assert read_tree(tmp_path) == before
    publish(tmp_path, overwrite=True)
    assert validate_site(open_library(tmp_path)).faults == ()


@pytest.mark.parametrize("is_interrupted", [False, True])
@pytest.mark.parametrize("path", FOREIGN[:-1])
def test_file_that_changed_since_it_was_published_stops_next_build(
    tmp_path: Path, path: str, is_interrupted: bool
) -> None:
    site = tmp_path / "site"
    publish(tmp_path / "new")
    publish(site, *((HOME, OTHER) if is_interrupted else ()))
    if is_interrupted:
        interrupt(site, tmp_path / "new")
    write(site, path)
    before = read_tree(site)
    with pytest.raises(ForeignFilesError) as caught:
        publish(site, HOME, EDITED)
    assert caught.value.paths == (path,)
    assert read_tree(site) == before


def test_directory_and_dangling_link_count_as_foreign_files(tmp_path: Path) -> None:
    (tmp_path / "index.md").mkdir()
    (tmp_path / "llms-full.txt").symlink_to(tmp_path / "nowhere")
    with pytest.raises(ForeignFilesError) as caught:
        publish(tmp_path)
    assert caught.value.paths == ("index.md", "llms-full.txt")


@pytest.mark.parametrize("place", ["roaming", "roaming/sections", "guide", "guide/install"])
@pytest.mark.parametrize("target", ["mine", "missing"])
def test_folder_that_links_out_of_site_is_not_written_through(tmp_path: Path, place: str, target: str) -> None:
    write(tmp_path, "mine/notes.txt")
    link = tmp_path / "site" / place
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / target, target_is_directory=True)
    with pytest.raises(PublishError, match=rf"{place}.*: leads out of the site, to .*{target}"):
        publish(tmp_path / "site", overwrite=True)
    assert read_tree(tmp_path / "mine").keys() == {"notes.txt"}
    assert not (tmp_path / "missing").exists()


@pytest.mark.parametrize("stage", ["comparing", "writing"])
def test_build_that_another_one_overtakes_meanwhile_leaves_the_site_of_the_other(tmp_path: Path, stage: str) -> None:
    """Another user, or a container, has other locks."""
    (tmp_path / "extra.js").write_text("x") if stage == "comparing" else None
    publish(tmp_path, HOME, INSTALL, OTHER)
    others = [(HOME, EDITED, OTHER)]

    def overtake() -> Iterator[bytes]:
        while others:
            publish(tmp_path, *others.pop())
        yield b"x"

    batch = convert_pages(SITE, (HOME, INSTALL), cache=ConversionCache(None), warn=print)
    with pytest.raises(PublishError, match="another build wrote into it at the same time; build again"):
        publish_batch(batch, tmp_path, PublishOptions(), extra=[("extra.js", cast(bytes, overtake))])
    library = open_library(tmp_path)
    assert validate_site(library).faults == ()
    assert [page.path for page in library.manifest.pages] == ["", "guide/install/", "other/"]
    assert "Walk it." in library.expand("guide/install/").text


def test_old_files_are_not_removed_through_link(tmp_path: Path) -> None:
    publish(tmp_path / "site")
    (tmp_path / "site/roaming/sections").rename(tmp_path / "mine")
    before = read_tree(tmp_path / "mine")
    (tmp_path / "site/roaming/sections").symlink_to(tmp_path / "mine")
    with pytest.raises(PublishError, match="leads out of the site"):
        publish(tmp_path / "site", section_files=False)
    assert read_tree(tmp_path / "mine") == before


def test_file_that_links_out_of_site_is_replaced_on_request(tmp_path: Path) -> None:
    write(tmp_path, "mine.md")
    (tmp_path / "site/roaming").mkdir(parents=True)
    for path in ("index.md", "llms.txt", "roaming/outline.md", MANIFEST_PATH):
        (tmp_path / "site" / path).symlink_to(tmp_path / "mine.md")
    publish(tmp_path / "site", overwrite=True)
    assert (tmp_path / "mine.md").read_text("utf-8") == "Written by hand.\n"
    assert not [file for file in (tmp_path / "site").rglob("*") if file.is_symlink()]


def test_links_inside_site_and_to_site_are_followed(tmp_path: Path) -> None:
    (tmp_path / "site/files").mkdir(parents=True)
    (tmp_path / "site/roaming").symlink_to("files")
    (tmp_path / "public").symlink_to("site")
    publish(tmp_path / "public")
    assert (tmp_path / "site/files/manifest.json").exists()


def test_identical_files_are_no_conflict(tmp_path: Path) -> None:
    publish(tmp_path / "a")
    for path, data in read_tree(tmp_path / "a").items():
        if path != MANIFEST_PATH:
            write(tmp_path / "b", path, data.decode())
    assert publish(tmp_path / "b").written == 1
    assert read_tree(tmp_path / "a") == read_tree(tmp_path / "b")


def test_files_of_interrupted_build_are_recognized(tmp_path: Path) -> None:
    publish(tmp_path / "old", HOME, OTHER)
    publish(tmp_path / "new")
    interrupt(tmp_path / "old", tmp_path / "new")
    publish(tmp_path / "old", HOME, EDITED)
    publish(tmp_path / "new", HOME, EDITED)
    assert read_tree(tmp_path / "old") == read_tree(tmp_path / "new")


def test_second_interruption_forgets_no_file_of_first(tmp_path: Path) -> None:
    publish(tmp_path / "first")
    publish(tmp_path / "second", HOME, EDITED)
    (tmp_path / "site/roaming").mkdir(parents=True)
    interrupt(tmp_path / "site", tmp_path / "first")
    (tmp_path / "site/llms.txt").unlink()
    interrupt(tmp_path / "site", tmp_path / "second", files=("llms.txt",))
    publish(tmp_path / "site", HOME, OTHER)
    publish(tmp_path / "other", HOME, OTHER)
    assert read_tree(tmp_path / "site") == read_tree(tmp_path / "other")


def test_build_after_failed_write_succeeds(tmp_path: Path) -> None:
    publish(tmp_path)
    with pytest.raises(OSError, match="name too long"):
        publish(tmp_path, HOME, EDITED, Page("x" * 300, "X", "<h1>X</h1>"))
    assert "Walk it." in (tmp_path / "guide/install.md").read_text()  # the manifest has another digest
    publish(tmp_path)
    assert validate_site(open_library(tmp_path)).faults == ()


@pytest.mark.parametrize("path", ["guide/install.md", "llms-full.txt"])
def test_old_file_that_changed_is_not_removed(tmp_path: Path, path: str) -> None:
    publish(tmp_path)
    write(tmp_path, path)
    report = publish(tmp_path, HOME, llms_full=False)
    assert (tmp_path / path).read_text() == "Written by hand.\n"
    assert report.notes == (f"{path}: changed since it was published; the file is left in the folder",)
    assert not (tmp_path / "guide/install/index.md").exists()


def test_foreign_files_beside_published_ones_are_not_removed(tmp_path: Path) -> None:
    names = ("llms-2024.txt", "roaming/nav/mine/llms.txt", "roaming/sections/notes.md", "roaming/sections/0123abcd.md")
    for path in names:
        write(tmp_path, path)
    publish(tmp_path)
    publish(tmp_path, HOME, section_files=False)
    assert {path: data for path, data in read_tree(tmp_path).items() if path in names} == dict.fromkeys(
        names, b"Written by hand.\n"
    )


# llms.txt


def test_preamble_puts_list_below_text_of_author(tmp_path: Path) -> None:
    write(tmp_path, "llms.txt", AUTHOR)
    publish(tmp_path, llms_txt="preamble")
    text = (tmp_path / "llms.txt").read_text("utf-8")
    if os.environ.get("UPDATE"):
        (GOLDEN / "preamble.txt").write_text(text, "utf-8")
    assert text == (GOLDEN / "preamble.txt").read_text("utf-8")
    assert validate_site(open_library(tmp_path)).faults == ()


def test_second_build_with_preamble_does_not_nest_list(tmp_path: Path) -> None:
    write(tmp_path, "llms.txt", AUTHOR)
    publish(tmp_path, llms_txt="preamble")
    once = (tmp_path / "llms.txt").read_text("utf-8")
    assert publish(tmp_path, llms_txt="preamble").written == 0
    publish(tmp_path, HOME, EDITED, llms_txt="preamble")
    publish(tmp_path, llms_txt="preamble")
    assert (tmp_path / "llms.txt").read_text("utf-8") == once


def test_preamble_without_text_of_author_publishes_plain_list(tmp_path: Path) -> None:
    publish(tmp_path / "a", llms_txt="preamble")
    publish(tmp_path / "b")
    assert read_tree(tmp_path / "a") == read_tree(tmp_path / "b")


@pytest.mark.parametrize("author", [b"# Ours\n\n> By hand.", b"\xef\xbb\xbf# Caf\xe9\r\n\r\n> By hand."])
def test_preamble_without_sections_keeps_its_bytes_and_is_followed_by_list_without_heading(
    tmp_path: Path, author: bytes
) -> None:
    (tmp_path / "llms.txt").write_bytes(author + b"\n")
    for _ in range(2):
        publish(tmp_path, llms_txt="preamble")
        assert (tmp_path / "llms.txt").read_bytes().startswith(author + b"\n\nLinks to pages lead to")


def test_switch_from_preamble_to_list_alone_stops_because_text_would_be_lost(tmp_path: Path) -> None:
    write(tmp_path, "llms.txt", AUTHOR)
    publish(tmp_path, llms_txt="preamble")
    with pytest.raises(ForeignFilesError):
        publish(tmp_path)
    publish(tmp_path, llms_txt=False)
    assert (tmp_path / "llms.txt").read_text("utf-8") == AUTHOR


def test_llms_txt_false_removes_published_list(tmp_path: Path) -> None:
    publish(tmp_path)
    publish(tmp_path, llms_txt=False)
    assert not (tmp_path / "llms.txt").exists()
    assert validate_site(open_library(tmp_path)).faults == ()
