"""Rules in mkdocs.yml and in front matter: published as ids, or the build stops and names their file and line."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from mkdocs.exceptions import Abort

from mkdocs_roaming.manifest.models import RuleCondition

if TYPE_CHECKING:
    from .conftest import Project

HOME = "# Welcome\n\nSee the guide.\n"
INSTALL = "# Install\n\nRun it.\n\n## Quiet mode\n\nUse `--hush`.\n"
SOURCES = {"index.md": HOME, "guide/install.md": INSTALL}
CONFIG = """\
site_name: Docs
site_url: https://docs.example/sub/
# Tags that only MkDocs understands stand in the way of no line.
markdown_extensions:
  - toc:
      slugify: !!python/name:markdown.extensions.toc.slugify
plugins:
  - search
  - roaming:
      enabled: !ENV [NO_SUCH_VARIABLE, true]
      rules:
        - name: quiet
          when: {any: [hush]}
          open: guide/install.md#quiet-mode

        - when:
            page: guide/*
          open: TARGET
"""


def config(mkdocs: Project, text: str, sources: dict[str, str] | None = None) -> None:
    mkdocs.write(SOURCES if sources is None else sources)
    (mkdocs.folder / "mkdocs.yml").write_text(text, "utf-8")


def stopped(mkdocs: Project, caplog: pytest.LogCaptureFixture) -> str:
    """Build, and give what the build stopped with; nothing of ours is written then."""
    with pytest.raises(Abort):
        mkdocs.build()
    assert not list((mkdocs.folder / "site").rglob("manifest.json"))
    (said,) = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
    return said.replace(f"{mkdocs.folder}/", "")


def test_rules_of_mkdocs_yml_are_published(mkdocs: Project) -> None:
    """Sources become ids, globs over pages become pages."""
    config(mkdocs, CONFIG.replace("TARGET", "index.md"))
    built = mkdocs.build()
    home, install = built.manifest.pages
    quiet, guide = built.manifest.rules
    assert (quiet.name, quiet.when, quiet.open) == ("quiet", RuleCondition(any=("hush",)), (install.sections[1].id,))
    assert (guide.when, guide.open) == (RuleCondition(pages=(install.id,)), (home.id,))
    assert built.faults == ()
    assert "install.md" not in str(built.manifest.rules)


def test_a_target_that_is_gone_is_named_with_its_line(mkdocs: Project, caplog: pytest.LogCaptureFixture) -> None:
    """The line is that of the rule in mkdocs.yml."""
    config(mkdocs, CONFIG.replace("TARGET", "guide/instal.md"))
    assert stopped(mkdocs, caplog) == (
        "roaming: mkdocs.yml:16: opens “guide/instal.md”, which is not a published section; nearest: guide/install.md"
    )


def test_the_shape_is_checked_before_anything_is_built(mkdocs: Project, caplog: pytest.LogCaptureFixture) -> None:
    """A misspelt key is told at once."""
    config(mkdocs, CONFIG.replace("TARGET", "index.md").replace("page: guide/*", "pgae: guide/*"))
    said = stopped(mkdocs, caplog)
    assert said == "roaming: mkdocs.yml:16: `when` has an unknown key “pgae”; did you mean `page`?"
    assert not (mkdocs.folder / "site" / "index.html").exists()


@pytest.mark.parametrize(
    ("plugins", "line"),
    [
        ("plugins: {roaming: {rules: [{when: {any: hush}, open: no.md}]}}\n", "mkdocs.yml:3"),
        ("x: &rules\n  - {when: {any: hush}, open: no.md}\nplugins: [roaming: {rules: *rules}]\n", "mkdocs.yml:4"),
        ("x: &x\n  rules:\n  - {when: {any: hush}, open: no.md}\nplugins: [roaming: {<<: *x}]\n", "mkdocs.yml:5"),
        ("plugins: [roaming]\nhooks: [hook.py]\n", "mkdocs.yml, rule 1"),
    ],
    ids=["a mapping of plugins", "an alias", "a merged mapping", "a hook"],
)
def test_a_line_is_found_however_the_rules_are_written(
    mkdocs: Project, caplog: pytest.LogCaptureFixture, plugins: str, line: str
) -> None:
    """Where there is no line to find, the rule's number stands for it."""
    config(mkdocs, f"site_name: Docs\nsite_url: https://docs.example/\n{plugins}")
    (mkdocs.folder / "hook.py").write_text(
        "def on_config(config):\n"
        "    config.plugins['roaming'].config.rules = [{'when': {'any': 'hush'}, 'open': 'no.md'}]\n"
    )
    assert stopped(mkdocs, caplog).startswith(f"roaming: {line}: opens “no.md”")


def test_inherited_rules_are_named_by_their_own_file(mkdocs: Project, caplog: pytest.LogCaptureFixture) -> None:
    """A configuration that inherits its plugins points to the file in which the rule stands."""
    config(mkdocs, "INHERIT: parts/base.yml\nsite_name: Mine\n")
    (mkdocs.folder / "parts").mkdir()
    (mkdocs.folder / "parts/base.yml").write_text(CONFIG.replace("TARGET", "no.md"), "utf-8")
    assert stopped(mkdocs, caplog).startswith("roaming: parts/base.yml:16: opens “no.md”")


FRONT = """\
---
title: Install
tags: [a]
roaming:
  rules:
    - when: {any: [set up]}
    - name: quiet
      when: {any: [hush]}
      open: TARGET
---
"""


def test_rules_of_a_page_open_that_page(mkdocs: Project) -> None:
    """In front matter `open` may be left out, and `#anchor` is a section of the page."""
    page = FRONT.replace("TARGET", "'#quiet-mode'") + INSTALL
    built = mkdocs({"index.md": HOME, "guide/install.md": page}, plugin={"rules_mode": "pool"})
    install = built.manifest.pages[1]
    assert [(rule.name, rule.open) for rule in built.manifest.rules] == [
        ("", (install.id,)),
        ("quiet", (install.sections[1].id,)),
    ]
    assert built.manifest.rules_mode == "pool"


def test_a_rule_of_a_page_is_named_by_its_source_and_line(mkdocs: Project, caplog: pytest.LogCaptureFixture) -> None:
    """The line is that of the rule in the page's source file."""
    config(mkdocs, CONFIG.replace("TARGET", "index.md"), {"index.md": HOME, "guide/install.md": FRONT + INSTALL})
    said = stopped(mkdocs, caplog)
    assert said == "roaming: docs/guide/install.md:7: opens “TARGET”, which is not a published section"


@pytest.mark.parametrize("given", ["{rule: []}", "true", "[]"])
def test_front_matter_of_another_shape_is_named(mkdocs: Project, caplog: pytest.LogCaptureFixture, given: str) -> None:
    """`roaming` in front matter takes rules."""
    mkdocs.write({"index.md": f"---\nroaming: {given}\n---\n{HOME}"})
    said = stopped(mkdocs, caplog)
    assert said == "roaming: docs/index.md: `roaming` in front matter must be a mapping with the key `rules`, a list"


@pytest.mark.parametrize("hidden", ["llms: false\n", "robots: noindex\n"])
def test_a_rule_on_a_page_that_is_not_published_stops_the_build(
    mkdocs: Project, caplog: pytest.LogCaptureFixture, hidden: str
) -> None:
    """Nobody would ever see that it does nothing."""
    (mkdocs.folder / "theme").mkdir()
    (mkdocs.folder / "theme/main.html").write_text(
        '{% extends "base.html" %}{% block extrahead %}'
        '{% if page.meta.robots %}<meta name="robots" content="{{ page.meta.robots }}">{% endif %}{% endblock %}'
    )
    front = f"---\n{hidden}roaming:\n  rules:\n  - when: {{any: hush}}\n---\n"
    mkdocs.write({**SOURCES, "secret.md": front + INSTALL}, theme={"name": "mkdocs", "custom_dir": "theme"})
    assert stopped(mkdocs, caplog) == (
        "roaming: docs/secret.md:5: the rule is on a page that is not published; "
        "publish the page, or move the rule to mkdocs.yml"
    )


def test_a_rule_that_opens_what_is_not_published_stops_the_build(
    mkdocs: Project, caplog: pytest.LogCaptureFixture
) -> None:
    """A page that is there but kept out can be opened by nobody."""
    sources = {**SOURCES, "secret.md": f"---\nllms: false\n---\n{INSTALL}"}
    config(mkdocs, CONFIG.replace("TARGET", "secret.md"), sources)
    assert stopped(mkdocs, caplog).startswith(
        "roaming: mkdocs.yml:16: opens “secret.md”, which is not a published section"
    )


def test_an_old_id_that_lives_on_is_a_warning(mkdocs: Project) -> None:
    """The build goes on, opens the section that the id has become, and names the id to write."""
    before = mkdocs(SOURCES, site="before")
    old = before.manifest.pages[1].sections[1].id
    renamed = {**SOURCES, "guide/install.md": INSTALL.replace("## Quiet mode", "## Silent mode")}
    options = {"rules": [{"when": {"any": ["hush"]}, "open": [old]}], "previous": "before"}
    built = mkdocs(renamed, plugin=options)
    new = built.manifest.pages[1].sections[1].id
    assert new != old
    assert built.manifest.rules[0].open == (new,)
    (said,) = built.said(logging.WARNING)
    assert said.endswith(f"opens {old}, an old id of {new} (Guide › Install › Silent mode); use the new one")


def test_two_builds_with_rules_are_byte_identical(mkdocs: Project) -> None:
    """The manifest depends on nothing but what was written."""
    config(mkdocs, CONFIG.replace("TARGET", "guide/*"))
    first, second = mkdocs.build("a"), mkdocs.build("b")
    assert len(first.manifest.rules) == 2
    assert first.text("roaming/manifest.json") == second.text("roaming/manifest.json")


def test_rules_of_another_language_are_left_out_where_they_fit_nothing(mkdocs: Project) -> None:
    """A rule holds in every language whose pages it names; where they are named otherwise, the build says so."""
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
    assert any("opens “setup.md#keys”" in said and said.endswith("the rule is skipped") for said in built.said())


def test_a_build_without_rules_loads_nothing_for_them(mkdocs: Project) -> None:
    """The modules that read rules are imported only where there are some."""
    mkdocs.write(SOURCES)
    program = (
        "import sys; from mkdocs.config import load_config; from mkdocs.commands.build import build\n"
        "build(load_config('mkdocs.yml'))\n"
        "print([name for name in sys.modules if name.startswith('mkdocs_roaming.') and 'rule' in name])"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], cwd=mkdocs.folder, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"
    assert Path(mkdocs.folder / "site/roaming/manifest.json").exists()
