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


def test_report_explains_wrong_arguments(tmp_path: Path) -> None:
    log = write_lines(tmp_path / "questions.jsonl", [line("oil?")])
    wrong = write_lines(tmp_path / "wrong.log", ["nothing"])
    for arguments, code, message in (
        ((), 2, "Missing argument 'LOG'"),
        ((log, "--since", "soon"), 1, "neither a period"),
        ((tmp_path / "none.jsonl",), 1, "cannot be read"),
        ((log, "--site", tmp_path / "none"), 1, "no such folder or file"),
        ((wrong,), 1, "no line is a question"),
    ):
        done = report(*arguments)
        assert (done.exit_code, message in done.stderr) == (code, True), arguments
    assert report(log, "--since", "2030-01-01").stdout == "No questions in this period.\n"
