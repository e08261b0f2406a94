"""`roaming eval` with real processes and model servers."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import lxml.html
import pytest
from described import write_descriptions
from kettle import KETTLE
from messages_api import MessagesApi, serving
from messages_api.navigator import Navigator as WordNavigator
from messages_api.parts import Say, Wait
from messages_api.script import Script

import mkdocs_roaming

from .conftest import Roaming

pytestmark = pytest.mark.slow

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
        (("Q", "--html", "/nowhere/x.html"), 1, "cannot"),
        (("Q", "--baseline", "/nowhere.json"), 1, "cannot read"),
        (("Q", "--only", "xyzzy"), 1, "no question contains"),
    ],
)
def test_eval_invalid_arguments_exit_with_message(
    arguments: tuple[str, ...], code: int, message: str, questions: Path, roaming: Roaming
) -> None:
    result = roaming("eval", KETTLE, *[str(questions) if word == "Q" else word for word in arguments])
    assert result.exit_code == code
    assert message in " ".join(result.stderr.split())
    assert not Path("x.yml").exists()


def test_eval_results_do_not_depend_on_hash_seed(sample: Path) -> None:
    """The words of this question have several synonyms, whose order decides which sections are opened."""
    command = [sys.executable, "-m", "mkdocs_roaming", "eval", str(sample), str(SAMPLE), "--compare", "offline"]
    opened = []
    for seed in ("0", "1", "4"):
        result = subprocess.run(
            [*command, "--only", "podman kills", "--json"],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        opened.append(json.loads(result.stdout)["rows"][0]["results"][0]["trail"])
    assert opened[0] == opened[1] == opened[2]


def test_eval_without_compare_uses_configured_model(questions: Path, roaming: Roaming) -> None:
    result = roaming("eval", KETTLE, questions, "--json")
    assert [row["mode"] for row in json.loads(result.stdout)["rows"]] == ["offline"]


def test_eval_html_writes_page(tmp_path: Path, questions: Path, roaming: Roaming) -> None:
    file = tmp_path / "report.html"
    assert roaming("eval", KETTLE, questions, "--compare", "search,offline", "--html", file).exit_code == 0
    assert len(lxml.html.document_fromstring(file.read_text("utf-8")).xpath("//details")) == 5


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
    assert (row["mode"], row["totals"]["asked"], row["totals"]["errors"]) == (name, 2, 0)
    assert "in the answer loop" in row["navigator"]
    assert row["results"][0]["reached"]
    assert api.exchanges


def test_eval_interrupted_reports_results_so_far(sample: Path) -> None:
    brain = Script([Say("I do not know.")], [Say("I do not know.")], [Wait(60)], again=True)
    with serving(MessagesApi(brain=brain)) as api:
        environment = {**os.environ, "OPENAI_BASE_URL": f"{api.url}/v1", "OPENAI_API_KEY": api.key}
        command = [sys.executable, "-m", "mkdocs_roaming", "eval", sample, SAMPLE, "--compare", "search,openai:x"]
        process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=sample
        )
        deadline = time.monotonic() + 60
        while len(api.exchanges) < 3 and time.monotonic() < deadline:
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 1, err
    assert "Traceback" not in err
    rows = [line.split()[0] for line in out.splitlines() if re.match("search |openai:x ", line)]
    assert rows == ["search", "openai:x"]
    assert "openai:x: 2 of 65 questions asked: interrupted" in err


@pytest.fixture
def described(tmp_path: Path) -> Path:
    """A site with two pages, one of which is described."""
    site = tmp_path / "site"
    pages = [
        mkdocs_roaming.Page(
            "pumps/", "Pumps", markdown="# Pumps\n\nFill the bilge housing before the impeller starts.\n"
        ),
        mkdocs_roaming.Page("gates/", "Gates", markdown="# Gates\n\nThe leaves are held until the levels are equal.\n"),
    ]
    publish = partial(mkdocs_roaming.publish_pages, pages, site, url="https://docs.example/", name="Harbour")
    publish()
    publish(descriptions=write_descriptions(tmp_path / "d.json", site, {"Pumps": ("Priming", "Why is my motor dry?")}))
    (tmp_path / "q.yml").write_text("questions:\n  - ask: my motor is dry\n    sections: [pumps/]\n", "utf-8")
    return site


def test_eval_without_descriptions_compares_both(described: Path, roaming: Roaming) -> None:
    questions, page = described.parent / "q.yml", described.parent / "r.html"
    arguments = ("eval", described, questions, "--compare", "search,offline", "--without-descriptions", "--html", page)
    result = roaming(*arguments)
    assert result.exit_code == 0, result.output
    assert re.search(r"^  first 1 100 %.*, prefetched 100 %", result.stdout, re.MULTILINE)
    assert re.search(r"^  without descriptions: first 1 0 %.*, prefetched 0 %", result.stdout, re.MULTILINE)
    assert "Without descriptions: first 1 0 %" in page.read_text("utf-8")
    report = json.loads(roaming(*arguments, "--json").stdout)
    reached = {row["mode"]: row["results"][0]["reached"] for row in report["rows"]}
    assert reached == {
        "search": True,
        "search without descriptions": False,
        "offline": True,
        "offline without descriptions": False,
    }
    assert report["ranks_without_descriptions"][0]["value"] == 0


def test_eval_without_descriptions_of_undescribed_site_exits_with_message(questions: Path, roaming: Roaming) -> None:
    result = roaming("eval", KETTLE, questions, "--without-descriptions")
    assert result.exit_code == 1
    assert "has no descriptions by a model" in result.stderr
