"""A report holds together: one order, fingerprints that last, switches, globs, lines of sources, the score."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.lint.config import Config, config_of, with_options
from mkdocs_roaming.lint.context import docs_of
from mkdocs_roaming.lint.formats import find_location
from mkdocs_roaming.lint.models import SEVERITIES, Finding
from mkdocs_roaming.lint.runner import compute_score, lint
from mkdocs_roaming.manifest.lookup import SectionIndex
from mkdocs_roaming.manifest.sections import hash_id

from .conftest import GOLDEN, case_docs

severities = st.lists(st.sampled_from(SEVERITIES), max_size=60)


def found(case: str, config: Config | None = None) -> tuple[Finding, ...]:
    docs, _ = case_docs(GOLDEN / case)
    return lint(docs, config).findings


@given(severities, st.sampled_from(SEVERITIES), st.integers(1, 5000))
def test_one_more_finding_never_adds_to_the_score(some: list[str], more: str, sections: int) -> None:
    """100 is nothing found, and nothing else; a worse finding takes no less than a slighter one."""
    before, after = compute_score(some, sections), compute_score([*some, more], sections)
    assert 0 <= after <= before <= 100
    assert (before == 100) == (not some)
    assert (
        compute_score([*some, "error"], sections)
        <= compute_score([*some, "warning"], sections)
        <= compute_score([*some, "hint"], sections)
    )


@given(severities, st.integers(1, 200), st.integers(1, 50))
def test_small_sites_and_large_ones_compare(some: list[str], sections: int, times: int) -> None:
    """A site that is the same many times over has the same score."""
    assert compute_score(some * times, sections * times) == compute_score(some, sections)


def test_findings_stand_in_one_order() -> None:
    """By the site first, then by pages as the manifest has them, then by lines; twice the same."""
    once, again = found("broken-link/fires"), found("broken-link/fires")
    assert once == again
    assert [finding.line for finding in once] == sorted(finding.line for finding in once)


def test_fingerprints_tell_findings_apart_and_last(tmp_path: Path) -> None:
    """No two findings share one, and text that is put in above changes none of them."""
    before = found("orders-to-models/fires")
    assert len({finding.fingerprint for finding in before}) == len(before) > 3
    shutil.copytree(GOLDEN / "orders-to-models/fires", tmp_path / "moved")
    page = tmp_path / "moved" / "valves.md"
    page.write_text(page.read_text("utf-8").replace("# Valves\n", "# Valves\n\nMore\ntext.\n", 1), "utf-8")
    after = lint(case_docs(tmp_path / "moved")[0]).findings
    assert [finding.fingerprint for finding in after] == [finding.fingerprint for finding in before]
    assert [finding.line for finding in after] == [finding.line + 3 for finding in before]


def test_a_comment_switches_rules_off_on_its_page_alone() -> None:
    """`<!-- roaming-lint: off empty-title, hidden-text -->` spares those rules, without names it spares all."""
    docs, _ = case_docs(GOLDEN / "clean/silenced")
    assert docs.text_of["valves/"].silenced == {"empty-title", "hidden-text"}
    assert docs.text_of["off/"].silenced == {"*"}
    assert docs.text_of[""].silenced == frozenset()


def test_globs_spare_pages() -> None:
    """`pages` is matched against sources and paths; `*` among the rules is all of them."""
    assert {finding.rule for finding in found("empty-title/fires")} == {"empty-title"}
    assert found("empty-title/fires", Config(pages={"val*.md": frozenset({"empty-title"})})) == ()
    assert found("empty-title/fires", Config(pages={"valves/": frozenset({"*"})})) == ()
    assert found("empty-title/fires", Config(pages={"other/*": frozenset({"*"})}))


def test_a_level_alone_is_enough() -> None:
    """YAML makes False of `off`, and True is what one writes to have it."""
    levels = [config_of(given, "lint").level for given in ("warn", "strict", "off", False, True, None)]
    assert levels == ["warn", "strict", "off", "off", "warn", "off"]
    assert config_of({"disable": ["no-opening"]}, "lint") == Config("warn", frozenset({"no-opening"}))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("loud", "'loud' is no level; write warn, strict or off"),
        ({"disabled": []}, "has no key 'disabled'"),
        ({"disable": ["no-such"]}, "there is no rule 'no-such'; there are empty-page-title,"),
        ({"disable": "no-opening"}, "is a list of rules"),
        ({"pages": ["x"]}, "pages is a table of globs"),
        ({"pages": {"x": ["nope"]}}, "pages: x: there is no rule 'nope'"),
        (3, "is int; write warn, strict or off, or a table"),
    ],
)
def test_what_cannot_be_asked_for_is_named(given: object, said: str) -> None:
    """A wrong setting is one line with its place and what may stand there."""
    with pytest.raises(UsageError) as error:
        config_of(given, "mkdocs.yml: lint")
    assert said in str(error.value)
    assert str(error.value).startswith("mkdocs.yml: lint")


def test_the_command_line_goes_before_the_file() -> None:
    """`--enable` gives back what a file disables, `--disable` takes what it enables."""
    file = Config(disable=frozenset({"no-opening"}), enable=frozenset({"skipped-level"}))
    asked = with_options(file, ["skipped-level"], ["no-opening"], strict=True)
    assert (asked.level, asked.looks("no-opening"), asked.looks("skipped-level")) == ("strict", True, False)


def test_an_id_that_was_hashed_again_is_found() -> None:
    """Where two hashes are the same the second is computed again: it changes once the first section goes."""
    docs, _ = case_docs(GOLDEN / "unstable-id/near")
    page = docs.manifest.pages[-1]
    again = replace(page.sections[1], id=hash_id("valves/#inlet~1"))
    page = replace(page, sections=(page.sections[0], again, *page.sections[2:]))
    manifest = replace(docs.manifest, pages=(*docs.manifest.pages[:-1], page))
    (finding,) = lint(docs_of(SectionIndex(manifest), lambda page: docs.text_of[page.path].markdown)).findings
    assert (finding.rule, finding.breadcrumb[-1]) == ("unstable-id", "Inlet valve")
    assert "another section's hash is the same" in finding.message


def test_findings_name_the_lines_of_sources() -> None:
    """Front matter, other line breaks and macros move lines: what counts is what the author sees."""
    docs, _ = case_docs(GOLDEN / "empty-title/fires")
    source = (
        "---\ntitle: Valves\n---\n\n\n# Valves\n\nTwo valves\nlet water in.\n\n"
        "\n## 2. Notes {: #n }\n\n### More information: {#m}\n"
    )
    report = lint(docs, sources={"valves.md": source}.get)
    assert [find_location(finding, "docs") for finding in report.findings] == [
        ("docs/valves.md", 12),
        ("docs/valves.md", 14),
    ]
    bare = lint(docs, sources={"valves.md": "{{ all_of_it }}\n"}.get)
    assert [find_location(finding, "docs")[0] for finding in bare.findings] == ["valves/index.md"] * 2


def test_a_link_is_found_where_its_source_writes_it() -> None:
    """The published link is absolute, the source's is not: the end of it is enough."""
    docs, _ = case_docs(GOLDEN / "broken-link/fires")
    source = "# Tide pump\n\nA pump.\n\nSee [valves](valve.md)\nand [the plan](img/plan.png).\n\n[x](gone.md#a)\n"
    report = lint(docs, sources={"index.md": source}.get)
    assert [finding.source_line for finding in report.findings] == [5, 6, 8]


def test_folders_are_read_where_they_lie(tmp_path: Path) -> None:
    """Nothing outside of the folder is looked at, whatever a manifest says."""
    from mkdocs_roaming.lint.runner import open_sources

    (tmp_path / "docs").mkdir()
    (tmp_path / "secret.md").write_text("# S\n")
    (tmp_path / "docs" / "a.md").write_text("# A\n")
    read = open_sources(tmp_path / "docs")
    assert [read("a.md"), read("../secret.md"), read("/etc/hostname"), read("b.md")] == ["# A\n", None, None, None]
