"""The options for publishing: defaults, types and messages."""

from __future__ import annotations

from typing import Any

import pytest
from tables import read_tables

from mkdocs_roaming.publish.options import PublishOptions, parse_options
from mkdocs_roaming.settings import SettingError

TABLES = read_tables(__file__)


def test_parse_options_keeps_defaults_for_missing_values_and_wraps_single_patterns() -> None:
    block = {"description": None, "exclude": "internal/*", "section_files": False, "classes": {"note": "admonition"}}
    expected = PublishOptions(exclude=("internal/*",), section_files=False, classes={"note": "admonition"})
    assert parse_options(block) == expected


@pytest.mark.parametrize(
    ("block", "message"),
    [
        *TABLES["parse options names option and expected value"],
        ({True: "x"}, "True: unknown option; Available options: enabled"),
    ],
)
def test_parse_options_names_option_and_expected_value(block: dict[Any, Any], message: str) -> None:
    with pytest.raises(SettingError) as error:
        parse_options(block)
    assert str(error.value).startswith(message)
