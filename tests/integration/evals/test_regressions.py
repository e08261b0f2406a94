"""`roaming eval --baseline` on rebuilt versions of the sample site."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from kettle import KETTLE

from mkdocs_roaming.cli import FAULTS_FOUND
from mkdocs_roaming.library.targets import open_library

from .conftest import Roaming

pytestmark = pytest.mark.slow

SITE = Path(__file__).parents[3] / "sample_site"
RENAMED = "guide/stations/kelp/configure.md#growth-on-the-membrane"
HIDDEN = "guide/stations/heron/configure.md#mounting"
UNCHANGED = "reference/cli.md#ebb-drain"


@pytest.fixture(scope="module")
def degraded(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample site with one heading renamed to “Misc” and one section moved behind 150 siblings."""
    folder = tmp_path_factory.mktemp("degraded")
    for name in ("docs", "src", "snippets"):
        shutil.copytree(SITE / name, folder / name)
    shutil.copy(SITE / "descriptions.json", folder)
    _replace_once(folder / "docs/guide/stations/kelp/configure.md", "## Growth on the membrane", "## Misc")
    page = folder / "docs/guide/stations/heron/configure.md"
    text = page.read_text("utf-8")
    start = text.index("## Mounting")
    end = text.index("\n## ", start)
    filler = "Nobody knows what it is good for. " * 14
    siblings = "".join(
        f"\n## Minimum clearance of a radar above the highest tide {at}\n\n{filler}It has number {at}.\n"
        for at in range(150)
    )
    page.write_text(text[:start] + text[end:].rstrip() + "\n" + siblings + "\n" + text[start:end], "utf-8")
    config = (SITE / "mkdocs.yml").read_text("utf-8")
    previous = f"  - roaming:\n      previous: {sample / 'roaming/manifest.json'}\n"
    (folder / "mkdocs.yml").write_text(config.replace("  - roaming:\n", previous), "utf-8")
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"}
    command = [sys.executable, "-m", "mkdocs", "build", "-q", "-f", str(folder / "mkdocs.yml")]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return folder / "site"


def _replace_once(file: Path, old: str, new: str) -> None:
    text = file.read_text("utf-8")
    assert text.count(old) == 1
    file.write_text(text.replace(old, new), "utf-8")


@pytest.fixture
def asked(sample: Path, tmp_path: Path) -> Path:
    """A question file that names sections by their ids in the original site."""
    sections = open_library(sample).sections
    lines = ["questions:"]
    for ask, address in (
        ("growth of mussels on the membrane", RENAMED),
        ("minimum clearance of the radar above the highest tide", HIDDEN),
        ("--drain-window default", UNCHANGED),
    ):
        ref = sections.resolve(address)
        assert ref is not None
        lines += [f"  - ask: {ask}", f"    sections: ['{ref.id}']"]
    file = tmp_path / "asked.yml"
    file.write_text("\n".join([*lines, "  - ask: is there an app for my fridge", "    answerable: false", ""]), "utf-8")
    return file


def test_eval_degraded_site_exits_with_regressions(
    sample: Path, degraded: Path, asked: Path, tmp_path: Path, roaming: Roaming
) -> None:
    systems = ("--compare", "search,offline")
    file = tmp_path / "baseline.json"
    file.write_text(roaming("eval", sample, asked, *systems, "--json").stdout, "utf-8")
    assert roaming("eval", sample, asked, *systems, "--baseline", file).exit_code == 0
    result = roaming("eval", degraded, asked, *systems, "--baseline", file, "--json")
    assert result.exit_code == FAULTS_FOUND
    found = {(one["ask"], one["mode"]): one for one in json.loads(result.stdout)["regressions"]}
    question = "minimum clearance of the radar above the highest tide"
    assert set(found) == {(question, "search"), (question, "offline")}
    shown = roaming("eval", degraded, asked, *systems, "--baseline", file).stdout
    assert f"Regressions\n  {question}\n      search: not reached, " in shown


def test_eval_improved_site_exits_without_regressions(
    sample: Path, degraded: Path, asked: Path, tmp_path: Path, roaming: Roaming
) -> None:
    systems = ("--compare", "search,offline")
    file = tmp_path / "baseline.json"
    file.write_text(roaming("eval", degraded, asked, *systems, "--json").stdout, "utf-8")
    assert roaming("eval", sample, asked, *systems, "--baseline", file).exit_code == 0


def test_eval_removed_anchor_is_an_error_with_line(degraded: Path, roaming: Roaming, tmp_path: Path) -> None:
    file = tmp_path / "questions.yml"
    file.write_text(f"questions:\n  - ask: growth on the membrane\n    sections:\n      - {RENAMED}\n", "utf-8")
    result = roaming("eval", degraded, file, "--compare", "search")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"roaming: {file}, question 1: Ebbkeeper handbook has no section '{RENAMED}'")


def test_eval_baseline_of_other_systems_is_refused_before_asking(
    questions: Path, tmp_path: Path, roaming: Roaming
) -> None:
    file = tmp_path / "b.json"
    file.write_text(roaming("eval", KETTLE, questions, "--compare", "search", "--json").stdout, "utf-8")
    result = roaming("eval", KETTLE, questions, "--compare", "search,offline", "--baseline", file)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "has no result of offline for" in result.stderr
