"""A site that is down, comes up, is deployed anew, by halves too: what readers get meanwhile."""

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

from mkdocs_roaming.answer.models.base import AssistantTurn, Part, Request, Text, ToolCall
from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.library.library import open_library
from mkdocs_roaming.manifest.io import MANIFEST_PATH
from mkdocs_roaming.serve._uvicorn import freeze_objects
from mkdocs_roaming.serve.deployments import SiteWatcher, is_complete, open_change_detector
from mkdocs_roaming.serve.problems import ProblemError

Start = Callable[..., Any]
Hosting = Callable[..., AbstractContextManager[Any]]
Pages = list[tuple[str, str]]
OFTEN = 0.05
PORT = "Which port is the default?"


@pytest.fixture
def old(folder: Path, files_of: Callable[[Path], dict[str, bytes]]) -> dict[str, bytes]:
    """The files of a deployment."""
    return files_of(folder)


@pytest.fixture
def new(
    tmp_path: Path, make_site: Callable[..., Any], pages: Pages, files_of: Callable[[Path], dict[str, bytes]]
) -> dict[str, bytes]:
    """The files of the next one: another default port."""
    changed = [(path, text.replace("8642", "9753")) for path, text in pages]
    return files_of(make_site(changed).publish(tmp_path / "new"))


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    with caplog.at_level(logging.INFO, "mkdocs_roaming.serve"):
        yield caplog


def answer(endpoint: Any, question: str = PORT) -> str:
    return "".join(part["delta"] for part in endpoint.ask(question) if part["type"] == "text-delta")


# Down at the start, down later


def test_a_site_that_is_down_at_the_start_is_waited_for(
    start: Start, host: Hosting, old: dict[str, bytes], free_port: int, until: Callable[..., Any], log: Any
) -> None:
    """Until it can be read there is a 503 that says when to come again, and a line in the log; then come answers."""
    endpoint = start(f"http://127.0.0.1:{free_port}/", ready=False, poll_seconds=OFTEN)
    refused = endpoint.http.post("/v1/ask", json={"question": PORT})
    assert (refused.status_code, refused.json()["code"]) == (503, "no_site")
    assert int(refused.headers["retry-after"]) > 0
    assert endpoint.http.get("/healthz").status_code == 503
    until(lambda: endpoint.metric("roaming_site_failures_total") >= 3)
    assert log.text.count("retrying") == 1
    with host(old, free_port):
        until(lambda: endpoint.http.get("/healthz").status_code == 200)
        assert "8642" in answer(endpoint)


def test_a_site_without_a_manifest_is_waited_for(
    start: Start, host: Hosting, old: dict[str, bytes], until: Callable[..., Any], log: Any
) -> None:
    """A first deployment may come after the endpoint."""
    with host({"": b"<html>Soon.</html>"}) as site:
        endpoint = start(site.url, ready=False, poll_seconds=OFTEN)
        until(lambda: "publishes no roaming/manifest.json" in log.text)
        site.files = old
        until(lambda: endpoint.http.get("/healthz").status_code == 200)


def test_a_site_that_goes_down_is_answered_from_the_last_good_copy(
    start: Start, host: Hosting, old: dict[str, bytes], until: Callable[..., Any], log: Any
) -> None:
    """Readers notice nothing, health says stale, the log says it once; when it is back, it is well again."""
    with host(old) as site:
        endpoint = start(site.url, poll_seconds=OFTEN)
        site.down = True
        until(lambda: endpoint.http.get("/healthz").json()["status"] == "stale")
        assert "8642" in answer(endpoint)
        assert "kettle.log" in answer(endpoint, "Where is the log?")
        assert endpoint.metric("roaming_site_up") == 0
        until(lambda: endpoint.metric("roaming_site_failures_total") >= 3)
        assert log.text.count("the last good copy is served") == 1
        site.down = False
        until(lambda: endpoint.http.get("/healthz").json()["status"] == "ok")
    assert "can be read again" in log.text


# A new deployment


def test_a_new_deployment_is_noticed_by_its_tag(
    start: Start, host: Hosting, old: dict[str, bytes], new: dict[str, bytes], until: Callable[..., Any]
) -> None:
    """An unchanged manifest is not sent again, a changed one changes over; what was kept is forgotten with it."""
    with host(old) as site:
        endpoint = start(site.url, poll_seconds=OFTEN)
        assert "8642" in answer(endpoint)
        until(lambda: site.count(MANIFEST_PATH, 304) >= 3)
        sent = site.count(MANIFEST_PATH, 200)
        assert sent <= 2  # opened, and looked at once before its tag was known
        site.files = new
        until(lambda: endpoint.metric("roaming_site_changes_total") == 1)
        assert "9753" in answer(endpoint)
        assert not endpoint.status("Where is the log?")["cached"]
        until(lambda: endpoint.metric("roaming_site_looks_total") > 8)
        assert endpoint.metric("roaming_site_changes_total") == 1


def test_servers_that_disagree_for_a_while_do_not_hide_a_deployment(
    start: Start, host: Hosting, old: dict[str, bytes], new: dict[str, bytes], until: Callable[..., Any]
) -> None:
    """Where one server of several has the new manifest and the next one still gives the old, it is looked at again."""

    class Several(dict[str, bytes]):
        given = 0

        def get(self, key: str, default: Any = None) -> Any:
            if key != MANIFEST_PATH:
                return super().get(key, default)
            self.given += 1
            return old[MANIFEST_PATH] if self.given == 2 else new[MANIFEST_PATH]

    with host(old) as site:
        endpoint = start(site.url, poll_seconds=OFTEN)
        until(lambda: site.count(MANIFEST_PATH, 304) >= 1)
        site.files = Several(new)
        until(lambda: endpoint.metric("roaming_site_changes_total") == 1)
        assert "9753" in answer(endpoint)
        until(lambda: endpoint.http.get("/healthz").json()["status"] == "ok")


def test_a_look_at_a_site_that_drips_ends(folder: Path) -> None:
    """Byte by byte, be it in its headers, it holds up no look for ever: the site is looked at again."""
    with dripping(*HEADERS, then=b'{"digest": "sha256:new"}') as address:
        looking = open_change_detector(f"{address}roaming/manifest.json", open_library(folder), seconds=2.5)
        with pytest.raises(LibraryError, match=r"manifest\.json: no complete response within 2\.5 seconds; try again"):
            looking.poll()
        assert looking.poll() == "sha256:new"


def test_a_folder_is_watched_too(start: Start, folder: Path, new: dict[str, bytes], until: Callable[..., Any]) -> None:
    """The endpoint follows what is built into the folder that it reads."""
    endpoint = start(folder, poll_seconds=OFTEN)
    assert "8642" in answer(endpoint)
    for path, data in new.items():
        (folder / path).write_bytes(data)
    until(lambda: endpoint.metric("roaming_site_changes_total") == 1)
    assert "9753" in answer(endpoint)


def test_it_looks_once_a_minute_at_most(folder: Path) -> None:
    """Left to itself, a look follows the last one after a minute."""
    assert SiteWatcher(folder).poll_seconds == 60.0


class Slow:
    """Opens a section, waits, and says what it read there."""

    name = "slow"

    def __init__(self, id_: str) -> None:
        self.opened, self.go = threading.Event(), threading.Event()
        self._id = id_

    async def reply(self, request: Request) -> AsyncIterator[Part]:
        results = [turn for turn in request.turns if isinstance(turn, AssistantTurn) and turn.calls]
        if not results:
            self.opened.set()
            while not self.go.is_set():
                await anyio.sleep(0.005)
            yield ToolCall("a", "expand_sections", {"ids": [self._id]})
            return
        said = "8642" if "8642" in repr(request.turns) else "9753" if "9753" in repr(request.turns) else "nothing"
        yield Text(f"It is {said} [^{self._id}].")


def test_an_answer_ends_with_the_site_that_it_began_with(
    start: Start, host: Hosting, old: dict[str, bytes], new: dict[str, bytes], folder: Path, until: Callable[..., Any]
) -> None:
    """A deployment in mid-answer: sections that are opened after it are those that the outline was of."""
    server = next(place.id for place in open_library(folder).sections if place.section.title == "Server")
    model = Slow(server)
    with host(old) as site:
        endpoint = start(site.url, model, poll_seconds=OFTEN)
        with endpoint.http.stream("POST", "/v1/ask", json={"question": PORT}) as response:
            assert model.opened.wait(5)
            site.files = new
            until(lambda: endpoint.metric("roaming_site_changes_total") == 1)
            model.go.set()
            body = b"".join(response.iter_bytes())
        assert b"It is 8642" in body
        assert b"It is 9753" in endpoint.http.post("/v1/ask", json={"question": PORT}).content


# Half-written deployments


def halves(old: dict[str, bytes], new: dict[str, bytes]) -> dict[str, dict[str, bytes]]:
    page, full = "settings/index.md", "llms-full.txt"
    return {
        "the manifest first": {**old, MANIFEST_PATH: new[MANIFEST_PATH]},
        "a page is missing": {path: data for path, data in new.items() if path not in (page, full)},
        "an old page is left": {**new, page: old[page], full: old[full]},
        "half a manifest": {**new, MANIFEST_PATH: new[MANIFEST_PATH][: len(new[MANIFEST_PATH]) // 2]},
        "an empty manifest": {**new, MANIFEST_PATH: b""},
    }


@pytest.mark.parametrize(
    "half",
    ["the manifest first", "a page is missing", "an old page is left", "half a manifest", "an empty manifest"],
)
def test_a_half_written_deployment_is_never_served(
    start: Start, host: Hosting, old: dict[str, bytes], new: dict[str, bytes], until: Callable[..., Any], half: str
) -> None:
    """The last good copy answers until all of the new one is there."""
    with host(old) as site:
        endpoint = start(site.url, poll_seconds=OFTEN)
        site.files = halves(old, new)[half]
        seen = site.count(MANIFEST_PATH)
        until(lambda: site.count(MANIFEST_PATH) >= seen + 3)
        until(lambda: endpoint.http.get("/healthz").json()["status"] == "stale")
        assert endpoint.metric("roaming_site_changes_total") == 0
        assert "8642" in answer(endpoint)
        site.files = new
        until(lambda: endpoint.metric("roaming_site_changes_total") == 1)
        assert "9753" in answer(endpoint)
        until(lambda: endpoint.http.get("/healthz").json()["status"] == "ok")


def test_a_deployment_that_stays_half_is_taken_in_the_end(
    start: Start, host: Hosting, old: dict[str, bytes], new: dict[str, bytes], until: Callable[..., Any]
) -> None:
    """One page that is broken for good does not keep a site in the past; nothing wrong is served of it."""
    broken = {**new, "settings/index.md": b"# Somebody else's page\n", "llms-full.txt": b""}
    with host(old) as site:
        endpoint = start(site.url, poll_seconds=OFTEN, incomplete_seconds=0.3)
        site.files = broken
        until(lambda: endpoint.metric("roaming_site_changes_total") == 1)
        assert endpoint.http.get("/healthz").json()["status"] == "stale"
        assert "8642" not in (told := answer(endpoint))
        assert "Somebody" not in told
        assert "kettle test --whistle" in answer(endpoint, "WhistleError, what now?")
        site.files = new
        until(lambda: endpoint.http.get("/healthz").json()["status"] == "ok")
        assert "9753" in answer(endpoint, "default of server.port")


def test_a_half_written_site_at_the_start_is_mended_later(
    start: Start, host: Hosting, old: dict[str, bytes], until: Callable[..., Any]
) -> None:
    """Where there is no last good copy, what can be read is served, and the rest as soon as it is there."""
    page = "settings/index.md"
    with host({path: data for path, data in old.items() if path not in (page, "llms-full.txt")}) as site:
        endpoint = start(site.url, poll_seconds=OFTEN)
        assert "kettle test --whistle" in answer(endpoint, "WhistleError, what now?")
        assert "8642" not in answer(endpoint)
        site.files = old
        until(lambda: endpoint.http.get("/healthz").json()["status"] == "ok")
        assert "8642" in answer(endpoint, "default of server.port")


# Small things


def test_a_manifest_that_cannot_be_read_stays_a_problem(folder: Path) -> None:
    """Though it does not change, and only who may read it does: each look tries again."""
    deployments = SiteWatcher(folder)
    anyio.run(deployments.check)
    (folder / MANIFEST_PATH).unlink()
    (folder / MANIFEST_PATH).mkdir()
    for _ in range(2):
        anyio.run(deployments.check)
        assert "manifest.json" in deployments.problem


def test_there_is_nothing_to_answer_from_before_the_first_look(folder: Path) -> None:
    """Whoever embeds this is refused as readers are."""
    with pytest.raises(ProblemError):
        SiteWatcher(folder).now()


def test_a_markdown_file_may_be_served(start: Start, tmp_path: Path, until: Callable[..., Any]) -> None:
    """A README or somebody's llms-full.txt is a site too, and is watched."""
    file = tmp_path / "notes.md"
    file.write_text("# Notes\n\n## Keel\n\nThe keel weighs 812 kg.\n")
    endpoint = start(file, poll_seconds=OFTEN)
    assert "812 kg" in answer(endpoint, "What does the keel weigh?")
    file.write_text("# Notes\n\n## Keel\n\nThe keel weighs 913 kg.\n")
    until(lambda: endpoint.metric("roaming_site_changes_total") == 1)
    assert "913 kg" in answer(endpoint, "What does the keel weigh?")


def test_looking_is_left_at_once(host: Hosting, old: dict[str, bytes]) -> None:
    """A server that hangs does not keep ours from ending."""
    blocked = threading.Event()

    class Hanging(dict[str, bytes]):
        def get(self, key: str, default: Any = None) -> Any:
            blocked.wait(5)
            return default

    async def look_and_leave(url: str) -> None:
        with anyio.move_on_after(0.2):
            await SiteWatcher(url).run()

    with host(Hanging()) as site:
        began = anyio.run(_timed, look_and_leave, site.url)
        blocked.set()
    assert began < 1.0


async def _timed(work: Callable[[str], Any], url: str) -> float:
    began = anyio.current_time()
    await work(url)
    return anyio.current_time() - began


def test_a_navigator_is_new_for_each_conversation(folder: Path) -> None:
    """What one reader opened is not open for the next one; the index is shared."""
    deployments = SiteWatcher(folder)
    assert anyio.run(deployments.check)
    one, other = deployments.now().navigator(), deployments.now().navigator()
    one.expand_sections([next(iter(one.sections)).id])
    assert (bool(one.opened), bool(other.opened), one.search is other.search) == (True, False, True)
    assert is_complete(one.library)


@pytest.mark.anyio
async def test_what_is_kept_for_days_is_not_gone_through_again_and_again(folder: Path, new: dict[str, bytes]) -> None:
    """A site that was taken is out of the collector's rounds, and out of memory once a newer one is there."""
    deployments = SiteWatcher(folder, on_change=freeze_objects)
    try:
        await deployments.check()
        assert not any(found is deployments.now().library for found in gc.get_objects())
        before = weakref.ref(deployments.now().library)
        made = deployments.now().library.memoize("a way back", lambda: [deployments.now().library])
        made.append(made)
        del made
        await deployments.check()
        for path, data in new.items():
            (folder / path).write_bytes(data)
        while not await deployments.check():
            await anyio.sleep(0.01)
        assert before() is None
    finally:
        gc.unfreeze()
