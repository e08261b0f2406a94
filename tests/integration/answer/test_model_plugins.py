"""Models of other distributions, installed in a temporary folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import httpx2
import pytest

MODEL = """\
from mkdocs_roaming.answer.models.base import ModelConfig, Stop, Text


class FirstSectionModel:
    def __init__(self, config: ModelConfig) -> None:
        self.name = config.name

    async def reply(self, request):
        section = request.site[0]
        yield Text(f"{section.breadcrumb[-1]} [^{section.id}]")
        yield Stop()
"""


@pytest.fixture
def markdown(tmp_path: Path) -> Path:
    file = tmp_path / "README.md"
    file.write_text("# Pump\n\nA pump pumps.\n", "utf-8")
    return file


def install(folder: Path, code: str) -> None:
    """Install a distribution `first-section` with a module `first_section` in a folder."""
    (folder / "first_section.py").write_text(code, "utf-8")
    metadata = folder / "first_section-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: first-section\nVersion: 1.0\n", "utf-8")
    (metadata / "entry_points.txt").write_text("[roaming.models]\nfirst = first_section:FirstSectionModel\n", "utf-8")


def ask(markdown: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs_roaming", "ask", str(markdown), "What is it?", "--json", *options]
    environment = {**os.environ, "PYTHONPATH": str(markdown.parent), **environment}
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, cwd=markdown.parent, timeout=60
    )


def test_plugin_answers_for_option_environment_and_settings(markdown: Path) -> None:
    install(markdown.parent, MODEL)
    by_option = json.loads(ask(markdown, "--model", "first:plain").stdout)
    assert (by_option["state"], by_option["model"]) == ("answered", "plain")
    assert by_option["text"].startswith("Pump [^")
    assert [citation["title"] for citation in by_option["citations"]] == ["Pump"]
    assert json.loads(ask(markdown, ROAMING_MODEL="first:plain").stdout) == by_option
    settings = '[model]\nname = "first:plain"\n\n[prices]\ninput = 1.0\noutput = 0.0\n'
    (markdown.parent / "roaming.toml").write_text(settings, "utf-8")
    by_settings = json.loads(ask(markdown).stdout)
    assert by_settings == {**by_option, "currency": "USD"}


def test_plugin_answers_for_serve(markdown: Path) -> None:
    install(markdown.parent, MODEL)
    command = [sys.executable, "-m", "mkdocs_roaming", "serve", str(markdown), "--port", "0", "--model", "first:plain"]
    environment = {**os.environ, "PYTHONPATH": str(markdown.parent)}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True, cwd=markdown.parent) as process:
        try:
            assert process.stderr is not None
            line = next(line for line in process.stderr if "http://" in line)
            url = line[line.index("http://") :].split()[0].rstrip("/.,;")
            next(line for line in process.stderr if "serving" in line)
            request = {"question": "What is it?"}
            for _ in range(120):  # the site is opened after the server starts to listen
                headers = {"Accept": "application/json"}
                response = httpx2.post(f"{url}/v1/ask", json=request, headers=headers, timeout=60)
                if response.status_code != 503:
                    break
                time.sleep(0.5)
            assert response.json().get("state") == "answered", response.text
            assert response.json()["answer"].startswith("Pump [^")
        finally:
            process.terminate()


def test_unknown_model_error_lists_plugins(markdown: Path) -> None:
    install(markdown.parent, MODEL)
    assert "openai:MODEL, offline, scripted:FILE or first:MODEL" in ask(markdown, "--model", "second").stderr


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import nowhere\n", "ModuleNotFoundError: No module named 'nowhere'"),
        ("def FirstSectionModel(config): return config.nothing\n", "AttributeError: "),
        ("def FirstSectionModel(config): return config\n", "AttributeError: "),
        (MODEL.replace("request.site[0]", "1 / 0"), "plain failed: ZeroDivisionError: division by zero"),
    ],
)
def test_failing_plugin_is_reported_in_one_line(markdown: Path, code: str, message: str) -> None:
    install(markdown.parent, code)
    result = ask(markdown, "--model", "first:plain")
    error = json.loads(result.stdout)["error"] if result.stdout else result.stderr.strip()
    assert message in error
    assert "\n" not in error
    assert "Traceback" not in result.stderr
    assert result.returncode != 0
