"""Search by meaning on the command line, in a MkDocs build, and over HTTP."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import yaml
from click.testing import CliRunner, Result
from embeddings_api import SYNONYMS, EmbeddingsApi, ToyEmbedder

from mkdocs_roaming.cli import main

Serve = Callable[..., EmbeddingsApi]
FLEET = "# Fleet\n\nEach automobile is washed on Fridays.\n"
HOME = "# Home\n\nWelcome to the workshop.\n"


def roaming(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def settings(folder: Path, url: str, **more: str) -> Path:
    """Write a settings file that names the server."""
    lines = "".join(f'{name} = "{value}"\n' for name, value in {"model": "toy", "base_url": url, **more}.items())
    (folder / "roaming.toml").write_text(f"[embeddings]\n{lines}", "utf-8")
    return folder / "roaming.toml"


# A MkDocs build


@pytest.fixture
def project(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Build a project with MkDocs as its author does; options are the plugin's."""

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


def test_two_lines_of_mkdocs_yml_publish_vectors(project: Any, api: EmbeddingsApi, tmp_path: Path) -> None:
    """What was built can be searched by meaning; the build says how many windows there are."""
    done = project(**hybrid(api))
    assert done.returncode == 0, done.stderr
    assert "vectors of toy: 2 windows, 2 of them new" in done.stderr
    found = roaming("search", tmp_path / "site", "car", "--json", "--config", settings(tmp_path, api.url))
    assert json.loads(found.stdout)[0]["title"] == "Fleet"


def test_a_rebuild_without_news_asks_nobody(project: Any, api: EmbeddingsApi) -> None:
    """Nor does it import what asks."""
    project(**hybrid(api))
    requests = len(api.requests)
    code = (
        "import sys; from mkdocs.__main__ import cli\n"
        "try: cli(['build', '-q'])\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "assert not {'httpx2', 'anyio', 'mkdocs_roaming.library'} & set(sys.modules)\n"
    )
    done = project(code=code, **hybrid(api))
    assert (done.returncode, done.stderr) == (0, "")
    assert len(api.requests) == requests


def test_a_build_goes_on_without_the_server(project: Any, serve: Serve) -> None:
    """With a warning; `--strict` makes it an error."""
    api = serve(key="another")
    done = project(**hybrid(api))
    assert done.returncode == 0, done.stderr
    assert "WARNING -  roaming: hybrid search: toy: the key is not accepted" in done.stderr
    assert project("--strict", **hybrid(api)).returncode == 1


@pytest.mark.parametrize(
    ("plugin", "says"),
    [
        ({"search": "hybrid"}, "roaming: embeddings: model is missing. Add it"),
        ({"search": "hybrid", "embeddings": {"modle": "x"}}, "roaming: embeddings: unknown key 'modle'"),
        ({"search": "both"}, "Expected one of: ('lexical', 'hybrid')"),
    ],
)
def test_a_mistake_in_mkdocs_yml_is_named(project: Any, plugin: dict[str, Any], says: str) -> None:
    """Before anything is built."""
    done = project(**plugin)
    assert done.returncode == 1
    assert says in done.stderr


# The command line


@pytest.fixture
def html(tmp_path: Path) -> Path:
    """A built site of somebody else's."""
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


def test_index_publishes_vectors(html: Path, tmp_path: Path, api: EmbeddingsApi) -> None:
    """With the model that the settings name; again, nothing is asked; without --search hybrid they are gone."""
    config = settings(tmp_path, api.url)
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


def test_index_names_what_is_missing(html: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without settings there is no model to ask."""
    monkeypatch.chdir(tmp_path)
    done = roaming("index", html, "--url", "https://docs.example/", "--search", "hybrid")
    assert done.exit_code == 1
    assert "roaming.toml names no model that makes vectors; add [embeddings]" in done.stderr


def test_a_crawl_publishes_vectors(html: Path, tmp_path: Path, api: EmbeddingsApi) -> None:
    """Of a site that somebody else made, and of one that publishes a manifest itself."""
    config = settings(tmp_path, api.url)
    for out in ("one", "two"):
        options = ("--config", config, "--search", "hybrid", "--delay", 0, "--workers", 0)
        done = roaming("crawl", f"{html.as_uri()}/", "-o", tmp_path / out, *options)
        assert done.exit_code == 0, done.output
        found = roaming("search", tmp_path / out, "car", "--json", "--config", config)
        assert json.loads(found.stdout)[0]["title"] == "Fleet", found.output
        roaming("index", html, "--url", "https://docs.example/")


def test_commands_say_when_they_go_by_words(html: Path, tmp_path: Path, api: EmbeddingsApi, away: str) -> None:
    """One line on standard error, and in the trail."""
    config = settings(tmp_path, api.url)
    roaming("index", html, "--url", "https://docs.example/", "--config", config, "--search", "hybrid")
    asked = roaming("ask", html, "When is the car washed?", "--config", config, "--whole-site-tokens", 0)
    assert "automobile is washed on Fridays" in asked.stdout
    assert "alone" not in asked.stderr
    config = settings(tmp_path, away)
    asked = roaming("ask", html, "What is washed?", "--config", config, "--whole-site-tokens", 0)
    assert asked.stderr.count("Warning: search uses words only: toy: ") == 1
    assert "found, by words alone)" in asked.stderr
    assert "automobile is washed" in asked.stdout
    text = config.read_text() + '[search]\nmode = "lexical"\n'
    config.write_text(text)
    assert roaming("search", html, "washed", "--config", config).stderr == ""


def test_an_evaluation_says_when_it_went_by_words(html: Path, tmp_path: Path, api: EmbeddingsApi, away: str) -> None:
    """Its figures are not those of search by meaning: that is told, nothing is kept of them, no baseline is written."""
    config = settings(tmp_path, api.url)
    roaming("index", html, "--url", "https://docs.example/", "--config", config, "--search", "hybrid")
    asked, kept, baseline = tmp_path / "q.yml", tmp_path / "kept.jsonl", tmp_path / "b.json"
    asked.write_text("questions:\n- ask: is there a car\n  answerable: false\n", "utf-8")
    command = ["eval", html, asked, "--compare", "search,offline", "--keep", kept, "--write-baseline", baseline]
    done = roaming(*command, "--config", settings(tmp_path, away))
    assert (done.exit_code, baseline.exists()) == (1, False), done.stderr
    assert "1 questions were searched without embeddings" in done.stderr
    assert len(kept.read_text("utf-8").splitlines()) == 1
    done = roaming(*command, "--config", settings(tmp_path, api.url))
    assert (done.exit_code, baseline.exists()) == (0, True), done.stderr
    assert len(kept.read_text("utf-8").splitlines()) == 2


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[search]\nmode = "both"\n', "[search] mode is lexical or hybrid, not 'both'"),
        ('[search]\nmode = "hybrid"\n', "[search] mode hybrid needs a model that makes vectors"),
        ("[embeddings]\n", "[embeddings]: model is missing"),
        ('[embeddings]\nkey = "sk"\n', "[embeddings] has no key 'key'"),
    ],
)
def test_a_mistake_in_the_settings_is_named(html: Path, tmp_path: Path, text: str, says: str) -> None:
    """One line, with the file."""
    (tmp_path / "roaming.toml").write_text(text)
    done = roaming("search", html, "x", "--config", tmp_path / "roaming.toml")
    assert done.exit_code == 1
    assert f"{tmp_path / 'roaming.toml'}: {says}" in done.stderr


# Over HTTP


@contextmanager
def endpoint(
    site: Path, api: EmbeddingsApi, tell: Callable[[str], None], patience: float, pause: float = 60.0
) -> Iterator[str]:
    """Serve a site in a thread of its own; give its address."""
    import uvicorn

    from mkdocs_roaming.answer.budget import Budget
    from mkdocs_roaming.answer.models.extractive import ExtractiveModel
    from mkdocs_roaming.embeddings.client import EmbeddingsClient, QueryEmbedder
    from mkdocs_roaming.library.hybrid import HybridSearch
    from mkdocs_roaming.library.search import Search
    from mkdocs_roaming.serve._uvicorn import bind_socket
    from mkdocs_roaming.serve.app import AppConfig, create_app
    from mkdocs_roaming.serve.service import AnswerConfig

    queries = QueryEmbedder(
        EmbeddingsClient("toy", base_url=api.url, retries=0), on_warning=tell, timeout=patience, pause=pause
    )
    way = AnswerConfig(ExtractiveModel(), Budget(), 0, lambda library: HybridSearch(Search(library), queries))
    listening = bind_socket("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(create_app(AppConfig(str(site), way)), lifespan="on", log_config=None))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        end = time.monotonic() + 20
        while time.monotonic() < end:
            try:
                get(f"{url}/healthz")
                break
            except OSError:
                time.sleep(0.05)
        yield url
    finally:
        server.should_exit = True
        thread.join(20)
        listening.close()


def get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=20) as answer:
        text: str = answer.read().decode("utf-8")
        return text


def post(url: str, body: dict[str, Any]) -> dict[str, Any]:
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=20) as answer:
        told: dict[str, Any] = json.load(answer)
        return told


def test_the_endpoint_finds_by_meaning(build: Any, configured: Any, api: EmbeddingsApi) -> None:
    """Its search, its answers, its counters."""
    build(configured)
    with endpoint(build.site, api, print, 2.0) as url:
        assert json.loads(get(f"{url}/v1/search?q=car"))["hits"][0]["title"] == "Fleet"
        assert "automobile is washed" in get(f"{url}/ask?q={quote('When is the car washed?')}")
        counted = get(f"{url}/metrics")
    assert "roaming_search_by_meaning 1\n" in counted
    assert "roaming_embeddings_failures_total 0\n" in counted


def test_an_answer_without_meaning_is_not_kept(build: Any, configured: Any, api: EmbeddingsApi) -> None:
    """Once the server is back, the same question is answered anew; that answer is kept."""
    build(configured)
    question = {"question": "When is the car washed?"}
    with endpoint(build.site, api, print, 2.0, pause=0.2) as url:
        api.refusals = [(500, {}, "")]
        assert not post(f"{url}/v1/ask", question)["status"]["cached"]
        time.sleep(0.3)
        assert not post(f"{url}/v1/ask", question)["status"]["cached"]
        assert post(f"{url}/v1/ask", question)["status"]["cached"]


def test_a_question_that_waits_keeps_no_other_waiting(build: Any, configured: Any, serve: Serve) -> None:
    """While the server of vectors is silent, sections are opened and outlines read; search then goes by words."""
    build(configured)
    api = serve(embedder=ToyEmbedder(256, SYNONYMS), stall=threading.Event())
    said: list[str] = []
    with endpoint(build.site, api, said.append, 1.5) as url, ThreadPoolExecutor(8) as several:
        waiting = [several.submit(get, f"{url}/v1/search?q=autumn+{at}") for at in range(4)]
        while not api.requests:
            time.sleep(0.01)
        for _ in range(5):
            get(f"{url}/v1/outline")
        assert not any(one.done() for one in waiting)
        found = [json.loads(one.result())["hits"][0]["title"] for one in waiting]
        counted = get(f"{url}/metrics")
    assert found == ["Tyres"] * 4
    assert len(said) == 1
    assert "roaming_search_by_meaning 0\n" in counted


def test_the_endpoint_shows_how_it_searches(build: Any, configured: Any, tmp_path: Path, api: EmbeddingsApi) -> None:
    """`--check-config` names the model, and whether its key is set."""
    build(configured)
    os.environ["TOY_KEY"] = "k"
    try:
        config = settings(tmp_path, api.url, key_env="TOY_KEY")
        done = roaming("serve", build.site, "--config", config, "--check-config")
    finally:
        del os.environ["TOY_KEY"]
    assert "search = hybrid, toy\n" in done.stdout
    assert "TOY_KEY = set\n" in done.stdout
