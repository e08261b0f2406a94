"""mike: each deployed version is a site with its own URL."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from serving import serve_static

from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.publish.versions import publish_versions

from .conftest import Built

if TYPE_CHECKING:
    from .conftest import Project

pytestmark = pytest.mark.slow

URL = "https://docs.example/sub/"
HOME = "# Welcome\n\nSee [setup](setup.md#keys).\n"
SETUP = "# Setup\n\n## Keys\n\nTurn the key.\n"


@pytest.fixture
def deploy(mkdocs: Project, tmp_path: Path) -> Any:
    """Deploys versions with mike in a new repository, and returns a checkout of the branch."""
    identity = {f"GIT_{who}_{what}": "x@docs.example" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    quiet = {"NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true", "GIT_CONFIG_GLOBAL": os.devnull}
    tools = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}

    def run(*command: str) -> None:
        environment = {**os.environ, **identity, **quiet, **tools}
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    def deployed(
        versions: list[list[str]],
        *,
        sources: dict[str, str] | None = None,
        commands: tuple[str, ...] = (),
        **config: Any,
    ) -> Path:
        mkdocs.write(sources or {"index.md": HOME, "setup.md": SETUP}, **config)
        run("git", "init", "-q")
        run("git", "add", "docs", "mkdocs.yml")
        run("git", "commit", "-q", "-m", "Begin")
        for version in versions:
            run(str(Path(sys.executable).with_name("mike")), "deploy", *version)
        for command in commands:
            run(*command.split())
        run("git", "worktree", "add", "-q", "out", "gh-pages")
        return tmp_path / "out"

    return deployed


def test_each_deployed_version_is_a_valid_site(deploy: Any) -> None:
    out = deploy([["1.0"], ["--alias-type", "copy", "2.0", "latest"]])
    for folder, version in (("1.0", "1.0"), ("2.0", "2.0"), ("latest", "2.0")):
        site = Built(out / folder, [])
        assert site.faults == ()
        assert (site.manifest.site.url, site.manifest.site.version) == (f"{URL}{version}/", version)
        assert f"[setup]({URL}{version}/setup/index.md#keys)" in site.text("index.md")
        assert f"- [Setup]({URL}{version}/setup/index.md)" in site.text("llms.txt")
        assert 'href="../llms.txt" data-roaming' in site.text("setup/index.html")


def test_canonical_version_does_not_change_published_urls(deploy: Any) -> None:
    plugins = ["search", {"mike": {"canonical_version": "latest"}}, "roaming"]
    out = deploy([["1.0", "latest"]], plugins=plugins)
    site = Built(out / "1.0", [])
    assert f'rel="canonical" href="{URL}latest/setup/"' in site.text("setup/index.html")
    assert site.manifest.site.url == f"{URL}1.0/"
    assert f"({URL}1.0/setup/index.md#keys)" in site.text("index.md")
    assert site.faults == ()


def test_build_without_mike_deploy_has_no_version(mkdocs: Project) -> None:
    plugins = [{"mike": {"canonical_version": "latest"}}, "roaming"]
    site = mkdocs({"index.md": HOME, "setup.md": SETUP}, plugins=plugins).manifest.site
    assert (site.url, site.version) == (URL, None)


@pytest.mark.parametrize("alias_type", ["symlink", "redirect"])
def test_root_list_and_root_url_lead_to_default_version(deploy: Any, alias_type: str) -> None:
    """The links of the root llms.txt exist; the root of the site opens the default version, as in a browser."""
    out = deploy(
        [["1.0"], ["--alias-type", alias_type, "2.0", "latest"], ["3.0-dev"]],
        commands=("mike set-default latest",),
    )
    assert publish_versions(out).written
    text = (out / "llms.txt").read_text("utf-8")
    assert f"- [2.0 (latest)]({URL}2.0/llms.txt): default version, manifest {URL}2.0/roaming/manifest.json\n" in text
    with serve_static(out, "https://docs.example/") as address:
        for url in re.findall(rf"{URL}[^\s<)]+\.(?:md|txt|json)", text):
            with urllib.request.urlopen(url.replace(URL, address)) as response:
                assert response.read()
        for root in (address, f"{address}llms.txt", f"{address}latest/"):
            assert open_library(root).manifest.site.version == "2.0"
