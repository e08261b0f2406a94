"""`roaming eval` with model servers."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from kettle import KETTLE
from messages_api import MessagesApi, serving
from messages_api.navigator import Navigator as WordNavigator
from messages_api.parts import Say, Wait
from messages_api.script import Script

from .conftest import Roaming

SAMPLE = Path(__file__).parents[3] / "sample_site" / "questions.yml"


def test_eval_prints_table_and_problems(sample: Path, roaming: Roaming) -> None:
    result = roaming("eval", sample, SAMPLE, "--compare", "search,offline", "--limit", 12)
    assert result.exit_code == 0
    assert "Search ranks a gold section" in result.stdout
    assert [line.split()[0] for line in result.stdout.splitlines() if re.match("search |offline ", line)] == [
        "search",
        "offline",
    ]
    assert "questions with a problem" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("Q", "--compare", "search,search"), 1, "each name may occur once"),
        (("Q", "--compare", "serch"), 1, "'serch'"),
        (("Q", "--baseline", "/nowhere.json"), 1, "cannot read"),
    ],
)
def test_eval_invalid_arguments_exit_with_message(
    arguments: tuple[str, ...], code: int, message: str, questions: Path, roaming: Roaming
) -> None:
    result = roaming("eval", KETTLE, *[str(questions) if word == "Q" else word for word in arguments])
    assert result.exit_code == code
    assert message in " ".join(result.stderr.split())


@pytest.mark.slow
def test_eval_results_do_not_depend_on_hash_seed(sample: Path, tmp_path: Path) -> None:
    file = tmp_path / "q.yml"
    file.write_text("questions:\n- ask: podman kills it too quickly when I stop it\n  answerable: false\n", "utf-8")
    command = [sys.executable, "-m", "mkdocs_roaming", "eval", str(sample), str(file), "--compare", "offline"]
    opened = []
    for seed in ("0", "1", "4"):
        result = subprocess.run(
            [*command, "--json"],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        opened.append(json.loads(result.stdout)["rows"][0]["results"][0]["opened"])
    assert opened[0] == opened[1] == opened[2]


def test_eval_without_compare_uses_configured_model(questions: Path, roaming: Roaming) -> None:
    result = roaming("eval", KETTLE, questions, "--json")
    assert [row["mode"] for row in json.loads(result.stdout)["rows"]] == ["offline"]


@pytest.mark.parametrize("name", ["openai:by-words", "claude"])
def test_eval_compare_provider_calls_its_api(
    name: str, questions: Path, tmp_path: Path, roaming: Roaming, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "kettle.md"
    site.write_text(KETTLE.read_text("utf-8"), "utf-8")
    with serving(MessagesApi(brain=WordNavigator())) as api:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url)
        monkeypatch.setenv("OPENAI_BASE_URL", f"{api.url}/v1")
        monkeypatch.setenv("ANTHROPIC_API_KEY", api.key)
        monkeypatch.setenv("OPENAI_API_KEY", api.key)
        result = roaming(
            "eval", site, questions, "--compare", f"offline,{name}", "--whole-site-tokens", "0", "--limit", 2, "--json"
        )
    assert result.exit_code == 0, result.stderr
    row = json.loads(result.stdout)["rows"][1]
    assert (row["mode"], [result["error"] for result in row["results"]]) == (name, ["", ""])
    assert row["results"][0]["reached"]
    assert api.exchanges


@pytest.mark.slow
def test_eval_interrupted_reports_results_so_far(sample: Path) -> None:
    unusable = [Say("I do not know.")]  # each question is repaired once
    brain = Script(unusable, unusable, unusable, unusable, [Wait(60)], again=True)
    with serving(MessagesApi(brain=brain)) as api:
        environment = {**os.environ, "OPENAI_BASE_URL": f"{api.url}/v1", "OPENAI_API_KEY": api.key}
        command = [sys.executable, "-m", "mkdocs_roaming", "eval", sample, SAMPLE, "--compare", "search,openai:x"]
        process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=sample
        )
        deadline = time.monotonic() + 60
        while len(api.exchanges) < 5 and time.monotonic() < deadline:
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 1, err
    assert "Traceback" not in err
    rows = [line.split()[0] for line in out.splitlines() if re.match("search |openai:x ", line)]
    assert rows == ["search", "openai:x"]
    assert "openai:x: 2 of 65 questions asked: interrupted" in err
