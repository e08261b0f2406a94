"""Measure how the cost of the plugin grows with the number of pages.

    python benchmarks/scale.py [500 1000 2000 5000] [--sections 6] [--runs 2]

Projects of N generated pages are built without the plugin, with it and no cache, and with a cache. Each page has
sections of prose, lists, code and links to other pages; the nav has groups of 50. The theme renders only the content
of the page, because a theme with the complete nav on every page costs the square of their number. Builds are
alternating subprocesses, of which the fastest counts; CPU is user time, memory the peak resident size (`wait4`).
`plugin` is the difference of the build without a cache, `per page` that difference divided by the number of pages.
`load` is the time to load the manifest as a multiple of `json.loads` of the same bytes, best of five each.
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
CONFIGS = ("plain", "no cache", "cached")


@dataclass(frozen=True, slots=True)
class Row:
    """Measurements for a number of pages."""

    pages: int
    plain: Cost
    uncached: Cost
    cached: Cost
    largest_llms_txt: int
    manifest_bytes: int
    load_ratio: float


def write_project(folder: Path, pages: int, sections: int) -> None:
    """Write a MkDocs project of generated pages."""
    rng = random.Random(pages)
    docs = folder / "docs"
    for number in range(pages):
        file = docs / _path(number)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(_page(number, pages, sections, rng), "utf-8")
    nav = [
        {f"Group {group}": [_path(number) for number in range(start, min(start + GROUP, pages))]}
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
    """Generate a project, build it, and return the best of `runs` builds of each kind."""
    with tempfile.TemporaryDirectory(prefix="scale-") as name:
        folder = Path(name)
        write_project(folder, pages, sections)
        rounds = [[_build(folder, config) for config in CONFIGS] for _ in range(runs)]
        plain, uncached, cached = (min(costs, key=lambda cost: cost.seconds) for costs in zip(*rounds, strict=True))
        site = folder / "roaming"
        manifest = site / "roaming" / "manifest.json"
        return Row(
            pages,
            plain,
            uncached,
            cached,
            max(len(file.read_text("utf-8")) for file in _find_llms_files(site)),
            manifest.stat().st_size,
            _load_ratio(manifest),
        )


def format_header() -> str:
    """Return the names of the columns."""
    return (
        f"{'pages':>6}{'plain':>9}{'no cache':>10}{'plugin':>9}{'ratio':>7}{'cached':>9}{'ratio':>7}{'per page':>10}"
        f"{'memory without':>15}{'with':>8}{'ratio':>7}{'llms.txt':>10}{'manifest':>11}{'load':>7}"
    )


def format_row(row: Row) -> str:
    """Return a row as text."""
    difference = row.uncached.seconds - row.plain.seconds
    return (
        f"{row.pages:6}{row.plain.seconds:7.1f} s{row.uncached.seconds:8.1f} s{difference:7.1f} s"
        f"{row.uncached.seconds / row.plain.seconds:7.2f}{row.cached.seconds:7.1f} s"
        f"{row.cached.seconds / row.plain.seconds:7.2f}{1000 * difference / row.pages:7.1f} ms"
        f"{row.plain.megabytes:12.0f} MB{row.uncached.megabytes:5.0f} MB{row.uncached.megabytes / row.plain.megabytes:7.2f}"
        f"{row.largest_llms_txt:10}{row.manifest_bytes / 1e6:8.1f} MB{row.load_ratio:7.1f}"
    )


def _build(folder: Path, config: str) -> Cost:
    if config == "no cache":
        shutil.rmtree(folder / CACHE, ignore_errors=True)
    name = "plain" if config == "plain" else "roaming"
    return run([sys.executable, "-P", "-m", "mkdocs", "build", "-q", "-f", f"{name}.yml"], folder)


def _find_llms_files(site: Path) -> Iterator[Path]:
    yield site / "llms.txt"
    yield from site.glob("roaming/nav/*/llms*.txt")
    yield from site.glob("llms-[0-9]*.txt")


def _load_ratio(manifest: Path) -> float:
    """Measure loading in a subprocess: the peak of a child is at least the size of its parent."""
    command = [sys.executable, "-c", _LOAD_PROGRAM, str(manifest)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


_LOAD_PROGRAM = """
import json, sys, time
from pathlib import Path
from mkdocs_roaming.manifest.io import load_manifest

def best(call):
    times = []
    for _ in range(5):
        started = time.process_time()
        call()
        times.append(time.process_time() - started)
    return min(times)

data = Path(sys.argv[1]).read_bytes()
print(best(lambda: load_manifest(data, where="manifest.json")) / best(lambda: json.loads(data)))
"""


def _path(number: int) -> str:
    return f"group-{number // GROUP}/page-{number}.md"


def _page(number: int, pages: int, sections: int, rng: random.Random) -> str:
    def words(count: int) -> str:
        return " ".join(rng.choice(WORDS) for _ in range(count))

    lines = [f"# {words(2).capitalize()} {number}", "", f"{words(40).capitalize()}.", ""]
    for section in range(1, sections):
        other = _path(rng.randrange(pages))
        lines += [f"{'##' if section % 3 else '###'} {words(3).capitalize()} {section}", ""]
        lines += [f"{words(45).capitalize()}, see [{words(2)}](../{other}) and `{words(1)}`.", ""]
        lines += [f"- {words(8)}", f"- **{words(1)}** {words(8)}", ""]
        lines += ["```yaml", f"{words(1)}:", f"  {words(1)}: {section}", "```", ""]
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "pages",
        type=int,
        nargs="*",
        default=[500, 1000, 2000, 5000],
        help="Numbers of pages (default: 500 1000 2000 5000).",
    )
    parser.add_argument("--sections", type=int, default=6, help="Sections per page, including the title (default: 6).")
    parser.add_argument(
        "--runs", type=int, default=2, help="Builds of each kind, of which the fastest counts (default: 2)."
    )
    options = parser.parse_args(arguments)
    print(format_header())
    for pages in options.pages:
        print(format_row(measure(pages, options.sections, options.runs)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
