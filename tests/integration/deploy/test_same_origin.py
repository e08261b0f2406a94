"""The recipes of docs/guides/hosting.md for an endpoint below a path of the site."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx2
import pytest

from .conftest import CADDY, NGINX, free_port, nginx_command, wait_for

pytestmark = pytest.mark.slow

GUIDE = (Path(__file__).parents[3] / "docs/guides/hosting.md").read_text("utf-8")
RECIPES = dict(re.findall(r'^```\w+ title="([^"]+)"\n(.*?)^```$', GUIDE, re.MULTILINE | re.DOTALL))
NGINX_FILE, CADDY_FILE = "/etc/nginx/conf.d/docs.conf", "/etc/caddy/Caddyfile"


def write_nginx(site: Path, folder: Path, port: int, endpoint: int) -> list[str]:
    own = RECIPES[NGINX_FILE].replace("listen 80;", f"listen 127.0.0.1:{port};").replace("/srv/docs", str(site))
    added = RECIPES[f"in the server of {NGINX_FILE}"].replace("127.0.0.1:8000", f"127.0.0.1:{endpoint}")
    (folder / "docs.conf").write_text(own.rstrip().removesuffix("}") + added + "}\n")
    return nginx_command(folder, folder / "docs.conf")


def write_caddy(site: Path, folder: Path, port: int, endpoint: int) -> list[str]:
    own = RECIPES[CADDY_FILE].replace("docs.example", f"http://127.0.0.1:{port}").replace("/srv/docs", str(site))
    added = RECIPES[f"in the site of {CADDY_FILE}"].replace("127.0.0.1:8000", f"127.0.0.1:{endpoint}")
    (folder / "Caddyfile").write_text("{\n\tadmin off\n}\n" + own.rstrip().removesuffix("}") + added + "}\n")
    return [str(CADDY), "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]


@pytest.fixture(scope="module", params=["nginx", "caddy"])
def origin(request: pytest.FixtureRequest, sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the origin of a web server with the sample site, and an endpoint below `/_ask/`."""
    if {"nginx": NGINX, "caddy": CADDY}[request.param] is None:
        pytest.skip(f"needs {request.param}")
    folder, port, endpoint = tmp_path_factory.mktemp(request.param), free_port(), free_port()
    write = {"nginx": write_nginx, "caddy": write_caddy}[request.param]
    serve = [sys.executable, "-m", "mkdocs_roaming", "serve", str(sample), "--port", str(endpoint), "--proxies", "1"]
    serve += ["--model", "offline", "--metrics", "off"]
    environment = {**os.environ, "HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    with ExitStack() as stack, (folder / "log").open("wb") as log:
        for command, at in ((serve, endpoint), (write(sample, folder, port, endpoint), port)):
            process = stack.enter_context(subprocess.Popen(command, env=environment, stdout=log, stderr=log))
            stack.callback(process.terminate)
            wait_for(at, process)
        url = f"http://127.0.0.1:{port}"
        for _ in range(500):  # the site is read after the start
            if httpx2.get(f"{url}/_ask/healthz").status_code == 200:
                break
            time.sleep(0.02)
        yield url


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
