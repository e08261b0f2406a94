"""The CPU time that a file of descriptions adds to `roaming index`: `descriptions.py --cost SITE_DIR`.

The pages of a built site are copied until they have as many sections with text as the file has entries, whose texts are those of
`descriptions_of_sites`. Each round publishes a fresh copy of that site without the file and with it, with an empty
cache and with that of the previous round; the order of the two alternates. CPU is user and system time, reported by the
kernel, in `/dev/shm` if there is one. Printed are the medians of both, and the median of the ratios of each round.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from itertools import chain, cycle
from pathlib import Path
from statistics import median

from build_cost import run

from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.manifest.descriptions import (
    Descriptions,
    PageTexts,
    SectionTexts,
    digest_texts,
    page_digest,
    read_descriptions,
    render_descriptions,
    text_digest,
)

TEXTS = Path(__file__).with_name("descriptions_of_sites")
_CANONICAL = re.compile(rb"<link[^>]*rel=[\"']?canonical[^>]*>")


ENTRIES = 2_000


def measure_cost(site: Path, runs: int) -> None:
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as temporary:
        folder = Path(temporary)
        sections = copy_pages(site, folder, ENTRIES)
        file = folder / "descriptions.json"
        file.write_bytes(render_descriptions(make_descriptions(folder / "published", ENTRIES)))
        print(f"{sections} sections with text, {ENTRIES} entries, {file.stat().st_size / 1e6:.1f} MB")
        measure(folder, file, runs)


def copy_pages(site: Path, folder: Path, entries: int) -> int:
    """Write the source and publish it until it has enough sections with text; return their number."""
    pages = [path for path in site.rglob("*.html") if path.name != "404.html"]
    for number in range(1, 100):
        for page in pages:
            target = folder / "source" / f"copy{number}" / page.relative_to(site)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(_CANONICAL.sub(b"", page.read_bytes()))
        publish(folder, "published", [])
        count = sum(bool(section.body) for section in open_library(folder / "published").manifest.sections())
        if count >= entries:
            break
    return count


def make_descriptions(site: Path, entries: int) -> Descriptions:
    """Return entries for the first sections of a site, and for its pages."""
    library = open_library(site)
    files = (read_descriptions(file) for file in sorted(TEXTS.glob("*.json")))
    known = cycle([one for file in files for page in file.pages.values() for one in page.sections.values()])
    pages: dict[str, PageTexts] = {}
    for page in library.manifest.pages:
        sections = {}
        ids = [entry.id for entry in page.sections if entry.body][:entries]
        for section in filter(None, map(library.sections.get, ids)):
            texts, digest = next(known), text_digest(library.text(section))
            written = digest_texts(texts.about, *texts.asks)
            sections[section.id] = SectionTexts(section.section.title, digest, texts.about, texts.asks, written)
        entries -= len(sections)
        about = next(known).about
        pages[page.path] = PageTexts(page.title, page_digest(page), about, digest_texts(about), sections)
    return Descriptions(pages=pages)


def publish(folder: Path, name: str, options: list[str]) -> float:
    """Publish a fresh copy of the source; return the CPU time in seconds."""
    shutil.rmtree(folder / name, ignore_errors=True)
    shutil.copytree(folder / "source", folder / name)
    arguments = ["index", str(folder / name), "--url", "https://docs.example/", "--name", "Docs", *options]
    return run([sys.executable, "-P", "-m", "mkdocs_roaming", *arguments], folder).seconds


def measure(folder: Path, file: Path, runs: int) -> None:
    described = {"without": [], "with": ["--descriptions", str(file)]}
    costs: dict[tuple[str, str], list[float]] = {}
    for number in range(runs + 1):
        for name, given in sorted(described.items(), reverse=number % 2 == 0):
            cache = folder / f"cache-{name}"
            shutil.rmtree(cache, ignore_errors=True)
            for kind in ("empty cache", "cached"):
                seconds = publish(folder, "site", ["--cache", str(cache), *given])
                if number:  # the first round writes bytecode
                    costs.setdefault((kind, name), []).append(seconds)
    for kind in ("empty cache", "cached"):
        without, with_file = costs[kind, "without"], costs[kind, "with"]
        ratio = median(one / other for one, other in zip(with_file, without, strict=True))
        spread = f"{min(chain(without, with_file)):.2f}-{max(chain(without, with_file)):.2f}"
        print(
            f"{kind}: without {median(without):.2f} s, with {median(with_file):.2f} s, ratio {ratio:.3f}, all {spread}"
        )
