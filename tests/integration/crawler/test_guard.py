"""Private networks: no request reaches them, whatever a host is called or resolves to."""

from __future__ import annotations

import socket
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import httpcore2
import pytest

from mkdocs_roaming._guard import PrivateAddressError, named_endpoints
from roaming_crawler.config import Politeness
from roaming_crawler.fetch import FetchError, PublicNetworkBackend, Request, WebFetcher

TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))

TABLE = Path(__file__).parents[2] / "golden" / "crawler" / "addresses.txt"
CASES = [line.split() for line in TABLE.read_text("utf-8").splitlines() if line and not line.startswith("#")]


class RecordingBackend(httpcore2.AsyncNetworkBackend):
    """Records connections and refuses them, or redirects them to `to`."""

    def __init__(self, to: int | None = None) -> None:
        self.hosts: list[str] = []
        self._to = to

    async def connect_tcp(self, host: str, port: int, *more: Any, **options: Any) -> httpcore2.AsyncNetworkStream:
        self.hosts.append(host)
        if self._to is None:
            raise httpcore2.ConnectError("nobody there")
        return await httpcore2.AnyIOBackend().connect_tcp("127.0.0.1", self._to)


class ChangingResolver:
    """A resolver whose results change from one look-up to the next."""

    def __init__(self, **answers: Sequence[Sequence[str]]) -> None:
        self._answers = {name.replace("_", "."): iter(found) for name, found in answers.items()}
        self.requests: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.requests.append(host)
        return next(self._answers[host])


async def _connected(host: str, names: ChangingResolver | None = None) -> list[str]:
    wire = RecordingBackend()
    with pytest.raises(httpcore2.ConnectError):
        await PublicNetworkBackend(names or ChangingResolver(), wire).connect_tcp(host, 80)
    return wire.hosts


@pytest.mark.parametrize(("host", "verdict"), CASES, ids=[host for host, _ in CASES])
def test_guard_recognizes_every_spelling_of_private_address(host: str, verdict: str) -> None:
    if verdict == "refused":
        with pytest.raises(PrivateAddressError, match=r"is (not a public|an IPv4) address"):
            anyio.run(_connected, host)
    else:
        assert anyio.run(_connected, host) == [verdict]


@pytest.mark.parametrize("host", TABLES["guard_blocks_local_server"])
def test_guard_blocks_local_server(host: str) -> None:
    heard: list[object] = []
    listening = socket.create_server(("127.0.0.1", 0))
    listening.setblocking(False)  # connections are in the queue by now
    port = listening.getsockname()[1]
    to = f"http://{host}:{port}/" if "#" not in host else f"http://{host.replace('#', f':{port}/#')}/"

    async def ask() -> None:
        async with WebFetcher(Politeness(delay=0, tries=1, seconds=3)) as fetcher:
            await fetcher.get(Request(to))

    with listening:
        with pytest.raises(FetchError):
            anyio.run(ask)
        with suppress(BlockingIOError):
            heard.append(listening.accept())
    assert heard == []


@pytest.mark.parametrize("found", [["10.0.0.1"], ["8.8.8.8", "127.0.0.1"], ["2606:4700::1", "::ffff:127.0.0.1"]])
def test_guard_refuses_host_with_one_private_address(found: list[str]) -> None:
    wire = RecordingBackend()
    with pytest.raises(PrivateAddressError):
        anyio.run(PublicNetworkBackend(ChangingResolver(docs_example=[found]), wire).connect_tcp, "docs.example", 443)
    assert wire.hosts == []


def test_guard_prevents_dns_rebinding() -> None:
    names = ChangingResolver(docs_example=[["8.8.8.8", "8.8.4.4"], ["127.0.0.1"]])
    assert anyio.run(_connected, "docs.example", names) == ["8.8.8.8", "8.8.4.4"]
    assert names.requests == ["docs.example"]


@pytest.mark.parametrize("to", TABLES["guard_checks_redirects"])
def test_guard_checks_redirects(to: str, site: Any) -> None:
    site.redirect("/", to)
    wire = RecordingBackend(site.server_address[1])
    names = ChangingResolver(docs_example=[["8.8.8.8"]], inside_example=[["192.168.0.1"]])

    async def ask() -> None:
        fetcher = WebFetcher(Politeness(delay=0, tries=1), backend=PublicNetworkBackend(names, wire))
        async with fetcher:
            await fetcher.get(Request("http://docs.example/"))

    with pytest.raises(FetchError, match=r"not a public address|IPv4-mapped"):
        anyio.run(ask)
    assert wire.hosts == ["8.8.8.8"]
    assert site.paths() == ["/"]


def test_crawl_requires_allow_private_for_local_host(site: Any, run_crawl: Any, tmp_path: Path) -> None:
    site.page("/", "Home")
    for where, host in ((site.url, "127.0.0.1"), (site.url.replace("127.0.0.1", "localhost"), "localhost: 127.0.0.1")):
        with pytest.raises(FetchError) as refused:
            run_crawl(where, tmp_path / host[:9], allow_private=False)
        message = "is not a public address; for a host of your own, give its URL with --allow-private"
        assert str(refused.value) == f"{host} {message}"
    assert site.requests == []


@pytest.mark.parametrize(("url", "host", "port"), TABLES["private_address_is_allowed_for_named_host_and_port_only"])
def test_private_address_is_allowed_for_named_host_and_port_only(url: str, host: str, port: int) -> None:
    async def connect(host: str, port: int) -> list[str]:
        wire = RecordingBackend()
        names = ChangingResolver(**{host.replace(".", "_"): [["10.0.0.1"]]})
        with pytest.raises((httpcore2.ConnectError, PrivateAddressError)):
            await PublicNetworkBackend(names, wire, named_endpoints(url)).connect_tcp(host, port)
        return wire.hosts

    assert len(anyio.run(connect, host, port)) == 1
    assert len(anyio.run(connect, host, 443)) == (port in (80, 443))  # HTTP may lead to HTTPS
    assert anyio.run(connect, host, port + 1) == []
    assert anyio.run(connect, "10.0.0.1", port) == []


@pytest.mark.parametrize("way", ["redirect", "robots", "sitemap", "llms", "links"])
def test_crawl_of_private_host_reaches_no_other_private_port(way: str, site: Any, run_crawl: Any) -> None:
    inside = socket.create_server(("127.0.0.1", 0))
    inside.settimeout(0.05)
    own = f"http://127.0.0.1:{inside.getsockname()[1]}/"
    site.page("/", "Home", links=("/a/",))
    if way == "redirect":
        site.redirect("/a/", own)
    elif way == "robots":
        site.put("/robots.txt", f"Sitemap: {own}sitemap.xml\n", kind="text/plain")
    elif way == "sitemap":
        site.put("/sitemap.xml", f"<sitemapindex><sitemap><loc>{own}s.xml</loc></sitemap></sitemapindex>")
    elif way == "links":
        site.page("/", f'Home <img src="{own}a.png">', links=(own, f"{own}b"))
    else:
        site.put("/llms.txt", f"# S\n\n- [A]({site.url})\n- [L]({own}llms.txt)\n", kind="text/plain")
    with inside:
        assert run_crawl(site.url).paths == [""]
        with pytest.raises(TimeoutError):
            inside.accept()


def test_fetcher_ignores_proxies_in_environment(site: Any, run_crawl: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/")
    site.page("/", "Home")
    assert run_crawl(site.url).paths == [""]
