"""Rules in mkdocs.yml and in front matter: published as ids, or the build stops and names their file and number."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest
from mkdocs.exceptions import Abort
from tables import read_tables

from mkdocs_roaming.manifest.models import RuleCondition

if TYPE_CHECKING:
    from .conftest import Project

TABLES = read_tables(__file__)

HOME = "# Welcome\n\nSee the guide.\n"
INSTALL = "# Install\n\nRun it.\n\n## Quiet mode\n\nUse `--hush`.\n"
SOURCES = {"index.md": HOME, "guide/install.md": INSTALL}
CONFIG = TABLES["config"]


def config(mkdocs: Project, text: str, sources: dict[str, str] = SOURCES) -> None:
    mkdocs.write(sources)
    (mkdocs.folder / "mkdocs.yml").write_text(text, "utf-8")


def build_error(mkdocs: Project, caplog: pytest.LogCaptureFixture) -> str:
    """Build, and return the error that aborted the build; nothing is published then."""
    with pytest.raises(Abort):
        mkdocs.build()
    assert not list((mkdocs.folder / "site").rglob("manifest.json"))
    (message,) = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
    return message.replace(f"{mkdocs.folder}/", "")


def test_config_rules_are_published_as_ids(mkdocs: Project) -> None:
    config(mkdocs, CONFIG.replace("TARGET", "index.md"))
    built = mkdocs.build()
    home, install = built.manifest.pages
    quiet, guide = built.manifest.rules
    assert (quiet.name, quiet.when, quiet.open) == ("quiet", RuleCondition(any=("hush",)), (install.sections[1].id,))
    assert (guide.when, guide.open) == (RuleCondition(pages=(install.id,)), (home.id,))
    assert built.faults == ()
    assert built.text("roaming/manifest.json") == mkdocs.build("again").text("roaming/manifest.json")
    assert "install.md" not in str(built.manifest.rules)


def test_invalid_rule_aborts_before_build(mkdocs: Project, caplog: pytest.LogCaptureFixture) -> None:
    config(mkdocs, CONFIG.replace("TARGET", "index.md").replace("page: guide/*", "pgae: guide/*"))
    message = build_error(mkdocs, caplog)
    assert message.startswith("roaming: mkdocs.yml, rule 2: when: unknown key `pgae`. `rules` is a list")
    assert not (mkdocs.folder / "site" / "index.html").exists()


FRONT = TABLES["front"]


def test_page_rules_open_the_page_or_its_sections(mkdocs: Project) -> None:
    page = FRONT.replace("TARGET", "'#quiet-mode'") + INSTALL
    built = mkdocs({"index.md": HOME, "guide/install.md": page})
    install = built.manifest.pages[1]
    assert [(rule.name, rule.open) for rule in built.manifest.rules] == [
        ("", (install.id,)),
        ("quiet", (install.sections[1].id,)),
    ]


@pytest.mark.parametrize(("target", "sources", "message"), TABLES["faults"])
def test_fault_is_reported_with_its_file_and_the_number_of_the_rule(
    mkdocs: Project, caplog: pytest.LogCaptureFixture, target: str, sources: dict[str, str], message: str
) -> None:
    sources = {
        path: text.replace("FRONT", FRONT).replace("INSTALL", INSTALL).replace("HOME", HOME)
        for path, text in sources.items()
    }
    config(mkdocs, CONFIG.replace("TARGET", target), SOURCES | sources)
    assert build_error(mkdocs, caplog).startswith(f"roaming: {message}")


def test_rule_on_unpublished_page_aborts_build(mkdocs: Project, caplog: pytest.LogCaptureFixture) -> None:
    front = "---\nllms: false\nroaming:\n  rules:\n  - when: {any: hush}\n---\n"
    mkdocs.write({**SOURCES, "secret.md": front + INSTALL})
    assert build_error(mkdocs, caplog) == (
        "roaming: secret.md, rule 1: the rule is on a page that is not published; "
        "publish the page, or move the rule to mkdocs.yml"
    )


def test_rule_with_old_id_opens_new_section_with_warning(mkdocs: Project) -> None:
    before = mkdocs(SOURCES, site="before")
    old = before.manifest.pages[1].sections[1].id
    renamed = {**SOURCES, "guide/install.md": INSTALL.replace("## Quiet mode", "## Silent mode")}
    options = {"rules": [{"when": {"any": ["hush"]}, "open": [old]}], "previous": "before"}
    built = mkdocs(renamed, plugin=options)
    new = built.manifest.pages[1].sections[1].id
    assert new != old
    assert built.manifest.rules[0].open == (new,)
    (message,) = built.messages(logging.WARNING)
    assert message.endswith(f"opens {old}, an old id of {new} (Guide › Install › Silent mode); use the new one")


def test_rules_without_target_in_a_translation_are_skipped(mkdocs: Project) -> None:
    languages = [{"locale": "en", "default": True, "name": "English"}, {"locale": "fr", "name": "Français"}]
    rules = [
        {"when": {"any": ["setup"]}, "open": "setup.md"},
        {"when": {"any": ["keys"]}, "open": "setup.md#keys"},
    ]
    built = mkdocs(
        {
            "index.md": HOME,
            "index.fr.md": "# Bienvenue\n",
            "setup.md": "# Setup\n\n## Keys\n\nTurn the key.\n",
            "setup.fr.md": "# Installation\n\n## Clés\n\nTournez la clé.\n",
        },
        plugins=[
            "search",
            {"i18n": {"docs_structure": "suffix", "languages": languages}},
            {"roaming": {"rules": rules}},
        ],
    )
    french = built.below("fr").manifest
    assert len(built.manifest.rules) == 2
    (setup,) = french.rules
    assert setup.open == (next(page.id for page in french.pages if page.path == "setup/"),)
    assert any(
        "opens “setup.md#keys”" in message and message.endswith("the rule is skipped") for message in built.messages()
    )
