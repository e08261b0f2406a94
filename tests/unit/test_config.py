"""The configuration file roaming.toml."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from mkdocs_roaming import config as module
from mkdocs_roaming.answer.budget import Budget, Prices
from mkdocs_roaming.config import TABLES, ModelTable, Settings, load_settings
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.settings import table_keys


def write(folder: Path, text: str) -> Path:
    (folder / "roaming.toml").write_text(text, "utf-8")
    return folder / "roaming.toml"


def test_load_settings_reads_file_in_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_settings() == Settings()
    with pytest.raises(UsageError, match=r"roaming\.toml: cannot be read"):
        load_settings(tmp_path / "roaming.toml")
    write(tmp_path, "[budget]\nrounds = 2\n")
    assert load_settings().budget.rounds == 2


def test_module_example_contains_every_key(tmp_path: Path) -> None:
    text = dedent((module.__doc__ or "").partition("\n\n")[2])
    found = load_settings(write(tmp_path, text))
    assert (found.model.name, found.model.key_env) == ("openai:qwen3", "MY_KEY")
    assert (found.budget, found.cost) == (Budget(prices=Prices(1.0, 0.1, 1.25, 5.0, "USD")), 0.05)
    for table, kind in TABLES.items():
        assert f"[{table}]" in text
        assert all(f"{key} = " in text for key in table_keys(kind) if key != "prices")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[modle]\n", "unknown table [modle]. Known tables: [model], [prices], [budget]"),
        ("budget = 3\n", "[budget]: expected a table, got 3"),
        ("[budget]\nrounds = true\n", "[budget]: rounds: expected a number of 1 or more, got True"),
        ("[budget]\ncost = 0\n", "[budget]: cost: expected a number above 0, got 0"),
        ("[prices]\ninput = 1.0\n", "[prices]: needs input and output; write 0 for a free model"),
        ("[prices]\ninput = -1\n", "[prices]: input: expected a number of 0 or more, got -1"),
        ("[budget]\nseconds = inf\n", "[budget]: seconds: expected a number above 0, up to 86400, got inf"),
        (f"a = {'[' * 5000}\n", "not TOML ("),
        ("[model\n", "not TOML ("),
    ],
)
def test_load_settings_error_names_file_and_key(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(UsageError) as caught:
        load_settings(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_model_precedence_is_option_environment_file() -> None:
    found = Settings("roaming.toml", ModelTable("openai:file", "http://127.0.0.1:9/v1"))
    assert found.create_model("openai:option", None, {"ROAMING_MODEL": "openai:environment"})[0].name == "option"
    assert found.create_model(None, None, {"ROAMING_MODEL": "openai:environment"})[0].name == "environment"
    assert found.create_model(None, None, {})[0].name == "file"
    assert Settings().create_model(None, None, {})[0].name == "offline"


def test_api_key_comes_from_configured_variable() -> None:
    found = Settings("roaming.toml", ModelTable("openai:m", key_env="MY_KEY"))
    assert found.create_model(None, None, {"MY_KEY": "k"})[0].name == "m"
    with pytest.raises(UsageError, match=r"roaming\.toml names the variable MY_KEY, which is not set"):
        found.create_model(None, None, {})


@pytest.mark.parametrize(
    ("configured", "name", "priced"),
    [
        ("", "openai:anything", True),
        ("openai:m", "openai:m", True),
        ("openai:m", None, True),
        ("claude", "claude", True),
        ("claude", "claude:claude-haiku-5-5", True),
        ("openai:m", "openai:n", False),
        ("claude:m", "openai:m", False),
        ("openai:m", "offline", False),
    ],
)
def test_prices_apply_to_configured_model_only(configured: str, name: str | None, priced: bool) -> None:
    prices = Prices(input=1.0)
    settings = Settings(model=ModelTable(configured), budget=Budget(cost=1.0, prices=prices))
    environ = {"ANTHROPIC_API_KEY": "test", "ROAMING_BASE_URL": "http://127.0.0.1:9/v1"}
    _, budget = settings.create_model(name, None, environ)
    assert (budget.prices is prices) == priced
