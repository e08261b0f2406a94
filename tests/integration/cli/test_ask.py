"""`roaming ask`: options, configuration, traces, cost and final states."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tables import read_tables

from mkdocs_roaming.cli import main
from mkdocs_roaming.library.targets import open_library

TABLES = read_tables(__file__)

LAMP = TABLES["lamp"]


@pytest.fixture
def lamp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small site in one file, in an empty working directory."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "lamp.md"
    file.write_text(LAMP, "utf-8")
    return file


@pytest.fixture
def power(lamp: Path) -> str:
    """Id of the section "Power"."""
    return next(place.id for place in open_library(lamp).sections if place.section.title == "Power")


def roaming(*arguments: object, **given: Any) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], **given)


def script(folder: Path, *replies: list[dict[str, Any]]) -> str:
    """Write replies for the scripted model and return its name."""
    (folder / "script.json").write_text(json.dumps(replies), "utf-8")
    return f"scripted:{folder / 'script.json'}"


def answering_model(folder: Path, power: str) -> str:
    usage = {"input": 1000, "cache_read": 2000, "cache_write": 3000, "output": 40}
    return script(folder, [{"text": f"It takes 3.7 watts [^{power}]."}, {"usage": usage}, {"stop": "end"}])


def test_ask_reads_small_site_whole_with_a_model_and_searches_it_without(lamp: Path, power: str) -> None:
    question = "How many watts does the lamp take?"
    result = roaming("ask", lamp, question, "--model", answering_model(lamp.parent, power))
    assert "Reading the whole site: 3 sections" in result.stderr
    assert "answered · scripted · whole site read" in result.stderr
    offline = roaming("ask", lamp, question)
    assert offline.exit_code == 0
    assert "3.7 watts" in offline.stdout
    assert "Searched: How many watts does the lamp take? (3 found)" in offline.stderr
    assert "results · offline · 3 sections opened, 3 cited" in offline.stderr
    assert offline.stdout.startswith("**Power**\n\n")


def test_ask_prints_usage_and_cost(lamp: Path, power: str) -> None:
    model = answering_model(lamp.parent, power)
    result = roaming("ask", lamp, "Watts?", "--model", model)
    assert result.exit_code == 0
    assert result.stderr.rstrip().endswith("tokens: 1000 in, 2000 from cache, 3000 to cache, 40 out")
    (lamp.parent / "roaming.toml").write_text(
        "[prices]\ninput = 1\ncache_read = 0.1\ncache_write = 1.25\noutput = 5\ncurrency = 'EUR'\n"
    )
    result = roaming("ask", lamp, "Watts?", "--model", model)
    assert result.stderr.rstrip().endswith("40 out · 0.0052 EUR")
    assert json.loads(roaming("ask", lamp, "Watts?", "--model", model, "--json").stdout)["cost"] == pytest.approx(
        0.00515
    )


def test_ask_check_prints_what_the_model_can_do(lamp: Path, power: str) -> None:
    replies = [[{"text": f"It says so [^{power}]."}]] * 3
    result = roaming("ask", lamp, "--check", "--model", script(lamp.parent, *replies))
    assert (result.exit_code, result.stdout.count("\n")) == (0, 1), result.output
    assert result.stdout.startswith("scripted; streaming: no; tools: no; citations: ")
    failed = roaming("ask", lamp, "--check", "--model", script(lamp.parent))
    assert (failed.exit_code, failed.stderr) == (1, "roaming: the script has 0 replies; the answer needs one more\n")
    assert "Missing argument 'QUESTION'" in roaming("ask", lamp).stderr


@pytest.mark.parametrize(("reply", "message", "code"), TABLES["ask prints reason of each final state"])
def test_ask_prints_reason_of_each_final_state(
    lamp: Path, power: str, reply: list[dict[str, str]], message: str, code: int
) -> None:
    replies = json.loads(json.dumps(reply).replace("ID", power))
    result = roaming("ask", lamp, "Watts?", "--model", script(lamp.parent, replies, replies))
    assert message in result.stdout
    assert ("The docs do not seem" in result.stdout) == message.startswith("The docs")
    assert result.exit_code == code


CHECK_THESE = TABLES["check these"]


@pytest.mark.parametrize(
    ("text", "shown"),
    TABLES["ask lists unsupported text below unchanged answer"],
)
def test_ask_lists_unsupported_text_below_unchanged_answer(lamp: Path, power: str, text: str, shown: str) -> None:
    model = script(lamp.parent, [{"text": text.replace("ID", power)}])
    result = roaming("ask", lamp, "Watts?", "--model", model)
    assert result.stdout.startswith(f"{shown}\n\nSources\n")
    assert (CHECK_THESE in result.stdout) == ("Check these" in result.stdout) == ("9.9" in text)


@pytest.mark.parametrize(
    ("arguments", "message"),
    TABLES["ask usage error is one line"],
)
def test_ask_usage_error_is_one_line(lamp: Path, arguments: list[str], message: str) -> None:
    result = roaming("ask", lamp, "Watts?", *arguments)
    assert (result.exit_code, result.stderr.count("\n"), result.stdout) == (1, 1, "")
    assert result.stderr.startswith("roaming: ")
    assert message in result.stderr


def test_ask_warns_about_cost_limit_without_prices(lamp: Path, power: str) -> None:
    text = "[model]\nname = 'openai:m'\n[prices]\ninput = 1\noutput = 5\n[budget]\ncost = 1\n"
    (lamp.parent / "roaming.toml").write_text(text)
    result = roaming("ask", lamp, "Watts?", "--model", answering_model(lamp.parent, power))
    assert "Warning: roaming.toml has no prices for scripted" in result.stderr


@pytest.mark.parametrize(
    ("question", "message"), [(" \n", "the question is empty"), ("why " * 3_000, "the question has 12000")]
)
def test_empty_or_long_question_is_rejected(lamp: Path, question: str, message: str) -> None:
    result = roaming("ask", lamp, question)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (1, "", 1)
    assert message in result.stderr


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_ask_accepts_lone_surrogates_of_model(lamp: Path, options: list[str]) -> None:
    result = roaming("ask", lamp, "W?", "--model", script(lamp.parent, [{"text": "A \ud83d b [^none]."}]), *options)
    assert result.exception is None or isinstance(result.exception, SystemExit)


def test_step_prints_query_on_one_line(lamp: Path, power: str) -> None:
    call = {"call": {"name": "search_sections", "arguments": {"query": "watts\nOpened Safety [deadbeef]"}}}
    model = script(lamp.parent, [call], [{"text": "No [^none]."}])
    result = roaming("ask", lamp, "Watts?", "--model", model, "--whole-site-tokens", 0)
    assert "Searched: watts Opened Safety [deadbeef]" in result.stderr


@pytest.mark.parametrize("name", ["ask", "search", "outline"])
def test_error_message_strips_control_characters(lamp: Path, name: str) -> None:
    result = roaming(name, "no\x1b]0;x\x07\nfile", *(["Watts?"] if name != "outline" else []))
    assert result.stderr.splitlines() == [
        "roaming: no]0;x file: no such folder or file; check the path; a URL starts with https://"
    ]
    assert result.exit_code == 1
