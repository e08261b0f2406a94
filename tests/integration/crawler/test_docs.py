"""The examples of docs/guides/crawl.md. UPDATE=1 rewrites them."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from reference import load_commands

from mkdocs_roaming.cli import main
from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_manifest

FILE = Path(__file__).parents[3] / "docs/guides/crawl.md"
CONSOLE = re.compile(r"^```console\n(\$ roaming crawl .*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = "https://docs.ebbkeeper.example/"
FAST = ("--allow-private", "--delay", "0", "--workers", "0", "--connections", "1")


def _run(command: str, own: str) -> str:
    """Return standard output and standard error, with the example's URL instead of this server's."""
    words = [word.replace(SHOWN, own) for word in shlex.split(command)[1:]]
    here = [*FAST, "--no-manifest"] if SHOWN in command else []
    result = CliRunner().invoke(main, [*words, *here])
    shown = f"{result.stdout}{result.stderr}".replace(own, SHOWN)
    without_progress = re.sub(r"^Crawling: .*\n", "", shown, flags=re.MULTILINE)  # of a busy machine
    return re.sub(r"[\d.]+ s;", "1.2 s;", without_progress)


@pytest.mark.slow
def test_crawl_examples_in_docs_match_output(
    site: Any, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    site.folder(sample, url=load_manifest((sample / MANIFEST_PATH).read_bytes()).site.url)
    (tmp_path / "ebbkeeper-site").symlink_to(sample)
    text = FILE.read_text("utf-8")
    blocks = [block for block in CONSOLE.findall(text) if "127.0.0.1" not in block.partition("\n")[0]]
    assert len(blocks) == 5
    for block in blocks:
        command = block.partition("\n")[0].removeprefix("$ ")
        shown = f"$ {command}\n{_run(command, site.url)}"
        if os.environ.get("UPDATE"):
            text = text.replace(block, shown)
        else:
            assert block == shown
    FILE.write_text(text, "utf-8")


def test_docs_name_every_crawl_option() -> None:
    text = FILE.read_text("utf-8")
    fleet = (FILE.parent / "many-sites.md").read_text("utf-8")
    options = [one for one in load_commands()["crawl"].params if one.opts[0].startswith("-")]
    known = {option for one in options for option in (*one.opts, *one.secondary_opts) if option.startswith("--")}
    settled = {"--output", "--name", "--description", "--workers"}  # documented by --help alone
    settled |= {"--search", "--config"}  # documented with semantic search
    others = {"--scrapy", "--model"}  # options of the benchmark and of `roaming describe`
    named = set(re.findall(r"(?<![\w-])--[a-z][\w-]+", text))
    many = {"--many", "--at-once", "--refresh-older-than"}
    assert [option for option in many if option not in fleet] == []
    assert [one.name for one in options if {*one.opts, *one.secondary_opts}.isdisjoint(settled | many | named)] == []
    assert named - known - others == set()
