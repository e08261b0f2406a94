"""The reader of the npm package `ai` accepts every stream of the endpoint."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from serving import serve_app

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.models.base import Model, ModelRequest, Part, Stop, Text
from mkdocs_roaming.answer.results import Offline
from mkdocs_roaming.errors import ModelError
from mkdocs_roaming.serve.app import AppConfig, create_app
from mkdocs_roaming.serve.quotas import AnswerQuota
from mkdocs_roaming.serve.service import AnswerConfig

GOLDEN = Path(__file__).parents[2] / "golden"
STREAMS = sorted((GOLDEN / "wire").glob("*.sse"))
READER = Path(__file__).with_name("read.mjs")

QUOTA = AnswerQuota(answers_a_minute=100, answers_a_minute_each=100)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the installed package `ai`."""
    return install(tmp_path_factory.mktemp("ai"), "ai")


@pytest.fixture(scope="module", params=[("ai@6", "@ai-sdk/react@3"), ("ai@7", "@ai-sdk/react@4")], ids=["6", "7"])
def react_package(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a version of `ai`, and with React."""
    return install(tmp_path_factory.mktemp("react"), *request.param, "react@19", "react-dom@19")


def install(folder: Path, *packages: str) -> Path:
    if shutil.which("npm") is None or shutil.which("npx") is None:
        pytest.skip("no npm here: the `ai` package's reader cannot be run")
    (folder / "package.json").write_text("{}")
    command = ["npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--silent", *packages]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=240)
    if done.returncode != 0:
        pytest.skip("npm cannot install the `ai` package here")
    return folder


def read(package: Path, *inputs: object) -> list[dict[str, Any]]:
    """Return the messages that the reader built from streams."""
    command = ["npx", "-y", "-p", "node@22", "node", str(READER), str(package), *map(str, inputs)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def run_chat(package: Path, *arguments: str, model: Model) -> list[dict[str, Any]]:
    """Return the outcome of each question that `useChat` asks an endpoint."""
    script = Path(__file__).with_name("chat.mjs")
    with serving_model(model) as address:
        command = ["npx", "-y", "-p", "node@22", "node", str(script), str(package), address, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """Return an endpoint that answers offline."""
    with serving_model(Offline()) as address:
        yield address


class EveryEnd:
    """A model whose replies end as the question says."""

    name = "every-end"

    async def reply(self, request: ModelRequest) -> AsyncIterator[Part]:
        """Stream the reply that the question names."""
        for part in ENDS[request.question][0]:
            if isinstance(part, Exception):
                raise part
            yield part


ENDS: dict[str, tuple[list[Any], str, str]] = {
    "How hot? In its own words": ([Text("The docs do not describe that [^none].")], "not_found", "not describe that"),
    "How hot? Without words": ([], "unusable", "The model's reply could not be used."),
    "How hot? A refusal": ([Text("I will not say."), Stop("refusal")], "refused", "I will not say."),
    "How hot? A silent refusal": ([Stop("refusal")], "refused", "The model refused to answer."),
    "How hot? Too long": ([Text("Water boils"), Stop("length")], "budget", prompts.NEAREST_SECTIONS),
    "How hot? An overload": (
        [ModelError("overloaded", cause="overload")],
        "error",
        prompts.NEAREST_SECTIONS,
    ),
    "How hot? A crash": ([Text("Water"), ValueError("a detail")], "error", prompts.NEAREST_SECTIONS),
}
"""Questions with the reply, the state and a part of the text that is shown."""


@contextmanager
def serving_model(model: Model) -> Iterator[str]:
    """Serve answers by a model; return the address of the endpoint."""
    serving = AppConfig(str(GOLDEN / "answer/kettle.md"), AnswerConfig(model, Budget(whole_site_tokens=0)), quota=QUOTA)
    with serve_app(create_app(serving), lifespan="on") as port:
        yield f"http://127.0.0.1:{port}/v1/ask"


def sent(stream: Path) -> list[dict[str, Any]]:
    lines = [line for line in stream.read_text("utf-8").split("\n\n") if line]
    return [json.loads(line.removeprefix("data: ")) for line in lines if line != "data: [DONE]"]


def test_ai_package_reads_every_golden_stream(package: Path) -> None:
    for stream, result in zip(STREAMS, read(package, *STREAMS), strict=True):
        parts = sent(stream)
        message = result["message"]
        message_parts = message["parts"]
        assert result["chunks"] == [part["type"] for part in parts], stream.name
        assert result["errors"] == [part["errorText"] for part in parts if part["type"] == "error"]
        text = "".join(part["text"] for part in message_parts if part["type"] == "text")
        assert text == "".join(part["delta"] for part in parts if part["type"] == "text-delta")
        assert all(part["state"] == "done" for part in message_parts if part["type"] == "text")
        last = {part["id"]: part["data"] for part in parts if part["type"] == "data-section"}
        assert {part["id"]: part["data"] for part in message_parts if part["type"] == "data-section"} == last
        for name in ("data-outline", "data-support", "data-status"):
            assert [p["data"] for p in message_parts if p["type"] == name] == [
                p["data"] for p in parts if p["type"] == name
            ]
        sources = [part["sourceId"] for part in parts if part["type"] == "source-url"]
        assert [part["sourceId"] for part in message_parts if part["type"] == "source-url"] == sources
        tools = [part for part in message_parts if part["type"].startswith("tool-")]
        assert len(tools) == sum(part["type"] == "tool-input-available" for part in parts)
        assert all(part["state"] == "output-available" and part["providerExecuted"] for part in tools)
        assert message.get("metadata") == parts[-1].get("messageMetadata")


def test_use_chat_shows_text_for_every_end_state(react_package: Path) -> None:
    results = run_chat(react_package, *ENDS, model=EveryEnd())
    for result, (question, (_, state, text)) in zip(results, ENDS.items(), strict=True):
        assert text in unescape(result["html"]), question
        assert (result["states"], result["status"]) == ([state], "error" if state == "error" else "ready")
        assert bool(result["error"]) == (state == "error")
        assert "a detail" not in json.dumps(result)


def test_use_chat_works_as_it_is_for_thirty_long_questions(react_package: Path) -> None:
    trace = "".join(f'  File "/srv/kettle/steam_{line}.py", line {line}, in pour\n' for line in range(70))[:3_500]
    questions = [f"Question {number}: which port is the default?\n{trace}" for number in range(30)]
    done = run_chat(react_package, "--one-conversation", *questions, model=Offline())
    assert [(result["status"], result["error"]) for result in done] == [("ready", None)] * 30
    assert all(result["states"] for result in done)


def test_ai_package_transport_works_with_endpoint(package: Path, endpoint: str) -> None:
    (result,) = read(package, endpoint)
    message_parts = result["message"]["parts"]
    assert result["errors"] == []
    assert "8642" in "".join(part["text"] for part in message_parts if part["type"] == "text")
    assert [part["data"]["state"] for part in message_parts if part["type"] == "data-status"] == ["results"]
    assert result["message"]["metadata"]["turn"]
