"""The recipes of docs/guides/hosting.md for an endpoint below a path of the site."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
from serving import process

from .conftest import free_port, run_web_server

pytestmark = pytest.mark.slow

GUIDE = (Path(__file__).parents[3] / "docs/guides/hosting.md").read_text("utf-8")
RECIPES = dict(re.findall(r'^```\w+ title="([^"]+)"\n(.*?)^```$', GUIDE, re.MULTILINE | re.DOTALL))
FILES = {
    "nginx": ("/etc/nginx/conf.d/docs.conf", "server", "listen 80;", "listen 127.0.0.1:{};"),
    "caddy": ("/etc/caddy/Caddyfile", "site", "docs.example", "http://127.0.0.1:{}"),
}


@pytest.fixture(scope="module", params=FILES)
def origin(request: pytest.FixtureRequest, sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the origin of a web server with the sample site, and an endpoint below `/_ask/`."""
    file, place, there, here = FILES[request.param]
    folder, port = tmp_path_factory.mktemp(request.param), free_port()
    recipe = RECIPES[file].rstrip().removesuffix("}") + RECIPES[f"in the {place} of {file}"] + "}\n"
    with process(sample, "--proxies", "1", "--model", "offline", "--metrics", "off") as (_, endpoint):
        places = {there: here.format(port), "/srv/docs": str(sample), "127.0.0.1:8000": urlsplit(endpoint).netloc}
        with run_web_server(request.param, recipe, places, folder, port):
            yield f"http://127.0.0.1:{port}"


def test_questions_are_answered_below_a_path_of_the_site(origin: str) -> None:
    with httpx2.Client(base_url=origin, headers={"Origin": origin}, timeout=30) as client:
        assert client.get("/reference/cli/").headers["Content-Type"].startswith("text/html")
        assert client.get("/_ask/healthz").status_code == 200
        question = {"question": "How long may a drain take?"}
        with client.stream("POST", "/_ask/v1/ask", json=question) as response:
            text = "".join(response.iter_text())
    assert (response.status_code, response.headers["Content-Type"].split(";")[0]) == (200, "text/event-stream")
    assert '"type":"text-start"' in text
    assert text.rstrip().endswith("data: [DONE]")


def test_pages_of_other_sites_may_not_ask(origin: str) -> None:
    headers = {"Origin": "https://other.example"}
    response = httpx2.post(f"{origin}/_ask/v1/ask", json={"question": "How?"}, headers=headers)
    assert response.status_code == 403
