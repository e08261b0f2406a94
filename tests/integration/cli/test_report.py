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
    assert "guide/data/storage.md#stopping-without-loss" in group["entry"]


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
