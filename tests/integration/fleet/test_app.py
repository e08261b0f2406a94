"""The HTTP endpoint of a store."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn
from click.testing import CliRunner
from fleet_servers.stores import LONG_NAME, SITES, make_store
from mcp import Client
from mcp_types import TextContent

from mkdocs_roaming.cli import main
from mkdocs_roaming.serve.middleware import RequestPolicy
from mkdocs_roaming.serve.server import bind_socket
from roaming_fleet.app import create_store_app
from roaming_fleet.collection import Collection

pytestmark = pytest.mark.slow

PLENTY = RequestPolicy(hosts=("127.0.0.1",), requests_a_minute=10**6, requests_a_minute_each=10**6)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of some sites."""
    return make_store(tmp_path_factory.mktemp("shelf"))


@contextmanager
def _served(store: Path, policy: RequestPolicy, **options: Any) -> Iterator[httpx2.Client]:
    listener = bind_socket("127.0.0.1", 0)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    app = create_store_app(Collection(store), policy, **options)
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="on", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        with httpx2.Client(base_url=url, timeout=30) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


@pytest.fixture(scope="module")
def http(store: Path) -> Iterator[httpx2.Client]:
    """A client of its endpoint."""
    with _served(store, PLENTY) as client:
        yield client


def test_store_app_checks_host_and_origin(store: Path) -> None:
    with _served(store, RequestPolicy(hosts=("127.0.0.1",), requests_a_minute_each=5)) as http:
        assert http.get("/mcp", headers={"Host": "evil.example"}).status_code == 421
        assert http.get("/mcp", headers={"Origin": "https://evil.example"}).status_code == 403
        assert [http.get("/mcp").status_code for _ in range(8)].count(429) >= 3
        assert http.get("/healthz").json()["sites"] == len(SITES)


def test_metrics_count_operations(store: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    with _served(store, RequestPolicy(hosts=("127.0.0.1",)), metrics_place="127.0.0.1:0") as http:
        http.get("/healthz")
        (url,) = re.findall(r"metrics at (http://\S+)", caplog.text)
        text = httpx2.get(url).text
    assert 'roaming_requests_total{method="GET",operation="health",status="200"}' in text


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_mcp_over_http_offers_tools(http: httpx2.Client, anyio_backend: str) -> None:
    async with Client(f"{http.base_url}/mcp") as client:
        found = await client.call_tool("search_sections", {"query": "when do doors close"})
        assert isinstance(found.content[0], TextContent)
        assert "[trains:" in found.content[0].text


@pytest.mark.parametrize(
    "option",
    [["--site", "{}"], ["--model", "offline"], ["--rounds", "2"], ["--seconds", "3"], ["--trust-rules"]],
    ids=lambda option: option[0],
)
def test_serve_refuses_single_site_options_for_store(store: Path, option: list[str]) -> None:
    arguments = [argument.format(store / LONG_NAME) for argument in option]
    result: Any = CliRunner().invoke(main, ["serve", str(store), *arguments, "--port", "0"])
    assert result.exit_code == 1
    assert result.stderr.startswith(f"roaming: {option[0]}: applies to a single site; serve {store}/SITE")


def test_check_config_of_store_omits_answers(store: Path) -> None:
    result = CliRunner().invoke(main, ["serve", str(store), "--check-config"], env={"ROAMING_SECONDS": "9"})
    assert result.exit_code == 0
    assert f"store = {store}\n" in result.stdout
    assert "[limits] requests_a_minute = " in result.stdout
    for word in ("model", "[budget]", "answers", "question", "KEY", "turn"):
        assert word not in result.stdout


def test_start_of_store_logs_names_and_serves_metrics(store: Path) -> None:
    command = [sys.executable, "-m", "mkdocs_roaming", "serve", str(store), "--port", "0", "--metrics", "127.0.0.1:0"]
    with subprocess.Popen(
        [*command, "--allow-origin", "https://docs.example"], stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stderr is not None
        lines = [running.stderr.readline() for _ in range(3)]
        log = "".join(lines)
        metrics = httpx2.get(log[log.index("metrics at ") + len("metrics at ") :].split()[0]).text
        running.terminate()
        running.communicate()
    assert f"serving the store {store} at http://127.0.0.1:" in log
    assert "; origins https://docs.example\n" in log
    assert "roaming_requests_total" in metrics
