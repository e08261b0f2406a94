"""The options for publishing: defaults, types and messages."""

from __future__ import annotations

from typing import Any

import pytest

from mkdocs_roaming.publish.options import PublishOptions, parse_options
from mkdocs_roaming.settings import SettingError


def test_parse_options_keeps_defaults_for_missing_values_and_wraps_single_patterns() -> None:
    block = {"description": None, "exclude": "internal/*", "section_files": False, "classes": {"note": "admonition"}}
    expected = PublishOptions(exclude=("internal/*",), section_files=False, classes={"note": "admonition"})
    assert parse_options(block) == expected


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (
            {"exlude": ["drafts/*"]},
            "exlude: unknown option; did you mean `exclude`? Available options: enabled, include",
        ),
        ({True: "x"}, "True: unknown option; Available options: enabled"),
        ({"include": ["a", 3]}, "include[1]: expected a text, got 3"),
        ({"classes": {"note": 1}}, "classes: expected a mapping of texts to texts, got {'note': 1}"),
        ({"section_files": "some"}, "section_files: expected auto or true or false, got 'some'"),
        ({"search": "both"}, "search: expected hybrid or lexical, got 'both'"),
        ({"outline_tokens": 10}, "outline_tokens: expected a number of 200 or more, got 10"),
        ({"outline_tokens": "8000"}, "outline_tokens: expected a number of 200 or more, got '8000'"),
        ({"rules": 3}, "rules: expected a list or a text, got 3"),
        ({"embeddings": "nomic"}, "embeddings: expected a mapping, got 'nomic'"),
        ({"enabled": "no"}, "enabled: expected true or false, got 'no'"),
        ({"previous": 3}, "previous: expected a text, got 3"),
    ],
)
def test_parse_options_names_option_and_expected_value(block: dict[Any, Any], message: str) -> None:
    with pytest.raises(SettingError) as error:
        parse_options(block)
    assert str(error.value).startswith(message)
