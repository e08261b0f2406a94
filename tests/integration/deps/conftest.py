"""Fixtures: sites of documentation, and projects whose packages they document."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from fleet_servers.docs_web import DocsWeb, serving

from mkdocs_roaming.cli import main


@pytest.fixture
def web() -> Iterator[DocsWeb]:
    """Provide a web of documentation sites."""
    with serving(DocsWeb()) as found:
        yield found


@dataclass(frozen=True)
class DepsProject:
    """A project with pinned packages, and the data folder of its user."""

    root: Path
    environ: dict[str, str]

    @property
    def data(self) -> Path:
        return Path(self.environ["ROAMING_DATA_DIR"]) / "deps"

    def use(self, **versions: str) -> DepsProject:
        """Pin packages."""
        pins = "".join(f"{name}=={version}\n" for name, version in versions.items())
        (self.root / "requirements.txt").write_text(pins, "utf-8")
        return self

    def place(self, **urls: str) -> DepsProject:
        """Name the sites of packages in the settings."""
        lines = "".join(f"{name} = {json.dumps(url)}\n" for name, url in urls.items())
        (self.root / "pyproject.toml").write_text(f"[tool.roaming.deps.sites]\n{lines}", "utf-8")
        return self

    def install(self, name: str, version: str, **urls: str) -> DepsProject:
        """Install a package without code, whose metadata name URLs, in the project's environment."""
        folder = self.root / f".venv/lib/python3.11/site-packages/{name}-{version}.dist-info"
        folder.mkdir(parents=True)
        links = "".join(f"Project-URL: {label}, {url}\n" for label, url in urls.items())
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{links}", "utf-8")
        return self

    def run(self, *arguments: object, code: int = 0) -> Result:
        """Run `roaming deps` in this process."""
        command, *more = map(str, arguments)
        fast = ("--allow-private", "--delay", "0") if command == "sync" else ()
        result = CliRunner(env=self.environ).invoke(main, ["deps", command, str(self.root), *fast, *more])
        assert result.exit_code == code, result.output
        return result

    def sync(self, *more: object) -> dict[str, Any]:
        """Synchronize, and return the packages by name."""
        found = json.loads(self.run("sync", "--json", *more).stdout)
        return {docs["info"]["name"]: docs for docs in found["packages"]}

    def list(self) -> dict[str, Any]:
        """Return the listed packages by name."""
        result = CliRunner(env=self.environ).invoke(main, ["deps", "list", str(self.root), "--json"])
        assert result.exit_code in (0, 4), result.output
        return {docs["info"]["name"]: docs for docs in json.loads(result.stdout)["packages"]}

    def read(self, docs: dict[str, Any]) -> str:
        """Return the texts of a package's documentation."""
        folder = self.data / "store" / docs["place"]
        return "".join(file.read_text("utf-8") for file in sorted(folder.rglob("*.md")))


@pytest.fixture
def make_project(tmp_path: Path) -> Callable[..., DepsProject]:
    """Return the function that makes projects of one user, who has no package index."""

    def make(name: str = "project") -> DepsProject:
        root = tmp_path / name
        root.mkdir()
        environ = {"ROAMING_DATA_DIR": str(tmp_path / "data"), "ROAMING_CACHE_DIR": "", "PIP_NO_INDEX": "1"}
        return DepsProject(root, environ)

    return make
