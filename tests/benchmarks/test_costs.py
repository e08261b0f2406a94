"""The measures of cost compare like with like."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import build_cost
import pytest
import yaml
from build_cost import Cost, derived, kinds, run, table
from scale import header, line, make, measure


@pytest.mark.parametrize(
    ("text", "plugins"),
    [
        ("site_name: A\n", {"search": {}, "roaming": {}}),
        ("plugins:\n  search: {}\n  tags: {}\n", {"roaming": {}}),
        ("plugins:\n- search\n- tags: {a: 1}\n", {"search": {}, "tags": {"a": 1}, "roaming": {}}),
        ("hooks: !!python/name:os.getcwd\nplugins: [search]\n", {"search": {}, "roaming": {}}),
    ],
)
def test_a_derived_configuration_only_adds(text: str, plugins: dict[str, object], tmp_path: Path) -> None:
    """The project's plugins stay, however they are written; one plugin is added, and the site goes elsewhere."""
    config = tmp_path / "mkdocs.yml"
    config.write_text(text)

    found = yaml.safe_load(derived(config, {"roaming": {}}, tmp_path / "site"))

    assert found == {"INHERIT": "mkdocs.yml", "site_dir": str(tmp_path / "site"), "plugins": plugins}
    assert "plugins" not in yaml.safe_load(derived(config, {}, tmp_path / "site"))


def test_ratios_are_of_the_same_environment() -> None:
    """A build in the peer's environment is compared with that environment's own build."""
    builds = kinds("ours", "theirs")
    seconds = {"without": 2.0, "roaming, no cache": 3.0, "roaming, cached": 2.2}
    seconds |= {"peer's venv, without": 4.0, "mkdocs-llmstxt": 10.0}
    costs = {name: [Cost(value, 100), Cost(value, 100), Cost(90, 100)] for name, value in seconds.items()}

    rows = list(table(builds, costs))[1:]

    assert [row.split(" s")[1].split()[0] for row in rows] == ["1.00", "1.50", "1.10", "1.00", "2.50"]


MEASURING = """
import os
import subprocess
import sys
from pathlib import Path
from build_cost import run
for code in ("pass", "a = bytearray(250_000_000); sum(range(8_000_000))"):
    cost = run([sys.executable, "-c", code], Path.cwd())
    print(cost.seconds, cost.megabytes)
"""


def test_a_run_counts_user_time_and_memory_of_the_child(tmp_path: Path) -> None:
    """What the child used is counted, not what this process did; a failing build ends the run with its output."""
    environment = {**os.environ, "PYTHONPATH": str(Path(build_cost.__file__).parent)}
    command = [sys.executable, "-c", MEASURING]  # a process of its own: a child's peak is at least its starter's size
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    idle, busy = (tuple(map(float, line.split())) for line in done.stdout.splitlines())

    assert busy[0] > idle[0]
    assert busy[1] > idle[1] + 100
    with pytest.raises(SystemExit, match="the reason"):
        run([sys.executable, "-c", "raise ValueError('the reason')"], tmp_path)


def test_a_made_project_has_the_pages_and_sections_that_were_asked_for(tmp_path: Path) -> None:
    """The pages are the same each time, and each has its sections."""
    make(tmp_path / "a", 60, 4)
    make(tmp_path / "b", 60, 4)

    pages = sorted((tmp_path / "a" / "docs").rglob("*.md"))
    again = sorted((tmp_path / "b" / "docs").rglob("*.md"))

    assert len(pages) == 60
    assert [page.read_text() for page in pages] == [page.read_text() for page in again]
    assert {page.read_text().count("\n#") for page in pages} == {3}


@pytest.mark.slow
def test_a_row_is_measured_by_building() -> None:
    """A small project is built three times, and every column has a figure."""
    row = measure(3, 3)

    assert row.pages == 3
    assert row.cold.seconds > 0
    assert row.largest_llms_txt > 100
    assert row.load_ratio > 1
    assert len(line(row)) == len(header())
