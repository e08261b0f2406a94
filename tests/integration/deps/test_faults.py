"""Faults during `roaming deps sync`: a report per package, nothing lost, nothing half."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import anyio
import pytest

from roaming_crawler.config import CrawlConfig, Politeness
from roaming_crawler.fetch import Clock, FetchError, WebFetcher
from roaming_crawler.session import Session
from roaming_crawler.state import CrawlState
from roaming_crawler.versions import DocumentedVersion
from roaming_deps.addresses import Metadata
from roaming_deps.probe import is_same_site, verify_site
from roaming_deps.project import project_folder
from roaming_deps.sync import sync

TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))

pytestmark = pytest.mark.slow


def _start(project: Any, *more: str) -> subprocess.Popen[str]:
    """Start a sync in a process of its own."""
    command = [
        sys.executable,
        "-m",
        "mkdocs_roaming",
        "deps",
        "sync",
        str(project.root),
        "--allow-private",
        "--delay",
        "0",
    ]
    environ = {**os.environ, **project.environ}
    return subprocess.Popen([*command, *more], env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _wait_for(web: Any, count: int, process: subprocess.Popen[str]) -> None:
    """Wait until the web has received a number of requests for pages of kite."""
    while sum(web.pages("1.1").values()) < count:
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)


@pytest.fixture
def project(make_project: Any, web: Any) -> Any:
    """Provide a project with two packages, whose sites are on two hosts."""
    web.put_version("1.1", "kite", version="3.1", pages=30)
    web.put_version("1.2", "swirl", version="1.0")
    return make_project().use(kite="3.1", swirl="1.0").place(kite=web.url("1.1"), swirl=web.url("1.2"))


def test_interrupted_sync_reports_each_package(project: Any, web: Any) -> None:
    web.delay = 0.05
    process = _start(project)
    _wait_for(web, 20, process)
    process.send_signal(signal.SIGTERM)
    output, errors = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "interrupted; to continue, give the same command" in errors
    assert [line.split()[:2] for line in output.splitlines()] == [["kite", "3.1"], ["swirl", "1.0"]]
    docs = project.list()
    assert docs["kite"]["place"] == ""
    assert "interrupted" in docs["kite"]["why"]
    web.delay = 0
    assert [(one["pages"], one["why"]) for one in project.sync().values()] == [(30, ""), (3, "")]
    pages = [count for path, count in web.pages("1.1").items() if path != "/"]
    assert sum(pages) <= 2 * len(pages) + 4  # HTML and Markdown once, and those under way when it was stopped


def test_sync_waits_for_another(project: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in project.environ.items():
        monkeypatch.setenv(name, value)
    holding = f"from pathlib import Path\nfrom mkdocs_roaming.locks import hold_folder\nwith hold_folder(Path({str(project.data)!r})): print(), input()"
    command = [sys.executable, "-c", holding]
    events = []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout
        assert other.stdin
        other.stdout.readline()

        def on_event(name: str, data: dict[str, Any]) -> None:
            events.append(name)
            if name == "locked":
                other.communicate("\n")

        report = sync(project.root, allow_private=True, politeness=Politeness(delay=0), on_event=on_event)
    assert (events[0], report.crawled) == ("locked", 2)


def test_host_that_is_down_keeps_the_documentation(project: Any, web: Any) -> None:
    before = project.sync()
    web.down.add("1.1")
    after = project.sync("--refresh-older-than", "0s")
    assert {**after["swirl"], "crawled": 0, "bytes": 0} == {**before["swirl"], "crawled": 0, "bytes": 0}
    assert after["kite"]["place"] == before["kite"]["place"]
    assert after["kite"]["info"] == before["kite"]["info"]
    assert re.match(r"not updated: http://127.0.1.1:\d+/", after["kite"]["why"])
    project.run("list", code=4)
    web.down.clear()
    assert project.sync()["kite"]["why"] == ""


def test_site_that_is_incomplete_because_its_host_went_down_is_completed(project: Any, web: Any) -> None:
    web.when["127.0.1.2/p1/"] = lambda: web.down.add("1.2")
    swirl = project.sync()["swirl"]
    assert swirl["pages"] < 3
    assert re.match(r"\d pages? not fetched: http://127.0.1.2:\d+/p\d/: .*; tried again after ", swirl["why"])
    project.run("list", code=4)
    web.when.clear()
    web.down.clear()
    assert project.sync()["swirl"]["why"] == swirl["why"]
    swirl = project.sync("--refresh")["swirl"]
    assert (swirl["pages"], swirl["why"]) == (3, "")


@pytest.mark.parametrize("allowed", [True, False])
def test_redirect_to_private_address_is_refused(allowed: bool, project: Any, web: Any) -> None:
    web.put("1.1", "/", f"->{web.url('9.9')}")
    web.put_version("9.9", "kite", version="3.1")
    options = [] if allowed else ["--no-allow-private"]
    docs = project.sync(*options)
    assert docs["kite"]["place"] == ""
    assert docs["kite"]["why"].startswith("private address, refused: 127.0.")
    assert bool(docs["swirl"]["place"]) == allowed
    assert not web.pages("9.9")


@pytest.mark.parametrize(("package", "accepted"), [("kite", True), ("Kite_", True), ("kites", False), ("swirl", False)])
def test_site_must_name_the_package(package: str, accepted: bool, web: Any, tmp_path: Path) -> None:
    web.put_version("1.1", "kite", version="3.1")
    url = web.url("1.1")

    async def verify() -> None:
        state = CrawlState(tmp_path)
        state.path.mkdir()
        async with WebFetcher(Politeness(delay=0), private_urls=[url]) as fetcher:
            session = Session(state, fetcher, CrawlConfig(), Clock())
            metadata = Metadata(package, "3.1", imports=(package.lower(),))
            await verify_site(session, DocumentedVersion(url, "3.1", "version", True, url), metadata)

    if accepted:
        anyio.run(verify)
    else:
        with pytest.raises(FetchError) as error:
            anyio.run(verify)
        name = f'{package} = "{url}"'
        expected = f"leads to {url}, which does not name {package}; if it is right: sites = {{ {name} }}"
        assert str(error.value) == expected


@pytest.mark.parametrize(("url", "other", "same"), TABLES["is_same_site"])
def test_is_same_site(url: str, other: str, same: bool) -> None:
    assert is_same_site(url, other) is same


def test_site_that_robots_txt_forbids_is_reported(project: Any, web: Any) -> None:
    web.put("1.1", "/robots.txt", "User-agent: *\nDisallow: /\n")
    docs = project.sync()
    assert "robots.txt forbids it" in docs["kite"]["why"]
    assert docs["swirl"]["place"]


def test_sync_that_cannot_write_the_view_keeps_the_last_one(project: Any, web: Any) -> None:
    before = project.sync()
    web.put_version("1.1", "kite", version="3.2", pages=30)
    project.use(kite="3.2", swirl="1.0")
    record = project_folder(project.data, project.root) / ".fleet/sites/swirl.json"
    record.unlink()
    record.mkdir()
    project.run("sync", code=1)
    assert project.list() == before
    record.rmdir()
    assert project.sync()["kite"]["info"]["documented"] == "3.2"
