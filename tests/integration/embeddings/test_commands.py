"""Hybrid search in MkDocs builds, on the command line and over HTTP."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
import yaml
from click.testing import CliRunner, Result
from embeddings_api import EmbeddingsApi, connect
from serving import serve_app

from mkdocs_roaming.cli import main

pytestmark = pytest.mark.slow

Serve = Callable[..., EmbeddingsApi]
FLEET = "# Fleet\n\nEach automobile is washed on Fridays.\n"
HOME = "# Home\n\nWelcome to the workshop.\n"


def roaming(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def write_settings(folder: Path, url: str, **options: str) -> Path:
    """Write a settings file with the URL of the server."""
    lines = "".join(f'{name} = "{value}"\n' for name, value in {"model": "toy", "base_url": url, **options}.items())
    (folder / "roaming.toml").write_text(f"[embeddings]\n{lines}", "utf-8")
    return folder / "roaming.toml"


# A MkDocs build


@pytest.fixture
def project(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Builds a project with MkDocs; keyword arguments are options of the plugin."""

    def build(*options: str, sources: dict[str, str] | None = None, code: str = "", **plugin: Any) -> Any:
        for name, text in (sources or {"index.md": HOME, "fleet.md": FLEET}).items():
            (tmp_path / "docs").mkdir(exist_ok=True)
            (tmp_path / "docs" / name).write_text(text, "utf-8")
        config = {"site_name": "Docs", "site_url": "https://docs.example/", "plugins": [{"roaming": plugin}]}
        (tmp_path / "mkdocs.yml").write_text(yaml.safe_dump(config))
        command = [sys.executable, *(["-c", code] if code else ["-m", "mkdocs"]), "build", *options]
        quiet = {"NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"}
        return subprocess.run(
            command, cwd=tmp_path, env={**os.environ, **quiet}, capture_output=True, text=True, check=False
        )

    return build


def hybrid(api: EmbeddingsApi) -> dict[str, Any]:
    return {"search": "hybrid", "embeddings": {"model": "toy", "base_url": api.url}}


def test_mkdocs_build_publishes_vectors(project: Any, api: EmbeddingsApi, tmp_path: Path) -> None:
    done = project(**hybrid(api))
    assert done.returncode == 0, done.stderr
    assert "vectors of toy: 2 windows, 2 of them new" in done.stderr
    found = roaming("search", tmp_path / "site", "car", "--json", "--config", write_settings(tmp_path, api.url))
    assert json.loads(found.stdout)[0]["title"] == "Fleet"


def test_build_without_server_warns_and_fails_with_strict(project: Any, serve: Serve) -> None:
    api = serve(key="another")
    done = project(**hybrid(api))
    assert done.returncode == 0, done.stderr
    assert "WARNING -  roaming: hybrid search: toy: http" in done.stderr
    assert "refused the request (401)" in done.stderr
    assert project("--strict", **hybrid(api)).returncode == 1


# The command line


@pytest.fixture
def html(tmp_path: Path) -> Path:
    """A built site of another generator."""
    for path, title, text in (
        ("", "Home", 'Welcome to <a href="fleet/">the fleet</a>.'),
        ("fleet/", "Fleet", "Each automobile is washed on Fridays."),
    ):
        (tmp_path / "html" / path).mkdir(parents=True, exist_ok=True)
        (tmp_path / "html" / path / "index.html").write_text(
            f'<!doctype html><html lang="en"><head><title>{title}</title></head><body><main><h1>{title}</h1>'
            f"<p>{text}</p></main></body></html>"
        )
    return tmp_path / "html"


def test_index_publishes_and_removes_vectors(html: Path, tmp_path: Path, api: EmbeddingsApi) -> None:
    config = write_settings(tmp_path, api.url)
    index = ("index", html, "--url", "https://docs.example/", "--config", config)
    done = roaming(*index, "--search", "hybrid")
    assert done.exit_code == 0, done.output
    assert "vectors of toy: 2 windows, 2 of them new" in done.stderr
    assert "0 of them new" in roaming(*index, "--search", "hybrid").stderr
    assert roaming("validate", html).exit_code == 0
    assert len(api.texts) == 2
    assert roaming(*index).exit_code == 0
    assert not (html / "roaming/vectors.bin").exists()
    assert roaming("validate", html).exit_code == 0


def test_crawl_publishes_vectors(html: Path, tmp_path: Path, api: EmbeddingsApi) -> None:
    """Of an HTML site, and of a site with a manifest."""
    config = write_settings(tmp_path, api.url)
    for out in ("one", "two"):
        options = ("--config", config, "--search", "hybrid", "--delay", 0, "--workers", 0)
        done = roaming("crawl", f"{html.as_uri()}/", "-o", tmp_path / out, *options)
        assert done.exit_code == 0, done.output
        found = roaming("search", tmp_path / out, "car", "--json", "--config", config)
        assert json.loads(found.stdout)[0]["title"] == "Fleet", found.output
        roaming("index", html, "--url", "https://docs.example/")


def test_ask_warns_when_it_searches_by_words_only(
    html: Path, tmp_path: Path, api: EmbeddingsApi, unreachable_url: str
) -> None:
    config = write_settings(tmp_path, api.url)
    roaming("index", html, "--url", "https://docs.example/", "--config", config, "--search", "hybrid")
    result = roaming("ask", html, "When is the car washed?", "--config", config, "--whole-site-tokens", 0)
    assert "automobile is washed on Fridays" in result.stdout
    assert "alone" not in result.stderr
    assert "words only" not in result.stderr
    config = write_settings(tmp_path, unreachable_url)
    result = roaming("ask", html, "What is washed?", "--config", config, "--whole-site-tokens", 0)
    assert result.stderr.count("Warning: search works without embeddings: toy: ") == 1
    assert "found, by words alone)" in result.stderr
    assert "automobile is washed" in result.stdout
    text = config.read_text() + '[search]\nmode = "lexical"\n'
    config.write_text(text)
    assert roaming("search", html, "washed", "--config", config).stderr == ""


def test_eval_without_server_fails(html: Path, tmp_path: Path, api: EmbeddingsApi, unreachable_url: str) -> None:
    config = write_settings(tmp_path, api.url)
    roaming("index", html, "--url", "https://docs.example/", "--config", config, "--search", "hybrid")
    questions = tmp_path / "q.yml"
    questions.write_text("questions:\n- ask: is there a car\n  answerable: false\n", "utf-8")
    command = ["eval", html, questions, "--compare", "search,offline"]
    done = roaming(*command, "--config", write_settings(tmp_path, unreachable_url))
    assert done.exit_code == 1, done.stderr
    assert "1 questions were searched without embeddings" in done.stderr
    done = roaming(*command, "--config", write_settings(tmp_path, api.url))
    assert done.exit_code == 0, done.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[search]\nmode = "both"\n', "[search]: mode: expected hybrid or lexical, got 'both'"),
        ('[embeddings]\nbase_url = "http://127.0.0.1:9"', "[embeddings]: model is missing"),
        ('[embeddings]\nkey = "sk"\n', "[embeddings]: key: unknown option; Available options: model, "),
    ],
)
def test_invalid_settings_are_reported_with_file(html: Path, tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "roaming.toml").write_text(text)
    done = roaming("search", html, "x", "--config", tmp_path / "roaming.toml")
    assert done.exit_code == 1
    assert f"{tmp_path / 'roaming.toml'}: {message}" in done.stderr


# Over HTTP


METRICS_PORT = 19464


@contextmanager
def endpoint(site: Path, api: EmbeddingsApi, on_warning: Callable[[str], None], **options: float) -> Iterator[int]:
    """Serve a site in a thread; yield the port when the site is loaded."""
    from mkdocs_roaming.answer.budget import Budget
    from mkdocs_roaming.answer.results import Offline
    from mkdocs_roaming.embeddings.client import QueryEmbedder
    from mkdocs_roaming.library.search import Search
    from mkdocs_roaming.serve.app import AppConfig, ServeTable, create_app
    from mkdocs_roaming.serve.service import AnswerConfig

    queries = QueryEmbedder(connect(api.url, retries=0), on_warning=on_warning, **options)
    config = AnswerConfig(Offline(), Budget(), lambda library: Search(library, queries=queries))
    app = create_app(AppConfig(str(site), config, ServeTable(metrics=f"127.0.0.1:{METRICS_PORT}")))
    with serve_app(app, lifespan="on") as port:
        while "no_site" in get(port, "/v1/outline"):
            time.sleep(0.02)
        yield port


def get(port: int, path: str) -> str:
    return httpx2.get(f"http://127.0.0.1:{port}{path}", timeout=20).text


def test_endpoint_searches_by_vectors(build: Any, configured: Any, api: EmbeddingsApi) -> None:
    build(configured)
    with endpoint(build.site, api, print, timeout=2.0) as port:
        assert json.loads(get(port, "/v1/search?q=car"))["hits"][0]["title"] == "Fleet"
        assert "automobile is washed" in get(port, f"/ask?q={quote('When is the car washed?')}")
        metrics = get(METRICS_PORT, "/metrics")
    assert "roaming_search_by_meaning 1.0\n" in metrics


def test_answer_without_vectors_is_not_cached(build: Any, configured: Any, api: EmbeddingsApi) -> None:
    build(configured)
    with endpoint(build.site, api, print, timeout=2.0, pause=0.2) as port:

        def is_cached() -> bool:
            headers = {"Accept": "application/json"}
            body = {"question": "When is the car washed?"}
            reply = httpx2.post(f"http://127.0.0.1:{port}/v1/ask", json=body, headers=headers, timeout=20)
            return bool(reply.json()["status"]["cached"])

        api.refusals = [(500, {}, "")]
        assert not is_cached()
        time.sleep(0.3)
        assert [is_cached(), is_cached()] == [False, True]
