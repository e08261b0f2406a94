"""The reader of the npm package `ai` accepts every stream of the endpoint."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.models.extractive import ExtractiveModel
from mkdocs_roaming.serve._uvicorn import bind_socket
from mkdocs_roaming.serve.app import AppConfig, create_app
from mkdocs_roaming.serve.service import AnswerConfig

GOLDEN = Path(__file__).parents[2] / "golden"
STREAMS = sorted((GOLDEN / "wire").glob("*.sse"))
READER = Path(__file__).with_name("read.mjs")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the installed package `ai`."""
    if shutil.which("npm") is None or shutil.which("npx") is None:
        pytest.skip("no npm here: the `ai` package's reader cannot be run")
    folder = tmp_path_factory.mktemp("ai")
    (folder / "package.json").write_text("{}")
    command = ["npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--silent", "ai"]
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


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """Return an endpoint that answers offline."""
    serving = AppConfig(str(GOLDEN / "answer/kettle.md"), AnswerConfig(ExtractiveModel(), Budget(), 0))
    listening = bind_socket("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(create_app(serving), log_config=None, lifespan="on"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1/ask"
    server.should_exit = True
    thread.join(10)


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


def test_ai_package_transport_works_with_endpoint(package: Path, endpoint: str) -> None:
    (result,) = read(package, endpoint)
    message_parts = result["message"]["parts"]
    assert result["errors"] == []
    assert "8642" in "".join(part["text"] for part in message_parts if part["type"] == "text")
    assert [part["data"]["state"] for part in message_parts if part["type"] == "data-status"] == ["answered"]
    assert result["message"]["metadata"]["turn"]
