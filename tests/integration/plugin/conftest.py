"""Small projects that MkDocs itself builds, alone or with other plugins."""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from mkdocs.commands.build import build
from mkdocs.config.defaults import MkDocsConfig

from mkdocs_roaming.library.library import open_library
from mkdocs_roaming.library.validate import validate_site
from mkdocs_roaming.manifest.io import load_manifest
from mkdocs_roaming.manifest.models import Manifest

URL = "https://docs.example/sub/"


@dataclass
class Built:
    """What a build wrote and said."""

    folder: Path
    log: list[tuple[int, str]]

    @property
    def manifest(self) -> Manifest:
        return load_manifest((self.folder / "roaming/manifest.json").read_bytes())

    @property
    def faults(self) -> tuple[str, ...]:
        return validate_site(open_library(self.folder)).faults

    def text(self, path: str) -> str:
        return (self.folder / path).read_text("utf-8")

    def said(self, level: int = logging.INFO) -> list[str]:
        return [line for heard, line in self.log if heard >= level and line.startswith("roaming: ")]

    def paths(self) -> list[str]:
        return [page.path for page in self.manifest.pages]

    def below(self, folder: str) -> Built:
        return Built(self.folder / folder, self.log)

    def holding(self, word: str) -> list[str]:
        """Give the files of ours that hold a word."""
        ours = [file for file in self.folder.rglob("*") if file.suffix in (".md", ".txt", ".json")]
        found = [file.relative_to(self.folder).as_posix() for file in ours if word in file.read_text("utf-8")]
        return [name for name in found if not name.startswith("search/")]


class Project:
    """A project's folder: its sources, its mkdocs.yml."""

    def __init__(self, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
        self.folder = folder
        self._caplog = caplog

    def write(self, sources: dict[str, str], **config: Any) -> Path:
        """Write the sources and mkdocs.yml; what was there before is gone."""
        docs = self.folder / "docs"
        for file in docs.rglob("*.md"):
            file.unlink()
        for name, text in sources.items():
            (docs / name).parent.mkdir(parents=True, exist_ok=True)
            (docs / name).write_text(text, "utf-8")
        settings = {"site_name": "Docs", "site_url": URL, "plugins": ["roaming"], **config}
        (self.folder / "mkdocs.yml").write_text(yaml.safe_dump(settings, sort_keys=False))
        return self.folder / "mkdocs.yml"

    def build(self, site: str = "site", *, dirty: bool = False) -> Built:
        """Build what was written."""
        file = self.folder / "mkdocs.yml"
        loaded = MkDocsConfig(str(file))
        with file.open("rb") as stream:
            loaded.load_file(stream)
        loaded.load_dict({"site_dir": str(self.folder / site), "docs_dir": str(self.folder / "docs")})
        errors, _ = loaded.validate()
        assert not errors, errors
        self._caplog.clear()
        with self._caplog.at_level(logging.INFO):
            build(loaded, dirty=dirty)
        return Built(self.folder / site, [(record.levelno, record.getMessage()) for record in self._caplog.records])

    def build_apart(self, command: str = "mkdocs", site: str = "site", **environment: str) -> Built:
        """Build what was written in a process of its own: some plugins keep state, or end the process."""
        done = subprocess.run(
            [sys.executable, "-m", command, "build", "-d", site],
            cwd=self.folder,
            env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true", **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        lines = [line.partition("-") for line in done.stderr.splitlines()]
        levels = logging.getLevelNamesMapping()
        return Built(self.folder / site, [(levels.get(name.strip(), 0), said.strip()) for name, _, said in lines])

    def __call__(
        self, sources: dict[str, str], *, plugin: dict[str, Any] | None = None, site: str = "site", **config: Any
    ) -> Built:
        """Write and build; `plugin` are our options."""
        if plugin:
            config["plugins"] = [*config.get("plugins", ()), {"roaming": plugin}]
        self.write(sources, **config)
        return self.build(site)


@dataclass
class Server:
    """A running `mkdocs serve`."""

    url: str
    log: Path

    def get(self, path: str) -> tuple[str, str]:
        """Give a file's text and type."""
        with urllib.request.urlopen(self.url + path, timeout=30) as answer:
            return answer.read().decode("utf-8"), answer.headers["Content-Type"]

    def wait(self, text: str, times: int = 1) -> None:
        """Wait until a text has been logged that often."""
        end = time.monotonic() + 60
        while self.log.read_text("utf-8").count(text) < times:
            assert time.monotonic() < end, self.log.read_text("utf-8")
            time.sleep(0.05)

    def said(self) -> list[str]:
        return [line for line in self.log.read_text("utf-8").splitlines() if "roaming: " in line]


Serving = Callable[..., AbstractContextManager[Server]]


@pytest.fixture
def mkdocs(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Project:
    """Builds a project of these source files with the plugin, and gives what came out."""
    return Project(tmp_path, caplog)


@pytest.fixture
def built() -> type[Built]:
    """Give what reads a folder that a build wrote."""
    return Built


@pytest.fixture
def free_port() -> Callable[[], int]:
    """Gives ports that nobody listens on."""

    def port() -> int:
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            return int(found.getsockname()[1])

    return port


@pytest.fixture
def serving(free_port: Callable[[], int]) -> Serving:
    """Serves a project's folder as its author does; with a `command` of the same family, options, environment."""

    @contextmanager
    def served(project: Path, *options: str, command: str = "mkdocs", **environment: str) -> Iterator[Server]:
        port, log = free_port(), project / "serve.log"
        line = [sys.executable, "-m", command, "serve", "-a", f"127.0.0.1:{port}", *options]
        quiet = {"NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"}
        with log.open("w") as stream:
            process = subprocess.Popen(
                line, cwd=project, stdout=stream, stderr=stream, env={**os.environ, **quiet, **environment}
            )
        server = Server(f"http://127.0.0.1:{port}/sub/", log)
        try:
            server.wait("Serving on")
            yield server
        finally:
            process.terminate()
            process.wait(30)

    return served
