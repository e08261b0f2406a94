"""`roaming explain`: text and JSON output."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
from click.testing import CliRunner, Result

from mkdocs_roaming.cli import main
from mkdocs_roaming.manifest.models import RuleCondition, RuleEntry

if TYPE_CHECKING:
    from conftest import MadeSite

PAGES = (
    ("", "# Boat\n\nHow to keep a boat afloat.\n"),
    ("pumps/", "# Pumps\n\n## Pressure\n\nThe bilge pump works at 4.7 bar.\n\n## Oil\n\nChange the oil in spring.\n"),
    ("lamps/", "# Lamps\n\n## Colours\n\nA red lamp means port side.\n"),
)


@pytest.fixture
def site(make_site: Callable[..., MadeSite], tmp_path: Path) -> Path:
    """A published site of six sections and four rules."""
    made = make_site(PAGES)
    ids = {section.title: section.id for section in made.manifest.sections()}
    rules = (
        RuleEntry(RuleCondition(any=("sinking", "taking in water")), (ids["Pressure"], ids["Oil"]), "sinking"),
        RuleEntry(RuleCondition(any=("lamp",), pages=(ids["Lamps"],)), (ids["Colours"],), "lamps"),
        RuleEntry(RuleCondition(all=("pump", "spare part")), (ids["Pumps"],)),
        RuleEntry(RuleCondition(always=True), ("deadbeef",), "lost\x1b[2J\nname"),
    )
    return replace(made, manifest=msgspec.structs.replace(made.manifest, rules=rules)).publish(tmp_path / "site")


def explain(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["explain", *map(str, arguments), "--whole-site-tokens", "0"])


def test_explain_prints_matching_rules(site: Path) -> None:
    result = explain(site, "The pump sinks. Which lamp?")
    assert result.exit_code == 0
    text = result.stdout
    rules = text[: text.index("Search")]
    assert rules == (
        "Rules: 2 fire\n"
        "  1. sinking fires by “sinks” (sinking)\n"
        "    opens [4390f0e4] Pumps › Pressure\n"
        "    opens [b5954434] Pumps › Oil\n"
        "  4. lost[2J name fires on every question\n"
        "    opens nothing\n"
        "    drops [deadbeef] deadbeef: not on this site, or out of scope\n"
    )
    assert "Search: 3 best\n  1. [" in text
    assert "\nOpened by search: 1\n  [" in text
    assert "\nOutline: 6 of 6 sections shown, 0 closed, ~" in text
    assert "\nPrompt: ~" in text


def test_explain_prints_cost_of_question(site: Path, tmp_path: Path) -> None:
    text = explain(site, "Which lamp?").stdout
    assert re.search(r"\nCost with a model: about [\d,]+–[\d,]+ input tokens\n  1 to 4 requests with ~", text)
    assert text.endswith("; set [prices] in roaming.toml to see the cost\n")
    config = tmp_path / "roaming.toml"
    config.write_text("[prices]\ninput = 1.0\ncache_read = 0.1\noutput = 5.0\n[budget]\nrounds = 2\n")
    priced = explain(site, "Which lamp?", "--config", config).stdout
    assert re.search(r"\nCost with a model: about 0\.\d+–0\.\d+ USD\n  1 to 2 requests with ~", priced)
    data = json.loads(explain(site, "Which lamp?", "--config", config, "--json").stdout)
    assert data["cost"]["cost"][0] < data["cost"]["cost"][1]
    prompt = data["prompt"]
    assert data["cost"]["fixed"] == prompt["instructions"] + prompt["tools"] + prompt["outline"]


def test_explain_page_activates_page_rules(site: Path) -> None:
    there = explain(site, "Which lamp?", "--page", "/lamps/").stdout
    assert there.startswith("Page: Lamps\nRules: 2 fire\n  2. lamps fires by “lamp”, the page /lamps/\n")
    elsewhere = explain(site, "Which lamp?", "--page", "/masts/")
    assert elsewhere.exit_code == 0
    assert "Warning: no page '/masts/' on this site" in elsewhere.stderr


def test_explain_json_contains_all_parts(site: Path) -> None:
    data = json.loads(explain(site, "The pump sinks", "--json").stdout)
    assert data["firing"]["opens"] == ["4390f0e4", "b5954434"]
    assert data["firing"]["fired"][0]["found"] == [{"phrase": "sinking", "words": "sinks"}]
    assert data["sections"]["4390f0e4"]["breadcrumb"] == ["Pumps", "Pressure"]
    assert data["outline"]["shown"] == data["outline"]["sections"] == 6
    prompt = data["prompt"]
    assert prompt.pop("total") == sum(prompt.values())


def test_explain_reports_small_site_as_read_whole(site: Path) -> None:
    text = CliRunner().invoke(main, ["explain", str(site), "The pump sinks"]).stdout
    assert "fewer than 8000: a model reads it whole" in text
    assert ", site ~" in text.splitlines()[-3]


def test_explain_uses_configuration_file(site: Path, tmp_path: Path) -> None:
    settings = tmp_path / "roaming.toml"
    settings.write_text("[budget]\nwhole_site_tokens = 0\nopen_chars = 20\n")
    text = (
        CliRunner().invoke(main, ["explain", str(site), "It sinks, taking in water", "--config", str(settings)]).stdout
    )
    assert "not fewer than 0, so it is not read whole" in text
    assert "Pumps › Pressure: exceeds the budget" in text


def test_explain_trust_rules_applies_rules_of_foreign_site(make_site: Callable[..., MadeSite], tmp_path: Path) -> None:
    made = make_site(PAGES)
    opens = made.manifest.pages[1].sections[1].id
    pages = tuple(msgspec.structs.replace(page, origin="markdown") for page in made.manifest.pages)
    manifest = msgspec.structs.replace(
        made.manifest, pages=pages, rules=(RuleEntry(RuleCondition(always=True), (opens,), "mine"),)
    )
    site = replace(made, manifest=manifest).publish(tmp_path / "fetched")
    assert explain(site, "Why?").stdout.startswith(
        "Rules: 1 rule of a site that is not yours is ignored; --trust-rules applies them\n"
    )
    assert explain(site, "Why?", "--trust-rules").stdout.startswith(
        "Rules: 1 fires\n  1. mine fires on every question\n"
    )
    ask = ["ask", str(site), "Why xyzzy?", "--model", "offline", "--whole-site-tokens", "0"]
    assert "Pumps › Pressure" not in CliRunner().invoke(main, ask).stderr
    assert "Pumps › Pressure" in CliRunner().invoke(main, [*ask, "--trust-rules"]).stderr


def test_explain_without_rules_and_results_succeeds(site: Path, make_site: Callable[..., MadeSite]) -> None:
    bare = make_site(PAGES).publish(site.parent / "bare")
    result = explain(bare, "xyzzy")
    assert result.exit_code == 0
    assert result.stdout.startswith("Rules: none fires\nSearch: nothing found\n")
