"""The options for publishing: defaults, types and messages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest
from click.testing import CliRunner
from tables import read_tables

from mkdocs_roaming.cli import main
from mkdocs_roaming.publish.llms_txt import is_page_list
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


# The URL of the MCP server is announced where agents look

PAGE = "<html><head><title>Pumps</title></head><body><main><h1>Pumps</h1><p>Drain the bilge.</p></main></body></html>"


def publish(folder: Path, *lines: str) -> Path:
    """Publish a site of one page with options, and return its folder."""
    (folder / "site").mkdir()
    (folder / "site/index.html").write_text(PAGE)
    (folder / "roaming.toml").write_text("[publish]\n" + "\n".join(lines) + "\n")
    arguments = ["index", str(folder / "site"), "--url", "https://pumps.example/docs/", "--name", "Pumps"]
    done = CliRunner().invoke(main, [*arguments, "--config-file", str(folder / "roaming.toml")])
    assert done.exit_code == 0, done.output
    return folder / "site"


@pytest.mark.parametrize(
    ("value", "url"),
    [("true", "https://pumps.example/docs/mcp"), ('"https://mcp.example/pumps"', "https://mcp.example/pumps")],
)
def test_mcp_server_is_announced_in_llms_txt_skill_and_page_menu(tmp_path: Path, value: str, url: str) -> None:
    site = publish(tmp_path, f"mcp = {value}", "page_menu = true")
    listing = (site / "llms.txt").read_text()
    assert f"are at {url} (MCP, streamable HTTP)" in listing
    assert is_page_list(listing)
    (skill,) = site.glob("roaming/skill/*/SKILL.md")
    assert f"- MCP: {url} (streamable HTTP)" in skill.read_text()
    assert url in (site / "index.html").read_text()
    index = json.loads((site / "roaming/finder.json").read_bytes())
    assert (index["kinds"], index["generic"]) == ("0", [])


@pytest.mark.parametrize(("options", "endpoint", "url"), TABLES["default server is that of the endpoint"])
def test_default_server_is_that_of_the_endpoint(options: dict[str, Any], endpoint: str, url: str) -> None:
    site = "https://docs.example/sub/"
    assert parse_options(options).find_mcp_url(site, endpoint) == url
    relative = parse_options(options).find_mcp_url(endpoint=endpoint)
    assert (urljoin(site, relative) if relative else "") == url


def test_nothing_is_announced_without_the_option(tmp_path: Path) -> None:
    site = publish(tmp_path, "page_menu = true")
    assert "MCP, streamable" not in (site / "llms.txt").read_text()
    assert not (site / "roaming/finder.json").exists()


def test_address_without_a_scheme_is_refused() -> None:
    with pytest.raises(SettingError, match="mcp"):
        parse_options({"mcp": "docs.example/mcp"})
