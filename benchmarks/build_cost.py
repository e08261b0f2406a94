"""What publishing costs a build of a MkDocs project: CPU time and memory, as ratios to the build without it.

    python benchmarks/build_cost.py CONFIG [--runs 5] [--python PYTHON] [--peer-python PYTHON]

CONFIG is the project's mkdocs.yml, without this plugin in it. Each round builds the project in subprocesses, one after
the other: without the plugin, with it and no cache, with it and the cache of the build before, and, where --peer-python
names the Python of an environment that has mkdocs-llmstxt beside the project's other plugins, without and with that.
Rounds alternate the builds, so that a change of the machine's mood meets all of them; a first round is not counted.

CPU is user time of the build and its children, memory its largest resident size, as the kernel counts them (`wait4`).
Printed are medians. Ratios are to the build without a plugin in the same environment: the median of the rounds' own
ratios, since builds of one round met the same machine, and the ratio of the fastest builds, which met the quietest one.

The configurations are written beside CONFIG for the time of the run, since everything in it is relative to its folder.
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
"""mkdocs-llmstxt, told to convert every page and to write llms-full.txt, as this plugin does."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one build took."""

    seconds: float
    """User CPU."""
    megabytes: float


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of build: how it is called, what it adds to the project's plugins, what it is compared with."""

    name: str
    plugins: Mapping[str, Any]
    python: str
    without: str
    """The kind of build that it is compared with."""
    fresh: bool = False
    """Whether the cache is deleted before."""


def kinds(python: str, peer: str | None) -> list[Kind]:
    """Give the kinds of build, in the order of a round."""
    found = [
        Kind("without", {}, python, "without"),
        Kind("roaming, no cache", {"roaming": {}}, python, "without", fresh=True),
        Kind("roaming, cached", {"roaming": {}}, python, "without"),
    ]
    if peer:
        found.append(Kind("peer's venv, without", {}, peer, "peer's venv, without"))
        found.append(Kind("mkdocs-llmstxt", PEER, peer, "peer's venv, without"))
    return found


def derived(config: Path, plugins: Mapping[str, Any], site_dir: Path) -> str:
    """Give a configuration that adds plugins to another one, and builds elsewhere."""
    lines = [f"INHERIT: {json.dumps(config.name)}", f"site_dir: {json.dumps(str(site_dir))}"]
    if plugins:
        there = yaml.load(config.read_text("utf-8"), _Plain).get("plugins")
        if isinstance(there, list):  # inheritance would replace it: write all of it, as a mapping
            given = {name: options for entry in there for name, options in _entry(entry)}
        else:
            given = {} if isinstance(there, dict) or _inherits(config) else {"search": {}}
        lines.append(f"plugins: {json.dumps({**given, **plugins})}")
    return "\n".join(lines) + "\n"


def run(command: Sequence[str], cwd: Path) -> Cost:
    """Run a command, and give what it took; raises with its output if it fails.

    A child's peak is at least the size of the process that starts it, so this one has to stay small.
    """
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"}
    environment["PATH"] = f"{Path(command[0]).parent}{os.pathsep}{environment.get('PATH', '')}"
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, cwd=cwd, stdout=output, stderr=output, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            output.seek(0)
            raise SystemExit(f"{' '.join(command)}: status {process.returncode}\n{output.read()[-3000:].decode()}")
    return Cost(usage.ru_utime, usage.ru_maxrss / (1024 if sys.platform != "darwin" else 1024 * 1024))


def measure(config: Path, builds: Sequence[Kind], runs: int) -> dict[str, list[Cost]]:
    """Build in turn, as often as asked; what the first round leaves in the projects' own caches is not counted."""
    found: dict[str, list[Cost]] = {kind.name: [] for kind in builds}
    with _configs(config, builds) as configs:
        for at in range(runs + 1):
            for kind in builds:
                if kind.fresh:
                    shutil.rmtree(config.parent / CACHE, ignore_errors=True)
                # -P: a project's folder may hold a package called mkdocs
                command = [kind.python, "-P", "-m", "mkdocs", "build", "-q", "-f", configs[kind.name]]
                cost = run(command, config.parent)
                if at:
                    found[kind.name].append(cost)
                    print(f"round {at}: {kind.name}: {cost.seconds:.2f} s, {cost.megabytes:.0f} MB", file=sys.stderr)
    return found


def table(builds: Sequence[Kind], costs: Mapping[str, Sequence[Cost]]) -> Iterator[str]:
    """Give the medians, and their ratios to the build without the plugin."""
    yield f"{'':22}{'user CPU':>12}{'ratio':>8}{'of bests':>10}{'spread':>16}{'peak RSS':>12}{'ratio':>8}"
    for kind in builds:
        seconds, size = [cost.seconds for cost in costs[kind.name]], [cost.megabytes for cost in costs[kind.name]]
        base = costs[kind.without]
        cpu = median(one / other.seconds for one, other in zip(seconds, base, strict=True))
        best = min(seconds) / min(cost.seconds for cost in base)
        memory = median(one / other.megabytes for one, other in zip(size, base, strict=True))
        spread = f"{min(seconds):.2f}-{max(seconds):.2f}"
        yield (
            f"{kind.name:22}{median(seconds):10.2f} s{cpu:8.2f}{best:10.2f}{spread:>16}"
            f"{median(size):9.0f} MB{memory:8.2f}"
        )


CACHE = ".cache/roaming"
"""Where the plugin keeps what it converted, beside mkdocs.yml."""


class _Plain(yaml.SafeLoader):
    """Reads YAML with tags that only MkDocs knows; they play no part in the list of plugins."""


_Plain.add_multi_constructor("", lambda loader, suffix, node: None)


def _entry(entry: Any) -> Iterator[tuple[str, Any]]:
    yield from entry.items() if isinstance(entry, dict) else [(str(entry), {})]


def _inherits(config: Path) -> bool:
    return "INHERIT" in yaml.load(config.read_text("utf-8"), _Plain)


@contextmanager
def _configs(config: Path, builds: Sequence[Kind]) -> Iterator[dict[str, str]]:
    """Write the configurations, and take them away in the end."""
    written: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="build-cost-") as folder:
        try:
            for at, kind in enumerate(builds):
                file = config.parent / f"mkdocs.cost-{os.getpid()}-{at}.yml"
                file.write_text(derived(config, kind.plugins, Path(folder) / str(at)), "utf-8")
                written[kind.name] = file.name
            yield written
        finally:
            for name in written.values():
                (config.parent / name).unlink(missing_ok=True)


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument(
        "--python", default=sys.executable, help="of the environment with this plugin and the project's"
    )
    parser.add_argument("--peer-python", metavar="PYTHON", help="of an environment with mkdocs-llmstxt")
    options = parser.parse_args(arguments)
    builds = kinds(options.python, options.peer_python)
    costs = measure(options.config.absolute(), builds, options.runs)
    print("\n".join(table(builds, costs)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
