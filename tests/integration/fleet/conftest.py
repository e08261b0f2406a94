"""Fixtures: many sites on loopback addresses, served by one server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from fleet_servers.docs_web import LoopbackServer, serving

from mkdocs_roaming.cli import main

TOPICS = [
    "anchor", "barge", "canal", "dredge", "estuary", "fender", "gauge", "harbour", "inlet",
    "jetty", "keel", "lantern", "mooring", "night", "otter", "pilot", "quay", "rudder",
    "sluice", "tide", "umbrella", "vessel", "weir", "xebec", "yawl", "zephyr",
]  # fmt: skip


class Sites(LoopbackServer):
    """A server of many sites, one below each path of each host; `revision` changes their texts."""

    def __init__(self) -> None:
        super().__init__()
        self.pages, self.revision = 3, dict[str, int]()

    def url(self, at: int) -> str:
        """Return the URL of a site; two sites share a host."""
        host = at // 2
        return f"http://127.0.{1 + host // 200}.{1 + host % 200}:{self.port}/{'ab'[at % 2]}/"

    def listing(self, file: Path, count: int) -> Path:
        """Write a file of sites."""
        file.write_text("".join(f"{self.url(at)} site-{at:03}\n" for at in range(count)), "utf-8")
        return file

    def body(self, host: str, path: str) -> bytes | None:
        """Return a page of a site."""
        name, _, rest = path.strip("/").partition("/")
        if name not in ("a", "b") or (rest and not rest.startswith("p")):
            return None
        topic = TOPICS[(sum(map(int, host.split("."))) * 2 + "ab".index(name)) % len(TOPICS)]
        revision = self.revision.get(f"{host}/{name}", 0)
        title = f"{topic.title()} {host.rpartition('.')[2]}{name}" + (f", part {rest[1:]}" if rest else "")
        links = "".join(f'<a href="/{name}/p{at}/">part {at}</a> ' for at in range(self.pages - 1))
        html = (
            f"<!doctype html><html lang=en><head><title>{title}</title></head><body><main><h1 id=top>{title}</h1>"
            f"<p>How the {topic} of {host}{name} is kept in order, revision {revision}. {rest} {links}</p>"
            f"<h2 id=care>Care of the {topic}</h2><p>Every {topic} is looked at twice a year, and {rest or 'first'} "
            "it is cleaned with warm water, then dried, then oiled, by two people who know it well.</p></main></body>"
        )
        return html.encode()


@pytest.fixture
def sites() -> Iterator[Sites]:
    """Provide the server of many sites."""
    with serving(Sites()) as found:
        yield found


FAST = ("--allow-private", "--delay", "0", "--connections", "1", "--timeout", "20")


@pytest.fixture
def roaming() -> Callable[..., Result]:
    """Run a command in this process."""

    def run(*arguments: object) -> Result:
        return CliRunner().invoke(main, [str(argument) for argument in arguments])

    return run


@pytest.fixture
def fast_options() -> tuple[str, ...]:
    """Return the options for fast crawls of local sites."""
    return FAST


@pytest.fixture
def published() -> Callable[[Path], dict[str, bytes]]:
    """Return the function that reads every published file of a store."""

    def read(store: Path) -> dict[str, bytes]:
        return {
            file.relative_to(store).as_posix(): file.read_bytes()
            for file in sorted(store.rglob("*"))
            if file.is_file() and not {".roaming", ".fleet"} & set(file.parts)
        }

    return read
