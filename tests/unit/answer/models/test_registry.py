"""Selection of a model by option, environment and settings; and scripts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from messages_api import MessagesApi
from messages_api.navigator import Navigator as WordNavigator
from tables import read_tables

from mkdocs_roaming.answer.events import Event, summarize
from mkdocs_roaming.answer.models.base import create_model
from mkdocs_roaming.answer.models.scripted import read_script
from mkdocs_roaming.errors import UsageError

TABLES = read_tables(__file__)

Ask = Callable[..., list[Event]]

LOCAL = {"ROAMING_BASE_URL": "http://127.0.0.1:9/v1"}
LOG = "Where does the log go that Kettle writes?"


@pytest.mark.parametrize(("name", "environ", "config", "chosen"), TABLES["choices of a model"])
def test_create_model_uses_option_then_environment_then_config(
    name: str | None, environ: dict[str, str], config: dict[str, object], chosen: str
) -> None:
    assert create_model(name, environ=environ, config=config).name == chosen


@pytest.mark.parametrize(("name", "environ", "message"), TABLES["create model reports errors in one line"])
def test_create_model_reports_errors_in_one_line(name: str, environ: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        create_model(name, environ=environ)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["claude", "openai:qwen3"])
@pytest.mark.parametrize("key", ["“sk-curly”", "sk-two\nlines", "sk-two words", "sk-\x1b"])
def test_create_model_rejects_key_with_invalid_characters(name: str, key: str) -> None:
    with pytest.raises(UsageError, match=r"the key in [A-Z]+_API_KEY contains a character that no key has") as caught:
        create_model(name, environ={**LOCAL, "ANTHROPIC_API_KEY": key, "OPENAI_API_KEY": key})
    assert "sk-" not in str(caught.value)


@pytest.mark.parametrize(("name", "given", "environ", "config"), TABLES["created model uses configured server and key"])
def test_created_model_uses_configured_server_and_key(
    ask: Ask, api: MessagesApi, name: str, given: dict[str, str], environ: dict[str, str], config: dict[str, Any]
) -> None:
    api.brain = WordNavigator()
    filled = (
        {key: value.replace("{url}", api.url) for key, value in group.items()} for group in (given, environ, config)
    )
    options, variables, settings = filled
    result = summarize(ask(create_model(name, environ=variables, config=settings, **options), LOG))
    assert (result.state, result.error) == ("answered", "")


@pytest.mark.parametrize("name", ["claude", "openai:qwen3"])
def test_rejected_key_is_named_by_its_variable(ask: Ask, api: MessagesApi, name: str) -> None:
    config = {"model": name, "base_url": api.url, "api_key": "another", "key_env": "MY_KEY"}
    assert summarize(ask(create_model(environ={}, config=config), LOG)).error.endswith("; check MY_KEY")


# Scripts


def test_create_model_reads_script_from_file(ask: Ask, tmp_path: Path, ids: dict[str, str]) -> None:
    server = ids["Server"]
    script = [
        [{"call": {"name": "expand_sections", "arguments": {"ids": [server]}}}, {"stop": "tools"}],
        [{"text": "The port is 8642."}, {"cite": server}, {"usage": {"input": 5, "output": 2}}, {"stop": "end"}],
    ]
    file = tmp_path / "script.json"
    file.write_text(json.dumps(script))
    result = summarize(ask(create_model(f"scripted:{file}", environ={})))
    assert (result.state, result.text, result.model) == ("answered", f"The port is 8642.[^{server}]", "scripted")
    assert (result.usage.input, result.usage.output) == (5, 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [*TABLES["read script names place of error"], ("[" * 100_000, "a script is a list of replies")],
)
def test_read_script_names_place_of_error(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "script.json"
    file.write_text(text)
    with pytest.raises(UsageError) as caught:
        read_script(file)
    assert str(caught.value).startswith(f"{file}: ")
    assert message in str(caught.value)
