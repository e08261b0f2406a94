"""The HTTP endpoint of a store."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner
from fleet_servers.stores import LONG_NAME, SITES, make_store
from starlette.testclient import TestClient

from mkdocs_roaming.cli import main
from mkdocs_roaming.serve.middleware import RequestPolicy
from roaming_fleet.app import create_store_app
from roaming_fleet.collection import Collection


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of some sites."""
    return make_store(tmp_path_factory.mktemp("shelf"))


def test_store_app_checks_host_and_origin(store: Path) -> None:
    policy = RequestPolicy(hosts=("testserver",), requests_a_minute_each=5)
    http = TestClient(create_store_app(Collection(store), policy))
    assert http.get("/mcp", headers={"Host": "evil.example"}).status_code == 421
    assert http.get("/mcp", headers={"Origin": "https://evil.example"}).status_code == 403
    assert http.get("/healthz").json()["sites"] == len(SITES)
    assert [http.get("/mcp").status_code for _ in range(8)].count(429) >= 3


def test_metrics_count_operations(store: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        place = f"127.0.0.1:{free.getsockname()[1]}"
    app = create_store_app(Collection(store), RequestPolicy(hosts=("testserver",)), metrics_place=place)
    with TestClient(app) as http:
        http.get("/healthz")
        text = httpx2.get(f"http://{place}/metrics").text
    assert 'roaming_requests_total{method="GET",operation="health",status="200"}' in text


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


def test_check_of_store_omits_answers(store: Path) -> None:
    result = CliRunner().invoke(main, ["serve", str(store), "--check"], env={"ROAMING_SECONDS": "9"})
    assert (result.exit_code, result.stdout) == (0, "ok      configuration: without a file\n")
