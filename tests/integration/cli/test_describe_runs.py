"""`roaming describe` when something goes wrong: killed, interrupted, edited files and sites, bad replies."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from messages_api import MessagesApi, serving
from messages_api.adversary import Adversary
from messages_api.parts import Part, Status, Wait
from messages_api.writer import Writer

from mkdocs_roaming.cli import main
from mkdocs_roaming.manifest.descriptions import text_digest

pytestmark = pytest.mark.slow

ROAMING = str(Path(sys.executable).with_name("roaming"))
FILE = "descriptions.json"
REPLIES = Path(".cache/roaming/describe")
PAGE = """<html lang='{language}'><head><title>{title}</title><link rel=canonical href="https://docs.example/{path}"></head>
<body><main><h1>{title}</h1><p>{title} belong to the port.</p>{parts}</main></body></html>"""
TIDES = "The tides of {0} are measured every hour at the quay."
SECONDS = 60.0


def write_page(folder: Path, name: str, parts: Iterable[tuple[str, str]], language: str = "en") -> None:
    file = folder / "site" / name / "index.html"
    file.parent.mkdir(parents=True, exist_ok=True)
    body = "".join(f"<h2 id='{title.lower()}'>{title}</h2><p>{text}</p>" for title, text in parts)
    file.write_text(PAGE.format(language=language, title=name or "Home", path=f"{name}/", parts=body), "utf-8")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Enter and return a folder with a published site of 8 pages with 2 sections each."""
    write_page(tmp_path, "", [])
    for number in range(1, 8):
        write_page(tmp_path, f"p{number}", [(f"Tides{number}", TIDES.format(number))])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test-key")
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")
    assert invoke("index", "site").exit_code == 0
    return tmp_path


def invoke(*arguments: str) -> Result:
    result = CliRunner().invoke(main, list(arguments))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@contextmanager
def serve(writer: Writer, *, wire: str = "openai", prices: bool = False) -> Iterator[MessagesApi]:
    """Run a server whose address is in roaming.toml, and check that no request was malformed."""
    with serving(MessagesApi(writer)) as api:
        url = f"{api.url}/v1" if wire == "openai" else api.url
        table = "[prices]\ninput = 1.0\noutput = 5.0\n" if prices else ""
        Path("roaming.toml").write_text(f'[model]\nname = "{wire}:test"\nbase_url = "{url}"\n{table}', "utf-8")
        yield api
        assert api.faults == []


def read_file() -> dict[str, Any]:
    pages: dict[str, Any] = json.loads(Path(FILE).read_text("utf-8"))["pages"]
    return pages


def read_titles() -> set[str]:
    return {section["title"] for page in read_file().values() for section in page.get("sections", {}).values()}


def asked_titles(asked: Iterable[dict[str, Any]]) -> list[str]:
    return sorted(section["title"] for one in asked for section in one["sections"])


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def start(*arguments: str) -> subprocess.Popen[str]:
    command = [ROAMING, "describe", "site", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def stored_replies() -> int:
    return len(list(REPLIES.glob("*.reply.json")))


def hang_after(count: int) -> Callable[[dict[str, Any]], Iterable[Part]]:
    """Return what makes a writer answer a number of requests, and leave the others waiting."""
    seen: list[object] = []

    def before(asked: dict[str, Any]) -> Iterable[Part]:
        seen.append(asked)
        return [Wait(SECONDS)] if len(seen) > count else []

    return before


# Interruptions


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGINT])
def test_run_that_is_stopped_in_the_middle_pays_for_no_reply_twice(project: Path, sign: signal.Signals) -> None:
    writer = Writer(before=hang_after(3))
    with serve(writer, prices=True) as api:
        process = start()
        wait_until(lambda: stored_replies() == 3 and len(writer.asked) > 3)
        process.send_signal(sign)
        output, _ = process.communicate(timeout=SECONDS)
        assert api.idle()
        answered = [one for one, exchange in zip(writer.asked, api.exchanges, strict=True) if exchange.left is None]
        assert len(answered) == 3
        if sign == signal.SIGINT:
            assert process.returncode == 1
            assert "interrupted; run the command again to go on" in output
            assert "Traceback" not in output
            assert len(read_titles()) > 2
        else:
            assert not Path(FILE).exists()
        second = Writer()
        api.brain = second
        described = invoke("describe", "site")
    assert described.exit_code == 0, described.output
    assert set(asked_titles(answered)).isdisjoint(asked_titles(second.asked))
    assert len(read_titles()) == 15
    assert invoke("describe", "site", "--check").exit_code == 0


def test_requests_without_a_reply_exit_with_an_error(project: Path) -> None:
    with serve(Writer(before=lambda asked: [Status(400, message="no")] if asked["page"] == "p3" else [])):
        described = invoke("describe", "site")
    assert described.exit_code == 1
    assert "2 sections and 0 pages without a description" in described.output
    assert len(read_titles()) == 13


def test_file_that_is_a_symbolic_link_stays_one(project: Path) -> None:
    Path("texts").mkdir()
    Path(FILE).symlink_to("texts/descriptions.json")
    invoke_with_writer()
    assert Path(FILE).is_symlink()
    assert len(read_titles()) == 15


def test_texts_that_a_person_edits_during_the_run_are_kept(project: Path) -> None:
    invoke_with_writer()
    text = "Measured every minute now."
    about = {"about": "Edited during the run"}

    def find(pages: dict[str, Any], title: str) -> str:
        return next(id_ for id_, one in pages[f"p{title[-1]}/"]["sections"].items() if one["title"] == title)

    def before(asked: dict[str, Any]) -> Iterable[Part]:
        pages = read_file()
        pages["p1/"]["sections"][find(pages, "Tides1")] |= about | {"digest": text_digest(text)}
        pages["p2/"]["sections"][find(pages, "Tides2")] |= about
        Path(FILE).write_text(json.dumps({"pages": pages}), "utf-8")
        return ()

    write_page(project, "p1", [("Tides1", text)])
    invoke("index", "site")
    with serve(Writer(before=before)) as api:
        assert invoke("describe", "site").exit_code == 0
        assert len(api.requests) == 1
    pages = read_file()
    for title in ("Tides1", "Tides2"):
        assert pages[f"p{title[-1]}/"]["sections"][find(pages, title)]["about"] == about["about"]


def test_folder_of_replies_that_cannot_be_written_stops_before_the_first_request(project: Path) -> None:
    Path(".cache").write_text("", "utf-8")
    with serve(Writer()) as api:
        described = invoke("describe", "site")
        assert described.exit_code == 1
        assert ".cache/roaming/describe" in described.output
        assert api.requests == []


def test_page_that_cannot_be_read_is_an_error(project: Path) -> None:
    Path("site/p1/index.md").unlink()
    result = invoke("describe", "site", "--check")
    assert result.exit_code == 1
    assert "p1/index.md" in result.output


def invoke_with_writer() -> list[dict[str, Any]]:
    """Describe the site, and return the requests."""
    writer = Writer()
    with serve(writer):
        assert invoke("describe", "site").exit_code == 0
    return writer.asked


@pytest.mark.parametrize(("wire", "behaviour"), [("claude", "wrong key"), ("openai", "cut")])
def test_lasting_failure_stops_the_run_and_keeps_what_is_there(project: Path, wire: str, behaviour: str) -> None:
    writer = Writer()
    with serve(writer, wire=wire, prices=True) as api:
        api.brain = Adversary(behaviour)
        described = invoke("describe", "site")
        assert described.exit_code == 1
        assert "failed 3 times; run the command again to go on" in described.output
        assert "Traceback" not in described.output
        api.brain = writer
        assert invoke("describe", "site").exit_code == 0
    assert len(read_titles()) == 15
