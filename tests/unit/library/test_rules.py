"""Rules: which match a question, by which words, which sections they open, and their budget."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
import yaml

from mkdocs_roaming.errors import ManifestError
from mkdocs_roaming.library.navigator import MIN_CAP, Navigator
from mkdocs_roaming.library.rules import PhraseMatcher, RulesResult, apply_rules, match_rules, rules_share
from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.manifest.io import dump_manifest, load_manifest, validate_manifest
from mkdocs_roaming.manifest.lookup import SectionIndex
from mkdocs_roaming.manifest.models import RuleCondition, RuleEntry

TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))

if TYPE_CHECKING:
    from ..conftest import MadeSite
    from .conftest import LocalServer

PHRASES = Path(__file__).parents[2] / "golden" / "rules" / "phrases.yml"
PAGES = (
    ("", "# Home\n\nWelcome.\n\n## Notes\n\nTwo notes.\n"),
    (
        "pumps/",
        "# Pumps\n\nPumps move water.\n\n## Pressure\n\nPressure is 4.7 bar.\n\n## Oil\n\nChange the oil.\n",
    ),
    ("lamps/", "# Lamps\n\nLamps shine.\n\n## Colours\n\nA red lamp means port side.\n"),
    ("long/", "# Long\n\n" + "Water runs. " * 400 + "\n\n## Tail\n\n" + "Water stops. " * 2000 + "\n"),
)


@pytest.fixture
def site(make_site: Callable[..., MadeSite]) -> MadeSite:
    """Four pages, nine sections; one page is longer than the result of a call."""
    return make_site(PAGES)


@pytest.fixture
def ids(site: MadeSite) -> dict[str, str]:
    return {section.title: section.id for section in site.manifest.sections()}


def rule(*opens: str, name: str = "", **when: Any) -> RuleEntry:
    return RuleEntry(RuleCondition(**when), opens, name)


@pytest.mark.parametrize("case", yaml.safe_load(PHRASES.read_text("utf-8")), ids=lambda case: case["phrase"])
def test_find_matches_phrase_in_any_case_accent_and_inflection(case: dict[str, str | None]) -> None:
    """The words of the question are returned as they were written."""
    language, phrase, question = str(case["language"]), str(case["phrase"]), str(case["question"])
    assert PhraseMatcher(question, language).find(phrase) == case["found"]


def test_match_rules_requires_any_all_and_pages_together(site: MadeSite, ids: dict[str, str]) -> None:
    """`any` requires one phrase, `all` every phrase, `pages` the reader's page; all given conditions must hold."""
    sections = SectionIndex(site.manifest)
    rules = [
        rule(ids["Oil"], any=("pump", "oil")),
        rule(ids["Oil"], all=("pump", "oil")),
        rule(ids["Oil"], any=("pump",), pages=(ids["Lamps"],)),
        rule(ids["Oil"], pages=(ids["Lamps"],)),
        rule(ids["Notes"], always=True),
        rule(ids["Notes"]),  # without a condition
    ]

    def numbers(question: str, page: str | None = None) -> list[int]:
        return [one.number for one in match_rules(rules, question, page, sections).fired]

    assert numbers("a pump") == [1, 5]
    assert numbers("oil of a pump") == [1, 2, 5]
    assert numbers("a pump", "/lamps/") == [1, 3, 4, 5]
    assert numbers("hello", "https://docs.example/p/lamps/#colours") == [4, 5]
    assert numbers("hello", "pumps/") == [5]


def test_match_rules_reports_matching_words(site: MadeSite, ids: dict[str, str]) -> None:
    rules = [
        rule(ids["Oil"], name="oil", any=("oil change", "grease")),
        rule(ids["Pressure"], name="pressure", all=("pump", "pressure of the bar")),
        rule(ids["Colours"], name="lamps", any=("pump",), pages=(ids["Lamps"],)),
        rule(ids["Notes"], name="far off", any=("tide",)),
    ]
    result = match_rules(rules, "Oil changes of a pump, how many bar?", None, SectionIndex(site.manifest))
    (fired,) = result.fired
    assert fired.words == ("Oil changes",)


def test_match_rules_opens_first_section_of_every_rule_first(site: MadeSite, ids: dict[str, str]) -> None:
    """Sections beyond the limit of one call are not opened."""
    rules = [rule(ids["Pumps"], ids["Oil"], always=True), rule(ids["Lamps"], ids["Colours"], always=True)]
    sections = SectionIndex(site.manifest)
    assert match_rules(rules, "", None, sections).opens == (ids["Pumps"], ids["Lamps"], ids["Oil"], ids["Colours"])
    result = match_rules(rules, "", None, sections, cap=3 * MIN_CAP)
    assert result.opens == (ids["Pumps"], ids["Lamps"], ids["Oil"])
    assert all(rule.opens for rule in result.fired)


def test_match_rules_reports_rule_without_room(site: MadeSite, ids: dict[str, str]) -> None:
    rules = [rule(ids["Long"], always=True), rule(ids["Oil"], always=True)]
    result = match_rules(rules, "", None, SectionIndex(site.manifest), chars=1_000)
    assert result.opens == (ids["Oil"],)
    assert [rule.number for rule in result.fired if not rule.opens] == [1]


def test_match_rules_opens_shared_section_once(site: MadeSite, ids: dict[str, str]) -> None:
    """It counts for both rules."""
    rules = [rule(ids["Oil"], always=True), rule(ids["Oil"], any=("oil",))]
    result = match_rules(rules, "oil", None, SectionIndex(site.manifest))
    assert result.opens == (ids["Oil"],)
    assert [one.opens for one in result.fired] == [(ids["Oil"],), (ids["Oil"],)]


def test_match_rules_resolves_alias_and_drops_unknown_id(site: MadeSite, ids: dict[str, str]) -> None:
    """The rules are of an older manifest."""
    pages = tuple(
        msgspec.structs.replace(
            page,
            sections=tuple(
                msgspec.structs.replace(one, aliases=(f"{at:07x}a",)) for at, one in enumerate(page.sections)
            ),
        )
        if page.path == "pumps/"
        else page
        for page in site.manifest.pages
    )
    sections = SectionIndex(msgspec.structs.replace(site.manifest, pages=pages))
    result = match_rules([rule("0000002a", "ffffffff", always=True)], "", None, sections)
    assert result.opens == (ids["Oil"],)


def test_apply_rules_ignores_rules_of_untrusted_site(
    site: MadeSite, ids: dict[str, str], tmp_path: Path, server: LocalServer
) -> None:
    """The rules of a local folder apply; those of a URL or a crawled site only with `trusted`."""
    manifest = msgspec.structs.replace(site.manifest, rules=(rule(ids["Oil"], always=True),))
    site = replace(site, manifest=manifest)
    folder = open_library(site.publish(tmp_path / "own"))
    assert apply_rules(Navigator(folder), "", None, 30_000).opens == (ids["Oil"],)
    server.put({**site.files, "roaming/manifest.json": dump_manifest(manifest)})
    fetched = tuple(msgspec.structs.replace(page, origin="markdown") for page in manifest.pages)
    crawled = replace(site, manifest=msgspec.structs.replace(manifest, pages=fetched))
    for library in (open_library(server.url), open_library(crawled.publish(tmp_path / "crawled"))):
        assert apply_rules(Navigator(library), "", None, 30_000) == RulesResult()
        library.trusted = True
        assert apply_rules(Navigator(library), "", None, 30_000).opens == (ids["Oil"],)


@pytest.mark.parametrize(("broken", "says"), TABLES["load_manifest_with_invalid_rule_raises_error_with_path"])
def test_load_manifest_with_invalid_rule_raises_error_with_path(
    site: MadeSite, broken: dict[str, Any], says: str
) -> None:
    """Loading and the JSON Schema both reject it."""
    data = json.loads(dump_manifest(site.manifest)) | {"rules": [broken]}
    with pytest.raises(ManifestError, match=re.escape(says)):
        load_manifest(json.dumps(data))
    assert validate_manifest(json.dumps(data))[0].startswith("rules/0")


def test_rules_share_leaves_half_of_the_budget() -> None:
    """Earlier answers may leave less than half."""
    assert (rules_share(60_000), rules_share(60_000, 50_000), rules_share(60_000, 60_000), rules_share(1)) == (
        30_000,
        10_000,
        0,
        0,
    )
