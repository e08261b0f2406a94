"""Tests of themes: roles, admonitions, precedence, a site's own classes."""

from __future__ import annotations

import pytest
from tables import read_tables

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.html.converter import BLOCK_WRITERS, INLINE_WRITERS, convert
from mkdocs_roaming.html.document import find_article
from mkdocs_roaming.html.themes import (
    ROLES,
    Theme,
    ThemeSet,
    builtin_themes,
    compile_selector,
    digest_themes,
    load_themes,
    parse_classes,
)

TABLES = read_tables(__file__)


def test_every_role_has_exactly_one_writer() -> None:
    assert sorted(ROLES) == sorted({*BLOCK_WRITERS, *INLINE_WRITERS} - {"block-link", "tablist", "tabpanel"})
    # In a table or a heading, an iframe is a link, and a line of a line block ends with a break.
    assert BLOCK_WRITERS.keys() & INLINE_WRITERS.keys() == {"line", "media"}


def test_built_in_themes_repeat_no_selector() -> None:
    selectors = [selector for theme in builtin_themes() for names in theme.roles.values() for selector in names.split()]
    repeated = {selector for selector in selectors if selectors.count(selector) > 1}
    assert repeated == set()


@pytest.mark.parametrize(
    ("tag", "classes", "role"),
    [*TABLES["roles are found by tag and class"], (len, None, "skip")],
)
def test_roles_are_found_by_tag_and_class(tag: object, classes: str | None, role: str) -> None:
    assert load_themes().roles[tag, classes] == role


def test_roles_are_bounded_however_many_classes_a_page_has() -> None:
    roles = ThemeSet(builtin_themes()).roles
    for number in range(25_000):
        assert roles["p", f"c{number}"] == "group"
    assert len(roles) < 10_002


@pytest.mark.parametrize(("classes", "kind"), TABLES["admonition kind is found with and without prefix"])
def test_admonition_kind_is_found_with_and_without_prefix(classes: str, kind: str) -> None:
    assert load_themes().admonition_kind(classes) == kind


def test_earlier_theme_takes_precedence_for_articles_and_kinds() -> None:
    theme = Theme("first", articles=(".inner",), admonitions={"TIP": "warning"}, roles={"tabs": "x-tabs"})
    themes = ThemeSet((theme, *builtin_themes()))
    page = "<main>outer<div class=inner>inner</div></main>"
    assert find_article(page, themes).text == "inner"
    assert find_article(page).text == "outer"
    assert themes.admonition_kind("warning") == "TIP"
    assert themes.roles["x-tabs", None] == "tabs"


def test_own_classes_take_precedence_over_themes() -> None:
    themes = load_themes({"headerlink": "text", "div.our-note": "warning", "toc": "group"})
    markdown = convert(
        "<h2>A<a class=headerlink href=x>b</a></h2><div class=our-note><p>c</p></div><p class=our-note>d</p>"
        "<div class=toc><p>e</p></div>",
        title="T",
        themes=themes,
    ).markdown
    assert markdown == "# T\n\n## Ab\n\n> [!WARNING]\n> c\n\nd\n\ne\n"


def test_digest_changes_with_own_classes() -> None:
    classes = {"a": "skip", "b": "text"}
    assert digest_themes(classes) == digest_themes(dict(reversed(classes.items()))) != digest_themes({})
    assert digest_themes(classes) != digest_themes({"a": "skip", "b": "skip"})


@pytest.mark.parametrize("role", ["box", "Note"])
def test_parse_classes_with_unknown_role_raises_usage_error(role: str) -> None:
    with pytest.raises(UsageError, match=f"^classes: a: unknown role '{role}'"):
        parse_classes({"a": role})


@pytest.mark.parametrize("theme", [{"roles": {"box": ".a"}}, {"parts": {"box": ".a"}}, {"admonitions": {"note": "a"}}])
def test_theme_with_unknown_name_raises_value_error(theme: dict[str, dict[str, str]]) -> None:
    with pytest.raises(ValueError, match="theme acme: unknown "):
        Theme("acme", **theme)


def test_compile_selector_with_invalid_selector_raises_value_error() -> None:
    with pytest.raises(ValueError, match="Expected"):
        compile_selector(".a >> b")
