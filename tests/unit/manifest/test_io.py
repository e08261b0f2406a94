"""Manifest files: JSON, digest, schema and errors."""

from __future__ import annotations

import json
from collections.abc import Iterator

import jsonschema
import pytest
from msgspec.structs import replace

from mkdocs_roaming.errors import ManifestError
from mkdocs_roaming.manifest.builder import MORE_GROUP, PreviousSite, PublishedPage, build_manifest, sort_by_nav
from mkdocs_roaming.manifest.io import (
    compute_manifest_digest,
    dump_manifest,
    load_manifest,
    render_schema,
    validate_manifest,
    with_digest,
)
from mkdocs_roaming.manifest.lookup import SectionIndex
from mkdocs_roaming.manifest.models import Manifest, NavItem, Page, Site
from mkdocs_roaming.manifest.sections import hash_id, split_sections

URL = "https://docs.example/p/"
GUIDE = (
    "# Guide\n\nHow to begin.\n\n## Install\n\nRun the installer with `--quiet`.\n\n## Remove\n\nDelete the folder.\n"
)
API = "# API\n\nSee [install](https://docs.example/p/guide/index.md#install).\n\n## Ports\n\nIt listens on 8124.\n"


def build(
    pages: dict[str, str],
    nav: tuple[NavItem, ...] = (),
    previous: PreviousSite | None = None,
    warned: list[str] | None = None,
) -> Manifest:
    written = [
        PublishedPage(Page(path, path or "Home"), text, split_sections(text, title=path))
        for path, text in pages.items()
    ]
    warn = (lambda message: None) if warned is None else warned.append
    return build_manifest(Site("Docs", URL, nav=nav), written, previous=previous, warn=warn)


def make_previous(manifest: Manifest, pages: dict[str, str]) -> PreviousSite:
    return PreviousSite(
        manifest, lambda page, section: pages[page.path].encode()[section.start : section.end].decode("utf-8")
    )


def ids_by_title(manifest: Manifest) -> dict[str, str]:
    return {section.title: section.id for section in manifest.sections()}


def test_load_manifest_returns_dumped_manifest() -> None:
    manifest = build(
        {"guide/": GUIDE, "api/": API}, (NavItem("Guide", "guide/"), NavItem("Forum", url="https://f.example/"))
    )
    text = dump_manifest(manifest)
    assert load_manifest(text) == with_digest(manifest)
    assert dump_manifest(load_manifest(text)) == text
    assert validate_manifest(text) == []


def test_digest_covers_all_fields() -> None:
    data = json.loads(dump_manifest(build({"guide/": GUIDE})))
    assert data["digest"] == compute_manifest_digest(data)
    data["pages"][0]["title"] = "Other"
    assert validate_manifest(json.dumps(data)) == ["digest: does not match the rest of the manifest"]


def test_load_manifest_ignores_unknown_fields_and_refuses_higher_versions() -> None:
    data = json.loads(dump_manifest(build({"guide/": GUIDE})))
    data["later"] = data["pages"][0]["later"] = {"x": 1}
    assert load_manifest(json.dumps(data)).pages[0].title == "Guide"
    data["version"] = 2
    with pytest.raises(ManifestError, match=r"version 2, this reads up to 1; upgrade"):
        load_manifest(json.dumps(data))


def invalid_manifests() -> Iterator[tuple[str, object]]:
    yield "not json", "{"
    yield "no manifest", "[]"
    yield "no pages", '{"version": 1}'
    base = json.loads(dump_manifest(build({"guide/": GUIDE})))
    for name, path, value in (
        ("pages no list", ("pages",), {"a": 1}),
        ("id leads out", ("pages", 0, "sections", 0, "id"), "../../x"),
        ("id too short", ("pages", 0, "sections", 0, "id"), "abc"),
        ("page's id another", ("pages", 0, "id"), "00000000"),
        ("end beyond", ("pages", 0, "sections", 0, "end"), 10**9),
        ("start negative", ("pages", 0, "sections", 0, "start"), -1),
        ("start a text", ("pages", 0, "sections", 0, "start"), "0"),
        ("title a number", ("pages", 0, "title"), 7),
        ("keywords mixed", ("pages", 0, "sections", 0, "keywords"), ["a", 1]),
        ("no sections", ("pages", 0, "sections"), []),
        ("bytes true", ("pages", 0, "bytes"), True),
        ("page's url a script", ("pages", 0, "url"), "javascript:alert(1)"),
        ("site's url data", ("site", "url"), "data:text/html,x/"),
    ):
        data = json.loads(json.dumps(base))
        at = data
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = value
        yield name, json.dumps(data)
    deep = json.loads(json.dumps(base))
    inner: dict[str, object] = {"title": "x"}
    for _ in range(200):
        inner = {"title": "x", "id": "00000000", "children": [inner]}
    deep["nav"] = [inner]
    yield "nav too deep", json.dumps(deep)


@pytest.mark.parametrize(
    ("name", "text"), list(invalid_manifests()), ids=lambda value: value if len(str(value)) < 20 else ""
)
def test_load_manifest_reports_invalid_manifest_in_one_line(name: str, text: str) -> None:
    with pytest.raises(ManifestError) as caught:
        load_manifest(text, where="x.json")
    assert str(caught.value).startswith("x.json: ")
    assert "\n" not in str(caught.value)


def test_schema_is_valid_json_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(render_schema()))


def corruptions() -> Iterator[tuple[tuple[str | int, ...], object]]:
    for path in paths(COMPLETE):
        yield from ((path, value) for value in (DELETED, None, True, 7, -1, 10**12, 1.5, "", "x" * 300, ["a"] * 12, {}))


DELETED = object()
SHA = "sha256:" + "0" * 64
COMPLETE = {
    "version": 1,
    "generator": "test",
    "digest": SHA,
    "site": {
        "name": "Docs",
        "url": URL,
        "description": "About docs.",
        "language": "en",
        "version": "1",
        "alternates": [{"manifest": "../fr/roaming/manifest.json", "language": "fr", "version": "2"}],
    },
    "pages": [
        {
            "id": "00000001",
            "title": "Guide",
            "path": "guide/",
            "markdown": "guide/index.md",
            "digest": SHA,
            "bytes": 10,
            "source": "guide.md",
            "origin": "html",
            "description": "A guide.",
            "tags": ["a"],
            "full": 0,
            "tokens": 3,
            "url": URL,
            "sections": [
                {
                    "id": "00000001",
                    "level": 1,
                    "title": "Guide",
                    "start": 0,
                    "end": 10,
                    "digest": "01234567",
                    "anchor": "guide",
                    "body": "01234567",
                    "tokens": 3,
                    "opening": "Opening.",
                    "keywords": ["key"],
                    "links": ["00000002"],
                    "aliases": ["00000003"],
                }
            ],
        }
    ],
    "nav": [{"title": "Group", "id": "00000004", "children": [{"title": "Guide", "id": "00000001", "page": "guide/"}]}],
    "rules": [{"name": "rule", "when": {"any": ["a"], "pages": ["00000001"], "always": True}, "open": ["00000001"]}],
    "rules_mode": "pool",
    "vectors": {"digest": SHA, "bytes": 1, "model": "m", "dimensions": 3, "windows": 4},
    "anchors": True,
    "nav_source": "mkdocs",
}


def paths(value: object, above: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*above, key)
        yield from paths(item, (*above, key))


def test_validate_manifest_agrees_with_published_schema() -> None:
    validator = jsonschema.Draft202012Validator(json.loads(render_schema()))
    assert validator.is_valid(COMPLETE)
    for path, value in corruptions():
        data = json.loads(json.dumps(COMPLETE))
        parent = data
        for key in path[:-1]:
            parent = parent[key]
        if value is DELETED:
            del parent[path[-1]]
        else:
            parent[path[-1]] = value
        faults = [
            fault for fault in validate_manifest(json.dumps(data)) if not fault.startswith("digest: does not match")
        ]
        assert bool(faults) is not validator.is_valid(data), (path, value, faults)


def test_links_between_sections_are_ids() -> None:
    manifest = build({"guide/": GUIDE, "api/": API})
    links = next(section.links for section in manifest.sections() if section.title == "API")
    assert links == (ids_by_title(manifest)["Install"],)


def test_nav_contains_groups_links_and_unlisted_pages() -> None:
    nav = (
        NavItem("Start", children=(NavItem("Guide", "guide/"), NavItem("Forum", url="https://f.example/"))),
        NavItem("Empty", children=(NavItem("Gone", "gone/"),)),
    )
    manifest = build({"guide/": GUIDE, "api/": API}, nav)
    start, more = manifest.nav
    assert (start.id, [child.title for child in start.children]) == (hash_id("nav:Start"), ["Guide", "Forum"])
    assert start.children[1].url == "https://f.example/"
    assert (more.title, [child.page for child in more.children]) == (MORE_GROUP, ["api/"])


def test_sort_by_nav_puts_unlisted_pages_last() -> None:
    site = Site("Docs", URL, nav=(NavItem("B", "b/"), NavItem("X", children=(NavItem("A", "a/"),))))
    pages = [Page("c/", "C"), Page("a/", "A"), Page("b/", "B")]
    assert [page.path for page in sort_by_nav(site, pages)] == ["b/", "a/", "c/"]


def test_renamed_heading_keeps_its_id_as_alias() -> None:
    old = {"guide/": GUIDE}
    first = build(old)
    new = build({"guide/": GUIDE.replace("## Install", "## Set up")}, previous=make_previous(first, old))
    place = SectionIndex(new).get(ids_by_title(first)["Install"])
    assert place is not None
    assert place.section.title == "Set up"


def test_rewritten_section_is_matched_by_its_words() -> None:
    text = "The installer unpacks the archive, checks its signature, asks for a folder and writes a log of all that."
    old = {"guide/": f"# Guide\n\n## Install\n\n{text}\n"}
    first = build(old)
    new = build({"guide/": f"# Guide\n\n## Set up\n\n{text} Done.\n"}, previous=make_previous(first, old))
    place = SectionIndex(new).get(ids_by_title(first)["Install"])
    assert place is not None
    assert place.section.title == "Set up"


def test_moved_page_inherits_aliases() -> None:
    old = {"guide/": GUIDE}
    first = build(old)
    moved = {"start/": GUIDE}
    second = build(moved, previous=make_previous(first, old))
    third_pages = {"begin/": GUIDE}
    third = build(third_pages, previous=make_previous(second, moved))
    for manifest in (second, third):
        place = SectionIndex(manifest).get(ids_by_title(first)["Remove"])
        assert place is not None
        assert place.section.title == "Remove"


def test_heading_that_becomes_repeated_keeps_its_id_as_alias() -> None:
    old = {"guide/": GUIDE}
    first = build(old)
    new = build({"guide/": GUIDE + "\n## More\n\n### Install\n\nSomething else.\n"}, previous=make_previous(first, old))
    place = SectionIndex(new).get(ids_by_title(first)["Install"])
    assert place is not None
    assert place.position == 1


def test_alias_that_is_the_id_of_another_section_is_dropped_with_a_warning() -> None:
    old = {"guide/": GUIDE}
    first = build(old)
    renamed = {"guide/": GUIDE.replace("## Install", "## Set up")}
    second = build(renamed, previous=make_previous(first, old))
    warned: list[str] = []
    both = {"guide/": renamed["guide/"] + "\n## Install\n\nNew and different.\n"}
    third = build(both, previous=make_previous(second, renamed), warned=warned)
    place = SectionIndex(third).get(ids_by_title(first)["Install"])
    assert place is not None
    assert place.section.title == "Install"
    assert len(warned) == 1
    assert ids_by_title(first)["Install"] in warned[0]


def test_resolve_accepts_ids_paths_sources_and_urls() -> None:
    manifest = build({"guide/": GUIDE, "api/": API})
    page = replace(manifest.pages[0], source="guide.md")
    page = replace(page, sections=tuple(replace(entry, anchor=entry.title.lower()) for entry in page.sections))
    places = SectionIndex(replace(manifest, pages=(page, manifest.pages[1])))
    wanted = ids_by_title(manifest)["Install"]
    for address in (wanted, "guide/#install", "/guide#install", "guide.md#install", f"{URL}guide/#install"):
        found = places.resolve(address)
        assert found is not None, address
        assert found.id == wanted
    assert places.resolve("guide/#nowhere") is None
    assert places.resolve("https://elsewhere.example/guide/") is None


def test_resolve_uses_github_slugs_without_html() -> None:
    places = SectionIndex(build({"guide/": GUIDE}))
    found = places.resolve("guide/#install")
    assert found is not None
    assert found.section.title == "Install"


def test_breadcrumb_of_foreign_manifest_is_safe_on_a_line() -> None:
    made_well = build({"guide/": GUIDE}, (NavItem("Start", children=(NavItem("Guide", "guide/"),)),))
    (page,), (start,) = made_well.pages, made_well.nav
    sections = tuple(replace(entry, title=f"{entry.title}\u202e\n") for entry in page.sections)
    turned = replace(page, title="\u2067Guide\x1b", sections=sections)
    places = SectionIndex(replace(made_well, pages=(turned,), nav=(replace(start, title="Sta\u2029rt"),)))
    place = places.get(ids_by_title(made_well)["Install"])
    assert place is not None
    assert places.breadcrumb(place) == ("Sta rt", "Guide", "Install")


def test_breadcrumb_and_neighbours_follow_nav_and_page() -> None:
    manifest = build({"guide/": GUIDE}, (NavItem("Start", children=(NavItem("Guide", "guide/"),)),))
    places = SectionIndex(manifest)
    place = places.resolve(ids_by_title(manifest)["Install"])
    assert place is not None
    assert places.breadcrumb(place) == ("Start", "Guide", "Install")
    first, behind = places.neighbours(place)
    assert first is None
    assert behind is not None
    assert behind.section.title == "Remove"
