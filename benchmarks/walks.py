"""Count the files and functions of the product that a page, a question and a crawled address pass.

    python benchmarks/walks.py [--list]

page      `mkdocs build` of sample_site, without a cache
question  `POST /v1/ask` with a scripted model, to an endpoint that has answered another question before
address   `roaming crawl` of the HTML of sample_site, with its worker process

A function counts once for a journey; classes, modules and comprehensions do not. --list prints the functions by file.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections import defaultdict
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx2
from endpoint.servers import start_server

ROOT = Path(__file__).parents[1]
PACKAGES = str(ROOT / "mkdocs_roaming"), str(ROOT / "crawler")
RECORDER = f"""
import os, signal, sys, threading
seen, out = set(), open(os.environ["WALK_FILE"], "a", buffering=1)
def record(frame, event, argument):
    code = frame.f_code
    if event == "call" and code not in seen and code.co_filename.startswith({PACKAGES!r}):
        seen.add(code)
        if code.co_flags & 2 and not code.co_name.startswith("<"):
            print(code.co_filename, code.co_qualname, file=out)
def forget(*_):
    seen.clear()
    out.truncate(0)
signal.signal(signal.SIGUSR1, forget)
threading.setprofile(record)
sys.setprofile(record)
"""
"""Runs in every process at its start, and records functions (flag 2: code with local names); SIGUSR1 forgets them."""


class HtmlHandler(SimpleHTTPRequestHandler):
    """Serves the HTML of a folder, and nothing else of it."""

    def send_head(self):  # type: ignore[no-untyped-def]
        """Send 404 for files that are no HTML."""
        if self.path.endswith(("/", ".html")):
            return super().send_head()
        self.send_error(404)
        return None

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def walk_page(site: Path) -> None:
    """Build the sample site without a cache of converted pages."""
    shutil.rmtree(ROOT / "sample_site/.cache/roaming", ignore_errors=True)
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "-qf", ROOT / "sample_site/mkdocs.yml", "-d", site], check=True
    )


def walk_question(site: Path) -> None:
    """Ask two questions, and record the second."""
    with start_server("endpoint", site, 0) as (port, process):
        httpx2.post(url := f"http://127.0.0.1:{port}/v1/ask", json={"question": "How is Lamplight installed?"})
        process.send_signal(signal.SIGUSR1)
        assert "data-status" in httpx2.post(url, json={"question": "Which file configures it?"}).text


def walk_address(site: Path) -> None:
    """Crawl the built site."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), lambda *rest: HtmlHandler(*rest, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    program = Path(sys.executable).with_name("roaming")
    crawl: list[str | Path] = [
        program,
        "crawl",
        f"http://127.0.0.1:{server.server_port}/",
        "-o",
        site.with_name("out"),
        "--delay",
        "0",
    ]
    subprocess.run([*crawl, "--allow-private"], check=True, capture_output=True)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="Print the functions by file.")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "sitecustomize.py").write_text(RECORDER)
        os.environ["PYTHONPATH"] = folder
        for walk in (walk_page, walk_question, walk_address):
            walked = Path(folder) / walk.__name__
            os.environ["WALK_FILE"] = str(walked)
            walk(Path(folder) / "site")
            functions = defaultdict(set)
            for line in walked.read_text().splitlines():
                file, name = line.removeprefix(f"{ROOT}/").removeprefix("crawler/").rsplit(" ", 1)
                functions[file].add(name)
            print(f"{walk.__name__:<14} {len(functions):>4} files {sum(map(len, functions.values())):>5} functions")
            for file, names in sorted(functions.items()) if options.list else ():
                print(f"  {file} {len(names)}: {' '.join(sorted(names))}")


if __name__ == "__main__":
    main()
