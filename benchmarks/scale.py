"""How the plugin's cost grows with a site: N pages are made, and built with and without it.

    python benchmarks/scale.py [500 1000 2000 5000] [--sections 6] [--runs 2]

Pages have as many sections as asked, of prose, lists, code and links to other pages; the nav has groups of 50. The
theme writes the page's text and nothing else: one that writes the whole nav on every page costs the square of their
number, and would hide what the plugin costs. Builds are subprocesses, in turn, and of several the fastest counts; CPU
is their user time, memory their largest resident size (`wait4`). The plugin's share is what the build with it takes
more. `load` is the time that a reader needs for the manifest, as a ratio to `json.loads` of the same bytes, best of
five each.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from build_cost import CACHE, Cost, run

WORDS = (
    *("harbour", "tide", "gauge", "station", "level", "pump", "valve", "sensor", "radar", "buoy", "anchor", "mast"),
    *("keel", "lamp", "signal", "relay", "port", "channel", "reading", "drain", "window", "alarm", "battery", "cable"),
)
GROUP = 50
THEME = """<!doctype html>
<html><head><title>{{ page.title }}</title><link rel="canonical" href="{{ page.canonical_url }}"></head>
<body><main>{{ page.content }}</main></body></html>
"""
CONFIGS = ("plain", "cold", "warm")


@dataclass(frozen=True, slots=True)
class Row:
    """What was measured for a number of pages."""

    pages: int
    plain: Cost
    cold: Cost
    warm: Cost
    largest_llms_txt: int
    manifest_bytes: int
    load_ratio: float


def make(folder: Path, pages: int, sections: int) -> None:
    """Write a MkDocs project."""
    draw = random.Random(pages)
    docs = folder / "docs"
    for at in range(pages):
        file = docs / _path(at)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(_page(at, pages, sections, draw), "utf-8")
    nav = [
        {f"Group {group}": [_path(at) for at in range(start, min(start + GROUP, pages))]}
        for group, start in enumerate(range(0, pages, GROUP))
    ]
    (folder / "theme").mkdir()
    (folder / "theme" / "main.html").write_text(THEME, "utf-8")
    theme = {"name": None, "custom_dir": "theme"}
    config = {"site_name": "Scale", "site_url": "https://docs.example/", "theme": theme, "nav": nav}
    for name, plugins in (("plain", ["search"]), ("roaming", ["search", "roaming"])):
        text = json.dumps({**config, "plugins": plugins, "site_dir": str(folder / name)})  # JSON is YAML
        (folder / f"{name}.yml").write_text(text, "utf-8")


def measure(pages: int, sections: int, runs: int = 1) -> Row:
    """Make a project of as many pages and build it."""
    with tempfile.TemporaryDirectory(prefix="scale-") as name:
        folder = Path(name)
        make(folder, pages, sections)
        rounds = [[_build(folder, config) for config in CONFIGS] for _ in range(runs)]
        plain, cold, warm = (min(costs, key=lambda cost: cost.seconds) for costs in zip(*rounds, strict=True))
        site = folder / "roaming"
        manifest = site / "roaming" / "manifest.json"
        return Row(
            pages,
            plain,
            cold,
            warm,
            max(len(file.read_text("utf-8")) for file in _lists(site)),
            manifest.stat().st_size,
            _load_ratio(manifest),
        )


def header() -> str:
    """Give the names of the columns."""
    return (
        f"{'pages':>6}{'plain':>9}{'cold':>9}{'share':>9}{'ratio':>7}{'warm':>9}{'ratio':>7}{'per page':>10}"
        f"{'RSS plain':>11}{'RSS':>8}{'ratio':>7}{'llms.txt':>10}{'manifest':>11}{'load':>7}"
    )


def line(row: Row) -> str:
    """Give a row as text."""
    share = row.cold.seconds - row.plain.seconds
    return (
        f"{row.pages:6}{row.plain.seconds:7.1f} s{row.cold.seconds:7.1f} s{share:7.1f} s"
        f"{row.cold.seconds / row.plain.seconds:7.2f}{row.warm.seconds:7.1f} s"
        f"{row.warm.seconds / row.plain.seconds:7.2f}{1000 * share / row.pages:7.1f} ms"
        f"{row.plain.megabytes:8.0f} MB{row.cold.megabytes:5.0f} MB{row.cold.megabytes / row.plain.megabytes:7.2f}"
        f"{row.largest_llms_txt:10}{row.manifest_bytes / 1e6:8.1f} MB{row.load_ratio:7.1f}"
    )


def _build(folder: Path, config: str) -> Cost:
    if config == "cold":
        shutil.rmtree(folder / CACHE, ignore_errors=True)
    name = "plain" if config == "plain" else "roaming"
    return run([sys.executable, "-P", "-m", "mkdocs", "build", "-q", "-f", f"{name}.yml"], folder)


def _lists(site: Path) -> Iterator[Path]:
    yield site / "llms.txt"
    yield from site.glob("roaming/nav/*/llms*.txt")
    yield from site.glob("llms-[0-9]*.txt")


def _load_ratio(manifest: Path) -> float:
    """Measure loading in a process of its own: this one stays small, since a child's peak counts from its parent's."""
    command = [sys.executable, "-c", _LOADING, str(manifest)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


_LOADING = """
import json, sys, time
from pathlib import Path
from mkdocs_roaming.manifest.io import load

def best(call):
    times = []
    for _ in range(5):
        started = time.process_time()
        call()
        times.append(time.process_time() - started)
    return min(times)

data = Path(sys.argv[1]).read_bytes()
print(best(lambda: load(data, where="manifest.json")) / best(lambda: json.loads(data)))
"""


def _path(at: int) -> str:
    return f"group-{at // GROUP}/page-{at}.md"


def _page(at: int, pages: int, sections: int, draw: random.Random) -> str:
    def some(count: int) -> str:
        return " ".join(draw.choice(WORDS) for _ in range(count))

    lines = [f"# {some(2).capitalize()} {at}", "", f"{some(40).capitalize()}.", ""]
    for section in range(1, sections):
        other = _path(draw.randrange(pages))
        lines += [f"{'##' if section % 3 else '###'} {some(3).capitalize()} {section}", ""]
        lines += [f"{some(45).capitalize()}, see [{some(2)}](../{other}) and `{some(1)}`.", ""]
        lines += [f"- {some(8)}", f"- **{some(1)}** {some(8)}", ""]
        lines += ["```yaml", f"{some(1)}:", f"  {some(1)}: {section}", "```", ""]
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", type=int, nargs="*", default=[500, 1000, 2000, 5000])
    parser.add_argument("--sections", type=int, default=6, help="sections of a page, its title's included")
    parser.add_argument("--runs", type=int, default=2, help="of which the fastest counts")
    options = parser.parse_args(arguments)
    print(header())
    for pages in options.pages:
        print(line(measure(pages, options.sections, options.runs)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
