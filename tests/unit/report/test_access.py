"""What agents read, by access logs of several servers."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from report_logs import write_lines
from tables import read_tables

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.report.access import AccessReport, count_requests

TABLES = read_tables(__file__)

GPTBOT = "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)"
BROWSER = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0 Safari/537.36"
TIME = datetime(2026, 3, 14, 12, tzinfo=UTC)


def combined(path: str, agent: str = GPTBOT, status: int = 200, method: str = "GET", day: int = 14) -> str:
    time = f"{day:02}/Mar/2026:12:00:00 +0000"
    return f'203.0.113.7 - - [{time}] "{method} {path} HTTP/1.1" {status} 512 "-" "{agent}"'


def read(folder: Path, *lines: str | dict, since: datetime | None = None) -> AccessReport:
    return count_requests([write_lines(folder / "access.log", lines)], since=since)


FORMS = TABLES["forms"]


@pytest.mark.parametrize("form", FORMS)
def test_form_of_a_line_is_recognized(tmp_path: Path, form: str) -> None:
    report = read(tmp_path, FORMS[form], since=TIME)
    assert (report.requests, report.agents, report.skipped) == (1, {"GPTBot": {"llms.txt": 1}}, 0)
    assert read(tmp_path, FORMS[form], since=TIME.replace(hour=13)).requests == 0


def test_forms_can_be_mixed_and_files_compressed_empty_or_named_twice(tmp_path: Path) -> None:
    lines = [form if isinstance(form, str) else json.dumps(form) for form in FORMS.values()]
    batch = json.dumps([FORMS["Vercel"], FORMS["Vercel"]])
    path = tmp_path / "access.log.1.gz"
    path.write_bytes(gzip.compress("\n".join([*lines, batch, "unknown", "{}", "[]", "null", '{"cut":']).encode()))
    log = write_lines(tmp_path / "access.log", lines)
    report = count_requests([path, log, log, write_lines(tmp_path / "empty.log", [])])
    assert report.agents == {"GPTBot": {"llms.txt": 2 * len(FORMS) + 2}}
    assert report.skipped == 5


def test_file_without_requests_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no line is a request"):
        read(tmp_path, "2026-03-14 12:00:00 listening", {"level": "info"})
    with pytest.raises(UsageError, match="cannot be read"):
        count_requests([tmp_path / "missing.log"])


@pytest.mark.parametrize(("agent", "name"), TABLES["agent is named by its user agent"])
def test_agent_is_named_by_its_user_agent(tmp_path: Path, agent: str, name: str) -> None:
    assert list(read(tmp_path, combined("/llms.txt", agent)).agents) == [name]


@pytest.mark.parametrize(
    "agent",
    [BROWSER, "", "-", "Mozilla/4.0 (compatible; MSIE 7.0; Windows NT 5.1)", "Opera/9.80 (X11; Linux)", r"\"quoted\""],
)
def test_browsers_and_requests_without_a_name_are_counted_as_requests_only(tmp_path: Path, agent: str) -> None:
    report = read(tmp_path, combined("/missing", agent, 404))
    assert (report.requests, report.agents, report.skipped) == (1, {}, 0)


def test_requests_are_counted_by_kind_of_file(tmp_path: Path) -> None:
    paths = ["/llms.txt", "/llms-full.txt", "/pumps/", "/en/index.html", "/v1.2", "/pumps.md", "/roaming/outline.md"]
    paths += ["/robots.txt", "/a.css", "/logo.png", "/wp-login.php", "/.env", "/mcp", "/v1/ask"]  # not counted
    lines = [combined(path) for path in paths] + [combined("/llms.txt", "axios/1.7", status) for status in (403, 404)]
    report = read(tmp_path, *lines)
    assert (report.requests, list(report.agents)) == (16, ["GPTBot", "axios"])
    assert report.agents["GPTBot"] == {"llms.txt": 2, "HTML": 3, "Markdown": 2}
    assert report.agents["axios"] == {"failed": 2}
