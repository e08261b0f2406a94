"""llms.txt: order, limits and nested lists."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import unquote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tables import read_tables

from mkdocs_roaming.manifest.models import Manifest, NavEntry, PageEntry, SectionEntry, SiteEntry, path_to_url
from mkdocs_roaming.publish.llms_txt import MAX_CHARS, MAX_UNMAPPED_CHARS, build_llms_txt, is_page_list

from .conftest import URL

TABLES = read_tables(__file__)

Tree = Mapping[str, "Tree | None"] | Sequence[tuple[str, "Tree | None"]]
"""Titles of groups with what is in them, and of pages."""


def test_list_has_one_heading_per_group_and_guides_first() -> None:
    tree: Tree = TABLES["groups"]
    text = build_llms_txt(_manifest(tree))["llms.txt"]
    assert re.findall(r"^## (.+)|^- \[(.+)\]\(", text, re.MULTILINE) == [
        *[("Pages", ""), ("", "Home"), ("", "FAQ")],
        *[("Guide", ""), ("", r"Start \[here\]"), ("", "End")],
        *[("Guide › Deep", ""), ("", "A")],
        *[("API reference", ""), ("", "Valve")],
        *[("Optional", ""), ("", "Changelog"), ("", "First post")],
    ]


def test_head_links_to_full_text_with_its_size() -> None:
    text = build_llms_txt(_manifest({"Home": None}, full=2_000))["llms.txt"]
    assert f"[llms-full.txt]({URL}llms-full.txt) (2 KB)" in text
    assert "llms-full" not in build_llms_txt(_manifest({"Home": None}))["llms.txt"]


def test_head_names_the_size_of_the_outline() -> None:
    text = build_llms_txt(_manifest({"Home": None}), outline="é" * 13_550)["llms.txt"]
    assert f"outline of all sections is at {URL}roaming/outline.md (28 KB), each section at" in text
    assert is_page_list(text)


def test_list_without_pages_of_posts_but_with_posts() -> None:
    paths = TABLES["posts and lists of posts"]
    text = build_llms_txt(_manifest(dict.fromkeys(paths)))["llms.txt"]
    assert re.findall(r"^- \[(.+?)\]", text, re.MULTILINE) == ["tags/", "page/2/", "blog/", "blog/2024/05/12/rain/"]


def test_nav_links_are_listed_unless_they_lead_to_a_listed_page() -> None:
    manifest = _manifest({"Home": None})
    links = (NavEntry("Forum", url="https://forum.example/"), NavEntry("Start", url=f"{URL}Home/"))
    links += (NavEntry("Plan", url=f"{URL}plan.pdf"),)
    text = build_llms_txt(Manifest(manifest.site, manifest.pages, (*manifest.nav, *links)))["llms.txt"]
    assert re.findall(r"^- \[(.+?)\]", text, re.MULTILINE) == ["Home", "Forum", "Plan"]
    assert "[Forum](https://forum.example/)\n" in text
    assert f"[Plan]({URL}plan.pdf): not Markdown\n" in text


def test_titles_of_many_pages_begin_with_that_of_their_group() -> None:
    tree: Tree = {name: {"Overview": None, "Options": None} for name in ("Pumps", "Valves")}
    text = build_llms_txt(_manifest({**tree, "Gauges": {"Overview": None}}))["llms.txt"]
    titles = ["Pumps: Overview", "Options", "Valves: Overview", "Options", "Gauges: Overview"]
    assert re.findall(r"^- \[(.+?)\]", text, re.MULTILINE) == titles


def test_long_list_begins_with_the_names_of_its_groups_that_have_pages() -> None:
    tree: Tree = {f"Group {at}": {f"{at} page {number}": None for number in range(150)} for at in range(3)}
    manifest = _manifest(tree, description="Opens the valve of one basin. ")
    links = NavEntry("Elsewhere", "0" * 8, children=(NavEntry("Forum", url="https://forum.example/"),))
    text = build_llms_txt(Manifest(manifest.site, manifest.pages, (*manifest.nav, links)))["llms.txt"]
    assert "- Group 2 (150 pages)\n" in text
    assert text.index("- Group 2 (") < text.index("## Group 0")
    assert "(0 pages)" not in text
    assert "## Elsewhere\n\n- [Forum](https://forum.example/)" in text


@pytest.mark.parametrize(("pages", "described"), [(100, "guide reference"), (420, "guide"), (600, "")])
def test_root_lists_every_page_with_the_descriptions_it_has_room_for(pages: int, described: str) -> None:
    tree: Tree = {name: {f"{name} page {at}": None for at in range(pages // 2)} for name in ("Guide", "Reference")}
    files = build_llms_txt(_manifest(tree, description="Opens the valve of one basin. " * 8))
    assert list(files) == ["llms.txt"]
    assert _listed(files).total() == pages
    kinds = {kind.lower() for kind in re.findall(r"^- \[(\w+) page \d+\]\(\S+\): ", files["llms.txt"], re.MULTILINE)}
    assert kinds == set(described.split())


def test_largest_group_is_nested_first_and_others_stay() -> None:
    tree: Tree = {
        "Guide": {f"Guide {at}": None for at in range(40)},
        "API": {f"API {part}": {f"Valve {part}-{at}": None for at in range(340 * part)} for part in (1, 2)},
    }
    files = build_llms_txt(_manifest(tree))
    root = files["llms.txt"]
    assert "- [Guide 39](" in root
    assert "- [Valve 1-339](" in root
    assert re.findall(r"^- \[(.+)\]\(\S+llms\.txt\): (.+)$", root, re.MULTILINE) != []
    assert "[Valve 2-679](" not in root
    assert _listed(files).total() == 1060


_TITLES = st.text("ab c[]<›é字", min_size=1, max_size=60) | st.sampled_from(["API", "Blog", "Pages", "Optional", "a"])
_PAGES = st.sampled_from([0, 1, 3, 30, 100]).map(lambda count: [(f"Page {at}", None) for at in range(count)])
_GROUPS = st.recursive(_PAGES, lambda inner: st.lists(st.tuples(_TITLES, inner), max_size=6), max_leaves=8)


@settings(max_examples=10)
@example([("<", [("<", [("Page 0", None)]), *[("<", [(f"Page {at}", None) for at in range(3)])] * 5])], 0, 45)
@given(_GROUPS, st.integers(0, 300), st.sampled_from([1, 2, 5, 45]))
def test_every_page_is_listed_once_within_the_limits(groups: Tree, chars: int, repeat: int) -> None:
    manifest = _manifest([(f"Group {at}", groups) for at in range(repeat)], description=("word " * 60)[:chars])
    files = build_llms_txt(manifest)
    assert _listed(files) == Counter(path_to_url(URL, page.markdown) for page in manifest.pages)
    assert max(map(len, files.values())) < MAX_CHARS
    linked = re.findall(r"^- \[.*\]\(\S+?(roaming/nav/\S+)\): ", "".join(files.values()), re.MULTILINE)
    assert sorted(linked) == sorted(path for path in files if path != "llms.txt")
    for text in files.values():
        headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
        assert len(set(headings)) == len(headings)
        groups_at_top = {re.sub(r" \(\d+\)$", "", heading.partition(" › ")[0]) for heading in headings}
        shown = text[:MAX_UNMAPPED_CHARS].replace("\\", "")
        assert len(text) <= MAX_UNMAPPED_CHARS or all(title in shown for title in groups_at_top)
    assert build_llms_txt(manifest) == files


def test_twenty_thousand_pages_without_groups_are_in_nested_lists() -> None:
    manifest = _manifest([(f"Page {at}", None) for at in range(20_000)])
    files = build_llms_txt(manifest)
    assert _listed(files) == Counter(path_to_url(URL, page.markdown) for page in manifest.pages)
    assert 30_000 < len(files["llms.txt"]) < MAX_CHARS


@pytest.mark.parametrize("chars", range(14_700, 15_300, 40))
def test_group_of_about_the_size_of_a_part_is_listed(chars: int) -> None:
    line = len(f"- [Page 0000]({URL}Page%200000/index.md)\n")
    tree = {"Title " * 20: [(f"Page {at:04}", None) for at in range(chars // line)]}
    manifest = _manifest({**tree, "Rest": [(f"Other {at}", None) for at in range(2_000)]})
    assert _listed(build_llms_txt(manifest)) == Counter(path_to_url(URL, page.markdown) for page in manifest.pages)


def test_lists_of_copy_link_to_its_own_files() -> None:
    manifest = _manifest({f"Group {at}": {f"Page {at}-{page}": None for page in range(400)} for at in range(9)})
    files = build_llms_txt(replace(manifest, crawled_from="docs.example"))
    assert len(files) > 1
    assert URL not in "".join(files.values())
    known = {page.markdown for page in manifest.pages} | files.keys() | {"llms-full.txt"}
    for path, text in files.items():
        targets = [posixpath.normpath(posixpath.join(posixpath.dirname(path), url)) for url in _targets(text)]
        assert set(map(unquote, targets)) <= known


def _targets(text: str) -> list[str]:
    return re.findall(r"\]\((\S+?)\)", text)


def _manifest(tree: Tree, *, description: str = "", full: int | None = None) -> Manifest:
    """Return a manifest without the text of its pages."""
    titles: dict[str, str] = {}

    def make_nav(tree: Tree) -> Iterator[NavEntry]:
        for title, below in tree.items() if isinstance(tree, Mapping) else tree:
            if below is not None:
                yield NavEntry(title, f"{len(titles):08x}"[::-1], children=tuple(make_nav(below)))
                continue
            path = title.rstrip("/") + "/"
            path = path if path not in titles else f"{len(titles)}/"
            titles[path] = title
            yield NavEntry(title, f"{len(titles):08x}", path)

    nav = tuple(make_nav(tree))
    pages = []
    for at, (path, title) in enumerate(titles.items(), 1):
        section = SectionEntry(f"{at:08x}", 1, title, 0, 9, "0" * 8, opening=description)
        size = full or 0
        pages.append(PageEntry(section.id, title, path, f"{path}index.md", "", size, (section,), full=full))
    return Manifest(SiteEntry("Docs", URL), tuple(pages), nav)


def _listed(files: Mapping[str, str]) -> Counter[str]:
    text = "".join(files.values())
    return Counter(
        url for url in re.findall(r"^- \[.*?\]\((\S+?)\)(?:: .*)?$", text, re.MULTILINE) if url.endswith(".md")
    )
