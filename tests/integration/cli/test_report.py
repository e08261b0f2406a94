"""`roaming report` with the sample site."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner, Result

from mkdocs_roaming.cli import main
from mkdocs_roaming.library.targets import open_library

QUESTION = {"time": "2026-03-01T10:00:00Z", "question": "drain window in seconds?", "state": "not_found"}


def report(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["report", *map(str, arguments)])


def write_log(folder: Path, **more: object) -> Path:
    log = folder / "questions.jsonl"
    log.write_text(json.dumps({**QUESTION, **more}) + "\n", "utf-8")
    return log


def test_report_names_sections_of_the_site(sample: Path, tmp_path: Path) -> None:
    nearest = next(each for each in open_library(sample).sections if each.section.title == "Stopping without loss")
    log, page = write_log(tmp_path, nearest=[nearest.id]), tmp_path / "report.html"
    done = report(log, "--site", sample, "--html", page)
    assert (done.exit_code, done.stderr) == (0, "")
    assert "    1  drain window in seconds?\n" in done.stdout
    assert "nearest: Guide › Data › How readings are kept › Stopping without loss\n" in done.stdout
    assert "What readers asked about Ebbkeeper handbook" in page.read_text("utf-8")
    (group,) = json.loads(report(log, "--site", sample, "--json").stdout)["groups"]
    assert group["nearest"][0]["id"] == nearest.id


def test_report_without_site_warns_and_shows_ids(tmp_path: Path) -> None:
    done = report(write_log(tmp_path, nearest=["0123abcd"]))
    assert (done.exit_code, "nearest: 0123abcd" in done.stdout) == (0, True)
    assert "without --site" in done.stderr


def test_report_explains_wrong_arguments(tmp_path: Path) -> None:
    log = write_log(tmp_path)
    assert "neither a period" in report(log, "--since", "soon").stderr
    assert "cannot be read" in report(tmp_path / "none.jsonl").stderr
    assert "no such folder or file" in report(log, "--site", tmp_path / "none").stderr
    assert report(log, "--since", "2030-01-01").stdout == "No questions in this period.\n"


def test_report_reads_access_logs_without_a_question_log(sample: Path, tmp_path: Path) -> None:
    line = '203.0.113.7 - - [01/Mar/2026:10:00:00 +0000] "GET {} HTTP/1.1" {} 9 "-" "Mozilla/5.0 (compatible; GPTBot/1.2)"\n'
    one, other = tmp_path / "a.log", tmp_path / "b.log"
    one.write_text(line.format("/llms.txt", 200), "utf-8")
    other.write_text(line.format("/docs/storage.md", 404), "utf-8")
    done = report("--access-log", one, "--access-log", other, "--site", sample)
    assert (done.exit_code, done.stderr) == (0, "")
    assert "    2  GPTBot: llms.txt 1, does not exist 1\n" in done.stdout
    assert "    1  /docs/storage.md, nearest: How readings are kept\n" in done.stdout
    assert report("--access-log", one, "--since", "2026-03-02").stdout == "Agents sent 0 requests.\n"


def test_report_needs_a_log(tmp_path: Path) -> None:
    done = report()
    assert (done.exit_code, "Name the question_log" in done.stderr) == (2, True)
    wrong = tmp_path / "wrong.log"
    wrong.write_text("nothing\n", "utf-8")
    done = report("--access-log", wrong)
    assert (done.exit_code, "no line is a request" in done.stderr) == (1, True)
