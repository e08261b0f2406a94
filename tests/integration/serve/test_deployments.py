"""A site that is down, comes up, and is deployed again, also incompletely."""

from __future__ import annotations

import gc
import logging
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import anyio
import pytest
from dripping import HEADERS, dripping

from mkdocs_roaming.answer.models.base import ModelRequest, Part, Text, ToolCall
from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.manifest.io import MANIFEST_PATH
from mkdocs_roaming.serve.deployments import SiteWatcher, open_change_detector
from mkdocs_roaming.serve.server import freeze_objects

from .conftest import has_called

Start = Callable[..., Any]
Hosting = Callable[..., AbstractContextManager[Any]]
Pages = list[tuple[str, str]]
POLL_SECONDS = 0.05
PORT = "Which port is the default?"


@pytest.fixture
def old(folder: Path, files_of: Callable[[Path], dict[str, bytes]]) -> dict[str, bytes]:
    """Return the files of a deployment."""
    return files_of(folder)


@pytest.fixture
def new(
    tmp_path: Path, make_site: Callable[..., Any], pages: Pages, files_of: Callable[[Path], dict[str, bytes]]
) -> dict[str, bytes]:
    """Return the files of the next deployment, with another default port."""
    changed = [(path, text.replace("8642", "9753")) for path, text in pages]
    return files_of(make_site(changed).publish(tmp_path / "new"))


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    with caplog.at_level(logging.INFO, "mkdocs_roaming.serve"):
        yield caplog


def answer(endpoint: Any, question: str = PORT) -> str:
    return "".join(part["delta"] for part in endpoint.ask(question) if part["type"] == "text-delta")


# Down at the start, down later


def test_watcher_retries_until_site_is_up(
    start: Start, host: Hosting, old: dict[str, bytes], free_port: int, wait_until: Callable[..., Any], log: Any
) -> None:
    endpoint = start(f"http://127.0.0.1:{free_port}/", ready=False, look_every=POLL_SECONDS)
    refused = endpoint.http.post("/v1/ask", json={"question": PORT})
    assert (refused.status_code, refused.json()["code"]) == (503, "no_site")
    assert int(refused.headers["retry-after"]) > 0
    assert endpoint.http.get("/healthz").status_code == 503
    wait_until(lambda: endpoint.metric("roaming_site_failures_total") >= 3)
    assert log.text.count("retrying") == 1
    with host(old, free_port):
        wait_until(lambda: endpoint.http.get("/healthz").status_code == 200)
        assert "8642" in answer(endpoint)


def test_site_that_goes_down_is_served_from_last_copy(
    start: Start, host: Hosting, old: dict[str, bytes], wait_until: Callable[..., Any], log: Any
) -> None:
    with host(old) as site:
        endpoint = start(site.url, look_every=POLL_SECONDS)
        site.down = True
        wait_until(lambda: endpoint.http.get("/healthz").json()["status"] == "stale")
        assert "8642" in answer(endpoint)
        assert "kettle.log" in answer(endpoint, "Where is the log?")
        assert endpoint.metric("roaming_site_up") == 0
        wait_until(lambda: endpoint.metric("roaming_site_failures_total") >= 3)
        assert log.text.count("the last good copy is served") == 1
        site.down = False
        wait_until(lambda: endpoint.http.get("/healthz").json()["status"] == "ok")
    assert "can be read again" in log.text


# A new deployment


def test_watcher_finds_new_deployment_with_conditional_requests(
    start: Start, host: Hosting, old: dict[str, bytes], new: dict[str, bytes], wait_until: Callable[..., Any]
) -> None:
    with host(old) as site:
        endpoint = start(site.url, look_every=POLL_SECONDS)
        assert "8642" in answer(endpoint)
        wait_until(lambda: site.count(MANIFEST_PATH, 304) >= 3)
        sent = site.count(MANIFEST_PATH, 200)
        assert sent <= 2  # opened, and looked at once before its tag was known
        site.files = new
        wait_until(lambda: endpoint.metric("roaming_site_changes_total") == 1)
        assert "9753" in answer(endpoint)
        assert not endpoint.status("Where is the log?")["cached"]
        sent = site.count(MANIFEST_PATH, 304)
        wait_until(lambda: site.count(MANIFEST_PATH, 304) > sent + 3)
        assert endpoint.metric("roaming_site_changes_total") == 1


def test_watcher_finds_deployment_behind_inconsistent_servers(
    start: Start, host: Hosting, old: dict[str, bytes], new: dict[str, bytes], wait_until: Callable[..., Any]
) -> None:

    class Several(dict[str, bytes]):
        given = 0

        def get(self, key: str, default: Any = None) -> Any:
            if key != MANIFEST_PATH:
                return super().get(key, default)
            self.given += 1
            return old[MANIFEST_PATH] if self.given == 2 else new[MANIFEST_PATH]

    with host(old) as site:
        endpoint = start(site.url, look_every=POLL_SECONDS)
        wait_until(lambda: site.count(MANIFEST_PATH, 304) >= 1)
        site.files = Several(new)
        wait_until(lambda: endpoint.metric("roaming_site_changes_total") == 1)
        assert "9753" in answer(endpoint)
        wait_until(lambda: endpoint.http.get("/healthz").json()["status"] == "ok")


def test_poll_times_out_on_slow_response(folder: Path) -> None:
    with dripping(*HEADERS, then=b'{"digest": "sha256:new"}') as address:
        detector = open_change_detector(f"{address}roaming/manifest.json", open_library(folder), seconds=2.5)
        with pytest.raises(LibraryError, match=r"manifest\.json: no complete response within 2\.5 seconds; try again"):
            detector.poll()
        assert detector.poll() == "sha256:new"


def test_watcher_finds_new_build_of_folder(
    start: Start, folder: Path, new: dict[str, bytes], wait_until: Callable[..., Any]
) -> None:
    endpoint = start(folder, look_every=POLL_SECONDS)
    assert "8642" in answer(endpoint)
    for path, data in new.items():
        (folder / path).write_bytes(data)
    wait_until(lambda: endpoint.metric("roaming_site_changes_total") == 1)
    assert "9753" in answer(endpoint)


class Slow:
    """A model that waits, opens a section, and quotes it."""

    name = "slow"

    def __init__(self, id_: str) -> None:
        self.opened, self.go = threading.Event(), threading.Event()
        self._id = id_

    async def reply(self, request: ModelRequest) -> AsyncIterator[Part]:
        if not has_called(request):
            self.opened.set()
            while not self.go.is_set():
                await anyio.sleep(0.005)
            yield ToolCall("a", "expand_sections", {"ids": [self._id]})
            return
        number = "8642" if "8642" in repr(request.turns) else "9753" if "9753" in repr(request.turns) else "nothing"
        yield Text(f"It is {number} [^{self._id}].")


def test_answer_keeps_deployment_it_started_with(
    start: Start,
    host: Hosting,
    old: dict[str, bytes],
    new: dict[str, bytes],
    folder: Path,
    wait_until: Callable[..., Any],
) -> None:
    server = next(place.id for place in open_library(folder).sections if place.section.title == "Server")
    model = Slow(server)
    with host(old) as site:
        endpoint = start(site.url, model, look_every=POLL_SECONDS)
        with endpoint.http.stream("POST", "/v1/ask", json={"question": PORT}) as response:
            assert model.opened.wait(5)
            site.files = new
            wait_until(lambda: endpoint.metric("roaming_site_changes_total") == 1)
            model.go.set()
            body = b"".join(response.iter_bytes())
        assert b"It is 8642" in body
        assert b"It is 9753" in endpoint.http.post("/v1/ask", json={"question": PORT}).content


# Half-written watcher


def incomplete_versions(old: dict[str, bytes], new: dict[str, bytes]) -> dict[str, dict[str, bytes]]:
    page, full = "settings/index.md", "llms-full.txt"
    return {
        "the manifest first": {**old, MANIFEST_PATH: new[MANIFEST_PATH]},
        "a page is missing": {path: data for path, data in new.items() if path not in (page, full)},
        "an old page is left": {**new, page: old[page], full: old[full]},
        "half a manifest": {**new, MANIFEST_PATH: new[MANIFEST_PATH][: len(new[MANIFEST_PATH]) // 2]},
        "an empty manifest": {**new, MANIFEST_PATH: b""},
    }


@pytest.mark.parametrize(
    "version",
    ["the manifest first", "a page is missing", "an old page is left", "half a manifest", "an empty manifest"],
)
def test_incomplete_deployment_is_not_served(
    start: Start,
    host: Hosting,
    old: dict[str, bytes],
    new: dict[str, bytes],
    wait_until: Callable[..., Any],
    version: str,
) -> None:
    with host(old) as site:
        endpoint = start(site.url, look_every=POLL_SECONDS)
        site.files = incomplete_versions(old, new)[version]
        seen = site.count(MANIFEST_PATH)
        wait_until(lambda: site.count(MANIFEST_PATH) >= seen + 3)
        wait_until(lambda: endpoint.http.get("/healthz").json()["status"] == "stale")
        assert endpoint.metric("roaming_site_changes_total") == 0
        assert "8642" in answer(endpoint)
        site.files = new
        wait_until(lambda: endpoint.metric("roaming_site_changes_total") == 1)
        assert "9753" in answer(endpoint)
        wait_until(lambda: endpoint.http.get("/healthz").json()["status"] == "ok")


def test_incomplete_deployment_is_used_after_timeout(
    start: Start, host: Hosting, old: dict[str, bytes], new: dict[str, bytes], wait_until: Callable[..., Any]
) -> None:
    broken = {**new, "settings/index.md": b"# Somebody else's page\n", "llms-full.txt": b""}
    with host(old) as site:
        endpoint = start(site.url, look_every=POLL_SECONDS, incomplete_seconds=0.3)
        site.files = broken
        wait_until(lambda: endpoint.metric("roaming_site_changes_total") == 1)
        assert endpoint.http.get("/healthz").json()["status"] == "stale"
        assert "8642" not in (result := answer(endpoint))
        assert "Somebody" not in result
        assert "kettle test --whistle" in answer(endpoint, "WhistleError, what now?")
        site.files = new
        wait_until(lambda: endpoint.http.get("/healthz").json()["status"] == "ok")
        assert "9753" in answer(endpoint, "default of server.port")


def test_incomplete_first_deployment_is_repaired_later(
    start: Start, host: Hosting, old: dict[str, bytes], wait_until: Callable[..., Any]
) -> None:
    page = "settings/index.md"
    with host({path: data for path, data in old.items() if path not in (page, "llms-full.txt")}) as site:
        endpoint = start(site.url, look_every=POLL_SECONDS)
        assert "kettle test --whistle" in answer(endpoint, "WhistleError, what now?")
        assert "8642" not in answer(endpoint)
        site.files = old
        wait_until(lambda: endpoint.http.get("/healthz").json()["status"] == "ok")
        assert "8642" in answer(endpoint, "default of server.port")


# Small things


def test_unreadable_manifest_stays_a_problem(folder: Path) -> None:
    watcher = SiteWatcher(folder)
    anyio.run(watcher.check)
    (folder / MANIFEST_PATH).unlink()
    (folder / MANIFEST_PATH).mkdir()
    for _ in range(2):
        anyio.run(watcher.check)
        assert "manifest.json" in watcher.problem


def test_watcher_serves_and_watches_markdown_file(start: Start, tmp_path: Path, wait_until: Callable[..., Any]) -> None:
    file = tmp_path / "notes.md"
    file.write_text("# Notes\n\n## Keel\n\nThe keel weighs 812 kg.\n")
    endpoint = start(file, look_every=POLL_SECONDS)
    assert "812 kg" in answer(endpoint, "What does the keel weigh?")
    file.write_text("# Notes\n\n## Keel\n\nThe keel weighs 913 kg.\n")
    wait_until(lambda: endpoint.metric("roaming_site_changes_total") == 1)
    assert "913 kg" in answer(endpoint, "What does the keel weigh?")


@pytest.mark.anyio
async def test_freeze_objects_excludes_current_and_frees_old_deployment(folder: Path, new: dict[str, bytes]) -> None:
    watcher = SiteWatcher(folder, on_change=freeze_objects)
    try:
        await watcher.check()
        assert not any(found is watcher.now().library for found in gc.get_objects())
        before = weakref.ref(watcher.now().library)
        made = watcher.now().library.memoize("a way back", lambda: [watcher.now().library])
        made.append(made)
        del made
        await watcher.check()
        for path, data in new.items():
            (folder / path).write_bytes(data)
        while not await watcher.check():
            await anyio.sleep(0.01)
        assert before() is None
    finally:
        gc.unfreeze()
