"""Measure CPU time and memory of MkDocs builds with and without publishing.

    python benchmarks/build_cost.py CONFIG [--runs 5] [--peer-python PYTHON]

CONFIG is the project's mkdocs.yml without this plugin. Each round builds the project in subprocesses: without the
plugin, with it and no cache, and with it and the cache of the previous build. With --peer-python, the Python of an
environment with mkdocs-llmstxt and the project's other plugins, it is also built there without and with
mkdocs-llmstxt. Rounds alternate the builds, so that changes of the load of the machine affect all of them; the first
round is not counted. Every build writes into an empty folder below TMPDIR.

CPU is user and system time of the build and its children, memory its peak resident size, as reported by the kernel
(`wait4`). On ext4 the system time of creating files depends on how many were deleted before; a TMPDIR in memory
(/dev/shm) gives steadier figures.
The table contains the CPU time of the fastest build and the median of the memory. Ratios are relative to the build without
a plugin in the same environment: the ratio of the fastest builds, and the median of the ratios of each round.

The configurations are written next to CONFIG during the run, because their paths are relative to that folder.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import yaml

PEER = {"llmstxt": {"full_output": "llms-full.txt", "sections": {"Documentation": ["*.md"]}}}
"""Options with which mkdocs-llmstxt converts every page and writes llms-full.txt, like this plugin."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of one build."""

    seconds: float
    """User and system CPU time."""
    megabytes: float


@dataclass(frozen=True, slots=True)
class BuildKind:
    """A kind of build."""

    name: str
    plugins: Mapping[str, Any]
    """Plugins in addition to those of the project."""
    python: str
    baseline: str
    """Name of the kind that it is compared with."""
    clears_cache: bool = False
    """Whether the cache is deleted before the build."""


def make_build_kinds(peer: str | None) -> list[BuildKind]:
    """Return the kinds of build in the order of a round."""
    result = [
        BuildKind("plain", {}, sys.executable, "plain"),
        BuildKind("no cache", {"roaming": {}}, sys.executable, "plain", clears_cache=True),
        BuildKind("cached", {"roaming": {}}, sys.executable, "plain"),
    ]
    if peer:
        result.append(BuildKind("plain, peer environment", {}, peer, "plain, peer environment"))
        result.append(BuildKind("mkdocs-llmstxt", PEER, peer, "plain, peer environment"))
    return result


def derive_config(config: Path, plugins: Mapping[str, Any], site_dir: Path) -> str:
    """Return a configuration that inherits another one, with additional plugins and another site folder."""
    lines = [f"INHERIT: {json.dumps(config.name)}", f"site_dir: {json.dumps(str(site_dir))}"]
    if plugins:
        configured = yaml.load(config.read_text("utf-8"), _TolerantLoader).get("plugins")
        if isinstance(configured, list):  # inheritance would replace a list, so write the complete mapping
            base_plugins = {name: options for entry in configured for name, options in _iter_plugins(entry)}
        else:
            base_plugins = {} if isinstance(configured, dict) or _inherits(config) else {"search": {}}
        lines.append(f"plugins: {json.dumps({**base_plugins, **plugins})}")
    return "\n".join(lines) + "\n"


def run(command: Sequence[str], cwd: Path) -> Cost:
    """Run a command and return its cost; exit with its output if it fails.

    The peak of a child is at least the size of its parent, so this process has to be small.
    """
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"}
    environment["PATH"] = f"{Path(command[0]).parent}{os.pathsep}{environment.get('PATH', '')}"
    # Installed packages have bytecode. A checkout has it after the first round, unless Python may not write it.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, cwd=cwd, stdout=output, stderr=output, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            output.seek(0)
            raise SystemExit(f"{' '.join(command)}: exit status {process.returncode}\n{output.read()[-3000:].decode()}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / (1024 if sys.platform != "darwin" else 1024 * 1024))


def measure(config: Path, builds: Sequence[BuildKind], runs: int) -> dict[str, list[Cost]]:
    """Build in alternation and return the costs by kind; the first round fills the caches and is not counted."""
    costs: dict[str, list[Cost]] = {kind.name: [] for kind in builds}
    with _write_configs(config, builds) as (configs, folder):
        for number in range(runs + 1):
            for kind in builds:
                shutil.rmtree(folder / "site", ignore_errors=True)
                if kind.clears_cache:
                    shutil.rmtree(config.parent / CACHE, ignore_errors=True)
                # -P: the folder of a project may contain a package named mkdocs
                command = [kind.python, "-P", "-m", "mkdocs", "build", "-q", "-f", configs[kind.name]]
                cost = run(command, config.parent)
                if number:
                    costs[kind.name].append(cost)
                    print(
                        f"round {number}: {kind.name}: {cost.seconds:.2f} s, {cost.megabytes:.0f} MB", file=sys.stderr
                    )
    return costs


def format_table(builds: Sequence[BuildKind], costs: Mapping[str, Sequence[Cost]]) -> Iterator[str]:
    """Yield the lines of the table, with ratios to the build without the plugin."""
    yield f"{'':26}{'fastest CPU':>12}{'ratio':>8}{'peak RSS':>12}{'ratio':>8}"
    for kind in builds:
        own, base = costs[kind.name], costs[kind.baseline]
        fastest = min(cost.seconds for cost in own)
        cpu = fastest / min(cost.seconds for cost in base)
        size = median(cost.megabytes for cost in own)
        memory = median(cost.megabytes / plain.megabytes for cost, plain in zip(own, base, strict=True))
        yield f"{kind.name:26}{fastest:10.2f} s{cpu:8.2f}{size:9.0f} MB{memory:8.2f}"


CACHE = ".cache/roaming"
"""Folder of the plugin's cache, next to mkdocs.yml."""


class _TolerantLoader(yaml.SafeLoader):
    """Ignores YAML tags that only MkDocs knows; they are irrelevant for the list of plugins."""


_TolerantLoader.add_multi_constructor("", lambda loader, suffix, node: None)


def _iter_plugins(entry: Any) -> Iterator[tuple[str, Any]]:
    yield from entry.items() if isinstance(entry, dict) else [(str(entry), {})]


def _inherits(config: Path) -> bool:
    return "INHERIT" in yaml.load(config.read_text("utf-8"), _TolerantLoader)


@contextmanager
def _write_configs(config: Path, builds: Sequence[BuildKind]) -> Iterator[tuple[dict[str, str], Path]]:
    """Write the configurations, yield their file names by kind and the folder of the site, and delete them."""
    written: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="build-cost-") as folder:
        try:
            for at, kind in enumerate(builds):
                file = config.parent / f"mkdocs.cost-{os.getpid()}-{at}.yml"
                file.write_text(derive_config(config, kind.plugins, Path(folder) / "site"), "utf-8")
                written[kind.name] = file.name
            yield written, Path(folder)
        finally:
            for name in written.values():
                (config.parent / name).unlink(missing_ok=True)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", type=Path, help="mkdocs.yml of the project.")
    parser.add_argument("--runs", type=int, default=5, help="Number of counted rounds (default: 5).")
    parser.add_argument("--peer-python", metavar="PYTHON", help="Python of an environment with mkdocs-llmstxt.")
    options = parser.parse_args()
    builds = make_build_kinds(options.peer_python)
    costs = measure(options.config.absolute(), builds, options.runs)
    print("\n".join(format_table(builds, costs)))


if __name__ == "__main__":
    main()
