"""Comparison of two versions of a site, and `roaming diff`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from mkdocs_roaming.cli import main
from mkdocs_roaming.cli.common import FAULTS_FOUND
from mkdocs_roaming.library.diff import Change, diff_sites
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.manifest.builder import PreviousSite, PublishedPage, build_manifest
from mkdocs_roaming.manifest.io import dump_manifest
from mkdocs_roaming.manifest.models import Page, Site
from mkdocs_roaming.manifest.sections import split_sections

OIL = "The oil is changed every 310 hours, after the pump has cooled down and the drain plug was cleaned."
LAMP = "A red lamp means port side, a green one starboard, a white one that nobody is at the wheel."
BEFORE = {
    "": "# Boat\n\nAll about the boat.\n",
    "pumps/": f"# Pumps\n\nThey take out water.\n\n## Oil\n\n{OIL}\n\n## Pressure\n\n4.7 bar.\n\n## Noise\n\nNone.\n",
    "lamps/": f"# Lamps\n\n{LAMP}\n",
    "sails/": "# Sails\n\nThere are two.\n\n## Colours\n\nWhite.\n",
}
AFTER = {
    "": "# Boat\n\nAll about the boat.\n",
    "pumps/": "# Pumps\n\nThey take out water.\n\n## Pressure\n\n6.1 bar.\n\n## Filters\n\nClean them.\n",
    "care/": f"# Care\n\nWhat to do when.\n\n## Oil\n\n{OIL}\n",
    "lights/": f"# Lamps\n\n{LAMP}\n",
}


def roaming(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def versions(make_site: Callable[..., Any]) -> tuple[Library, Library]:
    return make_site(list(BEFORE.items())).library(), make_site(list(AFTER.items())).library()


def describe(changes: tuple[Change, ...]) -> set[tuple[str, str, str]]:
    def name(change: Change, side: str) -> str:
        location = getattr(change, side)
        return f"{location.path}#{location.title}" if location else ""

    return {(change.kind, name(change, "before"), name(change, "after")) for change in changes}


def test_diff_classifies_changes_of_pages_and_sections(versions: tuple[Library, Library]) -> None:
    found = diff_sites(*versions)
    assert describe(found.pages) == {
        ("changed", "pumps/#Pumps", "pumps/#Pumps"),
        ("added", "", "care/#Care"),
        ("moved", "lamps/#Lamps", "lights/#Lamps"),
        ("removed", "sails/#Sails", ""),
    }
    assert describe(found.sections) == {
        ("changed", "pumps/#Pressure", "pumps/#Pressure"),
        ("added", "", "pumps/#Filters"),
        ("added", "", "care/#Care"),
        ("moved", "pumps/#Oil", "care/#Oil"),
        ("moved", "lamps/#Lamps", "lights/#Lamps"),
        ("removed", "pumps/#Noise", ""),
        ("removed", "sails/#Sails", ""),
        ("removed", "sails/#Colours", ""),
    }


def test_diff_of_a_version_with_itself_is_empty(versions: tuple[Library, Library]) -> None:
    for version in versions:
        found = diff_sites(version, version)
        assert found.is_empty
        assert found.aliases == {}


def test_diff_in_reverse_has_opposite_changes(versions: tuple[Library, Library]) -> None:
    forth, back = diff_sites(*versions), diff_sites(*reversed(versions))
    opposite = {"added": "removed", "removed": "added"}
    inverted = {(opposite.get(kind, kind), after, before) for kind, before, after in describe(forth.sections)}
    assert inverted == describe(back.sections)
    assert {new: old for old, new in forth.aliases.items()} == back.aliases


def test_renamed_heading_is_recognized_by_its_text(make_site: Callable[..., Any]) -> None:
    long = f"{OIL} {LAMP}"
    before = make_site([("", f"# Boat\n\n## Oil\n\n{long}\n")]).library()
    after = make_site([("", f"# Boat\n\n## Misc\n\n{long}\n")]).library()
    edited = make_site([("", f"# Boat\n\n## Misc\n\n{long.replace('310', '290')}\n")]).library()
    (change,) = diff_sites(before, after).sections
    assert (change.kind, change.text) == ("renamed", False)
    (change,) = diff_sites(before, edited).sections
    assert (change.kind, change.text) == ("renamed", True)


def test_published_aliases_are_distinguished_from_missing_ones(
    versions: tuple[Library, Library], make_site: Callable[..., Any], tmp_path: Path
) -> None:
    before, bare = versions
    oil = next(ref.id for ref in before.sections if ref.section.title == "Oil")
    assert oil in diff_sites(before, bare).aliases
    assert oil not in diff_sites(before, bare).published
    one = make_site(list(BEFORE.items())).publish(tmp_path / "one")
    other = make_site(list(AFTER.items()))
    without_previous = roaming("diff", one, other.publish(tmp_path / "bare")).stdout
    assert "Ids without an alias although their sections still exist: 2" in without_previous
    assert "`previous`" in without_previous
    pages = [PublishedPage(Page(path, path), text, split_sections(text, title=path)) for path, text in AFTER.items()]
    previous = PreviousSite(before.manifest, lambda page, section: None)
    folder = other.publish(tmp_path / "aliased")
    manifest = build_manifest(Site("Docs", "https://docs.example/p/"), pages, previous=previous)
    (folder / "roaming/manifest.json").write_text(dump_manifest(manifest), "utf-8")
    with_previous = roaming("diff", one, folder).stdout
    assert "Ids that became aliases: 2" in with_previous
    assert "without an alias" not in with_previous


def test_command_exits_with_4_if_there_are_changes(make_site: Callable[..., Any], tmp_path: Path) -> None:
    one = make_site(list(BEFORE.items())).publish(tmp_path / "one")
    other = make_site(list(AFTER.items())).publish(tmp_path / "other")
    result = roaming("diff", one, other)
    assert result.exit_code == FAULTS_FOUND
    assert "Pages: 1 added, 1 changed, 1 moved, 1 removed" in result.stdout
    assert "moved    lamps/ → lights/  Lamps" in result.stdout
    assert "Oil, from pumps/" in result.stdout
    assert "Colours" not in result.stdout  # covered by the removed page
    same = roaming("diff", one, one)
    assert (same.exit_code, same.stdout.splitlines()[1]) == (0, "Nothing changed.")
    data = json.loads(roaming("diff", one, other, "--json").stdout)
    assert len(data["sections"]) == 8
    assert len(data["aliases"]) == len(data["unpublished"]) == 2


def test_unrelated_sites_are_reported_first(make_site: Callable[..., Any], tmp_path: Path) -> None:
    one = make_site([(f"{name}/", f"# Old {name}\n\nAbout {name}.\n") for name in "abcdefgh"]).publish(tmp_path / "one")
    other = make_site([(f"{name}/", f"# New {name}\n\nOn {name * 9}.\n") for name in "stuvwxyz"]).publish(
        tmp_path / "two"
    )
    assert roaming("diff", one, other).stdout.splitlines()[1].endswith("are these two versions of one site?")
    assert "two versions of one site" not in roaming("diff", one, one).stdout


def test_long_lists_of_ids_are_truncated(make_site: Callable[..., Any], tmp_path: Path) -> None:
    texts = [f"The valve number {at} of pump {at} is closed by turning wheel {at} to the left." for at in range(30)]
    pages = {
        name: [("", "# Boat\n\n" + "".join(f"## {name} {at}\n\n{text}\n\n" for at, text in enumerate(texts)))]
        for name in ("Valve", "Wheel")
    }
    one, other = (make_site(pages[name]).publish(tmp_path / name) for name in pages)
    shown = roaming("diff", one, other).stdout.split("their sections still exist: 30\n")[1].splitlines()
    assert shown[20] == "  and 10 more; --json lists all"
    assert len(json.loads(roaming("diff", one, other, "--json").stdout)["unpublished"]) == 30
