"""The HTTP endpoint of a store."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import jsonschema
import pytest
import schemathesis
import uvicorn
from click.testing import CliRunner
from fleet_servers.stores import LONG_NAME, SITES, TODAY, make_store
from hypothesis import HealthCheck, Phase, given, settings
from mcp import Client
from mcp_types import TextContent
from schemathesis import Case, GenerationMode

from mkdocs_roaming.cli import main
from mkdocs_roaming.manifest.expand import MAX_EXPANSION_CHARS
from mkdocs_roaming.serve.middleware import RequestPolicy
from mkdocs_roaming.serve.server import bind_socket
from roaming_fleet.app import STORE_OPERATIONS, create_store_app
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


def test_list_sites_is_paginated(http: httpx2.Client) -> None:
    keys: list[str] = []
    after = ""
    while after is not None:
        reply = http.get("/v1/sites", params={"after": after, "limit": 2}).raise_for_status().json()
        keys += [site["site"] for site in reply["sites"]]
        after = reply["next"]
    assert keys == sorted(SITES)
    trains = next(site for site in http.get("/v1/sites").json()["sites"] if site["site"] == "trains")
    assert (trains["title"], trains["pages"], trains["sections"], trains["state"]) == ("Trains", 2, 5, "done")
    assert trains["crawled"] > 1.7e9


def test_list_sites_by_words(http: httpx2.Client) -> None:
    reply = http.get("/v1/sites", params={"q": "brakes of trains"}).json()
    assert reply["sites"][0]["site"] == "trains"


def test_search_result_can_be_read(http: httpx2.Client) -> None:
    reply = http.get("/v1/search", params={"q": "how long does a refund take"}).json()
    hit = reply["hits"][0]
    assert hit["site"] == "trains"
    opened = http.get(f"/v1/sections/{hit['id']}").json()
    assert "9 days" in opened["text"]
    assert (opened["site"], opened["crawled"]) == ("trains", hit["crawled"])
    assert opened["before"] is None or opened["before"]["id"].startswith("trains:")
    text = http.get(f"/v1/sections/{hit['id']}", headers={"Accept": "text/markdown"}).text
    assert f"[{hit['id']}]" in text
    assert text.startswith(f"trains (crawled {TODAY}) › ")


def test_read_outline_of_store_site_and_branch(http: httpx2.Client) -> None:
    assert "[trains] Trains" in http.get("/v1/outline").json()["outline"]
    outline = http.get("/v1/outline", params={"id": "trains"}).json()["outline"]
    tickets = re.search(r"\[(trains:[0-9a-f]{8})\] Tickets", outline)
    assert tickets
    branch = http.get("/v1/outline", params={"id": tickets[1]}).json()["outline"]
    assert "Refunds" in branch
    assert branch.startswith(f"trains (crawled {TODAY})\n")


def test_parts_of_long_page_fit_cap(http: httpx2.Client) -> None:
    (page,) = (
        hit["id"] for hit in http.get("/v1/search", params={"q": f"{LONG_NAME}: archive", "limit": 1}).json()["hits"]
    )
    part, parts = 1, 1
    while part <= parts:
        text = http.get(f"/v1/sections/{page}", params={"part": part}, headers={"Accept": "text/markdown"}).text
        reply = http.get(f"/v1/sections/{page}", params={"part": part}).json()
        assert text.startswith(f"{LONG_NAME} (crawled {TODAY}) › ")
        assert reply["text"] in text
        assert len(text) <= MAX_EXPANSION_CHARS
        parts, part = reply["parts"], part + 1
    assert parts > 2


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("/v1/sections/nobody:07f3277d", 404, "ids look like SITE:07f3277d"),
        ("/v1/sections/trains:00000000", 404, "No section"),
        ("/v1/sections/07f3277d", 404, "ids look like SITE:07f3277d"),
        ("/v1/outline?id=nobody", 404, "there is no site 'nobody'"),
        ("/v1/search?q=", 422, "empty"),
        ("/v1/search?q=trains:", 422, "empty"),
        ("/v1/sites?limit=0", 422, "`limit`"),
        ("/ask?q=pumps", 404, "roaming serve STORE/SITE"),
        ("/v1/sections/trains%2F..:07f3277d", 404, "nothing at this address"),
    ],
)
def test_unknown_ids_return_problems(http: httpx2.Client, path: str, status: int, message: str) -> None:
    response = http.get(path)
    assert response.status_code == status
    assert message in response.json()["detail"]


def test_etag_returns_304(http: httpx2.Client) -> None:
    for path in ("/v1/outline", "/v1/sites", "/v1/search?q=pumps", "/openapi.json"):
        tag = http.get(path).headers["etag"]
        assert http.get(path, headers={"If-None-Match": tag}).status_code == 304


def test_store_app_checks_host_and_origin(store: Path) -> None:
    with _served(store, RequestPolicy(hosts=("127.0.0.1",), requests_a_minute_each=5)) as http:
        assert http.get("/v1/sites", headers={"Host": "evil.example"}).status_code == 421
        assert http.get("/v1/sites", headers={"Origin": "https://evil.example"}).status_code == 403
        assert [http.get("/v1/sites").status_code for _ in range(8)].count(429) >= 3
        health = http.get("/healthz")
        assert health.json()["sites"] == len(SITES)


def test_metrics_count_operations(store: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    with _served(store, RequestPolicy(hosts=("127.0.0.1",)), metrics_place="127.0.0.1:0") as http:
        http.get("/v1/sites")
        (url,) = re.findall(r"metrics at (http://\S+)", caplog.text)
        text = httpx2.get(url).text
    assert 'roaming_requests_total{method="GET",operation="list_sites",status="200"}' in text


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_mcp_over_http_offers_tools(http: httpx2.Client, anyio_backend: str) -> None:
    async with Client(f"{http.base_url}/mcp") as client:
        found = await client.call_tool("search_sections", {"query": "when do doors close"})
        assert isinstance(found.content[0], TextContent)
        assert "[trains:" in found.content[0].text


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/v1/sites", "Sites"),
        ("/v1/outline", "Outline"),
        ("/v1/search?q=pumps", "Hits"),
        ("/v1/sections/{pumps}", "Section"),
        ("/healthz", "Health"),
        ("/v1/sections/x:00000000", "Problem"),
    ],
)
def test_responses_match_openapi_schemas(http: httpx2.Client, path: str, name: str) -> None:
    reply = http.get("/openapi.json").json()
    assert {(method.upper(), at) for at, methods in reply["paths"].items() for method in methods} == {
        (operation.method, operation.path) for operation in STORE_OPERATIONS
    }
    pumps = http.get("/v1/search", params={"q": "pumps"}).json()["hits"][0]["id"]
    data = http.get(path.format(pumps=pumps)).json()
    schema = json.dumps({**reply["components"]["schemas"][name], "$defs": reply["components"]["schemas"]})
    jsonschema.validate(data, json.loads(schema.replace("#/components/schemas/", "#/$defs/")))
    assert set(data) <= set(reply["components"]["schemas"][name]["properties"])


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("name", [operation.name for operation in STORE_OPERATIONS if operation.parameters])
def test_schemathesis_finds_no_violations(http: httpx2.Client, name: str, mode: GenerationMode) -> None:
    if name == "read_outline" and mode is GenerationMode.NEGATIVE:
        return  # every text is valid there
    schema = schemathesis.openapi.from_url(f"{http.base_url}/openapi.json")
    operation = schema.find_operation_by_label(
        next(f"{each.method} {each.path}" for each in STORE_OPERATIONS if each.name == name)
    )
    assert operation is not None

    @settings(
        max_examples=30,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(mode))
    def check(case: Case) -> None:
        response = case.call()
        case.validate_response(response)
        assert response.status_code < 500

    check()


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
