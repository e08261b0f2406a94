"""`roaming report` with the sample site."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner, Result
from report_logs import line, write_lines

from mkdocs_roaming.cli import main


def report(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["report", *map(str, arguments)])


def test_report_names_sections_of_the_site(sample: Path, tmp_path: Path) -> None:
    log = write_lines(tmp_path / "questions.jsonl", [line("drain window in seconds?", "not_found")])
    page = tmp_path / "report.html"
    done = report(log, "--site", sample, "--html", page)
    assert (done.exit_code, done.stderr) == (0, "")
    assert "    1  drain window in seconds?\n       nearest: Guide › Data › How readings are kept › Sto" in done.stdout
    assert "What readers asked about Ebbkeeper handbook" in page.read_text("utf-8")
    (group,) = json.loads(report(log, "--site", sample, "--json").stdout)["groups"]
    assert group["nearest"][0]["title"].endswith("Stopping without loss")


def test_report_reads_access_logs_without_a_question_log(tmp_path: Path) -> None:
    request = '203.0.113.7 - - [01/Mar/2026:10:00:00 +0000] "GET {} HTTP/1.1" {} 9 "-" "(compatible; GPTBot/1.2)"'
    first = write_lines(tmp_path / "a.log", [request.format("/llms.txt", 200)])
    second = write_lines(tmp_path / "b.log", [request.format("/docs/storage.md", 404)])
    done = report("--access-log", first, "--access-log", second)
    assert (done.exit_code, done.stderr) == (0, "")
    assert "GPTBot                           1         0         0         1\n" in done.stdout
    assert "0 requests" in report("--access-log", first, "--since", "2026-03-02").stdout


def test_report_explains_wrong_arguments(tmp_path: Path) -> None:
    log = write_lines(tmp_path / "questions.jsonl", [line("oil?")])
    wrong = write_lines(tmp_path / "wrong.log", ["nothing"])
    for arguments, code, message in (
        ((), 2, "Name the question_log"),
        ((log, "--since", "soon"), 1, "neither a period"),
        ((tmp_path / "none.jsonl",), 1, "cannot be read"),
        ((log, "--site", tmp_path / "none"), 1, "no such folder or file"),
        (("--access-log", wrong), 1, "no line is a request"),
    ):
        done = report(*arguments)
        assert (done.exit_code, message in done.stderr) == (code, True), arguments
    assert report(log, "--since", "2030-01-01").stdout == "No questions in this period.\n"
