"""Hosts of static sites with the function of `roaming function`, in Node with objects of the documented form."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mkdocs_roaming.cli.function import render_function
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.manifest.io import MANIFEST_PATH, dump_manifest
from mkdocs_roaming.publish.elements.finder_index import iter_finder_files

NODE = shutil.which("node")
EDGE_HOSTS = ("cloudflare", "workers", "netlify", "vercel")


def write_files(library: Library, folder: Path) -> Path:
    """Write the files of a site that the function reads, and return the folder."""
    files = {MANIFEST_PATH: dump_manifest(library.manifest).encode()}
    files |= {page.markdown: library.file(page.markdown) for page in library.manifest.pages}
    for path, data in (files | dict(iter_finder_files(library.manifest, library.text))).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    return folder


@contextmanager
def run_edge(host: str, site: Path, folder: Path) -> Iterator[str]:
    """Serve a folder through the function of a host, and return the URL."""
    if NODE is None:
        pytest.skip("needs node")
    name = "cloudflare" if host == "workers" else host
    file = folder / "function.mjs"
    file.write_text(render_function(name), "utf-8")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    script = Path(__file__).with_name("edge.mjs")
    with subprocess.Popen([NODE, str(script), host, str(site), str(file), str(port)]) as process:
        try:
            for _ in range(200):
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                except OSError:
                    assert process.poll() is None
                    time.sleep(0.05)
            yield f"http://127.0.0.1:{port}/"
        finally:
            process.terminate()
