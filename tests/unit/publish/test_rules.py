"""Rules in a file, published with `roaming index`: resolved targets and error messages."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result
from tables import read_tables

from mkdocs_roaming.cli import main
from mkdocs_roaming.manifest.io import load_manifest, validate_manifest
from mkdocs_roaming.manifest.lookup import SectionIndex
from mkdocs_roaming.manifest.models import Manifest, RuleCondition, RuleEntry

TABLES = read_tables(__file__)

KEYS = (
    "`rules` is a list of mappings with the keys `name`, `when` and `open`; the keys of `when` are `any`, `all`, `page`"
    " and `always`; quote values such as on or 3.10"
)
INVALID_RULES = yaml.safe_load(
    (Path(__file__).parents[2] / "golden" / "rules" / "invalid_rules.yml").read_text("utf-8")
)
PAGES = TABLES["pages"]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A built site without source files or configuration."""
    monkeypatch.chdir(tmp_path)
    for name, body in PAGES.items():
        file = tmp_path / "site" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        html = f'<html lang="en"><head><title>Boat</title></head><body><main>{body}</main></body></html>'
        file.write_text(html, "utf-8")
    return tmp_path / "site"


def index(site: Path, rules: str) -> Result:
    file = site.parent / "rules.yml"
    file.write_text(rules, "utf-8")
    arguments = ["index", str(site), "--url", "https://boat.example/", "--no-html", "--rules", str(file)]
    return CliRunner().invoke(main, arguments)


def publish(site: Path, rules: str) -> Manifest:
    result = index(site, rules)
    assert result.exit_code == 0, result.stderr
    text = (site / "roaming/manifest.json").read_text("utf-8")
    assert validate_manifest(text) == []
    return load_manifest(text)


@pytest.mark.parametrize("case", INVALID_RULES, ids=lambda case: case["note"])
def test_invalid_rule_stops_build_with_its_number(site: Path, case: dict[str, str]) -> None:
    result = index(site, case["rules"])
    assert result.exit_code == 1
    name = str(site.parent / "rules.yml")
    assert result.stderr.strip() == f"roaming: {case['message']}".replace("FILE", name).replace("HINT", KEYS)
    assert not (site / "roaming").exists()


def test_rule_targets_are_published_as_ids(site: Path) -> None:
    """Phrases are normalized."""
    manifest = publish(
        site,
        TABLES["rules with all kinds of addresses"],
    )
    places = SectionIndex(manifest)

    def find_id(address: str) -> str:
        place = places.resolve(address)
        assert place is not None
        return place.id

    install, use, home = find_id("guide/install/"), find_id("guide/use/"), manifest.pages[0].id
    opens = (find_id("guide/install/#quiet-mode"), use, find_id("guide/use/#ports"), home)
    first, second = manifest.rules
    assert first == RuleEntry(
        RuleCondition(any=("move from 3.x", "setup"), all=("boat",), pages=(install, use, home)),
        opens,
        "all kinds of addresses",
    )
    assert second == RuleEntry(RuleCondition(always=True), (install, use))


def test_rule_can_name_section_by_id(site: Path) -> None:
    manifest = publish(site, "[]")
    quiet = manifest.pages[1].sections[1].id
    assert publish(site, f"[{{when: {{any: hush}}, open: '{quiet}'}}]").rules[0].open == (quiet,)


def test_rule_that_opens_too_many_sections_is_an_error(site: Path) -> None:
    many = "".join(f'<h2 id="part-{at}">Part {at}</h2><p>Text.</p>' for at in range(70))
    page = site / "guide/use/index.html"
    page.write_text(page.read_text("utf-8").replace("</main>", f"{many}</main>"), "utf-8")
    result = index(site, "[{when: {any: hush}, open: 'guide/use/#part-*'}]")
    assert "opens 70 sections, but an answer has room for only a few; use a narrower glob" in result.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [*TABLES["invalid rules file is reported in one line"], ("- " * 5000, "invalid YAML")],
)
def test_invalid_rules_file_is_reported_in_one_line(site: Path, text: str | None, message: str) -> None:
    file = site.parent / "other.yml"
    if text is not None:
        file.write_text(text, "utf-8")
    result = CliRunner().invoke(main, ["index", str(site), "--url", "https://boat.example/", "--rules", str(file)])
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert f"{file}: {message}" in result.stderr
