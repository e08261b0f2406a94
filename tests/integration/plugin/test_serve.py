"""`mkdocs serve` publishes edits, and answers questions from them."""

from __future__ import annotations

import http.client
import json
import re
import shutil
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

import httpx2
import pytest
from messages_api import MessagesApi
from messages_api import serving as serving_model
from messages_api.parts import Call, Say, Wait

from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.library.validate import validate_site
from mkdocs_roaming.manifest.io import load_manifest

if TYPE_CHECKING:
    from .conftest import Project, Server, Serving

HOME = "# Kettle\n\nBoils water: [quiet mode](guide/install.md#quiet-mode). Grüße.\n"
INSTALL = (
    "# Install\n\n```runql\nRun it.\n```\n\n## Quiet mode\n\nThe flag `--hush` keeps the kettle quiet.\n\n"
    "## Notes\n\nUse it often.\n"
)
SOURCES = {"index.md": HOME, "guide/install.md": INSTALL, "other.md": "# Other\n\nNothing.\n"}
LANGUAGES = [{"locale": "en", "default": True, "name": "English"}, {"locale": "fr", "name": "Français"}]
HOOK = "def on_post_page(output, page, config):\n    if 'fail' in output: raise ValueError('fail')\n"
QUIET = "Which flag keeps the kettle quiet?"
REBUILT = "Reloading browsers"
# Otherwise a model reads a small site as a whole.
SETTINGS = "[budget]\nwhole_site_tokens = 0\n"


def ask(server: Server, question: str = QUIET, **headers: str) -> httpx2.Response:
    return httpx2.post(f"{server.url}v1/ask", json={"question": question}, headers=headers, timeout=30)


def parse_parts(answer: httpx2.Response) -> list[dict[str, Any]]:
    events = [event for event in answer.text.split("\n\n") if event.startswith("data: ")]
    assert events[-1] == "data: [DONE]"
    return [json.loads(event.removeprefix("data: ")) for event in events[:-1]]


def answer_text(answer: httpx2.Response) -> str:
    return "".join(part["delta"] for part in parse_parts(answer) if part["type"] == "text-delta")


def read_digest(server: Server) -> str:
    return str(json.loads(server.get("roaming/manifest.json")[0])["digest"])


def assert_valid(url: str) -> None:
    assert validate_site(open_library(url)).faults == ()


# Files


def test_rebuilds_publish_edits_and_nothing_that_was_deleted_or_hidden(
    mkdocs: Project, tmp_path: Path, serving: Serving
) -> None:
    """All links stay on the development server; findings of `lint: strict` are only warnings."""
    more = {"roaming/own.txt": "zanzibar\n", "roaming/tours.md": "# Tours\n\nTo zanzibar.\n"}
    more["plan.md"] = "# Plan\n\nOn to timbuktu.\n"
    (tmp_path / "hook.py").write_text(HOOK)
    mkdocs.write(
        SOURCES | more,
        markdown_extensions=["pymdownx.superfences"],
        hooks=["hook.py"],
        plugins=[{"roaming": {"lint": "strict"}}],
    )
    (tmp_path / "temporary").mkdir()
    with serving(tmp_path, TMPDIR=str(tmp_path / "temporary")) as server:
        home, kind = server.get("index.md")
        assert kind.startswith(("text/markdown", "text/plain"))
        assert "Grüße" in home
        assert f"[quiet mode]({server.url}guide/install/index.md#quiet-mode)" in home
        assert f"{server.url}guide/install/index.md" in server.get("llms.txt")[0]
        assert 'href="index.md" data-roaming' in server.get("guide/install/")[0]
        assert "docs.example" not in home + server.get("llms-full.txt")[0] + server.get("roaming/manifest.json")[0]
        assert_valid(server.url)
        warned = [line for line in server.messages() if line.startswith("WARNING")]
        assert any("lint: guide/install.md:11: empty-title" in line for line in server.messages())
        assert all("lint: " in line for line in warned)

        (tmp_path / "docs/guide/install.md").write_text(INSTALL.replace("--hush", "--silent"))
        server.wait(REBUILT)
        assert "`--silent`" in server.get("guide/install/index.md")[0]
        assert "```runql" in server.get("guide/install/index.md")[0]
        assert any("4 pages reused" in line for line in server.messages())

        assert len(find_word(tmp_path, "zanzibar")) > 2
        shutil.rmtree(tmp_path / "docs/roaming")
        server.wait(REBUILT, 2)
        assert find_word(tmp_path, "zanzibar") == []

        (tmp_path / "docs/other.md").unlink()
        server.wait(REBUILT, 3)
        paths = [page.path for page in load_manifest(server.get("roaming/manifest.json")[0]).pages]
        assert sorted(paths) == ["", "guide/install/", "plan/"]
        assert_valid(server.url)

        assert "plan.md" in find_word(tmp_path, "timbuktu")
        (tmp_path / "docs/plan.md").write_text("---\nllms: false\n---\n# Plan\n\nNow fail.\n")
        server.wait("An error happened during the rebuild")
        assert find_word(tmp_path, "timbuktu") == []

        server.process.send_signal(signal.SIGINT)
        server.process.wait(timeout=30)


def find_word(project: Path, word: str) -> list[str]:
    """Return the files of the site that contain a word."""
    (site,) = (project / "temporary").glob("mkdocs_*")
    files = [file for file in site.rglob("*") if file.is_file() and word.encode() in file.read_bytes()]
    return sorted(file.relative_to(site).as_posix() for file in files)


# Questions


def check_refusals(server: Server, client: httpx2.Client) -> None:
    """Foreign origins and unknown hosts are refused."""
    for headers, status in (
        ({"Origin": "https://evil.example"}, 403),
        ({"Host": "evil.example"}, 421),
        ({"Host": "a b"}, 400),
        ({"Origin": server.url.removesuffix("/sub/")}, 200),
    ):
        answer = client.post("v1/ask", json={"question": QUIET}, headers=headers)
        assert (headers, answer.status_code) == (headers, status)
        assert status == 200 or answer.json()["status"] == status


def find_endpoint(html: str) -> str:
    """Return the endpoint of the widget on a page."""
    (element,) = re.findall(r"<roaming-ask data-roaming([^>]*)>", html)
    (found,) = re.findall(r'endpoint="([^"]*)"', element) or [""]
    return str(found)


@pytest.mark.parametrize("command", ["mkdocs", pytest.param("properdocs", marks=pytest.mark.slow)])
def test_questions_are_answered_from_current_pages(
    mkdocs: Project, tmp_path: Path, serving: Serving, command: str
) -> None:
    """As `roaming serve` does; other paths are served by MkDocs, and the widget of a build asks its own endpoint."""
    file = mkdocs.write(SOURCES, plugins=[{"roaming": {"widget": {"endpoint": "https://ask.example/"}}}])
    assert find_endpoint(mkdocs.build().text("index.html")) == "https://ask.example/"
    (tmp_path / "roaming.toml").write_text(SETTINGS)
    with serving(tmp_path, command=command) as server, httpx2.Client(base_url=server.url, timeout=30) as client:
        first = ask(server)
        assert first.headers["content-type"].startswith("text/event-stream")
        assert first.headers["x-vercel-ai-ui-message-stream"] == "v1"
        assert "--hush" in answer_text(first)
        parts = parse_parts(first)
        assert next(part["data"]["model"] for part in parts if part["type"] == "data-status") == "offline"
        assert f"{server.url}guide/install/#quiet-mode" in [
            part["url"] for part in parts if part["type"] == "source-url"
        ]
        health = client.get("healthz").json()
        assert (health["status"], health["digest"], health["model"]) == ("ok", read_digest(server), "offline")
        before = ask(server, Accept="application/json").json()["digest"]
        assert before == read_digest(server)
        elsewhere = client.post("v1/ask", json={"question": QUIET, "scope": {"paths": ["nowhere"]}})
        assert (elsewhere.status_code, elsewhere.json()["code"]) == (404, "empty_scope")
        assert client.get("v1/else").status_code == 404
        assert httpx2.get(server.url.removesuffix("sub/") + "healthz").status_code == 404
        for page in ("", "guide/install/"):
            endpoint = urljoin(server.url + page, find_endpoint(client.get(page).text))
            assert endpoint == server.url
        check_refusals(server, client)

        place = urlsplit(server.url)
        with socket.create_connection((str(place.hostname), place.port or 80)) as incomplete:
            incomplete.sendall(b"POST /sub/v1/ask HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{")
            assert "--hush" in answer_text(ask(server))

        (tmp_path / "docs/guide/install.md").write_text(INSTALL.replace("--hush", "--silent"))
        server.wait(REBUILT)
        text = answer_text(ask(server))
        assert "--silent" in text
        assert "--hush" not in text
        after = ask(server, Accept="application/json").json()["digest"]
        assert after == read_digest(server) != before
        assert find_endpoint(server.get("other/")[0]) == "/sub/"

        good = file.read_text()
        file.write_text(good + "theme: {name: no-such-theme}\n")
        server.wait("An error happened during the rebuild")
        assert "--silent" in answer_text(ask(server, "Which flag keeps a kettle quiet?"))
        file.write_text(good.replace("- roaming:\n", "- roaming:\n    include: [nothing.md]\n"))
        server.wait("no page to publish")
        file.write_text(good)
        server.wait("3 pages, 5 sections", 3)
        assert_valid(server.url)
        log = server.log.read_text("utf-8")
        assert f"questions are answered at {server.url}v1/ask (offline)" in log
        assert "Internal Server Error" not in log


def test_translation_is_published_and_answers_after_rebuild(mkdocs: Project, tmp_path: Path, serving: Serving) -> None:
    sources = {"index.md": "# Kettle\n\nBoils water.\n", "index.fr.md": "# Bouilloire\n\nElle bout en 90 secondes.\n"}
    mkdocs.write(sources, plugins=[{"i18n": {"languages": LANGUAGES}}, "roaming"])
    with serving(tmp_path) as server:
        asked = {"json": {"question": "bouilloire", "lang": "fr"}, "headers": {"Accept": "application/json"}}
        answer = httpx2.post(f"{server.url}v1/ask", **asked).json()
        assert answer["sources"][0]["url"] == f"{server.url}fr/"
        (tmp_path / "docs/index.fr.md").write_text("# Bouilloire\n\nElle bout en 80 secondes.\n")
        server.wait(REBUILT)
        assert "80 secondes" in server.get("fr/index.md")[0]
        assert "# Kettle" in server.get("index.md")[0]
        assert "80 secondes" in httpx2.post(f"{server.url}v1/ask", **asked).json()["answer"]
        assert_valid(f"{server.url}fr/")
        assert f"{server.url}fr/roaming/manifest.json" in server.get("roaming/manifest.json")[0]


@pytest.mark.parametrize(
    ("model", "settings", "warning"),
    [
        ("claude", "", "questions are answered offline: claude-haiku-5-5 needs a key; set ANTHROPIC_API_KEY"),
        ("offline", "[budget]\nrounds = 'many'\n", "[budget]: rounds: expected a number of 1 or more"),
    ],
)
def test_server_without_usable_settings_answers_offline(
    mkdocs: Project, tmp_path: Path, serving: Serving, model: str, settings: str, warning: str
) -> None:
    mkdocs.write(SOURCES, plugins=[{"roaming": {"serve_model": model}}])
    (tmp_path / "roaming.toml").write_text(settings)
    environment = {"ANTHROPIC_API_KEY": "", "ANTHROPIC_BASE_URL": "", "ROAMING_BASE_URL": ""}
    with serving(tmp_path, **environment) as server:
        assert "--hush" in answer_text(ask(server))
        (warned,) = [line for line in server.messages() if "WARNING" in line]
        assert warning in warned


# With a model


class PausedBrain:
    """Opens a section, writes a paragraph, waits for `go`, and writes another."""

    def __init__(self, id_: str) -> None:
        self.id, self.go = id_, threading.Event()

    def reply(self, view: Any) -> Iterator[Any]:
        if not view.rounds:
            yield Call("expand_sections", {"ids": [self.id]})
            return
        yield Say(f"Use `--hush` [^{self.id}].\n\nAnd\nso ")
        while not self.go.is_set():
            yield Wait(0.02)
        yield Say(f"\n\nThe kettle is quiet [^{self.id}].")


def test_model_answers_from_the_site_before_a_rebuild_and_stops_for_a_reader_who_left(
    mkdocs: Project, tmp_path: Path, serving: Serving
) -> None:
    mkdocs.write(SOURCES, plugins=[{"roaming": {"serve_model": "openai:qwen3"}}])
    (tmp_path / "roaming.toml").write_text(SETTINGS)
    brain = PausedBrain(next(one.id for one in mkdocs.build().manifest.sections() if one.title == "Quiet mode"))
    with (
        serving_model(MessagesApi(brain, key="x")) as api,
        serving(tmp_path, ROAMING_BASE_URL=api.url, OPENAI_API_KEY="x") as server,
    ):
        body = {"question": "And which flag keeps it quiet?"}
        with httpx2.stream("POST", f"{server.url}v1/ask", json=body, timeout=30) as stream:
            pieces = stream.iter_text()
            text = next(pieces)
            while "--hush" not in text:
                text += next(pieces)
            (tmp_path / "docs/guide/install.md").write_text(INSTALL.replace("--hush", "--silent"))
            server.wait(REBUILT)
            assert "The kettle is quiet" not in text
            brain.go.set()
            text += "".join(pieces)
        assert "The kettle is quiet" in text
        assert '"state":"answered"' in text
        assert httpx2.get(f"{server.url}healthz").json()["digest"] == read_digest(server)
        assert api.faults == []

        brain.go.clear()
        asked = len(api.exchanges)
        place = urlsplit(server.url)
        reader = http.client.HTTPConnection(str(place.hostname), place.port, timeout=30)
        reader.request("POST", "/sub/v1/ask", json.dumps({"question": QUIET}), {"Content-Type": "application/json"})
        answer = reader.getresponse()
        while b"--hush" not in answer.readline():
            pass
        left = [exchange.left for exchange in api.exchanges[asked:]]
        assert left == [None, None]
        answer.close()  # a response holds the socket as well
        reader.close()
        end = time.monotonic() + 20
        while api.exchanges[-1].left is None:
            assert time.monotonic() < end, "the call of the model is not cancelled"
            time.sleep(0.01)
        assert "Traceback" not in server.log.read_text("utf-8")
