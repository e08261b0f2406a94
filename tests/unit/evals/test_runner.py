"""Evaluations: what is measured, by whom, at what cost, and that nothing that was paid for is lost."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import anyio
import pytest
from messages_api import MessagesApi, serving
from messages_api.navigator import Navigator as ByWords
from messages_api.parts import Say, Wait
from messages_api.script import Script

from mkdocs_roaming.answer.budget import Budget, Prices
from mkdocs_roaming.answer.models.base import Model, Stop, Text, ToolCall, Usage
from mkdocs_roaming.answer.models.extractive import ExtractiveModel
from mkdocs_roaming.answer.models.scripted import ScriptedModel
from mkdocs_roaming.cli import main
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.evals.metrics import EvalResult
from mkdocs_roaming.evals.output import report_to_dict
from mkdocs_roaming.evals.questions import QUESTION_KEYS, parse_questions, read_questions, resolve_sections
from mkdocs_roaming.evals.runner import EvalReport, Evaluation, ResultCache
from mkdocs_roaming.evals.systems import ModelSystem, OutlineSystem, Ranking, SearchSystem, System, walk_outline
from mkdocs_roaming.library.library import Library, open_library
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.search import Search

from .conftest import QUESTIONS, Roaming

SAMPLE = Path(__file__).parents[3] / "sample_site" / "questions.yml"
PRICES = Prices(input=1.0, output=5.0)


def evaluation(library: Library, *modes: str | Model, text: str = QUESTIONS, **given: Any) -> Evaluation:
    ranking = Ranking(library, Search(library))
    budget = given.pop("budget", Budget(prices=PRICES))
    made: list[System] = []
    for mode in modes:
        if mode == "search":
            made.append(SearchSystem(ranking))
        elif mode == "outline":
            made.append(OutlineSystem(ranking))
        elif not isinstance(mode, str):
            made.append(ModelSystem(mode.name, mode, budget, ranking, whole_site_tokens=0))
    return Evaluation(resolve_sections(parse_questions(text, "q.yml"), library.sections), made, ranking, **given)


def run(library: Library, *modes: str | Model, **given: Any) -> EvalReport:
    evaluating = evaluation(library, *modes, **given)
    anyio.run(evaluating.run)
    return evaluating.report()


def without_seconds(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_seconds(one) for key, one in value.items() if key != "seconds"}
    return [without_seconds(one) for one in value] if isinstance(value, list) else value


# What is measured


def test_offline_model_is_measured_by_question(library: Library) -> None:
    """Each question tells the sections opened, in which call the right one was, the literals, and who was declined."""
    (row,) = run(library, ExtractiveModel()).rows
    port, _, logs, whistle, teapot = row.outcomes
    assert port is not None
    assert (port.reached, port.rank, port.missing, port.state) == (True, 1, (), "answered")
    assert port.calls is not None
    gold = next(step for step in port.trail if step.section.title == "Server")
    assert gold.at == port.calls > 0
    assert port.tokens_read > 0
    assert logs is not None
    assert logs.missing == ()
    assert whistle is not None
    assert whistle.missing is None
    assert teapot is not None
    assert (teapot.declined, teapot.reached, teapot.calls) == (True, False, None)
    figures = {figure.name: (figure.value, figure.count) for figure in row.totals.figures}
    assert figures["reached"] == (1.0, 4)
    assert figures["declined"] == (1.0, 1)
    assert figures["literals"][1] == 3


def test_modes_stand_side_by_side(library: Library) -> None:
    """Each row names its mode and how it finds its way; search has ranks alone, the outline no answer."""
    search, outline, offline = run(library, "search", "outline", ExtractiveModel()).rows
    assert [row.mode for row in (search, outline, offline)] == ["search", "outline", "offline"]
    assert len({row.navigator for row in (search, outline, offline)}) == 3
    assert {one.state for row in (search, outline) for one in row.outcomes if one} == {None}
    assert search.totals.figure("answered") is None
    assert [step.at for one in search.outcomes if one for step in one.trail][:3] == [1, 2, 3]
    assert offline.totals.figure("answered") is not None


def test_outline_is_walked_without_search(sample: Path) -> None:
    """The outline's walker goes by titles, openings and keywords alone; what they do not say is not reached."""
    library = open_library(sample)

    class NoSearch(Search):
        def rank(self, words: Any) -> Any:
            raise AssertionError("it searched")

    drain = library.sections.resolve("reference/cli.md#ebb-drain")
    assert drain is not None
    walked = walk_outline("--drain-window default", Navigator(library, search=NoSearch(library)))
    assert walked.opened[drain.id] > 1
    assert walked.tokens > 1000
    none = walk_outline("xyzzy plugh", Navigator(library, search=NoSearch(library)))
    assert none.opened == {}


def test_figures_are_the_same_from_run_to_run(sample: Path) -> None:
    """Two runs on the sample site's questions give the same bytes, seconds aside, one by one or several at once."""
    library = open_library(sample)
    text = "".join(SAMPLE.read_text("utf-8").split("\n\n", 12)[at] + "\n\n" for at in range(12))
    one = run(library, "search", "outline", ExtractiveModel(), text=text)
    other = run(open_library(sample), "search", "outline", ExtractiveModel(), text=text, parallel=4)
    assert without_seconds(report_to_dict(one)) == without_seconds(report_to_dict(other))
    assert len(one.questions.questions) > 8


def test_rules_come_before_the_first_call(sample: Path) -> None:
    """What a site's rules open is reached in no call at all."""
    text = "questions:\n- ask: roll back to 3.x please\n  sections: operate/upgrade.md#going-back\n"
    (row,) = run(open_library(sample), ExtractiveModel(), text=text).rows
    assert row.outcomes[0] is not None
    assert row.outcomes[0].calls == 0


def test_reader_may_be_on_a_page(library: Library) -> None:
    """A question that is asked on a page is asked there."""
    text = QUESTIONS.replace("contains: ['8642']", "page: settings/")
    (row,) = run(library, ExtractiveModel(), text=text).rows
    assert row.totals.errors == 0


# Models


def opens(library: Library, title: str) -> tuple[Any, ...]:
    id_ = next(place.id for place in library.sections if place.section.title == title)
    return (ToolCall("a", "expand_sections", {"ids": [id_]}), Usage(1000, output=100), Stop("tools"))


def says(library: Library, title: str, text: str) -> tuple[Any, ...]:
    id_ = next(place.id for place in library.sections if place.section.title == title)
    return (Text(f"{text} [^{id_}]"), Usage(1000, output=100), Stop())


def test_model_is_measured_with_its_cost(library: Library) -> None:
    """A model's row has what it cost, by the prices that are configured."""
    script = [opens(library, "Server"), says(library, "Server", "It is 8642.")]
    (row,) = run(library, ScriptedModel(script), text=QUESTIONS.split("  - ask: at")[0]).rows
    (outcome,) = row.outcomes
    assert outcome is not None
    assert (outcome.calls, outcome.missing, outcome.gold_cited) == (1, (), True)
    assert outcome.cost == pytest.approx(0.003)
    assert row.totals.cost == pytest.approx(0.003)


@pytest.mark.parametrize("name", ["openai:by-words", "claude"])
def test_provider_is_asked_through_the_real_loop(
    name: str, questions: Path, tmp_path: Path, roaming: Roaming, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--compare` with a provider's model roams over the wire and says so in its row."""
    site = tmp_path / "kettle.md"
    site.write_text((Path(__file__).parents[2] / "golden/answer/kettle.md").read_text("utf-8"), "utf-8")
    with serving(MessagesApi(brain=ByWords())) as api:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url)
        monkeypatch.setenv("OPENAI_BASE_URL", f"{api.url}/v1")
        monkeypatch.setenv("ANTHROPIC_API_KEY", api.key)
        monkeypatch.setenv("OPENAI_API_KEY", api.key)
        result = roaming(
            "eval", site, questions, "--compare", f"offline,{name}", "--whole-site-tokens", "0", "--limit", 2, "--json"
        )
    assert result.exit_code == 0, result.stderr
    row = json.loads(result.stdout)["rows"][1]
    assert (row["mode"], row["asked"], row["errors"]) == (name, 2, 0)
    assert "roams" in row["navigator"]
    assert row["outcomes"][0]["reached"]
    assert api.exchanges


def test_money_ends_it(library: Library) -> None:
    """With --max-cost no further question is asked once the money is spent; what was asked is told."""
    script = [says(library, "Server", "no call"), says(library, "Server", "none"), says(library, "Server", "none")]
    (row,) = run(library, ScriptedModel(script), max_cost=0.002).rows
    assert [outcome is not None for outcome in row.outcomes] == [True, True, False, False, False]
    assert "--max-cost" in row.left


def test_an_answer_that_was_cut_short_counts_in_no_figure(library: Library, tmp_path: Path) -> None:
    """Where --max-cost ends an answer that its own budget would have let go on, that is told, paid and not kept."""
    script = [says(library, "Server", "no call"), opens(library, "Server"), says(library, "Server", "It is 8642.")]
    kept = ResultCache(tmp_path / "kept.jsonl")
    (row,) = run(library, ScriptedModel(script), max_cost=0.0025, kept=kept).rows
    assert [bool(one and not one.error) for one in row.outcomes] == [True, False, False, False, False]
    assert row.outcomes[1] is not None
    assert "--max-cost" in row.outcomes[1].error
    assert "not enough for an answer" in row.left
    assert (row.totals.errors, row.totals.cost) == (1, pytest.approx(0.003))
    assert [figure.count for figure in row.totals.figures if figure.name == "reached"] == [1]
    assert len((tmp_path / "kept.jsonl").read_text("utf-8").splitlines()) == 2
    own = Budget(prices=PRICES, cost=0.001)  # what its own budget ends, readers would not get either
    (row,) = run(library, ScriptedModel(script[1:]), max_cost=0.01, budget=own).rows
    assert row.outcomes[0] is not None
    assert (row.outcomes[0].state, row.outcomes[0].error) == ("budget", "")


def test_money_is_shared_by_answers_under_way(library: Library) -> None:
    """Several at once never have more to spend than there is; what one leaves over the others get."""

    class Costs:
        name, navigator, setting, priced, worth_keeping = "costs", "", "", True, False

        def __init__(self) -> None:
            self.given: list[float] = []
            self.spent = self.under_way = 0.0

        async def ask(self, question: Any, money: float | None) -> EvalResult:
            assert money is not None
            self.given.append(money)
            self.under_way += money
            assert self.spent + self.under_way <= 1.0 + 1e-9
            await anyio.sleep(0.001 * (1 + len(self.given) % 3))
            self.under_way -= money
            self.spent += 0.02
            return EvalResult(question.ask, cost=0.02)

    mode = Costs()
    text = "questions:\n" + "".join(f"- ask: teapot {at}\n  answerable: false\n" for at in range(30))
    made = evaluation(library, text=text, max_cost=1.0, parallel=4)
    made.modes = [mode]
    anyio.run(made.run)
    assert len(mode.given) == 30
    assert mode.given[:4] == pytest.approx([0.25] * 4)


def test_money_needs_prices(library: Library) -> None:
    """What nobody knows the price of cannot be limited: an error before anything is asked; search and offline can."""
    with pytest.raises(UsageError, match=r"prices"):
        evaluation(library, ScriptedModel([]), budget=Budget(), max_cost=1.0)
    assert evaluation(library, "search", "outline", ExtractiveModel(), budget=Budget(), max_cost=1.0)


def test_model_that_keeps_failing_is_left(library: Library) -> None:
    """After five failures in a row a model is asked no more; failures count in no figure."""
    text = QUESTIONS + "".join(f"  - ask: teapot {at}\n    answerable: false\n" for at in range(4))
    (row,) = run(library, ScriptedModel([]), text=text).rows
    assert (row.totals.asked, row.totals.errors, row.totals.figures) == (5, 5, ())
    assert "5 answers in a row failed" in row.left


# What is kept


def test_what_was_asked_is_not_asked_again(library: Library, tmp_path: Path) -> None:
    """With --keep a second run asks only what the first one did not get to, and comes to the same."""
    script = [opens(library, "Server"), says(library, "Server", "It is 8642."), *[says(library, "Logs", "x")] * 4]
    file = tmp_path / "kept.jsonl"
    whole = run(library, ScriptedModel(script))
    run(library, ScriptedModel(script[:2]), text=QUESTIONS.split("  - ask: at")[0], kept=ResultCache(file))
    assert len(file.read_text("utf-8").splitlines()) == 2
    later = ScriptedModel(script[2:])
    again = run(library, later, kept=ResultCache(file))
    assert len(later.requests) == 4
    assert without_seconds(report_to_dict(again)) == without_seconds(report_to_dict(whole))


def test_failures_are_asked_again(library: Library, tmp_path: Path) -> None:
    """An answer that failed is not kept."""
    run(library, ScriptedModel([]), kept=ResultCache(tmp_path / "kept.jsonl"))
    assert len((tmp_path / "kept.jsonl").read_text("utf-8").splitlines()) == 1


def test_what_was_kept_is_not_paid_for_again(library: Library, tmp_path: Path) -> None:
    """A second run with the same --max-cost gets on: only what it asks itself counts."""
    script = [says(library, "Server", "no call")] * 9
    kept = tmp_path / "kept.jsonl"
    (row,) = run(library, ScriptedModel(script), max_cost=0.002, kept=ResultCache(kept)).rows
    assert sum(one is not None for one in row.outcomes) == 2
    (row,) = run(library, ScriptedModel(script), max_cost=0.002, kept=ResultCache(kept)).rows
    assert sum(one is not None for one in row.outcomes) == 4


def test_search_is_asked_anew(library: Library, tmp_path: Path) -> None:
    """What is free is not kept: ranks are those of today, beside answers that were paid for before."""
    kept = tmp_path / "kept.jsonl"
    run(library, "search", "outline", kept=ResultCache(kept))
    assert len(kept.read_text("utf-8").splitlines()) == 1
    run(library, ExtractiveModel(), kept=ResultCache(kept))
    kept.write_text(kept.read_text("utf-8").replace('"rank": 1', '"rank": 41'), "utf-8")
    (row,) = run(library, ExtractiveModel(), kept=ResultCache(kept)).rows
    assert {one.rank for one in row.outcomes if one} & {1, 41} == {1}


@pytest.mark.parametrize("text", ["questions: []", "no line end", "one\ntwo", "é" * 9, "", '{"format": "roam'])
def test_a_file_that_is_something_else_is_left_alone(tmp_path: Path, text: str) -> None:
    """Named by mistake, it is refused and not written to; an empty one, or a first line cut off, begins anew."""
    file = tmp_path / "file"
    file.write_text(text, "utf-8")
    if text and not text.startswith("{"):
        with pytest.raises(UsageError, match=r"holds no outcomes|is not JSON"):
            ResultCache(file)
        assert file.read_text("utf-8") == text
    else:
        ResultCache(file)
        assert json.loads(file.read_text("utf-8"))["format"] == "roaming-outcomes"


def test_a_cut_within_a_character_is_no_loss(library: Library, tmp_path: Path) -> None:
    """Whoever wrote it may have been stopped in the middle of an é."""
    file = tmp_path / "kept.jsonl"
    run(library, ExtractiveModel(), kept=ResultCache(file))
    data = file.read_bytes()
    file.write_bytes(data + '{"key": "é'.encode()[:-1])
    assert len(ResultCache(file)._outcomes) == 5
    assert file.read_bytes() == data


def test_half_a_line_is_no_loss(library: Library, tmp_path: Path) -> None:
    """A file whose last line was cut off is read up to there; one that is something else is refused by its line."""
    file = tmp_path / "kept.jsonl"
    run(library, ExtractiveModel(), kept=ResultCache(file))
    whole = file.read_text("utf-8")
    file.write_text(whole[:-40], "utf-8")
    assert len(ResultCache(file)._outcomes) == 4
    assert file.read_text("utf-8") == "".join(line + "\n" for line in whole.splitlines()[:-1])
    file.write_text("questions: []\n", "utf-8")
    with pytest.raises(UsageError, match="line 1 is not JSON"):
        ResultCache(file)
    file.write_text(whole.replace('"outcome": {"ask"', '"outcome": {"was"'), "utf-8")
    with pytest.raises(UsageError, match=r"line 2: outcome\.ask is not there"):
        ResultCache(file)


def test_ctrl_c_tells_what_there_is(sample: Path) -> None:
    """Interrupted, the command tells the figures of what was asked so far, and ends with 1."""
    brain = Script([Say("I do not know.")], [Say("I do not know.")], [Wait(60)], again=True)
    with serving(MessagesApi(brain=brain)) as api:
        environment = {**os.environ, "OPENAI_BASE_URL": f"{api.url}/v1", "OPENAI_API_KEY": api.key}
        command = [sys.executable, "-m", "mkdocs_roaming", "eval", sample, SAMPLE, "--compare", "search,openai:x"]
        running = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=sample
        )
        end = time.monotonic() + 60
        while len(api.exchanges) < 3 and time.monotonic() < end:
            time.sleep(0.1)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=30)
    assert running.returncode == 1, err
    assert "Traceback" not in err
    assert [line.split()[0] for line in out.splitlines() if "alone" in line or "roams" in line] == [
        "search",
        "openai:x",
    ]
    assert "openai:x: 2 of 65 questions asked: it was broken off" in err


# The command


def test_table_is_printed(sample: Path, roaming: Roaming) -> None:
    """The command prints ranks, a row for each mode, and what to look at."""
    result = roaming("eval", sample, SAMPLE, "--compare", "search,outline", "--limit", 12)
    assert result.exit_code == 0
    assert "Search ranks a section that answers" in result.stdout
    assert [line.split()[0] for line in result.stdout.splitlines() if "alone" in line] == ["search", "outline"]
    assert "to look at" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((), 2, "--generate"),
        (("--generate", "3"), 2, "-o FILE"),
        (("Q", "--generate", "3", "-o", "x.yml"), 2, "no other questions"),
        (("Q", "--compare", "search,search"), 1, "each mode stands there once"),
        (("Q", "--compare", "serch"), 1, "there is no model 'serch'"),
        (("Q", "--html", "/nowhere/x.html"), 1, "cannot be written"),
        (("Q", "--baseline", "/nowhere.json"), 1, "cannot be read"),
        (("Q", "--only", "xyzzy"), 1, "no question holds"),
    ],
)
def test_mistakes_end_in_one_line(
    arguments: tuple[str, ...], code: int, said: str, questions: Path, roaming: Roaming
) -> None:
    """What the command line gets wrong is told before anything is asked."""
    kettle = Path(__file__).parents[2] / "golden/answer/kettle.md"
    given = [str(questions) if word == "Q" else word for word in arguments]
    result = roaming("eval", kettle, *given)
    assert result.exit_code == code
    assert said in result.stderr


def test_model_that_is_configured_is_asked(questions: Path, roaming: Roaming) -> None:
    """Without --compare the model that `ask` would ask is asked."""
    kettle = Path(__file__).parents[2] / "golden/answer/kettle.md"
    result = roaming("eval", kettle, questions, "--json")
    assert [row["mode"] for row in json.loads(result.stdout)["rows"]] == ["offline"]
    assert read_questions(questions).digest == json.loads(result.stdout)["question_set"]


def test_every_option_is_documented() -> None:
    """docs/guides/evaluate.md names every option of `eval` and `diff`, and every key of a question."""
    text = (Path(__file__).parents[3] / "docs/guides/evaluate.md").read_text("utf-8")
    options = [one for name in ("eval", "diff") for option in main.commands[name].params for one in option.opts]
    wanted = [one for one in options if one.startswith("--") and one != "--output"] + [
        f"| `{key}` |" for key in QUESTION_KEYS
    ]
    assert [one for one in wanted if one not in text] == []


def test_example_of_the_docs_can_be_copied() -> None:
    """The question file that docs/guides/evaluate.md shows is one."""
    text = (Path(__file__).parents[3] / "docs/guides/evaluate.md").read_text("utf-8")
    (block,) = re.findall(r"^```yaml\n(.*?)^```$", text, re.M | re.S)
    assert len(parse_questions(block, "docs").questions) == 2
