"""Configurations, ratios and measured processes of the cost benchmarks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import build_cost
import pytest
import yaml
from build_cost import Cost, derive_config, format_table, make_build_kinds, run
from scale import format_header, format_row, measure, write_project


@pytest.mark.parametrize(
    ("text", "plugins"),
    [
        ("site_name: A\n", {"search": {}, "roaming": {}}),
        ("plugins:\n  search: {}\n  tags: {}\n", {"roaming": {}}),
        ("plugins:\n- search\n- tags: {a: 1}\n", {"search": {}, "tags": {"a": 1}, "roaming": {}}),
        ("hooks: !!python/name:os.getcwd\nplugins: [search]\n", {"search": {}, "roaming": {}}),
    ],
)
def test_derive_config_adds_plugin_to_any_notation(text: str, plugins: dict[str, object], tmp_path: Path) -> None:
    """Plugins of the project are preserved as a list or mapping; one plugin and the site folder are added."""
    config = tmp_path / "mkdocs.yml"
    config.write_text(text)

    derived = yaml.safe_load(derive_config(config, {"roaming": {}}, tmp_path / "site"))

    assert derived == {"INHERIT": "mkdocs.yml", "site_dir": str(tmp_path / "site"), "plugins": plugins}
    assert "plugins" not in yaml.safe_load(derive_config(config, {}, tmp_path / "site"))


def test_format_table_compares_within_one_environment() -> None:
    """The baseline of a build in the peer environment is the plain build there."""
    builds = make_build_kinds("python", "peer-python")
    seconds = {"plain": 2.0, "no cache": 3.0, "cached": 2.2}
    seconds |= {"plain, peer environment": 4.0, "mkdocs-llmstxt": 10.0}
    costs = {name: [Cost(value, 100), Cost(value, 100), Cost(90, 100)] for name, value in seconds.items()}

    rows = list(format_table(builds, costs))[1:]

    assert [row.split(" s")[1].split()[0] for row in rows] == ["1.00", "1.50", "1.10", "1.00", "2.50"]


MEASURE_PROGRAM = """
import os
import subprocess
import sys
from pathlib import Path
from build_cost import run
for code in ("pass", "a = bytearray(250_000_000); sum(range(8_000_000))"):
    cost = run([sys.executable, "-c", code], Path.cwd())
    print(cost.seconds, cost.megabytes)
"""


def test_run_measures_user_time_and_memory_of_the_child(tmp_path: Path) -> None:
    """Only the child is measured; a failing build exits with its output."""
    environment = {**os.environ, "PYTHONPATH": str(Path(build_cost.__file__).parent)}
    command = [
        sys.executable,
        "-c",
        MEASURE_PROGRAM,
    ]  # in a subprocess, because the peak of a child is at least the size of its parent
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    idle, busy = (tuple(map(float, line.split())) for line in done.stdout.splitlines())

    assert busy[0] > idle[0]
    assert busy[1] > idle[1] + 100
    with pytest.raises(SystemExit, match="the reason"):
        run([sys.executable, "-c", "raise ValueError('the reason')"], tmp_path)


def test_write_project_is_reproducible(tmp_path: Path) -> None:
    """Two runs write equal pages with the requested number of sections."""
    write_project(tmp_path / "a", 60, 4)
    write_project(tmp_path / "b", 60, 4)

    pages = sorted((tmp_path / "a" / "docs").rglob("*.md"))
    repeated = sorted((tmp_path / "b" / "docs").rglob("*.md"))

    assert len(pages) == 60
    assert [page.read_text() for page in pages] == [page.read_text() for page in repeated]
    assert {page.read_text().count("\n#") for page in pages} == {3}


@pytest.mark.slow
def test_measure_fills_every_column() -> None:
    """A small project is built three times and every column has a value."""
    row = measure(3, 3)

    assert row.pages == 3
    assert row.uncached.seconds > 0
    assert row.largest_llms_txt > 100
    assert row.load_ratio > 1
    assert len(format_row(row)) == len(format_header())
