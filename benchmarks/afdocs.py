"""What the public scorer for agents' eyes, `afdocs`, says of a built site.

    python benchmarks/afdocs.py SITE_DIR [--all] [--rewrite | --serve | --at ADDRESS] [-- OPTIONS OF AFDOCS]

Serves SITE_DIR on 127.0.0.1 as a plain static host would: content types by file name, `index.html` for folders (a
folder's address without its slash is redirected), the site's 404.html with status 404, `ETag`, `Last-Modified` and a
short `Cache-Control`; no negotiation by `Accept`. The site is mounted at the path of its own address, as that is where
its host puts it; nothing else is there.

Links in a built site are absolute. The scorer is told the site's own address (`--canonical-origin`) and follows such
links to the local server. With --rewrite the server puts its own address in their place instead, in HTML, Markdown,
text, XML and JSON, so that the scorer sees a site that was built for it; nothing else about the files changes.

With --serve the server is `roaming serve SITE_DIR --site SITE_DIR`, which does negotiate; with --at the one that runs
at that address and serves the same site.

The scorer is run by npx, which fetches it and a Node that it works with; without npx there is one line and no score.
"""

from __future__ import annotations

import argparse
import email.utils
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import quote, unquote, urlsplit

NPX = ("npx", "-y", "-p", "node@22", "-p", "afdocs", "afdocs", "check")

TYPES = {
    ".css": "text/css; charset=utf-8",
    ".gif": "image/gif",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".jpg": "image/jpeg",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".md": "text/markdown; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
    ".xml": "application/xml",
}
REWRITTEN = frozenset({".html", ".md", ".txt", ".xml", ".json"})


@dataclass(frozen=True, slots=True)
class Answer:
    """What a static host answers to a path."""

    status: int
    body: bytes = b""
    type: str = "text/html; charset=utf-8"
    location: str = ""
    modified: float = 0.0


def answer(folder: Path, mount: str, path: str) -> Answer:
    """Give a static host's answer. `mount` is where the site is, `/` at both ends."""
    path = unquote(urlsplit(path).path)
    missing = folder / "404.html"
    if path.startswith(mount):
        file = (folder / path[len(mount) :]).resolve()
        if file.is_relative_to(folder.resolve()):
            if file.is_dir() and not path.endswith("/"):
                return Answer(301, location=quote(f"{path}/"))
            file = file / "index.html" if file.is_dir() else file
            if file.is_file() and not (path.endswith("/") and file.name != "index.html"):
                type_ = TYPES.get(file.suffix, "application/octet-stream")
                return Answer(200, file.read_bytes(), type_, modified=file.stat().st_mtime)
    return Answer(404, missing.read_bytes() if missing.is_file() else b"<h1>Not found</h1>")


def site_address(folder: Path) -> str:
    """Give the address that a site was built for, by its manifest, its sitemap or its home page."""
    manifest = folder / "roaming" / "manifest.json"
    if manifest.is_file():
        return str(json.loads(manifest.read_bytes())["site"]["url"])
    home = (folder / "index.html").read_text("utf-8", "replace") if (folder / "index.html").is_file() else ""
    for tag in re.findall(r"<link\b[^>]*>", home):
        if re.search(r"rel=[\"']?canonical", tag) and (found := re.search(r"href=[\"']?([^\"'\s>]+)", tag)):
            return found[1]
    raise SystemExit(f"{folder}: neither its manifest nor its home page says its address; build it with site_url")


@contextmanager
def served(folder: Path, address: str, *, rewrite: bool = False) -> Iterator[str]:
    """Serve a site built for an address; gives the local address that stands for it."""
    mount = urlsplit(address).path.rstrip("/") + "/"

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            found = answer(folder, mount, self.path)
            body = found.body
            if rewrite and Path(urlsplit(self.path).path).suffix in {*REWRITTEN, ""}:
                body = body.replace(address.encode(), local.encode())
            tag = f'"{sha256(body).hexdigest()[:16]}"'
            same = found.status == 200 and self.headers.get("If-None-Match") == tag
            self.send_response(304 if same else found.status)
            if found.location:
                self.send_header("Location", found.location)
            if found.status == 200:
                self.send_header("ETag", tag)
                self.send_header("Last-Modified", email.utils.formatdate(found.modified, usegmt=True))
                self.send_header("Cache-Control", "max-age=600")
            self.send_header("Content-Type", found.type)
            self.send_header("Content-Length", "0" if same else str(len(body)))
            self.end_headers()
            if self.command == "GET" and not same:
                self.wfile.write(body)

        do_HEAD = do_GET  # noqa: N815 -- the name that http.server looks for

        def log_message(self, *args: Any) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, *args: Any) -> None:
            """Say nothing of connections that the scorer drops."""

    server = Server(("127.0.0.1", 0), Handler)
    local = f"http://127.0.0.1:{server.server_port}{mount}"
    thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield local
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def roaming(folder: Path) -> Iterator[str]:
    """Serve a site by `roaming serve`; gives the local address that stands for it."""
    place = str(folder.resolve())
    command = [sys.executable, "-m", "mkdocs_roaming", "serve", place, "--site", place, "--port", "0"]
    process = subprocess.Popen([*command, "--model", "offline"], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    reading = Thread(target=process.stderr.read)  # or the server stops when the pipe is full
    try:
        for line in process.stderr:
            if found := re.search(r"listening on (http://\S+)", line):
                reading.start()
                yield f"{found[1]}/"
                return
        raise SystemExit("`roaming serve` ended before it listened")
    finally:
        process.terminate()
        process.wait()
        if reading.ident is not None:
            reading.join()
        process.stderr.close()


def score(local: str, canonical: str | None, options: Sequence[str] = ()) -> dict[str, Any]:
    """Run the scorer on an address; gives its report."""
    command = [*NPX, local, "--format", "json", "--score", "--fixes", "--sampling", "deterministic", "--quiet"]
    if canonical:
        command += ["--canonical-origin", canonical.rstrip("/")]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    start = done.stdout.find("{")
    if start < 0:
        raise SystemExit(f"afdocs gave no report (status {done.returncode}):\n{done.stderr[-2000:]}")
    report: dict[str, Any] = json.loads(done.stdout[start:])
    return report


def lines(report: dict[str, Any], *, passed: bool = False) -> Iterator[str]:
    """Give a report as text: the score, and each check that did not pass with its reason."""
    scoring = report.get("scoring", {})
    yield f"{scoring.get('overall', '?')} of 100, grade {scoring.get('grade', '?')}"
    for check in report.get("results", ()):
        if passed or check["status"] not in ("pass", "skip"):
            yield f"  {check['status']:5} {check['id']}: {check['message']}"


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site_dir", type=Path)
    parser.add_argument("--all", action="store_true", help="print the checks that pass too")
    parser.add_argument("--rewrite", action="store_true", help="put the local address into the served files")
    parser.add_argument("--serve", action="store_true", help="serve the site by `roaming serve --site`")
    parser.add_argument("--at", metavar="ADDRESS", help="ask the server that runs at this address")
    parser.add_argument("--json", action="store_true", help="print the scorer's own report")
    parser.add_argument("options", nargs="*", help="options of afdocs, after --")
    options = parser.parse_args(arguments)
    if shutil.which("npx") is None:
        print("afdocs: skipped, there is no npx here")
        return 0
    address = site_address(options.site_dir)
    server: AbstractContextManager[str]
    if options.at:
        server = nullcontext(options.at)
    elif options.serve:
        server = roaming(options.site_dir)
    else:
        server = served(options.site_dir, address, rewrite=options.rewrite)
    with server as local:
        report = score(local, None if options.rewrite else address, options.options)
    if options.json:
        json.dump(report, sys.stdout, indent=1)
    else:
        print("\n".join(lines(report, passed=options.all)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
