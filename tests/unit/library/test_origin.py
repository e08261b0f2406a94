"""Labels of results from a site of somebody else."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import structs

from mkdocs_roaming.library.library import OWN, Library, Origin, extract_host
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.readers import FolderReader
from mkdocs_roaming.library.targets import PackageInfo, SiteInfo, open_library
from mkdocs_roaming.library.tools import render

TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))

LABEL = "untrusted content from gauge.example\n"


@pytest.fixture
def own(make_site: Callable, tmp_path: Path) -> Library:
    prose = "The gauge is read every hour and written into the book of the day. " * 30
    pages = [(f"p{at}/", f"# Gauge {at}\n\n{prose}\n\n## Part {at}\n\n{prose}\n") for at in range(12)]
    return open_library(make_site(pages).publish(tmp_path / "site"))


@pytest.fixture
def foreign(own: Library) -> Library:
    """The site as a crawl would have written it, with a flag on the first section of each page."""
    pages = tuple(
        structs.replace(page, sections=(structs.replace(page.sections[0], flags=("hidden", "odd")), *page.sections[1:]))
        for page in own.manifest.pages
    )
    return Library(
        structs.replace(own.manifest, crawled_from="gauge.example", pages=pages), FolderReader(Path(own.where))
    )


def _call(library: Library, name: str, *, flagged: bool = True) -> str:
    page = library.manifest.pages[0]
    section = page.sections[0] if flagged else page.sections[1]
    arguments = {
        "read_outline": {},
        "expand_sections": {"ids": [section.id]},
        "search_sections": {"query": section.title},
        "grep": {"pattern": section.title},
    }
    return render(Navigator(library).call(name, arguments[name]))


@pytest.mark.parametrize("tool", ["read_outline", "expand_sections", "search_sections", "grep"])
def test_result_from_crawled_site_begins_with_its_host(tool: str, foreign: Library, own: Library) -> None:
    assert _call(foreign, tool, flagged=False).startswith("untrusted content from gauge.example")
    assert "untrusted" not in _call(own, tool)


def test_label_names_known_flags_of_opened_sections(foreign: Library) -> None:
    assert _call(foreign, "expand_sections").startswith(f"{LABEL[:-1]}, flagged by the crawl: hidden\n")


def test_label_disappears_when_the_site_is_trusted(foreign: Library) -> None:
    foreign.trusted = True
    assert foreign.origin() == OWN


@pytest.mark.parametrize("cap", [2_000, 4_000, 24_000])
def test_labelled_results_fit_into_the_cap(cap: int, foreign: Library) -> None:
    ids = [page.id for page in foreign.manifest.pages]
    for call, arguments in (("read_outline", {}), ("expand_sections", {"ids": ids}), ("grep", {"pattern": "e"})):
        assert len(render(Navigator(foreign, cap=cap).call(call, arguments))) <= cap


def test_origins_of_several_sites_are_joined() -> None:
    both = Origin(("a.example",), ("hidden",)) | Origin(("b.example",), ("hidden", "invisible"))
    assert both.render() == "untrusted content from a.example, b.example, flagged by the crawl: hidden, invisible\n"
    assert OWN | OWN == OWN


@pytest.mark.parametrize(("url", "host"), TABLES["extract_host_returns_plain_characters"])
def test_extract_host_returns_plain_characters(url: str, host: str) -> None:
    assert extract_host(url) == host


# Sites of a store

AT = 1_795_219_200.0  # 2026-11-21


@pytest.mark.parametrize(("package", "label"), TABLES["labels"])
def test_label_names_version_and_origin(package: list[str], label: str) -> None:
    assert SiteInfo("docs", "Docs", AT, PackageInfo(*package) if package else None).label == label
