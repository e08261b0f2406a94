"""`roaming ask` and `roaming replay` with a model: options, settings, traces, costs, and how they end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from mkdocs_roaming.cli import main
from mkdocs_roaming.cli.common import FAULTS_FOUND, NOTHING_FOUND
from mkdocs_roaming.library.library import open_library

LAMP = """\
# Lamp

A lamp for boats.

# Colours

A red lamp means port side.

# Power

The lamp takes 3.7 watts.
"""


@pytest.fixture
def lamp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small site in one file, in an empty working folder."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "lamp.md"
    file.write_text(LAMP, "utf-8")
    return file


@pytest.fixture
def power(lamp: Path) -> str:
    """The id of the section on power."""
    return next(place.id for place in open_library(lamp).sections if place.section.title == "Power")


def roaming(*arguments: object, **given: Any) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], **given)


def script(folder: Path, *replies: list[dict[str, Any]]) -> str:
    """Write a script for the scripted model and give its name."""
    (folder / "script.json").write_text(json.dumps(replies), "utf-8")
    return f"scripted:{folder / 'script.json'}"


def says(folder: Path, power: str) -> str:
    usage = {"input": 1000, "cache_read": 2000, "cache_write": 3000, "output": 40}
    return script(folder, [{"text": f"It takes 3.7 watts [^{power}]."}, {"usage": usage}, {"stop": "end"}])


def test_a_small_site_is_read_whole(lamp: Path) -> None:
    """Without options a small site is not roamed; the trail and the end say so."""
    result = roaming("ask", lamp, "How many watts does the lamp take?")
    assert result.exit_code == 0
    assert "3.7 watts" in result.stdout
    assert "Reading the whole site: 3 sections" in result.stderr
    assert "whole site read, 1 cited" in result.stderr


@pytest.mark.parametrize("how", ["option", "environment", "file"])
def test_it_is_roamed_where_that_is_wanted(lamp: Path, how: str) -> None:
    """By option, by environment or by roaming.toml."""
    arguments = ["--whole-site-tokens", "0"] if how == "option" else []
    environ = {"ROAMING_WHOLE_SITE_TOKENS": "0"} if how == "environment" else {}
    if how == "file":
        (lamp.parent / "roaming.toml").write_text("[budget]\nwhole_site_tokens = 0\n")
    result = roaming("ask", lamp, "How many watts?", *arguments, env=environ)
    assert "Reading the outline: 3 sections" in result.stderr


def test_usage_and_cost_are_always_told(lamp: Path, power: str) -> None:
    """Tokens of each kind, and the money where prices are configured."""
    model = says(lamp.parent, power)
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


def test_a_model_that_counts_nothing_is_told(lamp: Path) -> None:
    """No figure is made up."""
    result = roaming("ask", lamp, "Watts?", "--model", script(lamp.parent, [{"text": "No [^none]."}]))
    assert "no tokens counted" in result.stderr
    assert result.exit_code == NOTHING_FOUND


def test_money_that_is_spent_ends_the_answer(lamp: Path, power: str) -> None:
    """The line says which budget it was."""
    call = {"call": {"name": "expand_sections", "arguments": {"ids": [power]}}}
    model = script(lamp.parent, [call, {"usage": {"input": 1_000_000}}])
    (lamp.parent / "roaming.toml").write_text("[prices]\ninput = 1\n[budget]\ncost = 0.5\n")
    result = roaming("ask", lamp, "Watts?", "--model", model, "--whole-site-tokens", 0)
    assert "Stopped before there was an answer: the budget of cost is spent." in result.stdout
    assert "1.00 USD" in result.stderr


@pytest.mark.parametrize(
    ("reply", "options", "says", "code"),
    [
        ([{"text": "I can't"}, {"stop": "refusal"}], [], "The model does not answer this.", NOTHING_FOUND),
        ([{"text": "It takes 3.7 watts [^ID].\n\nMore to"}, {"stop": "refusal"}], [], "does not go on", NOTHING_FOUND),
        (
            [{"text": "The lamp"}, {"stop": "length"}],
            [],
            "before there was an answer: the budget of output",
            NOTHING_FOUND,
        ),
        ([{"text": "It takes 3.7 watts [^ID]."}, {"stop": "length"}], [], "The answer may be incomplete.", 0),
        ([{"stop": "end"}], ["--no-docs"], "The model said nothing.", NOTHING_FOUND),
        ([{"stop": "end"}], [], "The docs do not seem to answer this.", NOTHING_FOUND),
    ],
)
def test_an_end_is_not_taken_for_another(
    lamp: Path, power: str, reply: list[dict[str, str]], options: list[str], says: str, code: int
) -> None:
    """Only where the docs were asked in vain are they said not to answer; what gave no answer is no success."""
    replies = json.loads(json.dumps(reply).replace("ID", power))
    result = roaming("ask", lamp, "Watts?", "--model", script(lamp.parent, replies), *options)
    assert says in result.stdout
    assert ("The docs do not seem" in result.stdout) == says.startswith("The docs")
    assert result.exit_code == code


def test_without_docs_the_answer_is_labelled(lamp: Path, power: str) -> None:
    """The same question, asked of the model alone: no sources, and the first line says what it is."""
    result = roaming("ask", lamp, "Watts?", "--no-docs", "--model", says(lamp.parent, power))
    assert result.exit_code == 0
    assert result.stdout.startswith("Not from the docs: ")
    assert "It takes 3.7 watts.\n" in result.stdout
    assert "Sources" not in result.stdout
    assert "without the docs" in result.stderr
    assert (
        json.loads(roaming("ask", lamp, "W?", "--no-docs", "--model", "scripted:script.json", "--json").stdout)["docs"]
        is False
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("It takes 9.9 watts [^ID].", "It takes ⟦9.9⟧1 watts [1]."),
        ("🚢 It takes [^ID] 9.9 watts.[^ID]", "🚢 It takes [1] ⟦9.9⟧1 watts.[1]"),
        ("It takes 3.7 watts [^ID].", "It takes 3.7 watts [1]."),
    ],
)
def test_what_no_section_supports_is_marked(lamp: Path, power: str, text: str, shown: str) -> None:
    """In the answer, beside its citations; below the sources stands what they say instead."""
    model = script(lamp.parent, [{"text": text.replace("ID", power)}])
    result = roaming("ask", lamp, "Watts?", "--model", model)
    assert result.stdout.startswith(f"{shown}\n\nSources\n")
    assert ("Not supported\n  1  9.9: the sections say: 3.7" in result.stdout) == ("9.9" in text)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--no-docs"], "the model offline only quotes the documentation"),
        (["--model", "gpt"], "unknown model 'gpt'"),
        (["--model", "claude"], "needs a key"),
        (["--model", "scripted:no.json"], "no.json: cannot be read"),
        (["--config", "no.toml"], "no.toml: cannot be read"),
        (["--trace", "nowhere/t.json"], "nowhere/t.json: cannot be written"),
    ],
)
def test_a_mistake_is_answered_in_one_line(lamp: Path, arguments: list[str], says: str) -> None:
    """Before anything is asked or spent."""
    result = roaming("ask", lamp, "Watts?", *arguments)
    assert (result.exit_code, result.stderr.count("\n"), result.stdout) == (1, 1, "")
    assert result.stderr.startswith("roaming: ")
    assert says in result.stderr


def test_settings_that_are_wrong_are_told(lamp: Path) -> None:
    """With file and key."""
    (lamp.parent / "roaming.toml").write_text("[budget]\nround = 1\n")
    result = roaming("ask", lamp, "Watts?")
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert result.stderr.startswith("roaming: roaming.toml: [budget] has no key 'round'")


def test_a_limit_that_cannot_be_kept_is_told(lamp: Path, power: str) -> None:
    """Prices of one model say nothing of another."""
    text = "[model]\nname = 'openai:m'\n[prices]\ninput = 1\n[budget]\ncost = 1\n"
    (lamp.parent / "roaming.toml").write_text(text)
    result = roaming("ask", lamp, "Watts?", "--model", says(lamp.parent, power))
    assert "Warning: roaming.toml has no prices for scripted" in result.stderr


# Traces


def test_a_trace_is_shown_without_the_site(lamp: Path, power: str) -> None:
    """`replay TRACE` prints what `ask` printed."""
    asked = roaming("ask", lamp, "Watts?", "--trace", "t.json", "--whole-site-tokens", 0)
    lamp.unlink()
    shown = roaming("replay", "t.json")
    assert shown.exit_code == 0
    assert shown.stdout == asked.stdout
    assert shown.stderr == f"Question: Watts? (lamp)\n{asked.stderr}"
    assert json.loads(roaming("replay", "t.json", "--json").stdout)[0]["question"] == "Watts?"


def test_a_trace_is_played_again_against_the_site(lamp: Path, power: str) -> None:
    """The same, or exit code 4 and where it differs."""
    roaming("ask", lamp, "Watts?", "--model", says(lamp.parent, power), "--trace", "t.json")
    same = roaming("replay", lamp, "t.json")
    assert (same.exit_code, same.stdout.split(":")[0]) == (0, "The same")
    lamp.write_text(LAMP.replace("3.7", "9.9"), "utf-8")
    changed = roaming("replay", lamp, "t.json")
    assert changed.exit_code == FAULTS_FOUND
    assert "Different: the site changed" in changed.stdout
    (told,) = json.loads(roaming("replay", lamp, "t.json", "--json").stdout)
    assert (told["same"], len(told["differences"]) > 1) == (False, True)


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["no.json"], 1, "no.json: cannot be read"),
        (["lamp.md"], 1, "lamp.md: not JSON"),
        (["a", "b", "c"], 2, "give LIB and one TRACE"),
        ([], 2, "Missing argument"),
    ],
)
def test_what_is_no_trace_is_told(lamp: Path, arguments: list[str], code: int, says: str) -> None:
    """One line, no traceback."""
    result = roaming("replay", *arguments)
    assert result.exit_code == code
    assert says in result.stderr


def test_a_trace_cannot_steer_the_terminal(lamp: Path) -> None:
    """A trace is somebody's file: escape sequences in it reach nobody's terminal."""
    roaming("ask", lamp, "Watts?", "--trace", "t.json")
    text = Path("t.json").read_text("utf-8").replace("watts", "wa\\u001b[31mtts").replace("Power", "Po\\u001b[1mwer")
    Path("t.json").write_text(text, "utf-8")
    shown = roaming("replay", "t.json")
    assert "wa[31mtts" in shown.stdout
    assert "\x1b" not in shown.stdout + shown.stderr


@pytest.mark.parametrize("command", ["ask", "explain"])
@pytest.mark.parametrize(
    ("question", "says"), [(" \n", "the question is empty"), ("why " * 3_000, "the question has 12000 characters")]
)
def test_what_is_no_question_costs_nothing(lamp: Path, command: str, question: str, says: str) -> None:
    """No model is asked, nothing is searched for."""
    result = roaming(command, lamp, question)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (1, "", 1)
    assert says in result.stderr


@pytest.mark.parametrize("options", [[], ["--json"], ["--no-docs"]])
def test_half_a_character_is_no_reason_to_stop(lamp: Path, options: list[str]) -> None:
    """Models send them; they have no bytes."""
    result = roaming("ask", lamp, "W?", "--model", script(lamp.parent, [{"text": "A \ud83d b [^none]."}]), *options)
    assert result.exception is None or isinstance(result.exception, SystemExit)


def test_a_query_cannot_pass_for_what_was_opened(lamp: Path, power: str) -> None:
    """Each line of the trail is ours."""
    call = {"call": {"name": "search_sections", "arguments": {"query": "watts\nOpened Safety [deadbeef]"}}}
    model = script(lamp.parent, [call], [{"text": "No [^none]."}])
    result = roaming("ask", lamp, "Watts?", "--model", model, "--whole-site-tokens", 0)
    assert "Searched: watts Opened Safety [deadbeef]" in result.stderr


@pytest.mark.parametrize("name", ["ask", "search", "outline"])
def test_an_error_cannot_steer_the_terminal(lamp: Path, name: str) -> None:
    """It quotes what it was given, without control characters and on one line."""
    result = roaming(name, "no\x1b]0;x\x07\nfile", *(["Watts?"] if name != "outline" else []))
    assert result.stderr.splitlines() == [
        "roaming: no]0;x file: no such folder or file; check the path; an address begins with https://"
    ]
    assert result.exit_code == 1
