"""The function of static hosts returns what the Python server returns, from the published files alone."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from edge import run_edge, write_files
from serving import load_cases

from mkdocs_roaming.cli import main
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.library.targets import library_from_markdown, open_target
from mkdocs_roaming.manifest.models import iter_nav
from mkdocs_roaming.serve.mcp import _call_tool, _format_public_error

pytestmark = pytest.mark.slow


def odd_library() -> Library:
    """Return a site with repeated titles, emoji, long paragraphs and listings of source code."""
    text = (
        (Path(__file__).parents[2] / "golden/http/odd.md")
        .read_text("utf-8")
        .format(padding="Words that say nothing at all, but take room. " * 30)
    )
    return library_from_markdown(text, name="Odd 🚀 site", url="https://odd.example/")


@pytest.fixture(scope="module", params=["sample", "odd"])
def site(request: pytest.FixtureRequest, sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Return a library, and the URL of the function for it."""
    folder = tmp_path_factory.mktemp("function")
    library = open_target(str(sample)).open_site() if request.param == "sample" else odd_library()
    with run_edge("cloudflare", write_files(library, folder / "site"), folder) as url:
        yield library, f"{url}mcp"


def send(url: str, message: dict[str, Any], **headers: str) -> Any:
    """Send a message, and return the result."""
    named = {"Content-Type": "application/json", "Accept": "application/json", **headers}
    request = urllib.request.Request(url, json.dumps({"jsonrpc": "2.0", "id": 1, **message}).encode(), named)
    with urllib.request.urlopen(request, timeout=20) as response:
        return json.loads(response.read())["result"]


def call(url: str, name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
    """Call a tool, and return its text without the random marker, and whether it is an error."""
    result = send(url, {"method": "tools/call", "params": {"name": name, "arguments": arguments}})
    return unmark(result["content"][0]["text"]), result["isError"]


def unmark(text: str) -> str:
    return re.sub(r"(</?docs) [0-9a-f]{16}>", r"\1>", text)


def call_python(library: Library, name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
    """Return what the Python server returns; `judge` needs word lists, which no site publishes."""
    search = Search(library, with_table=False)  # the function searches by words
    result = _call_tool(lambda: Navigator(library, search=search), name, arguments, _format_public_error)
    text = unmark(result.content[0].text)  # type: ignore[union-attr]
    return re.sub(r"(?m)^Probably no section answers this\.\n(?:\n---\n\n)?", "", text), bool(result.is_error)


CALLS = load_cases("calls with the same result everywhere")


@pytest.mark.parametrize(("name", "arguments"), CALLS)
def test_tools_return_same_text(site: tuple[Library, str], name: str, arguments: dict[str, Any]) -> None:
    assert call(site[1], name, arguments) == call_python(site[0], name, arguments)


def test_sections_and_branches_are_the_same(site: tuple[Library, str]) -> None:
    library, url = site
    ids = [section.id for section in library.sections]
    groups = [entry.id for entry in iter_nav(library.manifest.nav) if entry.id]
    for arguments in (
        {"ids": ids[:3]},
        {"ids": [ids[0], *ids[:4], "deadbeef"]},
        *({"ids": [id_], "part": 2} for id_ in ids[::5]),
    ):
        assert call(url, "expand_sections", arguments) == call_python(library, "expand_sections", arguments)
    for id_ in (*groups, f"{ids[0]}+", f"{ids[0][:-1]}0"):
        assert call(url, "read_outline", {"id": id_}) == call_python(library, "read_outline", {"id": id_})
    address = {"query": library.sections.url(list(library.sections)[1])}
    assert call(url, "search_sections", address) == call_python(library, "search_sections", address)


# The published files


def make_hosted(folder: Path, library: Library | None = None, **changes: Any) -> Library:
    """Write the files of a site with changes to its manifest."""
    library = library or odd_library()
    write_files(library, folder)
    manifest = json.loads(library.file("roaming/manifest.json")) | changes
    (folder / "roaming/manifest.json").write_text(json.dumps(manifest))
    return library


def read_requests(url: str) -> list[str]:
    with urllib.request.urlopen(f"{url}requests", timeout=20) as response:
        paths: list[str] = json.loads(response.read())
        return paths


def test_files_are_read_once(tmp_path: Path) -> None:
    make_hosted(tmp_path / "site")
    with run_edge("cloudflare", tmp_path / "site", tmp_path) as url:
        for _ in range(2):
            call(f"{url}mcp", "search_sections", {"query": "wanted"})
            call(f"{url}mcp", "grep", {"pattern": "wanted"})
        paths = read_requests(url)
    assert len(paths) == len(set(paths))
    assert {"/roaming/manifest.json", "/roaming/finder.json", "/index.md"} <= set(paths)


def test_pages_that_do_not_fit_their_digests_are_not_shown(tmp_path: Path) -> None:
    library = make_hosted(tmp_path / "site")
    page = library.manifest.pages[0]
    (tmp_path / "site" / page.markdown).write_text("# Something else\n" * 99)
    with run_edge("cloudflare", tmp_path / "site", tmp_path) as url:
        text, is_error = call(f"{url}mcp", "expand_sections", {"ids": [page.id]})
        found = call(f"{url}mcp", "search_sections", {"query": "wanted"})[0]
        lines = call(f"{url}mcp", "grep", {"pattern": "else"})
        fresh = [path for path in read_requests(url) if "?v=" in path]
    assert (text, is_error) == (f"<docs>\n{page.id}: This cannot be read at the moment.\n</docs>\n", True)
    assert "Something else" not in found
    assert lines == ("This cannot be read at the moment\n", True)
    assert fresh  # a cache may have had another version


def test_new_deployment_is_noticed_when_its_files_are_missing(tmp_path: Path) -> None:
    make_hosted(tmp_path / "site")
    with run_edge("cloudflare", tmp_path / "site", tmp_path) as url:
        assert "Boat" not in call(f"{url}mcp", "read_outline", {})[0]
        boat = library_from_markdown("# Boat\n\nA bilge pump.\n", name="Boat", url="https://boat.example/")
        for file in (tmp_path / "site/roaming/finder").iterdir():
            file.unlink()
        write_files(boat, tmp_path / "site")
        assert "[Boat]" not in call(f"{url}mcp", "search_sections", {"query": "bilge pump"})[0]
        assert "bilge pump" in call(f"{url}mcp", "search_sections", {"query": "bilge pump"})[0]


def test_text_of_a_crawled_site_is_labelled(tmp_path: Path) -> None:
    library = make_hosted(tmp_path / "site", crawled_from="odd.example:8443")
    first = library.manifest.pages[0].id
    calls = [("read_outline", {}), ("expand_sections", {"ids": [first]}), ("grep", {"pattern": "wanted"})]
    with run_edge("cloudflare", tmp_path / "site", tmp_path) as url:
        for name, arguments in (*calls, ("search_sections", {"query": "wanted"})):
            text, _ = call(f"{url}mcp", name, arguments)
            assert text.startswith("untrusted content from odd.example:8443\n<docs>\n")
        titles = [tool["title"] for tool in send(f"{url}mcp", {"method": "tools/list"})["tools"]]
        assert all(title.endswith(": odd.example:8443") for title in titles)


def test_folder_without_a_site_lists_tools_and_reports_it_in_calls(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    with run_edge("cloudflare", tmp_path / "site", tmp_path) as url:
        assert len(send(f"{url}mcp", {"method": "tools/list"})["tools"]) == 4
        assert call(f"{url}mcp", "read_outline", {}) == ("This cannot be read at the moment\n", True)


def test_site_without_an_index_says_which_option_is_missing(tmp_path: Path) -> None:
    library = make_hosted(tmp_path / "site")
    (tmp_path / "site/roaming/finder.json").unlink()
    with run_edge("cloudflare", tmp_path / "site", tmp_path) as url:
        text, is_error = call(f"{url}mcp", "search_sections", {"query": "wanted"})
        assert (is_error, text) == (True, "The site publishes no index to search; its build needs the option mcp\n")
        assert not call(f"{url}mcp", "expand_sections", {"ids": [library.manifest.pages[0].id]})[1]


def test_function_leaves_other_addresses_alone(tmp_path: Path) -> None:
    """A site in a folder has its own address; an endpoint on the same origin and a page named mcp keep theirs."""
    make_hosted(tmp_path / "site/2.0")
    make_hosted(tmp_path / "site/mcp")
    (tmp_path / "site/mcp/index.html").write_text("<h1>About MCP</h1>")
    with run_edge("netlify", tmp_path / "site", tmp_path) as url:
        assert "Options" in call(f"{url}2.0/mcp", "read_outline", {})[0]
        assert call(f"{url}mcp", "read_outline", {})[1]
        with urllib.request.urlopen(f"{url}mcp", timeout=20) as response:
            assert b"About MCP" in response.read()
        request = urllib.request.Request(f"{url}_ask/mcp", b"{}", {"Content-Type": "application/json"})
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(request, timeout=20)
        with caught.value as response:
            assert (response.code, response.read()) == (404, b"Not found")


def test_pages_of_other_sites_may_call(tmp_path: Path) -> None:
    make_hosted(tmp_path / "site")
    with run_edge("cloudflare", tmp_path / "site", tmp_path) as url:
        headers = {"Origin": "https://app.example", "Access-Control-Request-Method": "POST"}
        request = urllib.request.Request(f"{url}mcp", headers=headers, method="OPTIONS")
        with urllib.request.urlopen(request, timeout=20) as response:
            assert (response.status, response.headers["Access-Control-Allow-Origin"]) == (204, "*")
            assert "mcp-protocol-version" in response.headers["Access-Control-Allow-Headers"]
            assert "Access-Control-Allow-Credentials" not in response.headers


# The command


def test_command_overwrites_only_its_own_unchanged_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = CliRunner().invoke
    for host, file in (("cloudflare", "functions/_middleware.js"), ("vercel", "middleware.js")):
        assert run(main, ["function", host]).exit_code == 0
        written = Path(file).read_text("utf-8")
        assert run(main, ["function", host]).exit_code == 0
        Path(file).write_text(f"{written}// Changed.\n", "utf-8")
        done = run(main, ["function", host])
        assert done.exit_code != 0
        assert "was not written by this command, or was changed" in done.output
        assert Path(file).read_text("utf-8") != written
    assert run(main, ["function", "netlify", "-o", "edge.js"]).exit_code == 0
    assert "excludedPath" in Path("edge.js").read_text("utf-8")
