"""The answer endpoint of `mkdocs serve`."""

from __future__ import annotations

import http.client
import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

import httpx2
import pytest

if TYPE_CHECKING:
    from .conftest import Project, Server, Serving

INSTALL = "# Install\n\nRun the installer.\n\n## Quiet mode\n\nThe flag `--hush` keeps the kettle quiet.\n"
SOURCES = {"index.md": "# Kettle\n\nBoils water.\n", "guide/install.md": INSTALL, "other.md": "# Other\n\nNothing.\n"}
QUIET = "Which flag keeps the kettle quiet?"
REBUILT = "Reloading browsers"
ENDPOINT = ("POST", "v1/ask"), ("GET", "healthz")
# Otherwise a model reads a small site as a whole.
SETTINGS = "[budget]\nwhole_site_tokens = 0\n"


def ask(server: Server, question: str = QUIET, **headers: str) -> httpx2.Response:
    with httpx2.Client(timeout=30) as client:
        return client.post(f"{server.url}v1/ask", json={"question": question}, headers=headers)


def parse_parts(answer: httpx2.Response) -> list[dict[str, Any]]:
    events = [event for event in answer.text.split("\n\n") if event.startswith("data: ")]
    assert events[-1] == "data: [DONE]"
    return [json.loads(event.removeprefix("data: ")) for event in events[:-1]]


def answer_text(answer: httpx2.Response) -> str:
    return "".join(part["delta"] for part in parse_parts(answer) if part["type"] == "text-delta")


def read_digest(server: Server) -> str:
    return str(json.loads(server.get("roaming/manifest.json")[0])["digest"])


@pytest.mark.parametrize("command", ["mkdocs", "properdocs"])
def test_ask_answers_from_current_pages_after_rebuild(
    mkdocs: Project, tmp_path: Path, serving: Serving, command: str
) -> None:
    mkdocs.write(SOURCES)
    (tmp_path / "roaming.toml").write_text(SETTINGS)
    with serving(tmp_path, command=command) as server:
        first = ask(server)
        assert first.headers["content-type"].startswith("text/event-stream")
        assert first.headers["x-vercel-ai-ui-message-stream"] == "v1"
        assert "--hush" in answer_text(first)
        parts = parse_parts(first)
        assert next(part["data"]["model"] for part in parts if part["type"] == "data-status") == "offline"
        urls = [part["url"] for part in parts if part["type"] == "source-url"]
        assert f"{server.url}guide/install/#quiet-mode" in urls
        before = ask(server, Accept="application/json").json()["digest"]
        assert before == read_digest(server)

        (tmp_path / "docs/guide/install.md").write_text(INSTALL.replace("--hush", "--silent"))
        server.wait(REBUILT)
        text = answer_text(ask(server))
        assert "--silent" in text
        assert "--hush" not in text
        after = ask(server, Accept="application/json").json()["digest"]
        assert after == read_digest(server) != before
        text = server.log.read_text("utf-8")
        assert "Traceback" not in text
        assert f"questions are answered at {server.url}v1/ask (offline)" in text


def test_health_and_whole_answers_match_roaming_serve(mkdocs: Project, tmp_path: Path, serving: Serving) -> None:
    """Other paths are served by MkDocs."""
    mkdocs.write(SOURCES)
    with serving(tmp_path) as server, httpx2.Client(base_url=server.url, timeout=30) as client:
        health = client.get("healthz").json()
        assert (health["status"], health["digest"], health["model"]) == ("ok", read_digest(server), "offline")
        whole = client.post("v1/ask", json={"question": QUIET}, headers={"Accept": "application/json"}).json()
        assert "--hush" in whole["answer"]
        elsewhere = client.post("v1/ask", json={"question": QUIET, "scope": {"paths": ["nowhere"]}})
        assert (elsewhere.status_code, elsewhere.json()["code"]) == (404, "empty_scope")
        assert client.get("v1/else").status_code == 404
        assert "<h1" in client.get("guide/install/").text
        assert httpx2.get(server.url.removesuffix("sub/") + "healthz").status_code == 404


def test_question_in_language_is_answered_from_it_after_rebuild(
    mkdocs: Project, tmp_path: Path, serving: Serving
) -> None:
    languages = [{"locale": "en", "default": True, "name": "English"}, {"locale": "fr", "name": "Français"}]
    sources = {"index.md": "# Kettle\n\nBoils water.\n", "index.fr.md": "# Bouilloire\n\nElle bout en 90 secondes.\n"}
    mkdocs.write(sources, plugins=[{"i18n": {"languages": languages}}, "roaming"])
    with serving(tmp_path) as server, httpx2.Client(base_url=server.url, timeout=30) as client:
        asked = {"json": {"question": "bouilloire", "lang": "fr"}, "headers": {"Accept": "application/json"}}
        answer = client.post("v1/ask", **asked).json()
        assert answer["sources"][0]["url"] == f"{server.url}fr/"
        (tmp_path / "docs/index.fr.md").write_text("# Bouilloire\n\nElle bout en 80 secondes.\n")
        server.wait(REBUILT)
        assert "80 secondes" in client.post("v1/ask", **asked).json()["answer"]


def test_foreign_origins_unknown_hosts_and_invalid_bodies_are_refused(
    mkdocs: Project, tmp_path: Path, serving: Serving
) -> None:
    mkdocs.write(SOURCES)
    with serving(tmp_path) as server, httpx2.Client(base_url=server.url, timeout=30) as client:
        own = server.url.removesuffix("/sub/")
        for method, path in ENDPOINT:
            given: Any = {"json": {"question": QUIET}} if method == "POST" else {}
            for headers, status in (
                ({"Origin": "https://evil.example"}, 403),
                ({"Origin": "null"}, 403),
                ({"Host": "evil.example"}, 421),
                ({"Host": "192.168.1.7:8000"}, 421),
                ({"Host": "a b"}, 400),
                ({"Origin": own}, 200),
                ({"Host": f"localhost:{urlsplit(server.url).port}"}, 200),
            ):
                answer = client.request(method, path, headers=headers, **given)
                assert (path, headers, answer.status_code) == (path, headers, status)
                if status != 200:
                    assert answer.headers["content-type"] == "application/problem+json"
                    assert answer.json()["status"] == status
        as_json = {"Content-Type": "application/json"}
        for body, headers, status in (
            (b"{", as_json, 400),
            (b'{"question": ""}', as_json, 422),
            (b'{"question": "why?"}', {"Content-Type": "text/plain"}, 415),
            (b" " * (2**20 + 1), as_json, 413),
        ):
            answer = client.post("v1/ask", content=body, headers=headers)
            assert (answer.status_code, answer.json()["status"]) == (status, status)
        wrong = client.get("v1/ask")
        assert (wrong.status_code, wrong.headers["allow"]) == (405, "POST")
        assert "--hush" in answer_text(ask(server))
        assert "Traceback" not in server.log.read_text("utf-8")


# With a model


@contextmanager
def provider(brain: Any) -> Iterator[Any]:
    from messages_api import MessagesApi, serving

    with serving(MessagesApi(brain, key="x")) as api:
        yield api


def provider_environment(api: Any) -> dict[str, str]:
    return {"ROAMING_BASE_URL": api.url, "OPENAI_API_KEY": "x"}


def wait_for(condition: Any, seconds: float) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "timed out"
        time.sleep(0.01)


def test_serve_model_answers_with_key_from_environment(mkdocs: Project, tmp_path: Path, serving: Serving) -> None:
    from messages_api.navigator import Navigator

    mkdocs.write(SOURCES, plugins=[{"roaming": {"serve_model": "openai:qwen3"}}])
    (tmp_path / "roaming.toml").write_text(SETTINGS)
    with provider(Navigator()) as api, serving(tmp_path, **provider_environment(api)) as server:
        for _ in range(3):  # the connection to the model is reused
            text = ask(server, f"Which flag keeps the kettle quiet{'?' * len(api.exchanges)}")
            status = next(part["data"] for part in parse_parts(text) if part["type"] == "data-status")
            assert (status["model"], status["state"]) == ("qwen3", "answered")
        assert api.faults == []


def test_model_without_key_falls_back_to_offline_answers(mkdocs: Project, tmp_path: Path, serving: Serving) -> None:
    mkdocs.write(SOURCES, plugins=[{"roaming": {"serve_model": "claude"}}])
    environment = {"ANTHROPIC_API_KEY": "", "ANTHROPIC_BASE_URL": "", "ROAMING_BASE_URL": ""}
    with serving(tmp_path, **environment) as server:
        assert "--hush" in answer_text(ask(server))
        assert (
            "questions are answered offline: claude-haiku-5-5 needs a key; set ANTHROPIC_API_KEY"
            in server.log.read_text()
        )


def test_invalid_settings_do_not_stop_the_server(mkdocs: Project, tmp_path: Path, serving: Serving) -> None:
    mkdocs.write(SOURCES)
    (tmp_path / "roaming.toml").write_text("[budget]\nrounds = 'many'\n")
    with serving(tmp_path) as server:
        assert "<h1" in server.get("guide/install/")[0]
        warned = [line for line in server.messages() if "WARNING" in line]
        assert ["[budget]: rounds: expected a number of 1 or more" in line for line in warned] == [True]
        assert "--hush" in answer_text(ask(server))


class PausedBrain:
    """Opens a section, writes a paragraph, waits for `go`, and writes another."""

    def __init__(self, id_: str) -> None:
        self.id, self.go = id_, threading.Event()

    def reply(self, view: Any) -> Iterator[Any]:
        from messages_api.parts import Call, Say, Wait

        if not view.rounds:
            yield Call("expand_sections", {"ids": [self.id]})
            return
        yield Say(f"Use `--hush` [^{self.id}].\n\nAnd\nso ")
        while not self.go.is_set():
            yield Wait(0.02)
        yield Say(f"\n\nThe kettle is quiet [^{self.id}].")


def paused_brain(built: Any) -> PausedBrain:
    sections = [one for page in built.manifest.pages for one in page.sections]
    return PausedBrain(next(one.id for one in sections if one.title == "Quiet mode"))


def test_disconnect_cancels_model_call(mkdocs: Project, tmp_path: Path, serving: Serving) -> None:
    sites = {"plugins": [{"roaming": {"serve_model": "openai:qwen3"}}]}
    mkdocs.write(SOURCES, **sites)
    (tmp_path / "roaming.toml").write_text(SETTINGS)
    brain = paused_brain(mkdocs.build())
    with provider(brain) as api, serving(tmp_path, **provider_environment(api)) as server:
        place = urlsplit(server.url)
        reader = http.client.HTTPConnection(str(place.hostname), place.port, timeout=30)
        reader.request("POST", "/sub/v1/ask", json.dumps({"question": QUIET}), {"Content-Type": "application/json"})
        answer = reader.getresponse()
        wait_for(lambda: b"--hush" in answer.readline(), 10.0)
        assert [exchange.left for exchange in api.exchanges] == [None, None]
        left = time.monotonic()
        answer.close()  # a response holds the socket as well
        reader.close()
        wait_for(lambda: api.exchanges[1].left is not None, 20.0)
        assert api.exchanges[1].left - left < 10.0
        brain.go.set()
        assert "The kettle is quiet" in answer_text(ask(server, "And which flag keeps it quiet?"))
        assert "Traceback" not in server.log.read_text("utf-8")


def test_answer_in_progress_uses_site_before_rebuild(mkdocs: Project, tmp_path: Path, serving: Serving) -> None:
    mkdocs.write(SOURCES, plugins=[{"roaming": {"serve_model": "openai:qwen3"}}])
    (tmp_path / "roaming.toml").write_text(SETTINGS)
    brain = paused_brain(mkdocs.build())
    with (
        provider(brain) as api,
        serving(tmp_path, **provider_environment(api)) as server,
        httpx2.Client(timeout=30) as client,
    ):
        with client.stream("POST", f"{server.url}v1/ask", json={"question": QUIET}) as stream:
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
        assert client.get(f"{server.url}healthz").json()["digest"] == read_digest(server)


def test_failed_rebuild_keeps_answering_from_last_build(mkdocs: Project, tmp_path: Path, serving: Serving) -> None:
    file = mkdocs.write(SOURCES)
    with serving(tmp_path) as server:
        assert "--hush" in answer_text(ask(server))
        file.write_text(file.read_text() + "theme: {name: no-such-theme}\n")
        server.wait("An error happened during the rebuild")
        assert "--hush" in answer_text(ask(server, "Which flag keeps a kettle quiet?"))


def test_incomplete_request_does_not_block_others(mkdocs: Project, tmp_path: Path, serving: Serving) -> None:
    mkdocs.write(SOURCES)
    with serving(tmp_path) as server:
        place = urlsplit(server.url)
        with socket.create_connection((str(place.hostname), place.port or 80)) as connection:
            connection.sendall(b"POST /sub/v1/ask HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{")
            assert "--hush" in answer_text(ask(server))


def test_widget_uses_dev_server_in_serve_and_configured_endpoint_in_build(
    mkdocs: Project, tmp_path: Path, serving: Serving
) -> None:
    mkdocs.write(SOURCES, plugins=[{"roaming": {"widget": {"endpoint": "https://ask.example/"}}}])
    (tmp_path / "roaming.toml").write_text(SETTINGS)

    def endpoint_on(html: str) -> str:
        (element,) = re.findall(r"<roaming-ask data-roaming([^>]*)>", html)
        (found,) = re.findall(r'endpoint="([^"]*)"', element) or [""]
        return str(found)

    with serving(tmp_path) as server:
        assert urlsplit(server.url).path == "/sub/"
        for page in ("", "guide/install/"):
            base = urljoin(server.url + page, endpoint_on(server.get(page)[0]))
            assert base == server.url
            with httpx2.Client(timeout=30) as client:
                origin = {"Origin": server.url.removesuffix("/sub/")}
                answer = client.post(urljoin(base, "v1/ask"), json={"question": QUIET}, headers=origin)
            assert "--hush" in answer_text(answer)
        (tmp_path / "docs/other.md").write_text("# Other\n\nSomething.\n")
        server.wait(REBUILT)
        assert endpoint_on(server.get("other/")[0]) == "/sub/"
    built = (mkdocs.build().folder / "index.html").read_text("utf-8")
    assert endpoint_on(built) == "https://ask.example/"
