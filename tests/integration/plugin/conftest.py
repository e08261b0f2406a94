"""Small projects that MkDocs builds or serves, alone or with other plugins."""

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

from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.library.validate import validate_site
from mkdocs_roaming.manifest.io import load_manifest
from mkdocs_roaming.manifest.models import Manifest

URL = "https://docs.example/sub/"


@dataclass
class Built:
    """The output and the log of a build."""

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

    def messages(self, level: int = logging.INFO) -> list[str]:
        return [line for line_level, line in self.log if line_level >= level and line.startswith("roaming: ")]

    def paths(self) -> list[str]:
        return [page.path for page in self.manifest.pages]

    def below(self, folder: str) -> Built:
        return Built(self.folder / folder, self.log)

    def files_with(self, word: str) -> list[str]:
        """Return the published files that contain a word."""
        published = [file for file in self.folder.rglob("*") if file.suffix in (".md", ".txt", ".json")]
        names = [file.relative_to(self.folder).as_posix() for file in published if word in file.read_text("utf-8")]
        return [name for name in names if not name.startswith("search/")]


class Project:
    """A project folder with sources and mkdocs.yml."""

    def __init__(self, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
        self.folder = folder
        self._caplog = caplog

    def write(self, sources: dict[str, str], **config: Any) -> Path:
        """Replace the sources and mkdocs.yml."""
        docs = self.folder / "docs"
        for file in docs.rglob("*.md"):
            file.unlink()
        for name, text in sources.items():
            (docs / name).parent.mkdir(parents=True, exist_ok=True)
            (docs / name).write_text(text, "utf-8")
        settings = {"site_name": "Docs", "site_url": URL, "plugins": ["roaming"], **config}
        (self.folder / "mkdocs.yml").write_text(yaml.safe_dump(settings, sort_keys=False))
        return self.folder / "mkdocs.yml"

    def build(self, site: str = "site", *, dirty: bool = False, level: int = logging.INFO) -> Built:
        """Build the project."""
        file = self.folder / "mkdocs.yml"
        loaded = MkDocsConfig(str(file))
        with file.open("rb") as stream:
            loaded.load_file(stream)
        loaded.load_dict({"site_dir": str(self.folder / site), "docs_dir": str(self.folder / "docs")})
        errors, _ = loaded.validate()
        assert not errors, errors
        self._caplog.clear()
        with self._caplog.at_level(level):
            build(loaded, dirty=dirty)
        return Built(self.folder / site, [(record.levelno, record.getMessage()) for record in self._caplog.records])

    def build_in_subprocess(self, command: str = "mkdocs", site: str = "site", **environment: str) -> Built:
        """Build in a subprocess: some plugins have global state, or exit."""
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
        return Built(self.folder / site, [(levels.get(name.strip(), 0), message.strip()) for name, _, message in lines])

    def __call__(
        self, sources: dict[str, str], *, plugin: dict[str, Any] | None = None, site: str = "site", **config: Any
    ) -> Built:
        """Write and build a project; `plugin` are options of this plugin."""
        if plugin:
            config["plugins"] = [*config.get("plugins", ()), {"roaming": plugin}]
        self.write(sources, **config)
        return self.build(site)


@dataclass
class Server:
    """A running `mkdocs serve`."""

    url: str
    log: Path
    process: subprocess.Popen[bytes]

    def get(self, path: str) -> tuple[str, str]:
        """Return a file's text and content type."""
        with urllib.request.urlopen(self.url + path, timeout=30) as response:
            return response.read().decode("utf-8"), response.headers["Content-Type"]

    def wait(self, text: str, times: int = 1) -> None:
        """Wait until a text has been logged `times` times."""
        end = time.monotonic() + 60
        while self.log.read_text("utf-8").count(text) < times:
            assert time.monotonic() < end, self.log.read_text("utf-8")
            time.sleep(0.05)

    def messages(self) -> list[str]:
        return [line for line in self.log.read_text("utf-8").splitlines() if "roaming: " in line]


Serving = Callable[..., AbstractContextManager[Server]]


@pytest.fixture
def mkdocs(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Project:
    """Builds projects with the plugin."""
    return Project(tmp_path, caplog)


@pytest.fixture
def serving() -> Serving:
    """Serves a project with `mkdocs serve`, or with another `command`."""

    @contextmanager
    def start(project: Path, *options: str, command: str = "mkdocs", **environment: str) -> Iterator[Server]:
        log = project / "serve.log"
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        line = [sys.executable, "-m", command, "serve", "-a", f"127.0.0.1:{port}", *options]
        quiet = {"NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"}
        with log.open("w") as stream:
            process = subprocess.Popen(
                line, cwd=project, stdout=stream, stderr=stream, env={**os.environ, **quiet, **environment}
            )
        server = Server(f"http://127.0.0.1:{port}/sub/", log, process)
        try:
            server.wait("Serving on")
            yield server
        finally:
            process.terminate()
            process.wait(30)

    return start
