"""Baselines: what could be found and no longer can fails the command; what got better does not."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mkdocs_roaming.cli.common import FAULTS_FOUND
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.evals.metrics import EvalResult, compute_totals
from mkdocs_roaming.evals.questions import QuestionSet, parse_questions
from mkdocs_roaming.evals.runner import (
    EvalReport,
    Regression,
    ReportRow,
    check_comparable,
    create_baseline,
    find_regressions,
    read_baseline,
    write_baseline,
)
from mkdocs_roaming.library.library import open_library

from .conftest import KETTLE, QUESTIONS, Roaming

SITE = Path(__file__).parents[3] / "sample_site"
RENAMED = "guide/stations/kelp/configure.md#growth-on-the-membrane"
WALLED = "guide/stations/heron/configure.md#mounting"
KEPT = "reference/cli.md#ebb-drain"


@pytest.fixture(scope="module")
def planted(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample site, built anew after a heading became “Misc” and a section moved behind a wall of siblings."""
    folder = tmp_path_factory.mktemp("planted")
    for name in ("docs", "src", "snippets"):
        shutil.copytree(SITE / name, folder / name)
    _edit(folder / "docs/guide/stations/kelp/configure.md", "## Growth on the membrane", "## Misc")
    page = folder / "docs/guide/stations/heron/configure.md"
    text = page.read_text("utf-8")
    start = text.index("## Mounting")
    end = text.index("\n## ", start)
    filler = "Nobody knows what it is good for. " * 14
    wall = "".join(f"\n## Clearance of a radar above the tide {at}\n\n{filler}\n" for at in range(150))
    page.write_text(text[:start] + text[end:].rstrip() + "\n" + wall + "\n" + text[start:end], "utf-8")
    config = (SITE / "mkdocs.yml").read_text("utf-8")
    previous = f"  - roaming:\n      previous: {sample / 'roaming/manifest.json'}\n"
    (folder / "mkdocs.yml").write_text(config.replace("  - roaming:\n", previous), "utf-8")
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"}
    command = [sys.executable, "-m", "mkdocs", "build", "-q", "-f", str(folder / "mkdocs.yml")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "site"


def _edit(file: Path, old: str, new: str) -> None:
    text = file.read_text("utf-8")
    assert text.count(old) == 1
    file.write_text(text.replace(old, new), "utf-8")


@pytest.fixture
def asked(sample: Path, tmp_path: Path) -> Path:
    """Questions whose sections are named by the ids that they had before."""
    places = open_library(sample).sections
    lines = ["questions:"]
    for ask, address in (
        ("growth on the membrane", RENAMED),
        ("minimum clearance of the radar above the highest tide", WALLED),
        ("--drain-window default", KEPT),
    ):
        place = places.resolve(address)
        assert place is not None
        lines += [f"  - ask: {ask}", f"    sections: ['{place.id}']"]
    file = tmp_path / "asked.yml"
    file.write_text("\n".join([*lines, "  - ask: is there an app for my fridge", "    answerable: false", ""]), "utf-8")
    return file


def test_planted_regressions_fail(sample: Path, planted: Path, asked: Path, tmp_path: Path, roaming: Roaming) -> None:
    """A heading renamed to “Misc” and a section behind a wall of siblings end with 4 and are named."""
    modes = ("--compare", "search,outline")
    file = tmp_path / "baseline.json"
    assert roaming("eval", sample, asked, *modes, "--write-baseline", file).exit_code == 0
    assert roaming("eval", sample, asked, *modes, "--baseline", file).exit_code == 0
    result = roaming("eval", planted, asked, *modes, "--baseline", file, "--json")
    assert result.exit_code == FAULTS_FOUND
    found = {(one["ask"], one["mode"]): one for one in json.loads(result.stdout)["regressions"]}
    assert set(found) == {
        ("growth on the membrane", "outline"),
        ("minimum clearance of the radar above the highest tide", "search"),
        ("minimum clearance of the radar above the highest tide", "outline"),
    }
    assert found["minimum clearance of the radar above the highest tide", "search"]["before"] == "ranked 1"
    assert found["growth on the membrane", "outline"]["after"] == "none is"
    shown = roaming("eval", planted, asked, *modes, "--baseline", file, "--limit", 1).stdout
    assert "No longer found\n  growth on the membrane\n      outline: a section that answers was opened before" in shown


def test_improvements_are_tolerated(sample: Path, planted: Path, asked: Path, tmp_path: Path, roaming: Roaming) -> None:
    """What is found again, against a baseline in which it wasn't, is no regression."""
    modes = ("--compare", "search,outline,offline")
    file = tmp_path / "baseline.json"
    assert roaming("eval", planted, asked, *modes, "--write-baseline", file).exit_code == 0
    assert roaming("eval", sample, asked, *modes, "--baseline", file).exit_code == 0


def test_wrong_gold_anchor_is_an_error(planted: Path, roaming: Roaming, tmp_path: Path) -> None:
    """An anchor that a renamed heading took along is told with file and line, not measured as not found."""
    file = tmp_path / "questions.yml"
    file.write_text(f"questions:\n  - ask: growth on the membrane\n    sections:\n      - {RENAMED}\n", "utf-8")
    result = roaming("eval", planted, file, "--compare", "search")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"roaming: {file}:4: Ebbkeeper handbook has no section '{RENAMED}'")


# Without a site


def report(*outcomes: EvalResult, mode: str = "offline", questions: QuestionSet | None = None) -> EvalReport:
    questions = questions or parse_questions(QUESTIONS, "q.yml")
    asked = replace(questions, questions=questions.questions[: len(outcomes)])
    row = ReportRow(mode, "", outcomes, compute_totals(asked.questions, outcomes))
    return EvalReport("Kettle", "", "sha256:0", asked, asked.digest, (), (row,))


PORT = EvalResult("Which port is the default?", rank=2, reached=True, state="answered", text="8642", missing=())


@pytest.mark.parametrize(
    ("now", "told"),
    [
        (replace(PORT), []),
        (replace(PORT, rank=10), []),
        (replace(PORT, rank=1), []),
        (replace(PORT, rank=11), [("search", "ranked 2", "ranked 11")]),
        (replace(PORT, rank=None), [("search", "ranked 2", "not among the first 50")]),
        (replace(PORT, reached=False), [("offline", "a section that answers was opened", "none is")]),
        (replace(PORT, text="", state="not_found", missing=("8642",)), [("offline", "answered", "declined")]),
        (replace(PORT, missing=("8642",)), [("offline", "the answer held 8642", "it does not")]),
        (replace(PORT, error="no network", reached=False, rank=None), []),
    ],
)
def test_what_counts_as_worse(now: EvalResult, told: list[tuple[str, str, str]]) -> None:
    """Worse is: out of the first ten, no longer opened, declined, a literal lost. A failure is no finding."""
    found = find_regressions(create_baseline(report(PORT)), report(now))
    assert [(one.mode, one.before, one.after) for one in found] == told


def test_answer_to_what_was_declined_is_worse() -> None:
    """A question that the docs do not answer, declined before and answered now, is a regression; not the other way."""
    questions = parse_questions("questions:\n- ask: teapot\n  answerable: false\n", "q.yml")
    declined = EvalResult("teapot", state="not_found")
    answered = EvalResult("teapot", state="answered", text="blue")
    before, after = report(declined, questions=questions), report(answered, questions=questions)
    expected = [Regression("teapot", "offline", "declined", "answered, though the docs do not say")]
    assert find_regressions(create_baseline(before), after) == expected
    assert find_regressions(create_baseline(after), before) == []


def test_baseline_of_other_questions_is_refused(tmp_path: Path) -> None:
    """A baseline of another set, mode, version or format is one line of error that names the cure."""
    file = tmp_path / "b.json"
    write_baseline(file, create_baseline(report(PORT)))
    other = parse_questions(QUESTIONS.replace("how long", "for how long"), "other.yml")
    with pytest.raises(
        UsageError, match=r"b\.json: a baseline of other questions than other\.yml asks; write it again"
    ):
        check_comparable(read_baseline(file), other, ["offline"], "b.json")
    same = report(PORT).questions
    check_comparable(read_baseline(file), same, ["offline"], "b.json")
    with pytest.raises(UsageError, match="a baseline of offline, not of claude"):
        check_comparable(read_baseline(file), same, ["offline", "claude"], "b.json")
    data = json.loads(file.read_text("utf-8"))
    for change, said in (
        ({"version": 2}, "a baseline of version 2, this reads 1"),
        ({"format": "x"}, "not a baseline"),
        ({"modes": [{}]}, r"modes\[0\]\.mode is not there"),
        ({"modes": [{"mode": "offline", "outcomes": []}]}, "does not tell what came of 'Which port is the default"),
    ):
        file.write_text(json.dumps({**data, **change}), "utf-8")
        with pytest.raises(UsageError, match=said):
            check_comparable(read_baseline(file), same, ["offline"], "b.json")
    file.write_text("{", "utf-8")
    with pytest.raises(UsageError, match="not JSON"):
        read_baseline(file)


def test_same_outcomes_write_the_same_bytes(tmp_path: Path) -> None:
    """A baseline holds no times."""
    one, other = tmp_path / "one.json", tmp_path / "other.json"
    write_baseline(one, create_baseline(report(PORT)))
    write_baseline(other, create_baseline(report(replace(PORT, seconds=9.0))))
    assert one.read_bytes() == other.read_bytes()


def test_half_an_evaluation_is_no_baseline() -> None:
    """Where questions were not asked, no baseline is written."""
    half = report(PORT)
    half = replace(half, rows=(replace(half.rows[0], outcomes=(PORT, None), left="it was broken off"),))
    with pytest.raises(UsageError, match="broken off"):
        create_baseline(half)


def test_part_of_a_set_is_no_baseline(questions: Path, tmp_path: Path, roaming: Roaming) -> None:
    """What --only or --limit leave out would never be missed: it is refused before anything is asked."""
    file = tmp_path / "b.json"
    for some in (("--limit", 2), ("--only", "port")):
        result = roaming("eval", KETTLE, questions, "--compare", "search", "--write-baseline", file, *some)
        assert (result.exit_code, file.exists()) == (2, False)
        assert "is of all questions" in result.stderr
    part = replace(report(PORT), set_digest=parse_questions(QUESTIONS, "q.yml").digest)
    with pytest.raises(UsageError, match="it is of all questions"):
        create_baseline(part)


def test_a_baseline_that_does_not_fit_costs_nothing(questions: Path, tmp_path: Path, roaming: Roaming) -> None:
    """Another set or mode is told before a model is asked, not after it was paid for."""
    file, kept = tmp_path / "b.json", tmp_path / "kept.jsonl"
    assert roaming("eval", KETTLE, questions, "--compare", "search", "--write-baseline", file).exit_code == 0
    result = roaming("eval", KETTLE, questions, "--compare", "search,offline", "--baseline", file, "--keep", kept)
    assert (result.exit_code, kept.exists()) == (1, False)
    assert "a baseline of search, not of offline" in result.stderr


def test_a_new_literal_was_not_held_before() -> None:
    """A literal that is asked for since is not lost by an answer that never had it."""
    more = parse_questions(QUESTIONS.replace("['8642']", "['8642', tcp]"), "q.yml")
    now = replace(PORT, missing=("tcp",))
    assert find_regressions(create_baseline(report(PORT)), report(now, questions=more)) == []
    lost = replace(PORT, missing=("8642", "tcp"))
    (one,) = find_regressions(create_baseline(report(PORT)), report(lost, questions=more))
    assert one.before == "the answer held 8642"
