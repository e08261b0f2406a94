"""The recipes of docs/guides/hosting.md: their files are valid, and the servers respond with Markdown as described."""

from __future__ import annotations

import gzip
import http.client
import json
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from edge import EDGE_HOSTS, NODE, run_edge

from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.library.validate import validate_site

from .conftest import free_port, run_web_server

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "docs/guides/hosting.md").read_text("utf-8")
RECIPES = dict(re.findall(r'^```\w+ title="([^"]+)"\n(.*?)^```$', GUIDE, re.MULTILINE | re.DOTALL))


class _MkDocsLoader(yaml.SafeLoader):
    """Reads `!ENV`, as MkDocs does."""


_MkDocsLoader.add_constructor("!ENV", lambda loader, node: loader.construct_sequence(node))


def parse(title: str) -> Any:
    text = RECIPES[title]
    if title.endswith(".toml"):
        return tomllib.loads(text)
    return json.loads(text) if title.endswith(".json") else yaml.load(text, _MkDocsLoader)


@pytest.mark.parametrize("title", [title for title in RECIPES if re.search(r"\.(ya?ml|json|toml)\b", title)])
def test_configuration_files_can_be_parsed(title: str) -> None:
    assert isinstance(parse(title), dict)


def test_github_workflow_has_the_steps_of_our_own() -> None:
    recipe = parse(".github/workflows/docs.yml")
    own = yaml.safe_load((ROOT / ".github/workflows/docs.yml").read_text("utf-8"))
    for job in ("build", "deploy"):
        steps, own_steps = ([step.get("uses") for step in one["jobs"][job]["steps"]] for one in (recipe, own))
        assert [step for step in steps if step] == [step for step in own_steps if step]
        assert recipe["jobs"][job].get("permissions") == own["jobs"][job].get("permissions")
    assert recipe["permissions"] == own["permissions"] == {"contents": "read"}
    steps = recipe["jobs"]["build"]["steps"]
    caches = [step["with"] for step in steps if step.get("uses", "").startswith("actions/cache@")]
    assert caches[0]["path"] == ".cache/roaming"


def test_actions_are_pinned_by_commit_with_their_version() -> None:
    workflows = [file.read_text("utf-8") for file in (ROOT / ".github/workflows").glob("*.yml")]
    lines = [
        line
        for text in (*workflows, GUIDE)
        for line in text.splitlines()
        if "uses: " in line and "uses: ./" not in line
    ]
    assert lines
    assert [line for line in lines if not re.search(r"uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line)] == []


@pytest.mark.parametrize(
    ("title", "schema"),
    [
        (".github/workflows/docs.yml", "vendor.github-workflows"),
        (".github/workflows/versions.yml", "vendor.github-workflows"),
        (".gitlab-ci.yml", "vendor.gitlab-ci"),
        (".readthedocs.yaml", "vendor.readthedocs"),
        (".readthedocs.yaml for Sphinx", "vendor.readthedocs"),
    ],
)
def test_pipelines_match_published_schemas(tmp_path: Path, title: str, schema: str) -> None:
    check = shutil.which("check-jsonschema")
    if check is None:
        pytest.skip("needs check-jsonschema")
    (tmp_path / "file.yaml").write_text(RECIPES[title], "utf-8")
    subprocess.run([check, "--builtin-schema", schema, str(tmp_path / "file.yaml")], check=True)


def test_compression_step_of_gitlab_can_be_repeated(tmp_path: Path) -> None:
    (step,) = [line for line in parse(".gitlab-ci.yml")["pages"]["script"] if line.startswith("find")]
    (tmp_path / "public/a").mkdir(parents=True)
    for name in ("llms.txt", "llms.txt.gz", "a/index.md", "a/logo.png"):
        (tmp_path / "public" / name).write_text("x")
    subprocess.run(step, shell=True, cwd=tmp_path, check=True)
    assert sorted(file.name for file in tmp_path.rglob("*.gz")) == ["index.md.gz", "llms.txt.gz"]


# Servers


Request = Any


@pytest.fixture(scope="module", params=["nginx", "caddy", *EDGE_HOSTS])
def host(request: pytest.FixtureRequest, sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Request]:
    """Return a function that sends a request to a server with the sample site: status, headers and body."""
    if NODE is None and request.param in EDGE_HOSTS:
        pytest.skip("needs node")
    folder, port = tmp_path_factory.mktemp(request.param), free_port()

    def send(path: str, method: str = "GET", **headers: str) -> tuple[int, http.client.HTTPMessage, bytes]:
        connection = http.client.HTTPConnection(send.url.split("/")[2], timeout=20)
        try:
            connection.request(method, path, headers={name.replace("_", "-"): text for name, text in headers.items()})
            response = connection.getresponse()
            return response.status, response.headers, response.read()
        finally:
            connection.close()

    send.name = request.param
    if request.param in EDGE_HOSTS:
        with run_edge(request.param, sample, folder) as send.url:
            yield send
        return
    title, address, here = {
        "nginx": ("/etc/nginx/conf.d/docs.conf", "listen 80;", f"listen 127.0.0.1:{port};"),
        "caddy": ("/etc/caddy/Caddyfile", "docs.example", f"http://127.0.0.1:{port}"),
    }[request.param]
    with run_web_server(request.param, RECIPES[title], {address: here, "/srv/docs": str(sample)}, folder, port):
        send.url = f"http://127.0.0.1:{port}/"
        yield send


ACCEPTED = json.loads((ROOT / "tests/golden/http/accept.json").read_text("utf-8"))


@pytest.mark.parametrize(("path", "accept", "kind"), ACCEPTED)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_accept_selects_markdown_or_html(
    host: Request, sample: Path, path: str, accept: str, kind: str, method: str
) -> None:
    status, headers, body = host(path, method, Accept=accept)
    assert (status, headers["Content-Type"]) == (200, f"text/{kind}; charset=utf-8")
    assert "Accept" in ", ".join(headers.get_all("Vary", []))
    folder = sample / path.strip("/").removesuffix("index.html")
    file = folder / ("index.md" if kind == "markdown" else "index.html") if folder.is_dir() else folder
    assert body == (file.read_bytes() if method == "GET" else b"")


def test_missing_page_is_404_for_all_clients(host: Request) -> None:
    for path in ("/missing/", "/missing.html", "/missing", "/missing.md"):
        status, headers, _ = host(path, Accept="text/markdown")
        assert (status, headers["Content-Type"]) == (404, "text/html; charset=utf-8")


def test_known_etag_returns_304_for_its_representation_only(host: Request) -> None:
    page, markdown = (host("/reference/cli/", Accept=accept)[1]["ETag"] for accept in ("text/html", "text/markdown"))
    assert page != markdown
    status, _, body = host("/reference/cli/", Accept="text/markdown", If_None_Match=markdown)
    assert (status, body) == (304, b"")
    assert host("/reference/cli/", Accept="text/html", If_None_Match=markdown)[0] == 200


@pytest.mark.parametrize(("accept", "file"), [("text/markdown", "index.md"), ("text/html", "index.html")])
def test_compressed_responses_can_be_decompressed(host: Request, sample: Path, accept: str, file: str) -> None:
    _, headers, body = host("/reference/cli/", Accept=accept, Accept_Encoding="gzip")
    assert headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(body) == (sample / "reference/cli" / file).read_bytes()


def test_web_servers_set_types_and_compress(host: Request) -> None:
    if host.name not in ("nginx", "caddy"):
        pytest.skip("the host sets these headers, not the function")
    types = {"llms.txt": "text/plain; charset=utf-8", "reference/cli.md": "text/markdown; charset=utf-8"}
    for path, kind in types.items():
        assert host(f"/{path}")[1]["Content-Type"] == kind
    _, headers, _ = host("/roaming/manifest.json", Accept_Encoding="gzip")
    assert headers["Content-Type"].startswith("application/json")
    assert (headers["Content-Encoding"], headers["Access-Control-Allow-Origin"]) == ("gzip", "*")
    assert "Accept-Encoding" in ", ".join(headers.get_all("Vary"))
    assert validate_site(open_library(host.url)).faults == ()
