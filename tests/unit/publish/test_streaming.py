"""Large sites: manifests and files that are never complete in memory."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from msgspec.structs import replace
from tables import read_tables

from mkdocs_roaming.errors import ManifestError
from mkdocs_roaming.manifest.builder import build_manifest
from mkdocs_roaming.manifest.io import dump_manifest, load_manifest, load_pages, load_skeleton, validate_manifest
from mkdocs_roaming.manifest.models import Manifest, NavItem, Page, PublishedPage, Site
from mkdocs_roaming.manifest.sections import split_sections
from roaming_crawler.state import DiskDict

TABLES = read_tables(__file__)

TEXT = "# Page {at}\n\nThe “gauge” of page {at} says café, \\ and 潮位.\n\n## Part\n\nSee [the next](https://d.example/p{to}/).\n"


def _manifest(pages: int) -> Manifest:
    site = Site("Tides", "https://d.example/", nav=(NavItem("All", children=(NavItem("Zero", "p0/"),)),))
    texts = [TEXT.format(at=at, to=(at + 1) % pages) for at in range(pages)]
    return build_manifest(
        site,
        [PublishedPage(Page(f"p{at}/", f"Page {at}"), text, split_sections(text)) for at, text in enumerate(texts)],
    )


@pytest.mark.parametrize("pages", [0, 1, 700])
def test_dump_manifest_writes_one_canonical_line_with_digest(pages: int, tmp_path: Path) -> None:
    manifest = _manifest(pages) if pages else replace(_manifest(1), pages=(), nav=())
    text = dump_manifest(manifest)
    data = json.loads(text)
    assert text == json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n"
    digest = data.pop("digest")
    canonical = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert digest == "sha256:" + hashlib.sha256(canonical.encode()).hexdigest()
    assert validate_manifest(text) == ([] if pages else ["pages: is empty"])


@pytest.mark.parametrize("indent", [None, 1])
def test_load_pages_and_load_skeleton_skip_the_largest_fields(indent: int | None, tmp_path: Path) -> None:
    """Also in an indented file, which another tool has written."""
    text = dump_manifest(_manifest(700))
    file = tmp_path / "manifest.json"
    file.write_text(json.dumps(json.loads(text), indent=indent) if indent else text, "utf-8")
    whole = load_manifest(text)
    assert load_pages(file) == tuple(replace(page, sections=()) for page in whole.pages)
    bare = tuple(
        replace(
            page,
            sections=tuple(replace(section, opening="", links=()) for section in page.sections),
        )
        for page in whole.pages
    )
    assert (load_skeleton(file).site, load_skeleton(file).pages) == (whole.site, bare)


@pytest.mark.parametrize(("text", "message"), TABLES["streaming readers report broken manifest"])
def test_streaming_readers_report_broken_manifest(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "manifest.json"
    file.write_text(text, "utf-8")
    for read in (load_pages, load_skeleton):
        with pytest.raises(ManifestError, match=message) as error:
            read(file)
        assert str(file) in str(error.value)


def test_disk_dict_behaves_like_a_dict_and_leaves_no_file(tmp_path: Path) -> None:
    with DiskDict[Page](tmp_path) as values:
        for at in range(20):
            values[f"p{at}"] = Page(f"p{at}/", "First", article="x" * at)
        values["p3"] = Page("p3/", "Second", markdown="# \ud800")
        del values["p4"]
        assert list(values) == [f"p{at}" for at in range(20) if at != 4]
        assert (values["p3"].title, values["p3"].markdown) == ("Second", "# \ud800")
        assert values["p19"].article == "x" * 19
        assert "p4" not in values
        assert list(tmp_path.iterdir()) == []
