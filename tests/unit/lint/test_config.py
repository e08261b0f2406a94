"""Configuration of the linter."""

from __future__ import annotations

import pytest

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.lint.runner import LintConfig, parse_config

from .cases import lint_case


def test_parse_config_accepts_level_alone() -> None:
    levels = [parse_config(value, "lint").level for value in ("warn", "strict", "off", False, True, None)]
    assert levels == ["warn", "strict", "off", "off", "warn", "off"]
    assert parse_config({"disable": ["no-opening"]}, "lint") == LintConfig("warn", frozenset({"no-opening"}))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            "loud",
            "level: expected off or strict or warn, got 'loud'. Set warn, strict or off, or a table with the keys level, disable and pages",
        ),
        (
            {"disabled": []},
            "disabled: unknown option; did you mean `disable`? Available options: level, disable, pages. Set warn",
        ),
        ({"disable": ["no-such"]}, "disable: unknown rule 'no-such'. Known rules: empty-page-title,"),
        ({"disable": "no-opening"}, "disable: expected a list of texts, got 'no-opening'. "),
        ({"disable": [3]}, "disable[0]: expected a text, got 3. "),
        ({"pages": ["x"]}, "pages: expected a mapping, got ['x']. "),
        ({"pages": {"x": ["nope"]}}, "pages: x: unknown rule 'nope'"),
        (3, "level: expected off or strict or warn, got 3. Set warn, strict or off, or a table"),
    ],
)
def test_parse_config_invalid_value_raises(value: object, message: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_config(value, "mkdocs.yml: lint")
    assert str(error.value).startswith("mkdocs.yml: lint: ")
    assert message in str(error.value)


def test_override_adds_disabled_rules_and_strict() -> None:
    config = LintConfig(disable=frozenset({"no-opening"})).override(disable=["empty-title"], strict=True)
    assert config == LintConfig("strict", frozenset({"no-opening", "empty-title"}))


def test_pages_globs_match_source_or_path() -> None:
    def ignore(pattern: str, rule: str) -> LintConfig:
        return LintConfig(pages={pattern: frozenset({rule})})

    assert {finding.rule for finding in lint_case("empty-title/fires")} == {"empty-title"}
    assert lint_case("empty-title/fires", ignore("val*.md", "empty-title")) == ()
    assert lint_case("empty-title/fires", ignore("valves/", "*")) == ()
    assert lint_case("empty-title/fires", ignore("other/*", "*"))
